//! What `preempt-loom` and `preempt-shuttle` need beyond the shapes of std. Not for other users:
//! it changes with those crates.

use crate::rt::{self, Slot, counts};
use crate::thread::{Builder, JoinHandle};
use preempt_explore::Action;
use std::panic::Location;

/// Whether the caller runs under control.
pub fn is_controlled() -> bool {
    rt::is_controlled()
}

/// Spawns a thread whose closure need not be `Send`: all threads of an execution run on one
/// thread of the operating system.
///
/// # Panics
/// If the caller does not run under control.
#[track_caller]
pub fn spawn_local<F, T>(builder: Builder, function: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    match rt::current() {
        Some(runtime) => builder.spawn_controlled(runtime, function),
        None => panic!("a thread whose closure is not Send can only be spawned inside a check"),
    }
}

/// Something that must be dropped before its execution ends; else it is reported as a leak.
#[derive(Debug)]
pub struct Tracked(Option<(u32, u32)>);

impl Tracked {
    /// To be reported as made by the caller.
    #[track_caller]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Tracked(counts::born(Location::caller()))
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        counts::gone(self.0);
    }
}

/// A token that one thread waits for and others give; giving it twice is giving it once.
pub struct Token(Slot);

impl Token {
    /// A token that is not there yet.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Token(Slot::new(0))
    }

    /// Waits for the token and takes it. Outside a check it returns at once.
    #[track_caller]
    pub fn wait(&self) {
        self.operate(Action::TakeToken, Location::caller());
    }

    /// Gives the token.
    #[track_caller]
    pub fn give(&self) {
        self.operate(Action::GiveToken, Location::caller());
    }

    fn operate(&self, action: Action, site: &'static Location<'static>) {
        if let Some(runtime) = rt::current() {
            let object = self.0.object(runtime, || 0);
            rt::operation(runtime, action, object, 0, 0, site);
        }
    }
}

/// A value that every execution makes anew, by the address of a static; `None` outside a check.
pub fn per_execution<T: Default + 'static, K>(key: &'static K) -> Option<&'static T> {
    rt::per_execution((&raw const *key).addr(), T::default)
}
