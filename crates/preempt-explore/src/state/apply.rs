//! Executing one visible operation on a state.
//!
//! Invariant: everything a thread can find out from an operation enters its history, as the
//! version of what it read (the last write, the last release, the final history of a joined
//! thread), never as a value: two writers may write equal numbers after unequal plain data.
//! What is absorbed is a function of the graph, so there are never more histories than graphs.

use super::channels::{self, execute_channel};
use super::done::{Done, Publish};
use super::thread::Leaving;
use super::values::{ONCE_DONE, ONCE_RUNNING, WAITING, WAITS, WRITER};
use super::{ExecutionState, Object};
use crate::mix::{mix, mix3, term};
use crate::mutation::{self, Mutation};
use crate::{Action, Move, ObjectId, Operation, ThreadId};

/// How an operation touches the objects, in the sense of dependence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touch {
    pub(crate) object: ObjectId,
    pub(crate) write: bool,
    /// A second object, always written.
    pub(crate) second: ObjectId,
    /// Uses up one of the timeouts that may fire.
    pub(crate) timeout: bool,
    /// Distinguishes alternatives that touch the same.
    pub(crate) stamp: u64,
}

/// What must be known of a state before an operation, to keep what threads wait for.
enum Before {
    Yield((Leaving, u32)),
    /// Of the object.
    Value(u64),
}

impl ExecutionState {
    /// The hash of the graph after `step`, without executing it.
    pub fn graph_after(&self, step: Move) -> u128 {
        let owed = self.restlessness(Some(step.thread));
        if self.is_kept(step.thread) {
            return self.hash ^ self.access_term(step) ^ owed;
        }
        self.hash ^ self.term_of(self.action_name(step.thread), self.touch(step)) ^ owed
    }

    /// Executes the pending operation of a thread. Returns what the thread sees.
    pub fn apply(&mut self, step: Move) -> u64 {
        let id = step.thread;
        if self.is_kept(id) {
            return self.apply_access(step);
        }
        let operation = self.threads[id.index()].operation;
        if operation.action.is_number() && operation.object != ObjectId::NONE {
            return self.apply_number(id, &operation);
        }
        let touch = self.touch(step);
        self.record(id, touch);
        // No other thread can tell how many references a thread has.
        let is_watched = self.rules.watch && operation.action != Action::DropReference;
        let watched = is_watched.then(|| match operation.action {
            Action::Yield => Before::Yield(self.before_yield(id)),
            _ => Before::Value(self.objects.get(operation.object.index()).map_or(0, |o| o.value)),
        });
        let done = self.execute(step, &operation);
        let thread = &mut self.threads[id.index()];
        // The operation itself follows from the history so far.
        thread.history = mix3(thread.history, done.observed, done.result);
        thread.steps += 1;
        let history = thread.history;
        self.publish(id, &operation, &done, history);
        if let Some(weak) = self.weak.as_mut().filter(|_| step.choice == Move::TIMEOUT) {
            // Time passes: what was stored becomes visible.
            weak.note_yield(id);
        }
        match watched {
            Some(Before::Yield((leaving, restless))) => self.note_yield(id, leaving, restless),
            Some(Before::Value(before)) => {
                self.note_operation(id, touch, &operation, &done, before);
            }
            None => {}
        }
        if self.urgent == Some(id) {
            self.urgent = None;
        }
        if step.choice == Move::TIMEOUT && operation.second == Operation::SPURIOUS {
            self.woken += 1;
        } else if step.choice == Move::TIMEOUT {
            self.note_timeout(id, operation.deadline);
        }
        done.result
    }

    /// What follows an access to an atomic of which all writes are kept, whose newest value was `before`.
    /// `seen`: the result, and the version of what was read. `outdated`: that is older than a change.
    pub(crate) fn after_access(
        &mut self,
        id: ThreadId,
        operation: &Operation,
        seen: (u64, u64),
        before: u64,
        (changed, outdated): (bool, bool),
    ) {
        if self.rules.watch {
            let (object, second) = (operation.object, ObjectId::NONE);
            let touch = Touch { object, write: changed, second, timeout: false, stamp: 0 };
            let (result, observed) = seen;
            let done = Done { result, observed, publish: Publish::Nothing, changed };
            self.note_operation(id, touch, operation, &done, before);
            if outdated {
                self.has_outdated(id, object);
            }
        }
        if self.urgent == Some(id) {
            self.urgent = None;
        }
    }

