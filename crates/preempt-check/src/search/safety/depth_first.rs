//! Depth-first search, in the order in which the system lists its steps.
//!
//! The stack is explicit and grows with memory only. Where a reduction selects some of the steps
//! of a state, these are explored first, and the rest only if none of them led off the stack:
//! Spin's rule, decided after the fact, so that no state is looked up for it twice.
//!
//! Counts have Spin's meanings: `matched` are arrivals at known states, steps into an indivisible
//! sequence are `atomic_steps`, and `depth` is the longest stack in steps.

use super::in_place::InPlace;
use super::state_access::{Copies, StateAccess};
use super::window::{Frame, Window};
use crate::reduce::{Gain, Pick, Reducer};
use crate::search::shared::halt::Halt;
use crate::search::shared::statistics::Counters;
use crate::store::memory::pages;
use crate::store::{Exact, Inserted, Masked, StateId, Store, StoreFull};
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::engine::Request;
use preempt_core::{Enabled, Outcome, Step, Stop, System};

/// Indivisible sequences with more steps than this, over all their branches, are checked for loops.
const LONG_SEQUENCE: u32 = 1 << 14;

/// So many frames below the top the search is expected to return to before what they need has been
/// fetched.
const AHEAD: usize = 3;

/// States of so many bytes are changed in place rather than copied, and of so many where they are not even
/// compared. For shorter ones the search on copies is quicker: a step in place costs the same whatever the
/// length, copying and hashing do not.
const LONG: usize = 400;
const LONG_ENOUGH_TO_HASH: usize = 256;
/// Bytes of successors kept before old sections are dropped.
const WINDOW: usize = 32 << 20;
/// So many states along one path are looked at to see how long states are.
const LOOKED_AT: usize = 48;

/// Searches all executions depth-first.
pub(crate) fn depth_first<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    in_memory(system, store, options, budget, None)
}

/// Takes each violating execution, as its steps.
pub type Found<'a> = &'a mut dyn FnMut(&[Step]);

/// Searches all executions depth-first, one thread, states stored exactly, and gives each violation that it meets to
/// `found`: for tools that make something of each, such as a test case.
pub fn each_violation(
    system: &dyn System,
    options: &Options,
    budget: &mut Budget,
    found: Found<'_>,
) -> Finding {
    in_memory(system, &mut Exact::new(budget.memory_limit()), options, budget, Some(found))
}

fn in_memory<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    budget: &mut Budget,
    found: Option<Found<'_>>,
) -> Finding {
    let unmatched = system.unmatched();
    if !unmatched.is_empty() {
        let mut store = Masked::new(store, unmatched);
        return explore::<_, _, Copies>(system, &mut store, options, budget, WINDOW, found);
    }
    let can = system.is_compiled() && store.accept_hash(0).is_some();
    let long = if store.looks_at_bytes() { LONG } else { LONG_ENOUGH_TO_HASH };
    match can && longest_of_a_few(system) >= long {
        true => explore::<_, _, InPlace>(system, store, options, budget, WINDOW, found),
        false => explore::<_, _, Copies>(system, store, options, budget, WINDOW, found),
    }
}

/// How long states are, as far as one path shows: they may grow.
pub(crate) fn longest_of_a_few<S: System + ?Sized>(system: &S) -> usize {
    let (mut state, mut enabled, mut longest) = (Vec::new(), Enabled::new(), 0);
    if matches!(system.initial(&mut state), Outcome::Broken(_)) {
        return 0;
    }
    for _ in 0..LOOKED_AT {
        longest = longest.max(state.len());
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let Some(step) = enabled.steps().first() else { break };
        if system.apply(&mut state, *step) != Outcome::Done {
            break;
        }
    }
    longest
}

fn explore<S: System + ?Sized, T: Store, A: StateAccess>(
    system: &S,
    store: &mut T,
    options: &Options,
    budget: &mut Budget,
    window: usize,
    found: Option<Found<'_>>,
) -> Finding {
    let mut search = DepthFirst::<_, _, A> {
        system,
        store,
        found,
        depth_limit: options.depth.unwrap_or(u64::MAX),
        counters: Counters::new(system, options),
        frames: Vec::new(),
        window: Window::new(window),
        on_stack: Vec::new(),
        reducer: Reducer::new(options),
        gain: Gain::new(options),
        long_sequences: Exact::new(budget.memory_limit() / 8),
        sequence_steps: 0,
    };
    let mut reduction_useless = false;
    match search.explore(budget) {
        Err(Halt::Stop(stop)) => search.counters.stop = Some(stop),
        Err(Halt::ReductionUseless) => reduction_useless = true,
        _ => {}
    }
    let finding = search.counters.finish(system, search.store.len() as u64);
    Finding { reduction_useless, ..finding }
}

