//! The system's part of a product, expanded by several threads.
//!
//! One thread searches the product (`nested_shared.rs`); where it comes to a state of the system that is expanded, it follows
//! numbers. The others expand states ahead of it, each once, and say where the property can be there (`possible.rs`), so that
//! they expand nothing that the search will not need. A state that another thread has begun and does not finish, perhaps because
//! it is not running, the search expands itself.
//!
//! What threads share of a state lies in a word beside its bytes: its letter, who expands it, where its successors are. A second
//! word, and half of the first of all, belong to the search alone: the product states of this system state.
//!
//! Invariant: a list of successors is published after the letters of all of them; both are functions of the state
//! (`outgoing.rs`), so it does not matter by whom.

use super::letters::{Letter, Letters};
use super::nested_shared::Reading;
use super::outgoing::{Edges, Outgoing, Passage};
use super::possible::{Known, NOTHING, Possible, Subset};
use super::shared_graph::PATIENCE;
use super::successor_lists::{Block, SuccessorLists};
use super::system_graph::{Halt, MARK_BITS, SystemGraph, Tally};
use super::work_pool::Pool;
use crate::platform::sync::atomic::{AtomicUsize, Ordering};
use crate::property::{Property, Stutter};
use crate::store::concurrent::exact::{Local, SharedExact};
use crate::store::concurrent::{ConcurrentStore, Place, Records};
use crate::store::{Pending, StoreFull};
use preempt_core::{Locality, System};
use std::ops::Range;

// The word that threads share.
/// One more than the automaton's name of the letter, once it is known.
const LETTER: u64 = (1 << 24) - 1;
/// In place of a letter: there is none, or none that fits.
const NO_LETTER: u64 = LETTER;
/// Somebody expands the state, or has done so.
const CLAIMED: u64 = 1 << 24;
/// The search does not know how to handle what follows.
const UNSUITED: u64 = 1 << 25;
/// From here on: one more than where its successors are, once it is expanded.
const LIST: u32 = 26;
/// Edges are numbers of half words, of 32 bits.
const MOST_WORDS: usize = 1 << 31;

/// Words beside each state: the one that threads share, and the search's.
const WORDS: usize = 2;

/// A state that should be expanded, and what is possible there: before its letter was read or after that, as the search reads.
struct Waiting {
    place: Place,
    possible: Subset,
}

/// What all threads share.
pub(super) struct ConcurrentGraph<'a, S: ?Sized> {
    system: &'a S,
    property: &'a dyn Property,
    stutter: Stutter,
    least: Option<Locality>,
    store: SharedExact,
    lists: SuccessorLists,
    possible: Possible<'a>,
    pool: Pool<Waiting>,
    /// What threads keep for themselves, in bytes.
    aside: AtomicUsize,
}

impl<'a, S: System + ?Sized> ConcurrentGraph<'a, S> {
    /// A graph for so many threads, of at most `memory` bytes.
    pub(super) fn new(
        (system, property): (&'a S, &'a dyn Property),
        stutter: Stutter,
        least: Option<Locality>,
        memory: usize,
        threads: usize,
    ) -> Self {
        ConcurrentGraph {
            system,
            property,
            stutter,
            least,
            store: SharedExact::with_words(memory, threads, WORDS),
            lists: SuccessorLists::new(),
            possible: Possible::new(property),
            pool: Pool::new(),
            aside: AtomicUsize::new(0),
        }
    }

    /// Sends all threads home when what this gives is dropped, be it by a panic.
    pub(super) fn end_at_last(&self) -> impl Drop {
        End(&self.pool)
    }

    #[inline(always)]
    fn marks(&self, place: Place) -> u64 {
        self.store.record(place).load(Ordering::Acquire)
    }

    /// How many edges a state with these marks has.
    #[inline(always)]
    fn count(&self, marks: u64) -> Count {
        Count::from_head(self.lists.head(list(marks)))
    }

    /// The edges of a state with these marks: those of its ample set, or all.
    #[inline(always)]
    fn edges(&self, marks: u64, ample: bool) -> Range<u32> {
        let (first, count) = (2 * list(marks) as u32 + 1, self.count(marks));
        first..first + u32::from(if ample { count.ample } else { count.all })
    }

