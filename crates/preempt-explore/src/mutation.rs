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
