//! Where a search of product states gets the system's part from.
//!
//! A state of the product is a state of the system and a state of the automaton. What depends on the system alone is found
//! once for all states of the automaton: the letter of a system state, its successors by number, and which of them are an ample
//! set. One thread keeps all that in lists of its own (`graph.rs`); several share it (`concurrent_graph.rs`). What the
//! search marks product states with is its own business, whichever graph keeps it.
//!
//! Invariant: letters and edges, in their order, are a function of the system alone, so a search is the same over every
//! graph, to its last number.

use super::letters::{Letter, Letters};
use super::outgoing::Passage;
use crate::Finding;
use crate::search::shared::halt::Halt;
use preempt_core::{Contention, System};
use std::ops::Range;

/// The automaton's state lies above the marks of a product state.
pub(super) const MARK_BITS: u32 = 4;

/// Stored states of the system, and product states as the search marks them.
pub(crate) trait SystemGraph {
    /// A product state.
    type Node: Copy + PartialEq;

    /// Stores the initial state; gives its number.
    fn initial(&mut self, letters: &mut Letters<'_>) -> Result<u32, Halt>;

    /// What the automaton reads in a state.
    fn letter(&self, state: u32, letters: &mut Letters<'_>) -> Letter;

    /// Where an edge leads.
    fn target(&self, edge: u32) -> u32;

    /// Lets what is known of the states behind these edges be on its way.
    fn prefetch(&self, edges: Range<u32>);

    /// The edges of the ample set of a state that is visited with this state of the automaton; empty without one.
    fn ample(
        &mut self,
        state: u32,
        automaton: u32,
        letters: &mut Letters<'_>,
    ) -> Result<Range<u32>, Halt>;

    /// Sees to it that all edges of a state are known that is visited with this state of the automaton.
    fn complete(
        &mut self,
        state: u32,
        automaton: u32,
        letters: &mut Letters<'_>,
    ) -> Result<(), Halt>;

    /// The known edges of a state: those of the ample set, or all.
    fn known(&self, state: u32, ample: bool) -> Range<u32>;

    /// The product state with this state of the automaton, if there is one, and its marks.
    fn find(&self, state: u32, automaton: u32) -> Option<(Self::Node, u8)>;

    /// Adds a product state.
    fn add(&mut self, state: u32, automaton: u32, marks: u8) -> Result<Self::Node, Halt>;

    /// Changes the marks of a product state.
    fn update_marks(&mut self, node: Self::Node, change: impl FnOnce(u8) -> u8);

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;

    /// Steps of the program from one stored state to another, and those that were passed behind them;
    /// `None` where there are none because nothing can move.
    fn steps_between(&mut self, from: u32, to: u32) -> Result<Option<Passage>, Halt>;

    /// What was counted on the way.
    fn tally(&mut self) -> Tally;
}

/// What expansions count.
#[derive(Default)]
pub(crate) struct Tally {
    /// The transitions of the system that were taken.
    pub(crate) taken: Vec<bool>,
    /// The length of the longest state that was expanded.
    pub(crate) longest: usize,
    /// Steps into indivisible sequences.
    pub(crate) atomic_steps: u64,
    /// States that were expanded, and those of them that reduction makes a difference to.
    pub(crate) expanded: u64,
    pub(crate) narrowed: u64,
    /// What others may have had to wait for.
    pub(crate) contention: Contention,
}

impl Tally {
    /// Adds what another thread has counted.
    pub(super) fn add(&mut self, other: Tally) {
        self.taken.resize(self.taken.len().max(other.taken.len()), false);
        self.taken.iter_mut().zip(&other.taken).for_each(|(all, one)| *all |= one);
        self.atomic_steps += other.atomic_steps;
        self.expanded += other.expanded;
        self.narrowed += other.narrowed;
        self.longest = self.longest.max(other.longest);
        self.contention.add(other.contention);
    }

    /// Says in a finding what was counted.
    pub(super) fn complete<S: System + ?Sized>(&self, system: &S, finding: &mut Finding) {
        finding.statistics.atomic_steps = self.atomic_steps;
        finding.statistics.state_bytes = self.longest as u64;
        finding.unreached = system.unreached(&self.taken);
    }
}
