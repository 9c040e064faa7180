//! What a reduced search concludes: violations, replayed to know their cost, and its numbers.

use super::{NO_PARENT, REPLAYS, Search, Visit};
use crate::search::end::End;
use crate::search::retrace::{Mover, retrace};
use crate::store::Store;
use crate::{Budget, Counterexample, Finding, Preemptions};
use preempt_core::{BoundRow, Statistics, Step, System, replay};

impl<S: System + ?Sized, T: Store> Search<'_, S, T> {
    /// The number of preemptions that a violation must keep to.
    pub(super) fn judged_by(&self) -> u32 {
        match self.preemptions {
            Preemptions::Iterate { .. } => self.bucket,
            Preemptions::Any | Preemptions::AtMost(_) => self.last,
        }
    }

    /// Takes note of a fault, or an invalid end, behind a visit and these steps.
    pub(super) fn report(
        &mut self,
        visit: Option<u32>,
        path: &[Step],
        fault: Option<u32>,
    ) -> Result<(), End> {
        if self.pilot.is_some() {
            return Ok(());
        }
        self.outgoing.tally.errors += 1;
        let is_within = |cost: u32| cost <= self.judged_by();
        if self.replays < REPLAYS && !self.least_cost.is_some_and(is_within) {
            self.replays += 1;
            let mut steps = visit.map_or(Vec::new(), |visit| self.steps_to(visit));
            steps.extend_from_slice(path);
            let cost = replay(self.system, &steps)
                .map_or(u32::MAX, |(trace, ..)| trace.cost().preemptions);
            if self.least_cost.is_none_or(|least| cost < least) {
                self.least_cost = Some(cost);
                self.outgoing.tally.first = Some(match fault {
                    Some(fault) => Counterexample::from_fault(self.system, steps, fault),
                    None => Counterexample::invalid_end(steps),
                });
            }
        }
        let is_within = |cost: u32| cost <= self.judged_by();
        let decided = self.least_cost.is_some_and(is_within) || self.replays >= REPLAYS;
        if decided && self.outgoing.tally.is_enough() { Err(End::Enough) } else { Ok(()) }
    }

    fn steps_to(&self, visit: u32) -> Vec<Step> {
        let mut visits = vec![self.log[visit as usize]];
        while let Some(last) = visits.last().filter(|visit| visit.parent != NO_PARENT) {
            let parent = self.log[last.parent as usize];
            visits.push(parent);
        }
        visits.reverse();
        // What was judged again follows itself.
        visits.dedup_by_key(|visit| visit.state);
        let mover = |visit: &Visit| Mover::new(visit.mover(), !visit.exact);
        let movers: Vec<Mover> = visits.iter().map(mover).collect();
        let mut target = Vec::new();
        let found = retrace(self.system, &movers, |at, state| {
            self.store.load(visits[at].state, &mut target);
            target == state
        });
        found.expect("the log holds steps of the system")
    }

    /// The longest execution in the log, counted in visits.
    fn depth(&self) -> u64 {
        let mut depths: Vec<u32> = Vec::with_capacity(self.log.len());
        for visit in &self.log {
            let before = depths.get(visit.parent as usize);
            depths.push(before.map_or(0, |before| before + 1));
        }
        depths.into_iter().max().unwrap_or(0).into()
    }

    pub(super) fn finish(
        self,
        per_bound: Vec<BoundRow>,
        bound: Option<u32>,
        end: Option<End>,
        budget: &Budget,
    ) -> Finding {
        let (states, memory, depth) = (self.states, self.bytes(), self.depth());
        let mut finding = self.outgoing.tally.finish(self.system, states);
        if let Some(End::Limit(stop)) = end {
            finding.stop = Some(stop);
        }
        finding.bound = bound;
        finding.statistics = Statistics {
            matched: self.transitions.saturating_sub(states),
            transitions: self.transitions,
            depth,
            revisits: self.revisits,
            bytes_per_state: memory as f64 / states.max(1) as f64,
            memory_bytes: memory.max(budget.peak_memory()) as u64,
            seconds: budget.elapsed().as_secs_f64(),
            per_bound,
            ..finding.statistics
        };
        if bound.is_some() || finding.stop.is_some() {
            finding.unreached.clear();
        }
        finding
    }
}
