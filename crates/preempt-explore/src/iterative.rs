//! Plain context-bounded depth-first search: a real execution per schedule, nothing cached.
//!
//! Paper: \[MQ07\] Algorithm 1
//! Differs from the paper: no table at all (as printed, the table is keyed by state alone and
//! then loses threads), and each bound is explored from the beginning instead of continuing from
//! a queue of work items. It is slow and too simple to be wrong: the oracle for everything else.

use crate::{Driver, Halt, Mismatch, Move, Program, Run, Session, ThreadId};

/// Explores all executions, bound by bound, up to the bound in the limits.
#[doc(alias = "MQ07 Algorithm 1")]
pub fn explore<P: Program>(session: &mut Session<'_, P>) -> Halt {
    let mut bound = 0;
    loop {
        match explore_bound(session, bound) {
            (Halt::Done, complete) => {
                session.statistics.row(bound);
                session.statistics.exhausted = complete;
                if complete || session.limits.bound == Some(bound) {
                    return Halt::Done;
                }
                bound += 1;
            }
            (halt, _) => return halt,
        }
    }
}

/// Explores all executions with at most `bound` preemptions. Also returns whether the bound
/// excluded nothing.
pub fn explore_bound<P: Program>(session: &mut Session<'_, P>, bound: u32) -> (Halt, bool) {
    let mut search = DepthFirst { bound, ..DepthFirst::default() };
    loop {
        let ending = session.execute(&mut search);
        if let Some(mismatch) = search.mismatch.take() {
            let ending = crate::Ending::Nondeterminism(mismatch);
            return (session.judge(ending).unwrap_or(Halt::Failure), false);
        }
        if let Some(halt) = session.judge(ending).or_else(|| session.limit()) {
            return (halt, false);
        }
        if !search.backtrack() {
            return (Halt::Done, !search.pruned);
        }
    }
}

#[derive(Default)]
struct Node {
    alternatives: Vec<(Move, u32)>,
    next: usize,
}

#[derive(Default)]
struct DepthFirst {
    bound: u32,
    stack: Vec<Node>,
    spare: Vec<Node>,
    pruned: bool,
    mismatch: Option<Mismatch>,
}

impl DepthFirst {
    fn backtrack(&mut self) -> bool {
        while let Some(mut node) = self.stack.pop() {
            node.next += 1;
            if node.next < node.alternatives.len() {
                self.stack.push(node);
                return true;
            }
            self.spare.push(node);
        }
        false
    }
}

impl Driver for DepthFirst {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        if let Some(node) = self.stack.get(run.path.len()) {
            let step = node.alternatives[node.next].0;
            if !moves.contains(&step) {
                self.mismatch = Some(Mismatch::cannot_move(run, step));
                return None;
            }
            return Some(step);
        }
        let mut node = self.spare.pop().unwrap_or_default();
        node.next = 0;
        self.pruned |= alternatives(run, moves, self.bound, &mut node.alternatives);
        let step = node.alternatives[0].0;
        self.stack.push(node);
        Some(step)
    }
}

/// The moves that stay within the bound, the last thread's first, each with its cost. Returns
/// whether some move does not stay within the bound.
pub(crate) fn alternatives(
    run: &Run,
    moves: &[Move],
    bound: u32,
    out: &mut Vec<(Move, u32)>,
) -> bool {
    out.clear();
    let last: ThreadId = run.last;
    let keeps = run.state.keeps_running(last, moves);
    let mut pruned = false;
    for own in [true, false] {
        for &step in moves.iter().filter(|m| (m.thread == last) == own) {
            let cost = run.preemptions + u32::from(keeps && !own);
            if cost <= bound {
                out.push((step, cost));
            } else {
                pruned = true;
            }
        }
    }
    pruned
}