    fn bytes(&self) -> usize {
        let aside = self.aside.load(Ordering::Relaxed) + self.pool.bytes();
        self.store.bytes() + self.lists.bytes() + aside
    }
}

/// The word at which the list of a state with these marks begins.
#[inline(always)]
fn list(marks: u64) -> usize {
    ((marks >> LIST) as usize).wrapping_sub(1)
}

#[inline(always)]
fn is_expanded(marks: u64) -> bool {
    marks >> LIST != 0
}

struct End<'a>(&'a Pool<Waiting>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What the letter of a state is in its word.
fn letter_marks<S: System + ?Sized>(system: &S, state: &[u8], letters: &mut Letters<'_>) -> u64 {
    let mut has_no_value = false;
    let letter = letters.name_of_letter(|index| {
        let value = system.proposition(state, index);
        has_no_value |= value.is_err();
        value == Ok(true)
    });
    if has_no_value || letter + 1 >= NO_LETTER { NO_LETTER } else { letter + 1 }
}

/// How many edges a state has, and how many of them, the first ones, are an ample set; no edges in all while only those of the
/// ample set are known.
#[derive(Clone, Copy)]
struct Count {
    all: u16,
    ample: u16,
}

impl Count {
    const NONE: Count = Count { all: 0, ample: 0 };

    fn len(self) -> usize {
        self.all.max(self.ample).into()
    }

    fn new(edges: usize, ample: usize) -> Result<Self, Halt> {
        match (u16::try_from(edges), u16::try_from(ample)) {
            (Ok(all), Ok(ample)) => Ok(Count { all, ample }),
            _ => Err(Halt::Unsuited),
        }
    }

    fn from_head(head: u32) -> Self {
        Count { all: head as u16, ample: (head >> 16) as u16 }
    }

    fn head(self) -> u32 {
        u32::from(self.all) | u32::from(self.ample) << 16
    }
}

/// A thread that expands states.
pub(super) struct Expanding<'a, S: System + ?Sized> {
    graph: &'a ConcurrentGraph<'a, S>,
    outgoing: Outgoing<'a, S>,
    inserter: Inserter<'a, S>,
    block: Block,
    atomic_steps: u64,
    aside: usize,
}

/// What a thread needs to insert states.
struct Inserter<'a, S: System + ?Sized> {
    graph: &'a ConcurrentGraph<'a, S>,
    local: Local,
    letters: Letters<'a>,
    known: Known<'a>,
    reading: Reading,
    parents: Vec<Place>,
    /// Where edges lead.
    places: Vec<Place>,
    /// New states.
    waiting: Vec<Waiting>,
}

impl<S: System + ?Sized> Inserter<'_, S> {
    /// Stores the states that the edges out of `place` lead to, and adds them to `places`. Says whether all have letters.
    fn insert(&mut self, place: Place, edges: Edges<'_>, possible: Subset) -> Result<bool, Halt> {
        let graph = self.graph;
        if edges.stutters {
            self.places.push(place);
        }
        self.parents.clear();
        self.parents.resize(edges.arrivals.len(), 0);
        graph.store.insert(&mut self.local, edges.bytes, edges.arrivals, &self.parents)?;
        let mut have_letters = true;
        for arrival in edges.arrivals {
            let Pending { start, end, inserted, .. } = *arrival;
            let place = inserted.id.0;
            let mut letter = graph.marks(place) & LETTER;
            if letter == 0 {
                letter = letter_marks(graph.system, &edges.bytes[start..end], &mut self.letters);
                graph.store.record(place).fetch_or(letter, Ordering::AcqRel);
            }
            have_letters &= letter != NO_LETTER;
            self.places.push(place);
            if inserted.new && letter != NO_LETTER {
                let possible = match self.reading {
                    Reading::Departure => possible,
                    Reading::Arrival => self.known.after(possible, letter as u32 - 1),
                };
                if possible != NOTHING {
                    self.waiting.push(Waiting { place, possible });
                }
            }
        }
        Ok(have_letters)
    }

    /// What is possible where the edges of a state begin, given what was when it was put aside.
    fn on_departure(&mut self, possible: Subset, marks: u64) -> Subset {
        match (self.reading, marks & LETTER) {
            (Reading::Arrival, _) => possible,
            (Reading::Departure, 0 | NO_LETTER) => NOTHING,
            (Reading::Departure, letter) => self.known.after(possible, letter as u32 - 1),
        }
    }
}

