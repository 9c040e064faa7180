//! Bringing back the states of nodes.
//!
//! A node keeps the step that led to it, not its state, which would be kilobytes. When its preemptions or stale
//! choices are to be tried, the steps on the path to it are taken again. Nodes are visited in the order in
//! which they were found, so paths of consecutive nodes have most of their steps in common: a state is
//! kept exactly where the path of a later node parts, and is copied only if another one will need it, too.
//!
//! Invariant: states on the trail belong to nodes on one path from the root, the root's first. It does not
//! matter which ones there are: missing ones cost steps.

use super::node::{Node, ROOT, path_to};
use super::{Forward, imagined};
use crate::{ExecutionState, Halt, Move, Program, Session};

impl Forward {
    /// Counts where the paths of these nodes, visited in this order, part from each other.
    pub(super) fn expect(&mut self, nodes: impl Iterator<Item = u32>) {
        let mut last = None;
        for node in nodes {
            if let Some(last) = last {
                let fork = self.fork(last, node);
                self.nodes[fork as usize].forks += 1;
            }
            last = Some(node);
        }
    }

    /// The last node that is on the paths to both.
    fn fork(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            let (x, y) = (&self.nodes[a as usize], &self.nodes[b as usize]);
            let (up, down) = (x.level >= y.level, x.level <= y.level);
            if up {
                a = x.parent;
            }
            if down {
                b = y.parent;
            }
        }
        a
    }

    /// The state of a node. To be given back by [`Forward::leave`].
    pub(super) fn materialise<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        node: u32,
    ) -> Result<ExecutionState, Halt> {
        let mut ancestors = std::mem::take(&mut self.ancestors);
        ancestors.clear();
        let mut at = node;
        loop {
            let level = self.nodes[at as usize].level;
            let keep = self.trail.partition_point(|(n, _)| self.nodes[*n as usize].level <= level);
            self.spare.extend(self.trail.drain(keep..).map(|(_, state)| state));
            if self.trail.last().is_some_and(|(other, _)| *other == at) {
                break;
            }
            ancestors.push(at);
            at = self.nodes[at as usize].parent;
        }
        let mut state = self.state_at_fork(session, at);
        for &above in ancestors.iter().rev() {
            let nodes = &self.nodes;
            let path = |out: &mut Vec<Move>| path_to(nodes, above, out);
            let Node { step, more, forks, .. } = nodes[above as usize];
            self.segments.advance(session, &mut state, step, &path)?;
            for _ in 0..more {
                self.segments.advance(session, &mut state, Move { choice: 0, ..step }, &path)?;
            }
            if forks > 0 && above != node {
                let mut copy = self.spare.pop().unwrap_or_else(|| ExecutionState::new(state.rules));
                copy.clone_from(&state);
                self.trail.push((above, copy));
            }
        }
        self.ancestors = ancestors;
        Ok(state)
    }

    /// The state of the last node on the trail: a copy if it will be needed again, otherwise the state itself.
    fn state_at_fork<P>(&mut self, session: &Session<'_, P>, node: u32) -> ExecutionState {
        let forks = &mut self.nodes[node as usize].forks;
        *forks = forks.saturating_sub(1);
        if *forks == 0 && node != ROOT {
            if let Some((_, state)) = self.trail.pop() {
                return state;
            }
        }
        let mut state = self.spare.pop().unwrap_or_else(|| ExecutionState::new(imagined(session)));
        if let Some((_, last)) = self.trail.last() {
            state.clone_from(last);
        }
        state
    }

    /// Takes the state of a node back after it was visited.
    pub(super) fn leave(&mut self, node: u32, state: ExecutionState) {
        // The root's is on the trail already.
        if node != ROOT && self.is_needed_again(node) {
            self.trail.push((node, state));
        } else {
            self.spare.push(state);
        }
    }

    /// Whether the path of a node that is still to be visited parts from the last one here.
    pub(super) fn is_needed_again(&self, node: u32) -> bool {
        self.nodes[node as usize].forks > 0
    }
}
