//! Depth-first search in place: one state, changed by each step and changed back.
//!
//! The section of a frame tells of each successor in what it differs from the state, so it takes a few
//! words however long states are, and the hash of a successor follows from that of the state. To go to a
//! successor and to come back are the same exclusive or, see [`Vector`].
//!
//! Invariant: the vector is the state of the top frame, or a successor of it that is being shown.

use super::state_access::Form;
use crate::search::shared::compact_successors::Brief;
use crate::search::shared::header_list::LeadList;
use crate::store::{Pending, StateId, Store, StoreFull, pages};
use preempt_core::{Difference, Lead, ProcessId, System, Vector};
use std::ops::Range;

/// The search in place.
#[derive(Default, Debug)]
pub(crate) struct InPlace {
    vector: Vector,
    /// How many frames lie below the top.
    frame: usize,
    list: LeadList,
    /// What each successor differs in, one behind the other.
    differences: Vec<Difference>,
    /// Frames whose sequences were interrupted, and what became different by that.
    settled: Vec<(usize, Vec<Difference>)>,
    /// For systems that do not work in place.
    copies: Brief,
    copy: Vec<u8>,
    near: Vec<Pending>,
}

impl InPlace {
    #[inline(always)]
    fn range(&self, at: usize) -> Range<usize> {
        self.list.lead(at).range()
    }

    /// Goes to a successor, or back from it.
    #[inline(always)]
    fn change(&mut self, at: usize) {
        self.vector.change(&self.differences[self.list.lead(at).range()]);
    }

    #[inline(always)]
    fn make_room(&mut self) {
        pages::make_room(&mut self.list.leads.list, 64);
        pages::make_room(&mut self.differences, 1 << 10);
    }

    /// Takes over what was told of copies.
    fn compare(&mut self) {
        if self.copy != self.vector.state() {
            let mut differences = Vec::new();
            self.vector.differences(&self.copy, &mut differences);
            self.vector.change(&differences);
            self.settled.push((self.frame, differences));
        }
        for at in 0..self.copies.len() {
            let (step, outcome, _) = self.copies.get(at);
            let lead = self.copies.leads(at)[0];
            let start = self.differences.len();
            let successor = &self.copies.bytes[lead.range()];
            self.vector.differences(successor, &mut self.differences);
            let length = (self.differences.len() - start) as u32;
            let lead = Lead { start: start as u32, length, ..lead };
            self.list.push(lead, step, outcome);
        }
        self.copies.truncate(0);
    }

    fn copy(&mut self) {
        self.copy.clear();
        self.copy.extend_from_slice(self.vector.state());
    }
}

impl Form for InPlace {
    #[inline(always)]
    fn list(&self) -> &LeadList {
        &self.list
    }

    fn memory(&self) -> usize {
        self.list.memory() + self.differences.len() * size_of::<Difference>()
    }

    #[inline(always)]
    fn truncate(&mut self, start: usize) {
        self.list.truncate(start, &mut self.differences);
    }

    fn forget_before(&mut self, start: usize) {
        self.list.forget_before(start, &mut self.differences);
    }

    fn retain(&mut self, start: usize, keep: impl Fn(ProcessId) -> bool) {
        self.list.retain(start, keep, &mut self.differences);
    }

    #[inline(always)]
    fn state(&self) -> &[u8] {
        self.vector.state()
    }

    fn stand_at(&mut self, state: &[u8], frame: usize) {
        self.vector.set(state);
        self.frame = frame;
        self.settled.retain(|(settled, _)| *settled < frame);
    }

    #[inline(always)]
    fn expand<S: System + ?Sized>(&mut self, system: &S) {
        self.make_room();
        let InPlace { vector, list, differences, .. } = self;
        if !system.expand_in_place(vector, &mut list.leads, differences) {
            self.copy();
            self.copies.expand(system, &mut self.copy);
            self.compare();
        }
    }

    #[inline(always)]
    fn expand_ample<S: System + ?Sized>(
        &mut self,
        system: &S,
        behind: Option<ProcessId>,
        observed: bool,
    ) -> Option<ProcessId> {
        self.make_room();
        let InPlace { vector, list, differences, .. } = self;
        let leads = &mut list.leads;
        match system.expand_ample_in_place(vector, behind, observed, leads, differences) {
            Some(found) => found,
            None => {
                self.copy();
                let found = self.copies.expand_ample(system, &mut self.copy, behind, observed);
                self.compare();
                found
            }
        }
    }

    #[inline(always)]
    fn show(&mut self, at: usize) -> &[u8] {
        self.change(at);
        self.vector.state()
    }

    #[inline(always)]
    fn enter(&mut self, at: usize) {
        self.change(at);
        self.frame += 1;
    }

    #[inline(always)]
    fn hide(&mut self, at: usize) {
        self.change(at);
    }

    #[inline(always)]
    fn go_back(&mut self, at: usize) {
        if self.settled.last().is_some_and(|(frame, _)| *frame == self.frame)
            && let Some((_, differences)) = self.settled.pop()
        {
            self.vector.change(&differences);
        }
        self.frame -= 1;
        self.change(at);
    }

    #[inline(always)]
    fn recall(&mut self, _: Result<&[u8], usize>) {}

    fn along(
        &self,
        state: &[u8],
        frame: usize,
        taken: impl Iterator<Item = usize>,
        mut each: impl FnMut(&[u8]),
    ) {
        let mut vector = Vector::default();
        vector.set(state);
        each(state);
        let mut settled =
            self.settled.iter().skip_while(|(settled, _)| *settled < frame).peekable();
        for (frame, at) in (frame..).zip(taken) {
            if let Some((_, differences)) = settled.next_if(|(settled, _)| *settled == frame) {
                vector.change(differences);
            }
            vector.change(&self.differences[self.range(at)]);
            each(vector.state());
        }
    }

    #[inline(always)]
    fn hash(&self, store: &impl Store) -> u64 {
        store.accept_hash(self.vector.hash()).unwrap_or(0)
    }

    #[inline(always)]
    fn hash_section(
        &mut self,
        store: &mut impl Store,
        start: usize,
        parent: Option<StateId>,
        hashes: &mut Vec<u64>,
    ) -> Result<(), StoreFull> {
        if let Some(parent) = parent
            && store.hashes_near()
        {
            return self.hash_near(store, start, parent, hashes);
        }
        pages::make_room(hashes, self.list.len() - start);
        for lead in self.list.from(start) {
            let hash = self.vector.hash_after(self.differences[lead.start as usize]);
            let hash = store.accept_hash(hash).unwrap_or(0);
            store.prefetch(hash);
            hashes.push(hash);
        }
        Ok(())
    }
}

impl InPlace {
    /// As [`Form::hash_section`], where the store makes use of the state before.
    fn hash_near(
        &mut self,
        store: &mut impl Store,
        start: usize,
        parent: StateId,
        hashes: &mut Vec<u64>,
    ) -> Result<(), StoreFull> {
        self.near.clear();
        self.copy.clear();
        for at in start..self.list.len() {
            let from = self.copy.len();
            if self.list.lead(at).result & (Lead::TRANSIENT | Lead::BROKEN) == 0 {
                self.change(at);
                self.copy.extend_from_slice(self.vector.state());
                self.change(at);
            }
            self.near.push(Pending::new(0, from, self.copy.len()));
        }
        store.hash_successors(parent, &self.copy, &mut self.near)?;
        hashes.extend(self.near.iter().map(|pending| pending.hash));
        Ok(())
    }
}
