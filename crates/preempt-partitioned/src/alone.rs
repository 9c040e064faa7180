//! Owners in one thread, one after the other: what a search in one process uses that is saved from time to time, and
//! what drivers over networks are compared with.

use super::cycles::{CycleOwners, Cycles, Pass, Totals, Walked, find_cycle};
use super::retrace::{TraceSegment, TraceTarget, along};
use super::{Batches, Outcome, Partition, PartitionResult, Time};
use preempt_check::{Budget, Counterexample, Options};
use preempt_core::{Step, Stop, System, ViolationKind};

/// Looks after a search between two times, when nothing is under way.
pub trait Saver {
    /// May save the owners; gives a reason to end the search.
    fn between(&mut self, owners: &[&mut dyn Partition]) -> Option<Stop>;
}

/// Nothing is saved.
impl Saver for () {
    fn between(&mut self, _owners: &[&mut dyn Partition]) -> Option<Stop> {
        None
    }
}

/// Expands everything, time by time, until nothing is left or enough was found.
pub fn explore(
    owners: &mut [&mut dyn Partition],
    max_errors: u64,
    budget: &mut Budget<'_>,
    saver: &mut dyn Saver,
) {
    let mut batches: Vec<Batches> = owners.iter().map(|_| Batches::new(owners.len())).collect();
    let mut time = None;
    loop {
        let next = owners.iter().filter_map(|owner| owner.waits()).min();
        let Some(now) = next else { return };
        if time.is_some_and(|time| time != now)
            && let Some(stop) = saver.between(owners)
        {
            return owners.iter_mut().for_each(|owner| owner.stop(Some(stop)));
        }
        time = Some(now);
        for (at, batches) in batches.iter_mut().enumerate() {
            expand_at(owners, at, now, batches);
            let errors: u64 = owners.iter().map(|owner| owner.errors()).sum();
            let enough = max_errors != 0 && errors >= max_errors;
            if enough || owners.iter().any(|owner| owner.has_enough()) {
                return owners.iter_mut().for_each(|owner| owner.stop(None));
            }
            if let Some(stop) = budget.check(owners.iter().map(|owner| owner.progress()).sum()) {
                return owners.iter_mut().for_each(|owner| owner.stop(Some(stop)));
            }
        }
    }
}

/// Expands one portion of what an owner has at this time, and delivers what it sends.
fn expand_at(owners: &mut [&mut dyn Partition], at: usize, now: Time, batches: &mut Batches) {
    if owners[at].waits() != Some(now) {
        return;
    }
    let mut letters = Vec::new();
    let mut send = |owner: usize, bytes: Vec<u8>| letters.push((owner, bytes));
    let mut outbox = batches.outbox(&mut send);
    owners[at].expand(&mut outbox);
    outbox.flush();
    for (owner, bytes) in letters {
        if owners[owner].receive(now.next(), &bytes).is_err() {
            owners[owner].stop(Some(Stop::Fault));
        }
    }
}

/// What all of them found, and the steps to the first violation.
pub fn trace_back(owners: &mut [&mut dyn Partition]) -> (PartitionResult, Option<Vec<Step>>) {
    let mut all = PartitionResult::default();
    owners.iter().for_each(|owner| all.add(&owner.share()));
    let steps = all.site.clone().and_then(|site| {
        along(&site, |goal: &TraceTarget| owners.iter_mut().find_map(|owner| owner.seek(goal)))
    });
    (all, steps)
}

/// Looks for an accepting cycle, with owners that have begun or were restored.
pub fn explore_cycles(
    system: &dyn System,
    options: &Options,
    kind: ViolationKind,
    owners: &mut [Cycles<'_>],
    budget: &mut Budget<'_>,
    saver: &mut dyn Saver,
) -> Outcome {
    let mut together = Together { owners, budget, saver, max_errors: options.max_errors };
    let reached = together.pass();
    let (mut all, steps) = trace_back(&mut parts(together.owners));
    let searched = all.site.is_none() && all.stop.is_none();
    let cycle = searched.then(|| find_cycle(system, kind, &mut together, reached)).flatten();
    all.errors += u64::from(cycle.is_some());
    all.stop = together.stop();
    match cycle {
        None => Outcome { all, steps, cycle_start: None },
        Some(Counterexample { steps, cycle_start, .. }) => {
            let cycle_start = cycle_start.map(|start| start as u64);
            Outcome { all, steps: Some(steps), cycle_start }
        }
    }
}

/// Owners in one thread, while they look for a cycle.
struct Together<'a, 'b, 'c> {
    owners: &'a mut [Cycles<'b>],
    budget: &'a mut Budget<'c>,
    saver: &'a mut dyn Saver,
    max_errors: u64,
}

/// Searches for cycles as what they are to a driver.
fn parts<'a>(owners: &'a mut [Cycles<'_>]) -> Vec<&'a mut dyn Partition> {
    owners.iter_mut().map(|owner| owner as _).collect()
}

impl Together<'_, '_, '_> {
    fn stop(&self) -> Option<Stop> {
        self.owners.iter().find_map(|owner| owner.share().stop)
    }

    /// Runs the pass that the owners have begun to its end.
    fn pass(&mut self) -> Totals {
        let mut parts = parts(self.owners);
        let saves = parts.iter().all(|part| part.can_be_saved());
        let mut nobody = ();
        let saver: &mut dyn Saver = if saves { &mut *self.saver } else { &mut nobody };
        explore(&mut parts, self.max_errors, self.budget, saver);
        self.owners.iter().map(Cycles::totals).fold(Totals::default(), Totals::and)
    }
}

impl CycleOwners for Together<'_, '_, '_> {
    fn run(&mut self, pass: Pass) -> Option<Totals> {
        if pass == Pass::Forward
            && let Some(stop) = self.saver.between(&parts(self.owners))
        {
            self.owners.iter_mut().for_each(|owner| owner.stop(Some(stop)));
            return None;
        }
        self.owners.iter_mut().for_each(|owner| owner.start(pass));
        let totals = self.pass();
        self.stop().is_none().then_some(totals)
    }

    fn look(&mut self, number: u64) -> Option<Walked> {
        self.owners.get((number >> 40) as usize)?.look(number)
    }

    fn seek(&mut self, goal: &TraceTarget) -> Option<TraceSegment> {
        self.owners.iter_mut().find_map(|owner| owner.seek(goal))
    }
}
