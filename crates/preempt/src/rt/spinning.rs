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
    /// How often it was repeated, since the thread last did something new.
    times: u32,
    since: u32,
}

/// What a thread has done since it last did something new.
#[derive(Default)]
struct Attempts {
    list: Vec<Attempt>,
    /// A number for each of them, to find it by.
    tags: Vec<u32>,
    /// A bit for each of the tags: most operations that are not in the list have none of these bits.
    bits: u64,
    /// How often the thread has done something new.
    news: u32,
    /// Whether one of them may have been repeated so often that it is due.
    is_due: bool,
    /// Where the last one was found. What follows it in the list was done after it.
    last: usize,
}

impl Attempts {
    fn clear(&mut self) {
        self.list.clear();
        self.tags.clear();
        self.bits = 0;
        self.is_due = false;
    }

    fn position(&self, operation: &Operation) -> Option<usize> {
        let next = self.last + 1;
        if self.list.get(next).is_some_and(|attempt| attempt.is(operation)) {
            return Some(next);
        }
        let tag = tag_of(operation);
        if self.bits & bit_of(tag) == 0 {
            return None;
        }
        let tags = self.tags.iter().enumerate().filter(|(_, other)| **other == tag);
        tags.map(|(at, _)| at).find(|&at| self.list[at].is(operation))
    }
}

/// What threads have done since they last did something new.
#[derive(Default)]
pub(super) struct Spinning(Vec<Attempts>);

impl Spinning {
    /// A new execution begins.
    pub(super) fn begin(&mut self) {
        self.0.iter_mut().for_each(Attempts::clear);
    }

    /// Whether a thread that is about to do this has done it so often that it spins.
    pub(super) fn is_due(&self, thread: ThreadId, operation: &Operation) -> bool {
        let Some(attempts) = self.0.get(thread.index()).filter(|attempts| attempts.is_due) else {
            return false;
        };
        let due = |attempt: &Attempt| {
            attempt.times >= OFTEN && attempt.since == attempts.news && attempt.is(operation)
        };
        attempts.list.iter().any(due)
    }

    /// A thread has done this, with this result.
    pub(super) fn note(&mut self, thread: ThreadId, operation: &Operation, result: u64) {
        if self.0.len() <= thread.index() {
            self.0.resize_with(thread.index() + 1, Attempts::default);
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
        let only_reads = action == Action::Load || !action.is_number();
        let known = attempts.position(operation);
        attempts.last = known.unwrap_or(attempts.list.len());
        let list = &mut attempts.list;
        let same =
            known.is_some_and(|at| (list[at].operands, list[at].result) == (operands, result));
        if !same && !only_reads {
            // Something new: whatever was repeated before, the thread makes progress.
            attempts.news = attempts.news.wrapping_add(1);
            attempts.is_due = false;
        }
        let since = attempts.news;
        match known {
            Some(at) if same => {
                let attempt = &mut list[at];
                attempt.times = if attempt.since == since { attempt.times + 1 } else { 1 };
                attempt.since = since;
                attempts.is_due |= attempt.times >= OFTEN;
            }
            Some(at) => {
                let attempt = &mut list[at];
                (attempt.operands, attempt.result) = (operands, result);
                (attempt.times, attempt.since) = (1, since);
            }
            None if list.len() < LONGEST => {
                list.push(Attempt { site, object, action, operands, result, times: 1, since });
                let tag = tag_of(operation);
                attempts.tags.push(tag);
                attempts.bits |= bit_of(tag);
            }
            None => {}
        }
    }
}

fn bit_of(tag: u32) -> u64 {
    1 << (tag.wrapping_mul(0x9E37_79B9) >> 26)
}

/// Most attempts differ in this.
fn tag_of(operation: &Operation) -> u32 {
    let place = std::ptr::from_ref(operation.site).addr() as u32;
    place.rotate_left(16) ^ operation.object.0
}

impl Attempt {
    fn is(&self, operation: &Operation) -> bool {
        std::ptr::eq(self.site, operation.site)
            && self.object == operation.object
            && self.action == operation.action
    }
}
