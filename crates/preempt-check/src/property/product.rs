//! A system and a property automaton, moving together.
//!
//! Paper: [S19] section 3: the automaton reads the propositions of the *source* state and moves with
//! the program, (q, s) -> (q', s').
//!
//! A product state is the system's vector with the automaton's state behind it. Inside an indivisible
//! sequence the automaton rests, as in Spin. Where `accept` labels of the system count, one that was passed
//! inside is remembered until the sequence ends, and the state there is accepting. **Invariant:** which steps the product has depends on
//! (q, s) alone, so an ample set chosen from it is a function of the source product state.

use super::around::leave_to_system;
use super::changing;
use super::faulty::Faulty;
use super::steps::{
    COMPLETE, FAULT, VIOLATE, completing, faulting, joined, of_program, stuttering, target,
    violating,
};
use super::{Endless, Property, PropertyMove};
use crate::Counterexample;
use preempt_core::engine::{Answer, Request, Sink, Successors, by_steps};
use preempt_core::{
    Describe, Enabled, Fault, FaultKind, Footprint, Independence, Label, Locality, ObjectSet,
    Outcome, ProcessId, Step, System, Unreached, Value,
};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an execution that ends is continued by repeating its last state for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stutter {
    /// Yes: where no process can move, the automaton goes on alone.
    Extend,
    /// No: an execution that ends is not infinite.
    End,
}

/// A system watched by a property.
pub struct Product<'a, S: System + ?Sized, P: Property + ?Sized> {
    system: &'a S,
    property: &'a P,
    stutter: Stutter,
    cut: AtomicBool,
}

thread_local! {
    /// The program's own steps of the state at hand, reused.
    static PROGRAM_STEPS: RefCell<Enabled> = RefCell::default();
    static PROGRAM_SUCCESSORS: RefCell<Successors> = RefCell::default();
}

/// Bytes of the automaton's state at the end of the vector.
const WIDTH: usize = 4;
/// Faults from here on belong to the automaton.
const PROPERTY_FAULTS: u32 = 1 << 31;
const COMPLETED: u32 = u32::MAX;
/// Beside the automaton's state: an `accept` label was passed inside the sequence that led here.
const PASSED: u32 = 1 << 27;

impl<'a, S: System + ?Sized, P: Property + ?Sized> Product<'a, S, P> {
    /// Joins the two.
    pub fn new(system: &'a S, property: &'a P, stutter: Stutter) -> Self {
        Product { system, property, stutter, cut: AtomicBool::new(false) }
    }

