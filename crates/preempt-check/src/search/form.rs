//! The two forms of a depth-first search: on copies of the states, or in place.
//!
//! On copies every successor is written out as soon as its predecessor is entered. In place there is one
//! state, and of its successors only what differs. A [`Form`] keeps the successors of the frames on the
//! stack, one section behind the other, and knows the state of the top frame.

use super::brief::Brief;
use super::leads::LeadList;
use crate::store::{Pending, StateId, Store, StoreFull, pages};
use preempt_core::{Lead, ProcessId, Step, System};

/// Successors of the frames on a stack, and the state of the frame on top.
pub(crate) trait Form: Default {
    /// The successors. Where their bytes are is the form's business.
    fn list(&self) -> &LeadList;

    /// Has deterministic parts of indivisible sequences passed over or not, if the form can.
    #[inline(always)]
    fn follow_sequences(&mut self, _follow: bool) {}

    /// Calls `each` for the steps of an indivisible sequence that follow the step to a successor.
    #[inline(always)]
    fn each_inner(&self, _at: usize, _each: impl FnMut(Step)) {}

    /// Memory in use, in bytes.
    fn memory(&self) -> usize;

    /// Forgets the successors from `start` on.
    fn truncate(&mut self, start: usize);

    /// Forgets the successors before `start`.
    fn forget_before(&mut self, start: usize);

    /// Of the successors from `start` on, keeps those by steps of some processes.
    fn retain(&mut self, start: usize, keep: impl Fn(ProcessId) -> bool);

    /// The state of the top frame.
    fn state(&self) -> &[u8];

    /// Goes to the state of frame number `frame`.
    fn stand_at(&mut self, state: &[u8], frame: usize);

    /// Adds all successors of the state. Ends interrupted sequences as [`System::expand`] does.
    fn expand<S: System + ?Sized>(&mut self, system: &S);

    /// As [`System::expand_ample`].
    fn expand_ample<S: System + ?Sized>(
        &mut self,
        system: &S,
        behind: Option<ProcessId>,
        observed: bool,
    ) -> Option<ProcessId>;

    /// Shows a successor of the state; nothing but [`Form::hide`] may follow.
    fn show(&mut self, at: usize) -> &[u8];

    /// Ends the showing of a successor.
    fn hide(&mut self, at: usize);

    /// Goes to a successor.
    fn enter(&mut self, at: usize);

    /// Goes back from a successor that was entered. On copies the state is as good as forgotten until
    /// [`Form::recall`].
    fn go_back(&mut self, at: usize);

    /// To be called after [`Form::go_back`] before the state is needed, which is told as such or
    /// as a successor of the frame below.
    fn recall(&mut self, told: Result<&[u8], usize>);

    /// Calls `each` for the states along a path: first the given one of frame number `frame`, then the
    /// successors that were taken.
    fn along(
        &self,
        state: &[u8],
        frame: usize,
        taken: impl Iterator<Item = usize>,
        each: impl FnMut(&[u8]),
    );

    /// The hash of the state.
    fn hash(&self, store: &impl Store) -> u64;

    /// Adds the hashes of the successors from `start` on, and fetches what their lookups will need. The
    /// state is `parent`, if it is stored.
    fn hash_section(
        &mut self,
        store: &mut impl Store,
        start: usize,
        parent: Option<StateId>,
        hashes: &mut Vec<u64>,
    ) -> Result<(), StoreFull>;
}

/// The search on copies.
#[derive(Default, Debug)]
pub(crate) struct Copies {
    successors: Brief,
    state: Vec<u8>,
    /// Successors that are being hashed.
    near: Vec<Pending>,
}

impl Form for Copies {
    #[inline(always)]
    fn list(&self) -> &LeadList {
        self.successors.list()
    }

    #[inline(always)]
    fn follow_sequences(&mut self, follow: bool) {
        self.successors.follow_sequences(follow);
    }

    #[inline(always)]
    fn each_inner(&self, at: usize, each: impl FnMut(Step)) {
        self.successors.inner(at).for_each(each);
    }

    fn memory(&self) -> usize {
        self.successors.memory()
    }

    #[inline(always)]
    fn truncate(&mut self, start: usize) {
        self.successors.truncate(start);
    }

    fn forget_before(&mut self, start: usize) {
        self.successors.forget_before(start);
    }

    fn retain(&mut self, start: usize, keep: impl Fn(ProcessId) -> bool) {
        self.successors.retain(start, keep);
    }

    #[inline(always)]
    fn state(&self) -> &[u8] {
        &self.state
    }

    fn stand_at(&mut self, state: &[u8], _: usize) {
        self.state.clear();
        self.state.extend_from_slice(state);
    }

    #[inline(always)]
    fn expand<S: System + ?Sized>(&mut self, system: &S) {
        self.successors.expand(system, &mut self.state);
    }

    #[inline(always)]
    fn expand_ample<S: System + ?Sized>(
        &mut self,
        system: &S,
        behind: Option<ProcessId>,
        observed: bool,
    ) -> Option<ProcessId> {
        self.successors.expand_ample(system, &mut self.state, behind, observed)
    }

    #[inline(always)]
    fn show(&mut self, at: usize) -> &[u8] {
        &self.successors.bytes[self.successors.range(at)]
    }

    #[inline(always)]
    fn enter(&mut self, at: usize) {
        let range = self.successors.range(at);
        self.state.clear();
        self.state.extend_from_slice(&self.successors.bytes[range]);
    }

    #[inline(always)]
    fn hide(&mut self, _: usize) {}

    #[inline(always)]
    fn go_back(&mut self, _: usize) {}

    fn recall(&mut self, told: Result<&[u8], usize>) {
        match told {
            Ok(state) => self.stand_at(state, 0),
            Err(at) => self.enter(at),
        }
    }

    fn along(
        &self,
        state: &[u8],
        _: usize,
        taken: impl Iterator<Item = usize>,
        mut each: impl FnMut(&[u8]),
    ) {
        each(state);
        taken.for_each(|at| each(&self.successors.bytes[self.successors.range(at)]));
    }

    #[inline(always)]
    fn hash(&self, store: &impl Store) -> u64 {
        store.hash(&self.state)
    }

    #[inline(always)]
    fn hash_section(
        &mut self,
        store: &mut impl Store,
        start: usize,
        parent: Option<StateId>,
        hashes: &mut Vec<u64>,
    ) -> Result<(), StoreFull> {
        let leads = self.successors.leads(start);
        if let Some(parent) = parent
            && store.hashes_near()
        {
            self.near.clear();
            for lead in leads {
                let range = lead.range();
                // Inside a sequence nothing is stored, so nothing need be known of it.
                let is_stored = lead.result & Lead::TRANSIENT == 0;
                let end = if is_stored { range.end } else { range.start };
                self.near.push(Pending::new(0, range.start, end));
            }
            store.hash_successors(parent, &self.successors.bytes, &mut self.near)?;
            hashes.extend(self.near.iter().map(|pending| pending.hash));
            return Ok(());
        }
        pages::make_room(hashes, leads.len());
        for lead in leads {
            let hash = store.hash(&self.successors.bytes[lead.range()]);
            store.prefetch(hash);
            hashes.push(hash);
        }
        Ok(())
    }
}
