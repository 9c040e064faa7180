//! How a step uses what is known only once there is a state: elements of arrays, channels in variables.

use crate::ir::{ChannelRef, Place};

/// Something that a state says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// The global cell at a place, and whether it is written, not only read.
    Cell(Place, bool),
    /// What is used of a channel.
    Channel(ChannelRef, Usage),
}

/// What is used of a channel. Its ends are two objects, and whether they have to do with each other
/// depends on how many messages there are: a send and a receive can be swapped if there is one and room
/// for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Usage {
    /// A message is added at the tail. Looks at the head if there is no room.
    Send,
    /// A message is taken from the head. Looks at the tail if there is none.
    Receive,
    /// The first message is looked at. Looks at the tail if there is none.
    First,
    /// Whether there is none: looks at the tail if so, and at the head if there is one at most.
    IsEmpty,
    /// Whether there is no room: looks at the head if so, and at the tail if there is room for one at
    /// most.
    IsFull,
    /// Looks at both ends.
    Length,
    /// Writes to both ends.
    Everything,
}

impl Usage {
    pub(super) fn writes(self) -> bool {
        matches!(self, Usage::Send | Usage::Receive | Usage::Everything)
    }
}
