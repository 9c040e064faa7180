//! Violations, replayed to know their cost: a reduced search counts a lower bound of it.

use super::shard::{NO_PARENT, Visit};
use crate::search::iterative::retrace::{Mover, retrace};
use crate::search::shared::halt::Halt;
use crate::search::shared::statistics::Counters;
use crate::{Counterexample, Options};
use preempt_core::{Step, System, replay};

/// How many violations are replayed to find one within the bound.
const REPLAYS: u64 = 64;

/// The violations that were met.
pub(super) struct Violations {
    errors: u64,
    /// Stop after so many; 0 counts all.
    enough: u64,
    replays: u64,
    /// The simplest that was replayed, and its preemptions.
    first: Option<(u32, Counterexample)>,
}

/// A violation that was met: the visits on the way to it, the steps behind the last one, and the fault, or none
/// for an invalid end.
pub(super) struct FoundViolation<'a> {
    pub(super) visits: Vec<(u32, Visit)>,
    pub(super) path: &'a [Step],
    pub(super) fault: Option<u32>,
}

impl Violations {
    pub(super) fn new(options: &Options) -> Self {
        Violations { errors: 0, enough: options.max_errors, replays: 0, first: None }
    }

    pub(super) fn errors(&self) -> u64 {
        self.errors
    }

    /// Whether violations were met, and those that were replayed need more preemptions than `most`.
    pub(super) fn are_beyond(&self, most: u32) -> bool {
        self.first.as_ref().is_some_and(|(cost, _)| *cost > most)
    }

    fn are_within(&self, most: u32) -> bool {
        self.first.as_ref().is_some_and(|(cost, _)| *cost <= most)
    }

    /// Takes note of a violation, which should need at most `most` preemptions. `met` is asked for what
    /// happened only if it will be replayed; `is_visit(n, state)` says whether the state is that of the visit numbered n.
    pub(super) fn note<'m, S: System + ?Sized>(
        &mut self,
        system: &S,
        most: u32,
        met: impl FnOnce() -> FoundViolation<'m>,
        is_visit: impl FnMut(u32, &[u8]) -> bool,
    ) -> Result<(), Halt> {
        self.errors += 1;
        if self.replays < REPLAYS && !self.are_within(most) {
            self.replays += 1;
            self.replay(system, met(), is_visit);
        }
        let decided = self.are_within(most) || self.replays >= REPLAYS;
        let is_enough = self.enough != 0 && self.errors >= self.enough;
        if decided && is_enough { Err(Halt::Enough) } else { Ok(()) }
    }

    fn replay<S: System + ?Sized>(
        &mut self,
        system: &S,
        met: FoundViolation<'_>,
        mut is_visit: impl FnMut(u32, &[u8]) -> bool,
    ) {
        let visits = met.visits;
        let movers = visits.iter().map(|(_, visit)| (visit.mover(), !visit.exact));
        let movers: Vec<Mover> = movers.collect();
        let found = retrace(system, &movers, |at, state| is_visit(visits[at].0, state));
        let mut steps = found.expect("the log holds steps of the system");
        steps.extend_from_slice(met.path);
        let cost = replay(system, &steps).map_or(u32::MAX, |(trace, ..)| trace.cost().preemptions);
        if self.first.as_ref().is_none_or(|(least, _)| cost < *least) {
            self.first = Some((cost, Counterexample::from_end(system, steps, met.fault)));
        }
    }

    /// Hands over what was found.
    pub(super) fn finish(&mut self, counters: &mut Counters) {
        counters.errors = self.errors;
        counters.first = self.first.take().map(|(_, counterexample)| counterexample);
    }
}

/// The visits from the initial state to the one numbered `last`, with their numbers.
pub(super) fn visits_to(last: u32, visit: impl Fn(u32) -> Visit) -> Vec<(u32, Visit)> {
    let mut visits = vec![(last, visit(last))];
    while let Some((_, Visit { parent, .. })) = visits.last().filter(|(_, v)| v.parent != NO_PARENT)
    {
        let before = *parent;
        visits.push((before, visit(before)));
    }
    visits.reverse();
    visits
}
