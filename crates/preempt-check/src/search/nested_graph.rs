//! The system's part of a product: every state stored, read and expanded once.
//!
//! A state of the product is a stored state of the system and a state of the automaton. What depends on
//! the system alone is kept with the stored state: its letter, its successors by number, and which of
//! them are an ample set. So a second visit with another state of the automaton, and all of the second
//! search, run no program and hash nothing.
//!
//! The product states of a system state are a list. Most have one, which lies in the record itself.
//!
//! **Passing.** With reduction, a state in which the process that has just moved has exactly one step,
//! strictly local and invisible, is not stored: the step is taken at once, and so on. Such a step is an
//! ample set by itself; a cycle of them is cut where it closes or gets long, and the state there is
//! stored and expanded like any other, so every cycle of the reduced graph still has a state that is
//! expanded in full. The letter does not change on the way, and the automaton reads it once: what it
//! would read otherwise differs in repetitions only, which a property in SI normal form does not count.
//!
//! A proposition without a value is no letter: the search is left to another that knows what to do.
//!
//! Invariant: the successors that a record has are either those of its ample set, or all, and then those
//! of the ample set come first.

use super::brief::Brief;
use super::expansion::{Expander, Watch};
use super::nested_letters::{Letter, Letters};
use crate::property::Stutter;
use crate::store::{Exact, Pending, StateId, Store, StoreFull, pages};
use preempt_core::{Locality, Outcome, ProcessId, Step, Stop, System};
use std::ops::Range;

/// Why the search cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Halt {
    /// A limit was reached, or a violation found.
    Stop(Stop),
    /// Something is met that this search does not know how to handle.
    Unsuited,
}

impl From<StoreFull> for Halt {
    fn from(_: StoreFull) -> Self {
        Halt::Stop(Stop::Memory)
    }
}

/// A product state: that of a record, or one further down its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Node(u32);

/// From here on: places in the list of further product states.
const FURTHER: u32 = 1 << 31;
/// The automaton's state lies above the marks of a product state.
const MARK_BITS: u32 = 4;
/// Automata with more states than this are left to others.
const AUTOMATON_STATES: u32 = (1 << (32 - MARK_BITS)) - 1;

/// The state of the automaton with the marks of a search, and the next product state.
#[derive(Clone, Copy)]
struct Cell {
    word: u32,
    next: u32,
}

const NO_CELL: Cell = Cell { word: u32::MAX, next: 0 };

struct Record {
    letter: Letter,
    /// Where its successors begin.
    edges: u32,
    /// How many it has; 0 while only those of the ample set are known.
    all: u16,
    /// How many of them, the first ones, are an ample set; 0 without one.
    ample: u16,
    cell: Cell,
}

const UNEXPANDED: u32 = u32::MAX;

/// So many steps are passed at most before a state is stored.
const LONGEST_PASSAGE: usize = 64;

/// Stored states and the ways between them.
pub(super) struct Graph<'a, S: ?Sized> {
    system: &'a S,
    stutter: Stutter,
    /// What an ample step must be; `None` without reduction.
    least: Option<Locality>,
    store: Exact,
    records: Vec<Record>,
    further: Vec<Cell>,
    edges: Vec<u32>,
    expander: Expander,
    /// The ways to the expander's arrivals, with reduction.
    ways: Vec<Way>,
    /// The state that is being expanded.
    state: Vec<u8>,
    /// The successors of one process, then those that passages from them led to.
    alone: Brief,
    passage: Walk,
    arrivals: Vec<Pending>,
    pub(super) atomic_steps: u64,
    pub(super) taken: Vec<bool>,
}

impl<'a, S: System + ?Sized> Graph<'a, S> {
    pub(super) fn new(
        system: &'a S,
        stutter: Stutter,
        least: Option<Locality>,
        memory: usize,
    ) -> Self {
        Graph {
            system,
            stutter,
            least,
            store: Exact::new(memory),
            records: Vec::new(),
            further: Vec::new(),
            edges: Vec::new(),
            expander: Expander::new(),
            ways: Vec::new(),
            state: Vec::new(),
            alone: Brief::default(),
            passage: Walk::default(),
            arrivals: Vec::new(),
            atomic_steps: 0,
            taken: vec![false; system.transition_count()],
        }
    }

