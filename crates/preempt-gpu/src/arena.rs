//! Where the states of a search lie: the newer ones on the card, older ones in the machine's memory.
//!
//! When the card is full, the oldest states that it holds move to blocks of the machine's memory, which it reads over the bus from
//! then on. The index stays on the card and names every state, so where the bits of a hash are equal the whole state is
//! compared at once, wherever it lies: no candidate has to be put aside until the end of a level, and nothing is decided by
//! a hash.
//!
//! **Invariant:** states move between two launches only. A state below `base` lies in the block of its number, every other one
//! at the distance of its number from `base`.

use crate::device::{Device, Trouble};
use preempt_core::Stop;
use std::time::{Duration, Instant};

/// Most bytes of a block: what is moved between two looks at the limits.
const BLOCK_BYTES: u64 = if cfg!(test) { 256 } else { 256 << 20 };

/// The states of a search, by number.
pub(crate) struct Arena {
    stride: u64,
    /// Where the card's part begins, and how many states it has room for.
    at: u64,
    room: u64,
    /// The first state that lies on the card.
    base: u64,
    /// Where the blocks of the machine's memory are, and how many there may be.
    blocks: Vec<u64>,
    most_blocks: u64,
    /// Where the card finds the addresses of the blocks.
    table: u64,
    /// A block has two to the power of this many states.
    shift: u32,
    /// How long it takes to give a block back.
    giving_back: Duration,
}

/// A block has two to the power of this many states.
fn shift_for(stride: u64) -> u32 {
    (BLOCK_BYTES / stride).max(1).ilog2()
}

/// How many blocks so many bytes of the machine's memory have, of those that so many states could need.
pub(crate) fn blocks_in(outside: u64, stride: u64, numbers: u64) -> u64 {
    let shift = shift_for(stride);
    (outside / (stride << shift)).min((numbers >> shift) + 1)
}

impl Arena {
    /// Takes room for so many states on the card, and for the addresses of at most so many blocks of the machine's memory.
    pub(crate) fn new(
        device: &mut dyn Device,
        stride: u64,
        room: u64,
        most_blocks: u64,
    ) -> Result<Self, Trouble> {
        let shift = shift_for(stride);
        let table = device.allocate(8 * most_blocks.max(1))?;
        let at = device.allocate(room * stride)?;
        let (blocks, giving_back) = (Vec::new(), Duration::ZERO);
        Ok(Arena { stride, at, room, base: 0, blocks, most_blocks, table, shift, giving_back })
    }

    /// Gives everything back.
    pub(crate) fn free(&mut self, device: &mut dyn Device) {
        self.release(device);
        device.free(self.table);
        for block in std::mem::take(&mut self.blocks) {
            device.free_outside(block);
        }
    }

    /// What the kernels are told: where number 0 would lie on the card, the first number there, the blocks, and their size.
    pub(crate) fn words(&self) -> [u64; 4] {
        let origin = self.at.wrapping_sub(self.base.wrapping_mul(self.stride));
        [origin, self.base, self.table, u64::from(self.shift)]
    }

