//! The graph of product states, expanded by several threads.
//!
//! Every state is expanded once, by the thread that comes first; its successors are kept as a list of places. One thread searches the
//! graph ([`concurrent`](super::concurrent)) and expands what it needs and finds unexpanded. The others expand whatever was found and waits.
//!
//! **Reduction.** Ample sets are chosen at the source product state as in `nested.rs`, but the choice must not depend on
//! any path. So the proviso is one of order: a process may be explored alone if all its successors are *greater*
//! than the state, as rows of bytes. Along a cycle not all steps can lead to something greater, and a state with one that
//! does not is expanded in full: that is C3' of \[S19\]. It works well because the counter of a process is stored before its
//! variables and most steps go forward in its code: what is refused are mostly the steps back at the end of loops.
//!
//! Invariant: which successors a state has is a function of the state alone, so the graph is the same whichever thread expands it.

use super::colours;
use super::expansion_log::{Events, Taken};
use super::successor_lists::{Block, List, SuccessorLists};
use super::work_pool::Pool;
use crate::platform::sync::atomic::{AtomicUsize, Ordering};
use crate::search::shared::expansion::Expander;
use crate::store::concurrent::{Place, Records};
use crate::store::{Pending, StoreFull};
use preempt_core::{Contention, Enabled, Label, Locality, ProcessId, Step, System};

// What is known of a state, in its record. The lowest bits are its colour, which only the search looks at.
/// It is accepting, as the search notes it.
const ACCEPTING: u64 = colours::ACCEPTING as u64;
/// Its expansion met faults.
pub(super) const FAULTY: u64 = 1 << 5;
/// A thread expands it, or has done so.
const CLAIMED: u64 = 1 << 6;
/// From here on: one more than where its successors are, once it is expanded.
const LIST: u32 = 8;

/// How often a thread looks whether another has expanded a state before it does that itself: the other may not be running.
pub(super) const PATIENCE: u32 = 1 << 12;

/// The graph, as all threads see it.
pub(super) struct SharedGraph<'a, S: ?Sized, T> {
    pub(super) system: &'a S,
    pub(super) store: T,
    lists: SuccessorLists,
    /// How local a step must be to be explored alone; `None` without reduction.
    least: Option<Locality>,
    /// States that may not be expanded yet.
    pub(super) pool: Pool<Place>,
    /// What threads keep for themselves, in bytes.
    aside: AtomicUsize,
}

impl<'a, S: System + ?Sized, T: Records> SharedGraph<'a, S, T> {
    pub(super) fn new(system: &'a S, store: T, least: Option<Locality>) -> Self {
        SharedGraph {
            system,
            store,
            lists: SuccessorLists::new(),
            least,
            pool: Pool::new(),
            aside: AtomicUsize::new(0),
        }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let aside = self.aside.load(Ordering::Relaxed) + self.pool.bytes();
        self.store.bytes() + self.lists.bytes() + aside
    }

    /// A successor of an expanded state.
    #[inline]
    pub(super) fn successor(&self, list: List, number: usize) -> Place {
        self.lists.get(list, number)
    }

    /// What is known of a state.
    #[inline]
    pub(super) fn marks(&self, place: Place) -> u64 {
        self.store.record(place).load(Ordering::Acquire)
    }

    /// The successors of a state with these marks, if it is expanded.
    pub(super) fn list(&self, marks: u64) -> Option<List> {
        Some(self.lists.list((marks >> LIST).checked_sub(1)? as usize))
    }
}

/// A thread that expands states.
pub(super) struct Expanding<'a, S: System + ?Sized, T: Records> {
    graph: &'a SharedGraph<'a, S, T>,
    local: T::Local,
    block: Block,
    /// States that this thread has found and that wait.
    waiting: Vec<Place>,
    expander: Expander,
    events: Events<'a, S>,
    enabled: Enabled,
    state: Vec<u8>,
    scratch: Vec<u8>,
    parents: Vec<Place>,
    edges: u64,
    atomic_steps: u64,
    state_bytes: usize,
    aside: usize,
}

/// What a thread did.
pub(super) struct Part {
    pub(super) taken: Vec<bool>,
    /// Steps out of states that this thread has expanded.
    pub(super) edges: u64,
    pub(super) atomic_steps: u64,
    pub(super) state_bytes: u64,
    pub(super) contention: Contention,
}

