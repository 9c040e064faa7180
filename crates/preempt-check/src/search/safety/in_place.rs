//! Depth-first search in place: one state, changed by each step and changed back.
//!
//! The section of a frame says of each successor in what it differs from the state, so it takes a few
//! words however long states are, and the hash of a successor follows from that of the state. To go to a
//! successor and to come back are the same exclusive or, see [`Vector`].
//!
//! Invariant: the vector is the state of the top frame, or a successor of it that is being shown.

use super::state_access::StateAccess;
use crate::store::memory::pages;
use crate::store::{Pending, StateId, Store, StoreFull};
use preempt_core::System;
use preempt_core::engine::{
    Answer, Difference, Request, Sink, SuccessorHeader, SuccessorList, Vector,
};

/// Successors that are not stored.
const SKIPPED: u32 = SuccessorHeader::TRANSIENT | SuccessorHeader::BROKEN;

/// The search in place.
#[derive(Default, Debug)]
pub(crate) struct InPlace {
    vector: Vector,
    /// How many frames lie below the top.
    frame: usize,
    /// What each successor differs in.
    successors: SuccessorList<Difference>,
    /// Frames whose sequences were interrupted, and what became different by that.
    interrupted: Vec<(usize, Vec<Difference>)>,
    copy: Vec<u8>,
    near: Vec<Pending>,
}

impl InPlace {
    /// Goes to a successor, or back from it.
    #[inline(always)]
    fn change(&mut self, at: usize) {
        self.vector.change(self.successors.get(at));
    }
}

impl StateAccess for InPlace {
    type Piece = Difference;

    #[inline(always)]
    fn list(&self) -> &SuccessorList<Difference> {
        &self.successors
    }

    #[inline(always)]
    fn list_mut(&mut self) -> &mut SuccessorList<Difference> {
        &mut self.successors
    }

    #[inline(always)]
    fn state(&self) -> &[u8] {
        self.vector.state()
    }

    fn stand_at(&mut self, state: &[u8], frame: usize) {
        self.vector.set(state);
        self.frame = frame;
        self.interrupted.retain(|(interrupted, _)| *interrupted < frame);
    }

    #[inline(always)]
    fn expand<S: System + ?Sized>(&mut self, system: &S, request: Request) -> Answer {
        pages::make_room(&mut self.successors.headers, 64);
        pages::make_room(&mut self.successors.data, 1 << 10);
        let sink = Sink::Differences(&mut self.vector, &mut self.successors);
        let answer = system.successors(request, sink);
        if !self.successors.interruption.is_empty() {
            let differences = std::mem::take(&mut self.successors.interruption);
            self.interrupted.push((self.frame, differences));
        }
        answer
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
        if self.interrupted.last().is_some_and(|(frame, _)| *frame == self.frame)
            && let Some((_, differences)) = self.interrupted.pop()
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
        let mut interrupted =
            self.interrupted.iter().skip_while(|(interrupted, _)| *interrupted < frame).peekable();
        for (frame, at) in (frame..).zip(taken) {
            if let Some((_, differences)) =
                interrupted.next_if(|(interrupted, _)| *interrupted == frame)
            {
                vector.change(differences);
            }
            vector.change(self.successors.get(at));
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
        pages::make_room(hashes, self.successors.len() - start);
        for header in &self.successors.headers[start..] {
            let first = self.successors.data[header.start as usize];
            let hash = self.vector.hash_after(first);
            let hash = store.accept_hash(hash).unwrap_or(0);
            store.prefetch(hash);
            hashes.push(hash);
        }
        Ok(())
    }
}

impl InPlace {
    /// As [`StateAccess::hash_section`], where the store makes use of the state before.
    fn hash_near(
        &mut self,
        store: &mut impl Store,
        start: usize,
        parent: StateId,
        hashes: &mut Vec<u64>,
    ) -> Result<(), StoreFull> {
        self.near.clear();
        self.copy.clear();
        for at in start..self.successors.len() {
            let from = self.copy.len();
            if self.successors.headers[at].result & SKIPPED == 0 {
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
