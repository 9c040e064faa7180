//! Synchronisation, with the shapes of `std::sync`.

pub mod atomic;
mod mutex;

pub use mutex::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult};
