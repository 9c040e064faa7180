//! Channels as machine code.
//!
//! A channel whose place is known is code for that place. One that is found by its id at run time is
//! looked up in a table (channels of processes: by a helper), and the code is made once per type of
//! channel that it can be. A type that does not fit leads out: the interpreter decides.

use super::code::{Arithmetic, Block, Code, Compare, Memory, Value};
use super::scope::{HelperId, Scope, Want};
use super::value::{load, store};
use preempt_promela::ir::{
    ChannelRef, ChannelSlot, ChannelTest, ChannelType, FaultId, Pattern, PatternRange,
};

/// A channel at hand.
#[derive(Clone)]
pub(crate) struct Channel {
    base: Value,
    offset: u32,
    /// Its id; only of a rendezvous channel.
    id: Option<Value>,
    ty: ChannelType,
    /// How its number of messages is stored.
    length: Memory,
}

/// Slots of so many bytes are moved without a helper.
const MOVED_IN_PLACE: u32 = 32;

impl Channel {
    /// The id of a rendezvous channel; `None` for a buffered one.
    pub(crate) fn rendezvous(&self) -> Option<Value> {
        self.id
    }

    pub(crate) fn ty(&self) -> &ChannelType {
        &self.ty
    }

    fn length(&self, code: &mut dyn Code) -> Value {
        code.load(self.length, self.base, self.offset)
    }

    /// The address of a message, before the offset of the first slot is added.
    fn message(&self, code: &mut dyn Code, index: Value) -> Value {
        code.element(self.base, index, self.ty.message_length)
    }

    /// The address of the slots.
    fn slots(&self, code: &mut dyn Code) -> Value {
        let first = code.number(self.first_slot() as i32);
        code.element(self.base, first, 1)
    }

    fn first_slot(&self) -> u32 {
        self.offset + self.length.bytes()
    }
}

