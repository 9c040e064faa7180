//! Cycles through accepting states, by nested depth-first searches of several threads.
//!
//! Each thread runs a nested search of its own over one store, in an order of its own. *Blue* (finished by some first
//! search) and *red* (finished by some second search) are colours that all threads see and skip; *cyan* (on the path of the
//! first search) is a thread's own. A second search first collects what it visits; before it paints that red it waits
//! until other accepting states among it are red, by whoever they belong to. (Evangelista, Laarman, Petrucci and van de
//! Pol's CNDFS.)
//!
//! **Reduction.** Ample sets are chosen at the source product state as in `nested.rs`, but the choice must not depend on
//! any thread's path. So the proviso is one of order: a process may be explored alone if all its successors are *greater*
//! than the state, as rows of bytes. Along a cycle not all steps can lead to something greater, and a state with one that
//! does not is expanded in full: that is C3' of \[S19\]. It works well because the counter of a process is stored before its
//! variables and most steps go forward in its code: what is refused are mostly the steps back at the end of loops.
//!
//! Invariant: which successors a state has here is a function of the state alone, so all searches walk the same graph.

use super::expansion_log::{Events, Taken};
use super::nested::NestedOptions;
use super::place_set::PlaceSet;
use super::successor_path::{Frame, Path};
use crate::platform::sync::atomic::{AtomicBool, Ordering};
use crate::platform::sync::{Mutex, PoisonError};
use crate::search::shared::compressed::compressed_if_full;
use crate::search::shared::expansion::Expander;
use crate::search::shared::workers::{Fewer, run_together, with_as_many_as_possible};
use crate::store::concurrent::exact::SharedExact;
use crate::store::concurrent::tree::SharedTree;
use crate::store::concurrent::{Notes, Place};
use crate::store::{Pending, StoreFull};
use crate::{Budget, Counterexample, Finding, Progress, Storage};
use preempt_core::{
    Contention, Enabled, Label, Locality, Outcome, ProcessId, Statistics, Step, Stop, System,
    ViolationKind,
};
use std::ops::Range;

const BLUE: u32 = 1;
const RED: u32 = 2;
/// Whether a state is accepting is noted when a first search enters it.
const ACCEPTING: u32 = 4;
/// From here on a bit for each thread: cyan.
const CYAN: u32 = 3;
/// So many threads have a bit.
const MOST_THREADS: usize = 29;

/// Searches for an accepting cycle with so many threads, over an exact store or a tree; `None` when
/// [`nested`](super::nested::nested) must be asked: for other stores, a count of all errors, limits of depth, invalid ends, and
/// Spin's scheme of reduction.
pub fn nested_concurrent<S: System + ?Sized>(
    system: &S,
    threads: usize,
    storage: Storage,
    budget: &mut Budget,
    options: NestedOptions,
) -> Option<Finding> {
    let least = options.least_locality()?;
    let limit = budget.memory_limit();
    let mut search = |is_compressed| match is_compressed {
        false => {
            let make = |threads| SharedExact::new(limit, threads);
            search_over(system, threads, make, least, budget, options)
        }
        true => {
            let make = |threads| SharedTree::with_records(limit, threads);
            search_over(system, threads, make, least, budget, options)
        }
    };
    match storage {
        Storage::Auto => Some(compressed_if_full(search)),
        Storage::Exact => Some(search(false)),
        Storage::Tree | Storage::ClearyTree => Some(search(true)),
        Storage::Compact | Storage::Bitstate { .. } => None,
    }
}

fn search_over<S: System + ?Sized, T: Notes>(
    system: &S,
    threads: usize,
    make: impl Fn(usize) -> T,
    least: Option<Locality>,
    budget: &mut Budget,
    options: NestedOptions,
) -> Finding {
    with_as_many_as_possible(threads.min(MOST_THREADS), |threads| {
        let team = Team {
            system,
            store: make(threads),
            least,
            options,
            ended: AtomicBool::new(false),
            stop: Mutex::new(None),
            found: Mutex::new(None),
        };
        team.search(threads, budget)
    })
}

/// What all threads share.
struct Team<'a, S: ?Sized, T> {
    system: &'a S,
    store: T,
    /// How local a step must be to be explored alone; `None` without reduction.
    least: Option<Locality>,
    options: NestedOptions,
    ended: AtomicBool,
    stop: Mutex<Option<Stop>>,
    found: Mutex<Option<Counterexample>>,
}

/// Why a thread ends.
enum Halt {
    Stop(Stop),
    /// It has found something, or another thread has ended the search.
    Over,
}

