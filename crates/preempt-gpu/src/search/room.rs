//! How the card's memory is shared out among the index, what lies beside states, and the states.
//!
//! The index grows by doubling, at first in memory that was left for it. When that is used up, all states leave the card
//! and what remains is shared out anew: a larger index, longer tables, and less room for states, of which from then on the older half
//! leaves whenever there is no more.
//!
//! **Invariant:** an index is made of the states themselves, so it has what the one before had.

use super::{Search, stop_in_time};
use crate::arena::Arena;
use crate::device::{Device, Trouble};
use preempt_check::{Budget, Progress};
use preempt_core::Stop;
use preempt_native::card::{Counter, Field, PENDING_BYTES, REBUILD, RECORD_BYTES};

/// The index leaves one part of so many to the states, however many others lie in the machine's memory.
const LEAST_FOR_STATES: u64 = 8;

impl<D: Device> Search<'_, D> {
    /// Has so many of the oldest states leave the card; gives why they do not.
    fn move_out(&mut self, count: u64, budget: &mut Budget<'_>) -> Result<Option<Stop>, Trouble> {
        let (next, progress) = (self.given(), self.progress(self.given()));
        let limit = &mut |arena: &Arena| {
            let progress = Progress { memory: arena.outside() as usize, ..progress };
            stop_in_time(budget, progress, arena.giving_back())
        };
        let stop = self.arena.move_out(self.device, (count, next), limit)?;
        self.place_arena();
        Ok(stop)
    }

    /// Has the index less than half full, so that most searches in it are short; or three quarters, where a larger one takes room
    /// from the states. Gives why the search ends.
    pub(crate) fn make_room(&mut self, budget: &mut Budget<'_>) -> Result<Option<Stop>, Trouble> {
        if self.is_folded() {
            // What the card has is shared out.
            return Ok(None);
        }
        let next = self.given();
        while 2 * next > self.slots && self.slots < self.most_slots {
            self.grow()?;
        }
        if 4 * next > 3 * self.slots {
            return match self.rearrange(2 * self.slots, budget)? {
                // Until it is full there is no need.
                Some(Stop::Memory) => Ok(None),
                stop => Ok(stop),
            };
        }
        Ok(None)
    }

    /// Puts all states into an index that is twice as large.
    fn grow(&mut self) -> Result<(), Trouble> {
        self.free(Field::Index);
        self.index(2 * self.slots)
    }

    /// Puts all states into an index of so many slots; the one before was given back.
    fn index(&mut self, slots: u64) -> Result<(), Trouble> {
        self.slots = slots;
        self.block[Field::Index as usize] = self.allocate(8 * self.slots, Some(0))?;
        self.block[Field::Mask as usize] = self.slots - 1;
        self.run(REBUILD, 0, self.given())
    }

    /// Gives back the memory that a word of the block says.
    pub(super) fn free(&mut self, field: Field) {
        let address = self.block[field as usize];
        // An index between folded states and their nodes was not taken by itself.
        if let Some(at) = self.allocated.iter().position(|other| *other == address) {
            self.device.free(self.allocated.swap_remove(at));
        }
    }

    /// Takes more memory for a table with so many bytes for each number.
    fn lengthen(&mut self, field: Field, each: u64) -> Result<(), Trouble> {
        let new = self.allocate(each * self.numbers, Some(0))?;
        self.device.copy(self.block[field as usize], new, each * self.given())?;
        self.free(field);
        self.block[field as usize] = new;
        Ok(())
    }

    /// How many states have numbers, and how many lie on the card, beside an index of so many slots, the others being in the
    /// machine's memory.
    pub(super) fn room_beside(&self, slots: u64) -> Option<(u64, u64)> {
        let numbers = if self.beside > 0 { slots / 4 * 3 } else { self.numbers };
        let rest = self.budget.saturating_sub(8 * slots + self.beside * numbers);
        let room = rest / self.stride;
        let is_enough = rest >= self.budget / LEAST_FOR_STATES && room >= 2;
        (is_enough && self.arena.may_move()).then_some((numbers, room))
    }

    /// Has all states leave the card and shares its memory out anew, with so many slots; gives why that cannot be.
    pub(super) fn rearrange(
        &mut self,
        slots: u64,
        budget: &mut Budget<'_>,
    ) -> Result<Option<Stop>, Trouble> {
        let Some((numbers, room)) = self.room_beside(slots) else { return Ok(Some(Stop::Memory)) };
        let on_card = self.given() - self.arena.moved();
        if on_card > 0
            && let Some(stop) = self.move_out(on_card, budget)?
        {
            return Ok(Some(stop));
        }
        if self.arena.moved() < self.given() {
            return Ok(Some(Stop::Memory));
        }
        self.arena.release(self.device);
        self.free(Field::Index);
        if self.beside > 0 {
            self.numbers = numbers;
            self.lengthen(Field::Records, RECORD_BYTES - PENDING_BYTES)?;
            self.lengthen(Field::Pending, PENDING_BYTES)?;
        }
        self.arena.take(self.device, room)?;
        self.place_arena();
        self.most_slots = slots;
        self.index(slots)?;
        Ok(None)
    }

    /// Makes room where there was none for some state; gives why it cannot be.
    pub(super) fn make_more_room(
        &mut self,
        budget: &mut Budget<'_>,
    ) -> Result<Option<Stop>, Trouble> {
        let full = self.capacity();
        if self.counter(Counter::Next) <= full {
            if self.is_folded() {
                return self.unfold(budget);
            }
            return match self.slots < self.most_slots {
                true => self.grow().map(|()| None),
                false => self.rearrange(2 * self.slots, budget),
            };
        }
        let given = self.given();
        self.counters[Counter::Next as usize] = given;
        if full == self.most_whole() {
            // Where that does not pay there is more room for whole states.
            self.fold(budget)?;
            return Ok(None);
        }
        if self.is_folded() && full < self.arena.end() {
            return self.unfold(budget);
        }
        if given == self.numbers {
            let is_enough = self.numbers < self.slots / 4 * 3;
            return self.rearrange(if is_enough { self.slots } else { 2 * self.slots }, budget);
        }
        if !self.arena.may_move() {
            return Ok(Some(Stop::Memory));
        }
        let on_card = given - self.arena.moved();
        self.move_out(on_card.div_ceil(2), budget)
    }
}
