//! Breadth-first search on a card, level by level; `bounded.rs` is the one by preemptions, and `arena.rs` says where the states lie.
//!
//! The card holds the states, by number, and an index of them; here are the levels, the limits and the counters. No
//! predecessor is stored: the level before a state is expanded once more to find one.
//!
//! **Invariant:** a range of states can be expanded again: successors that are known stay so. Where there was no room on
//! the way, the index is made larger or older states leave the card, the counters are put back, and the range is expanded again.

mod folding;
mod form;
mod room;

pub(crate) use form::Folds;

use crate::arena::{Arena, blocks_in};
use crate::device::{Device, Trouble};
use crate::observed;
use form::Form;
use preempt_check::{Budget, Progress};
use preempt_core::{BoundRow, Stop};
use preempt_native::card::{
    COUNTERS, CardCode, Counter, DEADLOCKS, EXPAND, FIELDS, Field, GROUP_WORDS, GROUPS, MARKS,
    PENDING_BYTES, REBUILD, RECORD_BYTES, SEEK,
};
use std::time::{Duration, Instant};

/// Slots of the first index; few in tests, so that it grows.
const FIRST_SLOTS: u64 = if cfg!(test) { 16 } else { 1 << 20 };
/// So many states are expanded in one go at most, and at first.
const MOST_AT_ONCE: u64 = if cfg!(test) { 64 } else { 1 << 24 };
const FIRST_AT_ONCE: u64 = if cfg!(test) { 16 } else { 1 << 20 };
/// More are, or fewer, where that takes less time or more than this, so that limits are kept within a second.
const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_millis(400);
/// A run may end so long behind its limit of time.
const LATE: Duration = Duration::from_millis(300);

/// What to count as a mistake.
pub(crate) struct Wanted {
    /// By fault: 0, 1 or 2, see [`Field::Faults`].
    pub(crate) faults: Vec<u8>,
    /// Whether a state in which nothing can move is one unless all may end there.
    pub(crate) deadlocks: bool,
    /// Stop when so many were met; 0 goes on.
    pub(crate) most_errors: u64,
    /// Stop at this depth.
    pub(crate) depth: Option<u64>,
    /// How many moves there are.
    pub(crate) moves: usize,
}

/// How a search on a card ended.
#[derive(Debug)]
pub(crate) enum End {
    /// All states were expanded, or enough mistakes were met.
    Over,
    /// A limit.
    Limit(Stop),
    /// A state needs the processor.
    Asked,
    /// A state is longer than there is room for.
    TooLong,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) end: End,
    pub(crate) states: u64,
    pub(crate) arrivals: u64,
    pub(crate) atomic_steps: u64,
    pub(crate) errors: u64,
    pub(crate) depth: u64,
    /// Bytes in use.
    pub(crate) memory: u64,
    /// How many states have left the card.
    pub(crate) moved: u64,
    /// How many states are folded, in how many bytes all of them, and how many they would have.
    pub(crate) folded: Option<[u64; 3]>,
    /// Whether the property had no move where the model has one.
    pub(crate) cut: bool,
    /// By move: whether it was taken.
    pub(crate) taken: Vec<bool>,
    /// Where preemptions are counted.
    pub(crate) buckets: Option<Buckets>,
    /// The states from the first one to the first mistake, that behind which it is included.
    pub(crate) way: Option<Vec<Vec<u8>>>,
}

/// A search under way.
pub(crate) struct Search<'d, D: Device> {
    pub(crate) device: &'d mut D,
    /// The kernels for whole states.
    code: &'d CardCode,
    form: Form<'d>,
    /// Bytes that may be taken of the machine's memory.
    outside: u64,
    stride: u64,
    /// Bytes that may be taken on the card.
    budget: u64,
    arena: Arena,
    /// Bytes of a state's number beside the state, where preemptions are counted.
    beside: u64,
    /// So many numbers have these, and a bit.
    numbers: u64,
    slots: u64,
    /// So many slots leave the arena as it is.
    most_slots: u64,
    pub(crate) block: [u64; FIELDS],
    block_at: u64,
    pub(crate) counters: Vec<u64>,
    allocated: Vec<u64>,
    /// So many states are expanded in one go.
    pub(crate) at_once: u64,
    /// The first number of each level.
    levels: Vec<u64>,
}

