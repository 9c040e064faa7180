//! What `Mutex` and `RwLock` have in common: a name under control, and poisoning as in std.

use crate::rt::{self, Runtime, Slot};
use preempt_explore::{Action, ObjectId, Operation, Update};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A place in the source.
pub(super) type Place = &'static Location<'static>;

/// A lock without its data.
pub(super) struct Lock {
    slot: Slot,
    poisoned: AtomicBool,
}

impl Lock {
    const_fn! {
        #[track_caller]
        pub(super) fn new() -> Self {
            Lock { slot: Slot::new(0), poisoned: AtomicBool::new(false) }
        }
    }

    /// Where this execution keeps what the lock protects.
    pub(super) fn data<T: ?Sized>(&self, data: *mut T) -> *mut T {
        rt::data(&self.slot, data)
    }

    fn poison(&self) -> &AtomicBool {
        // SAFETY: there is one, for as long as the lock or the execution.
        unsafe { &*self.data((&raw const self.poisoned).cast_mut()) }
    }

    #[track_caller]
    pub(super) fn object(&self, runtime: &mut Runtime) -> ObjectId {
        self.slot.object(runtime, || 0)
    }

    /// Executes an operation if the caller runs under control; returns what it sees.
    #[track_caller]
    pub(super) fn operate(&self, action: Action) -> Option<u64> {
        let runtime = self.slot.runtime()?;
        let object = self.object(runtime);
        Some(rt::operation(runtime, action, object, 0, 0, Location::caller()))
    }

    /// A thread that reads already asks to read again: from now on it matters whether a thread waits to write.
    pub(super) fn note_recursion(&self) {
        if let Some(runtime) = rt::current() {
            let object = self.object(runtime);
            rt::note_recursion(runtime, object);
        }
    }

    /// Announces a writer, where that matters.
    #[track_caller]
    pub(super) fn request_write(&self) {
        if rt::current().is_some_and(|runtime| runtime.run().rules.recursive) {
            self.operate(Action::RequestWrite);
        }
    }

    /// Acquires, waiting if need be: under control, or by `outside`.
    #[track_caller]
    pub(super) fn enter<G>(
        &self,
        action: Action,
        outside: impl FnOnce() -> LockResult<G>,
    ) -> Option<G> {
        match self.operate(action) {
            Some(_) => None,
            None => Some(outside().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Acquires if possible: under control, or by `outside`.
    #[track_caller]
    pub(super) fn try_enter<G>(
        &self,
        action: Action,
        outside: impl FnOnce() -> TryLockResult<G>,
    ) -> Result<Option<G>, TryLockError<G>> {
        match self.operate(action) {
            Some(0) => Err(TryLockError::WouldBlock),
            Some(_) => Ok(None),
            None => match outside() {
                Err(TryLockError::Poisoned(error)) => Ok(Some(error.into_inner())),
                entered => entered.map(Some),
            },
        }
    }

    /// Releases under control. A lock held by a thread that began to panic since `panicking` is
    /// poisoned; together with the operation, so that no other thread runs in between. `mutated` tells
    /// whether what it protects may have changed.
    pub(super) fn leave(
        &self,
        action: Option<Action>,
        site: Place,
        panicking: bool,
        mutated: bool,
    ) {
        let poisons = !panicking && std::thread::panicking();
        if let (Some(action), Some(runtime)) = (action, rt::current()) {
            let object = self.object(runtime);
            let unchanged = u64::from(!mutated && !poisons);
            if mutated || poisons {
                self.slot.note_change(runtime, site);
            }
            rt::operation(runtime, action, object, unchanged, 0, site);
        }
        if poisons {
            self.poison().store(true, SeqCst);
        }
    }

    /// A writer becomes a reader, under control.
    pub(super) fn downgrade(&self, site: Place, mutated: bool) {
        if let Some(runtime) = rt::current() {
            let object = self.object(runtime);
            if mutated {
                self.slot.note_change(runtime, site);
            }
            let (action, second) = (Action::WriteUnlock, Operation::DOWNGRADES);
            rt::operation(runtime, action, object, u64::from(!mutated), second, site);
        }
    }

    /// `value`, with a warning if a thread panicked while it held the lock.
    pub(super) fn warn<V>(&self, value: V) -> LockResult<V> {
        if self.has_poison() { Err(PoisonError::new(value)) } else { Ok(value) }
    }

    /// Whether it is poisoned, for those that hold it or only print it.
    pub(super) fn has_poison(&self) -> bool {
        self.poison().load(SeqCst)
    }

    /// Whether it is poisoned. A visible operation, because it races with a thread that panics.
    #[track_caller]
    pub(super) fn is_poisoned(&self) -> bool {
        self.operate(Action::Load);
        self.has_poison()
    }

    /// Forgets that a thread panicked.
    #[track_caller]
    pub(super) fn clear_poison(&self) {
        // A write that leaves the lock as it is.
        self.operate(Action::Update(Update::Or, 64));
        self.poison().store(false, SeqCst);
    }
}