struct DepthFirst<'a, 'f, S: ?Sized, T, A> {
    system: &'a S,
    store: &'a mut T,
    found: Option<Found<'f>>,
    depth_limit: u64,
    counters: Counters,
    frames: Vec<Frame>,
    window: Window<A>,
    /// One bit per stored state; unused without reduction.
    on_stack: Vec<u64>,
    reducer: Reducer,
    gain: Gain,
    /// States inside very long indivisible sequences, which might never end.
    long_sequences: Exact,
    /// Steps inside sequences since the last stored state.
    sequence_steps: u32,
}

impl<S: System + ?Sized, T: Store, A: StateAccess> DepthFirst<'_, '_, S, T, A> {
    fn explore(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        let mut state = Vec::new();
        let outcome = self.system.initial(&mut state);
        self.window.start(&state);
        self.run_sequences(true);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.counters.reports(self.system, fault)
        {
            let system = self.system;
            if self.counters.error(|| Counterexample::from_fault(system, Vec::new(), fault)) {
                return Err(Halt::Enough);
            }
        }
        if matches!(outcome, Outcome::Broken(_)) {
            return Ok(());
        }
        self.arrive(0, false, None)?;
        while let Some(top) = self.frames.last_mut() {
            if top.next == top.count {
                self.leave()?;
                continue;
            }
            let at = (top.start + top.next) as usize;
            top.next += 1;
            let below = top.depth;
            if top.id.is_some() {
                self.sequence_steps = 0;
            }
            let header = &self.window.states.headers()[at];
            let (transient, inner) = match header.result {
                0 => (false, 0),
                _ => (header.is_transient(), header.inner_steps() as u32),
            };
            let (step, outcome) = self.window.states.step(at);
            self.counters.take(self.system, step);
            if outcome != Outcome::Done {
                self.fault(outcome)?;
                if matches!(outcome, Outcome::Broken(_)) {
                    continue;
                }
            }
            if inner > 0 {
                self.pass_inner(at, inner);
            }
            let depth = below + self.system.depth_of(step) + inner;
            // Of a rendezvous the first half counts even if the second leads to a known state.
            self.counters.depth = self.counters.depth.max(u64::from(depth) - 1);
            if u64::from(depth) >= self.depth_limit {
                self.counters.stop = Some(Stop::Depth);
                self.counters.matched += 1;
                continue;
            }
            if transient {
                self.counters.atomic_steps += 1;
                self.window.states.enter(at);
                self.sequence_steps += 1;
                self.arrive(depth, true, None)?;
            } else {
                let inserted = self.insert(at)?;
                if !inserted.new {
                    self.matched(inserted.id);
                    continue;
                }
                self.window.states.enter(at);
                self.arrive(depth, false, Some(inserted.id))?;
            }
            budget.spend(|| Progress {
                states: self.store.len() as u64,
                transitions: self.store.len() as u64 + self.counters.matched,
                depth: self.frames.len() as u64,
                queue: self.frames.len() as u64,
                memory: self.memory(),
                ..Progress::default()
            })?;
        }
        Ok(())
    }

    /// Counts the steps of an indivisible sequence that lie between a step and its successor.
    fn pass_inner(&mut self, at: usize, inner: u32) {
        let (counters, system) = (&mut self.counters, self.system);
        self.window.states.each_inner(at, |step| counters.take(system, step));
        counters.atomic_steps += u64::from(inner);
        self.sequence_steps = self.sequence_steps.saturating_add(inner);
    }

    /// Offers a successor to the store.
    #[inline(always)]
    fn insert(&mut self, at: usize) -> Result<Inserted, StoreFull> {
        let Window { states, hashes, .. } = &mut self.window;
        if !self.store.looks_at_bytes() {
            return self.store.insert_hashed(hashes[at], &[]);
        }
        let inserted = self.store.insert_hashed(hashes[at], states.show(at));
        states.hide(at);
        inserted
    }

    fn memory(&self) -> usize {
        self.store.bytes()
            + self.window.bytes()
            + self.long_sequences.bytes()
            + self.on_stack.len() * 8
            + self.frames.len() * size_of::<Frame>()
    }

