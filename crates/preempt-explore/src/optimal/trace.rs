//! One finished execution: what happened before what, and which races can be turned around.
//!
//! Two events race if they are dependent and nothing between them orders them. Turning a race
//! around is only possible if the later event was enabled before the earlier one. A lock is not:
//! it was disabled before the unlock it waited for; then the event to turn around is the one
//! before on the same object, and so on, until the operation was enabled.
//!
//! A loop that yields waits for *any* of the objects it has read to change, which no partial
//! order can express. Yields are therefore not ordered after what enabled them; sequences with
//! yields are tried out on the state instead.

use super::node::Node;
use super::wakeup::{Footprint, Item};
use crate::mutation::{self, Mutation};
use crate::{Action, Effect, ExecutionState, Move, ObjectId, Operation, ThreadId};
use rustc_hash::FxHashMap;

/// The footprint of a step in a state.
pub(super) fn footprint(state: &ExecutionState, step: Move) -> Footprint {
    let touch = state.touch(step);
    let mut objects = Vec::with_capacity(2);
    if touch.object != ObjectId::NONE {
        objects.push((touch.object, touch.write));
    }
    if touch.second != ObjectId::NONE {
        objects.push((touch.second, true));
    }
    Footprint { objects, last: false, timeout: step.choice == Move::TIMEOUT }
}

#[derive(Default)]
struct Users {
    write: Option<usize>,
    reads: Vec<usize>,
}

/// Events before an event on the same object.
type Before = Vec<(usize, ObjectId)>;

/// The order of the events of an execution.
pub(super) struct Order<'a> {
    nodes: &'a [Node],
    /// For each event and thread: how many events of that thread happen before or are it.
    clocks: Vec<Vec<u32>>,
    /// Position of each event in its thread, from 1.
    position: Vec<u32>,
    /// Last event before on each object.
    before: Vec<Before>,
    /// The event that the thread of an event depends on besides objects: the one before in the
    /// thread, what spawned, woke or released it.
    causes: Vec<Vec<usize>>,
    users: FxHashMap<ObjectId, Users>,
    last_of: Vec<Option<usize>>,
    spawned_by: Vec<Option<usize>>,
    woken_by: Vec<Option<usize>>,
    timeout: Option<usize>,
}

impl<'a> Order<'a> {
    /// The order of the events in `nodes`; `end` is the state after the last one.
    pub(super) fn of(nodes: &'a [Node], end: &ExecutionState) -> Self {
        let threads = end.threads.len();
        let mut order = Order {
            nodes,
            clocks: Vec::with_capacity(nodes.len()),
            position: Vec::with_capacity(nodes.len()),
            before: Vec::with_capacity(nodes.len()),
            causes: Vec::with_capacity(nodes.len()),
            users: FxHashMap::default(),
            last_of: vec![None; threads],
            spawned_by: vec![None; threads],
            woken_by: vec![None; threads],
            timeout: None,
        };
        for index in 0..nodes.len() {
            let after = nodes.get(index + 1).map_or(end, |node| &node.state);
            order.add(index, after, threads);
        }
        order
    }

    fn add(&mut self, index: usize, after: &ExecutionState, threads: usize) {
        let node = &self.nodes[index];
        let step = node.event.steps[0].0;
        let thread = step.thread;
        let operation = node.state.thread(thread).operation;
        let footprint = &node.event.footprint;
        let causes = self.causes_of(index, step, &operation);
        let before = self.before(step, &operation, footprint);
        let mut clock = vec![0; threads];
        for &cause in causes.iter().chain(before.iter().map(|(i, _)| i)) {
            for (mine, theirs) in clock.iter_mut().zip(&self.clocks[cause]) {
                *mine = (*mine).max(*theirs);
            }
        }
        if footprint.last {
            for (slot, last) in clock.iter_mut().zip(&self.last_of) {
                *slot = (*slot).max(last.map_or(0, |i| self.position[i]));
            }
        }
        let position = self.last_of[thread.index()].map_or(0, |i| self.position[i]) + 1;
        clock[thread.index()] = position;
        for &(object, write) in &footprint.objects {
            let users = self.users.entry(object).or_default();
            if write {
                users.write = Some(index);
                users.reads.clear();
            } else {
                users.reads.push(index);
            }
        }
        for (_, done) in &node.event.steps {
            for effect in done.iter().flat_map(|(_, effects, _)| effects.iter()) {
                if let Effect::Spawn(child, ..) = effect {
                    self.spawned_by[child.index()] = Some(index);
                }
            }
        }
        for (id, was) in node.state.threads.iter().enumerate() {
            if was.waiting != ObjectId::NONE && after.threads[id].waiting == ObjectId::NONE {
                self.woken_by[id] = Some(index);
            }
        }
        if footprint.timeout {
            self.timeout = Some(index);
        }
        self.last_of[thread.index()] = Some(index);
        self.clocks.push(clock);
        self.position.push(position);
        self.before.push(before);
        self.causes.push(causes);
    }

