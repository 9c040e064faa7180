//! Depth-first search of all executions with at most so many preemptions.
//!
//! Paper: [HF] Fig. 3
//!
//! Differs from the paper: visits are judged by the sharper rule of `least_preemptions.rs`, and a visit runs
//! only what earlier visits at the same count did not. If all steps of the last mover lead back to
//! the path, §3.1 lets the others go on for free; that reaches states beyond the bound, so it is not done.
//!
//! Invariant: the states visited are exactly those of executions within the bound.

use super::stack::{Frame, Label, Stack};
use super::visited::Visited;
use super::walk::{Rule, walk};
use crate::search::shared::visit_rule::{Due, Turn, turn};
use crate::{Budget, Finding, Options};
use preempt_core::{Enabled, ProcessId, System};

/// Searches up to `bound`.
#[doc(alias = "HF Fig. 3")]
pub(crate) fn depth_first<S: System + ?Sized, V: Visited>(
    system: &S,
    visited: V,
    bound: u32,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let mut rule = Figure3 { bound, cut: false };
    let finding = walk(system, visited, &mut rule, options, budget);
    Finding { bound: rule.cut.then_some(bound), ..finding }
}

struct Figure3 {
    bound: u32,
    /// The bound kept a step from being taken.
    cut: bool,
}

impl<S: System + ?Sized> Rule<S> for Figure3 {
    fn enter<V: Visited>(&mut self, _: &S, visited: &mut V, stack: &mut Stack, enabled: &Enabled) {
        let Some(frame) = stack.frame() else { return };
        let own = frame.mover.map_or(&[][..], |mover| enabled.of(mover));
        // A visit that another one covers is not entered.
        if turn(!own.is_empty(), false) == Turn::All {
            run_all(visited, stack, enabled, frame);
            return;
        }
        stack.plan(own, frame.count, Label::Moves);
        stack.plan(enabled.of(ProcessId::PROPERTY), frame.count, Label::Moves);
        self.cut |= run_others(visited, stack, enabled, frame, self.bound);
    }
}

/// No process is preempted: all go on at the same count, except those that have visits of their own.
fn run_all<V: Visited>(visited: &mut V, stack: &mut Stack, enabled: &Enabled, frame: Frame) {
    visited.set_free(frame.key);
    for (process, steps) in enabled.by_process() {
        // The last mover had its turn if it has steps.
        let has_run =
            |process| frame.mover == Some(process) || visited.has_mover(frame.key, process);
        if Turn::All.due(process, |_| false, has_run) == Due::Now {
            stack.plan(steps, frame.count, Label::Moves);
        }
    }
}

/// The last mover is preempted: the others go on at one preemption more. Only the first visit at a
/// count needs to do this. Says whether the bound keeps a step from being taken.
fn run_others<V: Visited>(
    visited: &V,
    stack: &mut Stack,
    enabled: &Enabled,
    frame: Frame,
    bound: u32,
) -> bool {
    let mut cut = false;
    for (process, steps) in enabled.by_process().filter(|_| frame.first) {
        let is_mover = |process| frame.mover == Some(process);
        let has_run = |process| visited.has_mover(frame.key, process);
        if Turn::Mover.due(process, is_mover, has_run) != Due::Later {
            continue;
        }
        if frame.count < bound {
            stack.plan(steps, frame.count + 1, Label::Moves);
        } else {
            cut = true;
        }
    }
    cut
}
