//! All executions without a preemption, then those with one, then those with two, …
//!
//! Paper: [MQ07] Algorithm 1
//!
//! The paper's `workQueue` holds work items, each a state with the thread to run from it and the phase it belongs to; the loop
//! takes one after the other and calls `Search`, which follows its thread and puts what needs a preemption too many at the
//! back of the queue. Here a work item is a *visit* (a state and its last mover), `visit_rule.rs` says which processes it runs
//! and which are put off, and the queue is one bucket of visits per count of preemptions. How a bucket is searched differs:
//! see the implementations of [`PhasedSearch`].
//!
//! Differs from the paper: the table of what was done is keyed by the state and the last mover; keyed by the state alone, as
//! printed, no thread but the first would ever run. So nothing is explored twice, and the work of all phases together is
//! that of one plain search. When nothing was put off, everything was explored and no bound is left. The bound grows by one
//! at a time; the paper's `csb` would only report it less often.
//!
//! Searches that keep their states in files (`preempt-disk/src/buckets.rs`) or with many owners (`preempt-partitioned/src/buckets.rs`) have
//! loops of their own: there a phase ends when a round of messages or files does, which their drivers decide.
//!
//! Invariant: when a phase ends, every state that can be reached with its count of preemptions has been visited, so a violation
//! found later needs more.

use crate::search::bounded::least_preemptions::LARGEST_BOUND;
use crate::search::shared::halt::Halt;
use crate::search::shared::workers::Fewer;
use crate::{Budget, Options};
use preempt_core::BoundRow;

/// A search in phases, one per count of preemptions.
pub(crate) trait PhasedSearch {
    /// Puts the visit to the initial state into the work queue.
    fn start(&mut self) -> Result<(), Halt>;

    /// Runs all visits of the present phase, and those that they lead to without another preemption.
    fn run_phase(&mut self, budget: &mut Budget) -> Result<(), Halt>;

    /// Whether a process with steps was put off to the next phase.
    fn has_next(&mut self) -> bool;

    /// Makes what was put off the work queue of the next phase.
    fn begin_next(&mut self) -> Result<(), Halt>;

    /// Whether the present phase is the last one that makes sense, whatever was asked for.
    fn must_end(&self) -> bool {
        false
    }

    /// What was counted so far.
    fn row(&self) -> BoundRow;
}

/// How the phases of a search ended.
pub(crate) struct Phases {
    /// The finished ones.
    pub(crate) rows: Vec<BoundRow>,
    /// The last bound searched, if more is left.
    pub(crate) bound: Option<u32>,
    /// Why the search ended before its time.
    pub(crate) end: Option<Halt>,
}

impl Phases {
    /// These phases, unless there were too few threads for one of them.
    pub(crate) fn unless_fewer(self) -> Result<Self, Fewer> {
        match self.end {
            Some(Halt::Fewer(threads)) => Err(Fewer(threads)),
            _ => Ok(self),
        }
    }
}

/// Searches phase by phase, as far as `options.preemptions` says.
#[doc(alias = "MQ07 Algorithm 1")]
pub(crate) fn iterate(
    search: &mut impl PhasedSearch,
    options: &Options,
    budget: &mut Budget,
) -> Phases {
    let mut phases = Phases { rows: Vec::new(), bound: None, end: None };
    if let Err(end) = run_phases(search, options, &mut phases, budget) {
        if matches!(end, Halt::Enough) {
            phases.rows.push(search.row());
        }
        phases.end = Some(end);
    }
    phases
}

fn run_phases(
    search: &mut impl PhasedSearch,
    options: &Options,
    phases: &mut Phases,
    budget: &mut Budget,
) -> Result<(), Halt> {
    let last = last_bound(options);
    search.start()?;
    let mut curr_bound = 0_u32;
    loop {
        search.run_phase(budget)?;
        let is_done = !search.has_next();
        phases.rows.push(search.row());
        if is_done {
            return Ok(());
        }
        if curr_bound >= last || search.must_end() {
            phases.bound = Some(curr_bound);
            return Ok(());
        }
        search.begin_next()?;
        curr_bound += 1;
    }
}

/// The last bound that may be searched.
pub(crate) fn last_bound(options: &Options) -> u32 {
    options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND)
}
