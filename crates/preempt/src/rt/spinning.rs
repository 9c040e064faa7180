//! Loops that wait for another thread without saying so.
//!
//! `while !ready.load() {}` never ends if the thread that would set `ready` does not run. A thread that has done
//! the same on an atomic at the same place [`OFTEN`] times, with the same result, and nothing new in between,
//! spins: it yields before it does it again. So does one that tries in vain to take a lock or to send. Whether a thread
//! yields is a function of what it has observed, so executions stay repeatable.

use preempt_explore::{Action, ObjectId, Operation, Site, ThreadId};

/// How often the same is done before the thread yields.
const OFTEN: u32 = 8;
/// A loop that does more than that is not recognised.
const LONGEST: usize = 16;

struct Attempt {
    site: Site,
    object: ObjectId,
    action: Action,
    operands: (u64, u64),
    result: u64,
    times: u32,
}

/// What threads have done since they last did something new.
#[derive(Default)]
pub(super) struct Spinning(Vec<Vec<Attempt>>);

impl Spinning {
    /// A new execution begins.
    pub(super) fn begin(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }

    /// Whether a thread that is about to do this has done it so often that it spins.
    pub(super) fn is_due(&self, thread: ThreadId, operation: &Operation) -> bool {
        let due = |attempt: &Attempt| attempt.times >= OFTEN && attempt.is(operation);
        self.0.get(thread.index()).is_some_and(|attempts| attempts.iter().any(due))
    }

    /// A thread has done this, with this result.
    pub(super) fn note(&mut self, thread: ThreadId, operation: &Operation, result: u64) {
        if self.0.len() <= thread.index() {
            self.0.resize_with(thread.index() + 1, Vec::new);
        }
        let attempts = &mut self.0[thread.index()];
        let Operation { site, object, action, first, second, .. } = *operation;
        let tries = match action {
            Action::TryLock | Action::TryReadLock | Action::TryWriteLock => result == 0,
            Action::TrySend | Action::TryReceive => result == 1,
            Action::Load
            | Action::Store
            | Action::Update(..)
            | Action::CompareExchange
            | Action::ComparePointer => true,
            _ => false,
        };
        if !tries {
            attempts.clear();
            return;
        }
        let operands = (first, second);
        let new = Attempt { site, object, action, operands, result, times: 1 };
        let only_reads = action == Action::Load || !action.is_number();
        let known = attempts.iter().position(|attempt| attempt.is(operation));
        let same = known
            .is_some_and(|at| (attempts[at].operands, attempts[at].result) == (operands, result));
        if !same && !only_reads {
            // Something new: whatever was repeated before, the thread makes progress.
            attempts.iter_mut().for_each(|attempt| attempt.times = 0);
        }
        match known {
            Some(at) if same => attempts[at].times += 1,
            Some(at) => attempts[at] = new,
            None if attempts.len() < LONGEST => attempts.push(new),
            None => {}
        }
    }
}

impl Attempt {
    fn is(&self, operation: &Operation) -> bool {
        std::ptr::eq(self.site, operation.site)
            && self.object == operation.object
            && self.action == operation.action
    }
}
