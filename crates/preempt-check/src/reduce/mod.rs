//! Partial-order reduction: leaving the steps of most processes for later.
//!
//! In a state where the steps of some processes commute with all that the others can do, exploring
//! only these is enough to find every deadlock and every failing assertion, provided that no step
//! is left for later for ever: the search takes care of that (its *proviso*).
//!
//! A [`Selector`] numbers the selections that are worth trying in a state; the search tries them
//! in this order until one passes its proviso, and explores everything if none does.

mod ample;
mod stubborn;

use crate::{Options, Reduction};
use preempt_core::{Enabled, Step, System};

/// The number of the selection that leaves nothing out.
pub(crate) const EVERYTHING: u16 = u16::MAX;

/// Chooses which steps of a state to explore first.
#[derive(Debug)]
pub(crate) struct Selector {
    rule: Reduction,
    /// Steps that a property can see must not be reordered.
    observed: bool,
    steps: Vec<Step>,
    stubborn: stubborn::Closure,
}

impl Selector {
    pub(crate) fn new(options: &Options) -> Self {
        Selector {
            rule: options.reduction,
            observed: options.observed,
            steps: Vec::new(),
            stubborn: stubborn::Closure::default(),
        }
    }

    /// Whether anything is ever left out.
    #[inline(always)]
    pub(crate) fn reduces(&self) -> bool {
        self.rule != Reduction::None
    }

    /// Selects the first selection numbered `from` or more, or everything; returns its number.
    pub(crate) fn next<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        enabled: &Enabled,
        from: u16,
    ) -> u16 {
        if self.rule == Reduction::None || system.process_count(state) < 2 {
            return self.everything(enabled);
        }
        // Selections 0.. are single processes by Spin's rule; those from `groups` on are stubborn
        // sets grown from one process each.
        let groups = enabled.by_process().count();
        for number in usize::from(from)..groups {
            let Some((process, steps)) = enabled.by_process().nth(number) else { break };
            if ample::is_ample(system, state, process, self.observed) {
                self.steps.clear();
                self.steps.extend_from_slice(steps);
                return number as u16;
            }
        }
        if self.rule == Reduction::Full && groups > 1 {
            let first = usize::from(from).max(groups);
            self.stubborn.enter();
            for number in first..2 * groups {
                let Some((seed, _)) = enabled.by_process().nth(number - groups) else { break };
                if self.stubborn.grow(system, state, enabled, seed, self.observed) {
                    self.steps.clear();
                    for (process, steps) in enabled.by_process() {
                        if self.stubborn.contains(process) {
                            self.steps.extend_from_slice(steps);
                        }
                    }
                    return number as u16;
                }
            }
        }
        self.everything(enabled)
    }

    /// Makes a selection again that was made in this state before.
    pub(crate) fn again<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        enabled: &Enabled,
        pick: u16,
    ) {
        match pick {
            EVERYTHING => self.everything(enabled),
            pick => self.next(system, state, enabled, pick),
        };
    }

    /// Selects all steps.
    pub(crate) fn everything(&mut self, enabled: &Enabled) -> u16 {
        self.steps.clear();
        self.steps.extend_from_slice(enabled.steps());
        EVERYTHING
    }

    /// The steps of the present selection.
    pub(crate) fn selected(&self) -> &[Step] {
        &self.steps
    }
}
