//! Synchronisation, with the shapes of `std::sync`.

mod arc;
mod arc_from;
mod arc_raw;
pub mod atomic;
mod barrier;
mod lock;
pub mod mpsc;
mod mutex;
mod once;
mod rwlock;
mod unwind;

pub use arc::{Arc, Weak};
#[doc(hidden)]
pub use arc_from::unsize;
pub use barrier::{Barrier, BarrierWaitResult};
pub use mutex::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
pub use once::{LazyLock, Once, OnceLock, OnceState};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
