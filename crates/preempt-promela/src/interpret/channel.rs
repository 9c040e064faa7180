//! Channels inside the state vector: the number of messages and slots, the oldest message first.

use super::process::{Process, processes};
use crate::ir::{ChannelSlot, ChannelType, Program};

/// A channel of a state.
#[derive(Clone, Copy)]
pub(super) struct Channel<'a> {
    pub(super) kind: &'a ChannelType,
    /// Where its number of messages is.
    pub(super) at: usize,
    /// Bytes of that number.
    length_width: usize,
    pub(super) id: u32,
}

/// Finds a channel by its id.
pub(super) fn by_id<'a>(program: &'a Program, state: &[u8], id: i32) -> Option<Channel<'a>> {
    let number = u32::try_from(id).ok()?.checked_sub(1)?;
    if let Some(slot) = program.layout.channels.get(number as usize) {
        return Some(at(program, *slot, 0, number + 1));
    }
    let mut rest = number as usize - program.layout.channels.len();
    for p in processes(program, state) {
        let channels = &program.proctypes[p.proctype].frame.channels;
        if let Some(slot) = channels.get(rest) {
            return Some(at(program, *slot, p.base, number + 1));
        }
        rest -= channels.len();
    }
    None
}

/// How many channels there are.
pub(super) fn count(program: &Program, state: &[u8]) -> usize {
    let own = |p: Process| program.proctypes[p.proctype].frame.channels.len();
    program.layout.channels.len() + processes(program, state).map(own).sum::<usize>()
}

/// Whether some channel holds a message.
pub(super) fn any_message(program: &Program, state: &[u8]) -> bool {
    (1..=count(program, state))
        .any(|id| by_id(program, state, id as i32).is_some_and(|channel| channel.length(state) > 0))
}

pub(super) fn at(program: &Program, slot: ChannelSlot, base: usize, id: u32) -> Channel<'_> {
    let kind = &program.layout.channel_types[slot.channel_type as usize];
    let length_width = program.layout.length_width as usize;
    Channel { kind, at: base + slot.offset as usize, length_width, id }
}

impl Channel<'_> {
    pub(super) fn is_rendezvous(&self) -> bool {
        self.kind.capacity == 0
    }

    /// Whether its messages have this many fields.
    pub(super) fn has_fields(&self, count: usize) -> bool {
        self.kind.fields.len() == count
    }

    pub(super) fn length(&self, state: &[u8]) -> usize {
        match self.length_width {
            _ if self.is_rendezvous() => 0,
            1 => usize::from(state[self.at]),
            _ => usize::from(u16::from_le_bytes([state[self.at], state[self.at + 1]])),
        }
    }

    fn set_length(&self, state: &mut [u8], length: usize) {
        let bytes = (length as u16).to_le_bytes();
        state[self.at..self.at + self.length_width].copy_from_slice(&bytes[..self.length_width]);
    }

    pub(super) fn is_full(&self, state: &[u8]) -> bool {
        self.length(state) >= self.kind.capacity as usize
    }

    /// All that a state says of it.
    pub(super) fn bytes<'s>(&self, state: &'s [u8]) -> Option<&'s [u8]> {
        state.get(self.at..self.slot(self.kind.capacity as usize))
    }

    fn slot(&self, slot: usize) -> usize {
        self.at + self.length_width + slot * self.kind.message_length as usize
    }

    /// One field of a message; 0 for fields that the channel does not have.
    pub(super) fn field(&self, state: &[u8], slot: usize, field: usize) -> i32 {
        match self.kind.fields.get(field) {
            Some((kind, offset)) => kind.load(state, self.slot(slot) + *offset as usize),
            None => 0,
        }
    }

    /// A message as the channel keeps it: every value cut to its field.
    pub(super) fn cut(&self, values: &[i32]) -> Vec<i32> {
        let value = |at: usize| values.get(at).copied().unwrap_or(0);
        self.kind.fields.iter().enumerate().map(|(at, (kind, _))| kind.cut(value(at))).collect()
    }

    /// Appends a message; a sorted send puts it before the first larger one. What is compared are the values as they
    /// were sent, before they are cut, as in Spin.
    pub(super) fn insert(&self, state: &mut [u8], sent: &[i32], sorted: bool) {
        let length = self.length(state);
        let mut slot = length;
        if sorted {
            let value = |field: usize| sent.get(field).copied().unwrap_or(0);
            let larger = |slot: &usize| {
                let fields = 0..self.kind.fields.len();
                fields.clone().map(|f| self.field(state, *slot, f)).gt(fields.map(value))
            };
            slot = (0..length).find(larger).unwrap_or(length);
        }
        let (from, to) = (self.slot(slot), self.slot(length));
        state.copy_within(from..to, self.slot(slot + 1));
        for (field, (kind, offset)) in self.kind.fields.iter().enumerate() {
            let value = sent.get(field).copied().unwrap_or(0);
            kind.store(state, from + *offset as usize, value);
        }
        self.set_length(state, length + 1);
    }

    /// Takes a message out; the slot that becomes free is zero.
    pub(super) fn remove(&self, state: &mut [u8], slot: usize) {
        let length = self.length(state);
        let (from, end) = (self.slot(slot + 1), self.slot(length));
        state.copy_within(from..end, self.slot(slot));
        state[self.slot(length - 1)..end].fill(0);
        self.set_length(state, length - 1);
    }
}
