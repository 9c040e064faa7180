//! All successors of a state.
//!
//! Machine code writes them straight into the lists of the search. Where it has to leave something to the
//! interpreter, the state is expanded once more, and only what has no machine code is asked of the interpreter.

use super::Native;
use crate::execute::frames::frames_from;
use crate::execute::shape::Frame;
use crate::execute::successor_writer::SuccessorWriter;
use crate::execute::workspace::{
    ASK_STEP, AtomicBlocks, PIECE, Workspace, frame_space, frames_of, header_space,
};
use crate::generate::compiled::Expanding;
use preempt_core::engine::{Scratch, SuccessorHeader, Successors};
use preempt_core::{Outcome, ProcessId, Step, System};

impl Native<'_> {
    /// Visits the processes that may move, in order, until the rounds are over. `visit` says
    /// whether it found a step.
    #[inline(always)]
    pub(super) fn rounds(
        &self,
        state: &mut [u8],
        workspace: &mut Workspace,
        frames: &[Frame],
        mut visit: impl FnMut(&mut Workspace, &mut [u8], (usize, Frame), bool) -> bool,
    ) {
        if let Some(alone) = state[0].checked_sub(1) {
            let alone = usize::from(alone);
            if let Some(frame) = frames.get(alone)
                && visit(workspace, state, (alone, *frame), false)
            {
                return;
            }
            state[0] = 0;
        }
        for timeout in [false, true] {
            let mut found = false;
            for (pid, frame) in frames.iter().enumerate().rev() {
                found |= visit(workspace, state, (pid, *frame), timeout);
            }
            if found || !self.parts.program.uses_timeout {
                return;
            }
        }
    }

    /// Adds all successors; `false`, and nothing added, if the interpreter must be asked.
    pub(super) fn expand_all(&self, state: &mut Vec<u8>, out: &mut Successors) -> bool {
        let Some(expanding) = self.expanding() else { return false };
        let (frames, mut workspace, mut writer) = self.open(state, out);
        let mut refused = false;
        self.rounds(state, &mut workspace, frames, |workspace, state, (pid, frame), timeout| {
            writer.prepare(workspace);
            // SAFETY: `frame` is a frame of this vector.
            let at = unsafe { state.as_ptr().add(frame.at as usize) };
            let expand = expanding.at(&self.parts, self.parts.control.point(state, frame) as usize);
            let count = expand(state.as_ptr(), at, pid as u32, timeout.into(), &raw mut *workspace);
            refused |= count < 0;
            // SAFETY: machine code wrote so many headers, for which there was room.
            workspace.headers = unsafe { workspace.headers.add(count.max(0) as usize) };
            count != 0
        });
        writer.close(&workspace, refused)
    }

    /// As [`Self::expand_all`], with the interpreter for what has no machine code; all processes, or one that
    /// does not wait for the others.
    #[cold]
    pub(super) fn expand_mixed(
        &self,
        state: &mut Vec<u8>,
        only: Option<ProcessId>,
        out: &mut Successors,
    ) {
        let mut scratch = out.scratch.take().unwrap_or_default();
        match self.expanding() {
            Some(expanding) => self.expand_each(expanding, state, only, (&mut scratch, out)),
            None => {
                scratch.enabled.clear();
                match only {
                    None => self.reference.enabled(state, &mut scratch.enabled),
                    Some(process) => {
                        self.reference.enabled_of(state, process, false, &mut scratch.enabled);
                    }
                }
                self.take_enabled(state, &mut scratch, out);
            }
        }
        out.scratch = Some(scratch);
    }

    /// Adds the successors of all processes, or of one, process by process.
    fn expand_each(
        &self,
        expanding: &Expanding,
        state: &mut Vec<u8>,
        only: Option<ProcessId>,
        (scratch, out): (&mut Scratch, &mut Successors),
    ) {
        // States are copied in whole pieces: what lies behind this one must at least be readable.
        state.reserve(PIECE);
        let most = Workspace::reserve_for(state.len(), self.most_successors, self.most_growth);
        let mut space = frame_space();
        let frames = frames_of(&self.parts.shape, state, &mut space);
        let mut workspace = Workspace::new(&self.parts.shape, &self.meeting, state.len(), frames);
        let mut expand = |workspace: &mut Workspace, state: &[u8], process, timeout| {
            scratch.copies.data.clear();
            scratch.copies.data.reserve(most);
            self.expand_process(expanding, workspace, (state, process, timeout), (scratch, out))
        };
        match only {
            None => {
                self.rounds(state, &mut workspace, frames, |workspace, state, process, timeout| {
                    expand(workspace, state, process, timeout)
                })
            }
            Some(process) => {
                if let Some(&frame) = frames.get(process.index()) {
                    expand(&mut workspace, state, (process.index(), frame), false);
                }
            }
        }
    }

    /// Adds the successors of one process; says whether there are any. The empty copies have room for them.
    fn expand_process(
        &self,
        expanding: &Expanding,
        workspace: &mut Workspace,
        (state, (pid, frame), timeout): (&[u8], (usize, Frame), bool),
        (scratch, out): (&mut Scratch, &mut Successors),
    ) -> bool {
        let mut headers = header_space();
        let point = self.parts.control.point(state, frame) as usize;
        let expand = expanding.at(&self.parts, point);
        workspace.headers = headers.as_mut_ptr().cast();
        workspace.out = scratch.copies.data.as_mut_ptr();
        workspace.base = workspace.out;
        // SAFETY: `frame` is a frame of this vector.
        let at = unsafe { state.as_ptr().add(frame.at as usize) };
        let count = expand(state.as_ptr(), at, pid as u32, timeout.into(), &raw mut *workspace);
        let Ok(count) = usize::try_from(count) else {
            scratch.enabled.clear();
            let process = ProcessId(pid as u16);
            self.reference.enabled_of(state, process, timeout, &mut scratch.enabled);
            self.take_enabled(state, scratch, out);
            return !scratch.enabled.is_empty();
        };
        // SAFETY: machine code wrote as many headers as it counted, and bytes up to `out`, within what
        // was reserved.
        let headers: &[SuccessorHeader] = unsafe {
            let written = workspace.out.cast_const().offset_from_unsigned(workspace.base);
            scratch.copies.data.set_len(written);
            std::slice::from_raw_parts(headers.as_ptr().cast(), count)
        };
        for header in headers {
            let step = header.step();
            if header.result & ASK_STEP == ASK_STEP {
                self.take_by_reference(state, step, &mut scratch.state, out);
            } else {
                let successor = &scratch.copies.data[header.range()];
                out.push(step, header.outcome(), header.is_transient(), successor);
            }
        }
        scratch.copies.data.clear();
        count > 0
    }

    /// Adds the successors under the steps in the scratch memory, taken by the interpreter.
    fn take_enabled(&self, state: &[u8], scratch: &mut Scratch, out: &mut Successors) {
        for &step in scratch.enabled.steps() {
            self.take_by_reference(state, step, &mut scratch.state, out);
        }
    }

    fn take_by_reference(
        &self,
        state: &[u8],
        step: Step,
        next: &mut Vec<u8>,
        out: &mut Successors,
    ) {
        next.clear();
        next.extend_from_slice(state);
        let outcome = self.reference.apply(next, step);
        let is_whole = !matches!(outcome, Outcome::Broken(_));
        out.push(step, outcome, is_whole && self.reference.is_transient(next), next);
    }

    /// The frames of a state, a workspace for it, and a writer for its successors.
    #[inline(always)]
    pub(super) fn open<'a>(
        &'a self,
        state: &mut Vec<u8>,
        out: &'a mut Successors,
    ) -> (&'a [Frame], Workspace, SuccessorWriter<'a, u8>) {
        // States are copied in whole pieces: what lies behind this one must at least be readable.
        state.reserve(PIECE);
        let mut most_bytes =
            Workspace::reserve_for(state.len(), self.most_successors, self.most_growth);
        let frames = frames_from(&self.parts.shape, state, &mut out.notes);
        let mut workspace = Workspace::new(&self.parts.shape, &self.meeting, state.len(), frames);
        if out.run_sequences
            && let Some(sequences) = self.sequences()
        {
            let sequences: &dyn AtomicBlocks = sequences;
            workspace.sequences = Some(sequences);
            most_bytes +=
                Workspace::reserve_for_logs(state.len(), self.most_moves, self.most_growth);
        }
        let most = (self.most_successors, most_bytes);
        let writer = SuccessorWriter::new(&mut out.headers, &mut out.data, most, &mut workspace);
        (frames, workspace, writer)
    }
}
