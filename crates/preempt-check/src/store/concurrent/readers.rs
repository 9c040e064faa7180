//! A value that many threads read all the time and one replaces now and then.
//!
//! A reader-writer lock would have all readers write to one cache line, which costs them more than what they read. Here
//! each thread announces in a line of its own that it reads, and looks whether another thread wants to write. A writer
//! says so, and waits until no thread reads. (Known as big-reader lock.)
//!
//! What a thread reads it has read when its turn is over: so it can be found out, without any waiting, that all threads that
//! may have seen something have [gone on](ManyReaders::have_gone_on) since.
//!
//! Invariant: a thread that sees no writer after it has announced itself is seen by every later writer, since both
//! sides write before they look, in one order for all (`SeqCst`).

use crate::platform::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::platform::sync::{Mutex, PoisonError};
use std::cell::UnsafeCell;
use std::ops::Deref;
use std::time::Duration;

/// A value for many readers.
#[derive(Debug)]
pub(crate) struct ManyReaders<T> {
    value: UnsafeCell<T>,
    /// Per thread: how often it has begun or ended to read; odd while it reads.
    turns: Vec<Line>,
    writing: AtomicBool,
    writers: Mutex<()>,
}

/// A cache line, and the one that processors fetch with it.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

// SAFETY: the value is shared between readers and changed by one writer alone; see the invariant of the module.
unsafe impl<T: Send + Sync> Sync for ManyReaders<T> {}

impl<T> ManyReaders<T> {
    /// For so many threads.
    pub(crate) fn new(value: T, threads: usize) -> Self {
        ManyReaders {
            value: UnsafeCell::new(value),
            turns: (0..threads.max(1)).map(|_| Line::default()).collect(),
            writing: AtomicBool::new(false),
            writers: Mutex::new(()),
        }
    }

    /// The value, for thread `thread`, which must not have it already.
    #[inline]
    pub(crate) fn read(&self, thread: usize) -> Reading<'_, T> {
        let mine = &self.turns[thread].0;
        let mut patience = Patience::default();
        loop {
            // No other thread writes here.
            let turns = mine.load(Ordering::Relaxed);
            assert!(turns.is_multiple_of(2), "a thread reads once at a time");
            mine.swap(turns + 1, Ordering::SeqCst);
            if !self.writing.load(Ordering::SeqCst) {
                return Reading { lock: self, thread };
            }
            mine.store(turns + 2, Ordering::Release);
            while self.writing.load(Ordering::Acquire) {
                patience.wait();
            }
        }
    }

    /// Changes the value, once no thread reads it. The calling thread must not.
    pub(crate) fn write<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let _alone = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        self.writing.store(true, Ordering::SeqCst);
        let _end = EndOfWriting(&self.writing);
        for reader in &self.turns {
            let mut patience = Patience::default();
            while !reader.0.load(Ordering::SeqCst).is_multiple_of(2) {
                patience.wait();
            }
        }
        // SAFETY: no thread reads, and one that wants to sees that another writes. Writers take turns.
        change(unsafe { &mut *self.value.get() })
    }
}

impl<T> ManyReaders<T> {
    /// Replaces `turns` by the counts of all threads, which tell which of them read now. A thread that begins to read later
    /// sees what was written before, in the one order for all.
    pub(crate) fn snapshot(&self, turns: &mut Vec<u64>) {
        turns.clear();
        turns.extend(self.turns.iter().map(|line| line.0.load(Ordering::SeqCst)));
    }

    /// Whether all threads that were reading at a [snapshot](Self::snapshot) have ended that since.
    pub(crate) fn have_gone_on(&self, turns: &[u64]) -> bool {
        let now = self.turns.iter().map(|line| line.0.load(Ordering::SeqCst));
        turns.iter().zip(now).all(|(then, now)| then.is_multiple_of(2) || *then != now)
    }
}

/// Lets readers on, be it after a panic.
struct EndOfWriting<'a>(&'a AtomicBool);

impl Drop for EndOfWriting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// The value, while it is read.
#[derive(Debug)]
pub(crate) struct Reading<'a, T> {
    lock: &'a ManyReaders<T>,
    thread: usize,
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this thread has announced that it reads, so no thread writes.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> Drop for Reading<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let mine = &self.lock.turns[self.thread].0;
        mine.store(mine.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}

/// Waits ever longer.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        match self.0 {
            0..64 => crate::platform::hint::spin_loop(),
            64..256 => crate::platform::thread::yield_now(),
            _ => crate::platform::thread::sleep(Duration::from_micros(50)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_go_on() {
        let lock = ManyReaders::new(0, 2);
        let mut turns = Vec::new();
        assert!(lock.have_gone_on(&turns));
        let reading = lock.read(1);
        lock.snapshot(&mut turns);
        assert!(!lock.have_gone_on(&turns));
        drop(lock.read(0));
        assert!(!lock.have_gone_on(&turns));
        drop(reading);
        assert!(lock.have_gone_on(&turns));
        let _again = lock.read(1);
        assert!(lock.have_gone_on(&turns));
    }

    #[test]
    fn readers_see_whole_changes() {
        let lock = ManyReaders::new((0_u64, 0_u64), 4);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let lock = &lock;
                scope.spawn(move || {
                    for round in 0..2000 {
                        let (a, b) = *lock.read(thread);
                        assert_eq!(a, b);
                        if round % 8 == 0 {
                            lock.write(|value| {
                                value.0 += 1;
                                std::thread::yield_now();
                                value.1 += 1;
                            });
                        }
                    }
                });
            }
        });
        assert_eq!(*lock.read(0), (1000, 1000));
    }
}
