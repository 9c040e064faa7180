//! What `preempt-loom` and `preempt-shuttle` need beyond the shapes of std. Not for other users:
//! it changes with those crates.

pub use crate::chooser::Chooser;
pub use crate::lazy::{Lazy, LazyStatic, initialize};

use crate::environment::Environment;
use crate::rt::{self, Slot, counts};
use crate::thread::{Builder, JoinHandle};
use crate::{Check, Report};
use preempt_explore::Action;
use std::panic::Location;

/// Whether the caller runs under control.
pub fn is_controlled() -> bool {
    rt::is_controlled()
}

/// The sources beside `file`, which is the caller's `file!()`, belong to a library over this one: no report shows lines of them.
pub fn belongs_to_library(file: &'static str) {
    crate::places::belongs_to_library(file);
}

/// Spawns a thread with a closure that need not be `Send`: all threads of an execution run on one
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

/// The check with what the environment asks for, as [`Check::test`] does.
pub fn with_environment(check: &Check) -> Check {
    check.with_environment(&Environment::read())
}

/// Explores the executions that a chooser wants, one after the other.
pub fn drive<C: Chooser>(check: &Check, chooser: &mut C, body: impl Fn() + Sync) -> Report {
    /// Used by one thread at a time: the worker, while the caller waits for it.
    struct Moved<'a, C>(&'a mut C);
    // SAFETY: as above.
    unsafe impl<C> Send for Moved<'_, C> {}
    impl<C: Chooser> Chooser for Moved<'_, C> {
        fn begin(&mut self) -> bool {
            self.0.begin()
        }

        fn choose(
            &mut self,
            runnable: &[usize],
            current: Option<usize>,
            yields: bool,
        ) -> Option<usize> {
            self.0.choose(runnable, current, yields)
        }

        fn number(&mut self) -> u64 {
            self.0.number()
        }

        fn begin_again(&mut self) {
            self.0.begin_again();
        }
    }
    check.run_by(&mut Moved(chooser), &body)
}

/// The number of the thread that calls, in the order of spawning; `None` outside a check.
pub fn thread_number() -> Option<usize> {
    let run = rt::current()?.run();
    Some(run.ordinal(run.current))
}

/// Whether the main thread of this execution has ended; if so, others that ask are explored before and
/// after that.
#[track_caller]
pub fn main_has_ended() -> bool {
    let main = preempt_explore::ThreadId::MAIN;
    rt::current().is_some_and(|runtime| {
        // Not an operation before the answer was yes once: until then ends need not be visible.
        let ended = runtime.run().state.thread(main).status == preempt_explore::Status::Done;
        let asks = runtime.run().current != main && (ended || runtime.registry.shows_ends());
        asks && rt::has_ended(runtime, main, Location::caller())
    })
}

/// The name of a thread, by its number in the order of spawning.
pub fn thread_name(number: usize) -> Option<String> {
    let runtime = rt::current()?;
    let thread = *runtime.run().order.get(number)?;
    runtime.names.get(&thread).cloned()
}

/// How often the thread that moves has changed in this execution.
pub fn context_switches() -> usize {
    let Some(runtime) = rt::current() else { return 0 };
    runtime.run().path.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count()
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
    #[track_caller]
    pub fn new() -> Self {
        Token(Slot::new(0))
    }

    /// A token that is there already.
    #[track_caller]
    pub fn given() -> Self {
        Token(Slot::new(1))
    }

    /// Waits for the token and takes it. Outside a check it returns immediately.
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

/// A value that is initialised again in every execution, by the address of a static; `None` outside a check.
pub fn per_execution<T: Default + 'static, K>(key: &'static K) -> Option<&'static T> {
    rt::per_execution((&raw const *key).addr(), T::default)
}
