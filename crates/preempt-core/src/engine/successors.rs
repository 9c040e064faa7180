//! Lists of successors: headers of a fixed layout that machine code can write, and beside them the bytes of
//! the successors, or what differs in them.
//!
//! Invariant: the successors of all headers lie one behind the other in the second list, in the order of the
//! headers.

use super::SleepSet;
use crate::{Enabled, Outcome, ProcessId, Step};
use std::ops::Range;

/// One successor: the step to it, how the step went, and where it lies.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SuccessorHeader {
    /// Where its bytes begin.
    pub start: u32,
    /// How many there are.
    pub length: u32,
    /// 0 if the step went well and the successor is not transient. Otherwise one of
    /// [`SuccessorHeader::VIOLATED`] and [`SuccessorHeader::BROKEN`] with the fault in the bits from
    /// [`SuccessorHeader::FAULT_SHIFT`] on, or [`SuccessorHeader::TRANSIENT`], or both. Without a fault these
    /// bits say how many steps of an indivisible sequence follow, see [`SuccessorList::run_sequences`].
    pub result: u32,
    /// The process that moves; in the upper half 1 + its partner, or 0 without one.
    pub who: u32,
    /// Which transition of the process.
    pub transition: u32,
    /// Which transition of the partner; 0 without one.
    pub partner_transition: u32,
    /// Which processes sleep in the successor; only known after [`Request::Awake`](super::Request::Awake).
    pub sleep_set: SleepSet,
}

impl SuccessorHeader {
    /// The step violated something and was completed.
    pub const VIOLATED: u32 = 1;
    /// The step could not be completed.
    pub const BROKEN: u32 = 2;
    /// The successor lies inside an indivisible sequence.
    pub const TRANSIENT: u32 = 4;
    /// Where the number of a fault begins.
    pub const FAULT_SHIFT: u32 = 3;

    /// The step.
    #[inline(always)]
    pub fn step(&self) -> Step {
        Step {
            process: ProcessId(self.who as u16),
            partner: ((self.who >> 16) as u16).checked_sub(1).map(ProcessId),
            transition: self.transition,
            partner_transition: self.partner_transition,
            choice: 0,
        }
    }

    /// How the step went.
    #[inline(always)]
    pub fn outcome(&self) -> Outcome {
        match self.result & (SuccessorHeader::VIOLATED | SuccessorHeader::BROKEN) {
            0 => Outcome::Done,
            SuccessorHeader::VIOLATED => {
                Outcome::Violated(self.result >> SuccessorHeader::FAULT_SHIFT)
            }
            _ => Outcome::Broken(self.result >> SuccessorHeader::FAULT_SHIFT),
        }
    }

    /// Whether the successor lies inside an indivisible sequence.
    #[inline(always)]
    pub fn is_transient(&self) -> bool {
        self.result & SuccessorHeader::TRANSIENT != 0
    }

    /// Where the successor is.
    #[inline(always)]
    pub fn range(&self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.length as usize
    }

    /// How many steps of an indivisible sequence were taken behind the step itself, see
    /// [`SuccessorList::run_sequences`].
    #[inline(always)]
    pub fn inner_steps(&self) -> usize {
        match self.result & (SuccessorHeader::VIOLATED | SuccessorHeader::BROKEN) {
            0 => (self.result >> SuccessorHeader::FAULT_SHIFT) as usize,
            _ => 0,
        }
    }

    /// Where the successor and the transitions of inner steps are.
    #[inline(always)]
    pub fn extent(&self) -> Range<usize> {
        let range = self.range();
        range.start..range.end + self.inner_steps() * size_of::<u32>()
    }

    /// The inner steps, all by the process of the step itself, found in the list of bytes that the
    /// successor lies in.
    pub fn inner<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Step> + use<'a> {
        let process = ProcessId(self.who as u16);
        let log = bytes.get(self.range().end..self.extent().end).unwrap_or_default();
        log.chunks_exact(size_of::<u32>())
            .map(move |id| Step::new(process, u32::from_le_bytes([id[0], id[1], id[2], id[3]])))
    }
}

