//! `Once`, `OnceLock`, `LazyLock`.

use crate::rt::{self, Slot};
use preempt_explore::{Action, Operation};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const DONE: u64 = 2;
const POISONED: u64 = 3;

/// `std::sync::Once` under control.
pub struct Once {
    slot: Slot,
    outside: std::sync::Once,
    poisoned_outside: AtomicBool,
}

/// What is known inside [`Once::call_once_force`].
#[derive(Debug)]
pub struct OnceState(bool, PhantomData<std::cell::Cell<()>>);

impl OnceState {
    /// Whether an earlier initialisation panicked.
    pub fn is_poisoned(&self) -> bool {
        self.0
    }
}

impl Once {
    const_fn! {
        /// A new, incomplete initialisation.
        #[allow(clippy::new_without_default)]
        #[track_caller]
        pub fn new() -> Self {
            Once::with(Slot::new(0))
        }
    }

    const fn with(slot: Slot) -> Self {
        Once { slot, outside: std::sync::Once::new(), poisoned_outside: AtomicBool::new(false) }
    }

    /// Runs the closure, unless some thread has.
    #[track_caller]
    pub fn call_once(&self, function: impl FnOnce()) {
        self.call(false, |_| function());
    }

    /// Runs the closure, unless some thread has without panicking.
    #[track_caller]
    pub fn call_once_force(&self, function: impl FnOnce(&OnceState)) {
        self.call(true, function);
    }

    /// Whether some thread has run the closure.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        match self.look(0) {
            Some(seen) => seen == DONE,
            None => self.outside.is_completed(),
        }
    }

    /// Waits until some thread has run the closure. Panics if that one has.
    #[track_caller]
    pub fn wait(&self) {
        match self.look(Operation::WAITS) {
            Some(seen) => {
                assert!(seen != POISONED, "Once instance has previously been poisoned");
            }
            None => self.wait_outside(false),
        }
    }

    /// Waits until some thread has run the closure without panicking.
    #[track_caller]
    pub fn wait_force(&self) {
        if self.look(Operation::WAITS_FOR_SUCCESS).is_none() {
            self.wait_outside(true);
        }
    }

    /// Looks whether some thread has run the closure, waiting as told, if the caller runs under control.
    #[track_caller]
    fn look(&self, waits: u64) -> Option<u64> {
        let runtime = rt::current()?;
        let object = self.object(runtime);
        Some(rt::operation(runtime, Action::OnceCompleted, object, waits, 0, Location::caller()))
    }

    /// std's own wait is newer than the oldest compiler.
    #[track_caller]
    fn wait_outside(&self, force: bool) {
        while !self.outside.is_completed() {
            let poisoned = self.poisoned_outside.load(Relaxed);
            assert!(force || !poisoned, "Once instance has previously been poisoned");
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// The object; one that was made outside the body begins every execution as it was.
    #[track_caller]
    fn object(&self, runtime: &mut rt::Runtime) -> preempt_explore::ObjectId {
        self.slot.object(runtime, || if self.outside.is_completed() { DONE } else { 0 })
    }

    #[track_caller]
    fn call(&self, force: bool, function: impl FnOnce(&OnceState)) {
        let Some(runtime) = rt::current() else {
            /// Notes a panic of the closure.
            struct Poison<'a>(&'a AtomicBool);
            impl Drop for Poison<'_> {
                fn drop(&mut self) {
                    self.0.store(std::thread::panicking(), Relaxed);
                }
            }
            let function = |poisoned: bool| {
                let _poison = Poison(&self.poisoned_outside);
                function(&OnceState(poisoned, PhantomData));
            };
            if force {
                return self.outside.call_once_force(|s| function(s.is_poisoned()));
            }
            return self.outside.call_once(|| function(false));
        };
        let site = Location::caller();
        let object = self.object(runtime);
        let before = rt::operation(runtime, Action::OnceEnter, object, force.into(), 0, site);
        if before == DONE {
            return;
        }
        assert!(before != POISONED || force, "Once instance has previously been poisoned");
        /// Ends the initialisation, also when the closure panics.
        struct Exit(preempt_explore::ObjectId, u64, &'static Location<'static>);
        impl Drop for Exit {
            fn drop(&mut self) {
                if let Some(runtime) = rt::current() {
                    rt::operation(runtime, Action::OnceExit, self.0, self.1, 0, self.2);
                }
            }
        }
        let mut exit = Exit(object, POISONED, site);
        function(&OnceState(before == POISONED, PhantomData));
        exit.1 = DONE;
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once { .. }")
    }
}