impl From<StoreFull> for Halt {
    fn from(_: StoreFull) -> Self {
        Halt::Stop(Stop::Memory)
    }
}

impl<S: System + ?Sized, T: Notes> Team<'_, S, T> {
    fn search(&self, threads: usize, budget: &mut Budget) -> Result<Finding, Fewer> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.report_fault(Vec::new(), fault);
        }
        let is_over = self.ended.load(Ordering::Relaxed) || matches!(outcome, Outcome::Broken(_));
        let mut parts = Vec::new();
        if !is_over {
            let others = (1..threads).map(|number| {
                let initial = &initial;
                move || Worker::new(self, number).run(initial, None)
            });
            let first = || Worker::new(self, 0).run(&initial, Some(budget));
            parts = run_together(first, others.collect())?;
        }
        Ok(self.finish(parts, initial.len(), budget))
    }

    fn report(&self, found: Counterexample) -> Halt {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
        self.ended.store(true, Ordering::Relaxed);
        Halt::Over
    }

    /// Ends the search with a fault, if it counts.
    fn report_fault(&self, steps: Vec<Step>, fault: u32) -> Option<Halt> {
        let found = Counterexample::from_fault(self.system, steps, fault);
        let counts = found.kind != ViolationKind::Assertion || self.options.assertions;
        counts.then(|| self.report(found))
    }

    fn finish(&self, parts: Vec<Part>, state_bytes: usize, budget: &mut Budget) -> Finding {
        let mut taken = vec![false; self.system.transition_count()];
        let mut numbers = Statistics {
            states: self.store.len() as u64,
            state_bytes: state_bytes as u64,
            ..Statistics::default()
        };
        let (mut edges, mut stacks) = (0, 0);
        let mut contention = Contention::default();
        for part in parts {
            taken.iter_mut().zip(&part.taken).for_each(|(all, one)| *all |= one);
            edges += part.edges;
            stacks += part.stack_bytes;
            numbers.atomic_steps = numbers.atomic_steps.max(part.atomic_steps);
            numbers.depth = numbers.depth.max(part.depth);
            numbers.state_bytes = numbers.state_bytes.max(part.state_bytes);
            contention.add(part.contention);
        }
        numbers.transitions = (edges + 1).max(numbers.states);
        numbers.matched = numbers.transitions - numbers.states;
        numbers.contention = Some(contention);
        numbers.bytes_per_state = self.store.bytes() as f64 / numbers.states.max(1) as f64;
        numbers.memory_bytes = budget.peak_memory().max(self.store.bytes() + stacks) as u64;
        numbers.seconds = budget.elapsed().as_secs_f64();
        let counterexample = self.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        numbers.errors = u64::from(counterexample.is_some());
        let stop = *self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        Finding {
            stop: stop.filter(|_| counterexample.is_none()),
            counterexample,
            unreached: self.system.unreached(&taken),
            statistics: numbers,
            ..Finding::default()
        }
    }
}

/// What a thread did.
struct Part {
    taken: Vec<bool>,
    /// Steps out of states that this thread was the first to finish.
    edges: u64,
    atomic_steps: u64,
    depth: u64,
    state_bytes: u64,
    stack_bytes: usize,
    contention: Contention,
}

struct Worker<'a, S: System + ?Sized, T: Notes> {
    team: &'a Team<'a, S, T>,
    number: usize,
    local: T::Local,
    path: Path,
    red_path: Path,
    /// What the present second search has visited, and whether it is accepting.
    pink: PlaceSet,
    visited: Vec<(Place, bool)>,
    expander: Expander,
    events: Events<'a, S>,
    enabled: Enabled,
    state: Vec<u8>,
    scratch: Vec<u8>,
    parents: Vec<Place>,
    edges: u64,
    depth: u64,
    state_bytes: usize,
}