    /// Whether the automaton had no move in some state that was asked for: what can follow there is no
    /// part of the product.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    /// The automaton.
    pub fn property(&self) -> &'a P {
        self.property
    }

    /// Whether executions that end are continued.
    pub fn stutter(&self) -> Stutter {
        self.stutter
    }

    /// The vector of a state of the system and one of the automaton.
    pub fn vector(program: &[u8], automaton: u32) -> Vec<u8> {
        let mut vector = program.to_vec();
        attach(&mut vector, automaton);
        vector
    }

    /// The state of the system and that of the automaton in a vector.
    pub fn split(state: &[u8]) -> (&[u8], u32) {
        let (program, automaton) = state.split_at(state.len() - WIDTH);
        let mut bytes = [0; WIDTH];
        bytes.copy_from_slice(automaton);
        (program, u32::from_le_bytes(bytes))
    }

    /// The system's own vector.
    fn inner<'v>(&self, state: &'v [u8]) -> &'v [u8] {
        Self::split(state).0
    }

    /// Takes the automaton's state off the vector.
    fn detach(&self, state: &mut Vec<u8>) -> u32 {
        let automaton = Self::split(state).1;
        state.truncate(state.len() - WIDTH);
        automaton
    }

    /// The automaton's own state. Only where labels count is there anything else.
    fn without_passed(&self, automaton: u32) -> u32 {
        if self.property.counts_labels() { automaton & !PASSED } else { automaton }
    }

    /// The moves of the automaton that go with a step of the program; those without one are given
    /// to `alone`.
    fn property_moves(
        &self,
        state: &[u8],
        automaton: u32,
        nothing_moves: bool,
        mut alone: impl FnMut(Step),
    ) -> SmallVec<[u32; 16]> {
        let mut targets = SmallVec::new();
        if self.system.is_transient(state) {
            let counts = self.property.counts_labels();
            let passes = counts && self.system.has_label(state, Label::Accept);
            targets.push(if passes { automaton | PASSED } else { automaton });
            return targets;
        }
        let automaton = self.without_passed(automaton);
        let mut faulty = Faulty::default();
        let mut holds = |index| {
            let value = self.system.proposition(state, index);
            if let Err(fault) = value {
                faulty.note(index, fault);
            }
            value == Ok(true)
        };
        self.property.moves(automaton, &mut holds, &mut |found| match found {
            PropertyMove::To(to) if targets.contains(&to) => {}
            PropertyMove::To(to) => targets.push(to),
            PropertyMove::Violates { to, assertion } => {
                alone(violating(to, assertion));
            }
            PropertyMove::Complete => alone(completing(automaton)),
        });
        if targets.is_empty() && !nothing_moves {
            self.cut.store(true, Ordering::Relaxed);
        }
        let value = |index| self.system.proposition(state, index) == Ok(true);
        if let Some(fault) = faulty.decides(self.property, automaton, value) {
            alone(faulting(automaton, fault));
        }
        if nothing_moves && self.stutter == Stutter::Extend {
            for &to in &targets {
                alone(stuttering(to));
            }
        }
        targets
    }

    /// The same where the automaton's moves change the system: what it can do depends on them. Says whether that is
    /// the case here.
    fn join_changing(&self, state: &[u8], automaton: u32, enabled: &mut Enabled) -> bool {
        let Some(changing) = self.property.changing() else { return false };
        if self.system.is_transient(state) {
            return false;
        }
        let source = (state, self.without_passed(automaton));
        let repeats = self.stutter == Stutter::Extend;
        if !changing::join(self.system, changing, source, repeats, enabled) {
            self.cut.store(true, Ordering::Relaxed);
        }
        true
    }

    /// The steps of the product, from those of the program and the moves of the automaton.
    fn join(&self, state: &[u8], automaton: u32, program: &Enabled, enabled: &mut Enabled) {
        let alone = |step| enabled.push(step);
        let targets = self.property_moves(state, automaton, program.is_empty(), alone);
        for (_, steps) in program.by_process() {
            for &to in &targets {
                for step in steps {
                    debug_assert!(of_program(*step) == *step);
                    enabled.push(joined(*step, to));
                }
            }
        }
    }

    fn property_outcome(step: Step) -> Outcome {
        match step.transition {
            COMPLETE => Outcome::Violated(COMPLETED),
            VIOLATE => Outcome::Violated(PROPERTY_FAULTS | step.partner_transition),
            FAULT => Outcome::Violated(step.partner_transition),
            _ => Outcome::Done,
        }
    }

    /// The automaton's state after a step.
    pub fn target(step: Step) -> u32 {
        target(step)
    }
}