/// `std::sync::OnceLock` under control.
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, by the thread that runs the initialisation, and read only
// after that.
unsafe impl<T: Send> Send for OnceLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    const_fn! {
        /// An empty cell.
        #[allow(clippy::new_without_default)]
        #[track_caller]
        pub fn new() -> Self {
            OnceLock { once: Once::new(), value: UnsafeCell::new(None) }
        }
    }

    /// Where this execution keeps the value.
    fn place(&self) -> *mut Option<T> {
        rt::data(&self.once.slot, self.value.get())
    }

    /// The value, if set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if !self.once.is_completed() {
            return None;
        }
        // SAFETY: complete, so nothing is written any more.
        unsafe { (*self.place()).as_ref() }
    }

    /// The value, when it is set.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        self.get_or_init(|| unreachable!("it is set"))
    }

    /// The value, through exclusive access.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Sets the value, or gives it back if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().unwrap_or_else(|| unreachable!("called once")));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// The value, made by the closure if there is none.
    #[track_caller]
    pub fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        self.once.call(true, |_| {
            let value = init();
            // SAFETY: only one thread runs the initialisation, and readers wait for its end.
            unsafe { *self.place() = Some(value) };
        });
        // SAFETY: the initialisation has ended, so nothing is written any more.
        match unsafe { (*self.place()).as_ref() } {
            Some(value) => value,
            None => unreachable!("the initialisation has set a value"),
        }
    }

    /// The value, ending the cell.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value, leaving the cell empty.
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.get().map_or_else(OnceLock::new, |value| OnceLock::from(value.clone()))
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let cell = OnceLock::new();
        let _ = cell.set(value);
        cell
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(value) => f.debug_tuple("OnceLock").field(value).finish(),
            None => f.write_str("OnceLock(<uninit>)"),
        }
    }
}

/// `std::sync::LazyLock` under control. That of a static is initialised again in every execution, by the first thread that
/// needs it.
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    init: F,
    value: UnsafeCell<Option<T>>,
    outside: std::sync::OnceLock<T>,
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    /// A value to be made by the function when first needed.
    #[track_caller]
    pub const fn new(init: F) -> Self {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        let once = Once::new();
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        let once = Once::with(Slot::compiled());
        LazyLock { once, init, value: UnsafeCell::new(None), outside: std::sync::OnceLock::new() }
    }

    /// The value, made now if need be.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        if !rt::is_controlled() {
            return this.outside.get_or_init(|| (this.init)());
        }
        this.once.call(false, |_| {
            let value = (this.init)();
            // SAFETY: only one thread runs the initialisation, and readers wait for its end.
            unsafe { *this.place() = Some(value) };
        });
        // SAFETY: the initialisation has ended, so nothing is written any more.
        match unsafe { (*this.place()).as_ref() } {
            Some(value) => value,
            None => unreachable!("the initialisation has set a value"),
        }
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it was made.
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        if !rt::is_controlled() {
            return this.outside.get();
        }
        // SAFETY: where the initialisation has ended, nothing is written any more.
        this.once.is_completed().then(|| unsafe { (*this.place()).as_ref() })?
    }

    /// The value, if it was made, through exclusive access.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if !rt::is_controlled() {
            return this.outside.get_mut();
        }
        // SAFETY: the cell is borrowed exclusively.
        unsafe { (*this.place()).as_mut() }
    }

    /// Where this execution keeps the value. In a static that is known only once the object is: after an operation on it.
    fn place(&self) -> *mut Option<T> {
        rt::data(&self.once.slot, self.value.get())
    }
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    /// The value, made now if need be, through exclusive access.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        LazyLock::force(this);
        match LazyLock::get_mut(this) {
            Some(value) => value,
            None => unreachable!("the initialisation has set a value"),
        }
    }
}

// SAFETY: as for `OnceLock`; the closure is only called by one thread at a time.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match LazyLock::get(self) {
            Some(value) => f.debug_tuple("LazyLock").field(value).finish(),
            None => f.write_str("LazyLock(<uninit>)"),
        }
    }
}
