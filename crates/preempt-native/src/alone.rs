//! The successors of some processes, without asking the others.
//!
//! Partial-order reduction takes the steps of one process in most states. What is known of its control
//! state says whether it may be that process, before any step of anybody is looked for. A search with a
//! bound on preemptions goes on with the process that moved last, and later with the others.

use crate::Native;
use crate::build::Expanding;
use crate::pen::frames_from;
use crate::room::Room;
use crate::shape::Frame;
use preempt_core::{Few, Leads, Locality, ProcessId, System};

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
            let Some(process) = self.ample_before(end, state, observed, leads) else {
                return Some(None);
            };
            if self.expand_one(state, process, leads, bytes)? {
                return Some(Some(process));
            }
            end = process.index();
        }
    }

    /// The youngest process before `end` that may be explored alone, if it has steps.
    #[inline(always)]
    pub(crate) fn ample_before(
        &self,
        end: usize,
        state: &[u8],
        observed: bool,
        leads: &mut Leads,
    ) -> Option<ProcessId> {
        let frames = frames_from(&self.shape, state, &mut leads.notes);
        let mut older = frames.iter().enumerate().take(end).rev();
        let found = older.find(|(pid, frame)| {
            let process = ProcessId(*pid as u16);
            let locality = self.control.locality(state, **frame, *pid);
            locality.unwrap_or_else(|| self.reference.locality(state, process)) >= Locality::Safe
                && !(observed && self.is_visible(state, process))
        });
        found.map(|(pid, _)| ProcessId(pid as u16))
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
        let (frames, mut room, pen) = self.open(state, leads, bytes);
        let frame = *frames.get(process.index())?;
        let count = self.write_leads(expanding, &mut room, state, (process.index(), frame));
        // Without a step now it may have one once nobody else can move: only all steps together tell.
        let waits = count == 0 && self.program.uses_timeout;
        pen.close(&room, count < 0 || waits).then_some(count > 0)
    }

    /// See [`System::expand_few_briefly`].
    pub(crate) fn expand_few(
        &self,
        state: &mut Vec<u8>,
        few: Few,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> bool {
        let Some(expanding) = self.expanding() else { return false };
        let (frames, mut room, mut pen) = self.open(state, leads, bytes);
        let (mut refused, mut everybody) = (false, few.is_open());
        let mut expand = |pid: usize, frame: Frame| {
            pen.prepare(&mut room);
            let count = self.write_leads(expanding, &mut room, state, (pid, frame));
            refused |= count < 0;
            count != 0
        };
        for process in few.who_goes_first() {
            let pid = process.index();
            everybody |= !frames.get(pid).is_some_and(|frame| expand(pid, *frame));
        }
        if everybody {
            for (pid, frame) in frames.iter().enumerate().rev() {
                if few.may_follow(ProcessId(pid as u16)) {
                    expand(pid, *frame);
                }
            }
        }
        pen.close(&room, refused)
    }

    /// Has the steps of one process written where the room points, but for those that wait until nobody else
    /// can move. Gives their number, or less than zero if the interpreter must be asked.
    #[inline(always)]
    fn write_leads(
        &self,
        expanding: &Expanding,
        room: &mut Room,
        state: &[u8],
        (pid, frame): (usize, Frame),
    ) -> i32 {
        // SAFETY: `frame` is a frame of this vector.
        let at = unsafe { state.as_ptr().add(frame.at as usize) };
        let expand = expanding.at(self, self.control.point(state, frame) as usize);
        let count = expand(state.as_ptr(), at, pid as u32, 0, &raw mut *room);
        // SAFETY: machine code wrote so many leads, for which there was room.
        room.leads = unsafe { room.leads.add(count.max(0) as usize) };
        count
    }
}