impl<'a, S: System + ?Sized, T: Notes> Worker<'a, S, T> {
    fn new(team: &'a Team<'a, S, T>, number: usize) -> Self {
        Worker {
            team,
            number,
            local: team.store.local(number),
            path: Path::default(),
            red_path: Path::default(),
            pink: PlaceSet::default(),
            visited: Vec::new(),
            expander: Expander::new(),
            events: Events {
                system: team.system,
                taken: vec![false; team.system.transition_count()],
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
            depth: 0,
            state_bytes: 0,
        }
    }

    fn run(mut self, initial: &[u8], mut budget: Option<&mut Budget>) -> Part {
        if let Err(Halt::Stop(stop)) = self.search(initial, &mut budget) {
            let mut known = self.team.stop.lock().unwrap_or_else(PoisonError::into_inner);
            known.get_or_insert(stop);
            self.team.ended.store(true, Ordering::Relaxed);
        }
        Part {
            taken: self.events.taken,
            edges: self.edges,
            atomic_steps: self.events.atomic_steps,
            depth: self.depth,
            state_bytes: self.state_bytes as u64,
            stack_bytes: self.path.bytes() + self.red_path.bytes() + self.pink.bytes(),
            contention: T::contention(&self.local),
        }
    }

    /// The first search.
    fn search(&mut self, initial: &[u8], budget: &mut Option<&mut Budget>) -> Result<(), Halt> {
        self.state.clear();
        self.state.extend_from_slice(initial);
        self.enabled.clear();
        self.team.system.enabled(&mut self.state, &mut self.enabled);
        let mut batch = [Pending::new(0, 0, self.state.len())];
        self.team.store.insert(&mut self.local, &self.state, &mut batch, &[0])?;
        self.visit(batch[0].inserted.id.0)?;
        while !self.path.frames.is_empty() {
            let Some(next) = self.path.advance() else {
                self.leave(budget)?;
                continue;
            };
            let marks = self.team.store.note(next);
            if marks & self.cyan() != 0 {
                let from_accepting = self.path.frames.last().is_some_and(|top| top.accepting);
                if from_accepting || marks & ACCEPTING != 0 {
                    return Err(self.report_cycle(next));
                }
            } else if marks & BLUE == 0 {
                self.visit(next)?;
                self.watch(budget)?;
            }
        }
        Ok(())
    }

    fn cyan(&self) -> u32 {
        1 << (CYAN + self.number as u32)
    }

    /// Puts a state on the path of the first search.
    fn visit(&mut self, place: Place) -> Result<(), Halt> {
        self.team.store.load(&mut self.local, place, &mut self.state);
        self.state_bytes = self.state_bytes.max(self.state.len());
        let accepting = self.team.system.has_label(&self.state, Label::Accept);
        let marks = self.cyan() | if accepting { ACCEPTING } else { 0 };
        self.team.store.add_note(place, marks);
        let first = self.path.list.len();
        let mut list = std::mem::take(&mut self.path.list);
        let expanded = self.expand(&mut list);
        self.path.list = list;
        expanded?;
        self.path.push(place, accepting, first, self.number);
        self.depth = self.depth.max(self.path.frames.len() as u64);
        self.report_faults()
    }

    /// Leaves the last state of the path.
    fn leave(&mut self, budget: &mut Option<&mut Budget>) -> Result<(), Halt> {
        let Some(frame) = self.path.frames.last() else { return Ok(()) };
        let (place, accepting) = (frame.place, frame.accepting);
        let successors = frame.first..self.path.list.len();
        if self.team.store.add_note(place, BLUE) & BLUE == 0 {
            self.edges += successors.len() as u64;
        }
        if accepting {
            self.red(place, successors, budget)?;
        }
        self.team.store.remove_note(place, self.cyan());
        self.path.pop();
        Ok(())
    }

    /// The second search, from an accepting state that the first one is about to leave.
    fn red(
        &mut self,
        seed: Place,
        successors: Range<usize>,
        budget: &mut Option<&mut Budget>,
    ) -> Result<(), Halt> {
        self.red_path.clear();
        self.red_path.list.extend_from_slice(&self.path.list[successors]);
        self.red_path.push(seed, true, 0, 0);
        self.pink.clear();
        self.visited.clear();
        self.pink.insert(seed);
        self.visited.push((seed, true));
        while !self.red_path.frames.is_empty() {
            let Some(next) = self.red_path.advance() else {
                self.red_path.pop();
                continue;
            };
            let marks = self.team.store.note(next);
            if marks & self.cyan() != 0 {
                return Err(self.report_cycle(next));
            }
            if marks & RED != 0 || !self.pink.insert(next) {
                continue;
            }
            self.team.store.load(&mut self.local, next, &mut self.state);
            let accepting = self.team.system.has_label(&self.state, Label::Accept);
            self.visited.push((next, accepting));
            let first = self.red_path.list.len();
            let mut list = std::mem::take(&mut self.red_path.list);
            let expanded = self.expand(&mut list);
            self.red_path.list = list;
            expanded?;
            self.red_path.push(next, accepting, first, 0);
            self.watch(budget)?;
        }
        // A cycle through another accepting state may only be known to the thread that is about to leave that one.
        let mut rounds = 0_u32;
        for &(place, accepting) in &self.visited {
            while accepting && place != seed && self.team.store.note(place) & RED == 0 {
                if self.team.ended.load(Ordering::Relaxed) {
                    return Err(Halt::Over);
                }
                rounds += 1;
                match rounds {
                    0..100 => crate::platform::hint::spin_loop(),
                    100..1000 => crate::platform::thread::yield_now(),
                    _ => crate::platform::thread::sleep(std::time::Duration::from_micros(50)),
                }
                if let Some(budget) = budget
                    && rounds.is_multiple_of(1000)
                    && let Some(stop) = budget.check(Progress::default())
                {
                    return Err(Halt::Stop(stop));
                }
            }
        }
        for &(place, _) in &self.visited {
            self.team.store.add_note(place, RED);
        }
        Ok(())
    }

    /// Looks at the limits, and whether the search is over.
    fn watch(&mut self, budget: &mut Option<&mut Budget>) -> Result<(), Halt> {
        if self.team.ended.load(Ordering::Relaxed) {
            return Err(Halt::Over);
        }
        let Some(budget) = budget else { return Ok(()) };
        let (store, frames) = (&self.team.store, self.path.frames.len() as u64);
        let stacks = self.path.bytes() + self.red_path.bytes() + self.pink.bytes();
        let stop = budget.poll(|| Progress {
            states: store.len() as u64,
            transitions: store.len() as u64,
            depth: frames,
            queue: frames,
            memory: store.bytes() + stacks,
            ..Progress::default()
        });
        stop.map_or(Ok(()), |stop| Err(Halt::Stop(stop)))
    }

    /// Appends the places of the successors of `self.state` that are to be explored.
    fn expand(&mut self, list: &mut Vec<Place>) -> Result<(), Halt> {
        let system = self.team.system;
        self.expander.clear();
        self.events.begin();
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.state);
        self.expander.expand(system, &mut self.scratch, &mut self.events)?;
        self.normalize();
        if let Some(least) = self.team.least
            && let Some(process) = self.ample(least)
        {
            self.keep(process);
        }
        let arrivals = &mut self.expander.arrivals;
        self.parents.clear();
        self.parents.resize(arrivals.len(), 0);
        let bytes = &self.expander.successors.data;
        self.team.store.insert(&mut self.local, bytes, arrivals, &self.parents)?;
        list.extend(arrivals.iter().map(|arrival| arrival.inserted.id.0));
        Ok(())
    }

