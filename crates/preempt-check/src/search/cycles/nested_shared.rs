//! The nested search of `nested.rs` where product states share their system states.
//!
//! Paper: \[S19\] sections 4 to 6 and Remark 1.
//!
//! The system's part is stored and expanded once (`system_graph.rs`), the automaton's moves are read
//! from a table (`letters.rs`); what remains per product state are eight bytes and a few loads
//! per edge. The loop is that of `nested_search.rs`.
//!
//! **Where the automaton reads.** Without reduction it reads the letter of the state that a step leaves,
//! as Spin does and counts. With reduction it reads that of the state a step
//! arrives at: a product state is then (q, s) where s has already read the letter of q. In SI normal form
//! a property state remembers the last letter it read. Read on leaving, that may be another letter than
//! that of q, so that q occurs with each of the letters that it was entered from; read on arrival, it is
//! always the letter of q. The ample set is a function of (q, s), which is the *intermediate* state of
//! the paper's product, so this is scheme V0 in the paper's words: unsound for other automata, sound for
//! those in SI normal form by Remark 1. The argument of Theorem 1 in these terms: when an ample step is
//! moved to the front of an accepting path from (q, s), the letters become a, a, b, … instead of a, b, …,
//! and s, whose incoming letter is a, moves by a to itself or to its twin, which goes on like s
//! (Lemma 1); where the step stood before, one repetition of a letter is left out, likewise.
//!
//! Steps that no other process can notice are not stored (`outgoing.rs`).
//!
//! **Proviso** as in `nested.rs`: no ample successor may be on the path of the first search.
//!
//! What this search cannot tell it leaves to `nested`: failing steps, automata that assert, a count of
//! all errors, limits of depth.

use super::colours::{ACCEPTING, COLOUR, CYAN, FREE};
use super::graph::Graph;
use super::letters::Letters;
use super::nested::{NestedOptions, Scheme};
use super::nested_search::{Both, Edge, OnPath, ProductGraph, Which, explore};
use super::system_graph::{SystemGraph, Tally};
use crate::property::{Property, Stutter, joined, stuttering};
use crate::search::shared::halt::Halt;
use crate::{Budget, Counterexample, Covered, Finding, Progress};
use preempt_core::{Locality, Step, Stop, System};

/// When the automaton reads the letter of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// When a step leaves it.
    Departure,
    /// When a step arrives there.
    Arrival,
}

impl Reading {
    /// With a reduction that demands so much of ample steps, or without any.
    pub(super) fn with(least: Option<Locality>) -> Self {
        if least.is_some() { Reading::Arrival } else { Reading::Departure }
    }
}

/// Searches for an accepting cycle of the product; `None` when [`nested`](super::nested::nested) must
/// be asked. What is found are steps of the [`Product`](crate::property::Product).
///
/// [`Scheme::SourceState`] is sound for automata in SI normal form only.
#[doc(alias = "S19 Remark 1")]
pub fn nested_shared<S: System + ?Sized>(
    system: &S,
    property: &dyn Property,
    stutter: Stutter,
    budget: &mut Budget,
    options: NestedOptions,
) -> Option<Finding> {
    let least = options.least_locality()?;
    let graph = Graph::new(system, stutter, least, budget.memory_limit());
    let letters = Letters::new(property)?;
    let reading = Reading::with(least);
    let (mut finding, tally) = search(graph, letters, reading, budget, options, u64::MAX)?;
    tally.complete(system, &mut finding);
    Some(finding)
}

/// What a search shows that ends after so many product states.
#[derive(Clone, Copy, Debug)]
pub struct Pilot {
    /// Product states.
    pub states: u64,
    /// Whether there were no more.
    pub is_whole: bool,
    /// Whether it met an accepting cycle.
    pub is_violated: bool,
    /// States of the system that were expanded.
    pub expanded: u64,
    /// Those of them that were expanded by less than all steps, or lead past states that need not be stored.
    pub narrowed: u64,
}

/// As [`nested_shared`], up to `most` product states.
pub fn pilot<S: System + ?Sized>(
    system: &S,
    property: &dyn Property,
    stutter: Stutter,
    budget: &mut Budget,
    options: NestedOptions,
    most: u64,
) -> Option<Pilot> {
    let least = options.least_locality()?;
    let graph = Graph::new(system, stutter, least, budget.memory_limit());
    let letters = Letters::new(property)?;
    let (finding, tally) = search(graph, letters, Reading::with(least), budget, options, most)?;
    let is_violated = finding.counterexample.is_some();
    Some(Pilot {
        states: finding.statistics.states,
        is_whole: finding.stop.is_none() && !is_violated,
        is_violated,
        expanded: tally.expanded,
        narrowed: tally.narrowed,
    })
}