impl<'a, S: System + ?Sized> Expanding<'a, S> {
    /// The thread with this number; `None` where the property has no letters.
    pub(super) fn new(graph: &'a ConcurrentGraph<'a, S>, number: usize) -> Option<Self> {
        let inserter = Inserter {
            graph,
            local: graph.store.local(number),
            letters: Letters::new(graph.property)?,
            known: graph.possible.local(),
            reading: Reading::with(graph.least),
            parents: Vec::new(),
            places: Vec::new(),
            waiting: Vec::new(),
        };
        Some(Expanding {
            graph,
            outgoing: Outgoing::new(graph.system, graph.stutter, graph.least),
            inserter,
            block: Block::default(),
            atomic_steps: 0,
            aside: 0,
        })
    }

    /// Expands states that wait until nobody needs more of them, or there is no room for more: then the search goes on as far
    /// as it gets.
    pub(super) fn help(&mut self) {
        let graph = self.graph;
        while let Some(next) = graph.pool.next(&mut self.inserter.waiting) {
            let Waiting { place, possible } = next;
            let marks = graph.marks(place);
            if marks & CLAIMED != 0 {
                continue;
            }
            let possible = self.inserter.on_departure(possible, marks);
            if possible == NOTHING {
                continue;
            }
            let before = graph.store.record(place).fetch_or(CLAIMED, Ordering::AcqRel);
            if before & CLAIMED == 0 && self.expand(place, possible).is_err() {
                return;
            }
        }
    }

    pub(super) fn tally(&mut self) -> Tally {
        Tally {
            taken: std::mem::take(&mut self.outgoing.taken),
            atomic_steps: self.atomic_steps,
            contention: SharedExact::contention(&self.inserter.local),
        }
    }

    /// Expands a state for all.
    fn expand(&mut self, place: Place, possible: Subset) -> Result<(), Halt> {
        let graph = self.graph;
        self.outgoing.load(graph.store.get(place));
        let before = self.outgoing.atomic_steps;
        self.inserter.places.clear();
        let (known, count) = match self.outgoing.first() {
            Ok(edges) => {
                let is_ample = edges.is_ample;
                let have_letters = self.inserter.insert(place, edges, possible)?;
                let edges = self.inserter.places.len();
                let count = if is_ample { Count::new(0, edges) } else { Count::new(edges, 0) };
                match (have_letters, count) {
                    (true, Ok(count)) => (CLAIMED, count),
                    _ => (CLAIMED | UNSUITED, Count::NONE),
                }
            }
            Err(Halt::Unsuited) => (CLAIMED | UNSUITED, Count::NONE),
            Err(halt) => return Err(halt),
        };
        let known = known | (self.write_list(count)? + 1) << LIST;
        let publish = |marks: u64| (marks >> LIST == 0).then_some(marks | known);
        let record = graph.store.record(place);
        if record.fetch_update(Ordering::AcqRel, Ordering::Acquire, publish).is_ok() {
            self.atomic_steps += self.outgoing.atomic_steps - before;
        }
        let aside = self.inserter.waiting.capacity() * size_of::<Waiting>() + self.outgoing.bytes();
        if aside > self.aside {
            graph.aside.fetch_add(aside - self.aside, Ordering::Relaxed);
            self.aside = aside;
        }
        Ok(())
    }

    /// Keeps the places that edges lead to, and how many they are; gives the word at which the list begins.
    fn write_list(&mut self, count: Count) -> Result<u64, StoreFull> {
        let places = self.inserter.places.iter().copied().take(count.len());
        let list = self.graph.lists.add(&mut self.block, count.head(), places)?;
        if list < MOST_WORDS { Ok(list as u64) } else { Err(StoreFull) }
    }

