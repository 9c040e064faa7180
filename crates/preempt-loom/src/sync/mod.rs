//! Synchronisation, with the shapes of `std::sync`.

pub mod atomic;
mod notify;

pub use notify::Notify;
pub use preempt::sync::{
    Arc, Barrier, Condvar, LockResult, Mutex, MutexGuard, RwLock, RwLockReadGuard,
    RwLockWriteGuard, TryLockResult, WaitTimeoutResult, mpsc,
};
