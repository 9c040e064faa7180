//! Lists of successors in brief, whatever the system tells them in.
//!
//! A [`Lead`] takes half the room of a successor in full, and systems made of machine code write it
//! themselves. What other systems tell is brought into that form.

use super::leads::LeadList;
use crate::store::pages;
use preempt_core::{Asleep, Enabled, Lead, Outcome, ProcessId, Step, Successors, System};
use std::ops::Range;

/// The successors of several states, one behind the other.
#[derive(Default, Debug)]
pub(crate) struct Brief {
    list: LeadList,
    /// The bytes of all successors.
    pub(crate) bytes: Vec<u8>,
    full: Successors,
    enabled: Enabled,
    scratch: Vec<u8>,
}

impl Brief {
    /// Makes room for the successors of a usual state.
    #[inline(always)]
    fn make_room(&mut self) {
        pages::make_room(&mut self.list.leads.list, 64);
        pages::make_room(&mut self.bytes, 1 << 13);
    }

    #[inline(always)]
    pub(crate) fn list(&self) -> &LeadList {
        &self.list
    }

    /// Has deterministic parts of indivisible sequences passed over or not, see [`Brief::inner`].
    #[inline(always)]
    pub(crate) fn follow_sequences(&mut self, follow: bool) {
        self.list.leads.follow_sequences = follow;
    }

    /// The steps of an indivisible sequence that follow the step to a successor.
    #[inline(always)]
    pub(crate) fn inner(&self, at: usize) -> impl Iterator<Item = Step> + '_ {
        self.list.lead(at).inner(&self.bytes)
    }

    /// How many successors there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The successors from `start` on.
    #[inline(always)]
    pub(crate) fn leads(&self, start: usize) -> &[Lead] {
        self.list.from(start)
    }

    /// The step to a successor, how it went, and whether it leads into an indivisible sequence.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> (Step, Outcome, bool) {
        self.list.get(at)
    }

    /// Where the bytes of a successor are.
    #[inline(always)]
    pub(crate) fn range(&self, at: usize) -> Range<usize> {
        self.list.lead(at).range()
    }

    /// Memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.list.memory() + self.bytes.len()
    }

    /// Forgets the successors from `start` on.
    #[inline]
    pub(crate) fn truncate(&mut self, start: usize) {
        self.list.truncate(start, &mut self.bytes);
    }

    /// Forgets the successors before `start`.
    pub(crate) fn forget_before(&mut self, start: usize) {
        self.list.forget_before(start, &mut self.bytes);
    }

    /// Of the successors from `start` on, keeps those by steps of some processes, and closes the gaps
    /// that the others leave.
    pub(crate) fn retain(&mut self, start: usize, keep: impl Fn(ProcessId) -> bool) {
        self.list.retain(start, keep, &mut self.bytes);
    }

    /// Adds all successors of a state. Ends interrupted sequences as [`System::expand`] does.
    #[inline]
    pub(crate) fn expand<S: System + ?Sized>(&mut self, system: &S, state: &mut Vec<u8>) {
        self.make_room();
        if !system.expand_briefly(state, &mut self.list.leads, &mut self.bytes) {
            self.full.clear();
            system.expand(state, &mut self.enabled, &mut self.scratch, &mut self.full);
            self.take_over(system);
        }
    }

    /// As [`System::expand_ample`].
    #[inline]
    pub(crate) fn expand_ample<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        behind: Option<ProcessId>,
        observed: bool,
    ) -> Option<ProcessId> {
        self.make_room();
        let (leads, bytes) = (&mut self.list.leads, &mut self.bytes);
        if let Some(found) = system.expand_ample_briefly(state, behind, observed, leads, bytes) {
            return found;
        }
        self.full.clear();
        let (enabled, scratch) = (&mut self.enabled, &mut self.scratch);
        let found = system.expand_ample(state, behind, observed, enabled, scratch, &mut self.full);
        self.take_over(system);
        found
    }

    /// As [`System::expand_of`].
    #[inline]
    pub(crate) fn expand_of<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        process: ProcessId,
    ) {
        let (leads, bytes) = (&mut self.list.leads, &mut self.bytes);
        if system.expand_process_briefly(state, process, leads, bytes).is_none() {
            self.full.clear();
            let (enabled, scratch) = (&mut self.enabled, &mut self.scratch);
            system.expand_of(state, process, enabled, scratch, &mut self.full);
            self.take_over(system);
        }
    }

    /// Adds what was told in full.
    fn take_over<S: System + ?Sized>(&mut self, system: &S) {
        for (step, outcome, range) in &self.full.list {
            let bytes = &self.full.bytes[range.clone()];
            let (kind, fault) = match *outcome {
                Outcome::Done => (0, 0),
                Outcome::Violated(fault) => (Lead::VIOLATED, fault),
                Outcome::Broken(fault) => (Lead::BROKEN, fault),
            };
            let transient = match outcome {
                Outcome::Broken(_) => 0,
                _ if system.is_transient(bytes) => Lead::TRANSIENT,
                _ => 0,
            };
            let partner = step.partner.map_or(0, |partner| u32::from(partner.0) + 1);
            let lead = Lead {
                asleep: Asleep::NOBODY,
                start: self.bytes.len() as u32,
                length: bytes.len() as u32,
                result: kind | transient | fault << Lead::FAULT_SHIFT,
                who: u32::from(step.process.0) | partner << 16,
                transition: step.transition,
                partner_transition: step.partner_transition,
            };
            self.bytes.extend_from_slice(bytes);
            self.list.push(lead, *step, *outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps whose numbers and faults do not fit into leads.
    struct Odd;

    impl System for Odd {
        fn initial(&self, state: &mut Vec<u8>) -> Outcome {
            state.push(0);
            Outcome::Done
        }
        fn process_count(&self, _: &[u8]) -> usize {
            3
        }
        fn enabled(&self, _: &mut Vec<u8>, enabled: &mut Enabled) {
            for process in 0..3 {
                for choice in 0..2 {
                    enabled.push(Step { choice, ..Step::new(ProcessId(process), 7) });
                }
            }
        }
        fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
            state.push(step.process.0 as u8 * 2 + step.choice as u8);
            if step.choice == 1 { Outcome::Violated(u32::MAX) } else { Outcome::Done }
        }
    }

    #[test]
    fn nothing_is_lost() {
        let mut brief = Brief::default();
        brief.expand(&Odd, &mut vec![0]);
        brief.expand(&Odd, &mut vec![0]);
        brief.retain(6, |process| process != ProcessId(1));
        let told = |brief: &Brief, at: usize| {
            let (step, outcome, _) = brief.get(at);
            assert_eq!((step.choice == 1), outcome == Outcome::Violated(u32::MAX));
            let name = step.process.0 as u8 * 2 + step.choice as u8;
            assert_eq!(brief.bytes[brief.range(at)], [0, name]);
            name
        };
        let all = |brief: &Brief| (0..brief.len()).map(|at| told(brief, at)).collect::<Vec<_>>();
        assert_eq!(all(&brief), [0, 1, 2, 3, 4, 5, 0, 1, 4, 5]);
        brief.truncate(9);
        brief.forget_before(3);
        assert_eq!(all(&brief), [3, 4, 5, 0, 1, 4]);
    }
}