    /// Stores the initial state.
    pub(super) fn initial(&mut self, letters: &mut Letters<'_>) -> Result<u32, Halt> {
        self.state.clear();
        let outcome = self.system.initial(&mut self.state);
        self.expander.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.expander.enabled);
        if outcome != Outcome::Done || self.system.is_transient(&self.state) {
            return Err(Halt::Unsuited);
        }
        self.store.insert(&self.state)?;
        self.records.push(record(self.system, &self.state, letters)?);
        Ok(0)
    }

    pub(super) fn letter(&self, state: u32) -> Letter {
        self.records[state as usize].letter
    }

    pub(super) fn target(&self, edge: u32) -> u32 {
        self.edges[edge as usize]
    }

    /// Lets the records behind these edges be on their way.
    #[inline]
    pub(super) fn prefetch(&self, edges: Range<u32>) {
        for edge in edges {
            pages::prefetch(&self.records, self.edges[edge as usize] as usize);
        }
    }

    /// The edges of the ample set; empty without one.
    pub(super) fn ample(
        &mut self,
        state: u32,
        letters: &mut Letters<'_>,
    ) -> Result<Range<u32>, Halt> {
        if self.records[state as usize].edges == UNEXPANDED {
            self.expand(state, letters)?;
        }
        let known = &self.records[state as usize];
        Ok(known.edges..known.edges + u32::from(known.ample))
    }

    /// All edges.
    pub(super) fn all(
        &mut self,
        state: u32,
        letters: &mut Letters<'_>,
    ) -> Result<Range<u32>, Halt> {
        let known = &self.records[state as usize];
        if known.edges == UNEXPANDED {
            self.expand(state, letters)?;
        }
        let known = &self.records[state as usize];
        if known.all == 0 && known.ample > 0 {
            self.complete(state, letters)?;
        }
        let known = &self.records[state as usize];
        Ok(known.edges..known.edges + u32::from(known.all))
    }

    /// The edges of a state that has been expanded so far.
    pub(super) fn known(&self, state: u32, ample: bool) -> Range<u32> {
        let known = &self.records[state as usize];
        let count = if ample { known.ample } else { known.all };
        known.edges..known.edges + u32::from(count)
    }

    /// Keeps the successors of an ample set, or of everybody where there is none.
    fn expand(&mut self, state: u32, letters: &mut Letters<'_>) -> Result<(), Halt> {
        self.load(state);
        let first = self.edges.len();
        let ample = match self.candidate() {
            Some(_) => self.keep_alone(letters)?,
            None => {
                self.keep_everything(state, None, letters)?;
                0
            }
        };
        let all = if ample > 0 { 0 } else { self.edges.len() - first };
        let known = &mut self.records[state as usize];
        known.edges = first as u32;
        known.ample = u16::try_from(ample).map_err(|_| Halt::Unsuited)?;
        known.all = u16::try_from(all).map_err(|_| Halt::Unsuited)?;
        Ok(())
    }

    /// Adds the successors outside of the ample set.
    fn complete(&mut self, state: u32, letters: &mut Letters<'_>) -> Result<(), Halt> {
        self.load(state);
        let ample = self.known(state, true);
        let first = if ample.end as usize == self.edges.len() {
            ample.start
        } else {
            self.edges.extend_from_within(ample.start as usize..ample.end as usize);
            (self.edges.len() - ample.len()) as u32
        };
        let known = self.candidate();
        self.keep_everything(state, known, letters)?;
        let all = self.edges.len() - first as usize;
        let known = &mut self.records[state as usize];
        known.edges = first;
        known.all = u16::try_from(all).map_err(|_| Halt::Unsuited)?;
        Ok(())
    }

    fn load(&mut self, state: u32) {
        self.state.clear();
        self.state.extend_from_slice(self.store.get(StateId(state)));
    }

    /// The first process whose steps may be explored alone; they lie in `alone`.
    fn candidate(&mut self) -> Option<ProcessId> {
        let least = self.least?;
        let count = self.system.process_count(&self.state);
        if count < 2 {
            return None;
        }
        (0..count as u16).rev().map(ProcessId).find(|&process| {
            let system = self.system;
            if system.locality(&self.state, process) < least
                || system.is_visible(&self.state, process)
            {
                return false;
            }
            self.alone.truncate(0);
            self.alone.expand_of(system, &mut self.state, process);
            let leads = self.alone.leads(0);
            !leads.is_empty() && leads.iter().all(|lead| lead.result == 0)
        })
    }

    /// Stores the successors that lie in `alone`; gives their number.
    fn keep_alone(&mut self, letters: &mut Letters<'_>) -> Result<usize, Halt> {
        self.arrivals.clear();
        let mut bytes = std::mem::take(&mut self.alone.bytes);
        for at in 0..self.alone.len() {
            let step = self.alone.get(at).0;
            mark(self.system, &mut self.taken, step);
            let place = self.pass(step, &mut bytes, self.alone.range(at));
            self.arrivals.push(Pending::new(0, place.start, place.end));
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let result = self.insert(&bytes, &mut arrivals, letters);
        (self.alone.bytes, self.arrivals) = (bytes, arrivals);
        result.map(|()| self.alone.len())
    }

    /// Stores all successors but those of the process `known`.
    fn keep_everything(
        &mut self,
        state: u32,
        known: Option<ProcessId>,
        letters: &mut Letters<'_>,
    ) -> Result<(), Halt> {
        self.expander.clear();
        self.ways.clear();
        let mut all = All {
            system: self.system,
            taken: &mut self.taken,
            ways: self.least.is_some().then_some(&mut self.ways),
            atomic_steps: 0,
            is_faulty: false,
        };
        let count = self.expander.expand_briefly(self.system, &mut self.state, &mut all)?;
        if all.is_faulty {
            return Err(Halt::Unsuited);
        }
        self.atomic_steps += all.atomic_steps;
        if count == 0 && self.stutter == Stutter::Extend {
            self.edges.push(state);
        }
        let mut arrivals = std::mem::take(&mut self.expander.arrivals);
        let mut bytes = std::mem::take(&mut self.expander.successors.bytes);
        if self.least.is_some() {
            let mut kept = 0;
            for at in 0..arrivals.len() {
                let Way { first, last } = self.ways[at];
                if Some(first.process) != known {
                    let place = arrivals[at].start..arrivals[at].end;
                    let place = self.pass(last, &mut bytes, place);
                    arrivals[kept] = Pending::new(0, place.start, place.end);
                    kept += 1;
                }
            }
            arrivals.truncate(kept);
        }
        let result = self.insert(&bytes, &mut arrivals, letters);
        (self.expander.arrivals, self.expander.successors.bytes) = (arrivals, bytes);
        result
    }

    /// Passes on from the state at `place`, where `step` has led, and tells where that ends.
    #[inline]
    fn pass(&mut self, step: Step, bytes: &mut Vec<u8>, place: Range<usize>) -> Range<usize> {
        let (system, taken) = (self.system, &mut self.taken);
        let tell = |step| mark(system, taken, step);
        if !self.passage.pass(system, step, &bytes[place.clone()], tell) {
            return place;
        }
        let start = bytes.len();
        bytes.extend_from_slice(&self.passage.here);
        start..bytes.len()
    }

    #[inline]
    fn insert(
        &mut self,
        bytes: &[u8],
        batch: &mut [Pending],
        letters: &mut Letters<'_>,
    ) -> Result<(), Halt> {
        self.store.hash_successors(StateId(0), bytes, batch)?;
        self.store.insert_batch(bytes, batch)?;
        for pending in batch {
            let inserted = pending.inserted;
            if inserted.new {
                let state = &bytes[pending.start..pending.end];
                self.records.push(record(self.system, state, letters)?);
            }
            self.edges.push(inserted.id.0);
        }
        let fits = self.records.len() < FURTHER as usize && self.edges.len() < UNEXPANDED as usize;
        if fits { Ok(()) } else { Err(Halt::Stop(Stop::Memory)) }
    }

    /// The product state with this state of the automaton, if there is one.
    #[inline]
    pub(super) fn find(&self, state: u32, automaton: u32) -> Option<Node> {
        let mut node = Node(state);
        let mut cell = self.records[state as usize].cell;
        while cell.word >> MARK_BITS != automaton {
            node = Node(FURTHER | cell.next.checked_sub(1)?);
            cell = self.further[(node.0 & !FURTHER) as usize];
        }
        Some(node)
    }

    /// Adds a product state.
    pub(super) fn add(&mut self, state: u32, automaton: u32, marks: u8) -> Result<Node, Halt> {
        if automaton >= AUTOMATON_STATES || self.further.len() as u32 >= FURTHER - 1 {
            return Err(Halt::Unsuited);
        }
        let word = automaton << MARK_BITS | u32::from(marks);
        let first = &mut self.records[state as usize].cell;
        if first.word == u32::MAX {
            first.word = word;
            return Ok(Node(state));
        }
        self.further.push(Cell { word, next: first.next });
        first.next = self.further.len() as u32;
        Ok(Node(FURTHER | (self.further.len() - 1) as u32))
    }

    /// The marks of a product state.
    #[inline]
    pub(super) fn marks(&self, node: Node) -> u8 {
        let cell = match node.0 & FURTHER {
            0 => &self.records[node.0 as usize].cell,
            _ => &self.further[(node.0 & !FURTHER) as usize],
        };
        (cell.word & ((1 << MARK_BITS) - 1)) as u8
    }

    #[inline]
    pub(super) fn set_marks(&mut self, node: Node, marks: u8) {
        let cell = match node.0 & FURTHER {
            0 => &mut self.records[node.0 as usize].cell,
            _ => &mut self.further[(node.0 & !FURTHER) as usize],
        };
        cell.word = cell.word >> MARK_BITS << MARK_BITS | u32::from(marks);
    }

    pub(super) fn bytes(&self) -> usize {
        self.store.bytes()
            + self.records.capacity() * size_of::<Record>()
            + self.further.capacity() * size_of::<Cell>()
            + self.edges.capacity() * 4
            + self.expander.bytes()
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.store.get(StateId(0)).len()
    }

    /// Steps of the program from one stored state to another, and those that were passed behind them;
    /// `None` where there are none because nothing can move.
    pub(super) fn steps_between(&mut self, from: u32, to: u32) -> Result<Option<Passage>, Halt> {
        self.load(from);
        self.expander.clear();
        let mut found = Paths::default();
        let count = self.expander.expand(self.system, &mut self.state, &mut found)?;
        if count == 0 {
            return Ok(None);
        }
        for (path, arrived) in found.0 {
            let mut passed = Vec::new();
            let last = path[path.len() - 1];
            let tell = |step| passed.push(step);
            let is_passed =
                self.least.is_some() && self.passage.pass(self.system, last, &arrived, tell);
            let end = if is_passed { &self.passage.here } else { &arrived };
            if end == self.store.get(StateId(to)) {
                return Ok(Some(Passage { path, passed }));
            }
        }
        Err(Halt::Unsuited)
    }
}

