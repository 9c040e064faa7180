//! Accesses to atomics of which all writes are kept: which moves are possible, and what they do.

use super::log::Logged;
use super::writes::{IDLE, Location, Source, Weak, Write};
use crate::clock::Clock;
use crate::mix::{mix, mix3, term};
use crate::mutation::{self, Mutation};
use crate::{Action, ExecutionState, Move, ObjectId, Operation, Order, POINTER, Status, ThreadId};
use std::sync::Arc;
use std::time::Duration;

/// What an access does to the writes of its location.
#[derive(Clone, Copy)]
struct Plan {
    /// Place in modification order of the write that is read.
    reads: Option<usize>,
    /// Place of the new write, and its value.
    writes: Option<(usize, u64)>,
    order: Order,
    /// Whether a comparison fails for no reason.
    fails: bool,
}

impl ExecutionState {
    /// Keeps the writes of an atomic from here on.
    pub(crate) fn meet(&mut self, operation: &Operation) {
        if let Some(weak) = &mut self.weak {
            if operation.action.is_access() && operation.object != ObjectId::NONE {
                weak.meet(operation.object, &self.objects[operation.object.index()]);
            }
        }
    }

    /// Whether the next operation of a thread is an access to an atomic of which all writes are kept.
    pub(crate) fn is_kept(&self, thread: ThreadId) -> bool {
        let operation = &self.threads[thread.index()].operation;
        self.weak.is_some() && operation.action.is_access() && operation.object != ObjectId::NONE
    }

    /// An atomic that was accessed without order since this was asked for the last time.
    pub(crate) fn take_raced(&mut self) -> Option<ObjectId> {
        self.weak.as_mut()?.raced.take()
    }

    /// What the last access to an atomic read, if all writes are kept.
    pub fn source(&self) -> Option<Source> {
        self.weak.as_ref().map(|weak| weak.source)
    }

    /// Adds the moves of a thread that need a stale choice. It may turn out that sequentially consistent
    /// events forbid some of them ([`ExecutionState::is_consistent_after`]).
    pub(crate) fn possible_stale_moves(&self, thread: ThreadId, out: &mut Vec<Move>) {
        self.find_stale(thread, &mut |step| {
            out.push(step);
            false
        });
    }

    /// Adds the moves of a thread that need a stale choice.
    pub fn stale_moves(&self, thread: ThreadId, out: &mut Vec<Move>) {
        self.find_stale(thread, &mut |step| {
            if self.is_consistent_after(step) {
                out.push(step);
            }
            false
        });
    }

    /// Whether a thread has a move that needs a stale choice.
    pub(crate) fn has_stale_move(&self, thread: ThreadId) -> bool {
        self.find_stale(thread, &mut |step| self.is_consistent_after(step))
    }

    /// The same, but it may turn out that sequentially consistent events forbid all of them.
    pub(crate) fn may_have_stale_move(&self, thread: ThreadId) -> bool {
        self.find_stale(thread, &mut |_| true)
    }

    /// Whether a stale choice is possible.
    pub fn permits(&self, step: Move) -> bool {
        let mut same = |found| found == step && self.is_consistent_after(step);
        self.weak.is_some() && self.find_stale(step.thread, &mut same)
    }

    /// Whether the last comparison of some thread has failed for no reason.
    pub fn has_failures(&self) -> bool {
        self.weak.as_ref().is_some_and(|weak| !weak.failed.is_empty())
    }

    /// How often in a row comparisons of a thread with this object have failed for no reason.
    pub fn failures(&self, id: ThreadId, object: ObjectId) -> u32 {
        let failed = self.weak.iter().flat_map(|weak| &weak.failed);
        failed.filter(|failed| **failed == (id, object)).count() as u32
    }

