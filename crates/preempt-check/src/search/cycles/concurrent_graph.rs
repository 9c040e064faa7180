//! The system's part of a product, expanded by several threads.
//!
//! One thread searches the product (`nested_shared.rs`); where it comes to a state of the system that is expanded, it follows
//! numbers. The others expand states ahead of it, each once, and say where the property can be there (`possible.rs`), so that
//! they expand nothing that the search will not need. A state that another thread has begun and does not finish, perhaps because
//! it is not running, the search expands itself.
//!
//! States are known by numbers; what is known of each, `graph_records.rs` keeps. A thread that inserts a state reads its letter at
//! once; where another thread finds the state before that, the search waits for the letter.
//!
//! Invariant: letters and successors are functions of the state (`outgoing.rs`), so it does not matter which thread finds them. Whether
//! something has no letter the search looks at by itself, in its own order.

use super::graph_records::{FreeNumbers, GraphRecords};
use super::letters::Letters;
use super::nested_shared::Reading;
use super::outgoing::{Edges, Outgoing, Passage};
use super::possible::{Known, NOTHING, Possible, Subset};
use super::shared_graph::PATIENCE;
use super::successor_lists::{Block, SuccessorLists};
use super::system_graph::Tally;
use super::work_pool::Pool;
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::property::{Property, Stutter};
use crate::search::shared::halt::Halt;
use crate::store::concurrent::ConcurrentStore;
use crate::store::concurrent::exact::{Local, SharedExact};
use crate::store::{Pending, StateId, StoreFull};
use preempt_core::{Locality, System};
use std::ops::Range;

// The word of a record that threads share.
/// One more than the automaton's name of the letter, once it is known.
pub(super) const LETTER: u64 = (1 << 24) - 1;
/// In place of a letter: there is none, or none that fits.
pub(super) const NO_LETTER: u64 = LETTER;
/// A thread expands the state, or has done so.
const CLAIMED: u64 = 1 << 24;
/// The search does not know how to handle what follows.
const UNSUITED: u64 = 1 << 25;
/// From here on: one more than where its successors are, once it is expanded.
const LIST: u32 = 26;
/// Edges are numbers of half words, of 32 bits.
const MOST_WORDS: usize = 1 << 31;

/// A state that should be expanded, and what is possible there: before its letter was read or after that, as the search reads.
pub(super) struct Waiting {
    state: u32,
    possible: Subset,
}