impl<'a, S: System + ?Sized, T: Records> Expanding<'a, S, T> {
    pub(super) fn new(graph: &'a SharedGraph<'a, S, T>, number: usize) -> Self {
        Expanding {
            graph,
            local: graph.store.local(number),
            block: Block::default(),
            waiting: Vec::new(),
            expander: Expander::default(),
            events: Events {
                system: graph.system,
                taken: vec![false; graph.system.transition_count()],
                steps: Vec::new(),
                faults: Vec::new(),
                paths: None,
                arrivals: 0,
                atomic_steps: 0,
            },
            enabled: Enabled::new(),
            state: Vec::new(),
            scratch: Vec::new(),
            parents: Vec::new(),
            edges: 0,
            atomic_steps: 0,
            state_bytes: 0,
            aside: 0,
        }
    }

    pub(super) fn finish(self) -> Part {
        Part {
            taken: self.events.taken,
            edges: self.edges,
            atomic_steps: self.atomic_steps,
            state_bytes: self.state_bytes as u64,
            contention: T::contention(&self.local),
        }
    }

    /// The place of the initial state.
    pub(super) fn begin(&mut self, initial: &[u8]) -> Result<Place, StoreFull> {
        self.state.clear();
        self.state.extend_from_slice(initial);
        self.enabled.clear();
        self.graph.system.enabled(&mut self.state, &mut self.enabled);
        let mut batch = [Pending::new(0, 0, self.state.len())];
        self.graph.store.insert(&mut self.local, &self.state, &mut batch, &[0])?;
        Ok(batch[0].inserted.id.0)
    }

    /// Expands states that wait until no more of them are needed.
    pub(super) fn help(&mut self) -> Result<(), StoreFull> {
        let graph = self.graph;
        while let Some(place) = graph.pool.next(&mut self.waiting) {
            let claimed = graph.marks(place) & CLAIMED != 0
                || graph.store.record(place).fetch_or(CLAIMED, Ordering::AcqRel) & CLAIMED != 0;
            if !claimed {
                self.expand_shared(place)?;
            }
        }
        Ok(())
    }

    /// The successors of a state that the search needs now. `wait` is asked from time to time whether to go on waiting for
    /// another thread.
    pub(super) fn successors<E: From<StoreFull>>(
        &mut self,
        place: Place,
        mut wait: impl FnMut() -> Result<(), E>,
    ) -> Result<(u64, List), E> {
        let graph = self.graph;
        let mut marks = graph.marks(place);
        if marks & CLAIMED != 0 || {
            marks = graph.store.record(place).fetch_or(CLAIMED, Ordering::AcqRel);
            marks & CLAIMED != 0
        } {
            for round in 0..PATIENCE {
                marks = graph.marks(place);
                if let Some(list) = graph.list(marks) {
                    return Ok((marks, list));
                }
                if round % 256 == 255 {
                    wait()?;
                }
                crate::platform::hint::spin_loop();
            }
        }
        self.expand_shared(place)?;
        graph.pool.offer(&mut self.waiting);
        marks = graph.marks(place);
        let list = graph.list(marks).ok_or(StoreFull)?;
        Ok((marks, list))
    }

    /// Expands a state for all.
    fn expand_shared(&mut self, place: Place) -> Result<(), StoreFull> {
        let graph = self.graph;
        graph.store.load(&mut self.local, place, &mut self.state);
        self.state_bytes = self.state_bytes.max(self.state.len());
        let atomic_steps = self.events.atomic_steps;
        self.expand()?;
        let arrivals = &self.expander.arrivals;
        let places = arrivals.iter().map(|arrival| arrival.inserted.id.0);
        let list = graph.lists.add(&mut self.block, places.len() as u32, places)?;
        let mut known = (list as u64 + 1) << LIST | CLAIMED;
        if graph.system.has_label(&self.state, Label::Accept) {
            known |= ACCEPTING;
        }
        if !self.events.faults.is_empty() {
            known |= FAULTY;
        }
        let new = arrivals.iter().filter(|arrival| arrival.inserted.new);
        self.waiting.extend(new.map(|arrival| arrival.inserted.id.0));
        let record = graph.store.record(place);
        let publish = |marks: u64| (marks >> LIST == 0).then_some(marks | known);
        if record.fetch_update(Ordering::AcqRel, Ordering::Acquire, publish).is_ok() {
            self.edges += arrivals.len() as u64;
            self.atomic_steps += self.events.atomic_steps - atomic_steps;
        }
        let aside = self.waiting.capacity() * size_of::<Place>() + self.expander.bytes();
        if aside > self.aside {
            graph.aside.fetch_add(aside - self.aside, Ordering::Relaxed);
            self.aside = aside;
        }
        Ok(())
    }

