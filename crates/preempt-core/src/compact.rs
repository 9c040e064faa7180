//! Compact successors: headers of fixed layout that machine code can write, and the processes whose steps
//! are wanted.

use crate::{Asleep, Outcome, ProcessId, Step};

/// A successor in brief: what an item of [`Successors::list`] says, in half the space and in a fixed
/// layout, so that machine code can write it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lead {
    /// Where its bytes begin.
    pub start: u32,
    /// How many there are.
    pub length: u32,
    /// 0 if the step went well and the successor is not transient. Otherwise one of
    /// [`Lead::VIOLATED`] and [`Lead::BROKEN`] with the fault in the bits from
    /// [`Lead::FAULT_SHIFT`] on, or [`Lead::TRANSIENT`], or both. Without a fault these bits tell how
    /// many steps of an indivisible sequence follow, see [`Leads::follow_sequences`].
    pub result: u32,
    /// The process that moves; in the upper half 1 + its partner, or 0 without one.
    pub who: u32,
    /// Which transition of the process.
    pub transition: u32,
    /// Which transition of the partner; 0 without one.
    pub partner_transition: u32,
    /// Who sleeps in the successor; only told by [`System::expand_awake`].
    pub asleep: Asleep,
}

impl Lead {
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
        match self.result & (Lead::VIOLATED | Lead::BROKEN) {
            0 => Outcome::Done,
            Lead::VIOLATED => Outcome::Violated(self.result >> Lead::FAULT_SHIFT),
            _ => Outcome::Broken(self.result >> Lead::FAULT_SHIFT),
        }
    }

    /// Where the bytes of the successor are.
    #[inline(always)]
    pub fn range(&self) -> std::ops::Range<usize> {
        let start = self.start as usize;
        start..start + self.length as usize
    }

    /// How many steps of an indivisible sequence were taken behind the step itself, see
    /// [`Leads::follow_sequences`].
    #[inline(always)]
    pub fn inner_steps(&self) -> usize {
        match self.result & (Lead::VIOLATED | Lead::BROKEN) {
            0 => (self.result >> Lead::FAULT_SHIFT) as usize,
            _ => 0,
        }
    }

    /// Where the bytes of the successor and the transitions of inner steps are.
    #[inline(always)]
    pub fn extent(&self) -> std::ops::Range<usize> {
        let range = self.range();
        range.start..range.end + self.inner_steps() * size_of::<u32>()
    }

    /// The inner steps, all by the process of the step itself, found in the list of bytes that the
    /// successor lies in.
    pub fn inner<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Step> + 'a {
        let process = ProcessId(self.who as u16);
        let log = bytes.get(self.range().end..self.extent().end).unwrap_or_default();
        log.chunks_exact(size_of::<u32>())
            .map(move |id| Step::new(process, u32::from_le_bytes([id[0], id[1], id[2], id[3]])))
    }
}

/// Some processes, whose steps are wanted. Sets have a bit for each process below 64.
#[derive(Clone, Copy, Debug)]
pub struct Few {
    /// The steps of this one are wanted,
    pub first: Option<ProcessId>,
    /// and of these.
    pub also: u64,
    /// If one of them has none, or there is none of them, everybody's are but those of these.
    pub without: u64,
}

impl Few {
    /// Those whose steps are wanted in any case.
    #[inline(always)]
    pub fn who_goes_first(self) -> impl Iterator<Item = ProcessId> {
        let mut left = self.also & !self.first.map_or(0, bit);
        let also = std::iter::from_fn(move || {
            let next = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (next < u64::BITS).then_some(ProcessId(next as u16))
        });
        self.first.into_iter().chain(also)
    }

    /// Whether nobody goes first.
    #[inline(always)]
    pub fn is_open(self) -> bool {
        self.first.is_none() && self.also == 0
    }

    /// Whether the steps of a process are wanted if one of these has none.
    #[inline(always)]
    pub fn may_follow(self, process: ProcessId) -> bool {
        Some(process) != self.first && (self.also | self.without) & bit(process) == 0
    }
}

fn bit(process: ProcessId) -> u64 {
    if process.index() < 64 { 1 << process.index() } else { 0 }
}

/// Successors in brief, in memory that is reused from state to state.
#[derive(Default, Debug)]
pub struct Leads {
    /// The successors.
    pub list: Vec<Lead>,
    /// What the system remembers of the last state it expanded into this list, if anything.
    pub notes: Vec<u64>,
    /// Whether the system may go on behind a step into an indivisible sequence, as long as the sequence
    /// has exactly one step and all goes well: the successor is then the state where it stopped. The
    /// transitions of the inner steps lie behind the bytes of the successor, four bytes each,
    /// and [`Lead::result`] counts them.
    pub follow_sequences: bool,
}
