//! Threads that work on one search, or as many as the operating system gives; when they are done, and why they end.
//!
//! Invariants: either all of them run or none does, so that a search can count on every thread it has
//! dealt work to. If there are not enough, the search is set up again for fewer. When all threads are idle, no work is left:
//! only a busy thread can add to it, and a thread is idle only after it found nothing to do.

use super::halt::Halt;
use crate::platform::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::platform::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::{Budget, Finding, Progress};
use std::time::Duration;

/// The operating system gave fewer threads than were asked for: this many, the present one included.
pub(crate) struct Fewer(pub(crate) usize);

/// Locks what threads share. A thread that panicked ends the search for all, so that nothing is read of what it left.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one thread of several does.
pub(crate) trait Worker {
    /// Does a part of the work; says whether there was any.
    fn work(&mut self) -> Result<bool, Halt>;

    /// States and transitions that it has counted so far.
    fn counts(&self) -> (u64, u64);

    /// How far all threads are.
    fn progress(&self) -> Progress;
}

/// What the threads of a search know of each other.
pub(crate) struct Workers {
    threads: usize,
    idle: AtomicUsize,
    /// All threads were idle at the same time.
    finished: AtomicBool,
    end: Mutex<Option<Halt>>,
    ended: AtomicBool,
    states: AtomicU64,
    transitions: AtomicU64,
}

/// How many parts of its work a thread does before it reports what it has counted.
const REPORT_EVERY: u32 = 16;

impl Workers {
    pub(crate) fn new(threads: usize) -> Self {
        Workers {
            threads,
            idle: AtomicUsize::new(0),
            finished: AtomicBool::new(false),
            end: Mutex::new(None),
            ended: AtomicBool::new(false),
            states: AtomicU64::new(0),
            transitions: AtomicU64::new(0),
        }
    }

    /// How many there are.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Ends the search for all; the first reason counts.
    fn end(&self, end: Halt) {
        lock(&self.end).get_or_insert(end);
        self.ended.store(true, Ordering::SeqCst);
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether some thread has nothing to do.
    pub(crate) fn has_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    /// States and transitions that were reported.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.states.load(Ordering::SeqCst), self.transitions.load(Ordering::SeqCst))
    }

    /// Has all workers work until nothing is left, or one of them ends the search.
    pub(crate) fn run<W: Worker + Send>(
        &self,
        workers: &mut [W],
        budget: &mut Budget,
    ) -> Result<(), Halt> {
        let counts = workers.iter().map(Worker::counts);
        let add = |all: (u64, u64), one: (u64, u64)| (all.0 + one.0, all.1.wrapping_add(one.1));
        let (states, transitions) = counts.fold((0, 0), add);
        self.states.store(states, Ordering::SeqCst);
        self.transitions.store(transitions, Ordering::SeqCst);
        self.idle.store(0, Ordering::SeqCst);
        self.finished.store(false, Ordering::SeqCst);
        self.ended.store(false, Ordering::SeqCst);
        let Some((first, rest)) = workers.split_first_mut() else { return Ok(()) };
        let others = rest.iter_mut().map(|worker| || self.work(worker, None)).collect();
        if let Err(Fewer(threads)) = run_together(|| self.work(first, Some(budget)), others) {
            return Err(Halt::Fewer(threads));
        }
        lock(&self.end).take().map_or(Ok(()), Err)
    }

    /// What one thread does; the first one also watches the budget.
    fn work(&self, worker: &mut impl Worker, mut budget: Option<&mut Budget>) {
        let _end = EndOnPanic(self);
        let mut reported = worker.counts();
        let (mut parts, mut patience) = (0_u32, 0_u32);
        while !self.has_ended() {
            if let Some(budget) = &mut budget
                && let Some(stop) = budget.check_every(16, || worker.progress())
            {
                self.end(Halt::Stop(stop));
                break;
            }
            match worker.work() {
                Ok(true) => {
                    patience = 0;
                    parts += 1;
                    if parts.is_multiple_of(REPORT_EVERY) {
                        self.report(worker, &mut reported);
                    }
                    continue;
                }
                Ok(false) => {}
                Err(end) => {
                    self.end(end);
                    break;
                }
            }
            self.report(worker, &mut reported);
            if self.idle.fetch_add(1, Ordering::SeqCst) + 1 == self.threads {
                self.finished.store(true, Ordering::SeqCst);
            }
            wait_a_little(&mut patience);
            if self.finished.load(Ordering::SeqCst) {
                break;
            }
            self.idle.fetch_sub(1, Ordering::SeqCst);
        }
        self.report(worker, &mut reported);
    }