    /// One more than the last number that there is room for.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.room
    }

    /// Whether states may move to the machine's memory.
    pub(crate) fn may_move(&self) -> bool {
        self.most_blocks > 0
    }

    /// How many states have moved.
    pub(crate) fn moved(&self) -> u64 {
        self.base
    }

    /// Bytes of the machine's memory in use.
    pub(crate) fn outside(&self) -> u64 {
        self.blocks.len() as u64 * self.block_bytes()
    }

    /// How long it takes to give that back.
    pub(crate) fn giving_back(&self) -> Duration {
        self.giving_back.saturating_mul(self.blocks.len() as u32)
    }

    fn block_bytes(&self) -> u64 {
        self.stride << self.shift
    }

    /// Where a state lies.
    pub(crate) fn address(&self, number: u64) -> u64 {
        if number >= self.base {
            return self.at + (number - self.base) * self.stride;
        }
        let (block, within) = (number >> self.shift, number & ((1 << self.shift) - 1));
        self.blocks[block as usize] + within * self.stride
    }

    /// No states on the card, and room for the addresses of at most so many blocks of the machine's memory.
    pub(crate) fn outside_alone(
        device: &mut dyn Device,
        stride: u64,
        most_blocks: u64,
    ) -> Result<Self, Trouble> {
        let table = device.allocate(8 * most_blocks.max(1))?;
        let shift = shift_for(stride);
        let (blocks, giving_back) = (Vec::new(), Duration::ZERO);
        Ok(Arena {
            stride,
            at: 0,
            room: 0,
            base: 0,
            blocks,
            most_blocks,
            table,
            shift,
            giving_back,
        })
    }

    /// Where the first state lies in the machine's memory that has not left the card, and how many have room behind it; `None` if there is no
    /// room.
    pub(crate) fn next_place(
        &mut self,
        device: &mut dyn Device,
        number: u64,
    ) -> Result<Option<(u64, u64)>, Trouble> {
        let block = number >> self.shift;
        if block == self.blocks.len() as u64 && !self.add_block(device)? {
            return Ok(None);
        }
        let within = number - (block << self.shift);
        let at = self.blocks[block as usize] + within * self.stride;
        Ok(Some((at, (1 << self.shift) - within)))
    }

    /// The states before this one lie in the machine's memory.
    pub(crate) fn has_left(&mut self, end: u64) {
        self.base = end;
    }

    /// The card's part, and its bytes.
    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.at, self.room * self.stride)
    }

    /// From now on a state has so many bytes, and the card's part room for so many; none of them has left it.
    pub(crate) fn fold(&mut self, stride: u64, room: u64) {
        debug_assert!(self.blocks.is_empty() && self.base == 0);
        // The addresses of blocks have the room that they have.
        let bytes = self.most_blocks * self.block_bytes();
        (self.stride, self.room, self.shift) = (stride, room, shift_for(stride));
        self.most_blocks = self.most_blocks.min(bytes / self.block_bytes());
    }

    /// Moves so many of the oldest of the `next` states, or as many as the machine's memory has room for; gives why none moved, or
    /// why the search ends. `limit` is asked between two blocks.
    pub(crate) fn move_out(
        &mut self,
        device: &mut dyn Device,
        (count, next): (u64, u64),
        limit: &mut dyn FnMut(&Arena) -> Option<Stop>,
    ) -> Result<Option<Stop>, Trouble> {
        let mut end = self.base + count;
        let mut first = self.base;
        while first < end {
            if let Some(stop) = limit(self) {
                return Ok(Some(stop));
            }
            let Some((to, left)) = self.next_place(device, first)? else {
                end = first;
                break;
            };
            let last = end.min(first + left);
            let from = self.at + (first - self.base) * self.stride;
            device.copy(from, to, (last - first) * self.stride)?;
            first = last;
        }
        let count = end - self.base;
        if count == 0 {
            return Ok(Some(Stop::Memory));
        }
        // The others move to the front, no more of them at a time than there is room before them.
        let mut from = end;
        while from < next {
            let some = count.min(next - from);
            let at = |number: u64| self.at + (number - self.base) * self.stride;
            device.copy(at(from), at(from - count), some * self.stride)?;
            from += some;
        }
        self.base = end;
        Ok(None)
    }

    /// Takes one more block; `false` if there is no memory for it.
    fn add_block(&mut self, device: &mut dyn Device) -> Result<bool, Trouble> {
        let block = self.blocks.len() as u64;
        if block >= self.most_blocks {
            return Ok(false);
        }
        let bytes = self.block_bytes();
        let Ok(mut address) = device.allocate_outside(bytes) else { return Ok(false) };
        if self.giving_back.is_zero() {
            // Memory that the card reads takes the machine long to give back: how long is known before a limit of time is near.
            let begin = Instant::now();
            device.free_outside(address);
            self.giving_back = begin.elapsed();
            address = device.allocate_outside(bytes)?;
        }
        self.blocks.push(address);
        device.write(self.table + 8 * block, &address.to_le_bytes())?;
        Ok(true)
    }

    /// Gives back the card's part, all states of which have moved.
    pub(crate) fn release(&mut self, device: &mut dyn Device) {
        if self.at != 0 {
            device.free(std::mem::take(&mut self.at));
        }
    }

    /// Takes room for so many states again.
    pub(crate) fn take(&mut self, device: &mut dyn Device, room: u64) -> Result<(), Trouble> {
        self.at = device.allocate(room * self.stride)?;
        self.room = room;
        Ok(())
    }
}
