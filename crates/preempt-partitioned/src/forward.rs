//! Partial-order reduction that asks no other owner: which steps of a state are enough is decided from that state and its
//! successors alone, whatever the owners of these, and in whatever file the visited ones are.
//!
//! A selection of steps may be explored instead of all only if none of the others waits for ever. Searches in one memory
//! see to that by taking a selection only if it leads to a state that is new. Here a selection is taken only
//! if one of its steps leads *forward*: the control points of all processes, as numbers, stay or grow, and one grows. (Static
//! partial-order reduction, Kurshan, Levin, Minea, Peled and Yenigün 1998, has the idea: each cycle of states goes round a
//! cycle of some process's control flow, and a step back is taken together with all others.)
//!
//! Why that suffices: from a state explored by a selection go to a successor that lies forward, and so on. No
//! state comes a second time, because numbers only grow on the way; so the way ends, in a state of which all steps are explored.
//! That is what the argument with new states shows as well. It does not matter what the numbers mean.
//!
//! Invariant: the selection is a function of the state, so the reduced states and transitions are the same for any
//! number of owners. So is the decision whether to reduce at all: all owners look at the same first states.

use preempt_check::engine::{EVERYTHING, Selector};
use preempt_check::engine::{Expander, Watch};
use preempt_check::store::StoreFull;
use preempt_check::{Budget, Finding, Options, Preemptions, Progress, Reduction};
use preempt_core::{Enabled, Outcome, Step, Stop, System};
use std::collections::{HashSet, VecDeque};

/// So many states, with so many bytes, show whether reduction pays.
const SAMPLE: usize = 1 << 12;
const SAMPLE_BYTES: usize = 1 << 24;
/// One of so many must be explored by a selection. Looking for one takes about as long as two expansions.
const ONE_OF: usize = 3;

/// Chooses steps.
#[derive(Debug)]
pub(super) struct Forward {
    selector: Selector,
    probe: Expander,
    enabled: Enabled,
    before: Vec<u32>,
    after: Vec<u32>,
}

/// Steps that are only tried are not counted.
pub(super) struct Uncounted;

impl Watch for Uncounted {
    fn step(&mut self, _step: Step, _transient: bool) {}

    fn fault(&mut self, _path: &[Step], _fault: u32) {}
}

/// Adds to a finding why the search took every step, if reduction was asked for.
pub fn note_reduction(
    system: &dyn System,
    options: &Options,
    budget: &mut Budget<'_>,
    finding: &mut Finding,
) {
    if let Some(why) = why_unreduced(system, options, budget) {
        finding.statistics.unreduced = true;
        finding.notes.push(format!("no partial-order reduction: {why}"));
    }
}

/// Why a search takes every step, though reduction was asked for; `None` if it does not, or there is no time to find out.
fn why_unreduced(
    system: &dyn System,
    options: &Options,
    budget: &mut Budget<'_>,
) -> Option<&'static str> {
    match options.reduction {
        Reduction::None => None,
        _ if options.preemptions != Preemptions::Any => {
            Some("preemptions are counted where states belong to many, or to files")
        }
        _ => match Forward::new(system, options, budget) {
            Ok(None) => Some("it would leave hardly a step out"),
            _ => None,
        },
    }
}

impl Forward {
    /// Whatever chooses steps in this search, if anything is to be left out and it pays, or was asked for in any case. `Err` if
    /// the search has to stop before that is known.
    pub(super) fn new(
        system: &dyn System,
        options: &Options,
        budget: &mut Budget<'_>,
    ) -> Result<Option<Self>, Stop> {
        if options.reduction == Reduction::None || options.preemptions != Preemptions::Any {
            return Ok(None);
        }
        let mut forward = Forward {
            selector: Selector::new(options),
            probe: Expander::default(),
            enabled: Enabled::new(),
            before: Vec::new(),
            after: Vec::new(),
        };
        let pays = options.always_reduce || forward.pays(system, budget)?;
        Ok(pays.then_some(forward))
    }

    /// The steps of a state that are to be explored; `None` for all.
    #[inline]
    pub(super) fn select(
        &mut self,
        system: &dyn System,
        state: &mut Vec<u8>,
    ) -> Result<Option<&[Step]>, StoreFull> {
        self.enabled.clear();
        system.enabled(state, &mut self.enabled);
        self.before.clear();
        system.control_points(state, &mut self.before);
        if self.before.is_empty() {
            return Ok(None);
        }
        let mut from = 0;
        loop {
            let pick = self.selector.next(system, state, &self.enabled, from);
            if pick == EVERYTHING {
                return Ok(None);
            }
            self.probe.clear();
            let steps = self.selector.selected();
            self.probe.expand_selected(system, state, steps, &mut Uncounted)?;
            if self.leads_forward(system) {
                return Ok(Some(self.selector.selected()));
            }
            from = pick + 1;
        }
    }

    /// Whether one of the states that were tried lies forward.
    fn leads_forward(&mut self, system: &dyn System) -> bool {
        let (before, after) = (&self.before, &mut self.after);
        self.probe.arrivals.iter().any(|arrival| {
            after.clear();
            system.control_points(&self.probe.successors.data[arrival.start..arrival.end], after);
            after.len() == before.len()
                && after != before
                && after.iter().zip(before).all(|(after, before)| after >= before)
        })
    }

    /// Whether enough of the first states are explored by a selection.
    fn pays(&mut self, system: &dyn System, budget: &mut Budget<'_>) -> Result<bool, Stop> {
        let mut initial = Vec::new();
        if matches!(system.initial(&mut initial), Outcome::Broken(_)) {
            return Ok(false);
        }
        let (mut looked, mut reduced, mut bytes) = (0, 0, 0);
        let mut known = HashSet::from([initial.clone()]);
        let mut queue = VecDeque::from([initial]);
        let mut expander = Expander::default();
        while looked < SAMPLE
            && bytes < SAMPLE_BYTES
            && let Some(mut state) = queue.pop_front()
        {
            looked += 1;
            if let Some(stop) = budget.check(Progress::default()) {
                return Err(stop);
            }
            expander.clear();
            let taken = match self.select(system, &mut state) {
                Ok(Some(steps)) => {
                    reduced += 1;
                    expander.expand_selected(system, &state, steps, &mut Uncounted)
                }
                Ok(None) => expander.expand(system, &mut state, &mut Uncounted),
                Err(full) => Err(full),
            };
            if taken.is_err() {
                return Ok(false);
            }
            for arrival in &expander.arrivals {
                let state = &expander.successors.data[arrival.start..arrival.end];
                if !known.contains(state) {
                    bytes += 2 * state.len();
                    known.insert(state.to_vec());
                    queue.push_back(state.to_vec());
                }
            }
        }
        Ok(reduced * ONE_OF >= looked)
    }
}
