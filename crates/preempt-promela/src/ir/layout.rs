//! Where values lie in the state vector.

use super::{Place, ValueKind};

/// The fixed part of the state vector.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Length of the part before the frames.
    pub globals_end: u32,
    /// Bytes of a control state: 1 or 2.
    pub pc_width: u32,
    /// Bytes of the number of messages in front of a channel's slots: 1, or 2 in a model that has a channel of more
    /// than 255 slots.
    pub length_width: u32,
    /// Frames have a priority byte after the control state, and only processes of the highest
    /// priority among those that can move do move.
    pub has_priorities: bool,
    /// Where the last mover is kept (1 byte), if the model asks for it.
    pub last_offset: Option<u32>,
    /// Where the state of the trace automaton is kept (1 byte), if there is one.
    pub trace_offset: Option<u32>,
    /// The kinds of channels.
    pub channel_types: Vec<ChannelType>,
    /// The global channels; the id of the first is 1.
    pub channels: Vec<ChannelSlot>,
    /// Names of the global variables and channels, for traces.
    pub names: Vec<Named>,
}

/// What a channel holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelType {
    /// Number of messages; 0 is a rendezvous channel.
    pub capacity: u32,
    /// The fields of a message: kind, and offset in the message.
    pub fields: Vec<(ValueKind, u32)>,
    /// Bytes of a message.
    pub message_length: u32,
    /// For each field, whether it holds a symbolic constant (and of which set), for traces.
    pub mtypes: Vec<Option<Option<String>>>,
}

impl Layout {
    /// Bytes of a whole channel: number of messages and slots; 0 for a rendezvous channel. `None` if a number of 32
    /// bits does not hold it.
    pub fn channel_bytes(&self, ty: &ChannelType) -> Option<u32> {
        match ty.capacity {
            0 => Some(0),
            capacity => capacity.checked_mul(ty.message_length)?.checked_add(self.length_width),
        }
    }
}

/// A channel at a fixed place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSlot {
    /// Index into [`Layout::channel_types`].
    pub channel_type: u32,
    /// Offset in the vector, or in the frame.
    pub offset: u32,
}

/// The part of the vector that belongs to one process.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Its length.
    pub length: u32,
    /// Its own channels, in order of creation.
    pub channels: Vec<ChannelSlot>,
    /// For each of its own channels, the offset of the byte that holds the channel's id.
    pub channel_cells: Vec<u32>,
    /// Names of its variables and channels, for traces.
    pub names: Vec<Named>,
}

/// A named value or channel, for traces.
#[derive(Clone, Debug)]
pub struct Named {
    /// `x`, `a[2]`, `s.f`.
    pub name: String,
    /// What it is.
    pub value: NamedValue,
    /// The set of symbolic constants to show it by.
    pub mtype: Option<Option<String>>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum NamedValue {
    /// A number at this place (which has no indices).
    Number(Place),
    /// The channel whose id is at this place.
    ChannelAt(Place),
    /// Always this channel: index into [`Layout::channels`] or [`Frame::channels`].
    Channel(u32),
}
