//! Breadth-first search in the order of context switches, then of steps.
//!
//! A search state is a program state with the thread that has the processor. Staying costs a step,
//! handing the processor over costs a switch; states are visited in the order (switches, steps), so
//! the first counterexample is the simplest one. All switches count, also forced ones, as in the
//! paper. With rounds, a thread with a larger number may go on for free: that is a round-robin
//! schedule in which threads may pass.
//!
//! With `everywhere` a thread may be interrupted at every state; this is the plain engine that all
//! others are compared with. Without, only behind a step that touches shared data: steps that do
//! not can be moved behind the interruption, into the thread's next context, or are not needed.

use super::machine::Machine;
use super::store::Store;
use crate::limits::Watch;
use preempt_core::{BoundRow, Enabled, Outcome, ProcessId, Step, Stop, System};

/// More successors than this, on average, are too many to list.
const MOST_SUCCESSORS: u64 = 64;

/// What was found, switch by switch.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// The steps to a target, and the fault number there.
    pub(crate) found: Option<(Vec<Step>, u32)>,
    /// What was visited with at most so many switches, for each number that was finished, and for that of a violation.
    pub(crate) rows: Vec<BoundRow>,
    /// Of everything, also of what a limit kept from being finished.
    pub(crate) states: u64,
    /// Arrivals at search states that were known.
    pub(crate) matched: u64,
    /// Steps that violate an assertion, or lead to a target.
    pub(crate) errors: u64,
    /// Most steps to a search state.
    pub(crate) depth: u64,
    /// The longest program state.
    pub(crate) state_bytes: u64,
    /// No further switch leads anywhere new: the answer holds for every number of switches.
    pub(crate) exhausted: bool,
    /// A limit that cut some executions short.
    pub(crate) truncated: Option<Stop>,
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    state: u32,
    active: u16,
    steps: u32,
    parent: u32,
    /// `None` where the processor was handed over.
    step: Option<Step>,
}

struct Search<'a> {
    machine: &'a Machine<'a>,
    extent: Extent,
    watch: &'a Watch<'a>,
    layers: &'a mut Layers,
    store: Store,
    entries: Vec<Entry>,
    /// Per state and process, whether it was visited.
    visited: Vec<bool>,
    processes: usize,
    /// What waits in the present layer, by its steps.
    layer: Vec<Vec<Entry>>,
    /// What waits for one switch more.
    next: Vec<Vec<Entry>>,
    /// Arrivals at search states that were known.
    matched: u64,
    /// The same, of arrivals that need one switch more than the present layer.
    matched_next: u64,
    errors: u64,
    /// Steps of threads, for the limit on successors.
    steps: u64,
    state_bytes: usize,
}

/// Why a search ends before everything is visited.
enum End {
    /// The first violation was found, and no more are wanted.
    Found,
    Limit(Stop),
}

impl From<Stop> for End {
    fn from(stop: Stop) -> End {
        End::Limit(stop)
    }
}

/// Buffers for the expansion of a state.
#[derive(Default)]
struct Buffers {
    state: Vec<u8>,
    successor: Vec<u8>,
    enabled: Enabled,
}

/// How far a search may go.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// Most switches, or rounds after the first.
    pub(crate) switches: u32,
    /// Handing over to a thread with a larger number is free.
    pub(crate) rounds: bool,
    /// Most search states, with at most [`MOST_SUCCESSORS`] successors on average.
    pub(crate) states: u64,
    pub(crate) everywhere: bool,
    /// Goes on behind the first violation.
    pub(crate) full: bool,
}

/// Explores. What was finished stays in `layers` when a limit ends the search.
pub(crate) fn search(
    machine: &Machine<'_>,
    extent: Extent,
    watch: &Watch<'_>,
    layers: &mut Layers,
) -> Result<(), Stop> {
    let mut initial = Vec::new();
    machine.initial(&mut initial);
    let mut search = Search {
        machine,
        extent,
        watch,
        layers,
        store: Store::default(),
        entries: Vec::new(),
        visited: Vec::new(),
        processes: machine.process_count(&initial),
        layer: Vec::new(),
        next: Vec::new(),
        matched: 0,
        matched_next: 0,
        errors: 0,
        steps: 0,
        state_bytes: initial.len(),
    };
    let end = search.explore(&initial);
    search.conclude();
    end
}