/// What a search by preemptions has to say beside the rest.
#[derive(Debug)]
pub(crate) struct Buckets {
    /// What was counted when each bucket ended.
    pub(crate) rows: Vec<BoundRow>,
    /// The last bucket, if more is left.
    pub(crate) bound: Option<u32>,
}

/// Why a search ends, behind which so much time is needed.
fn stop_in_time(budget: &mut Budget<'_>, progress: Progress, needed: Duration) -> Option<Stop> {
    let is_late = budget.is_late_in(needed.saturating_sub(LATE));
    budget.check(progress).or(is_late.then_some(Stop::Time))
}

/// Sizes of the index.
fn sizes() -> impl Iterator<Item = u64> {
    (FIRST_SLOTS.ilog2().min(10)..40).map(|bits| 1 << bits)
}

/// How many states of so many bytes fit, and with how many slots: the index is at most three quarters full.
fn fit(memory: u64, each: u64) -> (u64, u64) {
    let states = |slots: u64| (memory.saturating_sub(8 * slots) / each).min(slots / 4 * 3);
    let slots = sizes().max_by_key(|slots| states(*slots)).unwrap_or(FIRST_SLOTS);
    (states(slots), slots)
}

impl<'d, D: Device> Search<'d, D> {
    /// Takes memory for a search from this state: so much of the card's and at most so much of the machine's.
    pub(crate) fn new(
        device: &'d mut D,
        code: &'d CardCode,
        (folds, folded): (Folds, &'d dyn Fn() -> Option<CardCode>),
        first: &[u8],
        wanted: &Wanted,
        (memory, outside): (u64, u64),
    ) -> Result<Self, Trouble> {
        device.load(&code.text)?;
        let stride = u64::from(code.stride);
        let beside = if code.counts { RECORD_BYTES } else { 0 };
        // No index is larger than the memory.
        let most = sizes().take_while(|slots| 8 * slots <= memory).last().unwrap_or(0);
        let numbers = most / 4 * 3;
        let dead_bytes = numbers.div_ceil(32) * 4;
        let most_blocks = blocks_in(outside, stride, numbers);
        let budget = memory.saturating_sub(dead_bytes + 8 * most_blocks);
        let (capacity, most_slots) = fit(budget, stride + beside);
        if capacity < 2 {
            return Err(Trouble("too little memory on the card".into()));
        }
        let arena = Arena::new(device, stride, capacity, most_blocks)?;
        let slots = FIRST_SLOTS.min(most_slots);
        // Beside records there would be little to gain.
        let folds = if code.counts { Folds::Never } else { folds };
        let mut search = Search {
            device,
            code,
            form: Form::Whole(folds, folded),
            outside,
            stride,
            budget,
            arena,
            beside,
            numbers: if code.counts { capacity } else { numbers },
            slots,
            most_slots,
            block: [0; FIELDS],
            block_at: 0,
            counters: vec![0; COUNTERS],
            allocated: Vec::new(),
            at_once: FIRST_AT_ONCE,
            levels: vec![0],
        };
        search.block_at = search.allocate(8 * FIELDS as u64, None)?;
        let pairs = [
            (Field::Counters, 8 * COUNTERS as u64, Some(0)),
            (Field::Taken, wanted.moves.max(1) as u64, Some(0)),
            (Field::Faults, wanted.faults.len().max(1) as u64, Some(0)),
            (Field::Target, stride, None),
            (Field::Dead, dead_bytes, Some(0)),
            (Field::Index, 8 * slots, Some(0)),
        ];
        for (field, bytes, fill) in pairs {
            search.block[field as usize] = search.allocate(bytes, fill)?;
        }
        if code.counts {
            let records = (RECORD_BYTES - PENDING_BYTES) * capacity;
            search.block[Field::Records as usize] = search.allocate(records, None)?;
            let pending = PENDING_BYTES * capacity;
            search.block[Field::Pending as usize] = search.allocate(pending, Some(0))?;
            let record = code.first_record(MARKS[0]).to_le_bytes();
            search.device.write(search.block[Field::Records as usize], &record)?;
        }
        search.device.write(search.block[Field::Faults as usize], &wanted.faults)?;
        search.block[Field::Mask as usize] = slots - 1;
        search.place_arena();
        search.block[Field::Flags as usize] = if wanted.deadlocks { DEADLOCKS } else { 0 };
        search.device.write(search.arena.address(0), first)?;
        search.counters[Counter::Next as usize] = 1;
        search.counters[Counter::Erroneous as usize] = u64::MAX;
        search.counters[Counter::Found as usize] = u64::MAX;
        search.write_counters()?;
        search.run(REBUILD, 0, 1)?;
        Ok(search)
    }

    fn allocate(&mut self, bytes: u64, fill: Option<u8>) -> Result<u64, Trouble> {
        let address = self.device.allocate(bytes)?;
        self.allocated.push(address);
        if let Some(byte) = fill {
            self.device.fill(address, bytes, byte)?;
        }
        Ok(address)
    }

    pub(crate) fn run(&mut self, kernel: &str, first: u64, end: u64) -> Result<(), Trouble> {
        self.block[Field::First as usize] = first;
        self.block[Field::End as usize] = end;
        let bytes: Vec<u8> = self.block.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.device.write(self.block_at, &bytes)?;
        self.device.launch(kernel, end - first, self.block_at)
    }

    pub(crate) fn write_counters(&mut self) -> Result<(), Trouble> {
        let bytes: Vec<u8> = self.counters.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.device.write(self.block[Field::Counters as usize], &bytes)
    }

    fn read_counters(&mut self) -> Result<(), Trouble> {
        let mut bytes = vec![0; 8 * COUNTERS];
        self.device.read(self.block[Field::Counters as usize], &mut bytes)?;
        for (word, bytes) in self.counters.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
        }
        Ok(())
    }