    /// Whether a wait may end without what it waits for.
    fn is_timed(&self, operation: &Operation) -> bool {
        let spurious = self.nodes.first().is_some_and(|node| node.state.rules.spurious > 0);
        operation.second == 1 || spurious && operation.second == Operation::SPURIOUS
    }

    /// What orders an operation besides objects. `index` is where it happens.
    fn causes_of(&self, index: usize, step: Move, operation: &Operation) -> Vec<usize> {
        let thread = step.thread.index();
        let own = self.last_of[thread].or(self.spawned_by[thread]);
        let mut causes: Vec<usize> = own.into_iter().collect();
        match operation.action {
            Action::Join => {
                let target = operation.target().index();
                causes.extend(self.last_of[target].or(self.spawned_by[target]));
            }
            // With a timeout it could have gone on anyway: that order is a race, see `before`.
            Action::Reacquire if step.choice != Move::TIMEOUT && !self.is_timed(operation) => {
                causes.extend(self.woken_by[thread]);
            }
            Action::Leave | Action::AwaitTaken => {
                let first = self.last_of[thread].map_or(0, |own| own + 1);
                let disabled = |&i: &usize| !self.nodes[i].state.can_go_on(step.thread);
                causes.extend((first..index).rev().find(disabled));
            }
            _ => {}
        }
        causes
    }

    /// The latest events on each object that a step with this footprint comes after.
    fn before(&self, step: Move, operation: &Operation, footprint: &Footprint) -> Before {
        let mut before = Vec::new();
        if operation.action == Action::Reacquire && self.is_timed(operation) {
            let woken = self.woken_by[step.thread.index()].filter(|_| !footprint.timeout);
            before.extend(woken.map(|i| (i, operation.condition())));
        }
        for &(object, write) in &footprint.objects {
            let Some(users) = self.users.get(&object) else { continue };
            before.extend(users.write.map(|i| (i, object)));
            if write {
                before.extend(users.reads.iter().map(|&i| (i, object)));
            }
        }
        if footprint.timeout {
            before.extend(self.timeout.map(|i| (i, ObjectId::NONE)));
        }
        before
    }

    fn thread(&self, event: usize) -> ThreadId {
        self.nodes[event].event.steps[0].0.thread
    }

    /// Whether event `a` is or happens before event `b`.
    fn ordered(&self, a: usize, b: usize) -> bool {
        self.clocks[b][self.thread(a).index()] >= self.position[a]
    }

