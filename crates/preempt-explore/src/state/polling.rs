//! Loops that wait by yielding: when a thread at a yield goes on.
//!
//! A loop such as `while !flag.load() { yield_now() }` has infinitely many executions, all but a few of
//! which are alike. So a thread that polls goes on only when there is something new to see:
//!
//! * What a thread does between two yields is a *round*. Yields with nothing in between are one yield, so that
//!   backoffs of any length are rounds of the same kind.
//! * Whether a thread polls is found out by trying: when it comes to a yield, has changed nothing in this
//!   round and there is nothing new to see, the execution is stopped and the thread runs alone for many rounds (see
//!   `epilogue`). If it never leaves and changes nothing, it waits from then on until something that it reads
//!   is changed. Taking a lock and releasing it is no change, unless what it protects was changed.
//! * A loop that leaves within [`GIVES_UP`] rounds does not wait; its yields are free.
//! * A loop that leaves after more rounds, in which it repeats the same, does so in one go: the thread is alone until it does
//!   something else ([`Solo`]). That it sees a change first is explored, too, after one more round instead of
//!   each number of them. [`Rules::all_rounds`] makes all of its yields free instead.
//! * A thread that does change something (it counts its attempts) makes progress as far as we can
//!   tell, so it goes on freely; but the third time that it does exactly the same between two yields, it
//!   polls, too, and waits for a change of what it only reads, or has left as it was.
//! * Whatever a loop does, it is fair: a thread that has gone on or given up [`FAIR`] times in a row with nothing new to see
//!   lets every thread that can move do so before it goes on again (Musuvathi and Qadeer, *Fair stateless model
//!   checking*). An execution that does not end is then one that the program allows: a livelock.
//! * Where nothing else can move, a thread that waits goes on all the same: it may count in a register and give up.
//!   Only after [`Rules::patience`] such rounds in a row is it a livelock.
//!
//! What is lost: executions in which a loop gives up after more than [`ALONE`] rounds ([`COUNTED`] if it is seen to count) although
//! others could still move; and those in which a loop sees a change exactly after a certain large number of rounds.
//!
//! Under weak memory a thread may have read an outdated value; then there is something new to see at once.
//!
//! Invariant: whether a thread may leave its yield is a function of the happens-before graph and of which threads
//! have moved since the last yields of restless threads. The latter is part of the hash that identifies a state.

use super::apply::Touch;
use super::done::Done;
use super::thread::{Leaving, Solo, Watch, WatchKind};
use super::{ExecutionState, Object, Rules, Status, Thread};
use crate::loops::{Conduct, Was};
use crate::mix::{mix, mix3, term};
use crate::{Action, Move, Next, ObjectId, Operation, ThreadId};
use std::sync::Arc;

/// From this many repetitions on a thread that changes something polls all the same.
const REPEATS: usize = 2;
/// A loop that gives up within this many rounds does not wait for others.
pub(crate) const GIVES_UP: usize = 8;
/// A loop that does not leave within this many rounds never does.
pub(crate) const ALONE: usize = 1000;
/// The same for a loop that remembers something else after each round: it may count, and give up.
pub(crate) const COUNTED: usize = 20_000;
/// After so many rounds without anything new others have to move; also if all rounds are explored.
const FAIR: u32 = 16;
const FAIR_OF_ALL: u32 = 1024;
/// For so many rounds any thread at a yield, or at a wait that can time out, may be next where nothing else can move;
/// then in turns.
pub(super) const ANY_ORDER: u32 = 3;
/// Counter of a watch that has news from the beginning.
const OUTDATED: u32 = u32::MAX;

impl ExecutionState {
    /// Whether the thread, which stands before a yield, may go on.
    pub(crate) fn may_leave_yield(&self, id: ThreadId, thread: &Thread) -> bool {
        !matches!(self.leaving(id, thread), Leaving::Forced)
    }

    /// How the thread, which stands before a yield, goes on.
    pub(crate) fn leaving(&self, id: ThreadId, thread: &Thread) -> Leaving {
        if let Some(solo) = self.solo.as_ref().filter(|solo| solo.thread == id) {
            return Leaving::GivingUp(solo.cycle.clone());
        }
        if self.has_news(id, thread) {
            return Leaving::News;
        }
        match self.conduct(id) {
            Some(Conduct::Waits) => Leaving::Forced,
            Some(Conduct::GivesUp(round)) if !self.rules.all_rounds => {
                Leaving::GivingUp(round.clone())
            }
            _ => Leaving::Freely,
        }
    }