    /// Enters the state that the search stands at, which is new (`id` given), or transient, or was so until now.
    fn arrive(&mut self, depth: u32, transient: bool, id: Option<StateId>) -> Result<(), Halt> {
        let bytes = self.window.states.state().len();
        self.counters.state_bytes = self.counters.state_bytes.max(bytes);
        let start = self.window.states.headers().len() as u32;
        let mut pick = self.fill_first(id.is_some());
        let mut id = id;
        if id.is_none() {
            let state = self.window.states.state();
            if transient && self.system.is_transient(state) {
                let long = self.sequence_steps > LONG_SEQUENCE;
                if long && !self.long_sequences.insert(state)?.new {
                    self.turn_back(start);
                    return Ok(());
                }
            } else {
                let hash = self.window.states.hash(self.store);
                let inserted = self.store.insert_hashed(hash, state)?;
                if !inserted.new {
                    self.turn_back(start);
                    self.matched(inserted.id);
                    return Ok(());
                }
                id = Some(inserted.id);
                if self.reducer.reduces() {
                    self.window.truncate(start);
                    pick = self.fill_first(true);
                }
            }
        }
        self.counters.depth = self.counters.depth.max(u64::from(depth));
        let count = self.window.states.headers().len() as u32 - start;
        if let Some(id) = id {
            if let Some(below) = self.frames.last_mut() {
                below.outside = true;
            }
            if self.reducer.reduces() {
                self.mark(id, true);
                if pick != Pick::Everything {
                    self.gain.count();
                }
                if self.gain.is_none(self.store.len()) {
                    return Err(Halt::ReductionUseless);
                }
            }
        }
        let in_one_go = self.window.states.runs_sequences(start as usize);
        let frame = Frame { id, start, next: 0, count, depth, pick, outside: false, in_one_go };
        pages::push(&mut self.frames, frame);
        self.hash_section(start, id)?;
        self.window.trim(&mut self.frames);
        if count == 0 && pick == Pick::Everything && self.counters.reports_deadlocks() {
            self.check_end()?;
        }
        Ok(())
    }

    /// Appends the section of the first selection; says which it is.
    #[inline]
    fn fill_first(&mut self, may_reduce: bool) -> Pick {
        if may_reduce && self.reducer.reduces() {
            return self.reducer.expand(self.system, None, &mut self.window.states);
        }
        self.window.states.expand(self.system, Request::All);
        Pick::Everything
    }

    /// Computes the hashes of the new section of a state, and fetches what their lookups will need.
    #[inline]
    fn hash_section(&mut self, start: u32, parent: Option<StateId>) -> Result<(), Halt> {
        let Window { states, hashes, .. } = &mut self.window;
        hashes.truncate(start as usize);
        states.hash_section(self.store, start as usize, parent, hashes)?;
        Ok(())
    }

    /// Leaves a state that was entered but does not get a frame; its section begins at `start`.
    #[cold]
    fn turn_back(&mut self, start: u32) {
        self.window.truncate(start);
        self.window.go_back(&self.frames);
    }

    fn matched(&mut self, id: StateId) {
        self.counters.matched += 1;
        // Stores without numbers cannot tell; taking every known state to be on the stack is safe.
        if self.reducer.reduces()
            && id != StateId::UNKNOWN
            && !self.is_on_stack(id)
            && let Some(top) = self.frames.last_mut()
        {
            top.outside = true;
        }
    }

    /// The top frame has no successor left: it tries its next selection, or goes.
    fn leave(&mut self) -> Result<(), Halt> {
        let top = self.frames.len() - 1;
        let frame = self.frames[top];
        if frame.pick != Pick::Everything && !frame.outside {
            self.window.truncate(frame.start);
            self.window.recall(&self.frames, top);
            let tried = Some(frame.pick);
            let pick = self.reducer.expand(self.system, tried, &mut self.window.states);
            if pick == Pick::Everything {
                self.gain.uncount();
            }
            let count = self.window.states.headers().len() as u32 - frame.start;
            let in_one_go = self.window.states.runs_sequences(frame.start as usize);
            self.frames[top] = Frame { pick, count, next: 0, in_one_go, ..frame };
            self.hash_section(frame.start, frame.id)?;
            return Ok(());
        }
        self.frames.pop();
        self.window.truncate(frame.start);
        self.fetch_below();
        if self.reducer.reduces() {
            match frame.id {
                Some(id) => self.mark(id, false),
                // What a sequence reached counts for the state before it.
                None if frame.outside => {
                    if let Some(below) = self.frames.last_mut() {
                        below.outside = true;
                    }
                }
                None => {}
            }
        }
        match self.window.lost(top) {
            None => self.window.go_back(&self.frames),
            Some(lost) => self.refill(lost)?,
        }
        Ok(())
    }