    /// The history of a thread after its pending comparison, which does not hold the outcome.
    pub(crate) fn history_after_compare(&self, id: ThreadId) -> u64 {
        let thread = &self.threads[id.index()];
        let version = self.objects[thread.operation.object.index()].version;
        mix3(thread.history, version, 0)
    }

    /// Whether two moves of different threads do not commute.
    pub fn depend(&self, a: Move, b: Move) -> bool {
        if a.choice == Move::TIMEOUT || b.choice == Move::TIMEOUT {
            return true;
        }
        // Whether a restless thread may go on depends on which threads have moved.
        if self.is_restless {
            return true;
        }
        let (x, y) = (self.touch(a), self.touch(b));
        let meets = |object: ObjectId, write: bool, t: &Touch| {
            object != ObjectId::NONE
                && ((object == t.object && (write || t.write)) || object == t.second)
        };
        meets(x.object, x.write, &y) || meets(x.second, true, &y)
    }

    #[inline]
    pub(crate) fn touch(&self, step: Move) -> Touch {
        let thread = &self.threads[step.thread.index()];
        let operation = &thread.operation;
        let object = operation.object;
        let timeout = step.choice == Move::TIMEOUT;
        let on = |write| Touch { object, write, second: ObjectId::NONE, timeout, stamp: 0 };
        let without_object = |stamp| Touch { object: ObjectId::NONE, stamp, ..on(false) };
        let value = || self.objects[object.index()].value;
        match operation.action {
            Action::Load
            | Action::ReadLock
            | Action::ReadUnlock
            | Action::TryReadLock
            | Action::Length
            | Action::OnceCompleted => on(false),
            Action::TryLock => on(value() == 0),
            Action::Upgrade => on(value() != 0),
            Action::DropReference => on(value() == 1),
            Action::OnceEnter => on(value() != ONCE_DONE),
            Action::Wait => Touch { second: operation.condition(), ..on(true) },
            Action::Reacquire if timeout => {
                Touch { object: operation.condition(), stamp: 1, ..on(true) }
            }
            Action::NotifyOne => {
                let woken = self.waiter(object, step.choice);
                Touch { stamp: woken.map_or(0, |t| self.threads[t.index()].key), ..on(true) }
            }
            Action::Join if timeout => without_object(1),
            Action::Join => without_object(self.threads[operation.target().index()].key),
            Action::Yield => without_object(0),
            Action::Leave => without_object(value() >> 32),
            Action::AwaitTaken => without_object(operation.first),
            Action::Choose => without_object(u64::from(step.choice)),
            _ if timeout => Touch { stamp: 1, ..on(true) },
            _ => on(true),
        }
    }

    pub(crate) fn action_name(&self, id: ThreadId) -> u64 {
        let thread = &self.threads[id.index()];
        mix(thread.key, u64::from(thread.steps))
    }

    #[inline]
    fn term_of(&self, name: u64, touch: Touch) -> u128 {
        let mut hash = if touch.object == ObjectId::NONE {
            term(name, touch.stamp, 0, 0)
        } else {
            let object = &self.objects[touch.object.index()];
            let reads = if touch.write { object.reads } else { 0 };
            term(name, touch.stamp, object.last_write, reads.wrapping_add(touch.write.into()))
        };
        if touch.second != ObjectId::NONE {
            let object = &self.objects[touch.second.index()];
            hash ^= term(name, 3, object.last_write, object.reads);
        }
        if touch.timeout {
            hash ^= term(name, 4, self.last_timeout, 0);
        }
        hash
    }

    #[inline]
    fn record(&mut self, id: ThreadId, touch: Touch) {
        let name = self.action_name(id);
        self.hash ^= self.term_of(name, touch);
        if touch.timeout {
            self.last_timeout = name;
        }
        if touch.object != ObjectId::NONE {
            let object = &mut self.objects[touch.object.index()];
            if touch.write {
                object.last_write = name;
                object.reads = 0;
            } else {
                object.reads = object.reads.wrapping_add(name);
            }
        }
        if touch.second != ObjectId::NONE {
            let object = &mut self.objects[touch.second.index()];
            object.last_write = name;
            object.reads = 0;
        }
    }

