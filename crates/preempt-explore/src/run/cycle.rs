//! Executions that go round and round: livelocks in which something changes all the time.
//!
//! Loops that wait give way to others (`state/polling.rs`), so an execution that repeats the same steps again and
//! again, with the same results, is one in which every thread that can move does, and none gets anywhere.
//!
//! What threads keep in registers, or behind locks, may not be seen: a loop that counts to a thousand looks like one
//! that never ends. So a cycle is a failure only if every thread that moves in it yields or times out, and if the
//! execution has come to its limit on steps, which is a failure anyhow. Earlier than that only if several threads go
//! round together [`OFTEN`], and all that they do is on atomics. Where the runtime can look at what threads remember
//! ([`Run::remembered`]), a cycle is one only if they remember the same after each round.
//!
//! Invariant: a cycle that is reported is fair.

use super::Run;
use super::stopped::Suspect;
use crate::{Move, Status, ThreadId};

/// How often is looked for cycles, in steps.
const INTERVAL: usize = 512;
/// A cycle of several threads that was repeated so often does not end.
const OFTEN: usize = 300;
/// The same at the limit on steps.
const ENOUGH: usize = 16;

impl Run {
    /// Whether threads have to be looked at when they yield: they may go round and round.
    pub fn is_suspect(&self) -> bool {
        self.suspect.is_some()
    }

    /// The length of a cycle that the execution repeats, and in which every thread moves that can. Where it can be told what
    /// threads remember, nothing of that may change in a round.
    #[inline]
    pub(super) fn cycle(&mut self, moves: &[Move]) -> Option<usize> {
        match self.remembered {
            Some(remembered) => self.remembered_cycle(moves, remembered),
            None if self.is_time_to_look() => self.fair_cycle(moves, OFTEN, true),
            None => None,
        }
    }

    #[inline]
    fn is_time_to_look(&self) -> bool {
        let now = self.path.len();
        now % INTERVAL == 0 || now >= self.step_limit
    }

    fn remembered_cycle(&mut self, moves: &[Move], remembered: fn() -> u64) -> Option<usize> {
        let now = self.path.len();
        let Some(Suspect { at, period, memory }) = self.suspect else {
            if now % INTERVAL == 0 && !self.counts_rounds {
                let often = if now > self.step_limit / 2 { ENOUGH } else { OFTEN };
                let period = self.fair_cycle(moves, often, often == OFTEN)?;
                self.suspect = Some(Suspect { at: now, period, memory: None });
            }
            return None;
        };
        if now < at + period {
            return None;
        }
        let found = remembered();
        match memory {
            None => {
                self.suspect = Some(Suspect { at: now, period, memory: Some(found) });
                None
            }
            Some(memory) if memory == found => {
                self.suspect = None;
                self.fair_cycle(moves, ENOUGH, false)
            }
            Some(_) => {
                (self.suspect, self.counts_rounds) = (None, true);
                None
            }
        }
    }

    /// A cycle that was repeated so often, and in which every thread moves that can.
    fn fair_cycle(&self, moves: &[Move], often: usize, several: bool) -> Option<usize> {
        let over = self.path.len() >= self.step_limit;
        // A thread that leaves a loop, or goes on because nothing else can, is no cycle yet.
        let no_cycle = self.state.solo.is_some() || self.state.is_idle(self.last);
        if self.trail.is_empty() || no_cycle {
            return None;
        }
        let period = self.trail.cycle(if over { ENOUGH } else { often })?;
        let cycle = || self.trail.last(period);
        let yields = |thread: ThreadId| cycle().any(|s| s.thread == thread && s.yields);
        let moving = |m: &Move| m.choice == Move::TIMEOUT || yields(m.thread);
        let are_several = cycle().any(|s| s.thread != self.last) && cycle().all(|s| s.is_visible);
        // In the end time is up for a thread that waits until then.
        let waits = |&id: &ThreadId| {
            let thread = self.state.thread(id);
            let is_timed = thread.operation.second == 1 && thread.operation.action.may_be_timed();
            thread.status == Status::Ready && is_timed && !cycle().any(|s| s.thread == id)
        };
        let fair = moves.iter().all(moving)
            && cycle().all(|s| yields(s.thread))
            && !self.order.iter().any(waits);
        (fair && (over || !several || are_several)).then_some(period)
    }

    /// Keeps one round of a cycle in what is reported.
    pub(super) fn show_one_round(&mut self, period: usize) {
        let shown = self.trail.begin(period) + period;
        self.events.iter_mut().for_each(|events| events.truncate(shown));
    }
}
