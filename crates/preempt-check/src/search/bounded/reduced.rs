//! Depth-first search within a bound that skips interleavings.
//!
//! Paper: [HF] Fig. 5
//!
//! Differs from the paper: processes run ahead as `reduce/ahead.rs` says, without paying, the last mover stays what
//! it was, and where it may owe its turn to that it is forgotten. [HF] gives the step behind an ample one for
//! free instead, which loses violations where an ample step enables another process. The other rule takes *strictly
//! local* steps alone: those enable no process, so no last mover is ever forgotten, and counts are exact.
//!
//! The proviso asks for one successor off the path: as it is left before this state is, no step is put off for
//! ever. Where it fails the next set is tried, and at last the state is expanded in full.
//!
//! Where processes run ahead counts are lower bounds: a violation found here need not be within the bound, while
//! one within the bound is never lost.

use super::stack::{Frame, Label, Phase, Stack};
use super::visited::Visited;
use super::walk::{Rule, walk};
use crate::reduce::{Ahead, Signalled};
use crate::search::shared::visit_rule::{Due, turn};
use crate::{Budget, Finding, Options};
use preempt_core::{Enabled, Locality, ProcessId, System};

/// Searches up to `bound` with reduction; processes run ahead by more than strictly local steps if `ahead`.
#[doc(alias = "HF Fig. 5")]
pub(crate) fn depth_first_reduced<S: System + ?Sized, V: Visited>(
    system: &S,
    visited: V,
    bound: u32,
    ahead: bool,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let ahead = ahead.then(|| Ahead::new(options.reduction, Signalled::Anything));
    let observed = options.observed;
    let mut rule =
        Figure5 { bound, observed, ahead, cut: false, movers: Vec::new(), set: Vec::new() };
    let finding = walk(system, visited, &mut rule, options, budget);
    Finding { bound: rule.cut.then_some(bound), ..finding }
}

struct Figure5 {
    bound: u32,
    /// Steps that a property can see must not be reordered.
    observed: bool,
    /// `None` takes strictly local steps alone.
    ahead: Option<Ahead>,
    /// The bound kept a step from being taken.
    cut: bool,
    movers: Vec<ProcessId>,
    set: Vec<ProcessId>,
}

impl<S: System + ?Sized> Rule<S> for Figure5 {
    fn enter<V: Visited>(
        &mut self,
        system: &S,
        visited: &mut V,
        stack: &mut Stack,
        enabled: &Enabled,
    ) {
        let Some(mut frame) = stack.frame() else { return };
        let mover = frame.mover.filter(|mover| self.is_robust(system, stack, enabled, *mover));
        if mover.is_none() {
            visited.set_free(frame.key);
        }
        frame.mover = mover;
        if let Some(top) = stack.top() {
            top.mover = mover;
        }
        self.plan(system, stack, enabled, frame);
    }

    fn wants_resume(&self, frame: &Frame) -> bool {
        frame.phase == Phase::Ahead && !frame.left_the_path
    }

    fn resume(&mut self, system: &S, stack: &mut Stack, enabled: &Enabled) {
        // Lines 18 to 21: the steps taken ahead only lead back.
        if let Some(frame) = stack.frame() {
            self.plan(system, stack, enabled, frame);
        }
    }
}

impl Figure5 {
    /// Whether the last mover could move if no process had run ahead.
    fn is_robust<S: System + ?Sized>(
        &self,
        system: &S,
        stack: &Stack,
        enabled: &Enabled,
        mover: ProcessId,
    ) -> bool {
        let own = enabled.of(mover);
        match &self.ahead {
            None => !own.is_empty(),
            Some(ahead) => ahead.is_robust(system, stack.state(), mover, own.iter().copied()),
        }
    }

    /// Plans the next set of processes to run ahead, or, if there is none, all processes.
    fn plan<S: System + ?Sized>(
        &mut self,
        system: &S,
        stack: &mut Stack,
        enabled: &Enabled,
        frame: Frame,
    ) {
        let found = self.next_set(system, stack.state(), enabled, frame.sets);
        let Some(next) = found else { return self.plan_everybody(stack, enabled, frame) };
        // Lines 25 to 28. A property moves by itself.
        stack.plan(enabled.of(ProcessId::PROPERTY), frame.count, Label::Moves);
        for process in &self.set {
            stack.plan(enabled.of(*process), frame.count, Label::Stays(frame.mover));
        }
        if let Some(top) = stack.top() {
            (top.phase, top.sets) = (Phase::Ahead, next);
        }
    }

    /// Fills the set with the first one numbered `from` or more; gives the number behind.
    fn next_set<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        enabled: &Enabled,
        from: u16,
    ) -> Option<u16> {
        let (from, processes) = (usize::from(from), || enabled.by_process().map(|(p, _)| p));
        self.movers.clear();
        self.movers.extend(processes().filter(|process| *process != ProcessId::PROPERTY));
        if let Some(ahead) = &mut self.ahead {
            let next = ahead.candidate(system, state, &self.movers, from, &mut self.set)?;
            return u16::try_from(next).ok();
        }
        let is_local = |process: &ProcessId| {
            system.locality(state, *process) == Locality::Local
                && !(self.observed && system.is_visible(state, *process))
        };
        let rest = self.movers.get(from..).unwrap_or_default();
        let at = from + rest.iter().position(is_local)?;
        self.set.clear();
        self.set.push(self.movers[at]);
        u16::try_from(at + 1).ok()
    }

    /// Lines 30 to 44.
    fn plan_everybody(&mut self, stack: &mut Stack, enabled: &Enabled, frame: Frame) {
        if let Some(top) = stack.top() {
            top.phase = Phase::Rest;
        }
        // A last mover that cannot go on was forgotten.
        let turn = turn(frame.mover.is_some(), false);
        for (process, steps) in enabled.by_process() {
            let is_mover = |process| frame.mover == Some(process);
            match turn.due(process, is_mover, is_mover) {
                Due::Later if frame.count < self.bound => {
                    stack.plan(steps, frame.count + 1, Label::Moves);
                }
                Due::Later => self.cut = true,
                Due::Now | Due::Never => stack.plan(steps, frame.count, Label::Moves),
            }
        }
    }
}
