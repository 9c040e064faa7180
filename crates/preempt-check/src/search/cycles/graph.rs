//! The system's part of a product: every state stored, read and expanded once.
//!
//! A state of the product is a stored state of the system and a state of the automaton. What depends on
//! the system alone is kept with the stored state: its letter, its successors by number, and which of
//! them are an ample set. So a second visit with another state of the automaton, and all of the second
//! search, run no program and hash nothing.
//!
//! The product states of a system state are a list. Most have one or two, which lie in the record itself.
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

use super::letters::{Letter, Letters};
use super::unnoticed::Walk;
use crate::property::Stutter;
use crate::search::shared::expansion::{Expander, Watch};
use crate::search::shared::taken::mark_taken;
use crate::store::{Exact, Pending, StateId, Store, StoreFull, pages};
use preempt_core::engine::{Request, Sink, Successors};
use preempt_core::{Locality, Outcome, ProcessId, Step, Stop, System};
use std::ops::Range;

/// Why the search cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
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

/// A product state: the first or the second of a record, or one further down its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node(u32);

/// From here on: second product states.
const SECOND: u32 = 1 << 30;
/// From here on: places in the list of further product states.
const FURTHER: u32 = 1 << 31;
/// The automaton's state lies above the marks of a product state.
const MARK_BITS: u32 = 4;
/// Automata with more states than this are left to others.
const AUTOMATON_STATES: u32 = (1 << (32 - MARK_BITS)) - 1;

/// The state of the automaton with the marks of a search.
type Word = u32;
const NO_WORD: Word = u32::MAX;

/// A further product state, and where the next one is.
#[derive(Clone, Copy)]
struct Cell {
    word: Word,
    next: u32,
}

struct Record {
    letter: Letter,
    /// Where its successors begin.
    edges: u32,
    /// How many it has; 0 while only those of the ample set are known.
    all: u16,
    /// How many of them, the first ones, are an ample set; 0 without one.
    ample: u16,
    /// The first two product states.
    words: [Word; 2],
    /// Where the list goes on, or 0.
    further: u32,
}

const UNEXPANDED: u32 = u32::MAX;

/// Stored states and the edge_steps between them.
pub(crate) struct Graph<'a, S: ?Sized> {
    system: &'a S,
    stutter: Stutter,
    /// What an ample step must be; `None` without reduction.
    least: Option<Locality>,
    known: Known,
    further: Vec<Cell>,
    expander: Expander,
    /// The edge_steps to the expander's arrivals, with reduction.
    edge_steps: Vec<EdgeSteps>,
    /// The state that is being expanded.
    state: Vec<u8>,
    /// The successors of one process, then those that passages from them led to.
    alone: Successors,
    passage: Walk,
    arrivals: Vec<Pending>,
    pub(crate) atomic_steps: u64,
    pub(crate) taken: Vec<bool>,
}

/// The stored states, what is known of each, and the numbers of their successors.
struct Known {
    store: Exact,
    records: Vec<Record>,
    edges: Vec<u32>,
}

impl Known {
    /// Stores states, and adds their numbers to the edges.
    #[inline]
    fn insert<S: System + ?Sized>(
        &mut self,
        system: &S,
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
                self.records.push(record(system, state, letters)?);
            }
            self.edges.push(inserted.id.0);
        }
        let fits = self.records.len() < SECOND as usize && self.edges.len() < UNEXPANDED as usize;
        if fits { Ok(()) } else { Err(Halt::Stop(Stop::Memory)) }
    }
}

impl<'a, S: System + ?Sized> Graph<'a, S> {
    pub(crate) fn new(
        system: &'a S,
        stutter: Stutter,
        least: Option<Locality>,
        memory: usize,
    ) -> Self {
        Graph {
            system,
            stutter,
            least,
            known: Known { store: Exact::new(memory), records: Vec::new(), edges: Vec::new() },
            further: Vec::new(),
            expander: Expander::new(),
            edge_steps: Vec::new(),
            state: Vec::new(),
            alone: Successors::default(),
            passage: Walk::default(),
            arrivals: Vec::new(),
            atomic_steps: 0,
            taken: vec![false; system.transition_count()],
        }
    }

