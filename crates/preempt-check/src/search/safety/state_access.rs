//! How a depth-first search gets at its states: on copies, or in place.
//!
//! On copies every successor is written out as soon as its predecessor is entered. In place there is one
//! state, and of its successors only what differs. [`StateAccess`] keeps the successors of the frames on the
//! stack, one section behind the other, and knows the state of the top frame.

use crate::store::memory::pages;
use crate::store::{Pending, StateId, Store, StoreFull};
use preempt_core::engine::{Answer, Request, Sink, SuccessorHeader, SuccessorList, Successors};
use preempt_core::{Outcome, Step, System};

/// Successors of the frames on a stack, and the state of the frame on top.
pub(crate) trait StateAccess: Default {
    /// What a successor consists of.
    type Piece: Copy;

    /// The successors.
    fn list(&self) -> &SuccessorList<Self::Piece>;

    /// The same, to be changed.
    fn list_mut(&mut self) -> &mut SuccessorList<Self::Piece>;

    /// A header for each successor. Where they lie is not the search's business.
    #[inline(always)]
    fn headers(&self) -> &[SuccessorHeader] {
        &self.list().headers
    }

    /// The step to a successor, and how it went.
    #[inline(always)]
    fn step(&self, at: usize) -> (Step, Outcome) {
        self.list().step(at)
    }

    /// Has deterministic parts of indivisible sequences run in one go or not, if it can.
    #[inline(always)]
    fn run_sequences(&mut self, _run: bool) {}

    /// Whether a successor from `start` on lies behind steps of such a sequence.
    #[inline(always)]
    fn runs_sequences(&self, start: usize) -> bool {
        self.headers()[start..].iter().any(|header| header.result != 0 && header.inner_steps() > 0)
    }

    /// Calls `each` for the steps of an indivisible sequence that follow the step to a successor.
    #[inline(always)]
    fn each_inner(&self, _at: usize, _each: impl FnMut(Step)) {}

    /// Memory in use, in bytes.
    fn memory(&self) -> usize {
        self.list().memory()
    }

    /// Forgets the successors from `start` on.
    #[inline(always)]
    fn truncate(&mut self, start: usize) {
        self.list_mut().truncate(start);
    }

    /// The state of the top frame.
    fn state(&self) -> &[u8];

    /// Goes to the state of frame number `frame`.
    fn stand_at(&mut self, state: &[u8], frame: usize);

    /// Adds the successors of the state that are asked for. May end an interrupted sequence.
    fn expand<S: System + ?Sized>(&mut self, system: &S, request: Request) -> Answer;

    /// Shows a successor of the state; nothing but [`StateAccess::hide`] may follow.
    fn show(&mut self, at: usize) -> &[u8];

    /// Ends the showing of a successor.
    fn hide(&mut self, at: usize);

    /// Goes to a successor.
    fn enter(&mut self, at: usize);

    /// Goes back from a successor that was entered. On copies the state is as good as forgotten until
    /// [`StateAccess::recall`].
    fn go_back(&mut self, at: usize);

    /// To be called after [`StateAccess::go_back`] before the state is needed, which is given as such or
    /// as a successor of the frame below.
    fn recall(&mut self, given: Result<&[u8], usize>);

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
    successors: Successors,
    state: Vec<u8>,
    /// Successors that are being hashed.
    near: Vec<Pending>,
}

impl StateAccess for Copies {
    type Piece = u8;

    #[inline(always)]
    fn list(&self) -> &SuccessorList<u8> {
        &self.successors
    }

    #[inline(always)]
    fn list_mut(&mut self) -> &mut SuccessorList<u8> {
        &mut self.successors
    }

    #[inline(always)]
    fn run_sequences(&mut self, run: bool) {
        self.successors.run_sequences = run;
    }

    #[inline(always)]
    fn each_inner(&self, at: usize, each: impl FnMut(Step)) {
        self.successors.headers[at].inner(&self.successors.data).for_each(each);
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
    fn expand<S: System + ?Sized>(&mut self, system: &S, request: Request) -> Answer {
        // Room for the successors of a usual state.
        pages::make_room(&mut self.successors.headers, 64);
        pages::make_room(&mut self.successors.data, 1 << 13);
        system.successors(request, Sink::Copies(&mut self.state, &mut self.successors))
    }

    #[inline(always)]
    fn show(&mut self, at: usize) -> &[u8] {
        self.successors.get(at)
    }

    #[inline(always)]
    fn enter(&mut self, at: usize) {
        self.state.clear();
        self.state.extend_from_slice(self.successors.get(at));
    }

    #[inline(always)]
    fn hide(&mut self, _: usize) {}

    #[inline(always)]
    fn go_back(&mut self, _: usize) {}

    fn recall(&mut self, given: Result<&[u8], usize>) {
        match given {
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
        taken.for_each(|at| each(self.successors.get(at)));
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
        let headers = &self.successors.headers[start..];
        if let Some(parent) = parent
            && store.hashes_near()
        {
            self.near.clear();
            for header in headers {
                let range = header.range();
                // Inside a sequence nothing is stored, so nothing need be known of it.
                let is_stored = !header.is_transient();
                let end = if is_stored { range.end } else { range.start };
                self.near.push(Pending::new(0, range.start, end));
            }
            store.hash_successors(parent, &self.successors.data, &mut self.near)?;
            hashes.extend(self.near.iter().map(|pending| pending.hash));
            return Ok(());
        }
        pages::make_room(hashes, headers.len());
        for header in headers {
            let hash = store.hash(&self.successors.data[header.range()]);
            store.prefetch(hash);
            hashes.push(hash);
        }
        Ok(())
    }
}