    /// Sees to it that a state is expanded that the search visits where this is possible; gives what is known of it.
    fn expanded(&mut self, place: Place, name: u32) -> Result<u64, Halt> {
        let graph = self.graph;
        let mut marks = graph.marks(place);
        if marks & CLAIMED != 0 || {
            marks = graph.store.record(place).fetch_or(CLAIMED, Ordering::AcqRel);
            marks & CLAIMED != 0
        } {
            for _ in 0..PATIENCE {
                marks = graph.marks(place);
                if is_expanded(marks) {
                    break;
                }
                crate::platform::hint::spin_loop();
            }
        }
        if !is_expanded(marks) {
            let possible = self.inserter.known.single(name);
            let possible = self.inserter.on_departure(possible, marks);
            self.expand(place, possible)?;
            graph.pool.offer(&mut self.inserter.waiting);
            marks = graph.marks(place);
        }
        if marks & UNSUITED != 0 { Err(Halt::Unsuited) } else { Ok(marks) }
    }

    /// Adds the edges outside of the ample set. Only the search does that, so nobody else looks at this list.
    fn add_rest(&mut self, place: Place, marks: u64, name: u32) -> Result<(), Halt> {
        let graph = self.graph;
        let ample = graph.edges(marks, true);
        self.inserter.places.clear();
        self.inserter.places.extend(ample.clone().map(|edge| graph.lists.half(edge as usize)));
        self.outgoing.load(graph.store.get(place));
        let before = self.outgoing.atomic_steps;
        let edges = self.outgoing.rest()?;
        let possible = self.inserter.known.single(name);
        if !self.inserter.insert(place, edges, possible)? {
            return Err(Halt::Unsuited);
        }
        self.atomic_steps += self.outgoing.atomic_steps - before;
        let count = Count::new(self.inserter.places.len(), ample.len())?;
        let list = (self.write_list(count)? + 1) << LIST;
        let replace = |marks: u64| Some(marks & ((1 << LIST) - 1) | list);
        let record = graph.store.record(place);
        let _ = record.fetch_update(Ordering::AcqRel, Ordering::Acquire, replace);
        graph.pool.offer(&mut self.inserter.waiting);
        Ok(())
    }
}

/// The graph as the search sees it, with its product states.
pub(super) struct Searched<'a, S: System + ?Sized> {
    graph: &'a ConcurrentGraph<'a, S>,
    expanding: Expanding<'a, S>,
    further: Vec<Cell>,
    state_bytes: usize,
}

/// A product state: of a system state, in its word or in the list of further ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Node {
    place: Place,
    at: u32,
}

/// Behind the two that the word of a system state has room for, places in the list of further ones.
const FURTHER: u32 = 2;
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
        Searched { graph, expanding, further: Vec::new(), state_bytes: 0 }
    }
}

