//! Partial-order reduction under a bound on preemptions: which processes may run ahead, and which process
//! still has its turn afterwards.
//!
//! Without a bound, a set of processes whose steps commute with all that others may do can be explored
//! alone. With a bound that is not enough ([HF] Theorem 2 overlooks it): a step taken ahead of its time
//! may *enable* the last mover. In the execution that it stands for, the last mover was blocked at that
//! point and could be left for free; now leaving it would count as a preemption.
//!
//! So a last mover keeps its turn only while it is *robust*: one of its enabled steps waits for nothing
//! that others have signalled ahead. Otherwise *no process* counts as the last mover, from then on, until
//! one takes a step that is not taken ahead. Steps that touch no shared data signal nothing and
//! are always taken ahead.
//!
//! What is signalled ahead is either assumed to be [anything](Signalled::Anything) that can be, which makes
//! fewer last movers robust and so reaches more states at low bounds, or [learned](Signalled::Learned):
//! noted as it happens. If more is learned after a last mover was found robust, that must be judged again.
//!
//! Invariant: what a robust last mover can do it could also do if no process had run ahead.

use super::stubborn::Closure;
use crate::Reduction;
use preempt_core::{Locality, ObjectSet, ProcessId, Step, System};

/// Sets of processes that may run ahead, and what they signalled.
#[derive(Debug)]
pub(crate) struct Ahead {
    rule: Reduction,
    stubborn: Closure,
    pub(crate) signalled: Signalled,
}

impl Ahead {
    pub(crate) fn new(rule: Reduction, signalled: Signalled) -> Self {
        Ahead { rule, stubborn: Closure::default(), signalled }
    }

    /// Fills `set` with the first set numbered `from` or more that may run ahead in a state where the processes
    /// `movers` have steps; gives the number behind. First processes with steps that touch nothing shared, then
    /// those that may be explored alone by Spin's rule, then stubborn sets.
    pub(crate) fn candidate<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        movers: &[ProcessId],
        from: usize,
        set: &mut Vec<ProcessId>,
    ) -> Option<usize> {
        let count = movers.len();
        if count < 2 {
            return None;
        }
        for number in from..2 * count {
            let process = movers[number % count];
            let locality = system.locality(state, process);
            let runs = match number / count {
                0 => locality == Locality::Local,
                _ => locality == Locality::Safe && system.signals(state, process).is_some(),
            };
            if runs {
                set.clear();
                set.push(process);
                return Some(number + 1);
            }
        }
        // Other states may have been looked at since the last set.
        self.stubborn.enter(system, state);
        let first = from.saturating_sub(2 * count);
        self.grow_from(system, state, movers, first, set).map(|next| next + 2 * count)
    }

    /// Fills `set` with the first stubborn set grown from the mover numbered `from` or more that may run ahead,
    /// where the processes `movers` have steps; gives the number behind. A set never has all movers.
    pub(crate) fn grown<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        movers: &[ProcessId],
        from: usize,
        set: &mut Vec<ProcessId>,
    ) -> Option<usize> {
        if movers.len() < 2 {
            return None;
        }
        if from == 0 {
            self.stubborn.enter(system, state);
        }
        self.grow_from(system, state, movers, from, set)
    }

    fn grow_from<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        movers: &[ProcessId],
        from: usize,
        set: &mut Vec<ProcessId>,
    ) -> Option<usize> {
        if self.rule != Reduction::Full {
            return None;
        }
        for (number, seed) in movers.iter().enumerate().skip(from) {
            if self.grows(system, state, movers, *seed) {
                set.clear();
                set.extend(movers.iter().filter(|process| self.stubborn.contains(**process)));
                return Some(number + 1);
            }
        }
        None
    }

    /// Whether the stubborn set around `seed` may run ahead.
    fn grows<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        movers: &[ProcessId],
        seed: ProcessId,
    ) -> bool {
        let runs = |process: ProcessId| {
            system.locality(state, process) == Locality::Local
                || system.signals(state, process).is_some()
        };
        self.stubborn.grow(system, state, movers, seed, false)
            && movers.iter().all(|process| !self.stubborn.contains(*process) || runs(*process))
    }

    /// Whether the last mover, which has these steps in a state, could move if no process had run ahead.
    pub(crate) fn is_robust<S: System + ?Sized>(
        &self,
        system: &S,
        state: &[u8],
        mover: ProcessId,
        mut steps: impl Iterator<Item = Step>,
    ) -> bool {
        match &self.signalled {
            Signalled::Nothing => steps.next().is_some(),
            Signalled::Anything => {
                steps.any(|step| step.partner.is_none() && !system.waits_for(state, step, None))
            }
            Signalled::Learned(learned) => match learned.by_others_than(mover) {
                None => steps.next().is_some(),
                Some(signalled) => steps.any(|step| {
                    step.partner.is_none_or(|partner| !learned.has_arrived(partner))
                        && !system.waits_for(state, step, Some(signalled))
                }),
            },
        }
    }
}

