//! Which successors are wanted, where they go, and what was done.

use super::{Difference, SleepSet, SuccessorList, Vector};
use crate::ProcessId;

/// Which steps of a state are wanted. All but [`Request::All`] and [`Request::Awake`] are for states outside of
/// indivisible sequences, and [`Request::Selection`] for systems without property moves.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// All of them. Ends an interrupted sequence as [`System::enabled`](crate::System::enabled) does.
    All,
    /// Those of one process, or [`Answer::AskForAll`].
    Process(ProcessId),
    /// Those of some processes. Steps that are enabled only because no other process can move may be left out.
    Selection(ProcessSelection),
    /// Those of the first process that [may be explored alone](crate::Independence::is_ample) and has steps.
    /// Processes are tried in the order of exploration, those up to `behind` are passed over.
    Ample {
        /// The last process that is not wanted.
        behind: Option<ProcessId>,
        /// Whether steps that a property can see are not wanted.
        observed: bool,
    },
    /// All but those of processes in a sleep set. The headers say which processes sleep in the successors; only what a
    /// header said may be passed here, and the empty set in the beginning.
    Awake(SleepSet),
}

impl Request {
    /// What a system answers that takes all steps, if that is enough.
    #[inline(always)]
    pub fn answer_by_all(self) -> Option<Answer> {
        match self {
            Request::All => Some(Answer::AsRequested),
            Request::Awake(_) => Some(Answer::NobodySlept),
            _ => None,
        }
    }
}

/// Where successors go, with the state that they are successors of. They are added to what is there.
#[derive(Debug)]
pub enum Sink<'a> {
    /// Whole successors, side by side.
    Copies(&'a mut Vec<u8>, &'a mut SuccessorList<u8>),
    /// Differences to a state that stays: what a step changed, undone at once. Where a step could not be
    /// completed they mean nothing. Where an interrupted sequence ends the state is changed, and
    /// [`SuccessorList::interruption`] says how.
    Differences(&'a mut Vector, &'a mut SuccessorList<Difference>),
}

/// What a system added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// What was asked for.
    AsRequested,
    /// The answer to [`Request::Process`] where only the steps of all processes together tell whether it
    /// has any: nothing.
    AskForAll,
    /// The answer to [`Request::Ample`]: the steps of this process, or none.
    Ample(Option<ProcessId>),
    /// The answer to [`Request::Awake`] by a system that took the steps of the sleep set as well.
    NobodySlept,
}

impl Answer {
    /// The process of an ample set.
    #[inline(always)]
    pub fn ample(self) -> Option<ProcessId> {
        match self {
            Answer::Ample(process) => process,
            _ => None,
        }
    }
}

/// Some processes, whose steps are wanted. Sets have a bit for each process below 64.
#[derive(Clone, Copy, Debug)]
pub struct ProcessSelection {
    /// One process whose steps are wanted.
    pub first: Option<ProcessId>,
    /// Further processes whose steps are wanted.
    pub also: u64,
    /// If a wanted process has no step, or no process is wanted, the steps of all are, except of these.
    pub without: u64,
}

impl ProcessSelection {
    /// Those whose steps are wanted in any case.
    #[inline(always)]
    pub fn leading(self) -> impl Iterator<Item = ProcessId> {
        let mut left = self.also & !self.first.map_or(0, bit);
        let also = std::iter::from_fn(move || {
            let next = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (next < u64::BITS).then_some(ProcessId(next as u16))
        });
        self.first.into_iter().chain(also)
    }

    /// Whether there is no process whose steps are wanted in any case.
    #[inline(always)]
    pub fn is_open(self) -> bool {
        self.first.is_none() && self.also == 0
    }

    /// Whether the steps of a process are wanted if one of the [leading](Self::leading) ones has none.
    #[inline(always)]
    pub fn may_follow(self, process: ProcessId) -> bool {
        Some(process) != self.first && (self.also | self.without) & bit(process) == 0
    }
}

fn bit(process: ProcessId) -> u64 {
    if process.index() < 64 { 1 << process.index() } else { 0 }
}