    /// Executes an operation on a number by a destructor that runs when all threads have ended: it
    /// takes effect at once and belongs to no history. `None` for any other operation.
    pub fn after_the_end(&mut self, operation: &Operation) -> Option<u64> {
        let Operation { action, object, first, second, .. } = *operation;
        if object == ObjectId::NONE || !(action.is_number() || action == Action::OnceCompleted) {
            return None;
        }
        let object = &mut self.objects[object.index()];
        let old = object.value;
        object.value = match action {
            Action::Store => first,
            Action::Update(update, bits) => update.compute(old, first, bits),
            Action::CompareExchange | Action::ComparePointer if old == first => second,
            _ => old,
        };
        Some(old)
    }

    fn execute(&mut self, step: Move, operation: &Operation) -> Done {
        let id = step.thread;
        let holder = u64::from(id.0) + 1;
        let timeout = step.choice == Move::TIMEOUT;
        if operation.object == ObjectId::NONE {
            return self.execute_without_object(step, operation);
        }
        let object = &mut self.objects[operation.object.index()];
        let (version, old) = (object.version, object.value);
        let sees = |result| Done::sees(version, result);
        match operation.action {
            Action::Upgrade | Action::DropReference => execute_reference(object, operation.action),
            // It still has to acquire the mutex: others may do so first.
            Action::Reacquire if timeout => {
                self.threads[id.index()].waiting = ObjectId::NONE;
                Done { result: 1, publish: Publish::Nothing, ..Done::BLIND }
            }
            Action::Lock | Action::TryLock | Action::Reacquire => {
                let free = old == 0;
                if free {
                    object.value = holder;
                }
                if operation.action == Action::Reacquire {
                    self.threads[id.index()].waiting = ObjectId::NONE;
                    return Done { changed: true, ..sees(0) };
                }
                let observed = if mutation::is(Mutation::ForgetRelease) { 0 } else { version };
                Done { changed: free, observed, ..sees(u64::from(free)) }
            }
            Action::Unlock | Action::WriteUnlock => {
                let downgrades = operation.second == Operation::DOWNGRADES;
                object.value = (old & WAITING) + u64::from(downgrades);
                self.reading.extend(downgrades.then_some((id, operation.object)));
                Done { publish: Publish::Replace, changed: operation.first != 1, ..Done::BLIND }
            }
            Action::ReadLock
            | Action::TryReadLock
            | Action::ReadUnlock
            | Action::RequestWrite
            | Action::WriteLock
            | Action::TryWriteLock => self.execute_read_write(id, operation),
            Action::Wait => {
                object.value = 0;
                self.threads[id.index()].waiting = operation.condition();
                Done { publish: Publish::Replace, ..Done::BLIND }
            }
            Action::NotifyOne | Action::NotifyAll => {
                self.notify(operation, step.choice);
                // The pick is no business of the notifier.
                Done { publish: Publish::Nothing, ..Done::BLIND }
            }
            Action::TakeToken if timeout => {
                Done { publish: Publish::Nothing, result: 1, ..Done::BLIND }
            }
            Action::TakeToken => {
                object.value = 0;
                Done { changed: true, ..sees(0) }
            }
            Action::GiveToken => {
                object.value = 1;
                Done { changed: old == 0, ..Done::BLIND }
            }
            Action::Arrive => arrive(object, operation.first),
            Action::Leave => Done { observed: object.readers, ..sees(0) },
            Action::OnceEnter => {
                let begins = old == 0 || old == 3 && operation.first == 1;
                if begins {
                    object.value = ONCE_RUNNING;
                }
                Done { changed: begins, ..sees(old) }
            }
            Action::OnceExit => {
                object.value = operation.first;
                Done { publish: Publish::Replace, ..Done::BLIND }
            }
            Action::OnceCompleted => sees(old),
            _ => execute_channel(object, operation, timeout),
        }
    }