    /// Calls `found` with the event at whose state a sequence is to be explored that turns a race
    /// around.
    pub(super) fn reversals(&self, end: &ExecutionState, mut found: impl FnMut(usize, Vec<Item>)) {
        let mut scratch = ExecutionState::new(end.rules);
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            let step = node.event.steps[0].0;
            let later = Later {
                step,
                operation: node.state.thread(step.thread).operation,
                footprint: &node.event.footprint,
                before: &self.before[index],
                causes: &self.causes[index],
                unwinds: node.event.steps.len() > 1,
            };
            if later.footprint.last {
                let maximal: Before = self
                    .last_of
                    .iter()
                    .flatten()
                    .filter(|&&i| i != index && later.before.iter().all(|(other, _)| *other != i))
                    .map(|&i| (i, ObjectId::NONE))
                    .chain(self.before[index].iter().copied())
                    .collect();
                self.turn(&Later { before: &maximal, ..later }, &mut scratch, &mut found);
            } else {
                self.turn(&later, &mut scratch, &mut found);
            }
        }
        self.left_over(end, &mut scratch, &mut found);
    }

    /// Threads that did not come to their next operation: it races as if it had happened.
    fn left_over(
        &self,
        end: &ExecutionState,
        scratch: &mut ExecutionState,
        found: &mut impl FnMut(usize, Vec<Item>),
    ) {
        if mutation::is(Mutation::ForgetBlocked) {
            return;
        }
        let count = self.nodes.len();
        for thread in end.thread_ids() {
            let pending = end.thread(thread);
            if pending.status != crate::Status::Ready {
                continue;
            }
            let step = Move { thread, choice: 0 };
            let footprint = footprint(end, step);
            let mut before = self.before(step, &pending.operation, &footprint);
            if count > 0 && self.nodes[count - 1].event.footprint.last {
                before = vec![(count - 1, ObjectId::NONE)];
            }
            let later = Later {
                step,
                operation: pending.operation,
                footprint: &footprint,
                before: &before,
                causes: &self.causes_of(count, step, &pending.operation),
                unwinds: false,
            };
            self.turn(&later, scratch, found);
        }
    }

    fn turn(
        &self,
        later: &Later<'_>,
        scratch: &mut ExecutionState,
        found: &mut impl FnMut(usize, Vec<Item>),
    ) {
        let mut work: Vec<(usize, ObjectId)> = Vec::new();
        for &(earlier, object) in later.before {
            let immediate = later
                .before
                .iter()
                .all(|&(other, _)| other == earlier || !self.ordered(earlier, other));
            if immediate {
                work.push((earlier, object));
            }
        }
        let mut tried: Before = Vec::new();
        let mut turned: Vec<usize> = Vec::new();
        while let Some((earlier, object)) = work.pop() {
            let caused = later.causes.iter().any(|&cause| self.ordered(earlier, cause));
            if caused
                || self.thread(earlier) == later.step.thread
                || tried.contains(&(earlier, object))
            {
                continue;
            }
            tried.push((earlier, object));
            match self.sequence((earlier, object), None, later, scratch) {
                Some(items) => {
                    turned.push(earlier);
                    found(earlier, items);
                }
                None if mutation::is(Mutation::OnlyAdjacentRaces) => {}
                None => {
                    self.without_timeout(earlier, object, later, scratch, found);
                    let hidden = later.before.iter().filter(|(i, _)| self.ordered(*i, earlier));
                    let chain = self.before[earlier].iter().filter(|(_, o)| *o == object);
                    work.extend(hidden.chain(chain));
                }
            }
        }
    }

    /// A timeout was no alternative to waiting because another one had used up the budget: both
    /// orders are turned around together.
    fn without_timeout(
        &self,
        earlier: usize,
        object: ObjectId,
        later: &Later<'_>,
        scratch: &mut ExecutionState,
        found: &mut impl FnMut(usize, Vec<Item>),
    ) {
        if !self.is_timed(&later.operation) || later.footprint.timeout {
            return;
        }
        for fired in 0..self.nodes.len() {
            let caused = later.causes.iter().any(|&cause| self.ordered(fired, cause));
            if caused || fired == earlier || !self.nodes[fired].event.footprint.timeout {
                continue;
            }
            let (first, other) = (earlier.min(fired), earlier.max(fired));
            let race = (first, if first == earlier { object } else { ObjectId::NONE });
            if let Some(items) = self.sequence(race, Some(other), later, scratch) {
                found(first, items);
            }
        }
    }

    /// What does not depend on event `earlier`, and then `later`. `None` if `later` is not
    /// enabled there.
    fn sequence(
        &self,
        (earlier, object): (usize, ObjectId),
        without: Option<usize>,
        later: &Later<'_>,
        scratch: &mut ExecutionState,
    ) -> Option<Vec<Item>> {
        let mut events: Vec<usize> = (earlier + 1..self.nodes.len())
            .filter(|&i| !self.ordered(earlier, i) && !self.nodes[i].event.footprint.last)
            .filter(|&i| without.is_none_or(|other| !self.ordered(other, i)))
            .collect();
        let doubtful = |i: &usize| {
            let step = self.nodes[*i].event.steps[0].0;
            let action = self.nodes[*i].state.thread(step.thread).operation.action;
            action == Action::Yield || step.choice == Move::TIMEOUT
        };
        let mut step = later.step;
        let mut alternatives = 1;
        let mut footprint = later.footprint.clone();
        // After another order on an object it may not panic any more; else it does the same.
        let last = footprint.last && object == ObjectId::NONE;
        footprint.last = last;
        if !later.is_plain() || events.iter().any(doubtful) {
            scratch.clone_from(&self.nodes[earlier].state);
            events = self.attempt(scratch, &events);
            let done = |cause: &usize| *cause < earlier || events.contains(cause);
            if !later.causes.iter().all(done) {
                return None;
            }
            let mut moves = Vec::new();
            scratch.moves(&mut moves);
            moves.retain(|m| m.thread == later.step.thread);
            step = *moves.first()?;
            alternatives = moves.len() as u32;
            let known = footprint;
            footprint = Footprint { last, ..super::trace::footprint(scratch, step) };
            if later.unwinds {
                // It will probably unwind again, and touch the same then.
                footprint.merge(&known);
            }
        }
        let mut items: Vec<Item> = Vec::with_capacity(events.len() + 1);
        for (position, &event) in events.iter().enumerate() {
            let after = (0..position).filter(|&p| self.ordered(events[p], event)).collect();
            let happened = &self.nodes[event].event;
            items.push(Item {
                step: happened.steps[0].0,
                footprint: happened.footprint.clone(),
                alternatives: 0,
                after,
            });
        }
        let after = (0..events.len())
            .filter(|&p| {
                items[p].footprint.conflicts(&footprint)
                    || later
                        .causes
                        .iter()
                        .any(|&cause| cause >= earlier && self.ordered(events[p], cause))
            })
            .collect::<Vec<usize>>();
        // Transitively: what an item comes after, later comes after too.
        let mut all = after.clone();
        for &p in &after {
            all.extend((0..p).filter(|&q| self.ordered(events[q], events[p])));
        }
        all.sort_unstable();
        all.dedup();
        items.push(Item { step, footprint, alternatives, after: all });
        items.extend(self.panic_after(earlier, &items));
        Some(items)
    }

    /// The panic that ended the execution, if it would still follow a sequence. Without it a
    /// sequence would seem to be covered by threads that sleep but never move.
    fn panic_after(&self, earlier: usize, items: &[Item]) -> Option<Item> {
        let index = self.nodes.len() - 1;
        let happened = &self.nodes[index].event;
        let [(step, _)] = &happened.steps[..] else { return None };
        let sees = self.before[index].iter().map(|(i, _)| i).chain(&self.causes[index]);
        let same = earlier == index || sees.into_iter().all(|&i| !self.ordered(earlier, i));
        let objects = Footprint { last: false, ..happened.footprint.clone() };
        let later = &items[items.len() - 1];
        let stays = happened.footprint.last
            && same
            && step.thread != later.step.thread
            && !objects.conflicts(&later.footprint);
        stays.then(|| Item {
            step: *step,
            footprint: happened.footprint.clone(),
            alternatives: 0,
            after: (0..items.len()).collect(),
        })
    }

    /// Executes as many of the events as possible, in their order where possible.
    fn attempt(&self, state: &mut ExecutionState, events: &[usize]) -> Vec<usize> {
        let mut done: Vec<usize> = Vec::with_capacity(events.len());
        let mut left: Vec<usize> = events.to_vec();
        let mut moves = Vec::new();
        loop {
            let mut progress = false;
            let mut still: Vec<usize> = Vec::new();
            for &event in &left {
                let happened = &self.nodes[event].event;
                state.moves(&mut moves);
                let waits = still.iter().any(|&other| self.ordered(other, event));
                if waits || !moves.contains(&happened.steps[0].0) {
                    still.push(event);
                    continue;
                }
                for (step, segments) in &happened.steps {
                    state.apply(*step);
                    // A child comes to its first operation before its parent goes on.
                    for (thread, effects, next) in segments.iter().rev() {
                        state.perform(*thread, effects, next);
                    }
                }
                done.push(event);
                progress = true;
            }
            if !progress || still.is_empty() {
                return done;
            }
            left = still;
        }
    }
}

/// The later event of a race.
struct Later<'a> {
    step: Move,
    operation: Operation,
    footprint: &'a Footprint,
    before: &'a Before,
    causes: &'a [usize],
    /// Whether more steps belong to it.
    unwinds: bool,
}

impl Later<'_> {
    /// Whether it is always enabled and touches the same in every state.
    fn is_plain(&self) -> bool {
        let may_wait = self.operation.awaits;
        !may_wait
            && matches!(
                self.operation.action,
                Action::Load
                    | Action::Store
                    | Action::Update(..)
                    | Action::CompareExchange
                    | Action::ComparePointer
                    | Action::Unlock
                    | Action::Wait
                    | Action::NotifyAll
                    | Action::GiveToken
                    | Action::OnceCompleted
            )
    }
}