/// What steps taken ahead may have signalled.
#[derive(Clone, Debug)]
pub(crate) enum Signalled {
    /// Nothing: only steps that touch nothing shared are taken ahead.
    Nothing,
    /// Whatever can be.
    Anything,
    /// What was noted.
    Learned(Learned),
}

/// The objects that each process signalled ahead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    /// Per process; `None` where it never ran ahead.
    by: Vec<Option<ObjectSet>>,
    /// Per process: what all others signalled; `None` where none ran ahead.
    by_others: Vec<Option<ObjectSet>>,
    /// What all signalled, for processes beyond.
    by_all: Option<ObjectSet>,
    /// Per process: whether it ran ahead to where it may answer a rendezvous.
    arrived: Vec<bool>,
    /// Something was learned since [`Learned::has_grown`] was asked.
    grew: bool,
}

impl Learned {
    /// A process runs ahead and signals these objects.
    pub(crate) fn note(&mut self, process: ProcessId, signals: &ObjectSet) {
        let at = process.index();
        let known = self.by.get(at).and_then(Option::as_ref);
        if known.is_some_and(|known| known.contains_all(signals)) {
            return;
        }
        if self.by.len() <= at {
            self.by.resize(at + 1, None);
        }
        self.by[at].get_or_insert_default().union_with(signals);
        self.grew = true;
        let union = |without: Option<usize>| {
            let others = self.by.iter().enumerate().filter(|(other, _)| Some(*other) != without);
            others.filter_map(|(_, by)| by.as_ref()).fold(None, |sum: Option<ObjectSet>, by| {
                let mut sum = sum.unwrap_or_default();
                sum.union_with(by);
                Some(sum)
            })
        };
        self.by_all = union(None);
        self.by_others = (0..self.by.len()).map(|one| union(Some(one))).collect();
    }

    /// A process ran ahead to where it may answer a rendezvous.
    pub(crate) fn note_arrival(&mut self, process: ProcessId) {
        let at = process.index();
        if self.arrived.len() <= at {
            self.arrived.resize(at + 1, false);
        }
        self.grew |= !self.arrived[at];
        self.arrived[at] = true;
    }

    /// Learns what another search did.
    pub(crate) fn absorb(&mut self, other: &Learned) {
        for (at, signals) in other.by.iter().enumerate() {
            if let Some(signals) = signals {
                self.note(ProcessId(at as u16), signals);
            }
        }
        for at in (0..other.arrived.len()).filter(|at| other.arrived[*at]) {
            self.note_arrival(ProcessId(at as u16));
        }
    }

    fn by_others_than(&self, process: ProcessId) -> Option<&ObjectSet> {
        self.by_others.get(process.index()).unwrap_or(&self.by_all).as_ref()
    }

    fn has_arrived(&self, process: ProcessId) -> bool {
        self.arrived.get(process.index()).is_some_and(|arrived| *arrived)
    }

    /// Whether something was learned since this was asked before.
    pub(crate) fn has_grown(&mut self) -> bool {
        std::mem::take(&mut self.grew)
    }
}
