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