    /// Looks for a move with a stale choice that coherence and atomicity allow, the newest first.
    fn find_stale(&self, id: ThreadId, wanted: &mut dyn FnMut(Move) -> bool) -> bool {
        let (Some(weak), Some(clocks)) = (&self.weak, &self.clocks) else { return false };
        let Some(thread) = self.threads.get(id.index()) else { return false };
        let operation = &thread.operation;
        let number = operation.action.is_number() && operation.object != ObjectId::NONE;
        let newest_only = match operation.action {
            Action::Load => operation.second == Operation::NEWEST,
            // What is stored is not known yet, and will be the newest value in memory.
            Action::Store => operation.second == POINTER,
            // What is read is the value that was waited for, which no other operation of this kind has read yet.
            Action::CompareExchange => operation.awaits,
            _ => false,
        };
        if thread.status != Status::Ready || !number || newest_only || !self.can_go_on(id) {
            return false;
        }
        let Some(location) = weak.location(operation.object) else { return false };
        let newest = location.writes.len() - 1;
        let compares = matches!(operation.action, Action::CompareExchange | Action::ComparePointer);
        let may_fail = compares
            && operation.may_fail
            && self.failures(id, operation.object) < self.rules.failures
            && location.writes.iter().any(|w| w.value == operation.first);
        if newest == 0 && !may_fail {
            return false;
        }
        let floor = weak.floor(clocks, id, location);
        for back in 0..=newest - floor {
            let write = &location.writes[newest - back];
            let equal = write.value == operation.first;
            let only_reads = operation.action == Action::Load || compares && !equal;
            let free = !write.taken || mutation::is(Mutation::NoAtomicity);
            let again = weak.has_polled(id, operation.object, write.name);
            let step = Move { thread: id, choice: back as u32 };
            // An update that leaves the value as it was is as good as a read: after a yield not again.
            let idle = matches!(operation.action, Action::Update(update, bits)
                    if update.compute(write.value, operation.first, bits) == write.value)
                && weak.has_polled(id, operation.object, IDLE);
            let possible = back > 0 && if only_reads { !again } else { free && !idle };
            if possible && wanted(step) {
                return true;
            }
            let step = Move { choice: Move::FAILURE + back as u32, ..step };
            if may_fail && equal && wanted(step) {
                return true;
            }
        }
        false
    }

    /// Whether sequentially consistent events keep their order if this is done.
    pub(crate) fn is_consistent_after(&self, step: Move) -> bool {
        if !self.rules.strong || mutation::is(Mutation::NoTotalOrder) {
            return true;
        }
        // Nothing comes after an event that reads the newest write.
        if step.choice == Move::FAILURE {
            return true;
        }
        let (Some(weak), Some(clocks)) = (&self.weak, &self.clocks) else { return true };
        let plan = self.plan(step);
        let object = self.threads[step.thread.index()].operation.object;
        let source = plan.reads.map(|at| &weak.writes(object)[at]);
        let mut clock = Clock::from(clocks.of(step.thread));
        if let Some(source) = source.filter(|_| plan.order.acquires()) {
            clock.merge(&source.released);
        }
        let name = plan.writes.map(|_| self.action_name(step.thread));
        let names = (source.map(|write| write.name), name);
        let time = clock.get(step.thread.index()).copied().unwrap_or(1);
        let event = Logged::access((step.thread, time), object, names, plan.order, &clock);
        weak.stays_acyclic(&event, plan.writes.map(|(at, _)| at))
    }

    fn plan(&self, step: Move) -> Plan {
        let operation = &self.threads[step.thread.index()].operation;
        let writes = self.weak.as_ref().map_or(&[][..], |weak| weak.writes(operation.object));
        let choice = if step.choice == Move::TIMEOUT { 0 } else { step.choice };
        let fails = choice & Move::FAILURE != 0;
        let back = (choice & !Move::FAILURE) as usize;
        let at = (writes.len() - 1).saturating_sub(back);
        let old = writes[at].value;
        let order = operation.order;
        let only_read = |order| Plan { reads: Some(at), writes: None, order, fails: false };
        let update = |value| Plan { writes: Some((at + 1, value)), ..only_read(order) };
        match operation.action {
            Action::Load => only_read(order),
            Action::Store => Plan { reads: None, ..update(operation.first) },
            Action::Update(function, bits) => update(function.compute(old, operation.first, bits)),
            Action::Upgrade if old != 0 => update(old + 1),
            Action::Upgrade => only_read(order),
            _ if fails => Plan { fails, ..only_read(operation.failure) },
            _ if self.hint.unwrap_or(old == operation.first) => update(operation.second),
            _ => only_read(operation.failure),
        }
    }

    /// The hash of an access: what it reads, and the writes next to it in modification order. Equal
    /// events, reads and modification orders have equal hashes, in whatever order events were added.
    pub(crate) fn access_term(&self, step: Move) -> u128 {
        self.term_of_plan(step, &self.plan(step))
    }

    fn term_of_plan(&self, step: Move, plan: &Plan) -> u128 {
        let name = self.action_name(step.thread);
        let object = self.threads[step.thread.index()].operation.object;
        let writes = self.weak.as_ref().map_or(&[][..], |weak| weak.writes(object));
        let mut hash = term(name, u64::from(plan.writes.is_some()), 20, 0);
        if let Some(at) = plan.reads {
            hash ^= term(name, writes[at].name, 21, 0);
        }
        if let Some((at, _)) = plan.writes {
            let next_to = |a: u64, b: u64| term(a, b, 22, u64::from(object.0));
            hash ^= next_to(writes[at - 1].name, name);
            if let Some(after) = writes.get(at) {
                hash ^= next_to(writes[at - 1].name, after.name) ^ next_to(name, after.name);
            }
        }
        hash
    }

