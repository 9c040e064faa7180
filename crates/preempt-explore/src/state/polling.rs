//! Loops that wait by yielding: when a thread at a yield goes on.
//!
//! A loop such as `while !flag.load() { yield_now() }` has infinitely many executions, all but a few of
//! which are alike. So a thread that polls goes on only when there is something new to see:
//!
//! * A thread that has changed nothing since its last yield waits until something that it has read
//!   is changed. Taking a lock and releasing it is no change, unless what it protects was changed.
//! * A thread that does change something (it counts its attempts) makes progress as far as we can
//!   tell, so it goes on freely; but the third time that it does exactly the same between two yields, it
//!   polls, too, and waits for a change of what it only reads.
//! * Where nothing else can move, it goes on all the same: it may count in a register and give up.
//!   Only after [`Rules::patience`] such rounds in a row is it a livelock.
//! * A loop that gives up after a few rounds does not wait for others. Which loops do is found out by
//!   trying: when a thread polls for the first time, the execution is stopped and the thread runs alone
//!   for [`GIVES_UP`] rounds (see `epilogue`). If it leaves the loop meanwhile, its yields are free from
//!   then on. Rounds that begin with the same operation and end at the same yield are of the same loop.
//!
//! What is lost: executions in which a loop gives up after more rounds than that although others could
//! still move.
//!
//! Under weak memory a thread may have read an outdated value; then there is something new to see at once.
//!
//! Invariant: whether a thread may leave its yield is a function of the happens-before graph, so
//! states with equal graphs have equal moves.

use super::apply::{Done, Touch};
use super::thread::{Watch, WatchKind};
use super::{ExecutionState, Rules, Status, Thread};
use crate::mix::{mix, mix3};
use crate::{Action, Move, ObjectId, Operation, ThreadId};
use std::sync::Arc;

/// From this many repetitions on a thread that changes something polls all the same.
const REPEATS: u8 = 2;
/// A loop that gives up within this many rounds does not wait for others.
pub(crate) const GIVES_UP: u32 = 8;
/// So many kinds of loops are tried out; others wait.
const MOST_LOOPS: usize = 64;
/// For so many rounds any thread at a yield may be next where nothing else can move; then in turns.
const ANY_ORDER: u32 = 3;
/// Counter of a watch that has news from the beginning.
const OUTDATED: u32 = u32::MAX;

impl ExecutionState {
    /// Whether the thread, which stands before a yield, may go on.
    pub(crate) fn may_leave_yield(&self, id: ThreadId, thread: &Thread) -> bool {
        self.has_news(id, thread) || !self.waits(self.loop_of(id))
    }

    /// Knows about loops what another state knows.
    pub(crate) fn take_loops(&mut self, other: &ExecutionState) {
        if !Arc::ptr_eq(&self.loops, &other.loops) {
            self.loops = other.loops.clone();
        }
    }

    /// Whether loops of this kind wait for others.
    fn waits(&self, key: u64) -> bool {
        self.loops.get(&key).copied().unwrap_or(self.loops.len() >= MOST_LOOPS)
    }

    /// What kind of loop a thread before a yield is in.
    pub(crate) fn loop_of(&self, id: ThreadId) -> u64 {
        let thread = &self.threads[id.index()];
        mix(thread.rounds.shape, site_hash(&thread.operation))
    }

    /// How the round of a thread before a yield began, and where it ends: what rounds of one loop have in
    /// common, although the first one may do more than the others.
    pub(crate) fn round_of(&self, id: ThreadId) -> (u64, u64) {
        let thread = &self.threads[id.index()];
        (thread.rounds.first, site_hash(&thread.operation))
    }

    /// Whether a thread has come to a yield and polls, in a loop that nothing is known about.
    pub(crate) fn is_unknown_loop(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        thread.status == Status::Ready
            && thread.operation.action == Action::Yield
            && !self.has_news(id, thread)
            && self.loops.len() < MOST_LOOPS
            && !self.loops.contains_key(&self.loop_of(id))
    }

    /// Whether the next operation of a thread is the one that its last round began with.
    pub(crate) fn begins_again(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        let operation = &thread.operation;
        thread.rounds.first == 0 && thread.rounds.previous_first == shape_of(operation)
    }

    /// Whether a thread before a yield does not poll, or what it polls has changed.
    fn has_news(&self, id: ThreadId, thread: &Thread) -> bool {
        // A sleeping thread (operand 1) wakes by itself.
        if !self.rules.watch || thread.operation.first == 1 {
            return true;
        }
        let rounds = &thread.rounds;
        let watches = || self.watches.iter().filter(|w| w.thread == id);
        let again = rounds.round == rounds.previous && rounds.repeats >= REPEATS - 1;
        if !again && (rounds.dirty || watches().any(|w| w.kind == WatchKind::Held)) {
            return true;
        }
        let mut polls = false;
        for watch in watches() {
            let object = &self.objects[watch.object.index()];
            let news = match watch.kind {
                WatchKind::Change => object.changes != watch.counter,
                WatchKind::Release => object.releases != watch.counter,
                WatchKind::Zero => object.value == 0,
                WatchKind::Held => continue,
            };
            if news {
                return true;
            }
            polls = true;
        }
        !polls
    }

    /// Whether a thread before a yield could only go on because nothing else can.
    pub(crate) fn is_forced(&self, id: ThreadId) -> bool {
        !self.may_leave_yield(id, &self.threads[id.index()])
    }