    /// The faults of a state, each with the steps to it.
    pub(super) fn faults(&mut self, place: Place) -> Result<Vec<(Vec<Step>, u32)>, StoreFull> {
        self.graph.store.load(&mut self.local, place, &mut self.state);
        self.expand()?;
        Ok(std::mem::take(&mut self.events.faults))
    }

    /// The steps from a state to one of its successors.
    pub(super) fn steps_of(&mut self, place: Place, followed: usize) -> Vec<Step> {
        self.graph.store.load(&mut self.local, place, &mut self.state);
        self.events.paths = Some(Vec::new());
        let expanded = self.expand();
        let paths = self.events.paths.take().unwrap_or_default();
        match expanded {
            Ok(()) => paths.into_iter().nth(followed).unwrap_or_default(),
            Err(StoreFull) => Vec::new(),
        }
    }

    /// Inserts the successors of `self.state` that are to be explored.
    fn expand(&mut self) -> Result<(), StoreFull> {
        let system = self.graph.system;
        self.expander.clear();
        self.events.begin();
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.state);
        self.expander.expand(system, &mut self.scratch, &mut self.events)?;
        self.normalize();
        if let Some(least) = self.graph.least
            && let Some(process) = self.ample(least)
        {
            self.keep(process);
        }
        let arrivals = &mut self.expander.arrivals;
        self.parents.clear();
        self.parents.resize(arrivals.len(), 0);
        let bytes = &self.expander.successors.data;
        self.graph.store.insert(&mut self.local, bytes, arrivals, &self.parents)
    }

    /// Brings the successors into their final form.
    fn normalize(&mut self) {
        let system = self.graph.system;
        let data = &mut self.expander.successors.data;
        for arrival in &mut self.expander.arrivals {
            if system.is_normalized(&data[arrival.start..arrival.end]) {
                continue;
            }
            self.scratch.clear();
            self.scratch.extend_from_slice(&data[arrival.start..arrival.end]);
            self.enabled.clear();
            system.enabled(&mut self.scratch, &mut self.enabled);
            *arrival = Pending::new(0, data.len(), data.len() + self.scratch.len());
            data.extend_from_slice(&self.scratch);
        }
    }

    /// The first process that may be explored alone in `self.state`, which was just expanded.
    fn ample(&self, least: Locality) -> Option<ProcessId> {
        let steps = &self.events.steps;
        let (system, data) = (self.graph.system, &self.expander.successors.data);
        let same = |a: &Taken, b: &Taken| a.process == b.process;
        let mut groups = steps.chunk_by(same).peekable();
        let first = groups.next()?;
        // If there is only one process, nothing can be left for later.
        groups.peek()?;
        let may_be_alone = |group: &[Taken]| {
            let process = group[0].process;
            let goes_forward = |taken: &Taken| {
                let arrivals = &self.expander.arrivals[taken.arrivals.clone()];
                let mut all = arrivals.iter().map(|arrival| &data[arrival.start..arrival.end]);
                !taken.is_special && all.all(|state| state > self.state.as_slice())
            };
            process != ProcessId::PROPERTY
                && steps.iter().filter(|taken| taken.process == process).count() == group.len()
                && system.locality(&self.state, process) >= least
                && !system.is_visible(&self.state, process)
                && group.iter().all(goes_forward)
        };
        let all = std::iter::once(first).chain(groups);
        all.into_iter().find(|group| may_be_alone(group)).map(|group| group[0].process)
    }

    /// Drops the successors by others than this process and the property.
    fn keep(&mut self, process: ProcessId) {
        let steps = &self.events.steps;
        let kept = |at: usize| {
            let taken = steps.iter().find(|taken| taken.arrivals.contains(&at));
            taken.is_some_and(|t| t.process == process || t.process == ProcessId::PROPERTY)
        };
        let mut at = 0;
        self.expander.arrivals.retain(|_| {
            at += 1;
            kept(at - 1)
        });
        if let Some(paths) = &mut self.events.paths {
            let mut at = 0;
            paths.retain(|_| {
                at += 1;
                kept(at - 1)
            });
        }
    }
}