    /// Wakes the thread that was chosen, or all that wait.
    fn notify(&mut self, operation: &Operation, choice: u32) {
        if operation.action == Action::NotifyOne {
            if let Some(woken) = self.waiter(operation.object, choice) {
                self.threads[woken.index()].waiting = ObjectId::NONE;
            }
            return;
        }
        for thread in &mut self.threads {
            if thread.waiting == operation.object {
                thread.waiting = ObjectId::NONE;
            }
        }
    }

    /// Executes an operation on a read-write lock, but for `WriteUnlock`, which is a mutex's.
    #[inline]
    fn execute_read_write(&mut self, id: ThreadId, operation: &Operation) -> Done {
        let object = &mut self.objects[operation.object.index()];
        let (version, old) = (object.version, object.value);
        let sees = |result| Done::sees(version, result);
        match operation.action {
            Action::ReadLock | Action::TryReadLock => {
                let free = old & WRITER == 0;
                object.value += u64::from(free);
                if free {
                    self.reading.push((id, operation.object));
                }
                Done { changed: free, ..sees(u64::from(free)) }
            }
            Action::ReadUnlock => {
                object.value -= 1;
                let held = |&(t, o): &(ThreadId, ObjectId)| t == id && o == operation.object;
                if let Some(position) = self.reading.iter().rposition(held) {
                    self.reading.remove(position);
                }
                Done { publish: Publish::Reader, changed: false, ..Done::BLIND }
            }
            Action::RequestWrite => {
                object.value += WAITS;
                Done { publish: Publish::Nothing, changed: false, ..Done::BLIND }
            }
            _ => {
                let free = old & !WAITING == 0;
                // Which readers were in the way is a fact of the graph that the version does
                // not hold.
                let observed = mix3(version, object.readers, if free { 0 } else { object.reads });
                if free {
                    let asked = self.rules.recursive && operation.action == Action::WriteLock;
                    object.value += WRITER | (u64::from(id.0) + 1);
                    object.value -= if asked { WAITS } else { 0 };
                    object.readers = 0;
                }
                Done { observed, changed: free, ..sees(u64::from(free)) }
            }
        }
    }

    fn execute_without_object(&mut self, step: Move, operation: &Operation) -> Done {
        let quiet = Done { result: 0, observed: 0, publish: Publish::Nothing, changed: false };
        match operation.action {
            Action::Join if step.choice == Move::TIMEOUT => {
                Done { result: 1, observed: 1, ..quiet }
            }
            Action::Join => {
                let target = operation.target();
                if let Some(clocks) = &mut self.clocks {
                    clocks.join(step.thread, target);
                }
                if let Some(times) = &mut self.times {
                    times.follows(step.thread, target);
                }
                self.threads[target.index()].panicked = false;
                let observed = self.threads[target.index()].history;
                let observed = if mutation::is(Mutation::ForgetJoined) { 0 } else { observed };
                Done { observed, ..quiet }
            }
            Action::Choose => Done { result: u64::from(step.choice), ..quiet },
            _ => quiet,
        }
    }

    fn publish(&mut self, id: ThreadId, operation: &Operation, done: &Done, history: u64) {
        match operation.action {
            Action::Choose => {}
            Action::Yield => {
                if let Some(weak) = &mut self.weak {
                    weak.note_yield(id);
                }
            }
            _ if self.weak.is_some() => return self.publish_logged(id, operation, done, history),
            _ => {}
        }
        self.publish_quietly(id, operation, done, history);
    }

    /// Publishes, and logs what the thread knows afterwards.
    fn publish_logged(&mut self, id: ThreadId, operation: &Operation, done: &Done, history: u64) {
        let time = self.clocks.as_mut().map_or(0, |clocks| clocks.now(id));
        self.publish_quietly(id, operation, done, history);
        self.log_other(id, time);
    }

    fn publish_quietly(&mut self, id: ThreadId, operation: &Operation, done: &Done, history: u64) {
        let publish = done.publish;
        if operation.object == ObjectId::NONE {
            if let Some(clocks) = &mut self.clocks {
                clocks.tick(id);
            }
            return;
        }
        let object = &mut self.objects[operation.object.index()];
        match publish {
            Publish::Nothing => {}
            Publish::Replace => object.version = mix(history, 5),
            Publish::Append => object.version = mix3(object.version, history, 6),
            Publish::Reader => object.readers = object.readers.wrapping_add(mix(history, 7)),
        }
        if operation.action == Action::Arrive && object.value as u32 == 0 {
            object.readers = object.version;
        }
        self.pass_on(id, operation, done);
    }

