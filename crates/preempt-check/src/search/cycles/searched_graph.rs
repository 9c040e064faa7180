//! A graph that several threads expand, as the one that searches it sees it: with the product states of each system state.
//!
//! Product states are 32 bits each, the automaton's state and the marks of the search. Up to four lie in the record of the system
//! state (`graph_records.rs`), further ones in a list. Only the search looks at them.
//!
//! Invariant: what has no letter is found out in the order of the search, before any edge to it is followed.

use super::concurrent_graph::{ConcurrentGraph, Expanding, LETTER, NO_LETTER};
use super::graph_records::Record;
use super::letters::{Letter, Letters};
use super::outgoing::Passage;
use super::system_graph::{MARK_BITS, SystemGraph, Tally};
use crate::platform::sync::atomic::Ordering;
use crate::search::shared::halt::Halt;
use crate::search::shared::workers::wait_a_little;
use crate::store::StoreFull;
use preempt_core::System;
use std::ops::Range;

/// The graph as the search sees it, with its product states.
pub(super) struct Searched<'a, S: System + ?Sized> {
    graph: &'a ConcurrentGraph<'a, S>,
    expanding: Expanding<'a, S>,
    further: Vec<Cell>,
}

/// A product state: of a system state, in its record or in the list of further ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Node {
    state: u32,
    at: u32,
}

/// Behind those that the record of a system state has room for, places in the list of further ones.
const FURTHER: u32 = 4;
/// Automata with more states than this are left to others.
const AUTOMATON_STATES: u32 = (1 << (32 - MARK_BITS)) - 1;

/// A further product state, and where the next one is.
#[derive(Clone, Copy)]
struct Cell {
    word: u32,
    next: u32,
}

impl<'a, S: System + ?Sized> Searched<'a, S> {
    pub(super) fn new(expanding: Expanding<'a, S>) -> Self {
        let graph = expanding.graph;
        Searched { graph, expanding, further: Vec::new() }
    }

    /// Whether all states behind these edges have letters. What a visit to those that have not been visited will need is on its
    /// way from now on.
    #[inline]
    fn look_for_letters(&self, edges: Range<u32>) -> Result<(), Halt> {
        self.prefetch(edges.clone());
        for edge in edges {
            let state = self.target(edge);
            self.look_for_letter(state)?;
            if self.graph.records.get(state)[1].load(Ordering::Relaxed) == 0 {
                self.graph.prefetch_edges(state);
            }
        }
        Ok(())
    }

    /// Whether a state has a letter; waits for the thread that has inserted it if it is not known yet.
    #[inline(always)]
    fn look_for_letter(&self, state: u32) -> Result<(), Halt> {
        match self.graph.marks(state) & LETTER {
            0 => self.wait_for_letter(state),
            NO_LETTER => Err(Halt::Unsuited),
            _ => Ok(()),
        }
    }

    /// A product state that is not among the first two of its system state.
    fn find_further(&self, record: &Record, state: u32, automaton: u32) -> Option<(Node, u8)> {
        let words = record[2].load(Ordering::Relaxed);
        for (at, word) in [(2, words as u32), (3, (words >> 32) as u32)] {
            if word >> MARK_BITS == automaton + 1 {
                return Some((Node { state, at }, marks(word)));
            }
        }
        let mut next = (record[3].load(Ordering::Relaxed) >> 32) as u32;
        while let Some(at) = next.checked_sub(1) {
            let cell = self.further[at as usize];
            if cell.word >> MARK_BITS == automaton + 1 {
                return Some((Node { state, at: FURTHER + at }, marks(cell.word)));
            }
            next = cell.next;
        }
        None
    }

    #[cold]
    fn wait_for_letter(&self, state: u32) -> Result<(), Halt> {
        let mut patience = 0_u32;
        while self.graph.marks(state) & LETTER == 0 {
            if self.graph.is_over() {
                // The thread has panicked, which will be passed on.
                return Err(Halt::Unsuited);
            }
            wait_a_little(&mut patience);
        }
        self.look_for_letter(state)
    }
}

