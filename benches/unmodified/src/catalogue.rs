//! The crates, and what cargo is asked for.

/// A published crate.
pub(crate) struct Crate {
    pub(crate) name: &'static str,
    /// As cargo writes requirements.
    pub(crate) version: &'static str,
    /// Options of cargo.
    pub(crate) words: &'static [&'static str],
}

const fn all(name: &'static str, version: &'static str) -> Crate {
    Crate { name, version, words: &[] }
}

/// What is run without names.
pub(crate) const CRATES: &[Crate] = &[
    all("crossbeam-channel", "0.5"),
    all("crossbeam-deque", "0.8"),
    all("crossbeam-epoch", "0.9"),
    all("crossbeam-queue", "0.3"),
    all("crossbeam-utils", "0.8"),
    all("parking_lot", "0.12"),
    all("once_cell", "1"),
    all("arc-swap", "1"),
    all("flume", "0.11"),
    all("dashmap", "6"),
    all("rayon-core", "1"),
    all("oneshot", "0.2"),
    all("concurrent-queue", "2"),
    all("event-listener", "5"),
    all("async-channel", "2"),
    all("atomic-waker", "1"),
    all("thread_local", "1"),
    all("triomphe", "0.1"),
    all("spin", "0.9"),
    Crate {
        name: "tokio",
        version: "1",
        words: &[
            "--features=full,test-util",
            "--test=sync_barrier",
            "--test=sync_broadcast",
            "--test=sync_mpsc",
            "--test=sync_mpsc_weak",
            "--test=sync_mutex",
            "--test=sync_notify",
            "--test=sync_once_cell",
            "--test=sync_oneshot",
            "--test=sync_rwlock",
            "--test=sync_semaphore",
            "--test=sync_set_once",
            "--test=sync_watch",
            "--test=task_abort",
            "--test=task_blocking",
            "--test=task_join_set",
            "--test=task_local_set",
            "--test=rt_basic",
            "--test=rt_common",
            "--test=rt_handle",
            "--test=rt_handle_block_on",
            "--test=rt_threaded",
            "--test=join_handle_panic",
            "--test=time_interval",
            "--test=time_sleep",
            "--test=time_timeout",
        ],
    },
];