    /// Whether the last steps of a thread were such that nothing has changed.
    pub(crate) fn is_idle(&self, id: ThreadId) -> bool {
        let rounds = &self.threads[id.index()].rounds;
        rounds.forced > 0 && !rounds.dirty
    }

    /// Nothing can move: threads at a yield do.
    pub(crate) fn forced_moves(&self, out: &mut Vec<Move>) {
        let Rules { patience, .. } = self.rules;
        let mut next: Option<(u32, u64, ThreadId)> = None;
        for (index, thread) in self.threads.iter().enumerate() {
            let rounds = thread.rounds.forced;
            let yields = thread.operation.action == Action::Yield;
            if thread.status != Status::Ready || !yields || rounds >= patience {
                continue;
            }
            let id = ThreadId(index as u32);
            if rounds < ANY_ORDER {
                out.push(Move { thread: id, choice: 0 });
            }
            let turn = (rounds, thread.key, id);
            next = Some(next.map_or(turn, |best| best.min(turn)));
        }
        if let (true, Some((_, _, thread))) = (out.is_empty(), next) {
            out.push(Move { thread, choice: 0 });
        }
    }

    /// Keeps what a thread has read and changed since it last yielded.
    pub(crate) fn note_operation(
        &mut self,
        id: ThreadId,
        touch: Touch,
        operation: &Operation,
        done: &Done,
        forced: bool,
    ) {
        let rounds = &mut self.threads[id.index()].rounds;
        if operation.action == Action::Yield {
            let same = rounds.round == rounds.previous;
            rounds.repeats = if same { rounds.repeats.saturating_add(1) } else { 0 };
            rounds.previous = rounds.round;
            rounds.round = 0;
            rounds.shape = 0;
            rounds.previous_first = std::mem::take(&mut rounds.first);
            rounds.forced = if forced { rounds.forced + 1 } else { 0 };
            rounds.dirty = false;
            self.watches.retain(|w| w.thread != id);
            return;
        }
        // What a read-modify-write finds may be its own doing; what a load finds is news.
        let sees = if matches!(operation.action, Action::Update(..)) { 0 } else { done.result };
        let shape = shape_of(operation);
        let operands = mix(operation.first, operation.second);
        rounds.round = mix3(rounds.round, mix(shape, operands), sees);
        rounds.shape = mix(rounds.shape, shape);
        if rounds.first == 0 {
            rounds.first = shape;
        }
        let object = operation.object;
        match operation.action {
            Action::Lock | Action::ReadLock | Action::WriteLock => self.holds(id, object),
            Action::TryLock | Action::TryReadLock | Action::TryWriteLock if done.changed => {
                self.holds(id, object);
            }
            Action::TryLock | Action::TryReadLock | Action::TryWriteLock => {
                self.watch(id, object, WatchKind::Release);
            }
            Action::Unlock | Action::ReadUnlock | Action::WriteUnlock => {
                self.objects[object.index()].releases += 1;
                let held =
                    |w: &Watch| w.thread == id && w.object == object && w.kind == WatchKind::Held;
                match self.watches.iter().position(held) {
                    Some(position) => drop(self.watches.swap_remove(position)),
                    None => self.threads[id.index()].rounds.dirty = true,
                }
                if done.changed {
                    self.changes(id, object);
                }
            }
            Action::RequestWrite => self.changes(id, object),
            Action::Upgrade if done.changed => {
                self.changes(id, object);
                self.watch(id, object, WatchKind::Zero);
            }
            _ => {
                for object in [touch.object, touch.second] {
                    if object == ObjectId::NONE {
                        continue;
                    }
                    if done.changed {
                        // A wait on a condition variable releases its lock.
                        self.objects[object.index()].releases += 1;
                        self.changes(id, object);
                    } else {
                        self.watch(id, object, WatchKind::Change);
                    }
                }
            }
        }
    }

    /// What the thread has read is outdated already.
    pub(crate) fn has_outdated(&mut self, id: ThreadId, object: ObjectId) {
        for watch in &mut self.watches {
            if watch.thread == id && watch.object == object && watch.kind == WatchKind::Change {
                watch.counter = OUTDATED;
            }
        }
    }

    /// The thread has taken a lock.
    fn holds(&mut self, id: ThreadId, object: ObjectId) {
        self.watch(id, object, WatchKind::Change);
        self.watches.push(Watch { thread: id, object, kind: WatchKind::Held, counter: 0 });
    }

    fn changes(&mut self, id: ThreadId, object: ObjectId) {
        self.threads[id.index()].rounds.dirty = true;
        let counter = &mut self.objects[object.index()].changes;
        *counter += 1;
        let counter = *counter;
        // Its own change is no news to a thread.
        for watch in &mut self.watches {
            if watch.thread == id && watch.object == object && watch.kind == WatchKind::Change {
                watch.counter = counter;
            }
        }
    }

    fn watch(&mut self, id: ThreadId, object: ObjectId, kind: WatchKind) {
        let same = |w: &Watch| w.thread == id && w.object == object && w.kind == kind;
        if self.watches.iter().any(same) {
            return;
        }
        let polled = &self.objects[object.index()];
        let counter = if kind == WatchKind::Release { polled.releases } else { polled.changes };
        self.watches.push(Watch { thread: id, object, kind, counter });
    }
}

/// A number for what an operation does, and where.
fn shape_of(operation: &Operation) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    operation.action.hash(&mut hasher);
    mix3(u64::from(operation.object.0), hasher.finish(), site_hash(operation))
}

fn site_hash(operation: &Operation) -> u64 {
    mix(u64::from(operation.site.line()), u64::from(operation.site.column()))
}