    pub(crate) fn counter(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// The sum over all groups.
    pub(crate) fn sum(&self, which: usize) -> u64 {
        let first = Counter::Groups as usize + which;
        (0..GROUPS).map(|group| self.counters[first + group * GROUP_WORDS]).sum()
    }

    /// Tells the kernels where the states lie.
    fn place_arena(&mut self) {
        let fields = [Field::Arena, Field::Base, Field::Blocks, Field::Shift];
        for (field, word) in fields.into_iter().zip(self.arena.words()) {
            self.block[field as usize] = word;
        }
        let most_folded = if self.is_folded() { self.slots / 8 * 7 } else { u64::MAX };
        let most = self.numbers.min(self.most_whole()).min(most_folded);
        self.block[Field::Capacity as usize] = self.arena.end().min(most);
    }

    /// One more than the last number that there is room for.
    fn capacity(&self) -> u64 {
        self.block[Field::Capacity as usize]
    }

    /// How many numbers were given to states; those beyond the capacity were given to none.
    fn given(&self) -> u64 {
        self.counter(Counter::Next).min(self.capacity())
    }

    pub(crate) fn states(&self) -> u64 {
        self.given() - self.counter(Counter::Dead)
    }

    pub(crate) fn memory(&self) -> u64 {
        self.state_bytes() + self.given() * self.beside + 8 * self.slots
    }

    /// How far the search is, the first of the states that wait being this one.
    pub(crate) fn progress(&self, first: u64) -> Progress {
        Progress {
            states: self.states(),
            transitions: 1 + self.sum(0),
            depth: self.levels.len() as u64 - 1,
            queue: self.given() - first,
            memory: self.arena.outside() as usize,
            ..Progress::default()
        }
    }

    /// Why the search ends now, the first of the states that wait being this one.
    pub(crate) fn stop(&self, first: u64, budget: &mut Budget<'_>) -> Option<Stop> {
        stop_in_time(budget, self.progress(first), self.arena.giving_back())
    }

    /// Expands a range of states; `None` if all went well.
    pub(crate) fn expand(
        &mut self,
        code: &CardCode,
        (first, end): (u64, u64),
        budget: &mut Budget<'_>,
    ) -> Result<Option<End>, Trouble> {
        loop {
            let before = self.counters.clone();
            let begin = Instant::now();
            self.run(EXPAND, first, end)?;
            self.at_once = match begin.elapsed() {
                taken if taken > LONG => (self.at_once / 2).max(1),
                taken if taken < SHORT => (self.at_once * 2).min(MOST_AT_ONCE),
                _ => self.at_once,
            };
            self.read_counters()?;
            let mut trouble = [0; 4];
            let tables = self.device.symbol(code.trouble.0)?;
            self.device.read(tables + u64::from(code.trouble.1), &mut trouble)?;
            if trouble != [0; 4] {
                return Ok(Some(End::TooLong));
            }
            if self.counter(Counter::Asked) != 0 {
                return Ok(Some(End::Asked));
            }
            if self.counter(Counter::Full) == 0 {
                return Ok(None);
            }
            if let Some(stop) = self.make_more_room(budget)? {
                return Ok(Some(End::Limit(stop)));
            }
            // What stays as it is: numbers that were given, and states that were marked.
            let kept = [Counter::Next, Counter::Dead, Counter::Marked];
            let after = std::mem::replace(&mut self.counters, before);
            let nodes = Counter::Groups as usize + GROUP_WORDS - 1;
            let nodes = (0..GROUPS).map(|group| nodes + group * GROUP_WORDS);
            for counter in kept.map(|counter| counter as usize).into_iter().chain(nodes) {
                self.counters[counter] = after[counter];
            }
            self.write_counters()?;
        }
    }

    /// Expands all levels, or all buckets of preemptions up to the last one.
    pub(crate) fn explore(
        &mut self,
        code: &CardCode,
        wanted: &Wanted,
        bound: Option<u32>,
        budget: &mut Budget<'_>,
    ) -> Result<Found, Trouble> {
        let (end, buckets) = match bound {
            Some(last) => {
                let (end, buckets) = self.buckets_until(code, wanted, last, budget)?;
                (end, Some(buckets))
            }
            None => (self.levels_until(code, wanted, budget)?, None),
        };
        let mut taken = vec![0; wanted.moves];
        self.device.read(self.block[Field::Taken as usize], &mut taken)?;
        let erroneous = self.counter(Counter::Erroneous);
        let (states, memory, moved) = (self.states(), self.memory(), self.arena.moved());
        let given = self.given();
        let folded = [given, self.state_bytes(), given * self.stride];
        let folded = self.is_folded().then_some(folded);
        let cut = self.counter(Counter::Cut) != 0;
        let (arrivals, atomic_steps, errors) = (self.sum(0), self.sum(1), self.sum(2));
        // Visits are made in no particular order.
        let depth = if buckets.is_some() { 0 } else { self.levels.len() as u64 - 1 };
        let is_wanted =
            matches!(end, End::Over | End::Limit(_)) && erroneous != u64::MAX && buckets.is_none();
        let way = if is_wanted { Some(self.way_to(erroneous)?) } else { None };
        let taken = taken.iter().map(|byte| *byte != 0).collect();
        Ok(Found {
            end,
            states,
            arrivals,
            atomic_steps,
            errors,
            depth,
            memory,
            moved,
            folded,
            cut,
            taken,
            buckets,
            way,
        })
    }

    fn levels_until(
        &mut self,
        code: &CardCode,
        wanted: &Wanted,
        budget: &mut Budget<'_>,
    ) -> Result<End, Trouble> {
        let mut first = 0;
        loop {
            let level_end = self.counter(Counter::Next);
            while first < level_end {
                if let Some(stop) = self.stop(first, budget) {
                    return Ok(End::Limit(stop));
                }
                if let Some(stop) = self.make_room(budget)? {
                    return Ok(End::Limit(stop));
                }
                let end = level_end.min(first + self.at_once);
                if let Some(reason) = self.expand(code, (first, end), budget)? {
                    return Ok(reason);
                }
                first = end;
                if wanted.most_errors != 0 && self.sum(2) >= wanted.most_errors {
                    return Ok(End::Over);
                }
            }
            if self.counter(Counter::Next) == level_end {
                return Ok(End::Over);
            }
            self.levels.push(level_end);
            if wanted.depth.is_some_and(|depth| self.levels.len() as u64 >= depth) {
                return Ok(End::Limit(Stop::Depth));
            }
        }
    }

    /// Whether the card has a state.
    fn knows(&mut self, code: &CardCode, state: &[u8]) -> Result<bool, Trouble> {
        /// So many slots are read at once.
        const SLOTS: u64 = 16;
        let hash = code.hash(state);
        let (tag, mut slot) = (hash >> 40, hash & (self.slots - 1));
        for _ in 0..self.slots / SLOTS + 2 {
            let count = SLOTS.min(self.slots - slot);
            let mut bytes = vec![0; 8 * count as usize];
            self.device.read(self.block[Field::Index as usize] + 8 * slot, &mut bytes)?;
            for entry in bytes.chunks_exact(8) {
                let entry = u64::from_le_bytes(std::array::from_fn(|at| entry[at]));
                if entry == 0 {
                    return Ok(false);
                }
                let number = (entry & ((1 << 40) - 1)) - 1;
                if entry >> 40 == tag && self.state(number)? == state {
                    return Ok(true);
                }
            }
            slot = (slot + count) & (self.slots - 1);
        }
        Ok(false)
    }

    /// Looks at some states all of whose successors the card should have: whether it has what the processor finds.
    pub(crate) fn agrees(
        &mut self,
        form: observed::Form<'_>,
        samples: u64,
        successors: impl Fn(&[u8]) -> Option<Vec<Vec<u8>>>,
    ) -> Result<bool, Trouble> {
        let states = self.given();
        // To read a folded state takes as many questions as it has parts.
        let samples = if self.is_folded() { samples / 8 } else { samples };
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for sample in 0..samples.min(states) {
            // The first ones, where a mistake shows soonest, and any others.
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let number = if sample < samples / 4 { sample } else { (random >> 16) % states };
            let mut dead = [0; 4];
            let word = self.block[Field::Dead as usize] + number / 32 * 4;
            self.device.read(word, &mut dead)?;
            if u32::from_le_bytes(dead) >> (number % 32) & 1 != 0 {
                continue;
            }
            let state = self.state(number)?;
            let vector = form.vector(&state);
            let Some(after) = vector.and_then(|vector| successors(&vector)) else {
                return Ok(false);
            };
            for next in after {
                let Some(next) = form.state(&next) else { return Ok(false) };
                if !self.knows(form.code, &next)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn state(&mut self, number: u64) -> Result<Vec<u8>, Trouble> {
        if self.is_folded() {
            return self.unfolded(number);
        }
        let mut state = vec![0; self.stride as usize];
        self.device.read(self.arena.address(number), &mut state)?;
        Ok(state)
    }

    /// The states from the first one to this one.
    fn way_to(&mut self, number: u64) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut way = vec![self.state(number)?];
        let mut level = self.levels.partition_point(|first| *first <= number) - 1;
        self.block[Field::Flags as usize] |= SEEK;
        while level > 0 {
            let target = way.last().cloned().unwrap_or_default();
            self.device.write(self.block[Field::Target as usize], &target)?;
            self.counters[Counter::Found as usize] = u64::MAX;
            self.counters[Counter::Full as usize] = 0;
            self.write_counters()?;
            let (first, end) = (self.levels[level - 1], self.levels[level]);
            self.run(EXPAND, first, end)?;
            self.read_counters()?;
            let found = self.counter(Counter::Found);
            if found == u64::MAX {
                return Err(Trouble(format!(
                    "state {number} of level {} has no predecessor on the card",
                    self.levels.partition_point(|first| *first <= number) - 1
                )));
            }
            way.push(self.state(found)?);
            level -= 1;
        }
        way.reverse();
        Ok(way)
    }
}

impl<D: Device> Drop for Search<'_, D> {
    fn drop(&mut self) {
        self.arena.free(self.device);
        for address in std::mem::take(&mut self.allocated) {
            self.device.free(address);
        }
    }
}
