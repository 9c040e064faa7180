//! The successors of one process, without asking the others.
//!
//! Partial-order reduction takes the steps of one process in most states. What is known of its control
//! state says whether it may be that process, before any step of anybody is looked for. A search with a
//! bound on preemptions at its bound goes on with the process that moved last, and no other.

use crate::Native;
use crate::code::PIECE;
use crate::pen::{Pen, frames_from};
use crate::room::Room;
use preempt_core::{Leads, Locality, ProcessId, System};

impl Native<'_> {
    /// See [`System::expand_ample_briefly`].
    pub(crate) fn expand_alone(
        &self,
        state: &mut Vec<u8>,
        behind: Option<ProcessId>,
        observed: bool,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> Option<Option<ProcessId>> {
        self.expanding()?;
        let mut end = behind.map_or(usize::MAX, ProcessId::index);
        loop {
            let frames = frames_from(&self.shape, state, &mut leads.notes);
            let mut older = frames.iter().enumerate().take(end).rev();
            let Some((pid, _)) = older.find(|(pid, frame)| {
                let process = ProcessId(*pid as u16);
                let locality = self.control.locality(state, **frame, *pid);
                locality.unwrap_or_else(|| self.reference.locality(state, process))
                    >= Locality::Safe
                    && !(observed && self.is_visible(state, process))
            }) else {
                return Some(None);
            };
            let process = ProcessId(pid as u16);
            if self.expand_one(state, process, leads, bytes)? {
                return Some(Some(process));
            }
            end = pid;
        }
    }

    /// See [`System::expand_process_briefly`].
    pub(crate) fn expand_one(
        &self,
        state: &mut Vec<u8>,
        process: ProcessId,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> Option<bool> {
        let expanding = self.expanding()?;
        state.reserve(PIECE);
        let most_bytes = Room::reserve_for(state.len(), self.most_successors, self.most_growth);
        let frames = frames_from(&self.shape, state, &mut leads.notes);
        let (pid, frame) = (process.index(), *frames.get(process.index())?);
        let mut room = Room::new(&self.shape, &self.meeting, state.len(), frames);
        let before = (leads.list.len(), bytes.len());
        let most = (self.most_successors, most_bytes);
        let mut pen = Pen::new(&mut leads.list, bytes, most, &mut room);
        // SAFETY: `frame` is a frame of this vector.
        let at = unsafe { state.as_ptr().add(frame.at as usize) };
        let expand = expanding.expand[self.control.point(state, frame) as usize];
        let count = expand(state.as_ptr(), at, pid as u32, 0, &raw mut room);
        // SAFETY: machine code wrote so many leads, for which there was room.
        room.leads = unsafe { room.leads.add(count.max(0) as usize) };
        pen.finish(&room);
        // Without a step now it may have one once nobody else can move: only all steps together tell.
        let waits = count == 0 && self.program.uses_timeout;
        if count < 0 || waits || room.asks != 0 || u32::try_from(bytes.len()).is_err() {
            leads.list.truncate(before.0);
            bytes.truncate(before.1);
            return None;
        }
        Some(count > 0)
    }
}
