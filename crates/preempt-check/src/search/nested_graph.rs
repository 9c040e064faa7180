//! The system's part of a product: every state stored, read and expanded once.
//!
//! A state of the product is a stored state of the system and a state of the automaton. What depends on
//! the system alone is kept with the stored state: its letter, its successors by number, and which of
//! them are an ample set. So a second visit with another state of the automaton, and all of the second
//! search, run no program and hash nothing.
//!
//! The product states of a system state are a list. Most have one, which lies in the record itself.
//!
//! Invariant: the successors that a record has are either those of its ample set, or all, and then those
//! of the ample set come first.

use super::expansion::{Expander, Watch};
use super::nested_letters::{Letter, Letters};
use crate::property::Stutter;
use crate::store::{Exact, StateId, Store, StoreFull, pages};
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
    ways: Ways,
    /// The state whose successors lie in the expander.
    at: u32,
    state: Vec<u8>,
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
            ways: Ways::default(),
            at: UNEXPANDED,
            state: Vec::new(),
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
        self.records.push(record(self.system, &self.state, letters));
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

    /// Runs the program, and keeps the successors of an ample set or of everybody.
    fn expand(&mut self, state: u32, letters: &mut Letters<'_>) -> Result<(), Halt> {
        self.run(state)?;
        let first = self.edges.len() as u32;
        let (ample, all) = match self.candidate() {
            Some(ample) => {
                let count = ample.len();
                for way in &self.ways.arrivals[ample.clone()] {
                    mark(self.system, &mut self.taken, way.step);
                }
                self.insert(state, ample, letters)?;
                (count, 0)
            }
            None => (0, self.insert_everything(state, 0..0, letters)?),
        };
        let known = &mut self.records[state as usize];
        known.edges = first;
        known.ample = u16::try_from(ample).map_err(|_| Halt::Unsuited)?;
        known.all = u16::try_from(all).map_err(|_| Halt::Unsuited)?;
        Ok(())
    }

    /// Adds the successors outside of the ample set.
    fn complete(&mut self, state: u32, letters: &mut Letters<'_>) -> Result<(), Halt> {
        if self.at != state {
            self.run(state)?;
        }
        let ample = self.known(state, true);
        let first = if ample.end as usize == self.edges.len() {
            ample.start
        } else {
            self.edges.extend_from_within(ample.start as usize..ample.end as usize);
            (self.edges.len() - ample.len()) as u32
        };
        let known = self.candidate().unwrap_or(0..0);
        self.insert_everything(state, known, letters)?;
        let all = self.edges.len() - first as usize;
        let known = &mut self.records[state as usize];
        known.edges = first;
        known.all = u16::try_from(all).map_err(|_| Halt::Unsuited)?;
        Ok(())
    }

    /// Computes all successors of a state.
    fn run(&mut self, state: u32) -> Result<(), Halt> {
        self.state.clear();
        self.state.extend_from_slice(self.store.get(StateId(state)));
        self.expander.clear();
        self.ways.clear();
        self.expander.expand(self.system, &mut self.state, &mut self.ways)?;
        self.at = state;
        Ok(())
    }

    /// The arrivals of the first process whose steps may be explored alone.
    fn candidate(&self) -> Option<Range<usize>> {
        let least = self.least?;
        let arrivals = &self.ways.arrivals;
        let mut at = 0;
        while let Some(first) = arrivals.get(at) {
            let process = first.step.process;
            let same = |way: &&Way| way.step.process == process;
            let end = at + arrivals[at..].iter().take_while(same).count();
            if at == 0 && end == arrivals.len() {
                return None;
            }
            if self.system.locality(&self.state, process) >= least
                && !self.system.is_visible(&self.state, process)
                && arrivals[at..end].iter().all(|way| !way.is_sequence)
                && !self.ways.is_odd(process)
            {
                return Some(at..end);
            }
            at = end;
        }
        None
    }

    /// Stores all arrivals but those that are stored already; gives the number of edges added.
    fn insert_everything(
        &mut self,
        state: u32,
        known: Range<usize>,
        letters: &mut Letters<'_>,
    ) -> Result<usize, Halt> {
        if !self.ways.faulty.is_empty() {
            return Err(Halt::Unsuited);
        }
        let before = self.edges.len();
        for &(step, transient) in &self.ways.steps {
            mark(self.system, &mut self.taken, step);
            self.atomic_steps += u64::from(transient);
        }
        if self.ways.steps.is_empty() && self.stutter == Stutter::Extend {
            self.edges.push(state);
        }
        let count = self.ways.arrivals.len();
        if known.is_empty() {
            self.insert(state, 0..count, letters)?;
        } else {
            self.insert(state, 0..known.start, letters)?;
            self.insert(state, known.end..count, letters)?;
        }
        Ok(self.edges.len() - before)
    }

    fn insert(
        &mut self,
        from: u32,
        range: Range<usize>,
        letters: &mut Letters<'_>,
    ) -> Result<(), Halt> {
        let bytes = &self.expander.successors.bytes;
        let batch = &mut self.expander.arrivals[range];
        self.store.hash_successors(StateId(from), bytes, batch)?;
        self.store.insert_batch(bytes, batch)?;
        for pending in batch {
            let inserted = pending.inserted;
            if inserted.new {
                let state = &bytes[pending.start..pending.end];
                self.records.push(record(self.system, state, letters));
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

    /// Steps of the program from one stored state to another; `None` where there are none because
    /// nothing can move.
    pub(super) fn steps_between(&mut self, from: u32, to: u32) -> Result<Option<Vec<Step>>, Halt> {
        self.at = UNEXPANDED;
        self.state.clear();
        self.state.extend_from_slice(self.store.get(StateId(from)));
        let target = self.store.get(StateId(to));
        self.expander.clear();
        let mut seek = Seek { target, found: None };
        let count = self.expander.expand(self.system, &mut self.state, &mut seek)?;
        match seek.found {
            None if count == 0 => Ok(None),
            None => Err(Halt::Unsuited),
            found => Ok(found),
        }
    }
}

fn record<S: System + ?Sized>(system: &S, state: &[u8], letters: &mut Letters<'_>) -> Record {
    let letter = letters.letter(|index| system.proposition(state, index));
    Record { letter, edges: UNEXPANDED, all: 0, ample: 0, cell: NO_CELL }
}

#[inline]
fn mark<S: System + ?Sized>(system: &S, taken: &mut [bool], step: Step) {
    for key in [Some(system.transition_key(step)), system.partner_key(step)].into_iter().flatten() {
        if let Some(taken) = taken.get_mut(key) {
            *taken = true;
        }
    }
}

/// A way to a next stored state.
struct Way {
    /// The first step of it.
    step: Step,
    is_sequence: bool,
}

/// What the expansion of one state told.
#[derive(Default)]
struct Ways {
    arrivals: Vec<Way>,
    /// All steps on the way, and whether they led into a sequence.
    steps: Vec<(Step, bool)>,
    /// Whose steps went wrong.
    faulty: Vec<ProcessId>,
}

impl Ways {
    fn clear(&mut self) {
        self.arrivals.clear();
        self.steps.clear();
        self.faulty.clear();
    }

    /// Whether a step of the process went wrong.
    fn is_odd(&self, process: ProcessId) -> bool {
        self.faulty.contains(&process)
    }
}

impl Watch for Ways {
    #[inline(always)]
    fn step(&mut self, step: Step, transient: bool) {
        self.steps.push((step, transient));
    }

    fn fault(&mut self, path: &[Step], _fault: u32) {
        self.faulty.push(path[0].process);
    }

    #[inline(always)]
    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        self.arrivals.push(Way { step: path[0], is_sequence: path.len() > 1 });
    }
}

/// Looks for the way to one state.
struct Seek<'a> {
    target: &'a [u8],
    found: Option<Vec<Step>>,
}

impl Watch for Seek<'_> {
    fn step(&mut self, _step: Step, _transient: bool) {}

    fn fault(&mut self, _path: &[Step], _fault: u32) {}

    fn arrive(&mut self, path: &[Step], state: &[u8]) {
        if self.found.is_none() && state == self.target {
            self.found = Some(path.to_vec());
        }
    }
}
