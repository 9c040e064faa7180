//! A card full of whole states folds them: equal parts are stored once, as `preempt-native/src/card/folded.rs` says.
//!
//! That is tried when five eighths of the memory for states are used, so that there is room for nodes beside the whole states. All
//! nodes are made; how many the newer half of the states needed besides those of the older says how many further ones will, and so
//! whether more states than before would fit. If so the roots take the place of the states from the front on, and the rest of the
//! memory is shared out anew: roots, a larger index, nodes. From then on successors are folded before they are looked for.
//!
//! Roots move to the machine's memory when there is no more room for them. When there is none for nodes or in the index, all
//! states move there whole, if they have room, and the search goes on as without folding.
//!
//! **Invariant:** states keep their numbers, so levels and dead numbers stay what they are, and the index stays valid, which knows
//! hashes of whole states and numbers.

use super::form::{Folded, Folds, Form, Region};
use super::{Search, sizes, stop_in_time};
use crate::arena::{Arena, blocks_in};
use crate::device::{Device, Trouble};
use preempt_check::{Budget, Progress};
use preempt_core::Stop;
use preempt_native::card::{
    Counter, FOLD, Field, GROUP_WORDS, GROUPS, LINE, REBUILD, ROOT_BYTES, UNFOLD,
};
use std::ops::Range;

/// How memory is shared out among folded states.
struct Shares {
    states: u64,
    slots: u64,
    node_slots: u64,
}

/// Of this many states that have room whole, so many are there when it is tried to fold them.
const TRIED: (u64, u64) = (8, 5);
/// So many bytes are written before the next look at the limits.
const STAGING: u64 = if cfg!(test) { 256 } else { 64 << 20 };
/// Parts of the memory begin at multiples of this.
const STEP: u64 = 256;
/// A longer text of kernels takes the driver too long while a search goes on.
const LONGEST: usize = 1 << 20;
/// It pays if so many times as many states have room.
const PAYS: f64 = 1.25;
/// So full the table of nodes is planned to be at most.
const FILLED: f64 = 0.85;

/// Of so many slots for nodes those that can be used: whole lines, of which each has a number of four bytes.
fn whole_lines(slots: u64) -> u64 {
    slots.min(u64::from(u32::MAX) - 1) / u64::from(LINE) * u64::from(LINE)
}