    /// Brings the successors into their final form.
    fn normalize(&mut self) {
        let system = self.team.system;
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
        let (system, data) = (self.team.system, &self.expander.successors.data);
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

    /// Reports what went wrong in the last expansion, that of the last state of the path.
    fn report_faults(&mut self) -> Result<(), Halt> {
        for (tail, fault) in std::mem::take(&mut self.events.faults) {
            let above = self.path.frames.len() - 1;
            let mut steps = Vec::new();
            for at in 0..above {
                let Frame { place, followed, .. } = self.path.frames[at];
                steps.extend(self.steps_of(place, followed));
            }
            steps.extend(tail);
            if let Some(halt) = self.team.report_fault(steps, fault) {
                return Err(halt);
            }
        }
        Ok(())
    }

    /// The paths close a cycle at this state of the first: reports it.
    fn report_cycle(&mut self, at: Place) -> Halt {
        let of = |path: &Path| -> Vec<(Place, usize)> {
            path.frames.iter().map(|frame| (frame.place, frame.followed)).collect()
        };
        let mut states = of(&self.path);
        if !self.red_path.frames.is_empty() {
            // The second path begins where the first ends.
            states.pop();
            states.extend(of(&self.red_path));
        }
        let (mut steps, mut cycle_start) = (Vec::new(), None);
        for (place, followed) in states {
            if place == at && cycle_start.is_none() {
                cycle_start = Some(steps.len());
            }
            steps.extend(self.steps_of(place, followed));
        }
        let (kind, message) = (self.team.options.kind, String::new());
        self.team.report(Counterexample { steps, kind, fault: None, message, cycle_start })
    }

    /// The steps from a state to one of its successors.
    fn steps_of(&mut self, place: Place, followed: usize) -> Vec<Step> {
        self.team.store.load(&mut self.local, place, &mut self.state);
        self.events.paths = Some(Vec::new());
        let expanded = self.expand(&mut Vec::new());
        let paths = self.events.paths.take().unwrap_or_default();
        self.events.faults.clear();
        match expanded {
            Ok(()) => paths.into_iter().nth(followed).unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }
}