impl<S: System + ?Sized> SystemGraph for Searched<'_, S> {
    type Node = Node;

    fn initial(&mut self, _letters: &mut Letters<'_>) -> Result<u32, Halt> {
        let Expanding { outgoing, inserter, .. } = &mut self.expanding;
        outgoing.initial()?;
        self.state_bytes = outgoing.state.len();
        let arrivals = &mut [Pending::new(0, 0, self.state_bytes)];
        let bytes = &outgoing.state;
        let edges = Edges { bytes, arrivals, is_ample: false, stutters: false };
        inserter.places.clear();
        match inserter.insert(0, edges, NOTHING)? {
            true => Ok(inserter.places[0]),
            false => Err(Halt::Unsuited),
        }
    }

    #[inline(always)]
    fn letter(&self, state: u32, letters: &mut Letters<'_>) -> Letter {
        let marks = self.graph.store.record(state).load(Ordering::Relaxed);
        letters.number_of_letter((marks & LETTER).wrapping_sub(1))
    }

    #[inline(always)]
    fn target(&self, edge: u32) -> u32 {
        self.graph.lists.half(edge as usize)
    }

    #[inline]
    fn prefetch(&self, edges: Range<u32>) {
        for edge in edges {
            self.graph.store.prefetch_record(self.target(edge));
        }
    }

    fn ample(
        &mut self,
        state: u32,
        automaton: u32,
        letters: &mut Letters<'_>,
    ) -> Result<Range<u32>, Halt> {
        let marks = self.expanding.expanded(state, letters.name(automaton))?;
        Ok(self.graph.edges(marks, true))
    }

    fn complete(
        &mut self,
        state: u32,
        automaton: u32,
        letters: &mut Letters<'_>,
    ) -> Result<(), Halt> {
        let name = letters.name(automaton);
        let marks = self.expanding.expanded(state, name)?;
        let count = self.graph.count(marks);
        if count.all == 0 && count.ample > 0 {
            self.expanding.add_rest(state, marks, name)?;
        }
        Ok(())
    }

    #[inline]
    fn known(&self, state: u32, ample: bool) -> Range<u32> {
        self.graph.edges(self.graph.marks(state), ample)
    }

    #[inline]
    fn find(&self, state: u32, automaton: u32) -> Option<(Node, u8)> {
        let words = self.graph.store.word(state, 1).load(Ordering::Relaxed);
        let node = |at, word: u32| Some((Node { place: state, at }, marks(word)));
        let [first, second] = [words as u32, (words >> 32) as u32];
        if first >> MARK_BITS == automaton + 1 {
            return node(0, first);
        }
        if second >> MARK_BITS == automaton + 1 {
            return node(1, second);
        }
        if second == 0 {
            return None;
        }
        let mut next = self.graph.store.parent(state);
        while let Some(at) = next.checked_sub(1) {
            let cell = self.further[at as usize];
            if cell.word >> MARK_BITS == automaton + 1 {
                return node(FURTHER + at, cell.word);
            }
            next = cell.next;
        }
        None
    }

    fn add(&mut self, state: u32, automaton: u32, marks: u8) -> Result<Node, Halt> {
        if automaton + 1 >= AUTOMATON_STATES {
            return Err(Halt::Unsuited);
        }
        let word = (automaton + 1) << MARK_BITS | u32::from(marks);
        let words = self.graph.store.word(state, 1);
        let present = words.load(Ordering::Relaxed);
        let at = match [present as u32, (present >> 32) as u32] {
            [0, _] => {
                words.store(u64::from(word), Ordering::Relaxed);
                0
            }
            [_, 0] => {
                words.store(present | u64::from(word) << 32, Ordering::Relaxed);
                1
            }
            _ => {
                let at = u32::try_from(self.further.len()).map_err(|_| StoreFull)?;
                let at = at.checked_add(FURTHER + 1).ok_or(StoreFull)? - 1;
                self.further.push(Cell { word, next: self.graph.store.parent(state) });
                self.graph.store.set_note(state, self.further.len() as u32);
                at
            }
        };
        Ok(Node { place: state, at })
    }

    #[inline]
    fn update_marks(&mut self, node: Node, change: impl FnOnce(u8) -> u8) {
        let changed = |word: u32| word >> MARK_BITS << MARK_BITS | u32::from(change(marks(word)));
        if let Some(at) = node.at.checked_sub(FURTHER) {
            let word = &mut self.further[at as usize].word;
            *word = changed(*word);
            return;
        }
        let words = self.graph.store.word(node.place, 1);
        let present = words.load(Ordering::Relaxed);
        let shift = 32 * node.at;
        let word = changed((present >> shift) as u32);
        let others = present & !(u64::from(u32::MAX) << shift);
        words.store(others | u64::from(word) << shift, Ordering::Relaxed);
    }

    fn bytes(&self) -> usize {
        self.graph.bytes() + self.further.capacity() * size_of::<Cell>()
    }

    fn state_bytes(&self) -> usize {
        self.state_bytes
    }

    fn steps_between(&mut self, from: u32, to: u32) -> Result<Option<Passage>, Halt> {
        let outgoing = &mut self.expanding.outgoing;
        outgoing.load(self.graph.store.get(from));
        outgoing.steps_to(self.graph.store.get(to))
    }

    fn tally(&mut self) -> Tally {
        self.expanding.tally()
    }
}

#[inline(always)]
fn marks(word: u32) -> u8 {
    (word & ((1 << MARK_BITS) - 1)) as u8
}
