//! What the forward search has visited, level by level.
//!
//! A level is a number of stale choices; within it, graphs are reached in order of preemptions, one
//! bucket each. A program without weak memory orders has level 0 only.
//!
//! Invariant: a visit at level s with p preemptions covers a visit at level t with q iff s <= t and p < q,
//! or s <= t, p = q and the same thread moved last (or one that could not go on, so that any other may move).
//! With p < q any other last thread costs at most the one preemption that is left. So statements such as
//! "all executions with at most 1 stale choice and at most 2 preemptions" are exact. Graphs that need
//! fewer preemptions with more stale choices are visited again and counted once.
//!
//! Once nothing is left of the levels below t, any visit there covers one at level t: costs are compared
//! lexicographically. What follows from such a graph without a further stale choice is known; and an execution
//! that needs t stale choices never comes by it, because it would need fewer. Statements are
//! then stronger: "all executions without a stale choice, and all with 1 and at most 2 preemptions". The next
//! levels have to wait until nothing is left of such a one: what branches off from a graph that it passed over
//! belongs to another bucket.

use super::node::Pending;
use crate::ThreadId;
use crate::mutation::{self, Mutation};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::time::Instant;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Graph(u64, u64);

impl Graph {
    fn of(hash: u128) -> Self {
        Graph(hash as u64, (hash >> 64) as u64)
    }
}

impl Hash for Graph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// Graph hashes are well mixed already.
#[derive(Default)]
struct Unhashed(u64);

impl Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[derive(Clone, Copy)]
struct Visit {
    cost: u16,
    first: u16,
    /// More last threads than the first are in `more`.
    several: bool,
    /// Some last thread could not go on, so every step is free.
    all: bool,
}

/// A node with stale choices, which belong to the next level.
#[derive(Clone, Copy)]
pub(crate) struct Branch {
    pub(crate) node: u32,
    /// Whether taking them is a preemption, too.
    pub(crate) preempts: bool,
}

/// The search with a certain number of stale choices.
#[derive(Default)]
pub(crate) struct Level {
    visited: std::collections::HashMap<Graph, Visit, BuildHasherDefault<Unhashed>>,
    more: FxHashSet<(u128, u32)>,
    /// The bucket that is being explored, or is next.
    pub(crate) bound: u32,
    /// Whether it has begun.
    pub(crate) is_open: bool,
    pub(crate) stack: Vec<Pending>,
    /// Nodes of the last bucket whose preemptions are still to be tried in this one.
    pub(crate) preempted: std::vec::IntoIter<u32>,
    /// Nodes of the level below whose stale choices are still to be tried in this one.
    pub(crate) branches: std::vec::IntoIter<Branch>,
    /// Nodes whose preemptions belong to the next bucket.
    pub(crate) edges: Vec<u32>,
    /// Nodes with stale choices, by the bucket of the next level to which these belong.
    pub(crate) stale: Vec<Vec<Branch>>,
    /// All buckets below this one are explored.
    pub(crate) complete: u32,
    /// Nothing is left, whatever the number of preemptions.
    pub(crate) exhausted: bool,
    /// Whatever was visited at lower levels, of which nothing is left, is covered.
    pub(crate) is_lexicographic: bool,
    /// When others get a turn.
    pub(crate) share: Option<Instant>,
    pub(crate) is_paused: bool,
    /// Complete graphs with the fewest preemptions at this level, if it is not the first.
    pub(crate) terminals: FxHashMap<u128, u32>,
}

impl Level {
    /// Whether this graph was visited, at whatever cost.
    pub(crate) fn knows(&self, hash: u128) -> bool {
        self.visited.contains_key(&Graph::of(hash))
    }

    /// Whether a visit of this graph would add nothing.
    pub(crate) fn covers(&self, hash: u128, last: ThreadId, cost: u32) -> bool {
        let Some(visit) = self.visited.get(&Graph::of(hash)) else { return false };
        visit.cost < cost as u16
            || visit.cost == cost as u16
                && (visit.all
                    || visit.first == last.0 as u16
                    || mutation::is(Mutation::OneLastThread)
                    || (visit.several && self.more.contains(&(hash, last.0))))
            || mutation::is(Mutation::StaleCoversPreemptions)
    }

    /// Notes a visit that is not covered. Returns whether it is the first one at this level.
    pub(crate) fn visit(&mut self, hash: u128, last: ThreadId, cost: u32) -> bool {
        let visit = self.visited.entry(Graph::of(hash)).or_insert(Visit {
            cost: u16::MAX,
            first: last.0 as u16,
            several: false,
            all: false,
        });
        if visit.cost == u16::MAX {
            visit.cost = cost as u16;
            return true;
        }
        visit.several = true;
        self.more.insert((hash, last.0));
        false
    }

    /// Notes that after this graph every step is free.
    pub(crate) fn free(&mut self, hash: u128) {
        if let Some(visit) = self.visited.get_mut(&Graph::of(hash)) {
            visit.all = true;
        }
    }

    /// Whether all branches into this bucket of the next level are known.
    pub(crate) fn is_base_of(&self, bucket: u32) -> bool {
        self.exhausted || self.complete > bucket && !self.is_lexicographic
    }

    /// Notes that a node has stale choices with this many preemptions.
    pub(crate) fn branch(&mut self, node: u32, cost: u32, preempts: bool) {
        let bucket = cost as usize + usize::from(preempts);
        if self.stale.len() <= bucket {
            self.stale.resize_with(bucket + 1, Vec::new);
        }
        self.stale[bucket].push(Branch { node, preempts });
    }

    /// Whether nothing waits to be explored, for any number of preemptions.
    pub(crate) fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.stack.is_empty() && !self.is_open
    }

    /// Whether branches into the next level are left for this bucket or later ones.
    pub(crate) fn has_branches_from(&self, bucket: u32) -> bool {
        self.stale.iter().skip(bucket as usize).any(|branches| !branches.is_empty())
    }
}
