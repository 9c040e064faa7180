//! The states of the forward search, as steps from their parents.

use crate::{ExecutionState, Move};

/// A state that was reached, by the step that led to it.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) parent: u32,
    /// Number of nodes above.
    pub(super) level: u32,
    /// Number of steps from the beginning.
    pub(super) depth: u32,
    /// Steps of the same thread after `step` at which nothing could branch.
    pub(super) more: u32,
    /// How many nodes that are still to be visited have their paths part from the last one here.
    pub(super) forks: u32,
    pub(super) step: Move,
}

/// A state that waits to be expanded.
pub(crate) struct Pending {
    pub(super) state: ExecutionState,
    pub(super) node: u32,
    /// First visit of this graph: it may be a terminal, and its preemptions are to be tried.
    pub(super) first: bool,
}

/// A state that waits for the program to be run: its thread is between two operations.
pub(super) struct Suspended {
    pub(super) state: ExecutionState,
    pub(super) node: u32,
}

/// The initial state.
pub(super) const ROOT: u32 = 0;

/// Adds the steps that lead to a node.
pub(super) fn path_to(nodes: &[Node], node: u32, out: &mut Vec<Move>) {
    let start = out.len();
    let mut at = node;
    while at != ROOT {
        let Node { step, more, .. } = nodes[at as usize];
        out.extend(std::iter::repeat_n(Move { choice: 0, ..step }, more as usize));
        out.push(step);
        at = nodes[at as usize].parent;
    }
    out[start..].reverse();
}

/// A step of a node that is still to be taken, and the bucket that it leads to.
#[derive(Clone, Copy)]
pub(super) struct Successor {
    pub(super) parent: u32,
    pub(super) step: Move,
    pub(super) cost: u32,
}