/// The way from one stored state to another.
pub(super) struct Passage {
    /// To the first state where anybody may move.
    pub(super) path: Vec<Step>,
    /// On from there.
    pub(super) passed: Vec<Step>,
}

fn record<S: System + ?Sized>(
    system: &S,
    state: &[u8],
    letters: &mut Letters<'_>,
) -> Result<Record, Halt> {
    let mut has_no_value = false;
    let letter = letters.letter(|index| {
        let value = system.proposition(state, index);
        has_no_value |= !value && system.proposition_fault(state, index).is_some();
        value
    });
    match has_no_value {
        true => Err(Halt::Unsuited),
        false => Ok(Record { letter, edges: UNEXPANDED, all: 0, ample: 0, cell: NO_CELL }),
    }
}

/// Notes that a transition was taken.
#[inline(always)]
fn mark<S: System + ?Sized>(system: &S, taken: &mut [bool], step: Step) {
    if let Some(taken) = taken.get_mut(system.transition_key(step)) {
        *taken = true;
    }
    if step.partner.is_some()
        && let Some(key) = system.partner_key(step)
        && let Some(taken) = taken.get_mut(key)
    {
        *taken = true;
    }
}

/// Takes the steps that nobody can notice.
#[derive(Default)]
struct Walk {
    /// Where it has come to, and where it began.
    here: Vec<u8>,
    beginning: Vec<u8>,
    alone: Brief,
}

