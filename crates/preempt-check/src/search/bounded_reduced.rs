//! Depth-first search within a bound that skips interleavings of steps nobody else can notice.
//!
//! Paper: [HF] Fig. 5
//!
//! Differs from the paper: ample sets hold *strictly local* steps only. [HF] Theorem 2 fails for an
//! ample step that enables another process: taken early, it turns a forced switch away from that
//! process into one that counts. `safe` is part of what visits are judged by (as a visit that whoever
//! goes on leaves for free), which Spin leaves out. The proviso asks for one successor off the path,
//! enough for safety; where it fails, the state is expanded in full and the switch is free.
//!
//! The credit that a `safe` step gives lets some executions beyond the bound through: a violation
//! found here need not be within the bound, while one within the bound is never lost.

use super::bounded::{run_everybody, run_others};
use super::bounded_stack::{Frame, Phase, Stack};
use super::bounded_walk::{Rule, walk};
use super::visited::Visited;
use crate::{Budget, Finding, Options};
use preempt_core::{Enabled, Locality, ProcessId, System};

/// Searches up to `bound` with reduction.
#[doc(alias = "HF Fig. 5")]
pub(super) fn depth_first_reduced<S: System + ?Sized, V: Visited>(
    system: &S,
    visited: V,
    bound: u32,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let mut rule = Figure5 { bound, cut: false };
    let finding = walk(system, visited, &mut rule, options, budget);
    Finding { bound: rule.cut.then_some(bound), ..finding }
}

struct Figure5 {
    bound: u32,
    /// The bound kept a step from being taken.
    cut: bool,
}

impl<S: System + ?Sized> Rule<S> for Figure5 {
    fn enter<V: Visited>(
        &mut self,
        system: &S,
        visited: &mut V,
        stack: &mut Stack,
        enabled: &Enabled,
    ) {
        let Some(frame) = stack.frame() else { return };
        // Lines 6, 10, 24: not in the initial state, and only below the bound.
        if frame.mover.is_some() && frame.count < self.bound {
            let ample = enabled.by_process().find(|(process, steps)| {
                steps.len() < enabled.steps().len()
                    && system.locality(stack.state(), *process) == Locality::Local
                    && !system.is_visible(stack.state(), *process)
            });
            if let Some((_, steps)) = ample {
                // Lines 25 to 28.
                stack.plan(enabled.of(ProcessId::PROPERTY), frame.count, false);
                stack.plan(steps, frame.count, true);
                if let Some(frame) = stack.top() {
                    frame.phase = Phase::Ample;
                }
                return;
            }
        }
        self.cut |= expand(visited, stack, enabled, frame, self.bound, false);
    }

    fn wants_resume(&self, frame: &Frame) -> bool {
        frame.phase == Phase::Ample && !frame.left_the_path
    }

    fn resume<V: Visited>(
        &mut self,
        _: &S,
        visited: &mut V,
        stack: &mut Stack,
        enabled: &Enabled,
    ) -> bool {
        // Lines 18 to 21: the ample steps only lead back.
        let Some(frame) = stack.frame() else { return false };
        if let Some(frame) = stack.top() {
            frame.phase = Phase::Rest;
        }
        self.cut |= expand(visited, stack, enabled, frame, self.bound, true);
        true
    }
}

/// Lines 30 to 44. Says whether the bound keeps a step from being taken.
fn expand<V: Visited>(
    visited: &mut V,
    stack: &mut Stack,
    enabled: &Enabled,
    frame: Frame,
    bound: u32,
    cycle: bool,
) -> bool {
    let own = frame.mover.map_or(&[][..], |mover| enabled.of(mover));
    stack.plan(own, frame.count, false);
    if !own.is_empty() {
        stack.plan(enabled.of(ProcessId::PROPERTY), frame.count, false);
    }
    if own.is_empty() || frame.safe || cycle {
        run_everybody(visited, stack, enabled, frame);
        false
    } else {
        run_others(visited, stack, enabled, frame, bound)
    }
}