/// Searches at most so many product states of a graph for an accepting cycle; `None` when this cannot tell. What its
/// expansions counted is yet to be added.
pub(super) fn search<G: SystemGraph>(
    graph: G,
    letters: Letters<'_>,
    reading: Reading,
    budget: &mut Budget,
    options: NestedOptions,
    most: u64,
) -> Option<(Finding, Tally)> {
    let mut search = Shared {
        letters,
        graph,
        reading,
        budget,
        options,
        most,
        paths: Both::default(),
        // What keeps the search from it is entered where it happens.
        finding: Finding::new(Covered::Everything),
    };
    match search.run() {
        Ok(()) => {}
        Err(Halt::Stop(stop)) => search.finding.stop = Some(stop),
        Err(_) => return None,
    }
    let tally = search.graph.tally();
    Some((search.finish(), tally))
}

/// Expanded by its ample set only.
const AMPLE: u8 = 1 << FREE;

/// A product state on a path, and what is left of its successors.
#[derive(Clone, Copy)]
struct Frame<N> {
    known: OnPath<Visited<N>>,
    /// The edge that is being followed, and the end of the edges.
    edge: u32,
    edges_end: u32,
    /// The next move of the automaton, and where the moves that go with the edge are.
    next_move: u32,
    moves_start: u32,
    moves_end: u32,
}

/// A visited product state.
#[derive(Clone, Copy, Debug)]
struct Visited<N> {
    state: u32,
    automaton: u32,
    node: N,
    /// Whether it is expanded by its ample set only, among other things.
    marks: u8,
}

impl<N> Frame<N> {
    /// A frame for a state before any of its successors is looked at.
    fn new(node: Visited<N>, accepting: bool) -> Self {
        let known = OnPath { node, accepting, all_red: true };
        Frame { known, edge: 0, edges_end: 0, next_move: 0, moves_start: 0, moves_end: 0 }
    }
}

struct Shared<'a, 'b, G: SystemGraph> {
    letters: Letters<'a>,
    graph: G,
    reading: Reading,
    budget: &'a mut Budget<'b>,
    options: NestedOptions,
    most: u64,
    paths: Both<Vec<Frame<G::Node>>>,
    finding: Finding,
}

impl<G: SystemGraph> Shared<'_, '_, G> {
    fn run(&mut self) -> Result<(), Halt> {
        let state = self.graph.initial(&mut self.letters)?;
        let start = self.letters.initial();
        if self.reading == Reading::Departure {
            self.visit((state, start))?;
            return explore(self);
        }
        let letter = self.graph.letter(state, &mut self.letters);
        for at in self.letters.moves(start, letter) {
            let automaton = self.letters.target(at);
            if self.graph.find(state, automaton).is_none() {
                self.visit((state, automaton))?;
                explore(self)?;
            }
        }
        Ok(())
    }

