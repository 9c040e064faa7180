//! Which search a check is made by: store, frontier, executor and reduction, chosen in one place.
//!
//! [`plan`] makes the choice from the options alone; `check.rs` does what the plan says and chooses nothing, and so does the caller
//! of [`plan_infinite`]. What was asked for and does not go together is a row of [`ADJUSTMENTS`], with its reason.

use crate::{Compatibility, Options, Preemptions, Reduction, Sampler, Search, Storage};
use std::fmt;

/// How a check is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How visited states are remembered.
    pub store: Storage,
    /// What is explored next.
    pub frontier: Frontier,
    /// By how many threads.
    pub executor: Executor,
    /// Which interleavings may be skipped.
    pub reduction: Reduction,
    /// What could not be had as it was asked for, and why.
    pub notes: Vec<String>,
}

impl Plan {
    /// How many threads there are.
    pub fn threads(&self) -> usize {
        match self.executor {
            Executor::OneThread => 1,
            Executor::InOrder(threads) | Executor::Threads(threads) => threads,
        }
    }
}

/// What is explored next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frontier {
    /// A stack: the newest state first.
    Stack,
    /// A queue: all states of one depth, then those of the next.
    Levels,
    /// Chunks of states that threads take from each other, in no particular order.
    Chunks,
    /// A bucket of visits for each count of preemptions (MQ07, Algorithm 1).
    Buckets,
    /// A stack of visits with their counts of preemptions (HF, Fig. 3).
    CountedStack,
    /// The same by Spin's rules.
    SpinStack,
    /// A stack down to a depth that grows by this much.
    GrowingStack(u64),
    /// Executions drawn at random by a sampler, from a seed.
    Samples(&'static Sampler, u64),
    /// Many searches that differ, from a seed.
    Swarm(u64),
    /// A stack, and behind it a second one that looks for cycles.
    NestedStack,
}

/// Which threads a search uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Executor {
    /// The present one.
    OneThread,
    /// So many, which keep to the order of one.
    InOrder(usize),
    /// So many, in an order that varies.
    Threads(usize),
}

/// Something that was asked for and cannot be had together with the rest.
struct Adjustment {
    applies: fn(&Options) -> bool,
    /// What is done instead.
    change: fn(&mut Options),
    /// What the report says.
    because: &'static str,
}