impl<S: System + ?Sized> SystemGraph for Searched<'_, S> {
    type Node = Node;

    fn initial(&mut self, _letters: &mut Letters<'_>) -> Result<u32, Halt> {
        let initial = self.expanding.begin()?;
        self.look_for_letter(initial)?;
        Ok(initial)
    }

    #[inline(always)]
    fn letter(&self, state: u32, letters: &mut Letters<'_>) -> Letter {
        let marks = self.graph.shared(state).load(Ordering::Relaxed);
        letters.number_of_letter((marks & LETTER).wrapping_sub(1))
    }

    #[inline(always)]
    fn target(&self, edge: u32) -> u32 {
        self.graph.lists.half(edge as usize)
    }

    #[inline]
    fn prefetch(&self, edges: Range<u32>) {
        for edge in edges {
            self.graph.records.prefetch(self.target(edge));
        }
    }

    fn ample(
        &mut self,
        state: u32,
        automaton: u32,
        letters: &mut Letters<'_>,
    ) -> Result<Range<u32>, Halt> {
        let marks = self.expanding.expanded(state, letters.name(automaton))?;
        let edges = self.graph.edges(marks, true);
        self.look_for_letters(edges.clone())?;
        Ok(edges)
    }

    fn complete(
        &mut self,
        state: u32,
        automaton: u32,
        letters: &mut Letters<'_>,
    ) -> Result<(), Halt> {
        let name = letters.name(automaton);
        let mut marks = self.expanding.expanded(state, name)?;
        let count = self.graph.count(marks);
        if count.all == 0 && count.ample > 0 {
            marks = self.expanding.add_rest(state, marks, name)?;
        }
        self.look_for_letters(self.graph.edges(marks, false))
    }

    #[inline]
    fn known(&self, state: u32, ample: bool) -> Range<u32> {
        self.graph.edges(self.graph.marks(state), ample)
    }

    #[inline(always)]
    fn find(&self, state: u32, automaton: u32) -> Option<(Node, u8)> {
        let record = self.graph.records.get(state);
        let words = record[1].load(Ordering::Relaxed);
        let [first, second] = [words as u32, (words >> 32) as u32];
        if first >> MARK_BITS == automaton + 1 {
            return Some((Node { state, at: 0 }, marks(first)));
        }
        if second >> MARK_BITS == automaton + 1 {
            return Some((Node { state, at: 1 }, marks(second)));
        }
        if second == 0 { None } else { self.find_further(record, state, automaton) }
    }

    fn add(&mut self, state: u32, automaton: u32, marks: u8) -> Result<Node, Halt> {
        if automaton + 1 >= AUTOMATON_STATES {
            return Err(Halt::Unsuited);
        }
        let word = (automaton + 1) << MARK_BITS | u32::from(marks);
        let record = self.graph.records.get(state);
        for at in 0..FURTHER {
            let (words, shift) = (&record[1 + at as usize / 2], 32 * (at % 2));
            let present = words.load(Ordering::Relaxed);
            if (present >> shift) as u32 == 0 {
                words.store(present | u64::from(word) << shift, Ordering::Relaxed);
                return Ok(Node { state, at });
            }
        }
        let at = u32::try_from(self.further.len()).ok().and_then(|at| at.checked_add(FURTHER));
        let at = at.ok_or(StoreFull)?;
        let present = record[3].load(Ordering::Relaxed);
        self.further.push(Cell { word, next: (present >> 32) as u32 });
        let present = present & u64::from(u32::MAX) | (self.further.len() as u64) << 32;
        record[3].store(present, Ordering::Relaxed);
        Ok(Node { state, at })
    }

    #[inline]
    fn update_marks(&mut self, node: Node, change: impl FnOnce(u8) -> u8) {
        let changed = |word: u32| word >> MARK_BITS << MARK_BITS | u32::from(change(marks(word)));
        if let Some(at) = node.at.checked_sub(FURTHER) {
            let word = &mut self.further[at as usize].word;
            *word = changed(*word);
            return;
        }
        let record = self.graph.records.get(node.state);
        let (words, shift) = (&record[1 + node.at as usize / 2], 32 * (node.at % 2));
        let present = words.load(Ordering::Relaxed);
        let word = changed((present >> shift) as u32);
        let others = present & !(u64::from(u32::MAX) << shift);
        words.store(others | u64::from(word) << shift, Ordering::Relaxed);
    }

    fn bytes(&self) -> usize {
        self.graph.bytes() + self.further.capacity() * size_of::<Cell>()
    }

    fn steps_between(&mut self, from: u32, to: u32) -> Result<Option<Passage>, Halt> {
        self.expanding.steps_between(from, to)
    }

    fn tally(&mut self) -> Tally {
        self.expanding.tally()
    }
}

#[inline(always)]
fn marks(word: u32) -> u8 {
    (word & ((1 << MARK_BITS) - 1)) as u8
}
