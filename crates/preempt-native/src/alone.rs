//! The successors of one process that may be explored alone, without asking the others.
//!
//! Partial-order reduction takes the steps of one process in most states. What is known of its control
//! state says whether it may be that process, before any step of anybody is looked for.

use crate::Native;
use crate::room::{PIECE, Room};
use preempt_core::{Enabled, Locality, ProcessId, Successors, System};

impl Native<'_> {
    /// See [`System::expand_ample`].
    pub(crate) fn expand_alone(
        &self,
        state: &mut Vec<u8>,
        behind: Option<ProcessId>,
        observed: bool,
        (enabled, scratch, out): (&mut Enabled, &mut Vec<u8>, &mut Successors),
    ) -> Option<ProcessId> {
        let Some(expanding) = self.expanding() else {
            return self.reference.expand_ample(state, behind, observed, enabled, scratch, out);
        };
        state.reserve(PIECE);
        let most_bytes = Room::reserve_for(state.len(), self.most_successors, self.most_growth);
        let mut room = Room::new(&self.shape, &self.meeting);
        room.enter(&self.shape, state);
        let end = behind.map_or(room.process_count(), |process| process.index());
        for pid in (0..end.min(room.process_count())).rev() {
            let (frame, process) = (room.frame(pid), ProcessId(pid as u16));
            let locality = self
                .control
                .locality(state, frame, pid)
                .unwrap_or_else(|| self.reference.locality(state, process));
            if locality < Locality::Safe || observed && self.is_visible(state, process) {
                continue;
            }
            let asked = (state.as_slice(), pid, false);
            let target = (&mut *enabled, &mut *scratch, &mut *out);
            if self.expand_process(expanding, &mut room, most_bytes, asked, target) {
                return Some(process);
            }
            if self.program.uses_timeout {
                // It may move if nobody else can: only all steps together tell.
                return self.reference.expand_ample(state, behind, observed, enabled, scratch, out);
            }
        }
        None
    }
}
