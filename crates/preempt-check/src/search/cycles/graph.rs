//! The system's part of a product: every state stored, read and expanded once.
//!
//! A state of the product is a stored state of the system and a state of the automaton. What depends on
//! the system alone is kept with the stored state: its letter, its successors by number, and which of
//! them are an ample set. So a second visit with another state of the automaton, and all of the second
//! search, run no program and hash nothing.
//!
//! The product states of a system state are a list. Most have one or two, which lie in the record itself.
//!
//! With reduction, steps that no other process can notice are passed over (`outgoing.rs`).
//!
//! A proposition without a value is no letter: the search is left to another that knows what to do.
//!
//! Invariant: the successors that a record has are either those of its ample set, or all, and then those
//! of the ample set come first.

use super::letters::{Letter, Letters};
use super::outgoing::{Outgoing, Passage};
use super::system_graph::{MARK_BITS, SystemGraph, Tally};
use crate::property::Stutter;
use crate::search::shared::halt::Halt;
use crate::store::memory::pages;
use crate::store::{Exact, Pending, StateId, Store};
use preempt_core::{Locality, Stop, System};
use std::ops::Range;

/// A product state: the first or the second of a record, or one further down its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node(u32);

/// From here on: second product states.
const SECOND: u32 = 1 << 30;
/// From here on: places in the list of further product states.
const FURTHER: u32 = 1 << 31;
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

/// Stored states and the edges between them.
pub(crate) struct Graph<'a, S: ?Sized> {
    system: &'a S,
    known: Known,
    further: Vec<Cell>,
    outgoing: Outgoing<'a, S>,
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
            known: Known { store: Exact::new(memory), records: Vec::new(), edges: Vec::new() },
            further: Vec::new(),
            outgoing: Outgoing::new(system, stutter, least),
        }
    }

    /// Keeps the successors of an ample set, or of all processes where there is none.
    fn expand(&mut self, state: u32, letters: &mut Letters<'_>) -> Result<(), Halt> {
        self.outgoing.load(self.known.store.get(StateId(state)));
        let first = self.known.edges.len();
        let edges = self.outgoing.first()?;
        let is_ample = edges.is_ample;
        if edges.stutters {
            self.known.edges.push(state);
        }
        self.known.insert(self.system, edges.bytes, edges.arrivals, letters)?;
        let count = self.known.edges.len() - first;
        let count = u16::try_from(count).map_err(|_| Halt::Unsuited)?;
        let known = &mut self.known.records[state as usize];
        known.edges = first as u32;
        (known.ample, known.all) = if is_ample { (count, 0) } else { (0, count) };
        Ok(())
    }

    /// Adds the successors outside of the ample set.
    fn add_rest(&mut self, state: u32, letters: &mut Letters<'_>) -> Result<(), Halt> {
        self.outgoing.load(self.known.store.get(StateId(state)));
        let ample = self.known(state, true);
        let first = if ample.end as usize == self.known.edges.len() {
            ample.start
        } else {
            self.known.edges.extend_from_within(ample.start as usize..ample.end as usize);
            (self.known.edges.len() - ample.len()) as u32
        };
        let edges = self.outgoing.rest()?;
        if edges.stutters {
            self.known.edges.push(state);
        }
        self.known.insert(self.system, edges.bytes, edges.arrivals, letters)?;
        let all = self.known.edges.len() - first as usize;
        let known = &mut self.known.records[state as usize];
        known.edges = first;
        known.all = u16::try_from(all).map_err(|_| Halt::Unsuited)?;
        Ok(())
    }
}

impl<S: System + ?Sized> SystemGraph for Graph<'_, S> {
    type Node = Node;

    fn initial(&mut self, letters: &mut Letters<'_>) -> Result<u32, Halt> {
        self.outgoing.initial()?;
        self.known.store.insert(&self.outgoing.state)?;
        self.known.records.push(record(self.system, &self.outgoing.state, letters)?);
        Ok(0)
    }

    #[inline(always)]
    fn letter(&self, state: u32, _letters: &mut Letters<'_>) -> Letter {
        self.known.records[state as usize].letter
    }

    #[inline(always)]
    fn target(&self, edge: u32) -> u32 {
        self.known.edges[edge as usize]
    }

    #[inline]
    fn prefetch(&self, edges: Range<u32>) {
        for edge in edges {
            pages::prefetch(&self.known.records, self.known.edges[edge as usize] as usize);
        }
    }

    fn ample(
        &mut self,
        state: u32,
        _automaton: u32,
        letters: &mut Letters<'_>,
    ) -> Result<Range<u32>, Halt> {
        if self.known.records[state as usize].edges == UNEXPANDED {
            self.expand(state, letters)?;
        }
        Ok(self.known(state, true))
    }

    fn complete(
        &mut self,
        state: u32,
        _automaton: u32,
        letters: &mut Letters<'_>,
    ) -> Result<(), Halt> {
        if self.known.records[state as usize].edges == UNEXPANDED {
            self.expand(state, letters)?;
        }
        let known = &self.known.records[state as usize];
        if known.all == 0 && known.ample > 0 {
            self.add_rest(state, letters)?;
        }
        Ok(())
    }

    #[inline]
    fn known(&self, state: u32, ample: bool) -> Range<u32> {
        let known = &self.known.records[state as usize];
        let count = if ample { known.ample } else { known.all };
        known.edges..known.edges + u32::from(count)
    }

    #[inline]
    fn find(&self, state: u32, automaton: u32) -> Option<(Node, u8)> {
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

    fn add(&mut self, state: u32, automaton: u32, marks: u8) -> Result<Node, Halt> {
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

    #[inline]
    fn update_marks(&mut self, node: Node, change: impl FnOnce(u8) -> u8) {
        let place = (node.0 & !(FURTHER | SECOND)) as usize;
        let word = match node.0 & (FURTHER | SECOND) {
            0 => &mut self.known.records[place].words[0],
            SECOND => &mut self.known.records[place].words[1],
            _ => &mut self.further[(node.0 & !FURTHER) as usize].word,
        };
        *word = *word >> MARK_BITS << MARK_BITS | u32::from(change(marks(*word)));
    }

    fn bytes(&self) -> usize {
        self.known.store.bytes()
            + self.known.records.capacity() * size_of::<Record>()
            + self.further.capacity() * size_of::<Cell>()
            + self.known.edges.capacity() * 4
            + self.outgoing.bytes()
    }

    fn steps_between(&mut self, from: u32, to: u32) -> Result<Option<Passage>, Halt> {
        self.outgoing.load(self.known.store.get(StateId(from)));
        self.outgoing.steps_to(self.known.store.get(StateId(to)))
    }

    fn tally(&mut self) -> Tally {
        let taken = std::mem::take(&mut self.outgoing.taken);
        let Outgoing { atomic_steps, longest, expanded, narrowed, .. } = self.outgoing;
        Tally { taken, longest, atomic_steps, expanded, narrowed, ..Tally::default() }
    }
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