    /// After how many rounds without anything new a thread is restless.
    fn fair(&self) -> u32 {
        if self.rules.all_rounds { FAIR_OF_ALL } else { FAIR }
    }

    /// Whether a thread stands before a yield and has found nothing new for so many rounds that time passes.
    pub(super) fn looks_in_vain(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        thread.operation.action == Action::Yield && thread.rounds.restless >= self.fair()
    }

    /// Whether a restless thread has to let others move first: at its yield, and later as soon as they can, if they wait for a lock
    /// that it holds at its yields.
    #[inline]
    pub(super) fn owes(&self, id: ThreadId, thread: &Thread) -> bool {
        self.is_restless
            && thread.rounds.restless >= self.fair()
            && self.urgent != Some(id)
            && self.solo.as_ref().is_none_or(|solo| solo.thread != id)
            && self.thread_ids().any(|other| {
                other != id && thread.rounds.seen & bit(other) == 0 && self.could_move(other)
            })
    }

    /// Whether a thread could move if it were its turn.
    fn could_move(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        thread.status == Status::Ready
            && match thread.operation.action {
                Action::Yield => !matches!(self.leaving(id, thread), Leaving::Forced),
                _ => self.is_enabled(id, thread),
            }
    }

    /// Knows about loops what another state knows.
    pub(crate) fn take_loops(&mut self, other: &ExecutionState) {
        if !Arc::ptr_eq(&self.loops, &other.loops) {
            self.loops = other.loops.clone();
        }
    }

    /// What a thread before a yield does if it runs alone, as far as is known.
    fn conduct(&self, id: ThreadId) -> Option<&Conduct> {
        self.loops.get(self.loop_of(id), |was| self.was(was.object, was.address) == Some(*was))
    }

    /// What an object is, if it was made.
    pub(crate) fn was(&self, object: ObjectId, address: bool) -> Option<Was> {
        let Object { value, version, .. } = *self.objects.get(object.index())?;
        Some(Was { object, address, value: if address { version } else { value } })
    }

    /// What kind of loop a thread before a yield is in.
    pub(crate) fn loop_of(&self, id: ThreadId) -> u64 {
        let thread = &self.threads[id.index()];
        mix3(thread.key, thread.rounds.round, site_hash(&thread.operation))
    }

    /// Whether a thread has come to a yield and polls, in a loop that nothing is known about.
    pub(crate) fn is_unknown_loop(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        thread.status == Status::Ready
            && thread.operation.action == Action::Yield
            && self.solo.is_none()
            && self.rules.tries_loops
            && self.loops.has_room()
            && !self.has_news(id, thread)
            && self.conduct(id).is_none()
    }

    /// Whether the next operation of a thread is the one that its last round began with.
    pub(crate) fn begins_again(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        let operation = &thread.operation;
        thread.rounds.first == 0 && thread.rounds.previous_first == shape_of(operation)
    }

    /// Whether a thread has looked at an object since its last yield.
    pub(crate) fn watches_change_of(&self, id: ThreadId, object: ObjectId) -> bool {
        self.watches.iter().any(|w| w.thread == id && w.object == object)
    }

