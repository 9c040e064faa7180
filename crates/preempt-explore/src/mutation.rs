//! Deliberate mistakes, to prove that the tests would notice. They exist in test builds only.

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutation {
    /// Keep one last thread per graph instead of all.
    OneLastThread,
    /// Leave the last release of a lock out of the history.
    ForgetRelease,
    /// Leave the history of a joined thread out of the history.
    ForgetJoined,
    /// Never preempt before an unlock.
    NoPreemptionBeforeUnlock,
    /// Believe for good that an object belongs to the thread that was seen with it.
    NeverContradicted,
    /// Turn a race around only if the later operation was enabled just before the earlier one.
    OnlyAdjacentRaces,
    /// Leave out operations that never happened because their thread stayed blocked.
    ForgetBlocked,
    /// Never wake a sleeping thread.
    SleepForGood,
    /// Try one alternative of a choice only.
    OneAlternative,
    /// A relaxed read synchronises.
    RelaxedAcquires,
    /// A read-modify-write does not continue a release sequence.
    NoReleaseSequence,
    /// An acquire fence does nothing.
    NoAcquireFence,
    /// A release fence does nothing.
    NoReleaseFence,
    /// Reads what is older than what the thread knows of.
    NoCoherence,
    /// A store may come between a write and the read-modify-write that reads it.
    NoAtomicity,
    /// Sequentially consistent accesses are ordered like others.
    NoTotalOrder,
    /// A sequentially consistent access is in a cycle only if it is a part of it.
    StrongHidesFences,
    /// A lower level covers a graph whatever preemptions it took there.
    StaleCoversPreemptions,
}

#[cfg(test)]
thread_local! {
    pub(crate) static ACTIVE: std::cell::Cell<Option<Mutation>> = const { std::cell::Cell::new(None) };
}

/// Whether this mistake is to be made.
#[cfg(test)]
pub(crate) fn is(mutation: Mutation) -> bool {
    ACTIVE.get() == Some(mutation)
}

/// Never, outside tests.
#[cfg(not(test))]
pub(crate) const fn is(_: Mutation) -> bool {
    false
}
