//! The successors of a state without the steps of processes that are asleep, and who sleeps in them.
//!
//! Why nothing is lost is told beside [`Asleep`].

use crate::Native;
use crate::touch::Touch;
use preempt_core::{Asleep, Leads, System};
use std::mem::MaybeUninit;

/// The processes with steps that were met in a state, in the order of exploration: what each touches, and
/// the process itself if it may sleep after steps of others.
struct Movers {
    met: [MaybeUninit<(Touch, Asleep)>; Asleep::PROCESSES],
    count: usize,
}

impl Movers {
    #[inline(always)]
    fn new() -> Self {
        Movers { met: [const { MaybeUninit::uninit() }; Asleep::PROCESSES], count: 0 }
    }

    #[inline(always)]
    fn add(&mut self, touch: Touch, own: Asleep) {
        if let Some(place) = self.met.get_mut(self.count) {
            place.write((touch, own));
            self.count += usize::from(!own.is_nobody());
        }
    }

    /// Who of them sleeps after a step that touches this.
    #[inline(always)]
    fn commuting_with(&self, touch: Touch) -> Asleep {
        // SAFETY: so many were written.
        let met: &[(Touch, Asleep)] =
            unsafe { std::slice::from_raw_parts(self.met.as_ptr().cast(), self.count) };
        met.iter().fold(Asleep::NOBODY, |sum, (other, own)| {
            sum.and(own.only_if(other.commutes_with(touch)))
        })
    }
}

impl Native<'_> {
    /// See [`preempt_core::System::expand_awake`].
    pub(crate) fn expand_with_sleepers(
        &self,
        state: &mut Vec<u8>,
        asleep: Asleep,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> bool {
        let Some(expanding) = self.expanding() else { return false };
        let Some(sleeping) = self.sleeping() else {
            return self.expand_briefly(state, leads, bytes);
        };
        if state[0] != 0 {
            return self.expand_briefly(state, leads, bytes);
        }
        let (frames, mut room, mut pen) = self.open(state, leads, bytes);
        let mut movers = Movers::new();
        let (mut refused, mut found) = (false, !asleep.is_nobody());
        let base = state.as_ptr();
        for (pid, frame) in frames.iter().enumerate().rev() {
            // SAFETY: `frame` is a frame of this vector.
            let at = unsafe { base.add(frame.at as usize) };
            let point = self.control.point(state, *frame) as usize;
            let touch = || sleeping.points[point].touch(base, at, pid as u32);
            let own = asleep.of(pid);
            if !own.is_nobody() {
                movers.add(touch(), own);
                continue;
            }
            pen.prepare(&mut room);
            let expand = expanding.at(self, point);
            let count = expand(base, at, pid as u32, 0, &raw mut room);
            if count <= 0 {
                refused |= count < 0;
                continue;
            }
            found = true;
            let touch = touch();
            let sleepers = movers.commuting_with(touch);
            // SAFETY: machine code wrote so many leads, for which there was room.
            let leads = unsafe { std::slice::from_raw_parts_mut(room.leads, count as usize) };
            let mut all_plain = true;
            for lead in leads {
                // The steps of two processes touch what both touch, and so do sequences.
                let is_plain = (lead.result == 0) & (lead.who >> 16 == 0);
                lead.asleep = sleepers.only_if(is_plain);
                all_plain &= is_plain;
            }
            movers.add(touch, Asleep::one(pid, count as usize).only_if(all_plain));
            // SAFETY: as above.
            room.leads = unsafe { room.leads.add(count as usize) };
        }
        if !pen.close(&room, refused) {
            return false;
        }
        // Where nobody can move, who waits for that can.
        found || !self.program.uses_timeout || self.expand_briefly(state, leads, bytes)
    }
}
