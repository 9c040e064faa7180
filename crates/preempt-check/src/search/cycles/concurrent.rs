//! Cycles through accepting states, by one nested depth-first search of a graph that several threads expand.
//!
//! In a product with a property, expansion is nearly all of the work, and depth-first search needs its order only for the
//! rest. So one thread searches, and all others expand states (`shared_graph.rs`) that were found; where the search comes
//! to an expanded state, it follows a list of numbers. States on the path of the first search are *cyan*, those it has left
//! *blue*, those of second searches *red*. (Courcoubetis, Vardi, Wolper and Yannakakis, with the colours of Schwoon and Esparza.)
//!
//! Searches by all threads, which share colours (CNDFS), repeat each other's work: two threads expanded a third of all states
//! twice, sixteen all of them four times. Here every state is expanded once, and second searches expand nothing.
//!
//! Invariant: the search is that of one thread, whatever the others do: so are the verdict and the counterexample.

use super::nested::NestedOptions;
use super::shared_graph::{ACCEPTING, Expanding, FAULTY, Part, SharedGraph};
use super::successor_lists::List;
use crate::platform::sync::atomic::Ordering;
use crate::platform::sync::{Mutex, PoisonError};
use crate::search::shared::compressed::compressed_if_full;
use crate::search::shared::halt::Halt;
use crate::search::shared::workers::{Fewer, run_together, with_as_many_as_possible};
use crate::store::concurrent::exact::SharedExact;
use crate::store::concurrent::tree::SharedTree;
use crate::store::concurrent::{Place, Records};
use crate::{Budget, Counterexample, Covered, Finding, Progress, Storage};
use preempt_core::{Contention, Locality, Outcome, Statistics, Step, Stop, System, ViolationKind};

const BLUE: u64 = 1;
const RED: u64 = 2;
const CYAN: u64 = 4;

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
            let make = |threads| SharedExact::with_records(limit, threads);
            search_over(system, threads, make, least, budget, options)
        }
        true => {
            let make = |threads| SharedTree::with_records(limit, threads);
            search_over(system, threads, make, least, budget, options)
        }
    };
    match storage {
        Storage::Auto => Some(compressed_if_full(search(false), || Some(search(true)))),
        Storage::Exact => Some(search(false)),
        Storage::Tree | Storage::ClearyTree => Some(search(true)),
        Storage::Compact | Storage::Bitstate { .. } => None,
    }
}

fn search_over<S: System + ?Sized, T: Records>(
    system: &S,
    threads: usize,
    make: impl Fn(usize) -> T,
    least: Option<Locality>,
    budget: &mut Budget,
    options: NestedOptions,
) -> Finding {
    with_as_many_as_possible(threads, |threads| {
        let graph = SharedGraph::new(system, make(threads), least);
        let team = Team { graph, options, stop: Mutex::new(None), found: Mutex::new(None) };
        team.search(threads, budget)
    })
}

/// What all threads share.
struct Team<'a, S: ?Sized, T> {
    graph: SharedGraph<'a, S, T>,
    options: NestedOptions,
    stop: Mutex<Option<Stop>>,
    found: Mutex<Option<Counterexample>>,
}