    /// On the way back: fetches what a frame further down is going to look up.
    #[inline(always)]
    fn fetch_below(&self) {
        if let Some(at) = self.frames.len().checked_sub(AHEAD) {
            for hash in self.window.waiting(at, &self.frames[at]) {
                self.store.prefetch(*hash);
            }
        }
    }

    /// Computes again the sections of frames whose successors were dropped, from the first of them, where
    /// the search stands, to the top.
    #[cold]
    fn refill(&mut self, lost: std::ops::Range<usize>) -> Result<(), Halt> {
        let top = lost.end - 1;
        for at in lost {
            let start = self.window.states.headers().len() as u32;
            self.fill_again(at);
            self.frames[at].start = start;
            self.hash_section(start, self.frames[at].id)?;
            if at != top {
                let taken = self.frames[at].taken();
                self.window.states.enter(taken);
            }
        }
        Ok(())
    }

    /// Appends the section of a frame as it was when the frame was entered, also if the system was slower
    /// then and did not pass over anything.
    fn fill_again(&mut self, at: usize) {
        let Frame { pick, in_one_go, .. } = self.frames[at];
        self.run_sequences(in_one_go);
        self.reducer.expand_again(self.system, pick, &mut self.window.states);
        self.run_sequences(true);
    }

    /// Has deterministic parts of indivisible sequences passed over or not. A limit on the depth is a matter
    /// of single steps.
    #[inline(always)]
    fn run_sequences(&mut self, run: bool) {
        self.window.states.run_sequences(run && self.depth_limit == u64::MAX);
    }

    fn fault(&mut self, outcome: Outcome) -> Result<(), Halt> {
        let (Outcome::Violated(fault) | Outcome::Broken(fault)) = outcome else { return Ok(()) };
        if !self.counters.reports(self.system, fault) {
            return Ok(());
        }
        let steps = self.violating_path();
        let system = self.system;
        match self.counters.error(|| Counterexample::from_fault(system, steps, fault)) {
            true => Err(Halt::Enough),
            false => Ok(()),
        }
    }

    /// In a state without steps: whether it may rest there.
    fn check_end(&mut self) -> Result<(), Halt> {
        if self.system.is_valid_end(self.window.states.state()) {
            return Ok(());
        }
        let steps = self.violating_path();
        match self.counters.error(|| Counterexample::invalid_end(steps)) {
            true => Err(Halt::Enough),
            false => Ok(()),
        }
    }

    /// The steps along the stack, which end in a violation; empty unless they are asked for.
    fn violating_path(&mut self) -> Vec<Step> {
        if self.found.is_none() && self.counters.first.is_some() {
            return Vec::new();
        }
        let steps = self.path();
        if let Some(found) = &mut self.found {
            found(&steps);
        }
        steps
    }

    /// The steps along the stack, found by running it again from the initial state.
    fn path(&mut self) -> Vec<Step> {
        let present = std::mem::replace(&mut self.window, Window::new(usize::MAX));
        let mut steps = Vec::new();
        let mut state = Vec::new();
        self.system.initial(&mut state);
        self.window.start(&state);
        for at in 0..self.frames.len() {
            let frame = self.frames[at];
            if frame.next == 0 {
                break;
            }
            self.window.truncate(0);
            self.fill_again(at);
            let taken = frame.next as usize - 1;
            let states = &mut self.window.states;
            steps.push(states.step(taken).0);
            states.each_inner(taken, |step| steps.push(step));
            states.enter(taken);
        }
        self.window = present;
        steps
    }

    fn is_on_stack(&self, id: StateId) -> bool {
        self.on_stack.get(id.index() / 64).is_some_and(|word| word >> (id.index() % 64) & 1 != 0)
    }

    fn mark(&mut self, id: StateId, on: bool) {
        if id == StateId::UNKNOWN {
            return;
        }
        let word = id.index() / 64;
        if self.on_stack.len() <= word {
            self.on_stack.resize(word + 1, 0);
        }
        let bit = 1 << (id.index() % 64);
        match on {
            true => self.on_stack[word] |= bit,
            false => self.on_stack[word] &= !bit,
        }
    }
}

#[cfg(test)]
mod tests;