/// Successors, in memory that is reused from state to state. Must not be used with several systems.
#[derive(Debug)]
pub struct SuccessorList<T> {
    /// A header for each.
    pub headers: Vec<SuccessorHeader>,
    /// The successors themselves: their bytes, or their differences to the state.
    pub data: Vec<T>,
    /// Whether the system may go on behind a step into an indivisible sequence, as long as the sequence
    /// has exactly one step and all goes well: the successor is then the state where it stopped. The
    /// transitions of the inner steps lie behind the bytes of the successor, four bytes each,
    /// and [`SuccessorHeader::result`] counts them.
    pub run_sequences: bool,
    /// What the system remembers of the last state it expanded into this list, if anything.
    pub notes: Vec<u64>,
    /// How the end of an interrupted sequence changed the state of the last request; empty if there was none.
    /// Only for lists of differences.
    pub interruption: Vec<T>,
    /// Steps and outcomes that do not fit into their headers, by the places of these.
    odd: Vec<(usize, Step, Outcome)>,
    /// Scratch memory; a caller that takes it puts it back.
    pub scratch: Option<Box<Scratch>>,
}

/// Memory for systems that find successors one step after the other, reused.
#[derive(Default, Debug)]
pub struct Scratch {
    /// The steps of the state.
    pub enabled: Enabled,
    /// The steps that are wanted.
    pub steps: Vec<Step>,
    /// A successor.
    pub state: Vec<u8>,
    /// Successors in another form than the one that is asked for.
    pub copies: Successors,
}

/// Whole successors, side by side.
pub type Successors = SuccessorList<u8>;

impl<T> Default for SuccessorList<T> {
    fn default() -> Self {
        SuccessorList {
            headers: Vec::new(),
            data: Vec::new(),
            run_sequences: false,
            notes: Vec::new(),
            interruption: Vec::new(),
            odd: Vec::new(),
            scratch: None,
        }
    }
}

impl<T: Copy> SuccessorList<T> {
    /// How many successors there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.headers.len()
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// The step to a successor, and how it went.
    #[inline(always)]
    pub fn step(&self, at: usize) -> (Step, Outcome) {
        self.step_of(at, &self.headers[at])
    }

    /// The same for a header that was taken out of the list, where it was at this place.
    #[inline(always)]
    pub fn step_of(&self, at: usize, header: &SuccessorHeader) -> (Step, Outcome) {
        if !self.odd.is_empty() {
            if let Ok(odd) = self.odd.binary_search_by_key(&at, |(at, ..)| *at) {
                return (self.odd[odd].1, self.odd[odd].2);
            }
        }
        (header.step(), header.outcome())
    }

    /// A successor.
    #[inline(always)]
    pub fn get(&self, at: usize) -> &[T] {
        &self.data[self.headers[at].range()]
    }

    /// Adds a successor.
    pub fn push(&mut self, step: Step, outcome: Outcome, transient: bool, successor: &[T]) {
        self.data.extend_from_slice(successor);
        self.push_last(step, outcome, transient, successor.len());
    }

    /// Adds the header of a successor that is the last so many items of the data.
    pub fn push_last(&mut self, step: Step, outcome: Outcome, transient: bool, length: usize) {
        let (kind, fault) = match outcome {
            Outcome::Done => (0, 0),
            Outcome::Violated(fault) => (SuccessorHeader::VIOLATED, fault),
            Outcome::Broken(fault) => (SuccessorHeader::BROKEN, fault),
        };
        let is_inside = transient && !matches!(outcome, Outcome::Broken(_));
        let transient = if is_inside { SuccessorHeader::TRANSIENT } else { 0 };
        let partner = step.partner.map_or(0, |partner| u32::from(partner.0) + 1);
        let header = SuccessorHeader {
            sleep_set: SleepSet::EMPTY,
            start: (self.data.len() - length) as u32,
            length: length as u32,
            result: kind | transient | fault << SuccessorHeader::FAULT_SHIFT,
            who: u32::from(step.process.0) | partner << 16,
            transition: step.transition,
            partner_transition: step.partner_transition,
        };
        if (header.step(), header.outcome()) != (step, outcome) {
            self.odd.push((self.len(), step, outcome));
        }
        self.headers.push(header);
    }

