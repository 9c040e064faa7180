//! Searches whose states are dealt out among owners.
//!
//! One owner holds a part of the states, expands them, and sends successors to their owners. What the owners
//! are is not known here: threads, processes on other machines, or one after the other in files. A driver moves
//! batches between them and says when everything of a [`Time`] has arrived.
//!
//! 1. `owner_map.rs`: which states belong to which owner; `wire.rs`: numbers and bytes, written and read with every length
//!    checked; `batch.rs`: states for one owner, as differences to each other; `sent_filter.rs`: what was sent lately need
//!    not be sent again.
//! 2. `levels.rs`: all executions, level by level, with what `events.rs` counts; `buckets.rs`: bucket by bucket of
//!    preemptions (`[MQ07]`), with the steps that `moves.rs` finds and the visits of `arrived.rs` and `visit_log.rs`.
//!    `forward.rs`: which steps may wait, decided without asking other owners.
//! 3. `cycles.rs`: accepting cycles (OWCTY, with maximal accepting predecessors for early ones).
//! 4. `retrace.rs`: the way back from a state; `partition_result.rs`: what each owner found, and what all of them found together.
//! 5. `single.rs` and, where preemptions are counted, `visits.rs`: successors for searches that keep their states in
//!    files.
//! 6. `alone.rs`: the driver for owners in one thread, which is also the twin that other drivers are tested against.
//!
//! Invariant: what is expanded at a time sends to the next time only, and nothing is expanded before everything
//! that was sent to its time has arrived. So levels are exact, whichever owner is faster, and between two times nothing is
//! under way: that is where a search can be saved.

#![forbid(unsafe_code)]

mod alone;
mod arrived;
mod batch;
mod buckets;
mod cycles;
mod forward;
mod levels;
mod moves;
mod owner_map;
mod partition_result;
mod retrace;
mod sent_filter;
mod single;
mod visit_log;
mod visits;
mod wire;

pub use alone::{Saver, explore, explore_cycles, trace_back};
pub use batch::{Batches, Outbox, SendBatch};
pub use buckets::Buckets;
pub use cycles::{CycleOwners, Cycles, Pass, Totals, Walked, find_cycle, finite_options};
pub use forward::note_reduction;
pub use levels::Levels;
pub use partition_result::{Outcome, PartitionResult, ViolationSite, combine};
pub use retrace::{TraceSegment, TraceTarget, along};
pub use single::Single;
pub use visits::{After, Ran, Visits};
pub use wire::{Damaged, Reader, Writer};

use preempt_check::Preemptions;
use preempt_check::{Budget, Options, Progress};
use preempt_core::{Stop, System};

/// When something is expanded: the bucket of preemptions, and the round inside it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time {
    /// Preemptions; 0 where they are not counted.
    pub bucket: u32,
    /// Steps since the bucket began.
    pub round: u32,
}

impl Time {
    /// The time as one number, in the same order.
    pub fn number(self) -> u64 {
        u64::from(self.bucket) << 32 | u64::from(self.round)
    }

    /// The time of a number.
    pub fn from_number(number: u64) -> Self {
        Time { bucket: (number >> 32) as u32, round: number as u32 }
    }

    /// When what is sent now arrives.
    pub fn next(self) -> Self {
        Time { round: self.round + 1, ..self }
    }
}

/// One of the owners among which states are dealt out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The number of the owner.
    pub me: usize,
    /// How many owners there are.
    pub of: usize,
}

impl Owner {
    /// The only one.
    pub const ALONE: Owner = Owner { me: 0, of: 1 };
}

/// One owner's part of a search.
pub trait Partition {
    /// Takes the initial state, if it is this owner's.
    fn begin(&mut self);

    /// Takes a batch that was sent by an expansion.
    fn receive(&mut self, time: Time, batch: &[u8]) -> Result<(), Damaged>;

    /// The time of what is to be expanded next.
    fn waits(&self) -> Option<Time>;

    /// Expands some of what waits, now that everything of its time has arrived.
    fn expand(&mut self, outbox: &mut Outbox<'_>);

    /// How many errors this owner has found.
    fn errors(&self) -> u64;

    /// Whether this owner alone has found as many errors as asked for, or cannot go on.
    fn has_enough(&self) -> bool;

    /// Nothing more is expanded.
    fn stop(&mut self, stop: Option<Stop>);

    /// How far it is.
    fn progress(&self) -> Progress;

    /// What this owner found.
    fn share(&self) -> PartitionResult;

    /// One of this owner's visits just before the goal, if it has one.
    fn seek(&mut self, goal: &TraceTarget) -> Option<TraceSegment>;

    /// Whether everything can be given between two times of what is being done.
    fn can_be_saved(&self) -> bool {
        true
    }

    /// Gives everything, time by time, at a moment when nothing is under way. `each` says whether to go on.
    fn save(&self, each: &mut dyn FnMut(Time, Vec<u8>) -> bool);

    /// Takes, of the states that an owner has saved, those that belong to this owner. It is called with what all owners have saved,
    /// earlier times first.
    fn restore(&mut self, time: Time, saved: &[u8]) -> Result<(), Damaged>;

    /// Goes on from what all owners together had counted, after everything was restored. The first owner counts on
    /// from there, the others from zero.
    fn restore_counts(&mut self, all: &PartitionResult);
}

/// The part of an owner in a search for what finite executions can show, in the memory that the budget allows. If there is
/// no time to begin, it has stopped.
pub fn partition<'a>(
    system: &'a dyn System,
    options: &Options,
    owner: Owner,
    budget: &mut Budget<'_>,
) -> Box<dyn Partition + 'a> {
    match options.preemptions {
        Preemptions::Any => {
            let levels = Levels::new(system, options, owner, budget);
            Box::new(levels.with_reduction(options, budget))
        }
        _ => Box::new(Buckets::new(system, options, owner, budget)),
    }
}