/// What does not go together. The first row that applies to several threads counts: it leaves one.
const ADJUSTMENTS: &[Adjustment] = &[
    Adjustment {
        applies: |options| {
            options.infinite && !matches!(options.search, Search::Auto | Search::Depth)
        },
        change: |options| options.search = Search::Depth,
        because: "the order of exploration was not used: infinite executions are looked for by one depth-first search",
    },
    Adjustment {
        applies: |options| options.infinite && options.swarm.is_some(),
        change: |options| options.swarm = None,
        because: "a swarm of searches was not used: infinite executions are looked for by one depth-first search",
    },
    Adjustment {
        applies: |options| options.infinite && matches!(options.storage, Storage::Bitstate { .. }),
        change: |options| options.storage = Storage::Exact,
        because: "states were stored exactly: bitstate hashing is not used for cycles",
    },
    // A state that another thread has found is expanded from its bytes, which hash compaction does not keep.
    Adjustment {
        applies: |options| {
            let to_the_first = options.max_errors == 1 && options.depth.is_none();
            let is_lossy = options.storage == Storage::Compact;
            let follows_spin = options.reduction == Reduction::Spin;
            let is_usual = to_the_first && !is_lossy && !follows_spin;
            options.threads > 1 && options.infinite && !imitates(options) && !is_usual
        },
        change: one_thread,
        because: "one thread was used: several look for infinite executions over exact stores only, up to the first violation and without a limit of depth",
    },
    Adjustment {
        applies: |options| {
            let samples =
                matches!(options.search, Search::Sample { .. } | Search::IterativeDepth { .. });
            options.threads > 1 && options.swarm.is_none() && samples && !options.infinite
        },
        change: one_thread,
        because: "one thread was used: several threads explore everything, in no particular order",
    },
    Adjustment {
        applies: |options| options.threads > 1 && options.swarm.is_none() && imitates(options),
        change: one_thread,
        because: "one thread was used: Spin's rules follow one depth-first search",
    },
    Adjustment {
        applies: |options| {
            let is_one_search = options.swarm.is_none() && !imitates(options) && !options.infinite;
            options.threads > 1 && is_one_search && is_bounded(options) && needs_stack(options)
        },
        change: one_thread,
        because: "one thread was used: a depth-first search within a bound is sequential",
    },
    Adjustment {
        applies: |options| {
            options.threads > 1 && is_whole(options) && options.search == Search::Depth
        },
        change: one_thread,
        because: "one thread was used: several threads explore in no particular order, not depth-first",
    },
    Adjustment {
        applies: |options| {
            options.threads > 1
                && is_whole(options)
                && options.depth.is_some()
                && !is_in_order(options)
        },
        change: one_thread,
        because: "one thread was used: several threads explore in no particular order and do not track depth",
    },
    Adjustment {
        applies: |options| {
            options.threads > 1
                && is_whole(options)
                && options.search == Search::Breadth
                && !is_in_order(options)
        },
        change: |_| {},
        because: "several threads explore in no particular order, not breadth-first",
    },
    // Spin's rules under a bound look states up by their number, which a table of bits has not.
    Adjustment {
        applies: |options| {
            let in_bits = matches!(options.storage, Storage::Bitstate { .. });
            is_bounded(options) && imitates(options) && in_bits && options.swarm.is_none()
        },
        change: |options| options.storage = Storage::Exact,
        because: "states were stored exactly: under a bound, Spin's rules need their numbers",
    },
];

fn one_thread(options: &mut Options) {
    options.threads = 1;
}

/// Makes a plan for a check with these options, and changes what cannot be had as it was asked for. If no number of threads was
/// asked for, a search that keeps to the order of one uses `usual` threads.
pub(crate) fn plan(options: &mut Options, usual: usize) -> Plan {
    let mut notes = Vec::new();
    for row in ADJUSTMENTS {
        if (row.applies)(options) {
            (row.change)(options);
            notes.push(row.because.to_owned());
        }
    }
    let frontier = if options.infinite { Frontier::NestedStack } else { frontier(options) };
    let in_order = if options.threads == 0 { usual } else { options.threads };
    let executor = match frontier {
        Frontier::Levels if in_order > 1 => Executor::InOrder(in_order),
        Frontier::Buckets | Frontier::Chunks | Frontier::Swarm(_) | Frontier::NestedStack
            if options.threads > 1 =>
        {
            Executor::Threads(options.threads)
        }
        _ => Executor::OneThread,
    };
    Plan { store: options.storage, frontier, executor, reduction: options.reduction, notes }
}

/// The same for a search for infinite executions.
pub fn plan_infinite(options: &mut Options) -> Plan {
    options.infinite = true;
    plan(options, 1)
}

fn frontier(options: &Options) -> Frontier {
    let is_lossy = matches!(options.storage, Storage::Compact | Storage::Bitstate { .. });
    if let Some(seed) = options.swarm {
        return Frontier::Swarm(seed);
    }
    match options.search {
        Search::Sample { sampler, seed } => Frontier::Samples(sampler, seed),
        Search::IterativeDepth { step } => Frontier::GrowingStack(step),
        _ if is_bounded(options) => match options.preemptions {
            _ if imitates(options) => Frontier::SpinStack,
            _ if needs_stack(options) => Frontier::CountedStack,
            // A stack remembers the way back, which a store that does not keep the states has lost.
            Preemptions::AtMost(_) if is_lossy && options.threads < 2 => Frontier::CountedStack,
            _ => Frontier::Buckets,
        },
        Search::Depth => Frontier::Stack,
        _ if options.threads > 1 && !is_in_order(options) => Frontier::Chunks,
        Search::Breadth => Frontier::Levels,
        // A stack lets reduction skip more than a queue does, and remembers the way back where
        // the store does not keep the states.
        Search::Auto if options.reduction != Reduction::None || is_lossy => Frontier::Stack,
        // Any violation will do, and a deep one is found sooner by a stack.
        Search::Auto if takes_any(options) => Frontier::Stack,
        Search::Auto => Frontier::Levels,
    }
}