    /// Whether a thread before a yield does not poll, or what it polls has changed.
    fn has_news(&self, id: ThreadId, thread: &Thread) -> bool {
        // A sleeping thread (operand 1) wakes by itself.
        if !self.rules.watch || thread.operation.first == 1 {
            return true;
        }
        let rounds = &thread.rounds;
        let watches = || self.watches.iter().filter(|w| w.thread == id);
        let again = rounds.is_repeated(REPEATS);
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
                // It has left what it found, so others can hardly tell.
                WatchKind::Changed(before, after) if before == after => {
                    object.changes != watch.counter
                }
                WatchKind::Changed(..) => continue,
                WatchKind::Held => continue,
            };
            if news {
                return true;
            }
            polls = true;
        }
        !polls
    }

    /// Whether the last steps of a thread were such that nothing has changed.
    pub(crate) fn is_idle(&self, id: ThreadId) -> bool {
        let rounds = &self.threads[id.index()].rounds;
        rounds.forced > 0 && !rounds.dirty
    }

    /// Whether another thread leaves a loop and must not be disturbed.
    pub(crate) fn is_held_back(&self, id: ThreadId) -> bool {
        self.solo.as_ref().is_some_and(|solo| {
            solo.thread != id && {
                let thread = &self.threads[solo.thread.index()];
                thread.status == Status::Ready && self.is_enabled(solo.thread, thread)
            }
        })
    }

    /// A thread comes to its next operation: one that leaves a loop is no longer alone when it does
    /// something else than in the rounds before.
    pub(crate) fn meet_solo(&mut self, id: ThreadId, next: &Next) {
        let Some(solo) = self.solo.as_ref().filter(|solo| solo.thread == id) else { return };
        let same = match next {
            Next::Operation(operation) => solo.cycle[solo.done] == shape_of(operation),
            _ => false,
        };
        self.solo = same.then(|| Solo { done: (solo.done + 1) % solo.cycle.len(), ..solo.clone() });
    }

    /// What restless threads owe to others is part of what a state is: the hash for it after a step of a
    /// thread, or now.
    pub(crate) fn restlessness(&self, step: Option<ThreadId>) -> u128 {
        let yields = |id: ThreadId| {
            let thread = &self.threads[id.index()];
            thread.operation.action == Action::Yield
                && (thread.rounds.restless + 1 >= self.fair() || self.holds_something(id))
        };
        if !self.is_restless && !step.is_some_and(yields) {
            return 0;
        }
        let owed = |(index, thread): (usize, &Thread)| {
            let id = ThreadId(index as u32);
            let rounds = &thread.rounds;
            let (restless, seen) = match step {
                Some(mover) if mover == id && thread.operation.action == Action::Yield => {
                    (self.restless_after(id, thread), 0)
                }
                Some(mover) if mover != id => (rounds.restless, rounds.seen | bit(mover)),
                _ => (rounds.restless, rounds.seen),
            };
            let counts = restless >= self.fair() && thread.status == Status::Ready;
            if counts { term(thread.key, seen, 30, 0) } else { 0 }
        };
        self.threads.iter().enumerate().map(owed).fold(0, |hash, term| hash ^ term)
    }

    /// How often in a row a thread will have gone on with nothing new to see after its next yield.
    fn restless_after(&self, id: ThreadId, thread: &Thread) -> u32 {
        let restless = thread.rounds.restless;
        match self.leaving(id, thread) {
            Leaving::Freely => restless + 1,
            Leaving::News if thread.rounds.dirty => restless + 1,
            // All rounds until it has given up count as one; it may come back to the same loop.
            Leaving::GivingUp(_) => restless + u32::from(self.solo.is_none()),
            // Nothing else can move; some thread may wait for a lock that this one holds.
            Leaving::Forced if self.holds_something(id) => self.fair(),
            Leaving::News | Leaving::Forced => 0,
        }
    }

    /// Whether a thread has taken a lock since its last yield and not released it.
    fn holds_something(&self, id: ThreadId) -> bool {
        self.watches.iter().any(|watch| watch.thread == id && watch.kind == WatchKind::Held)
    }

    /// A thread has moved: restless ones have given way to it.
    fn note_turn(&mut self, id: ThreadId) {
        if self.is_restless {
            for (index, thread) in self.threads.iter_mut().enumerate() {
                if index != id.index() {
                    thread.rounds.seen |= bit(id);
                }
            }
        }
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

    /// A thread has yielded.
    pub(crate) fn note_yield(&mut self, id: ThreadId, leaving: Leaving, restless: u32) {
        self.note_turn(id);
        let rounds = &mut self.threads[id.index()].rounds;
        rounds.end_round();
        rounds.fresh = true;
        rounds.previous_first = std::mem::take(&mut rounds.first);
        let forced = matches!(leaving, Leaving::Forced);
        rounds.forced = if forced { rounds.forced + 1 } else { 0 };
        rounds.dirty = false;
        rounds.restless = restless;
        rounds.seen = 0;
        self.is_restless |= restless >= self.fair();
        self.watches.retain(|w| w.thread != id);
        if let (Leaving::GivingUp(cycle), None) = (leaving, &self.solo) {
            self.solo = Some(Solo { thread: id, cycle, done: 0 });
        }
    }

    /// How the next yield of a thread will be left, and how restless it is then.
    pub(crate) fn before_yield(&self, id: ThreadId) -> (Leaving, u32) {
        let thread = &self.threads[id.index()];
        (self.leaving(id, thread), self.restless_after(id, thread))
    }

    /// Keeps what a thread has read and changed since it last yielded.
    pub(crate) fn note_operation(
        &mut self,
        id: ThreadId,
        touch: Touch,
        operation: &Operation,
        done: &Done,
        before: u64,
    ) {
        self.note_turn(id);
        let rounds = &mut self.threads[id.index()].rounds;
        if !self.rules.tries_loops && self.loops.is_empty() {
            // Nothing waits: it only has to be fair.
            (rounds.fresh, rounds.dirty) = (false, true);
            return;
        }
        let shape = shape_of(operation);
        // What a read-modify-write finds may be its own doing; what a load finds is news. Addresses differ
        // between executions.
        let (operands, sees) = match operation.action {
            _ if operation.is_pointer() => (0, done.observed),
            Action::Update(..) if done.changed => (operation.first, 0),
            _ => (mix(operation.first, operation.second), done.result),
        };
        rounds.round = mix3(rounds.round, mix(shape, operands), sees);
        rounds.fresh = false;
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
                if !self.lets_go(id, object) {
                    self.threads[id.index()].rounds.dirty = true;
                }
                if done.changed {
                    self.changes(id, object);
                }
            }
            _ if operation.awaits => self.holds(id, object),
            // A lock that is a number is released.
            _ if done.changed && operation.action.is_number() && self.lets_go(id, object) => {
                self.objects[object.index()].releases += 1;
                self.changes(id, object);
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
                    if done.changed && operation.action.is_number() && !operation.is_pointer() {
                        self.changes_from(id, object, before);
                    } else if done.changed {
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

    /// The thread releases a lock. Returns whether it has taken it since its last yield.
    fn lets_go(&mut self, id: ThreadId, object: ObjectId) -> bool {
        let held = |w: &Watch| w.thread == id && w.object == object && w.kind == WatchKind::Held;
        let position = self.watches.iter().position(held);
        position.map(|position| self.watches.swap_remove(position)).is_some()
    }

    fn changes(&mut self, id: ThreadId, object: ObjectId) {
        self.threads[id.index()].rounds.dirty = true;
        let counter = &mut self.objects[object.index()].changes;
        *counter += 1;
        let counter = *counter;
        // Its own change is no news to a thread.
        for watch in &mut self.watches {
            let own = matches!(watch.kind, WatchKind::Change | WatchKind::Changed(..));
            // What others did in between stays news.
            if watch.thread == id
                && watch.object == object
                && own
                && watch.counter.wrapping_add(1) == counter
            {
                watch.counter = counter;
            }
        }
    }

    /// A thread has changed a number, which was `before`.
    fn changes_from(&mut self, id: ThreadId, object: ObjectId, before: u64) {
        self.changes(id, object);
        let Object { value, changes, .. } = self.objects[object.index()];
        for watch in &mut self.watches {
            if watch.thread == id && watch.object == object {
                if let WatchKind::Changed(_, after) = &mut watch.kind {
                    *after = value;
                    return;
                }
            }
        }
        let kind = WatchKind::Changed(before, value);
        self.watches.push(Watch { thread: id, object, kind, counter: changes });
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
pub(crate) fn shape_of(operation: &Operation) -> u64 {
    use std::hash::{Hash, Hasher};
    if operation.action == Action::Yield {
        // Wherever it is: loops spin first, and yield later.
        return 0;
    }
    let mut hasher = rustc_hash::FxHasher::default();
    operation.action.hash(&mut hasher);
    mix3(u64::from(operation.object.0), hasher.finish(), site_hash(operation))
}

fn bit(thread: ThreadId) -> u64 {
    1 << thread.0.min(63)
}

fn site_hash(operation: &Operation) -> u64 {
    mix(u64::from(operation.site.line()), u64::from(operation.site.column()))
}