/// What all threads share.
pub(super) struct ConcurrentGraph<'a, S: ?Sized> {
    system: &'a S,
    property: &'a dyn Property,
    stutter: Stutter,
    least: Option<Locality>,
    store: SharedExact,
    pub(super) records: GraphRecords,
    pub(super) lists: SuccessorLists,
    possible: Possible<'a>,
    pub(super) pool: Pool<Waiting>,
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
            store: SharedExact::new(memory, threads),
            records: GraphRecords::new(),
            lists: SuccessorLists::new(),
            possible: Possible::new(property),
            pool: Pool::new(),
            aside: AtomicUsize::new(0),
        }
    }

    /// Whether no thread needs more of it.
    pub(super) fn is_over(&self) -> bool {
        self.pool.is_over()
    }

    /// What threads share of a state.
    #[inline(always)]
    pub(super) fn shared(&self, state: u32) -> &AtomicU64 {
        &self.records.get(state)[0]
    }

    #[inline(always)]
    pub(super) fn marks(&self, state: u32) -> u64 {
        self.shared(state).load(Ordering::Acquire)
    }

    /// Asks the processor to fetch the edges of a state, or what is needed to find them.
    #[inline]
    pub(super) fn prefetch_edges(&self, state: u32) {
        let marks = self.marks(state);
        match is_expanded(marks) {
            true => self.lists.prefetch(list(marks)),
            false => self.store.prefetch(self.records.place(state)),
        }
    }

    /// The bytes of a state.
    pub(super) fn bytes_of(&self, state: u32) -> &[u8] {
        self.store.get(self.records.place(state))
    }

    /// How many edges a state with these marks has.
    #[inline(always)]
    pub(super) fn count(&self, marks: u64) -> Count {
        Count::from_head(self.lists.head(list(marks)))
    }

    /// The edges of a state with these marks: those of its ample set, or all.
    #[inline(always)]
    pub(super) fn edges(&self, marks: u64, ample: bool) -> Range<u32> {
        let (first, count) = (2 * list(marks) as u32 + 1, self.count(marks));
        first..first + u32::from(if ample { count.ample } else { count.all })
    }

    pub(super) fn bytes(&self) -> usize {
        let aside = self.aside.load(Ordering::Relaxed) + self.pool.bytes();
        self.store.bytes() + self.records.bytes() + self.lists.bytes() + aside
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
pub(super) struct Count {
    pub(super) all: u16,
    pub(super) ample: u16,
}

impl Count {
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
    pub(super) graph: &'a ConcurrentGraph<'a, S>,
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
    free: FreeNumbers,
    /// The numbers that states have if they are new.
    proposed: Vec<u32>,
    /// Where edges lead.
    targets: Vec<u32>,
    /// New states.
    waiting: Vec<Waiting>,
}

impl<S: System + ?Sized> Inserter<'_, S> {
    /// Stores the states that the edges out of `state` lead to, and adds them to `targets`.
    fn insert(&mut self, state: u32, edges: Edges<'_>, possible: Subset) -> Result<(), Halt> {
        let graph = self.graph;
        if edges.stutters {
            self.targets.push(state);
        }
        let Edges { bytes, arrivals, .. } = edges;
        self.free.propose(&graph.records, arrivals.len(), &mut self.proposed)?;
        let inserted = graph.store.insert(&mut self.local, bytes, arrivals, &self.proposed);
        self.free.settle(&self.proposed, arrivals);
        let first = self.waiting.len();
        for arrival in arrivals {
            let Pending { start, end, inserted, .. } = *arrival;
            if inserted.id == StateId::UNKNOWN {
                // There was no room for it.
                continue;
            }
            let place = inserted.id.0;
            let state = graph.store.parent(place);
            self.targets.push(state);
            if !inserted.new {
                continue;
            }
            let letter = letter_marks(graph.system, &bytes[start..end], &mut self.letters);
            let record = graph.records.get(state);
            record[3].store(place.into(), Ordering::Relaxed);
            record[0].fetch_or(letter, Ordering::AcqRel);
            if letter != NO_LETTER {
                let possible = match self.reading {
                    Reading::Departure => possible,
                    Reading::Arrival => self.known.after(possible, letter as u32 - 1),
                };
                if possible != NOTHING {
                    self.waiting.push(Waiting { state, possible });
                }
            }
        }
        // The last one is taken first, as the search takes the first one first.
        self.waiting[first..].reverse();
        Ok(inserted?)
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
            free: FreeNumbers::default(),
            proposed: Vec::new(),
            targets: Vec::new(),
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

    /// Expands states that wait until no more of them are needed, or there is no room for more: then the search goes on as far
    /// as it gets.
    pub(super) fn help(&mut self) {
        let graph = self.graph;
        while let Some(next) = graph.pool.next(&mut self.inserter.waiting) {
            let Waiting { state, possible } = next;
            let marks = graph.marks(state);
            if marks & CLAIMED != 0 {
                continue;
            }
            let possible = self.inserter.on_departure(possible, marks);
            if possible == NOTHING {
                continue;
            }
            let before = graph.shared(state).fetch_or(CLAIMED, Ordering::AcqRel);
            if before & CLAIMED == 0 && self.expand(state, possible).is_err() {
                return;
            }
        }
    }

    pub(super) fn tally(&mut self) -> Tally {
        Tally {
            taken: std::mem::take(&mut self.outgoing.taken),
            atomic_steps: self.atomic_steps,
            longest: self.outgoing.longest,
            expanded: self.outgoing.expanded,
            narrowed: self.outgoing.narrowed,
            contention: SharedExact::contention(&self.inserter.local),
        }
    }

    /// Expands a state for all.
    fn expand(&mut self, state: u32, possible: Subset) -> Result<(), Halt> {
        let graph = self.graph;
        self.outgoing.load(graph.bytes_of(state));
        let before = self.outgoing.atomic_steps;
        self.inserter.targets.clear();
        let count = match self.outgoing.first() {
            Ok(edges) => {
                let is_ample = edges.is_ample;
                self.inserter.insert(state, edges, possible)?;
                let edges = self.inserter.targets.len();
                if is_ample { Count::new(0, edges) } else { Count::new(edges, 0) }
            }
            Err(halt) => Err(halt),
        };
        let known = match count {
            Ok(count) => CLAIMED | (self.write_list(count)? + 1) << LIST,
            Err(Halt::Unsuited) => CLAIMED | UNSUITED | 1 << LIST,
            Err(halt) => return Err(halt),
        };
        let publish = |marks: u64| (!is_expanded(marks)).then_some(marks | known);
        let shared = graph.shared(state);
        if shared.fetch_update(Ordering::AcqRel, Ordering::Acquire, publish).is_ok() {
            self.atomic_steps += self.outgoing.atomic_steps - before;
        }
        let aside = self.inserter.waiting.capacity() * size_of::<Waiting>() + self.outgoing.bytes();
        if aside > self.aside {
            graph.aside.fetch_add(aside - self.aside, Ordering::Relaxed);
            self.aside = aside;
        }
        Ok(())
    }

    /// Keeps the states that edges lead to, and how many they are; gives the word at which the list begins.
    fn write_list(&mut self, count: Count) -> Result<u64, StoreFull> {
        let targets = self.inserter.targets.iter().copied();
        let list = self.graph.lists.add(&mut self.block, count.head(), targets)?;
        if list < MOST_WORDS { Ok(list as u64) } else { Err(StoreFull) }
    }

    /// Sees to it that a state is expanded that the search visits where this is possible; gives what is known of it.
    pub(super) fn expanded(&mut self, state: u32, name: u32) -> Result<u64, Halt> {
        let graph = self.graph;
        let mut marks = graph.marks(state);
        if !is_expanded(marks) {
            if marks & CLAIMED == 0 {
                marks = graph.shared(state).fetch_or(CLAIMED, Ordering::AcqRel);
            }
            if marks & CLAIMED != 0 {
                marks = self.wait_for(state);
            }
        }
        if !is_expanded(marks) {
            let possible = self.inserter.known.single(name);
            let possible = self.inserter.on_departure(possible, marks);
            self.expand(state, possible)?;
            graph.pool.offer(&mut self.inserter.waiting);
            marks = graph.marks(state);
        }
        if marks & UNSUITED != 0 { Err(Halt::Unsuited) } else { Ok(marks) }
    }

    /// Waits a while for another thread that expands a state.
    #[cold]
    fn wait_for(&self, state: u32) -> u64 {
        let mut marks = self.graph.marks(state);
        for _ in 0..PATIENCE {
            if is_expanded(marks) {
                break;
            }
            crate::platform::hint::spin_loop();
            marks = self.graph.marks(state);
        }
        marks
    }

    /// Adds the edges outside of the ample set. Only the search does that, so no other thread looks at this list.
    pub(super) fn add_rest(&mut self, state: u32, marks: u64, name: u32) -> Result<u64, Halt> {
        let graph = self.graph;
        let ample = graph.edges(marks, true);
        self.inserter.targets.clear();
        self.inserter.targets.extend(ample.clone().map(|edge| graph.lists.half(edge as usize)));
        self.outgoing.load(graph.bytes_of(state));
        let before = self.outgoing.atomic_steps;
        let edges = self.outgoing.rest()?;
        let possible = self.inserter.known.single(name);
        self.inserter.insert(state, edges, possible)?;
        self.atomic_steps += self.outgoing.atomic_steps - before;
        let count = Count::new(self.inserter.targets.len(), ample.len())?;
        let list = (self.write_list(count)? + 1) << LIST;
        let marks = marks & ((1 << LIST) - 1) | list;
        graph.shared(state).store(marks, Ordering::Release);
        graph.pool.offer(&mut self.inserter.waiting);
        Ok(marks)
    }

    /// Stores the initial state; gives its number.
    pub(super) fn begin(&mut self) -> Result<u32, Halt> {
        let Expanding { outgoing, inserter, .. } = self;
        outgoing.initial()?;
        let (bytes, length) = (&outgoing.state, outgoing.state.len());
        let arrivals = &mut [Pending::new(0, 0, length)];
        let edges = Edges { bytes, arrivals, is_ample: false, stutters: false };
        inserter.targets.clear();
        inserter.insert(0, edges, NOTHING)?;
        Ok(inserter.targets[0])
    }

    /// Steps from one stored state to another, see [`Outgoing::steps_to`].
    pub(super) fn steps_between(&mut self, from: u32, to: u32) -> Result<Option<Passage>, Halt> {
        self.outgoing.load(self.graph.bytes_of(from));
        self.outgoing.steps_to(self.graph.bytes_of(to))
    }
}
