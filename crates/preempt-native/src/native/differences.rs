//! Successors as differences to a state that stays: steps are taken on it, recorded and undone, see
//! [`crate::execute::undo_log`].

use super::Native;
use crate::execute::frames::frames_from;
use crate::execute::shape::Frame;
use crate::execute::successor_writer::SuccessorWriter;
use crate::execute::workspace::Workspace;
use crate::generate::compiled::UndoLogging;
use preempt_core::ProcessId;
use preempt_core::engine::{Difference, SuccessorList, Vector};

impl Native<'_> {
    /// All successors; `false`, and nothing added, if the interpreter must be asked or a sequence is interrupted.
    pub(super) fn expand_differences(
        &self,
        state: &mut Vector,
        out: &mut SuccessorList<Difference>,
    ) -> bool {
        let Some(undo_logging) = self.undo_logging() else { return false };
        let (frames, mut workspace, mut writer) = self.open_undo_log(undo_logging, state, out);
        let alone = state.state()[0];
        let mut refused = false;
        self.rounds(
            state.bytes_mut(),
            &mut workspace,
            frames,
            |workspace, state, process, timeout| {
                writer.prepare(workspace);
                let count =
                    self.write_differences(undo_logging, workspace, state, process, timeout);
                refused |= count < 0;
                count != 0
            },
        );
        let interrupted = state.state()[0] != alone;
        state.bytes_mut()[0] = alone;
        writer.close(&workspace, refused || interrupted)
    }

    /// The first ample set; `None`, and nothing added, if the interpreter must be asked.
    pub(super) fn expand_ample_differences(
        &self,
        state: &mut Vector,
        behind: Option<ProcessId>,
        observed: bool,
        out: &mut SuccessorList<Difference>,
    ) -> Option<Option<ProcessId>> {
        let undo_logging = self.undo_logging()?;
        let mut end = behind.map_or(usize::MAX, ProcessId::index);
        while let Some(process) = self.ample_before(end, state.state(), observed, &mut out.notes) {
            end = process.index();
            let (frames, mut workspace, writer) = self.open_undo_log(undo_logging, state, out);
            let process = (end, frames[end]);
            let bytes = state.bytes_mut();
            let count = self.write_differences(undo_logging, &mut workspace, bytes, process, false);
            let waits = count == 0 && self.parts.program.uses_timeout;
            if !writer.close(&workspace, count < 0 || waits) {
                return None;
            }
            if count > 0 {
                return Some(Some(ProcessId(end as u16)));
            }
        }
        Some(None)
    }

    /// The frames of a state, a workspace for it, and a writer for what its steps change.
    #[inline(always)]
    fn open_undo_log<'a>(
        &'a self,
        undo_logging: &'a UndoLogging,
        state: &Vector,
        out: &'a mut SuccessorList<Difference>,
    ) -> (&'a [Frame], Workspace, SuccessorWriter<'a, Difference>) {
        let frames = frames_from(&self.parts.shape, state.state(), &mut out.notes);
        let meeting = undo_logging.meeting.as_deref().unwrap_or(&self.meeting);
        let mut workspace = Workspace::new(&self.parts.shape, meeting, state.length(), frames);
        workspace.sum = state.sum();
        // Two words per place are more than a copy with what may be added.
        let longest = state.length() + self.most_growth + 2 * Vector::PIECE;
        workspace.spare = undo_logging.most_notes.max(longest / 8) + 1;
        let most = (self.most_successors, (self.most_successors + 2) * workspace.spare);
        let writer = SuccessorWriter::new(&mut out.headers, &mut out.data, most, &mut workspace);
        (frames, workspace, writer)
    }

    /// Has the steps of one process written where the workspace points. Gives their number, or less than zero
    /// if the interpreter must be asked.
    #[inline(always)]
    fn write_differences(
        &self,
        undo_logging: &UndoLogging,
        workspace: &mut Workspace,
        state: &mut [u8],
        (pid, frame): (usize, Frame),
        timeout: bool,
    ) -> i32 {
        let expand =
            undo_logging.expand.at(&self.parts, self.parts.control.point(state, frame) as usize);
        let base = state.as_mut_ptr();
        // SAFETY: `frame` is a frame of this vector.
        let at = unsafe { base.add(frame.at as usize) };
        workspace.aim();
        let count = expand(base, at, pid as u32, timeout.into(), &raw mut *workspace);
        // SAFETY: machine code wrote so many headers, for which there was room.
        workspace.headers = unsafe { workspace.headers.add(count.max(0) as usize) };
        count
    }
}
