//! What can be asked of a check.

use crate::store::Store;
use crate::{Budget, Finding, Preemptions};
use preempt_core::System;
use std::time::Duration;

/// The order of exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// Breadth-first where nothing gains by a stack, depth-first otherwise: with reduction, with
    /// stores that do not keep the states, and where any violation will do.
    #[default]
    Auto,
    /// Depth-first, in the order in which the system lists its steps.
    Depth,
    /// Breadth-first: shortest counterexamples, and the fastest.
    Breadth,
    /// Executions drawn at random; finds violations, but never proves.
    Sample {
        /// How they are drawn: one of [`SAMPLERS`](crate::search::SAMPLERS).
        sampler: &'static Sampler,
        /// The seed of the choices.
        seed: u64,
    },
    /// Depth-first down to a depth that grows from round to round.
    IterativeDepth {
        /// The first depth, and by how much it grows.
        step: u64,
    },
}

/// A search that draws executions from a seed. It stores the states it meets, so that its coverage can be compared
/// with that of others, and ends as [`Stop::Sampling`](preempt_core::Stop::Sampling) unless it finds a violation.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Its name, as the command line's `--search` takes it.
    pub name: &'static str,
    pub(crate) run: fn(&dyn System, &mut dyn Store, u64, &Options, &mut Budget) -> Finding,
}

impl PartialEq for Sampler {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Sampler {}

/// Whose rules a bounded search follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compatibility {
    /// Ours: nothing within the bound is missed.
    #[default]
    None,
    /// Those of Spin 6.5.2 built with `-DBCS -DSAFETY`, which miss violations: for study.
    Spin,
    /// Those of Spin 6.5.2 built with `-DBCS` alone.
    SpinWithoutSafety,
}

/// How visited states are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Storage {
    /// In full, and compressed as soon as memory gets tight; long states from the start.
    #[default]
    Auto,
    /// In full.
    Exact,
    /// In full, compressed by sharing equal parts.
    Tree,
    /// As a 64-bit hash: a state may be taken for another, with a probability that is reported.
    Compact,
    /// As a few bits of one large field: many states may be missed, the expected coverage is
    /// reported.
    Bitstate {
        /// log2 of the size of the field in bits; by default what fits into the memory limit.
        bits: Option<u32>,
        /// Bits set per state.
        hashes: u32,
    },
}

/// Which steps may be left for later because they commute with what others can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// Every interleaving is explored.
    None,
    /// Spin's rule: all steps of one process, where they are marked as safe.
    Spin,
    /// Spin's rule, and stubborn sets computed from what steps read and write.
    #[default]
    Full,
}

/// All choices, with their defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// The property in words, for the answer.
    pub property: String,
    /// The order of exploration.
    pub search: Search,
    /// How visited states are remembered.
    pub storage: Storage,
    /// Which interleavings may be skipped.
    pub reduction: Reduction,
    /// Skip them even where the first states say that it takes longer than it saves: a search whose states belong to
    /// many, or to files, looks at that before it begins.
    pub always_reduce: bool,
    /// Which executions are explored, by the preemptions they need.
    pub preemptions: Preemptions,
    /// Whose rules a search with a bound follows.
    pub compatibility: Compatibility,
    /// Many bounded searches with different bounds, orders and hash functions at once, from a
    /// seed; the first violation wins.
    pub swarm: Option<u64>,
    /// Give the first violation as it was found, do not look for the simplest.
    pub first: bool,
    /// Whether a property looks at the propositions of the system: then steps that may change one
    /// are never reordered.
    pub observed: bool,
    /// Infinite executions are looked for: [`plan_infinite`](crate::plan_infinite) plans that.
    pub infinite: bool,
    /// Report violated assertions.
    pub assertions: bool,
    /// Report states without steps that are no valid ends.
    pub deadlocks: bool,
    /// Stop after this many violations; 0 counts all.
    pub max_errors: u64,
    /// Cut executions at this depth.
    pub depth: Option<u64>,
    /// Memory limit in bytes; by default most of what is available.
    pub memory: Option<usize>,
    /// Give up, as if memory were used up, soon after there are more states than this.
    pub states: Option<u64>,
    /// Time limit.
    pub time: Option<Duration>,
    /// Worker threads. 0, the default: as many as the machine runs at once, in searches in which nothing depends on their
    /// number, once these have become large; one thread in all others.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            property: "no assertion violated, no invalid end state".into(),
            search: Search::Auto,
            storage: Storage::Auto,
            reduction: Reduction::default(),
            always_reduce: false,
            preemptions: Preemptions::Any,
            compatibility: Compatibility::None,
            swarm: None,
            first: false,
            observed: false,
            infinite: false,
            assertions: true,
            deadlocks: true,
            max_errors: 1,
            depth: None,
            memory: None,
            states: None,
            time: None,
            threads: 0,
        }
    }
}