impl Scope<'_> {
    /// How the number of messages of a channel is stored.
    pub(crate) fn length_memory(&self) -> Memory {
        if self.program.layout.length_width == 1 { Memory::Byte } else { Memory::UnsignedTwo }
    }

    fn known(&self, channel: &ChannelRef) -> Option<(Value, ChannelSlot)> {
        match channel {
            ChannelRef::Global(index) => {
                Some((self.state, self.program.layout.channels[*index as usize]))
            }
            ChannelRef::Own(_) | ChannelRef::Dynamic { .. } => None,
        }
    }

    /// Looks up a channel by its id: its type and its offset in the vector.
    fn look_up(&self, code: &mut dyn Code, id: Value, fault: FaultId) -> (Value, Value) {
        let (join, found) = code.block_with_address();
        let (global, own) = (code.block(), code.cold_block());
        let index = self.global_index(code, id, global, own);
        code.begin(global);
        let entry = self.entry(code, index);
        code.jump_with(join, entry);
        code.begin(own);
        let shape = code.address(self.tables.shape);
        let entry = code.call(HelperId::Locate as usize, &[shape, self.state, id]);
        let (_, ty) = code.halves(entry);
        let nowhere = code.number(-1);
        let exists = code.compare(Compare::NotEqual, ty, nowhere);
        self.require(code, exists, fault);
        code.jump_with(join, entry);
        code.begin(join);
        let (offset, ty) = code.halves(found);
        (ty, offset)
    }

    /// As [`Self::look_up`] where all channels are of one type and belong to no process.
    fn look_up_alike(&self, code: &mut dyn Code, id: Value, fault: FaultId) -> Value {
        let (global, nowhere) = (code.block(), code.cold_block());
        let index = self.global_index(code, id, global, nowhere);
        code.begin(nowhere);
        let never = code.number(0);
        self.require(code, never, fault);
        code.jump(global);
        code.begin(global);
        let entry = self.entry(code, index);
        code.halves(entry).0
    }

    /// Branches on whether an id is that of a global channel, and gives its index.
    fn global_index(&self, code: &mut dyn Code, id: Value, yes: Block, no: Block) -> Value {
        let one = code.number(1);
        let index = code.arithmetic(Arithmetic::Subtract, id, one);
        let count = code.number(self.tables.channels.len() as i32);
        let is_global = code.compare(Compare::Below, index, count);
        code.branch(is_global, yes, no);
        index
    }

    /// Type and offset of a global channel.
    fn entry(&self, code: &mut dyn Code, index: Value) -> Value {
        let table = code.address(self.tables.channels.as_ptr().cast());
        let entry = code.element(table, index, 8);
        code.load_wide(entry, 0)
    }

    /// The number of messages and the capacity of a channel; both 0 for a rendezvous channel.
    pub(crate) fn channel_length(
        &self,
        code: &mut dyn Code,
        channel: &ChannelRef,
    ) -> (Value, Value) {
        let slot = match channel {
            ChannelRef::Own(index) => Some((self.frame, self.own_slot(*index))),
            _ => self.known(channel),
        };
        if let Some((base, slot)) = slot {
            let ty = &self.program.layout.channel_types[slot.channel_type as usize];
            let capacity = code.number(ty.capacity as i32);
            let length = match ty.capacity {
                0 => code.number(0),
                _ => code.load(self.length_memory(), base, slot.offset),
            };
            return (length, capacity);
        }
        let ChannelRef::Dynamic { id, fault } = channel else { unreachable!("known otherwise") };
        let id = self.value(code, *id);
        if let Some(ty) = self.only_type() {
            let offset = self.look_up_alike(code, id, *fault);
            let capacity = code.number(ty.capacity as i32);
            let length = match ty.capacity {
                0 => code.number(0),
                _ => {
                    let at = code.element(self.state, offset, 1);
                    code.load(self.length_memory(), at, 0)
                }
            };
            return (length, capacity);
        }
        let (ty, offset) = self.look_up(code, id, *fault);
        let table = code.address(self.tables.capacities.as_ptr().cast());
        let entry = code.element(table, ty, 4);
        let capacity = code.load(Memory::Four, entry, 0);
        // A rendezvous channel takes no room: what lies at its offset is not its length.
        let (join, length) = code.block_with_number();
        let (buffered, rendezvous) = (code.block(), code.cold_block());
        code.branch(capacity, buffered, rendezvous);
        code.begin(rendezvous);
        let zero = code.number(0);
        code.jump_with(join, zero);
        code.begin(buffered);
        let at = code.element(self.state, offset, 1);
        let stored = code.load(self.length_memory(), at, 0);
        code.jump_with(join, stored);
        code.begin(join);
        (length, capacity)
    }

    /// The type of all channels, if they are alike and none belongs to a process.
    fn only_type(&self) -> Option<&ChannelType> {
        let only = self.tables.only_type?;
        self.program.layout.channel_types.get(only as usize)
    }

    fn own_slot(&self, index: u32) -> ChannelSlot {
        self.own_channels[index as usize]
    }

    pub(crate) fn channel_test(
        &self,
        code: &mut dyn Code,
        test: ChannelTest,
        channel: &ChannelRef,
    ) -> Value {
        let (length, capacity) = self.channel_length(code, channel);
        let zero = code.number(0);
        let one = code.number(1);
        // A rendezvous channel holds one message for the moment it passes.
        let is_rendezvous = code.compare(Compare::Equal, capacity, zero);
        let capacity = match test {
            ChannelTest::Full | ChannelTest::NotFull => {
                let extra = code.arithmetic(Arithmetic::And, is_rendezvous, one);
                code.arithmetic(Arithmetic::Add, capacity, extra)
            }
            ChannelTest::Empty | ChannelTest::NotEmpty => capacity,
        };
        match test {
            ChannelTest::Empty => code.compare(Compare::Equal, length, zero),
            ChannelTest::NotEmpty => code.compare(Compare::NotEqual, length, zero),
            ChannelTest::Full => code.compare(Compare::Equal, length, capacity),
            ChannelTest::NotFull => code.compare(Compare::NotEqual, length, capacity),
        }
    }

    /// Makes code for a channel with messages of `fields` fields; `body` must leave its block. Where
    /// the channel turns out to be something else, goes to `otherwise`. `None` when it can never be
    /// such a channel.
    pub(crate) fn with_channel(
        &self,
        code: &mut dyn Code,
        (channel, fields, want): (&ChannelRef, usize, Want),
        otherwise: Block,
        mut body: impl FnMut(&Self, &mut dyn Code, Channel),
    ) -> Option<()> {
        let slot = match channel {
            ChannelRef::Own(index) => Some((self.frame, self.own_slot(*index))),
            _ => self.known(channel),
        };
        let types = &self.program.layout.channel_types;
        let length = self.length_memory();
        if let Some((base, slot)) = slot {
            let ty = types[slot.channel_type as usize].clone();
            if !want.accepts(&ty, fields) {
                return None;
            }
            let id = (ty.capacity == 0).then(|| self.known_id(code, channel));
            body(self, code, Channel { base, offset: slot.offset, id, ty, length });
            return Some(());
        }
        let ChannelRef::Dynamic { id, fault } = channel else { unreachable!("known otherwise") };
        let id = self.value(code, *id);
        if let Some(ty) = self.only_type() {
            let offset = self.look_up_alike(code, id, *fault);
            let base = code.element(self.state, offset, 1);
            let id = (ty.capacity == 0).then_some(id);
            match want.accepts(ty, fields) {
                true => body(self, code, Channel { base, offset: 0, id, ty: ty.clone(), length }),
                false => code.jump(otherwise),
            }
            return Some(());
        }
        let (number, offset) = self.look_up(code, id, *fault);
        let base = code.element(self.state, offset, 1);
        let mut blocks = Vec::new();
        for (at, ty) in types.iter().enumerate() {
            if want.accepts(ty, fields) {
                blocks.push((at as u32, code.block(), ty.clone()));
            }
        }
        let cases: Vec<_> = blocks.iter().map(|(at, block, _)| (*at, *block)).collect();
        code.select_block(number, &cases, otherwise);
        for (_, block, ty) in blocks {
            code.begin(block);
            let id = (ty.capacity == 0).then_some(id);
            body(self, code, Channel { base, offset: 0, id, ty, length });
        }
        Some(())
    }

    /// The id of a channel: for those found at run time the value that says it.
    pub(crate) fn known_id(&self, code: &mut dyn Code, channel: &ChannelRef) -> Value {
        match channel {
            ChannelRef::Global(index) => code.number(*index as i32 + 1),
            ChannelRef::Own(index) => {
                let shape = code.address(self.tables.shape);
                let first = code.call(HelperId::FirstOwn as usize, &[shape, self.state, self.pid]);
                let index = code.number(*index as i32);
                code.arithmetic(Arithmetic::Add, first, index)
            }
            ChannelRef::Dynamic { id, .. } => self.value(code, *id),
        }
    }

    /// Goes on with the index of the first message that matches (`random`: at any place), else to
    /// `no`.
    pub(crate) fn find_message(
        &self,
        code: &mut dyn Code,
        channel: &Channel,
        random: bool,
        pattern: PatternRange,
        no: Block,
    ) -> Value {
        if !random {
            let first = self.first_message(code, channel, no);
            self.match_message(code, channel, first, pattern, no);
            return first;
        }
        let length = channel.length(code);
        let zero = code.number(0);
        let (head, index) = code.block_with_number();
        code.jump_with(head, zero);
        code.begin(head);
        let inside = code.compare(Compare::Below, index, length);
        let (test, next) = (code.block(), code.block());
        code.branch(inside, test, no);
        code.begin(next);
        let one = code.number(1);
        let following = code.arithmetic(Arithmetic::Add, index, one);
        code.jump_with(head, following);
        code.begin(test);
        self.match_message(code, channel, index, pattern, next);
        index
    }

    /// Goes on with the index of the first message, whatever it is; to `no` if there is none.
    pub(crate) fn first_message(&self, code: &mut dyn Code, channel: &Channel, no: Block) -> Value {
        let length = channel.length(code);
        let some = code.block();
        code.branch(length, some, no);
        code.begin(some);
        code.number(0)
    }

    fn match_message(
        &self,
        code: &mut dyn Code,
        channel: &Channel,
        index: Value,
        pattern: PatternRange,
        no: Block,
    ) {
        let patterns = &self.program.patterns[pattern.indices()];
        for (field, pattern) in channel.ty.fields.iter().zip(patterns) {
            let Pattern::Match(expected) = pattern else { continue };
            let message = channel.message(code, index);
            let stored = load(code, field.0, message, channel.first_slot() + field.1);
            let expected = self.value(code, *expected);
            let equal = code.compare(Compare::Equal, stored, expected);
            let go_on = code.block();
            code.branch(equal, go_on, no);
            code.begin(go_on);
        }
    }

    /// Takes (or copies) the message at `index`, and stores its fields. `is_first` promises that it is the
    /// first one.
    pub(crate) fn take_message(
        &self,
        code: &mut dyn Code,
        channel: &Channel,
        (index, is_first): (Value, bool),
        copy: bool,
        pattern: PatternRange,
    ) {
        let patterns = self.program.patterns[pattern.indices()].to_vec();
        let mut values = Vec::new();
        for (field, pattern) in channel.ty.fields.iter().zip(&patterns) {
            if let Pattern::Store(place) = pattern {
                let message = channel.message(code, index);
                let value = load(code, field.0, message, channel.first_slot() + field.1);
                values.push((place.clone(), value));
            }
        }
        if !copy {
            self.remove_message(code, channel, index, is_first);
        }
        for (place, value) in values {
            self.store(code, &place, value);
        }
    }

    fn remove_message(&self, code: &mut dyn Code, channel: &Channel, index: Value, is_first: bool) {
        let width = channel.ty.message_length;
        let others = (channel.ty.capacity - 1) * width;
        self.note_all(code, channel);
        let length = channel.length(code);
        let one = code.number(1);
        let shorter = code.arithmetic(Arithmetic::Subtract, length, one);
        code.store(channel.length, shorter, channel.base, channel.offset);
        if (is_first || others == 0) && others <= MOVED_IN_PLACE {
            // Behind the last message there are zeros: all slots move, whatever they hold.
            let first = channel.first_slot();
            code.move_bytes(channel.base, first + width, first, others);
            let zero = code.number(0);
            for at in first + others..first + others + width {
                code.store(Memory::Byte, zero, channel.base, at);
            }
            return;
        }
        let slots = channel.slots(code);
        let width = code.number(width as i32);
        code.call(HelperId::Remove as usize, &[slots, index, width, length]);
    }

    /// Adds a message to a channel that is not full: at the end, or before the first larger one.
    pub(crate) fn add_message(
        &self,
        code: &mut dyn Code,
        channel: &Channel,
        sorted: bool,
        values: &[Value],
    ) {
        let length = channel.length(code);
        let mut place = length;
        if sorted {
            place = self.sorted_place(code, channel, length, values);
            self.note_all(code, channel);
            let slots = channel.slots(code);
            let width = code.number(channel.ty.message_length as i32);
            code.call(HelperId::MakeRoom as usize, &[slots, place, width, length]);
        }
        let message = channel.message(code, place);
        if !sorted && channel.ty.message_length > 0 {
            self.note(code, message, channel.first_slot(), channel.ty.message_length);
        }
        for (field, value) in channel.ty.fields.iter().zip(values) {
            store(code, field.0, *value, message, channel.first_slot() + field.1);
        }
        let one = code.number(1);
        let longer = code.arithmetic(Arithmetic::Add, length, one);
        self.note(code, channel.base, channel.offset, channel.length.bytes());
        code.store(channel.length, longer, channel.base, channel.offset);
    }

    /// Notes all messages, which may be moved.
    fn note_all(&self, code: &mut dyn Code, channel: &Channel) {
        if self.notes {
            let offset = code.number(channel.offset as i32);
            let at = code.element(channel.base, offset, 1);
            let (length, one) = (channel.length(code), code.number(1));
            let longer = code.arithmetic(Arithmetic::Add, length, one);
            let width = code.number(channel.ty.message_length as i32);
            let slots = code.arithmetic(Arithmetic::Multiply, longer, width);
            let length_bytes = code.number(channel.length.bytes() as i32);
            let bytes = code.arithmetic(Arithmetic::Add, slots, length_bytes);
            self.note_messages(code, at, bytes);
        }
    }

    /// The index of the first message that is larger, field by field, than the values before they are cut; or the length.
    fn sorted_place(
        &self,
        code: &mut dyn Code,
        channel: &Channel,
        length: Value,
        values: &[Value],
    ) -> Value {
        let (head, index) = code.block_with_number();
        let (found, place) = code.block_with_number();
        let zero = code.number(0);
        code.jump_with(head, zero);
        code.begin(head);
        let inside = code.compare(Compare::Below, index, length);
        let (test, next, end) = (code.block(), code.block(), code.block());
        code.branch(inside, test, end);
        code.begin(end);
        code.jump_with(found, length);
        code.begin(next);
        let one = code.number(1);
        let following = code.arithmetic(Arithmetic::Add, index, one);
        code.jump_with(head, following);
        code.begin(test);
        let message = channel.message(code, index);
        for (field, value) in channel.ty.fields.iter().zip(values) {
            let stored = load(code, field.0, message, channel.first_slot() + field.1);
            let (larger, not_larger, equal) = (code.block(), code.block(), code.block());
            let greater = code.compare(Compare::Greater, stored, *value);
            code.branch(greater, larger, not_larger);
            code.begin(larger);
            code.jump_with(found, index);
            code.begin(not_larger);
            let less = code.compare(Compare::Less, stored, *value);
            code.branch(less, next, equal);
            code.begin(equal);
        }
        code.jump(next);
        code.begin(found);
        place
    }

    /// Branches on whether a message can be appended.
    pub(crate) fn not_full(&self, code: &mut dyn Code, channel: &Channel, yes: Block, no: Block) {
        let length = channel.length(code);
        let capacity = code.number(channel.ty.capacity as i32);
        let workspace = code.compare(Compare::Below, length, capacity);
        code.branch(workspace, yes, no);
    }
}
