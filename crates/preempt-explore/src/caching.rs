//! Context-bounded depth-first search that remembers happens-before graphs.
//!
//! Paper: \[MQ07\] Algorithm 1 with its table, over happens-before graphs
//! Differs from the paper: the table is keyed by (graph, last thread) and keeps the least number of
//! preemptions; keyed by state alone it loses executions. Where everything is known, the execution
//! is not cut but goes on without preemption, so that destructors run as usual.

use crate::iterative::alternatives;
use crate::schedule::without_preemption;
use crate::{Driver, Halt, Move, Program, Run, Session};
use rustc_hash::FxHashMap;

/// Explores all graphs, bound by bound, up to the bound in the limits.
pub fn explore<P: Program>(session: &mut Session<'_, P>) -> Halt {
    let mut bound = 0;
    loop {
        let mut search = Caching { bound, ..Caching::default() };
        loop {
            let ending = session.execute(&mut search);
            search.following = false;
            if let Some(halt) = session.judge(ending).or_else(|| session.limit()) {
                return halt;
            }
            if search.visited.len() > session.limits.states {
                return Halt::States;
            }
            if !search.backtrack() {
                break;
            }
        }
        session.statistics.states = search.visited.len() as u64;
        session.statistics.row(bound);
        session.statistics.exhausted = !search.pruned;
        if session.statistics.exhausted || session.limits.bound == Some(bound) {
            return Halt::Done;
        }
        bound += 1;
    }
}

struct Node {
    /// Alternatives left, the next one last.
    left: Vec<(Move, u32, u128)>,
    taken: Move,
}

#[derive(Default)]
struct Caching {
    bound: u32,
    stack: Vec<Node>,
    /// Least preemptions by which a graph was reached with this last thread.
    visited: FxHashMap<(u128, u32), u32>,
    pruned: bool,
    /// Everything ahead is known: no more decisions in this execution.
    following: bool,
    found: Vec<(Move, u32)>,
}

impl Caching {
    fn take(&mut self, left: &mut Vec<(Move, u32, u128)>) -> Option<Move> {
        while let Some((step, cost, graph)) = left.pop() {
            let least = self.visited.entry((graph, step.thread.0)).or_insert(u32::MAX);
            if cost < *least {
                *least = cost;
                return Some(step);
            }
        }
        None
    }

    fn backtrack(&mut self) -> bool {
        while let Some(mut node) = self.stack.pop() {
            if let Some(step) = self.take(&mut node.left) {
                node.taken = step;
                self.stack.push(node);
                return true;
            }
        }
        false
    }
}

impl Driver for Caching {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        if let Some(node) = self.stack.get(run.path.len()) {
            return moves.contains(&node.taken).then_some(node.taken);
        }
        if self.following {
            return Some(without_preemption(&run.state, run.last, moves));
        }
        let mut found = std::mem::take(&mut self.found);
        self.pruned |= alternatives(run, moves, self.bound, &mut found);
        let mut left: Vec<_> = found
            .iter()
            .rev()
            .map(|&(step, cost)| (step, cost, run.state.graph_after(step)))
            .collect();
        self.found = found;
        match self.take(&mut left) {
            Some(taken) => {
                self.stack.push(Node { left, taken });
                Some(taken)
            }
            None => {
                self.following = true;
                Some(without_preemption(&run.state, run.last, moves))
            }
        }
    }
}
