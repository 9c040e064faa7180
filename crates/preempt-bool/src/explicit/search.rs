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

struct Search {
    store: Store,
    entries: Vec<Entry>,
    /// Per state and process, whether it was visited.
    visited: Vec<bool>,
    processes: usize,
    /// Arrivals at search states that were known.
    matched: u64,
    /// The same, of arrivals that need one switch more than the present layer.
    matched_next: u64,
    errors: u64,
    /// Steps of threads, for the limit on successors.
    steps: u64,
    state_bytes: usize,
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
        store: Store::default(),
        entries: Vec::new(),
        visited: Vec::new(),
        processes: machine.process_count(&initial),
        matched: 0,
        matched_next: 0,
        errors: 0,
        steps: 0,
        state_bytes: initial.len(),
    };
    let end = search.explore(machine, &initial, extent, watch, layers);
    layers.states = search.entries.len() as u64;
    layers.matched = search.matched;
    layers.errors = search.errors;
    layers.depth = search.entries.iter().map(|entry| entry.steps.into()).max().unwrap_or(0);
    layers.state_bytes = search.state_bytes as u64;
    layers.bytes = search.memory();
    end
}

impl Search {
    fn explore(
        &mut self,
        machine: &Machine<'_>,
        initial: &[u8],
        extent: Extent,
        watch: &Watch<'_>,
        layers: &mut Layers,
    ) -> Result<(), Stop> {
        let search = self;
        let processes = search.processes;
        let Extent { everywhere, full, .. } = extent;
        // Process 0 runs `init` inside layer 0.
        let starters = if machine.init_is_over(initial) { 1..processes as u16 } else { 0..1 };
        let mut layer = Vec::new();
        let (state, _) = search.store.insert(initial);
        for active in starters {
            let entry = Entry { state, active, steps: 0, parent: u32::MAX, step: None };
            search.put(&mut layer, entry);
        }
        let (mut scratch, mut state, mut enabled) = (Vec::new(), Vec::new(), Enabled::new());
        for switches in 0..=extent.switches {
            watch.switches.set(switches);
            let mut next: Vec<Vec<Entry>> = Vec::new();
            let mut bucket = 0;
            while bucket < layer.len() {
                for entry in std::mem::take(&mut layer[bucket]) {
                    if !search.visit(&entry) {
                        continue;
                    }
                    let at = search.entries.len() as u32;
                    if at.is_multiple_of(1024) {
                        watch.check(u64::from(at))?;
                        if search.memory() > watch.memory() {
                            return Err(Stop::Memory);
                        }
                    }
                    if u64::from(at) >= extent.states {
                        return Err(Stop::Memory);
                    }
                    search.entries.push(entry);
                    let Entry { active, steps, .. } = entry;
                    state.clear();
                    state.extend_from_slice(search.store.get(entry.state));
                    enabled.clear();
                    if active == 0 || everywhere || machine.has_atomic_sections() {
                        machine.enabled(&mut state, &mut enabled);
                    } else {
                        machine.steps_of(&state, usize::from(active), &mut enabled);
                    }
                    for &step in enabled.of(ProcessId(active)) {
                        scratch.clear();
                        scratch.extend_from_slice(&state);
                        search.steps += 1;
                        // One state may have a million successors.
                        if search.steps.is_multiple_of(4096) {
                            watch.check(u64::from(at))?;
                            let most = extent.states.saturating_mul(MOST_SUCCESSORS);
                            if search.steps > most || search.memory() > watch.memory() {
                                return Err(Stop::Memory);
                            }
                        }
                        let outcome = machine.apply(&mut scratch, step);
                        if let Outcome::Violated(number) = outcome {
                            search.errors += 1;
                            if layers.found.is_none() {
                                layers.found = Some((search.path(at, step), number));
                            }
                            if !full {
                                layers.rows.push(search.row(switches));
                                return Ok(());
                            }
                        }
                        match outcome {
                            Outcome::Broken(number) => {
                                let choices = Machine::is_choice_limit(number);
                                layers.truncated =
                                    Some(if choices { Stop::Memory } else { Stop::Depth });
                            }
                            Outcome::Done | Outcome::Violated(_) => {
                                let (state, _) = search.store.insert(&scratch);
                                search.state_bytes = search.state_bytes.max(scratch.len());
                                let steps = steps + 1;
                                let step = Some(step);
                                let successor = Entry { state, active, steps, parent: at, step };
                                if active == 0 && machine.init_is_over(&scratch) {
                                    for active in 1..processes as u16 {
                                        search.put(&mut layer, Entry { active, ..successor });
                                    }
                                    continue;
                                }
                                search.put(&mut layer, successor);
                                if active == 0 || everywhere {
                                    continue;
                                }
                                if machine.may_matter(step.map_or(0, |s| s.transition), &scratch) {
                                    for other in (1..processes as u16).filter(|o| *o != active) {
                                        let entry = Entry { active: other, ..successor };
                                        let same_round = extent.rounds && other > active;
                                        match same_round {
                                            true => search.put(&mut layer, entry),
                                            false => search.put_next(&mut next, entry),
                                        }
                                    }
                                }
                            }
                        }
                    }
                    if active > 0 && everywhere {
                        for (other, _) in enabled.by_process().filter(|(p, _)| p.0 != active) {
                            let entry = Entry { active: other.0, parent: at, step: None, ..entry };
                            let same_round = extent.rounds && other.0 > active;
                            match same_round {
                                true => search.put(&mut layer, entry),
                                false => search.put_next(&mut next, entry),
                            }
                        }
                    }
                }
                // Within a round, the processor is handed over without a step.
                if layer[bucket].is_empty() {
                    bucket += 1;
                }
            }
            layers.rows.push(search.row(switches));
            if next.iter().all(Vec::is_empty) {
                layers.exhausted = layers.truncated.is_none();
                return Ok(());
            }
            layer = next;
            // What is beyond the last row is not counted.
            if switches < extent.switches {
                search.matched += std::mem::take(&mut search.matched_next);
            }
        }
        Ok(())
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
    fn put(&mut self, buckets: &mut Vec<Vec<Entry>>, entry: Entry) {
        self.matched += u64::from(!self.keep(buckets, entry));
    }

    /// An arrival that needs one switch more.
    fn put_next(&mut self, buckets: &mut Vec<Vec<Entry>>, entry: Entry) {
        self.matched_next += u64::from(!self.keep(buckets, entry));
    }

    /// Keeps an arrival for later, unless it is at a search state that was visited.
    fn keep(&self, buckets: &mut Vec<Vec<Entry>>, entry: Entry) -> bool {
        if self.visited.get(self.index(&entry)).copied().unwrap_or(false) {
            return false;
        }
        let at = entry.steps as usize;
        if buckets.len() <= at {
            buckets.resize_with(at + 1, Vec::new);
        }
        buckets[at].push(entry);
        true
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