impl<P: Property + ?Sized> Product<'_, Endless<'_>, P> {
    /// An execution that stays inside an indivisible sequence for ever, by the steps inside. `None` for
    /// others. The steps are those of the product with the system alone, where the automaton rests
    /// in the sequence, also if it has yet to reach an accepting state by what it reads for ever.
    pub fn unfold(&self, found: &Counterexample, label: Option<Label>) -> Option<Counterexample> {
        found.cycle_start?;
        let at = found.steps.iter().position(|step| Endless::is_stay(*step))?;
        let mut state = Vec::new();
        self.initial(&mut state);
        let mut enabled = Enabled::new();
        for &step in &found.steps[..at] {
            enabled.clear();
            self.enabled(&mut state, &mut enabled);
            self.apply(&mut state, step);
        }
        enabled.clear();
        self.enabled(&mut state, &mut enabled);
        let stay = found.steps[at];
        let (entry, circle) = self.system.unfold(Self::split(&state).0, of_program(stay), label)?;
        let mut steps = found.steps[..at].to_vec();
        // Inside, the automaton's state remembers the labels passed; from the first round on it stays the same.
        let mut automaton = Self::target(stay);
        let mut vector = Self::split(&state).0.to_vec();
        let mut take = |inside: &[Step]| {
            for &step in inside {
                if self.system.is_transient(&vector) {
                    let passes = self.property.counts_labels()
                        && self.system.has_label(&vector, Label::Accept);
                    automaton |= if passes { PASSED } else { 0 };
                }
                steps.push(joined(step, automaton));
                self.system.apply(&mut vector, step);
            }
            (steps.len(), automaton)
        };
        let (mut cycle_start, before) = take(&entry);
        let (end, after) = take(&circle);
        if before != after {
            cycle_start = end;
            take(&circle);
        }
        let cycle_start = Some(cycle_start);
        Some(Counterexample { steps, cycle_start, ..found.clone() })
    }
}

fn attach(state: &mut Vec<u8>, automaton: u32) {
    state.extend_from_slice(&automaton.to_le_bytes());
}

impl<S: System + ?Sized, P: Property + ?Sized> System for Product<'_, S, P> {
    leave_to_system! {
        fn process_count(state) -> usize;
        fn is_transient(state) -> bool;
        fn is_repeatable() -> bool;
        fn is_normalized(state) -> bool;
        fn transition_count() -> usize;
        fn proposition_count() -> usize;
        fn proposition(state, index: usize) -> Result<bool, u32>;
    }

    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        let outcome = self.system.initial(state);
        attach(state, self.property.initial());
        outcome
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let automaton = self.detach(state);
        if self.join_changing(state, automaton, enabled) {
            attach(state, automaton);
            return;
        }
        PROGRAM_STEPS.with_borrow_mut(|program| {
            program.clear();
            self.system.enabled(state, program);
            // Where an indivisible sequence is blocked, asking ended it.
            if !self.join_changing(state, automaton, enabled) {
                self.join(state, automaton, program, enabled);
            }
        });
        attach(state, automaton);
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        self.detach(state);
        let to = match self.property.changing() {
            Some(changing) => changing::land(changing, Self::target(step), state),
            None => Self::target(step),
        };
        let outcome = match step.process {
            ProcessId::PROPERTY => Self::property_outcome(step),
            _ => self.system.apply(state, of_program(step)),
        };
        attach(state, to);
        outcome
    }

    fn successors(&self, request: Request, sink: Sink<'_>) -> Answer {
        if self.property.changing().is_some() {
            return by_steps(self, request, sink);
        }
        let (answer, state, out) = match (request.answer_by_all(), sink) {
            (Some(answer), Sink::Copies(state, out)) => (answer, state, out),
            (_, sink) => return by_steps(self, request, sink),
        };
        let automaton = self.detach(state);
        PROGRAM_SUCCESSORS.with_borrow_mut(|program| {
            program.clear();
            // The notes are about this system; the next one may have other ones.
            std::mem::swap(&mut program.notes, &mut out.notes);
            self.system.successors(Request::All, Sink::Copies(state, program));
            std::mem::swap(&mut program.notes, &mut out.notes);
            let is_inside = self.system.is_transient(state);
            let targets = self.property_moves(state, automaton, program.is_empty(), |step| {
                let outcome = Self::property_outcome(step);
                out.data.extend_from_slice(state);
                attach(&mut out.data, Self::target(step));
                out.push_last(step, outcome, is_inside, state.len() + WIDTH);
            });
            // Per process, one automaton move after the other, as in `join`.
            let mut first = 0;
            let groups = program.headers.chunk_by(|a, b| a.step().process == b.step().process);
            for group in groups {
                for &to in &targets {
                    for (at, header) in (first..).zip(group) {
                        let (step, outcome) = program.step_of(at, header);
                        let length = header.range().len();
                        out.data.extend_from_slice(&program.data[header.range()]);
                        attach(&mut out.data, to);
                        let transient = header.is_transient();
                        out.push_last(joined(step, to), outcome, transient, length + WIDTH);
                    }
                }
                first += group.len();
            }
        });
        attach(state, automaton);
        answer
    }

    fn depth_of(&self, step: Step) -> u32 {
        // The automaton's own move counts, as in Spin's reports.
        match step.process {
            ProcessId::PROPERTY => 1,
            _ => 1 + self.system.depth_of(of_program(step)),
        }
    }

    fn transitions_of(&self, step: Step) -> (usize, Option<usize>) {
        match step.process {
            ProcessId::PROPERTY => (usize::MAX, None),
            _ => self.system.transitions_of(of_program(step)),
        }
    }

    fn is_valid_end(&self, _state: &[u8]) -> bool {
        // With a property, an execution that ends is judged by the property.
        true
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        let (program, automaton) = Self::split(state);
        match label {
            Label::Accept => {
                self.property.is_accepting(self.without_passed(automaton))
                    || self.property.counts_labels()
                        && (automaton & PASSED != 0 || self.system.has_label(program, label))
            }
            Label::Progress => self.system.has_label(program, label),
        }
    }
}

