//! Unbounded exploration by an optimal dynamic partial-order reduction: one execution per graph.
//!
//! The program is run to its end; the races of that execution are turned around, and the
//! beginnings of executions that show the other order are kept in wakeup trees along the current
//! path. Memory is that path: there is no table of states, histories or prefixes.
//!
//! Paper: Abdulla, Aronis, Jonsson, Sagonas: Optimal dynamic partial order reduction (2014),
//! Algorithm 2
//! Differs from the paper: operations may be disabled and enabled again (locks, condition
//! variables, channels, joins); see `trace`. Threads may have alternatives; see `wakeup`. A panic
//! ends the execution, so it depends on everything; a thread that unwinds is not interrupted, so
//! its steps until it has caught the panic are one event. A loop that waits by yielding goes on when *any* of the objects that it
//! has read is changed, which no partial order expresses: a program with one is left to the default strategy, by graphs.
//!
//! Invariant: a thread sleeps in a state if every execution that continues with it was explored.
//! An execution in which all enabled threads sleep would repeat a graph; the wakeup trees see to
//! it that none is begun.

mod node;
mod trace;
mod wakeup;

use crate::mutation::{self, Mutation};
use crate::schedule::without_preemption;
use crate::{
    Action, Driver, Effect, Ending, ExecutionState, Halt, Mismatch, Move, Next, Program, Run,
    Session, ThreadId, forward,
};
use node::{Done, Happened, Node};
use trace::{Order, footprint};
use wakeup::{Branch, Footprint, Sequence, insert};

/// Explores every graph, whatever preemptions it needs, each by one execution.
#[doc(alias = "optimal DPOR")]
pub fn explore<P: Program>(session: &mut Session<'_, P>) -> Halt {
    let mut search = Optimal::default();
    loop {
        search.depth = 0;
        let mut ending = session.execute(&mut search);
        if search.waits {
            return forward::explore(session);
        }
        search.keep();
        if let Some(mismatch) = search.mismatch.take() {
            ending = Ending::Nondeterminism(mismatch);
        }
        let cut = ending == Ending::Abandoned;
        session.statistics.redundant += u64::from(cut);
        session.statistics.states +=
            (search.stack.len() - search.known.min(search.stack.len())) as u64;
        if let Some(halt) = session.judge(ending).or_else(|| session.limit()) {
            return halt;
        }
        if !cut {
            search.reverse(&session.run.state);
        }
        if !search.backtrack() {
            session.statistics.exhausted = true;
            return Halt::Done;
        }
    }
}

#[derive(Default)]
struct Optimal {
    stack: Vec<Node>,
    /// Events of the current execution so far.
    depth: usize,
    /// Nodes whose event is the same as in the last execution.
    known: usize,
    segments: Vec<Done>,
    spare: Vec<ExecutionState>,
    mismatch: Option<Mismatch>,
    /// Whether a thread has come to a yield.
    waits: bool,
}

impl Optimal {
    /// Notes what the last step led to.
    fn keep(&mut self) {
        if self.depth > self.known {
            if let Some(node) = self.stack.get_mut(self.depth - 1) {
                if let Some((_, done)) = node.event.steps.last_mut() {
                    node.event.footprint.last |=
                        self.segments.iter().any(|(_, _, next)| matches!(next, Next::Panic));
                    done.append(&mut self.segments);
                }
            }
        }
        self.segments.clear();
    }

    /// Adds what the races of the last execution call for to the trees.
    fn reverse(&mut self, end: &ExecutionState) {
        let mut list = Vec::new();
        Order::of(&self.stack, end).reversals(end, |at, items| list.push((at, items)));
        for (at, items) in list {
            let node = &mut self.stack[at];
            let current = node.tree[0].step.thread;
            for branch in node.tree.iter_mut().filter(|b| b.step.thread == current) {
                branch.footprint.clone_from(&node.event.footprint);
            }
            let sequence = Sequence { items: &items, gone: vec![false; items.len()] };
            let covered = node.asleep.iter().any(|(thread, footprint)| {
                let step = Move { thread: *thread, choice: 0 };
                sequence.weak_initial(step, footprint).is_some()
            });
            if covered {
                continue;
            }
            let mut items = items;
            let turned = items.iter().position(|item| item.alternatives > 0).unwrap_or(0);
            for choice in 0..items[turned].alternatives {
                if items[turned].alternatives > 1 {
                    items[turned].step.choice = choice;
                }
                let sequence = Sequence { items: &items, gone: vec![false; items.len()] };
                insert(&mut node.tree, sequence);
            }
        }
    }

