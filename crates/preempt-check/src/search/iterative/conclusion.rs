//! How a search bucket by bucket ends: its numbers, as a finding.

use crate::search::shared::halt::Halt;
use crate::search::shared::statistics::Counters;
use crate::{Budget, Covered, Finding, Options};
use preempt_core::{BoundRow, Statistics, Stop, System};

/// What a search bucket by bucket came to.
pub(crate) struct Conclusion {
    pub(crate) counters: Counters,
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) revisits: u64,
    /// The longest execution, counted in visits.
    pub(crate) depth: u64,
    /// Memory in use, in bytes.
    pub(crate) memory: usize,
    /// The finished phases.
    pub(crate) rows: Vec<BoundRow>,
    /// The last bound searched, if more is left.
    pub(crate) bound: Option<u32>,
    pub(crate) end: Option<Halt>,
}

impl Conclusion {
    /// Of a search that ended before it began.
    pub(crate) fn nothing<S: System + ?Sized>(
        system: &S,
        options: &Options,
        end: Option<Halt>,
    ) -> Self {
        Conclusion {
            counters: Counters::new(system, options),
            states: 0,
            transitions: 0,
            revisits: 0,
            depth: 0,
            memory: 0,
            rows: Vec::new(),
            bound: None,
            end,
        }
    }

    /// Code is reported as unreached only if nothing is left.
    pub(crate) fn finding<S: System + ?Sized>(self, system: &S, budget: &Budget) -> Finding {
        let Conclusion { states, transitions, revisits, depth, memory, .. } = self;
        let mut finding = self.counters.finish(system, states);
        if let Some(Halt::Stop(stop)) = self.end {
            finding.stop = Some(stop);
        }
        finding.bound = self.bound;
        finding.statistics =
            Statistics { depth, revisits, per_bound: self.rows, ..finding.statistics };
        budget.sum_up(&mut finding.statistics, memory);
        finding.statistics.count_arrivals(transitions);
        if finding.bound.is_some() || finding.stop.is_some() {
            finding.unreached.clear();
        }
        finding
    }
}

/// Without a single thread nothing was searched.
pub(crate) fn nothing_searched() -> Finding {
    Finding::new(Covered::Part(Stop::Bug))
}