    /// Stores the initial state.
    pub(crate) fn initial(&mut self, letters: &mut Letters<'_>) -> Result<u32, Halt> {
        self.state.clear();
        let outcome = self.system.initial(&mut self.state);
        self.expander.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.expander.enabled);
        if outcome != Outcome::Done || self.system.is_transient(&self.state) {
            return Err(Halt::Unsuited);
        }
        self.known.store.insert(&self.state)?;
        self.known.records.push(record(self.system, &self.state, letters)?);
        Ok(0)
    }

    pub(crate) fn letter(&self, state: u32) -> Letter {
        self.known.records[state as usize].letter
    }

    pub(crate) fn target(&self, edge: u32) -> u32 {
        self.known.edges[edge as usize]
    }

    /// Lets the records behind these edges be on their way.
    #[inline]
    pub(crate) fn prefetch(&self, edges: Range<u32>) {
        for edge in edges {
            pages::prefetch(&self.known.records, self.known.edges[edge as usize] as usize);
        }
    }

    /// The edges of the ample set; empty without one.
    pub(crate) fn ample(
        &mut self,
        state: u32,
        letters: &mut Letters<'_>,
    ) -> Result<Range<u32>, Halt> {
        if self.known.records[state as usize].edges == UNEXPANDED {
            self.expand(state, letters)?;
        }
        let known = &self.known.records[state as usize];
        Ok(known.edges..known.edges + u32::from(known.ample))
    }

    /// All edges.
    pub(crate) fn all(
        &mut self,
        state: u32,
        letters: &mut Letters<'_>,
    ) -> Result<Range<u32>, Halt> {
        let known = &self.known.records[state as usize];
        if known.edges == UNEXPANDED {
            self.expand(state, letters)?;
        }
        let known = &self.known.records[state as usize];
        if known.all == 0 && known.ample > 0 {
            self.complete(state, letters)?;
        }
        let known = &self.known.records[state as usize];
        Ok(known.edges..known.edges + u32::from(known.all))
    }

    /// The edges of a state that has been expanded so far.
    pub(crate) fn known(&self, state: u32, ample: bool) -> Range<u32> {
        let known = &self.known.records[state as usize];
        let count = if ample { known.ample } else { known.all };
        known.edges..known.edges + u32::from(count)
    }

    /// Keeps the successors of an ample set, or of everybody where there is none.
    fn expand(&mut self, state: u32, letters: &mut Letters<'_>) -> Result<(), Halt> {
        self.load(state);
        let first = self.known.edges.len();
        let ample = match self.candidate() {
            Some(_) => self.keep_alone(letters)?,
            None => {
                self.keep_everything(state, None, letters)?;
                0
            }
        };
        let all = if ample > 0 { 0 } else { self.known.edges.len() - first };
        let known = &mut self.known.records[state as usize];
        known.edges = first as u32;
        known.ample = u16::try_from(ample).map_err(|_| Halt::Unsuited)?;
        known.all = u16::try_from(all).map_err(|_| Halt::Unsuited)?;
        Ok(())
    }

    /// Adds the successors outside of the ample set.
    fn complete(&mut self, state: u32, letters: &mut Letters<'_>) -> Result<(), Halt> {
        self.load(state);
        let ample = self.known(state, true);
        let first = if ample.end as usize == self.known.edges.len() {
            ample.start
        } else {
            self.known.edges.extend_from_within(ample.start as usize..ample.end as usize);
            (self.known.edges.len() - ample.len()) as u32
        };
        let known = self.candidate();
        self.keep_everything(state, known, letters)?;
        let all = self.known.edges.len() - first as usize;
        let known = &mut self.known.records[state as usize];
        known.edges = first;
        known.all = u16::try_from(all).map_err(|_| Halt::Unsuited)?;
        Ok(())
    }

    fn load(&mut self, state: u32) {
        self.state.clear();
        self.state.extend_from_slice(self.known.store.get(StateId(state)));
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
            self.alone.clear();
            let sink = Sink::Copies(&mut self.state, &mut self.alone);
            system.successors(Request::Process(process), sink);
            let headers = &self.alone.headers;
            !headers.is_empty() && headers.iter().all(|header| header.result == 0)
        })
    }

    /// Stores the successors that lie in `alone`; gives their number.
    fn keep_alone(&mut self, letters: &mut Letters<'_>) -> Result<usize, Halt> {
        self.arrivals.clear();
        let mut bytes = std::mem::take(&mut self.alone.data);
        for at in 0..self.alone.len() {
            let step = self.alone.step(at).0;
            mark_taken(self.system, &mut self.taken, step);
            let place = self.pass(step, &mut bytes, self.alone.headers[at].range());
            self.arrivals.push(Pending::new(0, place.start, place.end));
        }
        self.alone.data = bytes;
        self.known.insert(self.system, &self.alone.data, &mut self.arrivals, letters)?;
        Ok(self.alone.len())
    }

    /// Stores all successors but those of the process `known`.
    fn keep_everything(
        &mut self,
        state: u32,
        known: Option<ProcessId>,
        letters: &mut Letters<'_>,
    ) -> Result<(), Halt> {
        self.expander.clear();
        self.edge_steps.clear();
        let count = self.expand_everything()?;
        if count == 0 && self.stutter == Stutter::Extend {
            self.known.edges.push(state);
        }
        if self.least.is_some() {
            self.pass_everywhere(known);
        }
        let (bytes, arrivals) = (&self.expander.successors.data, &mut self.expander.arrivals);
        self.known.insert(self.system, bytes, arrivals, letters)
    }

    /// Adds the successors of `state` to the expander's; says how many steps there are.
    #[inline]
    fn expand_everything(&mut self) -> Result<usize, Halt> {
        let mut all = All {
            system: self.system,
            taken: &mut self.taken,
            edge_steps: self.least.is_some().then_some(&mut self.edge_steps),
            atomic_steps: 0,
            is_faulty: false,
        };
        let count = self.expander.expand(self.system, &mut self.state, &mut all)?;
        if all.is_faulty {
            return Err(Halt::Unsuited);
        }
        self.atomic_steps += all.atomic_steps;
        Ok(count)
    }

    /// Passes on from all arrivals, but drops those of the process `known`.
    fn pass_everywhere(&mut self, known: Option<ProcessId>) {
        let mut arrivals = std::mem::take(&mut self.expander.arrivals);
        let mut bytes = std::mem::take(&mut self.expander.successors.data);
        let mut kept = 0;
        for at in 0..arrivals.len() {
            let EdgeSteps { first, last } = self.edge_steps[at];
            if Some(first.process) != known {
                let place = self.pass(last, &mut bytes, arrivals[at].start..arrivals[at].end);
                arrivals[kept] = Pending::new(0, place.start, place.end);
                kept += 1;
            }
        }
        arrivals.truncate(kept);
        (self.expander.arrivals, self.expander.successors.data) = (arrivals, bytes);
    }

    /// Passes on from the state at `place`, where `step` has led, and says where that ends.
    #[inline]
    fn pass(&mut self, step: Step, bytes: &mut Vec<u8>, place: Range<usize>) -> Range<usize> {
        let (system, taken) = (self.system, &mut self.taken);
        let report = |step| mark_taken(system, taken, step);
        if !self.passage.pass(system, step, &bytes[place.clone()], report) {
            return place;
        }
        let start = bytes.len();
        bytes.extend_from_slice(&self.passage.here);
        start..bytes.len()
    }

    /// The product state with this state of the automaton, if there is one, and its marks.
    #[inline]
    pub(crate) fn find(&self, state: u32, automaton: u32) -> Option<(Node, u8)> {
        let record = &self.known.records[state as usize];
        let [first, second] = record.words;
        if first >> MARK_BITS == automaton {
            return Some((Node(state), marks(first)));
        }
        if second >> MARK_BITS == automaton {
            return Some((Node(SECOND | state), marks(second)));
        }
        let mut next = record.further;
        while let Some(at) = next.checked_sub(1) {
            let cell = self.further[at as usize];
            if cell.word >> MARK_BITS == automaton {
                return Some((Node(FURTHER | at), marks(cell.word)));
            }
            next = cell.next;
        }
        None
    }

    /// Adds a product state.
    pub(crate) fn add(&mut self, state: u32, automaton: u32, marks: u8) -> Result<Node, Halt> {
        if automaton >= AUTOMATON_STATES || self.further.len() as u32 >= FURTHER - 1 {
            return Err(Halt::Unsuited);
        }
        let word = automaton << MARK_BITS | u32::from(marks);
        let record = &mut self.known.records[state as usize];
        match record.words {
            [NO_WORD, _] => {
                record.words[0] = word;
                Ok(Node(state))
            }
            [_, NO_WORD] => {
                record.words[1] = word;
                Ok(Node(SECOND | state))
            }
            _ => {
                self.further.push(Cell { word, next: record.further });
                record.further = self.further.len() as u32;
                Ok(Node(FURTHER | (self.further.len() - 1) as u32))
            }
        }
    }

    /// Changes the marks of a product state.
    #[inline]
    pub(crate) fn update_marks(&mut self, node: Node, change: impl FnOnce(u8) -> u8) {
        let place = (node.0 & !(FURTHER | SECOND)) as usize;
        let word = match node.0 & (FURTHER | SECOND) {
            0 => &mut self.known.records[place].words[0],
            SECOND => &mut self.known.records[place].words[1],
            _ => &mut self.further[(node.0 & !FURTHER) as usize].word,
        };
        *word = *word >> MARK_BITS << MARK_BITS | u32::from(change(marks(*word)));
    }

    pub(crate) fn bytes(&self) -> usize {
        self.known.store.bytes()
            + self.known.records.capacity() * size_of::<Record>()
            + self.further.capacity() * size_of::<Cell>()
            + self.known.edges.capacity() * 4
            + self.expander.bytes()
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.known.store.get(StateId(0)).len()
    }

    /// Steps of the program from one stored state to another, and those that were passed behind them;
    /// `None` where there are none because nothing can move.
    pub(crate) fn steps_between(&mut self, from: u32, to: u32) -> Result<Option<Passage>, Halt> {
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
            let report = |step| passed.push(step);
            let is_passed =
                self.least.is_some() && self.passage.pass(self.system, last, &arrived, report);
            let end = if is_passed { &self.passage.here } else { &arrived };
            if end == self.known.store.get(StateId(to)) {
                return Ok(Some(Passage { path, passed }));
            }
        }
        Err(Halt::Unsuited)
    }
}

