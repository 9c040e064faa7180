//! What std promises about panics: its locks may be used by code that has caught one, because they
//! are poisoned, and what is made once is either made or not.

use super::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use std::panic::{RefUnwindSafe, UnwindSafe};

impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}
impl UnwindSafe for Condvar {}
impl RefUnwindSafe for Condvar {}
impl UnwindSafe for Barrier {}
impl RefUnwindSafe for Barrier {}
impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe + RefUnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe + RefUnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T> UnwindSafe for mpsc::Sender<T> {}
impl<T> RefUnwindSafe for mpsc::Sender<T> {}
impl<T> UnwindSafe for mpsc::SyncSender<T> {}
impl<T> RefUnwindSafe for mpsc::SyncSender<T> {}
impl<T> UnwindSafe for mpsc::Receiver<T> {}
impl<T> RefUnwindSafe for mpsc::Receiver<T> {}