impl Search<'_> {
    fn explore(&mut self, initial: &[u8]) -> Result<(), Stop> {
        self.begin(initial);
        for switches in 0..=self.extent.switches {
            self.watch.switches.set(switches);
            let end = self.explore_layer();
            if let Err(End::Limit(stop)) = end {
                return Err(stop);
            }
            self.layers.rows.push(self.row(switches));
            if end.is_err() {
                return Ok(());
            }
            if self.next.iter().all(Vec::is_empty) {
                self.layers.exhausted = self.layers.truncated.is_none();
                return Ok(());
            }
            self.layer = std::mem::take(&mut self.next);
            // What is beyond the last row is not counted.
            if switches < self.extent.switches {
                self.matched += std::mem::take(&mut self.matched_next);
            }
        }
        Ok(())
    }

    /// Gives the processor to each thread that may have it first. Process 0 runs `init` inside layer 0.
    fn begin(&mut self, initial: &[u8]) {
        let is_over = self.machine.init_is_over(initial);
        let starters = if is_over { 1..self.processes as u16 } else { 0..1 };
        let (state, _) = self.store.insert(initial);
        for active in starters {
            self.put(Entry { state, active, steps: 0, parent: u32::MAX, step: None });
        }
    }

    /// Visits all that can be reached without another switch.
    fn explore_layer(&mut self) -> Result<(), End> {
        let mut buffers = Buffers::default();
        let mut bucket = 0;
        while bucket < self.layer.len() {
            for entry in std::mem::take(&mut self.layer[bucket]) {
                if self.visit(&entry) {
                    self.expand(entry, &mut buffers)?;
                }
            }
            // Within a round, the processor is handed over without a step.
            if self.layer[bucket].is_empty() {
                bucket += 1;
            }
        }
        Ok(())
    }

    /// Takes all steps of the thread that has the processor, or hands it over.
    fn expand(&mut self, entry: Entry, buffers: &mut Buffers) -> Result<(), End> {
        let (machine, everywhere) = (self.machine, self.extent.everywhere);
        let at = self.entries.len() as u32;
        if at.is_multiple_of(1024) {
            self.look_at_limits()?;
        }
        if u64::from(at) >= self.extent.states {
            return Err(Stop::Memory.into());
        }
        self.entries.push(entry);
        let active = entry.active;
        let Buffers { state, successor, enabled } = buffers;
        state.clear();
        state.extend_from_slice(self.store.get(entry.state));
        enabled.clear();
        if active == 0 || everywhere || machine.has_atomic_sections() {
            machine.enabled(state, enabled);
        } else {
            machine.steps_of(state, usize::from(active), enabled);
        }
        for &step in enabled.of(ProcessId(active)) {
            self.count_step()?;
            successor.clear();
            successor.extend_from_slice(state);
            let outcome = machine.apply(successor, step);
            if let Outcome::Violated(number) = outcome {
                self.violation(at, step, number)?;
            }
            match outcome {
                Outcome::Broken(number) => {
                    let choices = Machine::is_choice_limit(number);
                    let stop = if choices { Stop::Memory } else { Stop::Depth };
                    self.layers.truncated = Some(stop);
                }
                Outcome::Done | Outcome::Violated(_) => {
                    self.arrive(at, entry, step, successor);
                }
            }
        }
        if active > 0 && everywhere {
            for (other, _) in enabled.by_process().filter(|(other, _)| other.0 != active) {
                self.hand_over(Entry { parent: at, step: None, ..entry }, other.0);
            }
        }
        Ok(())
    }

    /// One state may have a million successors, so that limits are looked at between them, too.
    fn count_step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if !self.steps.is_multiple_of(4096) {
            return Ok(());
        }
        let most = self.extent.states.saturating_mul(MOST_SUCCESSORS);
        if self.steps > most { Err(Stop::Memory) } else { self.look_at_limits() }
    }

    fn look_at_limits(&self) -> Result<(), Stop> {
        self.watch.check(self.entries.len() as u64)?;
        if self.memory() > self.watch.memory() { Err(Stop::Memory) } else { Ok(()) }
    }

    /// Counts a violation by a step behind entry `at`.
    fn violation(&mut self, at: u32, step: Step, number: u32) -> Result<(), End> {
        self.errors += 1;
        if self.layers.found.is_none() {
            self.layers.found = Some((self.path(at, step), number));
        }
        if self.extent.full { Ok(()) } else { Err(End::Found) }
    }

    /// Takes note of the state behind a step, and of the threads that may have the processor there.
    fn arrive(&mut self, at: u32, from: Entry, step: Step, reached: &[u8]) {
        let (state, _) = self.store.insert(reached);
        self.state_bytes = self.state_bytes.max(reached.len());
        let steps = from.steps + 1;
        let successor = Entry { state, steps, parent: at, step: Some(step), ..from };
        let threads = 1..self.processes as u16;
        if from.active == 0 && self.machine.init_is_over(reached) {
            threads.for_each(|active| self.put(Entry { active, ..successor }));
            return;
        }
        self.put(successor);
        let is_certain = from.active == 0 || self.extent.everywhere;
        if !is_certain && self.machine.may_matter(step.transition, reached) {
            threads
                .filter(|other| *other != from.active)
                .for_each(|other| self.hand_over(successor, other));
        }
    }

    /// Hands the processor over to another thread.
    fn hand_over(&mut self, entry: Entry, other: u16) {
        let is_free = self.extent.rounds && other > entry.active;
        let entry = Entry { active: other, ..entry };
        if is_free { self.put(entry) } else { self.put_next(entry) }
    }

    /// The numbers of everything, also of what a limit kept from being finished.
    fn conclude(self) {
        let (memory, states) = (self.memory(), self.entries.len() as u64);
        let layers = self.layers;
        layers.states = states;
        layers.matched = self.matched;
        layers.errors = self.errors;
        layers.depth = self.entries.iter().map(|entry| entry.steps.into()).max().unwrap_or(0);
        layers.state_bytes = self.state_bytes as u64;
        layers.bytes = memory;
    }

    /// What was visited with at most so many switches.
    fn row(&self, bound: u32) -> BoundRow {
        let states = self.entries.len() as u64;
        let (transitions, errors) = (states + self.matched, self.errors);
        BoundRow { stale: None, bound, states, transitions, errors }
    }

    fn index(&self, entry: &Entry) -> usize {
        entry.state as usize * self.processes + usize::from(entry.active)
    }

    /// An arrival within the present layer.
    fn put(&mut self, entry: Entry) {
        match self.is_visited(&entry) {
            true => self.matched += 1,
            false => keep(&mut self.layer, entry),
        }
    }

    /// An arrival that needs one switch more.
    fn put_next(&mut self, entry: Entry) {
        match self.is_visited(&entry) {
            true => self.matched_next += 1,
            false => keep(&mut self.next, entry),
        }
    }

    fn is_visited(&self, entry: &Entry) -> bool {
        self.visited.get(self.index(entry)).copied().unwrap_or(false)
    }

    /// Says whether the search state is new.
    fn visit(&mut self, entry: &Entry) -> bool {
        let index = self.index(entry);
        if self.visited.len() <= index {
            self.visited.resize(self.store.len() * self.processes, false);
        }
        let is_new = !std::mem::replace(&mut self.visited[index], true);
        self.matched += u64::from(!is_new);
        is_new
    }

    fn memory(&self) -> u64 {
        let entries = self.entries.len() * std::mem::size_of::<Entry>();
        self.store.memory() + (entries + self.visited.len()) as u64
    }

    /// The steps to an entry, then the last one.
    fn path(&self, mut at: u32, last: Step) -> Vec<Step> {
        let mut steps = vec![last];
        while at != u32::MAX {
            let entry = &self.entries[at as usize];
            steps.extend(entry.step);
            at = entry.parent;
        }
        steps.reverse();
        steps
    }
}

/// Keeps an arrival for later, by its steps.
fn keep(buckets: &mut Vec<Vec<Entry>>, entry: Entry) {
    let at = entry.steps as usize;
    if buckets.len() <= at {
        buckets.resize_with(at + 1, Vec::new);
    }
    buckets[at].push(entry);
}