    /// Goes to the next branch of the deepest tree that has one.
    fn backtrack(&mut self) -> bool {
        while let Some(node) = self.stack.last_mut() {
            let finished = node.tree.remove(0);
            node.group.merge(&node.event.footprint);
            if node.tree.first().is_none_or(|next| next.step.thread != finished.step.thread) {
                let group = std::mem::take(&mut node.group);
                node.asleep.push((finished.step.thread, group));
            }
            if !node.tree.is_empty() {
                node.event = Happened::default();
                self.known = self.stack.len() - 1;
                return true;
            }
            if let Some(node) = self.stack.pop() {
                self.spare.push(node.state);
            }
        }
        false
    }

    fn push(&mut self, run: &Run, moves: &[Move]) -> bool {
        let mut asleep = Vec::new();
        let mut tree = Vec::new();
        if let Some(parent) = self.stack.last_mut() {
            let event = &parent.event;
            let mover = event.steps[0].0.thread;
            let still = parent.asleep.iter().filter(|(thread, footprint)| {
                *thread != mover
                    && (!footprint.conflicts(&event.footprint)
                        || mutation::is(Mutation::SleepForGood))
            });
            asleep.extend(still.cloned());
            tree = std::mem::take(&mut parent.tree[0].children);
        }
        debug_assert!(
            tree.first().is_none_or(|branch| moves.contains(&branch.step)),
            "a sequence of a wakeup tree can be executed"
        );
        tree.retain(|branch| moves.contains(&branch.step));
        let demanded = !tree.is_empty();
        if !demanded {
            let awake: Vec<Move> = moves
                .iter()
                .copied()
                .filter(|m| asleep.iter().all(|(thread, _)| *thread != m.thread))
                .collect();
            if awake.is_empty() {
                return false;
            }
            tree.push(Branch::leaf(without_preemption(&run.state, run.last, &awake)));
        }
        // All alternatives of a thread follow each other. Inside a sequence that a race called for,
        // with threads asleep, the others are not wanted: either they wake no thread and repeat
        // what was explored with the sleeping thread first, or a race found there has called for them.
        let step = tree[0].step;
        let wanted = (!demanded || asleep.is_empty()) && !mutation::is(Mutation::OneAlternative);
        let (own, others): (Vec<Branch>, Vec<Branch>) =
            tree.into_iter().partition(|branch| branch.step.thread == step.thread);
        let mut tree = own;
        for &other in moves.iter().filter(|m| wanted && m.thread == step.thread) {
            if tree.iter().all(|branch| branch.step != other) {
                tree.push(Branch::leaf(other));
            }
        }
        tree.extend(others);
        let mut state = self.spare.pop().unwrap_or_else(|| ExecutionState::new(run.rules));
        state.clone_from(&run.state);
        let (event, group) = (Happened::default(), Footprint::default());
        self.stack.push(Node { state, asleep, tree, event, group });
        true
    }
}

impl Driver for Optimal {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        self.keep();
        // A thread that unwinds goes on at once: part of the same event.
        match (run.state.urgent, moves, self.depth.checked_sub(1)) {
            (Some(thread), &[step], Some(last)) if thread == step.thread && thread == run.last => {
                if last >= self.known {
                    let event = &mut self.stack[last].event;
                    event.footprint.merge(&footprint(&run.state, step));
                    event.steps.push((step, Vec::new()));
                }
                return Some(step);
            }
            _ => {}
        }
        if self.depth == self.stack.len() && !self.push(run, moves) {
            return None;
        }
        let node = &mut self.stack[self.depth];
        let step = node.tree[0].step;
        let segments = node.state.thread(step.thread).operation;
        let found = run.state.thread(step.thread).operation;
        if segments != found && !segments.is_pointer() || !moves.contains(&step) {
            self.mismatch = Some(Mismatch {
                expected: format!("{} at {}", segments.action.name(), segments.site),
                found: format!("{} at {}", found.action.name(), found.site),
                assigned: Vec::new(),
            });
            return None;
        }
        if self.depth >= self.known {
            let footprint = footprint(&node.state, step);
            node.event = Happened { steps: vec![(step, Vec::new())], footprint };
        }
        self.depth += 1;
        Some(step)
    }

    fn segment(
        &mut self,
        thread: ThreadId,
        _: u64,
        effects: &[Effect],
        next: &Next,
    ) -> Result<(), Mismatch> {
        self.waits |= matches!(next, Next::Operation(o) if o.action == Action::Yield);
        if self.depth > self.known {
            self.segments.push((thread, effects.into(), *next));
        }
        Ok(())
    }
}
