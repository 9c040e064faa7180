//! Cycles through accepting states, by one nested depth-first search of a graph that several threads expand.
//!
//! In a product with a property, expansion is nearly all of the work, and depth-first search needs its order only for the
//! rest. So one thread searches, and all others expand states (`shared_graph.rs`) that were found; where the search comes
//! to an expanded state, it follows a list of numbers. The loop is that of `nested_search.rs`.
//!
//! Searches by all threads, which share colours (CNDFS), repeat each other's work: two threads expanded a third of all states
//! twice, sixteen all of them four times. Here every state is expanded once, and second searches expand nothing.
//!
//! Invariant: the search is that of one thread, whatever the others do: so are the verdict and the counterexample.

use super::colours::{ACCEPTING, COLOUR, CYAN, WHITE};
use super::nested::NestedOptions;
use super::nested_search::{Both, Edge, OnPath, ProductGraph, Which, explore};
use super::shared_graph::{Expanding, FAULTY, Part, SharedGraph};
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
        Storage::Tree => Some(search(true)),
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
                    let _end = self.graph.pool.end_by(false);
                    let mut expanding = Expanding::new(&self.graph, number);
                    let result = expanding.help();
                    self.end(result.map_err(Halt::from));
                    (expanding.finish(), 0)
                }
            });
            let first = || {
                let _end = self.graph.pool.end_by(false);
                let mut search = NestedSearch::new(self, &mut *budget);
                let result = search.run(&initial);
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
        numbers.count_arrivals(edges + 1);
        numbers.contention = Some(contention);
        budget.sum_up(&mut numbers, bytes);
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

/// A state on a path.
struct Frame {
    known: OnPath<Place>,
    successors: List,
    /// How many of them were tried.
    tried: usize,
}

impl Frame {
    /// The state, and the successor that was tried last.
    fn followed(&self) -> (Place, usize) {
        (self.known.node, self.tried.saturating_sub(1))
    }
}

/// The search.
struct NestedSearch<'a, 'b, 'c, S: System + ?Sized, T: Records> {
    team: &'a Team<'a, S, T>,
    expanding: Expanding<'a, S, T>,
    paths: Both<Vec<Frame>>,
    depth: u64,
    budget: &'b mut Budget<'c>,
}

impl<'a, 'b, 'c, S: System + ?Sized, T: Records> NestedSearch<'a, 'b, 'c, S, T> {
    fn new(team: &'a Team<'a, S, T>, budget: &'b mut Budget<'c>) -> Self {
        let expanding = Expanding::new(&team.graph, 0);
        NestedSearch { team, expanding, paths: Both::default(), depth: 0, budget }
    }

    fn run(&mut self, initial: &[u8]) -> Result<(), Halt> {
        let place = self.expanding.begin(initial)?;
        self.visit(place)?;
        explore(self)
    }

    /// Has a state expanded: what is known of it then, and where its successors are.
    fn expand(&mut self, place: Place) -> Result<(u64, Frame), Halt> {
        let graph = &self.team.graph;
        let bytes = (self.paths[Which::First].capacity() + self.paths[Which::Second].capacity())
            * size_of::<Frame>();
        let path = (self.paths[Which::First].len(), bytes);
        watch(graph, self.budget, path)?;
        let budget = &mut *self.budget;
        let expanded = self.expanding.successors(place, || watch(graph, budget, path));
        let (marks, successors) = expanded?;
        for at in 0..successors.len {
            graph.store.prefetch_record(graph.successor(successors, at));
        }
        let accepting = marks & u64::from(ACCEPTING) != 0;
        let known = OnPath { node: place, accepting, all_red: true };
        Ok((marks, Frame { known, successors, tried: 0 }))
    }

    /// Reports what went wrong in the expansion of the last state of the path.
    fn report_faults(&mut self, place: Place) -> Result<(), Halt> {
        for (tail, fault) in self.expanding.faults(place)? {
            let above = self.paths[Which::First].len() - 1;
            let mut steps = Vec::new();
            for at in 0..above {
                let (place, followed) = self.paths[Which::First][at].followed();
                steps.extend(self.expanding.steps_of(place, followed));
            }
            steps.extend(tail);
            if let Some(halt) = self.team.report_fault(steps, fault) {
                return Err(halt);
            }
        }
        Ok(())
    }
}

impl<S: System + ?Sized, T: Records> ProductGraph for NestedSearch<'_, '_, '_, S, T> {
    type Node = Place;
    type Unvisited = Place;

    fn advance(&mut self, which: Which) -> Result<Edge<Place, Place>, Halt> {
        let path = &mut self.paths[which];
        let Some(top) = path.last_mut().filter(|top| top.tried < top.successors.len) else {
            return Ok(Edge::Done);
        };
        let next = self.team.graph.successor(top.successors, top.tried);
        top.tried += 1;
        let marks = self.team.graph.marks(next) as u8;
        Ok(match marks & COLOUR {
            WHITE => Edge::Unvisited(next),
            _ => Edge::Visited(next, marks),
        })
    }

    fn visit(&mut self, place: Place) -> Result<(), Halt> {
        let (marks, frame) = self.expand(place)?;
        self.paint(place, WHITE, CYAN);
        self.paths[Which::First].push(frame);
        self.depth = self.depth.max(self.paths[Which::First].len() as u64);
        if marks & FAULTY != 0 { self.report_faults(place) } else { Ok(()) }
    }

    fn begin_second(&mut self) -> Result<(), Halt> {
        let Some(&Frame { known, successors, .. }) = self.paths[Which::First].last() else {
            return Ok(());
        };
        self.paths[Which::Second].clear();
        self.paths[Which::Second].push(Frame { known, successors, tried: 0 });
        Ok(())
    }

    fn visit_again(&mut self, place: Place) -> Result<(), Halt> {
        let (_, frame) = self.expand(place)?;
        self.paths[Which::Second].push(frame);
        Ok(())
    }

    fn pop(&mut self, which: Which) -> bool {
        let path = &mut self.paths[which];
        path.pop();
        !path.is_empty()
    }

    fn source(&mut self) -> Option<&mut OnPath<Place>> {
        self.paths[Which::First].last_mut().map(|frame| &mut frame.known)
    }

    /// Other threads may note at the same time that a state is expanded, but no other one changes its colour.
    fn paint(&mut self, place: Place, from: u8, to: u8) {
        let record = self.team.graph.store.record(place);
        record.fetch_xor((from ^ to).into(), Ordering::AcqRel);
    }

    fn close(&mut self, at: Place) -> Result<(), Halt> {
        // The second path begins where the first ends.
        let first =
            self.paths[Which::First].len() - usize::from(!self.paths[Which::Second].is_empty());
        let both = self.paths[Which::First][..first].iter().chain(&self.paths[Which::Second]);
        let states: Vec<(Place, usize)> = both.map(Frame::followed).collect();
        let (mut steps, mut cycle_start) = (Vec::new(), None);
        for (place, followed) in states {
            if place == at && cycle_start.is_none() {
                cycle_start = Some(steps.len());
            }
            steps.extend(self.expanding.steps_of(place, followed));
        }
        let kind = self.team.options.kind;
        Err(self.team.report(Counterexample::cycle(steps, kind, cycle_start.unwrap_or(0))))
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
    budget.spend(|| Progress {
        states: graph.store.len() as u64,
        transitions: graph.store.len() as u64,
        depth: states as u64,
        queue: states as u64,
        memory: graph.bytes() + bytes,
        ..Progress::default()
    })?;
    Ok(())
}
