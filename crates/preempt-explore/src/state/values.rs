//! How locks and channels are encoded in the value of their object.

/// Set in the value of a read-write lock that is held for writing.
pub(crate) const WRITER: u64 = 1 << 63;
/// Counts threads that wait to write, in the value of a read-write lock.
pub(crate) const WAITS: u64 = 1 << 40;
pub(crate) const WAITING: u64 = 0xFFFF << 40;
/// State of a one-time initialisation that is being run.
pub(crate) const ONCE_RUNNING: u64 = 1;
/// It has ended.
pub(crate) const ONCE_DONE: u64 = 2;
/// The last initialisation has panicked.
pub(crate) const ONCE_POISONED: u64 = 3;
/// One sender, in the value of a channel.
pub(crate) const SENDER: u64 = 1 << 32;
/// Set in the value of a channel whose receiver waits.
const OFFERED: u64 = 1 << 62;

/// The value of a channel, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// Messages waiting.
    pub length: u32,
    /// Senders left.
    pub senders: u32,
    /// Whether the receiver is left.
    pub receiver: bool,
    /// Whether it waits, so that a rendezvous is possible. Kept only under [`Rules::offers`](crate::Rules::offers).
    pub offered: bool,
}

impl Channel {
    /// From the value of the object.
    pub fn from_value(value: u64) -> Self {
        Channel {
            length: value as u32,
            senders: (value >> 32) as u32 & 0x3FFF_FFFF,
            receiver: value & WRITER != 0,
            offered: value & OFFERED != 0,
        }
    }

    /// To the value of the object.
    pub fn value(self) -> u64 {
        u64::from(self.length)
            | u64::from(self.senders) << 32
            | if self.receiver { WRITER } else { 0 }
            | if self.offered { OFFERED } else { 0 }
    }
}