    /// Whether there is an ample set, and no product successor by it is on the path.
    fn is_ample(&mut self, state: u32, automaton: u32) -> Result<bool, Halt> {
        if self.options.scheme == Scheme::Full {
            return Ok(false);
        }
        let edges = self.graph.ample(state, automaton, &mut self.letters)?;
        if edges.is_empty() {
            return Ok(false);
        }
        for edge in edges {
            let target = self.graph.target(edge);
            let read = if self.reading == Reading::Arrival { target } else { state };
            let letter = self.graph.letter(read, &mut self.letters);
            for at in self.letters.moves(automaton, letter) {
                let found = self.graph.find(target, self.letters.target(at));
                if found.is_some_and(|(_, marks)| marks & COLOUR == CYAN) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Puts a visited product state on the path of the second search.
    #[inline(always)]
    fn visit_second(&mut self, node: Visited<G::Node>) {
        let mut frame = Frame::new(node, false);
        self.enter(&mut frame);
        self.paths[Which::Second].push(frame);
    }

    /// Starts with the successors of an expanded product state.
    fn enter(&mut self, frame: &mut Frame<G::Node>) {
        let Visited { state, automaton, marks, .. } = frame.known.node;
        let edges = self.graph.known(state, marks & AMPLE != 0);
        if edges.len() > 1 {
            self.graph.prefetch(edges.clone());
        }
        (frame.edge, frame.edges_end) = (edges.start, edges.end);
        if self.reading == Reading::Departure {
            let letter = self.graph.letter(state, &mut self.letters);
            let moves = self.letters.moves(automaton, letter);
            (frame.moves_start, frame.moves_end) = (moves.start, moves.end);
        }
        begin_edge(frame, &self.graph, &mut self.letters, self.reading);
    }

    /// Reports the cycle that the two paths close at this state of the first.
    fn report(&mut self, at: G::Node) -> Result<(), Halt> {
        // The second path begins where the first ends.
        let both = self.paths[Which::First].iter().chain(self.paths[Which::Second].iter().skip(1));
        let states: Vec<(u32, u32)> =
            both.map(|frame| (frame.known.node.state, frame.known.node.automaton)).collect();
        let Some(start) =
            self.paths[Which::First].iter().position(|frame| frame.known.node.node == at)
        else {
            return Err(Halt::Unsuited);
        };
        let mut trace = ProductTrace { steps: Vec::new(), real: states[0].1 };
        let closing = [states[states.len() - 1], states[start]];
        for pair in states[..=start].windows(2) {
            self.append(&mut trace, pair)?;
        }
        if self.reading == Reading::Departure {
            let cycle_start = trace.steps.len();
            for pair in states[start..].windows(2) {
                self.append(&mut trace, pair)?;
            }
            self.append(&mut trace, &closing)?;
            return self.conclude(trace.steps, cycle_start);
        }
        // The product's automaton is one step behind: its cycle begins after the first edge. What was
        // passed on the way into the cycle may differ from what is passed on the way back: then the
        // second round is the cycle.
        let mut cycle: Vec<(u32, u32)> = states[start..].to_vec();
        cycle.push(states[start]);
        loop {
            let before = trace.real;
            self.append(&mut trace, &cycle[..2])?;
            let cycle_start = trace.steps.len();
            for pair in cycle[1..].windows(2) {
                self.append(&mut trace, pair)?;
            }
            if trace.real == before {
                self.append(&mut trace, &cycle[..2])?;
                return self.conclude(trace.steps, cycle_start);
            }
        }
    }

    /// Adds the steps from one product state to the next, as steps of the product.
    fn append(&mut self, trace: &mut ProductTrace, pair: &[(u32, u32)]) -> Result<(), Halt> {
        let [(from, _), (to, automaton)] = [pair[0], pair[1]];
        let on_the_way = match self.reading {
            Reading::Departure => automaton,
            Reading::Arrival => trace.real,
        };
        trace.real = automaton;
        let name = self.letters.name(on_the_way);
        let Some(passage) = self.graph.steps_between(from, to)? else {
            trace.steps.push(stuttering(name));
            return Ok(());
        };
        trace.steps.extend(passage.path.into_iter().map(|step| joined(step, name)));
        for step in passage.passed {
            trace.steps.push(joined(step, self.letters.name(trace.real)));
            let letter = self.graph.letter(to, &mut self.letters);
            let again = self.letters.moves(trace.real, letter).next();
            trace.real = self.letters.target(again.ok_or(Halt::Unsuited)?);
        }
        Ok(())
    }

    fn conclude(&mut self, steps: Vec<Step>, cycle_start: usize) -> Result<(), Halt> {
        self.finding.statistics.errors = 1;
        let found = Counterexample::cycle(steps, self.options.kind, cycle_start);
        self.finding.counterexample = Some(found);
        Err(Halt::Stop(Stop::Fault))
    }

    fn finish(mut self) -> Finding {
        let numbers = &mut self.finding.statistics;
        numbers.transitions = numbers.states + numbers.matched;
        let frames = self.paths[Which::First].capacity() + self.paths[Which::Second].capacity();
        let memory = self.graph.bytes() + frames * size_of::<Frame<G::Node>>();
        numbers.memory_bytes = memory.max(self.budget.peak_memory()) as u64;
        numbers.bytes_per_state = self.graph.bytes() as f64 / numbers.states.max(1) as f64;
        numbers.seconds = self.budget.elapsed().as_secs_f64();
        if self.finding.counterexample.is_some() {
            self.finding.stop = None;
        }
        self.finding.cut = self.letters.is_cut();
        self.finding
    }
}

impl<G: SystemGraph> ProductGraph for Shared<'_, '_, G> {
    type Node = Visited<G::Node>;
    /// A state of the system, and one of the automaton.
    type Unvisited = (u32, u32);

    #[inline(always)]
    fn advance(&mut self, which: Which) -> Result<Edge<Self::Node, (u32, u32)>, Halt> {
        let path = &mut self.paths[which];
        let Some(frame) = path.last_mut() else { return Ok(Edge::Done) };
        let found = advance(frame, &self.graph, &mut self.letters, self.reading);
        let Some((state, automaton)) = found else { return Ok(Edge::Done) };
        let Some((node, marks)) = self.graph.find(state, automaton) else {
            return Ok(Edge::Unvisited((state, automaton)));
        };
        self.finding.statistics.matched += u64::from(which == Which::First);
        Ok(Edge::Visited(Visited { state, automaton, node, marks }, marks))
    }

    #[inline(always)]
    fn visit(&mut self, (state, automaton): (u32, u32)) -> Result<(), Halt> {
        if self.finding.statistics.states == self.most {
            return Err(Halt::Stop(Stop::Bound));
        }
        let accepting = self.letters.is_accepting(automaton);
        let mut marks = CYAN | if accepting { ACCEPTING } else { 0 };
        let node = self.graph.add(state, automaton, marks)?;
        self.finding.statistics.states += 1;
        let blocked = self.reading == Reading::Departure && {
            let letter = self.graph.letter(state, &mut self.letters);
            self.letters.moves(automaton, letter).is_empty()
        };
        if !blocked {
            if self.is_ample(state, automaton)? {
                marks |= AMPLE;
                self.graph.update_marks(node, |_| marks);
            } else {
                self.graph.complete(state, automaton, &mut self.letters)?;
            }
        }
        let mut frame = Frame::new(Visited { state, automaton, node, marks }, accepting);
        if !blocked {
            self.enter(&mut frame);
        }
        self.paths[Which::First].push(frame);
        let numbers = &mut self.finding.statistics;
        numbers.depth = numbers.depth.max(2 * self.paths[Which::First].len() as u64 - 2);
        let (states, transitions) = (numbers.states, numbers.states + numbers.matched);
        let (depth, queue) =
            (2 * self.paths[Which::First].len() as u64, self.paths[Which::First].len() as u64);
        let (graph, paths) = (
            &self.graph,
            self.paths[Which::First].capacity() + self.paths[Which::Second].capacity(),
        );
        self.budget.spend(|| {
            let memory = graph.bytes() + paths * size_of::<Frame<G::Node>>();
            Progress { states, transitions, depth, queue, memory, ..Progress::default() }
        })?;
        Ok(())
    }

    fn begin_second(&mut self) -> Result<(), Halt> {
        self.paths[Which::Second].clear();
        let Some(&Frame { known, .. }) = self.paths[Which::First].last() else { return Ok(()) };
        self.visit_second(known.node);
        Ok(())
    }

    #[inline(always)]
    fn visit_again(&mut self, node: Visited<G::Node>) -> Result<(), Halt> {
        self.visit_second(node);
        Ok(self.budget.spend(Progress::default)?)
    }

    #[inline(always)]
    fn pop(&mut self, which: Which) -> bool {
        let path = &mut self.paths[which];
        path.pop();
        !path.is_empty()
    }

    #[inline(always)]
    fn source(&mut self) -> Option<&mut OnPath<Visited<G::Node>>> {
        self.paths[Which::First].last_mut().map(|frame| &mut frame.known)
    }

    #[inline(always)]
    fn paint(&mut self, node: Visited<G::Node>, _from: u8, to: u8) {
        self.graph.update_marks(node.node, |marks| marks & !COLOUR | to);
    }

    fn close(&mut self, node: Visited<G::Node>) -> Result<(), Halt> {
        self.report(node.node)
    }
}

/// Steps of the product, and the automaton's state after reading every letter on the way.
struct ProductTrace {
    steps: Vec<Step>,
    real: u32,
}

/// The moves that go with the present edge.
#[inline(always)]
fn begin_edge<G: SystemGraph>(
    frame: &mut Frame<G::Node>,
    graph: &G,
    letters: &mut Letters<'_>,
    reading: Reading,
) {
    if frame.edge < frame.edges_end {
        if reading == Reading::Arrival {
            let letter = graph.letter(graph.target(frame.edge), letters);
            let moves = letters.moves(frame.known.node.automaton, letter);
            (frame.moves_start, frame.moves_end) = (moves.start, moves.end);
        }
        frame.next_move = frame.moves_start;
    }
}

/// The next successor.
#[inline(always)]
fn advance<G: SystemGraph>(
    frame: &mut Frame<G::Node>,
    graph: &G,
    letters: &mut Letters<'_>,
    reading: Reading,
) -> Option<(u32, u32)> {
    while frame.edge < frame.edges_end {
        if frame.next_move < frame.moves_end {
            let to = letters.target(frame.next_move);
            frame.next_move += 1;
            return Some((graph.target(frame.edge), to));
        }
        frame.edge += 1;
        begin_edge(frame, graph, letters, reading);
    }
    None
}
