//! Synchronisation, with the shapes of `std::sync`.

pub use preempt::sync::{
    Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock,
    OnceState, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
    WaitTimeoutResult, atomic, mpsc,
};

pub use std::sync::{Arc, Weak};
