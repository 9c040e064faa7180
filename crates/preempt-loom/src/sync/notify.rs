//! loom's `Notify`: one thread waits, others notify.

use preempt::facade::Token;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A notification that one thread at a time may wait for.
pub struct Notify {
    token: Token,
    waiting: AtomicBool,
}

impl Notify {
    /// Not notified yet.
    #[track_caller]
    pub fn new() -> Notify {
        Notify { token: Token::new(), waiting: AtomicBool::new(false) }
    }

    /// Notifies the thread that waits, or the next one to wait.
    #[track_caller]
    pub fn notify(&self) {
        self.token.give();
    }

    /// Waits for a notification.
    ///
    /// # Panics
    /// If another thread is waiting.
    #[track_caller]
    pub fn wait(&self) {
        let waiting = self.waiting.swap(true, SeqCst);
        assert!(!waiting, "only a single thread may wait on `Notify`");
        self.token.wait();
        self.waiting.store(false, SeqCst);
    }
}

impl Default for Notify {
    fn default() -> Self {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notify { .. }")
    }
}
