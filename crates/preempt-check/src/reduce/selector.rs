//! Selections out of the steps that a state has, by number.

use super::stubborn::Closure;
use crate::{Options, Reduction};
use preempt_core::{Enabled, ProcessId, Step, System};

/// The number of the selection that leaves nothing out.
pub const EVERYTHING: u16 = u16::MAX;

/// Chooses which steps of a state to explore first.
#[derive(Debug)]
pub struct Selector {
    rule: Reduction,
    /// Steps that a property can see must not be reordered.
    observed: bool,
    steps: Vec<Step>,
    stubborn: Closure,
    movers: Vec<ProcessId>,
}

impl Selector {
    /// One that reduces as these options say.
    pub fn new(options: &Options) -> Self {
        Selector {
            rule: options.reduction,
            observed: options.observed,
            steps: Vec::new(),
            stubborn: Closure::default(),
            movers: Vec::new(),
        }
    }

    /// Whether anything is ever left out.
    #[inline(always)]
    pub fn reduces(&self) -> bool {
        self.rule != Reduction::None
    }

    /// Selects the first selection numbered `from` or more, or everything; returns its number.
    pub fn next<S: System + ?Sized>(
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
        for (number, (process, steps)) in enabled.by_process().enumerate().skip(from.into()) {
            if system.is_ample(state, process, self.observed) {
                self.steps.clear();
                self.steps.extend_from_slice(steps);
                return number as u16;
            }
        }
        if self.rule == Reduction::Full && groups > 1 {
            let first = usize::from(from).max(groups);
            self.movers.clear();
            self.movers.extend(enabled.by_process().map(|(process, _)| process));
            self.stubborn.enter(system, state);
            for number in first..2 * groups {
                let Some(&seed) = self.movers.get(number - groups) else { break };
                if self.stubborn.grow(system, state, &self.movers, seed, self.observed) {
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

    /// Selects all steps.
    fn everything(&mut self, enabled: &Enabled) -> u16 {
        self.steps.clear();
        self.steps.extend_from_slice(enabled.steps());
        EVERYTHING
    }

    /// Leaves steps out of the present selection.
    pub fn leave_out(&mut self, is_out: impl Fn(&Step) -> bool) {
        self.steps.retain(|step| !is_out(step));
    }

    /// The steps of the present selection.
    pub fn selected(&self) -> &[Step] {
        &self.steps
    }
}