impl<S: System + ?Sized, T: Records> Team<'_, S, T> {
    fn search(&self, threads: usize, budget: &mut Budget) -> Result<Finding, Fewer> {
        let mut initial = Vec::new();
        let outcome = self.graph.system.initial(&mut initial);
        let mut is_over = matches!(outcome, Outcome::Broken(_));
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            is_over |= self.report_fault(Vec::new(), fault).is_some();
        }
        let (mut parts, mut depth) = (Vec::new(), 0);
        if !is_over {
            let others = (1..threads).map(|number| {
                move || {
                    let _end = EndForAll(self);
                    let mut expanding = Expanding::new(&self.graph, number);
                    let result = expanding.help();
                    self.end(result.map_err(Halt::from));
                    (expanding.finish(), 0)
                }
            });
            let first = || {
                let _end = EndForAll(self);
                let mut search = NestedSearch::new(self);
                let result = search.run(&initial, budget);
                self.end(result);
                (search.expanding.finish(), search.depth)
            };
            for (part, deep) in run_together(first, others.collect())? {
                parts.push(part);
                depth = depth.max(deep);
            }
        }
        Ok(self.finish(parts, (initial.len(), depth), budget))
    }

    /// Notes why a thread has ended, if it had to.
    fn end(&self, result: Result<(), Halt>) {
        if let Err(Halt::Stop(stop)) = result {
            let mut known = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
            known.get_or_insert(stop);
        }
    }

    fn report(&self, found: Counterexample) -> Halt {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
        Halt::Enough
    }

    /// Ends the search with a fault, if it counts.
    fn report_fault(&self, steps: Vec<Step>, fault: u32) -> Option<Halt> {
        let found = Counterexample::from_fault(self.graph.system, steps, fault);
        let counts = found.kind != ViolationKind::Assertion || self.options.assertions;
        counts.then(|| self.report(found))
    }

    fn finish(
        &self,
        parts: Vec<Part>,
        (state_bytes, depth): (usize, u64),
        budget: &mut Budget,
    ) -> Finding {
        let system = self.graph.system;
        let mut taken = vec![false; system.transition_count()];
        let mut numbers = Statistics {
            states: self.graph.store.len() as u64,
            state_bytes: state_bytes as u64,
            depth,
            ..Statistics::default()
        };
        let mut edges = 0;
        let mut contention = Contention::default();
        for part in parts {
            taken.iter_mut().zip(&part.taken).for_each(|(all, one)| *all |= one);
            edges += part.edges;
            numbers.atomic_steps += part.atomic_steps;
            numbers.state_bytes = numbers.state_bytes.max(part.state_bytes);
            contention.add(part.contention);
        }
        let bytes = self.graph.bytes();
        numbers.transitions = (edges + 1).max(numbers.states);
        numbers.matched = numbers.transitions - numbers.states;
        numbers.contention = Some(contention);
        numbers.bytes_per_state = bytes as f64 / numbers.states.max(1) as f64;
        numbers.memory_bytes = budget.peak_memory().max(bytes) as u64;
        numbers.seconds = budget.elapsed().as_secs_f64();
        let counterexample = self.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        numbers.errors = u64::from(counterexample.is_some());
        let stop = *self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        let stop = stop.filter(|_| counterexample.is_none());
        Finding {
            counterexample,
            unreached: system.unreached(&taken),
            statistics: numbers,
            ..Finding::new(stop.map_or(Covered::Everything, Covered::Part))
        }
    }
}

/// Ends the work of all when one thread leaves, be it by a panic.
struct EndForAll<'a, 'b, S: ?Sized, T>(&'a Team<'b, S, T>);

impl<S: ?Sized, T> Drop for EndForAll<'_, '_, S, T> {
    fn drop(&mut self) {
        self.0.graph.pool.end();
    }
}

/// A state on a path.
struct Frame {
    place: Place,
    accepting: bool,
    successors: List,
    /// How many of them were tried.
    tried: usize,
}

impl Frame {
    /// The successor that was tried last.
    fn followed(&self) -> usize {
        self.tried.saturating_sub(1)
    }
}

/// The search.
struct NestedSearch<'a, S: System + ?Sized, T: Records> {
    team: &'a Team<'a, S, T>,
    expanding: Expanding<'a, S, T>,
    path: Vec<Frame>,
    red_path: Vec<Frame>,
    depth: u64,
}

impl<'a, S: System + ?Sized, T: Records> NestedSearch<'a, S, T> {
    fn new(team: &'a Team<'a, S, T>) -> Self {
        NestedSearch {
            team,
            expanding: Expanding::new(&team.graph, 0),
            path: Vec::new(),
            red_path: Vec::new(),
            depth: 0,
        }
    }

    /// The first search.
    fn run(&mut self, initial: &[u8], budget: &mut Budget) -> Result<(), Halt> {
        let graph = &self.team.graph;
        let place = self.expanding.begin(initial)?;
        self.visit(place, budget)?;
        while let Some(top) = self.path.last_mut() {
            if top.tried == top.successors.len {
                self.leave(budget)?;
                continue;
            }
            let next = graph.successor(top.successors, top.tried);
            top.tried += 1;
            let marks = graph.marks(next);
            if marks & CYAN != 0 {
                if top.accepting || marks & ACCEPTING != 0 {
                    return Err(self.report_cycle(next));
                }
            } else if marks & BLUE == 0 {
                self.visit(next, budget)?;
            }
        }
        Ok(())
    }