impl Walk {
    /// Goes on from a state with the processes that have just moved there. Says whether it got
    /// anywhere; then that is `here`.
    #[inline]
    fn pass<S: System + ?Sized>(
        &mut self,
        system: &S,
        step: Step,
        state: &[u8],
        mut tell: impl FnMut(Step),
    ) -> bool {
        let mut count = 0;
        for process in [Some(step.process), step.partner].into_iter().flatten() {
            while count < LONGEST_PASSAGE
                && is_unnoticed(system, if count == 0 { state } else { &self.here }, process)
            {
                if count == 0 {
                    self.here.clear();
                    self.here.extend_from_slice(state);
                }
                match self.advance(system, process, count == 0) {
                    Some(step) => tell(step),
                    None => break,
                }
                count += 1;
            }
        }
        count > 0
    }

    /// Takes the only step of a process, if there is only one and it closes no cycle.
    fn advance<S: System + ?Sized>(
        &mut self,
        system: &S,
        process: ProcessId,
        is_first: bool,
    ) -> Option<Step> {
        self.alone.truncate(0);
        self.alone.expand_of(system, &mut self.here, process);
        let [lead] = self.alone.leads(0) else { return None };
        if is_first {
            self.beginning.clone_from(&self.here);
        }
        let (step, next) = (self.alone.get(0).0, &self.alone.bytes[lead.range()]);
        if lead.result != 0 || step.partner.is_some() || next == self.beginning {
            return None;
        }
        self.here.clear();
        self.here.extend_from_slice(next);
        Some(step)
    }
}