impl<S: System + ?Sized, P: Property + ?Sized> Independence for Product<'_, S, P> {
    leave_to_system! {
        fn future(state, process: ProcessId) -> Option<&Footprint>;
        fn observed() -> Option<&ObjectSet>;
    }

    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        match process {
            ProcessId::PROPERTY => Locality::Shared,
            _ => self.system.locality(Self::split(state).0, process),
        }
    }

    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        process == ProcessId::PROPERTY || self.system.is_visible(Self::split(state).0, process)
    }

    fn footprint(&self, state: &[u8], step: Step) -> Option<&Footprint> {
        match step.process {
            ProcessId::PROPERTY => None,
            _ => self.system.footprint(Self::split(state).0, of_program(step)),
        }
    }
}

impl<S: System + ?Sized, P: Property + ?Sized> Describe for Product<'_, S, P> {
    leave_to_system! {
        fn unreached(taken: &[bool]) -> Vec<Unreached>;
        fn position(state, process: ProcessId) -> Option<(String, u32, String)>;
        fn variables(state) -> Vec<(String, Value)>;
    }

    fn fault(&self, number: u32) -> Fault {
        match number {
            COMPLETED => Fault {
                kind: FaultKind::Claim,
                message: "the never claim was matched to its end".into(),
                file: String::new(),
                line: 0,
            },
            _ if number & PROPERTY_FAULTS != 0 => {
                self.property.assertion(number & !PROPERTY_FAULTS)
            }
            _ => self.system.fault(number),
        }
    }

    fn process_name(&self, state: &[u8], process: ProcessId) -> String {
        match process {
            ProcessId::PROPERTY => "property".into(),
            _ => self.system.process_name(Self::split(state).0, process),
        }
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        let text = match (step.process, step.transition) {
            (ProcessId::PROPERTY, COMPLETE) => "the claim ends",
            (ProcessId::PROPERTY, VIOLATE) => {
                match self.property.assertion(step.partner_transition).kind {
                    FaultKind::Assertion => "the claim's assertion fails",
                    _ => "nothing that can follow satisfies the formula",
                }
            }
            (ProcessId::PROPERTY, FAULT) => "the property cannot be evaluated",
            (ProcessId::PROPERTY, _) => "nothing can move: the state repeats for ever",
            _ => return self.system.describe(Self::split(state).0, of_program(step)),
        };
        (String::new(), 0, text.into())
    }

    fn output(&self, state: &[u8], step: Step) -> String {
        match step.process {
            ProcessId::PROPERTY => String::new(),
            _ => self.system.output(Self::split(state).0, of_program(step)),
        }
    }
}