/// The way from one stored state to another.
pub(crate) struct Passage {
    /// To the first state where anybody may move.
    pub(crate) path: Vec<Step>,
    /// On from there.
    pub(crate) passed: Vec<Step>,
}

fn record<S: System + ?Sized>(
    system: &S,
    state: &[u8],
    letters: &mut Letters<'_>,
) -> Result<Record, Halt> {
    let mut has_no_value = false;
    let letter = letters.letter(|index| {
        let value = system.proposition(state, index);
        has_no_value |= value.is_err();
        value == Ok(true)
    });
    match has_no_value {
        true => Err(Halt::Unsuited),
        false => Ok(Record {
            letter,
            edges: UNEXPANDED,
            all: 0,
            ample: 0,
            words: [NO_WORD; 2],
            further: 0,
        }),
    }
}

#[inline(always)]
fn marks(word: Word) -> u8 {
    (word & ((1 << MARK_BITS) - 1)) as u8
}

/// A way to a next stored state: its first and its last step.
#[derive(Clone, Copy)]
struct EdgeSteps {
    first: Step,
    last: Step,
}

/// What the expansion of one state says.
struct All<'a, S: ?Sized> {
    system: &'a S,
    taken: &'a mut [bool],
    /// If they are asked for.
    edge_steps: Option<&'a mut Vec<EdgeSteps>>,
    /// Steps into sequences.
    atomic_steps: u64,
    is_faulty: bool,
}

impl<S: System + ?Sized> Watch for All<'_, S> {
    #[inline(always)]
    fn step(&mut self, step: Step, transient: bool) {
        mark_taken(self.system, self.taken, step);
        self.atomic_steps += u64::from(transient);
    }

    fn fault(&mut self, _path: &[Step], _fault: u32) {
        self.is_faulty = true;
    }

    #[inline(always)]
    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        if let Some(edge_steps) = &mut self.edge_steps {
            edge_steps.push(EdgeSteps { first: path[0], last: path[path.len() - 1] });
        }
    }
}

/// All edge_steps out of a state.
#[derive(Default)]
struct Paths(Vec<(Vec<Step>, Vec<u8>)>);

impl Watch for Paths {
    fn step(&mut self, _step: Step, _transient: bool) {}

    fn fault(&mut self, _path: &[Step], _fault: u32) {}

    fn arrive(&mut self, path: &[Step], state: &[u8]) {
        self.0.push((path.to_vec(), state.to_vec()));
    }
}
