//! What the messages of channels carry from thread to thread besides their values.
//!
//! A message is received after it was sent, and after nothing else that other senders have done: each has a clock of
//! its own. Where a channel has room for so many messages, the first that had none is sent after the first was taken.
//! A number that is raised and lowered, such as a semaphore, is no such channel: see
//! [`Rules::messages`](crate::Rules::messages).

use crate::ObjectId;
use crate::clock::Clock;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The clocks of one channel.
#[derive(Clone, Debug, Default)]
struct Channel {
    /// Of the messages in it, the next one first.
    sent: VecDeque<Clock>,
    /// Of receivers, by the number of the message that they have taken, from 1 on, until a sender comes after it.
    taken: Vec<(u64, Clock)>,
    /// Messages sent so far.
    sends: u64,
    /// Messages received so far.
    receives: u64,
    /// Whether senders wait for room.
    is_bounded: bool,
}

/// The clocks of all channels.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageClocks(FxHashMap<ObjectId, Channel>);

impl MessageClocks {
    /// A message is put into a channel with room for so many; the clock that its sender comes after, if any.
    pub(crate) fn room(&mut self, channel: ObjectId, capacity: Option<u64>) -> Option<Clock> {
        let channel = self.0.entry(channel).or_default();
        channel.sends += 1;
        channel.is_bounded = capacity.is_some();
        // A rendezvous is awaited by its number.
        let freed = channel.sends.checked_sub(capacity.filter(|&most| most > 0)?)?;
        channel.take(freed)
    }

    pub(crate) fn send(&mut self, channel: ObjectId, sender: Clock) {
        self.0.entry(channel).or_default().sent.push_back(sender);
    }

    /// A message is received by a thread with this clock; the clock of its sender.
    pub(crate) fn receive(&mut self, channel: ObjectId, receiver: Clock) -> Option<Clock> {
        let channel = self.0.get_mut(&channel)?;
        channel.receives += 1;
        if channel.is_bounded {
            channel.taken.push((channel.receives, receiver));
        }
        channel.sent.pop_front()
    }

    /// The clock of the thread that has received this message, for its sender.
    pub(crate) fn taken(&mut self, channel: ObjectId, number: u64) -> Option<Clock> {
        self.0.get_mut(&channel)?.take(number)
    }

    /// The messages that are dropped with their channel.
    pub(crate) fn drain(&mut self, channel: ObjectId) -> impl Iterator<Item = Clock> + use<> {
        let sent = self.0.get_mut(&channel).map(|channel| std::mem::take(&mut channel.sent));
        sent.into_iter().flatten()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Channel {
    fn take(&mut self, number: u64) -> Option<Clock> {
        let at = self.taken.iter().position(|(taken, _)| *taken == number)?;
        Some(self.taken.swap_remove(at).1)
    }
}