    /// Adds what a worker has counted since the last time. Transitions may have become fewer: those that were found to be taken
    /// sooner.
    fn report(&self, worker: &impl Worker, reported: &mut (u64, u64)) {
        let (states, transitions) = worker.counts();
        if *reported == (states, transitions) {
            return;
        }
        self.states.fetch_add(states - reported.0, Ordering::SeqCst);
        self.transitions.fetch_add(transitions.wrapping_sub(reported.1), Ordering::SeqCst);
        *reported = (states, transitions);
    }
}

/// Has each worker do something on a thread of its own, or, where there are not enough threads, one after the other.
pub(crate) fn each<W: Send>(workers: &mut [W], act: impl Fn(&mut W) + Sync) {
    let Some((first, rest)) = workers.split_first_mut() else { return };
    let act = &act;
    let others = rest.iter_mut().map(|worker| move || act(worker)).collect();
    if run_together(|| act(first), others).is_err() {
        workers.iter_mut().for_each(act);
    }
}

/// Ends the search for all threads when one of them panics: it will never be idle.
struct EndOnPanic<'a>(&'a Workers);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.ended.store(true, Ordering::SeqCst);
        }
    }
}

/// Waits before a thread looks for work again: at first as shortly as possible, since phases are short at the beginning and the
/// end of a search.
pub(crate) fn wait_a_little(patience: &mut u32) {
    *patience = patience.saturating_add(1);
    match *patience {
        0..200 => crate::platform::hint::spin_loop(),
        200..400 => crate::platform::thread::yield_now(),
        _ => crate::platform::thread::sleep(Duration::from_micros(50)),
    }
}

/// Runs `first` on this thread and each of `others` on one of its own, and collects what they give.
pub(crate) fn run_together<R: Send>(
    first: impl FnOnce() -> R,
    others: Vec<impl FnOnce() -> R + Send>,
) -> Result<Vec<R>, Fewer> {
    let gate = Gate::default();
    crate::platform::thread::scope(|scope| {
        let wanted = others.len();
        let mut helpers = Vec::new();
        for other in others {
            let gate = &gate;
            let work = move || gate.is_open().then(other);
            match crate::platform::thread::Builder::new().spawn_scoped(scope, work) {
                Ok(helper) => helpers.push(helper),
                Err(_) => break,
            }
        }
        let complete = helpers.len() == wanted;
        gate.decide(complete);
        if !complete {
            return Err(Fewer(helpers.len() + 1));
        }
        let mut results = vec![first()];
        for helper in helpers {
            match helper.join() {
                Ok(result) => results.extend(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(results)
    })
}

/// Sets a search up for as many threads as there are; says so if they are fewer than wanted.
pub(crate) fn with_as_many_as_possible(
    wanted: usize,
    mut search: impl FnMut(usize) -> Result<Finding, Fewer>,
) -> Finding {
    let mut threads = wanted.max(1);
    loop {
        match search(threads) {
            Ok(mut finding) => {
                if threads < wanted {
                    finding.notes.push(format!(
                        "{threads} of {wanted} threads were used: the system could not start more"
                    ));
                }
                return finding;
            }
            Err(Fewer(had)) => threads = had.min(threads - 1).max(1),
        }
    }
}

/// Where threads wait until it is clear whether all of them are there.
#[derive(Default)]
struct Gate {
    open: Mutex<Option<bool>>,
    decided: Condvar,
}

impl Gate {
    fn decide(&self, open: bool) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
        self.decided.notify_all();
    }

    fn is_open(&self) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *open {
                Some(open) => return open,
                None => open = self.decided.wait(open).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Covered;

    #[test]
    fn everybody_runs_once() {
        let others: Vec<_> = (1..5).map(|number| move || number).collect();
        let mut results = run_together(|| 0, others).unwrap_or_default();
        results.sort_unstable();
        assert_eq!(results, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn fewer_threads_are_mentioned() {
        let mut tried = Vec::new();
        let finding = with_as_many_as_possible(9, |threads| {
            tried.push(threads);
            if threads > 3 {
                Err(Fewer(threads - 2))
            } else {
                Ok(Finding::new(Covered::Everything))
            }
        });
        assert_eq!(tried, [9, 7, 5, 3]);
        assert_eq!(finding.notes, ["3 of 9 threads were used: the system could not start more"]);
    }
}
