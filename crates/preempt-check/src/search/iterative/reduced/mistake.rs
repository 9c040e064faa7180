//! Mistakes that are easily made about this reduction. Tests make each of them on purpose and must notice:
//! what finds a mistake now finds it if it is made in earnest.

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mistake {
    /// As [HF] Fig. 5 without its credit: no turn is ever owed to steps that ran ahead.
    NothingOwed,
    /// A last mover that lost its turn gets it back by the next step that runs ahead.
    TurnComesBack,
    /// Running ahead to where a rendezvous is answered signals nothing.
    ArrivalsForgotten,
    /// A last mover that takes part in a rendezvous ahead keeps its turn.
    MeetingKeepsTurn,
    /// What runs ahead need not lead to a visit that is yet to be expanded.
    NoProviso,
    /// A state from which a process ran ahead counts as left for free.
    AheadIsFree,
    /// What is learned later changes nothing about earlier visits.
    NeverJudgedAgain,
    /// A visit covers all others at its count, whatever the last movers.
    MoversForgotten,
}

#[cfg(test)]
thread_local! {
    static MADE: std::cell::Cell<Option<Mistake>> = const { std::cell::Cell::new(None) };
}

/// Whether the search makes this mistake.
#[cfg(test)]
pub(super) fn makes(mistake: Mistake) -> bool {
    MADE.get() == Some(mistake)
}

/// Whether the search makes this mistake: never outside of tests.
#[cfg(not(test))]
#[inline(always)]
pub(super) fn makes(_mistake: Mistake) -> bool {
    false
}

/// Runs `body` with a mistake.
#[cfg(test)]
pub(super) fn with_mistake<R>(mistake: Mistake, body: impl FnOnce() -> R) -> R {
    MADE.set(Some(mistake));
    let result = body();
    MADE.set(None);
    result
}

/// Whether the search makes any mistake.
#[cfg(test)]
pub(super) fn is_mistaken() -> bool {
    MADE.get().is_some()
}