/// Whether a search with a bound has to be depth-first.
fn needs_stack(options: &Options) -> bool {
    options.search == Search::Depth
}

/// Whether the first violation is wanted as it is found, however long its trace.
fn takes_any(options: &Options) -> bool {
    options.first && options.max_errors != 0
}

/// Whether several threads keep to the order of one: breadth-first and without reduction, one thread inserts what all expand.
fn is_in_order(options: &Options) -> bool {
    let is_lossy = matches!(options.storage, Storage::Compact | Storage::Bitstate { .. });
    let is_asked_for = match options.search {
        Search::Breadth => true,
        Search::Auto => options.depth.is_some() && !is_lossy && !takes_any(options),
        _ => false,
    };
    is_asked_for && options.reduction == Reduction::None && is_whole(options)
}

/// Whether Spin's rules are followed.
fn imitates(options: &Options) -> bool {
    options.compatibility != Compatibility::None
}

/// Whether all finite executions are explored, by one search and our rules.
fn is_whole(options: &Options) -> bool {
    !is_bounded(options) && !imitates(options) && !options.infinite && options.swarm.is_none()
}

/// Whether executions are explored by their preemptions.
pub(crate) fn is_bounded(options: &Options) -> bool {
    options.preemptions != Preemptions::Any
}

/// One line: each choice, and why it was made.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = match self.store {
            Storage::Auto => "exact (compressed as soon as memory gets tight)",
            Storage::Exact => "exact",
            Storage::Tree => "tree (equal parts of states are shared)",
            Storage::Compact => "compact (64 bits stand for a state)",
            Storage::Bitstate { .. } => "bitstate (a few bits stand for a state)",
        };
        let is_lossy = matches!(self.store, Storage::Compact | Storage::Bitstate { .. });
        let frontier = match self.frontier {
            Frontier::Stack if self.reduction != Reduction::None => {
                "stack (depth-first, where reduction skips most)"
            }
            Frontier::Stack if is_lossy => "stack (depth-first, as the store has no way back)",
            Frontier::Stack => "stack (depth-first)",
            Frontier::Levels => "levels (breadth-first, where counterexamples are shortest)",
            Frontier::Chunks => "chunks (in no particular order, so that threads seldom wait)",
            Frontier::Buckets => "buckets (one per count of preemptions, the fewest first)",
            Frontier::CountedStack => "stack (depth-first, with a count of preemptions)",
            Frontier::SpinStack => "stack (depth-first, by Spin's rules)",
            Frontier::GrowingStack(_) => "stack (depth-first, to a depth that grows)",
            Frontier::Samples(..) => "samples (executions drawn at random)",
            Frontier::Swarm(_) => "swarm (many searches that differ)",
            Frontier::NestedStack => "nested stack (depth-first, as cycles are looked for)",
        };
        write!(f, "store {store}; frontier {frontier}; executor ")?;
        match self.executor {
            Executor::OneThread => write!(f, "one thread")?,
            Executor::InOrder(threads) => {
                write!(f, "{threads} threads (in the order of one, once there is enough to do)")?;
            }
            Executor::Threads(threads) => write!(f, "{threads} threads (as was asked for)")?,
        }
        let reduction = match (self.reduction, self.frontier) {
            (Reduction::None, _) => "none (every interleaving is explored)",
            (_, Frontier::Buckets) => "by the rule that a short pilot finds to reach fewer states",
            (Reduction::Spin, _) => "Spin's rule",
            (Reduction::Full, _) => "Spin's rule and stubborn sets",
        };
        write!(f, "; reduction {reduction}")?;
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(options: &Options) -> Plan {
        plan(&mut options.clone(), 2)
    }

    /// Every combination has a plan, which asks for nothing that does not go together: a second plan changes nothing.
    #[test]
    fn every_combination_has_a_plan() {
        let searches = [
            Search::Auto,
            Search::Depth,
            Search::Breadth,
            Search::Sample { sampler: &crate::search::SAMPLERS[0], seed: 1 },
            Search::IterativeDepth { step: 20 },
        ];
        let stores = [
            Storage::Auto,
            Storage::Exact,
            Storage::Tree,
            Storage::Compact,
            Storage::Bitstate { bits: None, hashes: 3 },
        ];
        let bounds =
            [Preemptions::Any, Preemptions::AtMost(2), Preemptions::Iterate { last: None }];
        let mut plans = 0;
        for search in searches {
            for storage in stores {
                for preemptions in bounds {
                    for bits in 0..128_u32 {
                        let is = |bit: u32| bits >> bit & 1 != 0;
                        let mut options = Options {
                            search,
                            storage,
                            preemptions,
                            threads: if is(0) { 4 } else { 0 },
                            reduction: if is(1) { Reduction::None } else { Reduction::Full },
                            depth: is(2).then_some(10),
                            swarm: is(3).then_some(7),
                            infinite: is(5),
                            first: is(6),
                            compatibility: match is(4) {
                                true => Compatibility::Spin,
                                false => Compatibility::None,
                            },
                            ..Options::default()
                        };
                        let first = plan(&mut options, 2);
                        let second = plan(&mut options, 2);
                        let same = (first.store, first.frontier, first.executor);
                        assert_eq!(same, (second.store, second.frontier, second.executor));
                        let one = |plan: &Plan| {
                            plan.notes.iter().filter(|n| n.starts_with("one")).count()
                        };
                        assert!(one(&first) <= 1 && one(&second) == 0, "{first}");
                        assert!(!first.to_string().contains('\n'));
                        plans += 1;
                    }
                }
            }
        }
        assert_eq!(plans, 5 * 5 * 3 * 128);
    }

    #[test]
    fn usual_plans() {
        let plain = Options { reduction: Reduction::None, ..Options::default() };
        let plan = planned(&plain);
        assert_eq!((plan.frontier, plan.executor), (Frontier::Levels, Executor::InOrder(2)));
        assert_eq!(planned(&Options::default()).frontier, Frontier::Stack);
        let bounded = Options { preemptions: Preemptions::AtMost(1), ..plain.clone() };
        assert_eq!(planned(&bounded).frontier, Frontier::Buckets);
        let in_bits = Storage::Bitstate { bits: None, hashes: 3 };
        let lossy = Options { storage: in_bits, ..bounded.clone() };
        assert_eq!(planned(&lossy).frontier, Frontier::CountedStack);
        let together = Options { threads: 3, ..lossy };
        assert_eq!(planned(&together).frontier, Frontier::Buckets);
        assert_eq!(planned(&together).executor, Executor::Threads(3));
        // Any violation will do: a stack finds deep ones. To count all of them, levels are as good, and threads help.
        let any = Options { first: true, ..plain.clone() };
        assert_eq!(planned(&any).frontier, Frontier::Stack);
        let all = Options { max_errors: 0, ..any.clone() };
        assert_eq!(planned(&all).frontier, Frontier::Levels);
        let together = Options { threads: 3, ..any };
        assert_eq!(planned(&together).frontier, Frontier::Chunks);
        let depth = Options { threads: 3, search: Search::Depth, ..plain };
        let plan = planned(&depth);
        assert_eq!((plan.frontier, plan.executor), (Frontier::Stack, Executor::OneThread));
        assert_eq!(plan.notes.len(), 1);
    }
}