    /// Puts a state on the path of the first search.
    fn visit(&mut self, place: Place, budget: &mut Budget) -> Result<(), Halt> {
        let graph = &self.team.graph;
        let path = (self.path.len(), self.path_bytes());
        self.watch(budget, path)?;
        let expanded = self.expanding.successors(place, || watch(graph, budget, path));
        let (marks, successors) = expanded?;
        for at in 0..successors.len {
            graph.store.prefetch_record(graph.successor(successors, at));
        }
        graph.store.record(place).fetch_or(CYAN, Ordering::AcqRel);
        let accepting = marks & ACCEPTING != 0;
        self.path.push(Frame { place, accepting, successors, tried: 0 });
        self.depth = self.depth.max(self.path.len() as u64);
        if marks & FAULTY != 0 { self.report_faults(place) } else { Ok(()) }
    }

    /// Leaves the last state of the path.
    fn leave(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        let Some(&Frame { place, accepting, successors, .. }) = self.path.last() else {
            return Ok(());
        };
        if accepting {
            self.red(place, successors, budget)?;
        }
        let record = self.team.graph.store.record(place);
        record.fetch_xor(CYAN | BLUE, Ordering::AcqRel);
        self.path.pop();
        Ok(())
    }

    /// The second search, from an accepting state that the first one is about to leave: all it meets is expanded.
    fn red(&mut self, seed: Place, successors: List, budget: &mut Budget) -> Result<(), Halt> {
        let graph = &self.team.graph;
        self.red_path.clear();
        self.red_path.push(Frame { place: seed, accepting: true, successors, tried: 0 });
        while let Some(top) = self.red_path.last_mut() {
            if top.tried == top.successors.len {
                self.red_path.pop();
                continue;
            }
            let next = graph.successor(top.successors, top.tried);
            top.tried += 1;
            let marks = graph.marks(next);
            if marks & CYAN != 0 {
                return Err(self.report_cycle(next));
            }
            if marks & RED != 0 {
                continue;
            }
            graph.store.record(next).fetch_or(RED, Ordering::AcqRel);
            let path = (self.path.len(), self.path_bytes());
            self.watch(budget, path)?;
            let (_, successors) = self.expanding.successors(next, || watch(graph, budget, path))?;
            for at in 0..successors.len {
                graph.store.prefetch_record(graph.successor(successors, at));
            }
            self.red_path.push(Frame { place: next, accepting: false, successors, tried: 0 });
        }
        graph.store.record(seed).fetch_or(RED, Ordering::AcqRel);
        Ok(())
    }

    fn path_bytes(&self) -> usize {
        (self.path.capacity() + self.red_path.capacity()) * size_of::<Frame>()
    }

    /// Looks at the limits, and whether the search is over.
    #[inline]
    fn watch(&self, budget: &mut Budget, path: (usize, usize)) -> Result<(), Halt> {
        watch(&self.team.graph, budget, path)
    }

    /// Reports what went wrong in the expansion of the last state of the path.
    fn report_faults(&mut self, place: Place) -> Result<(), Halt> {
        for (tail, fault) in self.expanding.faults(place)? {
            let above = self.path.len() - 1;
            let mut steps = Vec::new();
            for at in 0..above {
                let (place, followed) = (self.path[at].place, self.path[at].followed());
                steps.extend(self.expanding.steps_of(place, followed));
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
        let of = |path: &[Frame]| -> Vec<(Place, usize)> {
            path.iter().map(|frame| (frame.place, frame.followed())).collect()
        };
        let mut states = of(&self.path);
        if !self.red_path.is_empty() {
            // The second path begins where the first ends.
            states.pop();
            states.extend(of(&self.red_path));
        }
        let (mut steps, mut cycle_start) = (Vec::new(), None);
        for (place, followed) in states {
            if place == at && cycle_start.is_none() {
                cycle_start = Some(steps.len());
            }
            steps.extend(self.expanding.steps_of(place, followed));
        }
        let (kind, message) = (self.team.options.kind, String::new());
        self.team.report(Counterexample { steps, kind, fault: None, message, cycle_start })
    }
}

/// Looks at the limits, with a path of so many states and bytes, and whether the search is over.
#[inline]
fn watch<S: System + ?Sized, T: Records>(
    graph: &SharedGraph<'_, S, T>,
    budget: &mut Budget,
    (states, bytes): (usize, usize),
) -> Result<(), Halt> {
    if graph.pool.is_over() {
        return Err(Halt::Enough);
    }
    let stop = budget.poll(|| Progress {
        states: graph.store.len() as u64,
        transitions: graph.store.len() as u64,
        depth: states as u64,
        queue: states as u64,
        memory: graph.bytes() + bytes,
        ..Progress::default()
    });
    stop.map_or(Ok(()), |stop| Err(Halt::Stop(stop)))
}
