//! The successors of some processes, without asking the others.
//!
//! Partial-order reduction takes the steps of one process in most states. What is known of its control
//! state says whether it may be that process, before a step of any process is looked for. A search with a
//! bound on preemptions goes on with the process that moved last, and later with the others.

use super::Native;
use crate::execute::frames::frames_from;
use crate::execute::shape::Frame;
use crate::execute::workspace::Workspace;
use crate::generate::compiled::Expanding;
use preempt_core::engine::{ProcessSelection, Successors};
use preempt_core::{Independence, Locality, ProcessId};

/// What machine code found of one process.
pub(super) enum One {
    /// Its successors, if it has any.
    Steps(bool),
    /// Nothing: the interpreter must be asked.
    AskInterpreter,
    /// Nothing: it may move if no other process can.
    AskForAll,
}

impl Native<'_> {
    /// The first ample set; `None`, and nothing added, if the interpreter must be asked.
    pub(super) fn expand_ample(
        &self,
        state: &mut Vec<u8>,
        behind: Option<ProcessId>,
        observed: bool,
        out: &mut Successors,
    ) -> Option<Option<ProcessId>> {
        self.expanding()?;
        let mut end = behind.map_or(usize::MAX, ProcessId::index);
        loop {
            let Some(process) = self.ample_before(end, state, observed, &mut out.notes) else {
                return Some(None);
            };
            match self.expand_one(state, process, out) {
                One::Steps(true) => return Some(Some(process)),
                One::Steps(false) => {}
                One::AskInterpreter | One::AskForAll => return None,
            }
            end = process.index();
        }
    }

    /// The youngest process before `end` that may be explored alone, if it has steps.
    #[inline(always)]
    pub(super) fn ample_before(
        &self,
        end: usize,
        state: &[u8],
        observed: bool,
        notes: &mut Vec<u64>,
    ) -> Option<ProcessId> {
        let frames = frames_from(&self.parts.shape, state, notes);
        let mut older = frames.iter().enumerate().take(end).rev();
        let found = older.find(|(pid, frame)| {
            let process = ProcessId(*pid as u16);
            let locality = self.parts.control.locality(state, **frame, *pid);
            locality.unwrap_or_else(|| self.reference.locality(state, process)) >= Locality::Safe
                && !(observed && self.is_visible(state, process))
        });
        found.map(|(pid, _)| ProcessId(pid as u16))
    }

    /// The steps of one process: whether there are any. Without the interpreter or the other processes that
    /// may remain open; then nothing is added.
    pub(super) fn expand_one(
        &self,
        state: &mut Vec<u8>,
        process: ProcessId,
        out: &mut Successors,
    ) -> One {
        let Some(expanding) = self.expanding() else { return One::AskInterpreter };
        let (frames, mut workspace, writer) = self.open(state, out);
        let Some(&frame) = frames.get(process.index()) else { return One::Steps(false) };
        let count =
            self.write_successors(expanding, &mut workspace, state, (process.index(), frame));
        // Without a step now it may have one once no other process can move: only all steps together tell.
        let waits = count == 0 && self.parts.program.uses_timeout;
        match writer.close(&workspace, count < 0 || waits) {
            true => One::Steps(count > 0),
            false if waits => One::AskForAll,
            false => One::AskInterpreter,
        }
    }

    /// See [`System::expand_selection_briefly`].
    pub(super) fn expand_selection(
        &self,
        state: &mut Vec<u8>,
        selection: ProcessSelection,
        out: &mut Successors,
    ) -> bool {
        let Some(expanding) = self.expanding() else { return false };
        let (frames, mut workspace, mut writer) = self.open(state, out);
        let (mut refused, mut everybody) = (false, selection.is_open());
        let mut expand = |pid: usize, frame: Frame| {
            writer.prepare(&mut workspace);
            let count = self.write_successors(expanding, &mut workspace, state, (pid, frame));
            refused |= count < 0;
            count != 0
        };
        for process in selection.leading() {
            let pid = process.index();
            everybody |= !frames.get(pid).is_some_and(|frame| expand(pid, *frame));
        }
        if everybody {
            for (pid, frame) in frames.iter().enumerate().rev() {
                if selection.may_follow(ProcessId(pid as u16)) {
                    expand(pid, *frame);
                }
            }
        }
        writer.close(&workspace, refused)
    }

    /// Has the steps of one process written where the workspace points, but for those that wait until no other
    /// process can move. Gives their number, or less than zero if the interpreter must be asked.
    #[inline(always)]
    fn write_successors(
        &self,
        expanding: &Expanding,
        workspace: &mut Workspace,
        state: &[u8],
        (pid, frame): (usize, Frame),
    ) -> i32 {
        // SAFETY: `frame` is a frame of this vector.
        let at = unsafe { state.as_ptr().add(frame.at as usize) };
        let expand = expanding.at(&self.parts, self.parts.control.point(state, frame) as usize);
        let count = expand(state.as_ptr(), at, pid as u32, 0, &raw mut *workspace);
        // SAFETY: machine code wrote so many headers, for which there was room.
        workspace.headers = unsafe { workspace.headers.add(count.max(0) as usize) };
        count
    }
}
