//! How to look for failures, and in which model of memory.

/// How to look for failures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Strategy {
    /// Systematic first, sampling in the time left.
    Portfolio,
    /// Every happens-before graph once, by increasing number of preemptions.
    PartialOrders,
    /// Every schedule once, by increasing number of preemptions; nothing is remembered.
    ContextBoundedDfs,
    /// Schedules by increasing number of preemptions, cut where a graph was seen before.
    HappensBeforeCaching,
    /// Every happens-before graph once, without bound: an optimal dynamic partial-order reduction,
    /// which runs the test exactly once per graph and needs no table.
    Optimal,
    /// The same by sleep sets over imagined states: fewer executions, more memory.
    SleepSets,
    /// A random thread at every step.
    Random {
        /// Where the random numbers begin.
        seed: u64,
    },
    /// Probabilistic concurrency testing: random priorities that change at random steps.
    Pct {
        /// One more than the number of changes of priority.
        depth: u32,
        /// Where the random numbers begin.
        seed: u64,
    },
    /// Partial-order sampling: random priorities of operations, drawn again after a conflict.
    Sampling {
        /// Where the random numbers begin.
        seed: u64,
    },
}

impl Strategy {
    /// Whether stale choices are explored.
    pub(crate) fn knows_weak_memory(self) -> bool {
        matches!(
            self,
            Strategy::Portfolio
                | Strategy::PartialOrders
                | Strategy::Random { .. }
                | Strategy::Pct { .. }
                | Strategy::Sampling { .. }
        )
    }
}

/// What atomics do that are not SeqCst.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Memory {
    /// The same as if they were: all executions are sequentially consistent.
    Sc,
    /// What C++20 and Rust allow, as the model RC11 has it: a load may read an older value, a store may
    /// come before others that are already there, and `compare_exchange_weak` may fail for no reason,
    /// unless the memory orders forbid it. Each of these is a *stale choice*.
    #[default]
    Rc11,
}