/// Whether what the process does next concerns nobody else.
#[inline(always)]
fn is_unnoticed<S: System + ?Sized>(system: &S, state: &[u8], process: ProcessId) -> bool {
    process.index() < system.process_count(state)
        && system.locality(state, process) == Locality::Local
        && !system.is_visible(state, process)
}

/// A way to a next stored state: its first and its last step.
#[derive(Clone, Copy)]
struct Way {
    first: Step,
    last: Step,
}

/// What the expansion of one state tells.
struct All<'a, S: ?Sized> {
    system: &'a S,
    taken: &'a mut [bool],
    /// If they are asked for.
    ways: Option<&'a mut Vec<Way>>,
    /// Steps into sequences.
    atomic_steps: u64,
    is_faulty: bool,
}

impl<S: System + ?Sized> Watch for All<'_, S> {
    #[inline(always)]
    fn step(&mut self, step: Step, transient: bool) {
        mark(self.system, self.taken, step);
        self.atomic_steps += u64::from(transient);
    }

    fn fault(&mut self, _path: &[Step], _fault: u32) {
        self.is_faulty = true;
    }

    #[inline(always)]
    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        if let Some(ways) = &mut self.ways {
            ways.push(Way { first: path[0], last: path[path.len() - 1] });
        }
    }
}

/// All ways out of a state.
#[derive(Default)]
struct Paths(Vec<(Vec<Step>, Vec<u8>)>);

impl Watch for Paths {
    fn step(&mut self, _step: Step, _transient: bool) {}

    fn fault(&mut self, _path: &[Step], _fault: u32) {}

    fn arrive(&mut self, path: &[Step], state: &[u8]) {
        self.0.push((path.to_vec(), state.to_vec()));
    }
}