    /// Hands on what a thread knows, and the time, by an operation that it has executed.
    pub(super) fn pass_on(&mut self, id: ThreadId, operation: &Operation, done: &Done) {
        let publish = done.publish;
        if let Some(times) = &mut self.times {
            // The barrier's snapshot is not kept for time.
            if done.observed != 0 && operation.action != Action::Leave {
                times.reads(id, operation.object);
            }
            match publish {
                Publish::Nothing | Publish::Reader => {}
                Publish::Replace => times.publishes(id, operation.object, true),
                Publish::Append => times.publishes(id, operation.object, false),
            }
        }
        let Some(clocks) = &mut self.clocks else { return };
        if operation.action.is_number() || operation.action == Action::Upgrade {
            let writes = publish != Publish::Nothing;
            let compares =
                matches!(operation.action, Action::CompareExchange | Action::ComparePointer);
            let order = if compares && !writes { operation.failure } else { operation.order };
            let reads = operation.action != Action::Store;
            if writes && self.rules.mixed {
                clocks.atomic_write(id, operation.object, operation.site);
            }
            clocks.number(id, operation.object, order, (reads, writes));
        } else if self.rules.messages && operation.action.is_on_channel() {
            channels::pass_clocks(clocks, id, operation, done.result);
        } else {
            let acquires = !matches!(
                operation.action,
                Action::Unlock
                    | Action::WriteUnlock
                    | Action::ReadUnlock
                    | Action::RequestWrite
                    | Action::Wait
                    | Action::NotifyOne
                    | Action::NotifyAll
            );
            // An attempt that fails learns nothing of what was done under the lock, or by the initialisation.
            let has_failed = match operation.action {
                Action::TryLock | Action::TryReadLock | Action::TryWriteLock => done.result == 0,
                Action::OnceCompleted => done.result != ONCE_DONE,
                Action::Length => true,
                Action::Reacquire => done.result == 1,
                Action::DropReference => done.result == 0,
                _ => false,
            };
            if acquires && !has_failed {
                clocks.acquire(id, operation.object);
                if !matches!(operation.action, Action::ReadLock | Action::TryReadLock) {
                    clocks.acquire_from_readers(id, operation.object);
                }
            }
            match publish {
                Publish::Nothing => {}
                Publish::Replace => clocks.release(id, operation.object, true),
                Publish::Append => clocks.release(id, operation.object, false),
                Publish::Reader => clocks.release_by_reader(id, operation.object),
            }
        }
        clocks.uses(id, operation.object, publish != Publish::Nothing, operation.site);
        clocks.tick(id);
    }
}

/// Upgrades a weak reference, or drops a strong one.
fn execute_reference(object: &mut Object, action: Action) -> Done {
    let old = object.value;
    if action == Action::Upgrade {
        let alive = u64::from(old != 0);
        object.value = old + alive;
        let publish = if old != 0 { Publish::Replace } else { Publish::Nothing };
        return Done { publish, changed: old != 0, ..Done::sees(object.version, alive) };
    }
    object.value = old.wrapping_sub(1);
    if old != 1 {
        return Done { publish: Publish::Reader, changed: false, ..Done::BLIND };
    }
    // It comes after the others, in whatever order those were.
    let observed = mix3(object.version, object.readers, 8);
    object.readers = 0;
    Done { observed, ..Done::sees(object.version, 1) }
}

/// Arrives at a barrier for so many threads: the value is the generation, and how many of it are there.
fn arrive(object: &mut Object, threads: u64) -> Done {
    let (generation, arrived) = (object.value >> 32, (object.value as u32) + 1);
    if u64::from(arrived) < threads {
        object.value = generation << 32 | u64::from(arrived);
        return Done { result: generation << 1, ..Done::BLIND };
    }
    object.value = (generation + 1) << 32;
    Done { result: generation << 1 | 1, observed: object.version, ..Done::BLIND }
}
