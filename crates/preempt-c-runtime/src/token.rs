//! The token that threads of the operating system hand around: the thread that has it runs.

use crate::raw;
use crate::runtime::runtime;
use preempt_explore::ThreadId;
use std::sync::atomic::{AtomicU32, Ordering};

fn turn(thread: usize) -> &'static AtomicU32 {
    let word = &raw mut runtime().tasks[thread].turn;
    // SAFETY: the tasks are never moved (their room is made once), and the word is only used so.
    unsafe { AtomicU32::from_ptr(word) }
}

pub(crate) fn wait_for_turn(thread: usize) {
    let word = turn(thread);
    while word.load(Ordering::Acquire) == 0 {
        raw::futex_wait(word.as_ptr(), 0);
    }
    word.store(0, Ordering::Relaxed);
}

/// Wakes a real thread and waits for our own turn, for ever if this thread has ended.
pub(crate) fn hand_over(from: ThreadId, to: ThreadId) {
    let word = turn(to.index());
    word.store(1, Ordering::Release);
    raw::futex_wake(word.as_ptr());
    wait_for_turn(from.index());
}
