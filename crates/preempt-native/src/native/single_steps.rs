//! The enabled steps of a state, and single steps: what replays and the search for the simplest
//! counterexample need.

use super::Native;
use crate::execute::rendezvous::both_halves;
use crate::execute::shape::length_of;
use crate::execute::workspace::{ASK_STEP, Workspace, frame_space, frames_of, header_space};
use crate::generate::compiled::Stepping;
use preempt_core::engine::SuccessorHeader;
use preempt_core::{Enabled, Outcome, ProcessId, Step, System};
use preempt_promela::ir::MoveKind;

impl Native<'_> {
    /// See [`System::enabled`].
    pub(super) fn list_enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let Some(stepping) = self.stepping() else {
            return self.reference.enabled(state, enabled);
        };
        let (mut headers, mut space) = (header_space(), frame_space());
        let frames = frames_of(&self.parts.shape, state, &mut space);
        let mut workspace = Workspace::new(&self.parts.shape, &self.meeting, state.len(), frames);
        self.rounds(state, &mut workspace, frames, |workspace, state, (pid, frame), timeout| {
            workspace.headers = headers.as_mut_ptr().cast();
            let list = stepping.list[usize::from(frame.proctype)];
            // SAFETY: `frame` is a frame of this vector.
            let at = unsafe { state.as_ptr().add(frame.at as usize) };
            let count = list(state.as_ptr(), at, pid as u32, timeout.into(), &raw mut *workspace);
            let Ok(count) = usize::try_from(count) else {
                let before = enabled.steps().len();
                self.reference.enabled_of(state, ProcessId(pid as u16), timeout, enabled);
                return enabled.steps().len() > before;
            };
            for header in &headers[..count] {
                // SAFETY: machine code wrote as many headers as it counted; only the step is read.
                enabled.push(unsafe { (*header.as_ptr()).step() });
            }
            count > 0
        });
    }

    /// Takes a step in place; `None` when the interpreter must take it from the state as it was.
    #[inline]
    pub(super) fn take(
        &self,
        stepping: &Stepping,
        state: &mut Vec<u8>,
        step: Step,
    ) -> Option<Outcome> {
        let pid = step.process.index();
        let frame = self.parts.shape.frame(state, pid)?;
        let proctype = usize::from(frame.proctype);
        let before = state.len();
        if let Some(partner) = step.partner {
            let other = self.parts.shape.frame(state, partner.index())?;
            self.meeting.halves.get(step.transition.max(step.partner_transition) as usize)?;
            state.resize(before + self.meeting.growth, 0);
            let mut workspace = Workspace::new(&self.parts.shape, &self.meeting, before, &[]);
            // SAFETY: the frames are those of this vector, and there is room for what the step
            // adds.
            let result = unsafe {
                both_halves(
                    &self.meeting,
                    (state.as_mut_ptr(), &raw mut workspace),
                    (proctype, frame.at as usize, pid, step.transition),
                    (other, partner.index(), step.partner_transition),
                )
            };
            return self.fit_length(state, before, result, self.meeting.growth > 0);
        }
        let growth = *self.growth.get(step.transition as usize)?;
        if let Some(growth) = growth {
            state.resize(before + growth as usize, 0);
        }
        let saved = self.may_be_given_up(step.transition).then(|| state[..before].to_vec());
        let base = state.as_mut_ptr();
        // SAFETY: `frame` is a frame of this vector.
        let at = unsafe { base.add(frame.at as usize) };
        let take = stepping.take[proctype];
        let result = take(base, at, pid as u32, step.transition, std::ptr::null_mut());
        if result == ASK_STEP
            && let Some(saved) = saved
        {
            *state = saved;
            return None;
        }
        self.fit_length(state, before, result, growth.is_some())
    }

    /// Whether machine code may leave a step to the interpreter halfway: a `d_step` with a loop.
    fn may_be_given_up(&self, transition: u32) -> bool {
        let taken = self.parts.program.moves.get(transition as usize);
        taken.is_some_and(|m| matches!(m.kind, MoveKind::Compound { endless: Some(_), .. }))
    }

    /// Cuts the vector to its length after a step, and reads the result.
    #[inline]
    fn fit_length(
        &self,
        state: &mut Vec<u8>,
        before: usize,
        result: u32,
        resized: bool,
    ) -> Option<Outcome> {
        if result == ASK_STEP {
            state.truncate(before);
            return None;
        }
        if resized {
            state.truncate(length_of(&raw const *self.parts.shape, state.as_ptr()) as usize);
        }
        Some(outcome(result))
    }
}

#[inline(always)]
fn outcome(result: u32) -> Outcome {
    SuccessorHeader { result, ..SuccessorHeader::default() }.outcome()
}