    /// Forgets all successors, keeps the memory.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.clear_headers();
        self.data.clear();
    }

    /// Forgets all headers, keeps the data: what is added next lies behind it.
    #[inline(always)]
    pub fn clear_headers(&mut self) {
        self.headers.clear();
        self.odd.clear();
    }

    /// Forgets the successors from `start` on.
    #[inline(always)]
    pub fn truncate(&mut self, start: usize) {
        if let Some(header) = self.headers.get(start) {
            self.data.truncate(header.start as usize);
            self.headers.truncate(start);
        }
        while self.odd.last().is_some_and(|(at, ..)| *at >= start) {
            self.odd.pop();
        }
    }

    /// Forgets the successors before `start`.
    pub fn forget_before(&mut self, start: usize) {
        let first = self.headers.get(start).map_or(self.data.len(), |header| header.start as usize);
        self.headers.drain(..start);
        self.data.drain(..first);
        self.headers.iter_mut().for_each(|header| header.start -= first as u32);
        self.odd.retain(|(at, ..)| *at >= start);
        self.odd.iter_mut().for_each(|(at, ..)| *at -= start);
    }

    /// Of the successors from `start` on, keeps those by steps of some processes, and closes the gaps
    /// that the others leave.
    pub fn retain(&mut self, start: usize, keep: impl Fn(ProcessId) -> bool) {
        let Some(first) = self.headers.get(start) else { return };
        let (mut kept, mut end) = (start, first.start as usize);
        let odd = self.odd.partition_point(|(at, ..)| *at < start);
        let mut kept_odd = odd;
        for at in start..self.len() {
            let header = self.headers[at];
            if !keep(header.step().process) {
                continue;
            }
            if let Some(found) = self.odd[odd..].iter().position(|(odd, ..)| *odd == at) {
                let (_, step, outcome) = self.odd[odd + found];
                self.odd[kept_odd] = (kept, step, outcome);
                kept_odd += 1;
            }
            let extent = header.extent();
            self.data.copy_within(extent.clone(), end);
            self.headers[kept] = SuccessorHeader { start: end as u32, ..header };
            kept += 1;
            end += extent.len();
        }
        self.odd.truncate(kept_odd);
        self.headers.truncate(kept);
        self.data.truncate(end);
    }

    /// Memory in use, in bytes.
    pub fn memory(&self) -> usize {
        self.len() * size_of::<SuccessorHeader>()
            + self.odd.len() * size_of::<(usize, Step, Outcome)>()
            + size_of_val(&self.data[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Request, Sink};
    use crate::{Describe, Independence, System};

    /// Steps whose numbers and faults do not fit into headers.
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
    impl Independence for Odd {}
    impl Describe for Odd {}

    #[test]
    fn nothing_is_lost() {
        let mut list = Successors::default();
        Odd.successors(Request::All, Sink::Copies(&mut vec![0], &mut list));
        Odd.successors(Request::All, Sink::Copies(&mut vec![0], &mut list));
        list.retain(6, |process| process != ProcessId(1));
        let name_of = |list: &Successors, at: usize| {
            let (step, outcome) = list.step(at);
            assert_eq!((step.choice == 1), outcome == Outcome::Violated(u32::MAX));
            let name = step.process.0 as u8 * 2 + step.choice as u8;
            assert_eq!(list.get(at), [0, name]);
            name
        };
        let all =
            |list: &Successors| (0..list.len()).map(|at| name_of(list, at)).collect::<Vec<_>>();
        assert_eq!(all(&list), [0, 1, 2, 3, 4, 5, 0, 1, 4, 5]);
        list.truncate(9);
        list.forget_before(3);
        assert_eq!(all(&list), [3, 4, 5, 0, 1, 4]);
    }

    /// Every request by copies and by differences: the same steps to the same states.
    #[test]
    fn differences_lead_where_copies_do() {
        use crate::engine::{ProcessSelection, SleepSet, Vector};
        let selection = ProcessSelection { first: Some(ProcessId(1)), also: 0, without: 1 };
        for (request, steps) in [
            (Request::All, 6),
            (Request::Process(ProcessId(2)), 2),
            (Request::Selection(selection), 2),
            (Request::Selection(ProcessSelection { first: None, ..selection }), 4),
            (Request::Ample { behind: None, observed: false }, 0),
            (Request::Awake(SleepSet::EMPTY), 6),
        ] {
            let (mut copies, mut differences) = (Successors::default(), SuccessorList::default());
            let mut vector = Vector::default();
            vector.set(&[9]);
            Odd.successors(request, Sink::Copies(&mut vec![9], &mut copies));
            Odd.successors(request, Sink::Differences(&mut vector, &mut differences));
            assert_eq!((copies.len(), differences.len()), (steps, steps), "{request:?}");
            for at in 0..steps {
                assert_eq!(copies.step(at), differences.step(at));
                vector.change(differences.get(at));
                assert_eq!(vector.state(), copies.get(at));
                vector.change(differences.get(at));
            }
            assert_eq!(vector.state(), [9]);
        }
    }
}