    /// Executes the pending access of a thread. Returns what the thread sees.
    pub(crate) fn apply_access(&mut self, step: Move) -> u64 {
        let id = step.thread;
        let plan = self.plan(step);
        self.hint = None;
        self.hash ^= self.term_of_plan(step, &plan);
        let name = self.action_name(id);
        let thread = &mut self.threads[id.index()];
        let operation = thread.operation;
        let (Some(weak), Some(clocks)) = (&mut self.weak, &mut self.clocks) else { return 0 };
        let Some(location) = weak.locations.get_mut(operation.object.index()) else { return 0 };
        let end = location.writes.len();
        let newest = &location.writes[end - 1];
        let source = plan.reads.map(|at| &location.writes[at]);
        let old = source.map_or(0, |write| write.value);
        // As under sequential consistency, so that what is known about histories can be shared. That
        // a comparison failed for no reason does not follow from what it read.
        let (result, seen) = match operation.action {
            Action::Upgrade => (u64::from(old != 0), u64::from(old != 0)),
            _ => (old, plan.fails.into()),
        };
        let stale = plan.is_stale(end);
        weak.source = Source {
            read: source.and_then(|write| write.position),
            newest: newest.position,
            newest_value: newest.value,
            position: weak.accesses,
            stale,
            fails: plan.fails,
        };
        if !Weak::is_ordered(clocks, id, location, plan.writes.is_some()) {
            weak.raced = Some(operation.object);
        }
        let observed = source.map_or(0, |write| write.version);
        thread.history = mix3(thread.history, observed, seen);
        thread.steps += 1;
        let version = mix(thread.history, 5);
        if let (Some(times), Some(source)) = (&mut self.times, source) {
            times.pass(id, source.moment);
        }
        let moment = self.times.as_ref().map_or(Duration::ZERO, |times| times.now(id));
        let time = clocks.now(id);
        let joins = source.map(|write| &*write.released);
        if plan.writes.is_some() && self.rules.mixed {
            clocks.atomic_write(id, operation.object, operation.site);
        }
        let released = clocks.kept_number(id, plan.order, joins, plan.writes.is_some());
        clocks.uses(id, operation.object, plan.writes.is_some(), operation.site);
        let read = source.map(|write| write.name);
        if self.rules.strong {
            let (names, clock) = ((read, plan.writes.map(|_| name)), clocks.of(id));
            weak.log.push(Logged::access((id, time), operation.object, names, plan.order, clock));
        }
        clocks.tick(id);
        let before = newest.value;
        let news = plan.reads.is_some_and(|at| location.has_news_after(at));
        weak.accesses += 1;
        #[cfg(test)]
        weak.rf.extend(read.map(|write| (name, write)));
        let mut changed = false;
        if let Some((at, value)) = plan.writes {
            let (position, taken) = (Some(weak.source.position), false);
            let released = released.unwrap_or_default();
            let write =
                Write { name, thread: id, time, value, version, released, moment, taken, position };
            weak.write(operation.object, at, plan.reads, write);
            if at == end {
                let object = &mut self.objects[operation.object.index()];
                (object.value, object.version) = (value, version);
                changed = operation.is_pointer() || before != value;
            }
        } else if let Some(write) = read {
            Arc::make_mut(location).note_read(id, time, write);
            weak.note_read(id, operation.object, write);
        }
        if plan.fails {
            weak.failed.push((id, operation.object));
        }
        self.after_access(id, &operation, (result, observed), before, (changed, stale && news));
        result
    }
}

impl Plan {
    /// Whether this is a stale choice for a location with so many writes.
    #[inline]
    fn is_stale(&self, writes: usize) -> bool {
        self.fails
            || match (self.reads, self.writes) {
                (Some(at), _) => at + 1 < writes,
                (None, Some((at, _))) => at < writes,
                (None, None) => false,
            }
    }
}

impl Location {
    /// Whether the value has changed after the write at this place.
    #[inline]
    fn has_news_after(&self, at: usize) -> bool {
        self.writes[at..].windows(2).any(|pair| pair[0].value != pair[1].value)
    }
}

impl Weak {
    /// Inserts a write at this place of the modification order of an object; `updates` is the place of
    /// the write that it has read.
    #[inline]
    fn write(&mut self, object: ObjectId, at: usize, updates: Option<usize>, write: Write) {
        let Some(location) = self.locations.get_mut(object.index()) else { return };
        let location = Arc::make_mut(location);
        let thread = write.thread;
        let idle = updates.is_some_and(|read| {
            let read = &mut location.writes[read];
            read.taken = true;
            read.value == write.value
        });
        let idle = idle && at < location.writes.len();
        location.insert_write(at, write);
        self.failed.retain(|(failed, _)| *failed != thread);
        if idle {
            self.note_read(thread, object, IDLE);
        }
    }
}