impl<D: Device> Search<'_, D> {
    /// So many states there are at most before it is tried to fold them.
    pub(super) fn most_whole(&self) -> u64 {
        match self.form {
            Form::Whole(Folds::Never, _) | Form::Kept | Form::Folded(_) => u64::MAX,
            Form::Whole(..) => (self.arena.end() / TRIED.0 * TRIED.1).max(2),
        }
    }

    pub(super) fn is_folded(&self) -> bool {
        matches!(self.form, Form::Folded(_))
    }

    /// How many nodes there are.
    fn nodes(&self) -> u64 {
        self.sum(GROUP_WORDS - 1)
    }

    /// Bytes of all states.
    pub(super) fn state_bytes(&self) -> u64 {
        match self.form {
            Form::Folded(_) => 8 * (self.given() + self.nodes()),
            _ => self.given() * self.stride,
        }
    }

    /// Folds all states, if that pays; says whether.
    pub(super) fn fold(&mut self, budget: &mut Budget<'_>) -> Result<bool, Trouble> {
        let Form::Whole(folds, code) = std::mem::replace(&mut self.form, Form::Kept) else {
            return Ok(false);
        };
        self.place_arena();
        let code = (folds != Folds::Never && self.arena.moved() == 0).then(code).flatten();
        let Some(code) = code.filter(|code| code.text.len() < LONGEST) else { return Ok(false) };
        let Region { at, bytes } = self.arena_region();
        let used = (self.given() * self.stride).next_multiple_of(STEP);
        let staging = STAGING.min((bytes.saturating_sub(used) / 8).max(self.stride));
        let staging = staging.next_multiple_of(STEP);
        let Some(free) = bytes.checked_sub(used + staging + STEP) else { return Ok(false) };
        let end = (at + bytes - staging) / STEP * STEP;
        let folded = Folded { nodes: end - free, staging: Region { at: end, bytes: staging } };
        if self.device.load(&code.text).is_err() {
            self.device.load(&self.code.text)?;
            return Ok(false);
        }
        let stops = |search: &mut Self| search.stop(search.given(), budget).is_some();
        if !self.fold_into(folds, folded, free, stops)? {
            self.device.load(&self.code.text)?;
            return Ok(false);
        }
        Ok(true)
    }

    fn arena_region(&self) -> Region {
        let (at, bytes) = self.arena.memory();
        Region { at, bytes }
    }

    /// Folds all states with so much memory for nodes; says whether that is done.
    fn fold_into(
        &mut self,
        folds: Folds,
        mut folded: Folded,
        free: u64,
        mut stops: impl FnMut(&mut Self) -> bool,
    ) -> Result<bool, Trouble> {
        let given = self.given();
        let half = given / 2;
        if whole_lines(free / 8) == 0 {
            return Ok(false);
        }
        self.clear_nodes(folded.nodes, free / 8)?;
        if !self.make_nodes(0..half, folded, &mut stops)? {
            return Ok(false);
        }
        let of_half = self.nodes();
        if !self.make_nodes(half..given, folded, &mut stops)? {
            return Ok(false);
        }
        let later = (self.nodes() - of_half) as f64 / (given - half) as f64;
        let region = self.arena_region();
        let bytes = folded.staging.at - region.at;
        let shares = self.shares(bytes, free, later);
        let pays = shares.states as f64 > PAYS * (region.bytes / self.stride) as f64;
        if !(pays || folds == Folds::Always) || shares.states <= given {
            return Ok(false);
        }
        let node_bytes = (8 * shares.node_slots).next_multiple_of(STEP).min(free);
        folded.nodes = folded.staging.at - node_bytes;
        self.clear_nodes(folded.nodes, node_bytes / 8)?;
        // They lie in other slots of a table of another size. All are there before the first whole state is given up.
        if !self.make_nodes(0..given, folded, &mut stops)? {
            return Ok(false);
        }
        for (first, end) in self.pieces(0..given, folded.staging.bytes / u64::from(ROOT_BYTES)) {
            self.run(FOLD, first, end)?;
            let (each, count) = (u64::from(ROOT_BYTES), end - first);
            self.device.copy(folded.staging.at, region.at + each * first, each * count)?;
        }
        self.read_counters()?;
        self.form = Form::Folded(folded);
        let mut top = folded.nodes;
        if shares.slots != self.slots {
            self.free(Field::Index);
            self.slots = shares.slots;
            top = (top - 8 * self.slots) / STEP * STEP;
            self.block[Field::Index as usize] = top;
            self.block[Field::Mask as usize] = self.slots - 1;
        }
        self.arena.fold(u64::from(ROOT_BYTES), (top - region.at) / u64::from(ROOT_BYTES));
        self.most_slots = self.slots;
        self.place_arena();
        if top != folded.nodes {
            self.device.fill(top, 8 * self.slots, 0)?;
            self.run(REBUILD, 0, given)?;
        }
        Ok(true)
    }

    /// Shares so many bytes out, of which nodes may have so many, if a further state needs so many of them.
    fn shares(&self, bytes: u64, most_for_nodes: u64, later: f64) -> Shares {
        let (root, each) = (f64::from(ROOT_BYTES), 8.0 * later / FILLED);
        // As if there had been so many nodes from the start.
        let first = (self.nodes() as f64 - later * self.given() as f64).max(0.0) * 8.0 / FILLED;
        let shares = sizes().filter(|slots| *slots >= self.slots).map_while(|slots| {
            let index = if slots == self.slots { 0 } else { 8 * slots };
            let rest = bytes.checked_sub(index + 2 * STEP)?;
            let states = ((rest as f64 - first) / (root + each)) as u64;
            let states = states.min(slots / 4 * 3);
            let for_nodes = rest.saturating_sub(u64::from(ROOT_BYTES) * states).min(most_for_nodes);
            let states = states.min(((for_nodes as f64 - first) / each) as u64);
            let node_slots = whole_lines(for_nodes / 8);
            (node_slots > 0).then_some(Shares { states, slots, node_slots })
        });
        let none = Shares { states: 0, slots: self.slots, node_slots: 0 };
        shares.max_by_key(|shares| shares.states).unwrap_or(none)
    }

    /// Forgets all nodes; from now on they lie here.
    fn clear_nodes(&mut self, at: u64, slots: u64) -> Result<(), Trouble> {
        let slots = whole_lines(slots);
        self.block[Field::Nodes as usize] = at;
        self.block[Field::NodeSlots as usize] = slots;
        for group in 0..GROUPS {
            self.counters[Counter::Groups as usize + group * GROUP_WORDS + GROUP_WORDS - 1] = 0;
        }
        self.counters[Counter::Full as usize] = 0;
        self.counters[Counter::NodesFull as usize] = 0;
        self.write_counters()?;
        self.device.fill(at, 8 * slots, 0)
    }

    fn pieces(&self, states: Range<u64>, most: u64) -> impl Iterator<Item = (u64, u64)> + use<D> {
        let firsts = states.clone().step_by(most.max(1) as usize);
        firsts.map(move |first| (first, states.end.min(first + most.max(1))))
    }

    /// Sees to it that these states have their nodes; `false` if there is no room for them, or no time.
    fn make_nodes(
        &mut self,
        states: Range<u64>,
        folded: Folded,
        stops: &mut impl FnMut(&mut Self) -> bool,
    ) -> Result<bool, Trouble> {
        self.block[Field::Staging as usize] = folded.staging.at;
        for (first, end) in self.pieces(states, folded.staging.bytes / u64::from(ROOT_BYTES)) {
            if stops(self) {
                return Ok(false);
            }
            self.run(FOLD, first, end)?;
            self.read_counters()?;
            if self.counter(Counter::NodesFull) != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A folded state, whole.
    pub(super) fn unfolded(&mut self, number: u64) -> Result<Vec<u8>, Trouble> {
        let stride = self.stride as usize;
        let mut tree = vec![0; 2 * stride];
        self.device.read(self.arena.address(number), &mut tree[8..16])?;
        for node in 2..stride / 4 {
            let number = u32::from_le_bytes(std::array::from_fn(|at| tree[4 * node + at]));
            if number != u32::MAX {
                let place = self.block[Field::Nodes as usize] + 8 * u64::from(number);
                self.device.read(place, &mut tree[8 * node..8 * node + 8])?;
            }
        }
        Ok(tree.split_off(stride))
    }

    /// Has all states leave the card whole; gives why they do not, or why the search ends.
    pub(super) fn unfold(&mut self, budget: &mut Budget<'_>) -> Result<Option<Stop>, Trouble> {
        let Form::Folded(folded) = self.form else { return Ok(Some(Stop::Memory)) };
        let given = self.given();
        let slots = sizes().find(|slots| slots / 4 * 3 > given + 1);
        let Some(slots) = slots else { return Ok(Some(Stop::Memory)) };
        let outside = self.outside.saturating_sub(self.arena.outside());
        let most_blocks = blocks_in(outside, self.stride, self.numbers);
        if self.room_beside(slots).is_none() {
            return Ok(Some(Stop::Memory));
        }
        let mut whole = Arena::outside_alone(self.device, self.stride, most_blocks)?;
        let most = folded.staging.bytes / self.stride;
        let mut first = 0;
        while first < given {
            let memory = (self.arena.outside() + whole.outside()) as usize;
            let progress = Progress { memory, ..self.progress(given) };
            let needed = self.arena.giving_back() + whole.giving_back();
            let stop = stop_in_time(budget, progress, needed);
            let place = match stop {
                None => whole.next_place(self.device, first)?,
                Some(_) => None,
            };
            let Some((to, left)) = place else {
                whole.free(self.device);
                return Ok(stop.or(Some(Stop::Memory)));
            };
            let end = given.min(first + most.min(left));
            self.run(UNFOLD, first, end)?;
            self.device.copy(folded.staging.at, to, (end - first) * self.stride)?;
            whole.has_left(end);
            first = end;
        }
        self.free(Field::Index);
        let mut roots = std::mem::replace(&mut self.arena, whole);
        roots.free(self.device);
        self.form = Form::Kept;
        self.device.load(&self.code.text)?;
        self.place_arena();
        self.rearrange(slots, budget)
    }
}
