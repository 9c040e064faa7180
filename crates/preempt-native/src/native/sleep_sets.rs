//! The successors of a state without the steps of processes in a sleep set, and which processes sleep in them.
//!
//! Why nothing is lost is explained beside [`SleepSet`].

use super::Native;
use crate::execute::touch::Touch;
use preempt_core::engine::{SleepSet, Successors};
use std::mem::MaybeUninit;

/// The processes with steps that were met in a state, in the order of exploration: what each touches, and
/// the process itself if it may sleep after steps of others.
struct Movers {
    met: [MaybeUninit<(Touch, SleepSet)>; SleepSet::PROCESSES],
    count: usize,
}

impl Movers {
    #[inline(always)]
    fn new() -> Self {
        Movers { met: [const { MaybeUninit::uninit() }; SleepSet::PROCESSES], count: 0 }
    }

    #[inline(always)]
    fn add(&mut self, touch: Touch, own: SleepSet) {
        if let Some(place) = self.met.get_mut(self.count) {
            place.write((touch, own));
            self.count += usize::from(!own.is_empty());
        }
    }

    /// Which of them sleep after a step that touches this.
    #[inline(always)]
    fn commuting_with(&self, touch: Touch) -> SleepSet {
        // SAFETY: so many were written.
        let met: &[(Touch, SleepSet)] =
            unsafe { std::slice::from_raw_parts(self.met.as_ptr().cast(), self.count) };
        met.iter().fold(SleepSet::EMPTY, |sum, (other, own)| {
            sum.and(own.only_if(other.commutes_with(touch)))
        })
    }
}

impl Native<'_> {
    /// All successors but those of the sleep set; `false`, and nothing added, if the interpreter must be asked.
    pub(super) fn expand_awake(
        &self,
        state: &mut Vec<u8>,
        sleep_set: SleepSet,
        out: &mut Successors,
    ) -> bool {
        // Whether a use of a channel breaks a promise may depend on steps that touch neither.
        if self.parts.tables.promises.are_checked() {
            return false;
        }
        let Some(expanding) = self.expanding() else { return false };
        let Some(sleeping) = self.sleeping() else {
            return self.expand_all(state, out);
        };
        if state[0] != 0 {
            return self.expand_all(state, out);
        }
        let (frames, mut workspace, mut writer) = self.open(state, out);
        let mut movers = Movers::new();
        let (mut refused, mut found) = (false, !sleep_set.is_empty());
        let base = state.as_ptr();
        for (pid, frame) in frames.iter().enumerate().rev() {
            // SAFETY: `frame` is a frame of this vector.
            let at = unsafe { base.add(frame.at as usize) };
            let point = self.parts.control.point(state, *frame) as usize;
            let touch = || sleeping.points[point].touch(base, at, pid as u32);
            let own = sleep_set.of(pid);
            if !own.is_empty() {
                movers.add(touch(), own);
                continue;
            }
            writer.prepare(&mut workspace);
            let expand = expanding.at(&self.parts, point);
            let count = expand(base, at, pid as u32, 0, &raw mut workspace);
            if count <= 0 {
                refused |= count < 0;
                continue;
            }
            found = true;
            let touch = touch();
            let sleepers = movers.commuting_with(touch);
            // SAFETY: machine code wrote so many headers, for which there was room.
            let headers =
                unsafe { std::slice::from_raw_parts_mut(workspace.headers, count as usize) };
            let mut all_plain = true;
            for header in headers {
                // The steps of two processes touch what both touch, and so do sequences.
                let is_plain = (header.result == 0) & (header.who >> 16 == 0);
                header.sleep_set = sleepers.only_if(is_plain);
                all_plain &= is_plain;
            }
            movers.add(touch, SleepSet::one(pid, count as usize).only_if(all_plain));
            // SAFETY: as above.
            workspace.headers = unsafe { workspace.headers.add(count as usize) };
        }
        if !writer.close(&workspace, refused) {
            return false;
        }
        // Where no process can move, one that waits for that can.
        found || !self.parts.program.uses_timeout || self.expand_all(state, out)
    }
}
