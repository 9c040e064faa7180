//! Executions that stay inside an indivisible sequence for ever.
//!
//! Searches store no state inside a sequence, so one that never ends leads nowhere as far as they can see,
//! and an infinite execution would go unjudged. Here it gets a state of its own: where a process can begin
//! a sequence that may go on for ever it has one more step, into an *endless* state, in which nothing can happen
//! but that the same process goes on.
//!
//! What a property sees of it. Inside a sequence the automaton rests, as in Spin, so it never gets to see
//! another state than the one the sequence began in: that one repeats for ever, as at the end of an execution
//! that ends. Labels, however, are those of the circle that is run through: `accept` if one can be
//! chosen that passes such a label, and no progress (`np_`) if one can be chosen without. No other process
//! can move meanwhile, so the execution is fair, and has no preemptions.
//!
//! **Reduction.** A process that has this step is explored with all others: the step takes the
//! others' steps away. Steps of others may be taken before it, because a step that commutes with all of a
//! sequence changes nothing about whether it ends, and one that is invisible nothing about what is seen.
//!
//! A state is the system's vector with a mark behind it, all zeros outside of endless states.

use super::around::leave_to_system;
use super::inside::{Circles, Inside, Sequences};
use preempt_core::engine::{Answer, Request, Sink, Successors, by_steps};
use preempt_core::{
    Describe, Enabled, Fault, Footprint, Independence, Label, Locality, ObjectSet, Outcome,
    ProcessId, Step, System, Unreached, Value,
};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A system whose endless sequences are steps.
pub struct Endless<'a> {
    system: &'a dyn System,
    /// The propositions that say "no progress here", or the opposite.
    stalled: Vec<(usize, bool)>,
    give_up: &'a (dyn Fn() -> bool + Sync),
    gave_up: AtomicBool,
}

/// Bytes of the mark: which circles there are inside, and whose sequence it is.
const WIDTH: usize = 3;
/// The transition of the step into an endless state, and of the step that stays there.
const STAY: u32 = u32::MAX;

thread_local! {
    static STEPS: RefCell<Enabled> = RefCell::default();
    static SUCCESSORS: RefCell<Successors> = RefCell::default();
    static INSIDE: RefCell<Inside> = RefCell::default();
}

/// What lies behind the vector of the system.
type Mark = [u8; WIDTH];
const OUTSIDE: Mark = [0; WIDTH];

fn split(state: &[u8]) -> (&[u8], Mark) {
    let (vector, bytes) = state.split_at(state.len() - WIDTH);
    let mut mark = OUTSIDE;
    mark.copy_from_slice(bytes);
    (vector, mark)
}

fn detach(state: &mut Vec<u8>) -> Mark {
    let mark = split(state).1;
    state.truncate(state.len() - WIDTH);
    mark
}

fn mark_of(step: Step) -> Mark {
    let [low, high] = step.process.0.to_le_bytes();
    [step.partner_transition as u8, low, high]
}

fn stay(process: ProcessId, circles: Circles) -> Step {
    Step { partner_transition: circles.0.into(), ..Step::new(process, STAY) }
}

/// The step of an endless state.
fn stay_in(mark: Mark) -> Step {
    stay(ProcessId(u16::from_le_bytes([mark[1], mark[2]])), Circles(mark[0]))
}

impl<'a> Endless<'a> {
    /// `stalled` are the propositions that say whether no process is at a progress label, and which answer
    /// means that. A sequence is not followed any further once `give_up` says so.
    pub fn new(
        system: &'a dyn System,
        stalled: Vec<(usize, bool)>,
        give_up: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Endless { system, stalled, give_up, gave_up: AtomicBool::new(false) }
    }

    /// Whether it remained open for some sequence if it ends: then a search proves nothing.
    pub fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Whether a step leads into an endless state, or stays there.
    pub fn is_stay(step: Step) -> bool {
        step.transition == STAY && step.process != ProcessId::PROPERTY
    }

    /// The system's own vector.
    fn inner<'v>(&self, state: &'v [u8]) -> &'v [u8] {
        split(state).0
    }

    /// The step of `process` into an endless state, given its steps in a state of the system.
    fn staying(&self, state: &[u8], process: ProcessId, steps: &[Step]) -> Option<Step> {
        if steps.is_empty() || !self.system.may_stay_inside(state, process) {
            return None;
        }
        let found = INSIDE
            .with_borrow_mut(|inside| inside.circles(self.system, state, steps, self.give_up));
        match found {
            Ok(circles) => circles.has(Circles::SOME).then(|| stay(process, circles)),
            Err(_) => {
                self.gave_up.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Adds successors of a state of the system, process by process, with marks, and the steps into endless
    /// states.
    fn mark(&self, state: &[u8], found: &Successors, out: &mut Successors) {
        let mut add = |step, outcome, transient, vector: &[u8], mark: &Mark| {
            out.data.extend_from_slice(vector);
            out.data.extend_from_slice(mark);
            out.push_last(step, outcome, transient, vector.len() + WIDTH);
        };
        let is_inside = self.system.is_transient(state);
        let mut first = 0;
        for group in found.headers.chunk_by(|a, b| a.step().process == b.step().process) {
            let all = first..first + group.len();
            first = all.end;
            for (at, header) in all.clone().zip(group) {
                let (step, outcome) = found.step(at);
                // What a step that could not be completed leaves behind means nothing.
                let vector = found.data.get(header.range()).unwrap_or_default();
                add(step, outcome, header.is_transient(), vector, &OUTSIDE);
            }
            let process = group[0].step().process;
            if is_inside || !self.system.may_stay_inside(state, process) {
                continue;
            }
            let steps: Vec<Step> = all.map(|at| found.step(at).0).collect();
            if let Some(stay) = self.staying(state, process, &steps) {
                add(stay, Outcome::Done, false, state, &mark_of(stay));
            }
        }
    }

    /// The real steps of an execution that ends in an endless state: how `step`, taken in `state`, gets into
    /// a circle, and the circle. `label` is what the circle is wanted for.
    pub fn unfold(
        &self,
        state: &[u8],
        step: Step,
        label: Option<Label>,
    ) -> Option<(Vec<Step>, Vec<Step>)> {
        let mut vector = state.to_vec();
        let (mark, circles) = (detach(&mut vector), Circles(step.partner_transition as u8));
        let kind = match label {
            Some(Label::Accept) if circles.has(Circles::ACCEPTING) => Circles::ACCEPTING,
            Some(Label::Progress) if circles.has(Circles::QUIET) => Circles::QUIET,
            _ => Circles::SOME,
        };
        if mark != OUTSIDE {
            return None;
        }
        let mut enabled = Enabled::new();
        self.system.enabled(&mut vector, &mut enabled);
        let steps = enabled.of(step.process);
        let mut inside = Inside::default();
        let never = || false;
        Sequences::explore(self.system, &vector, steps, &never, &mut inside).ok()?.way(kind)
    }
}

impl System for Endless<'_> {
    leave_to_system! {
        fn process_count(state) -> usize;
        fn is_transient(state) -> bool;
        fn is_normalized(state) -> bool;
        fn is_valid_end(state) -> bool;
        fn transition_count() -> usize;
        fn proposition_count() -> usize;
    }

    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        let outcome = self.system.initial(state);
        state.extend_from_slice(&OUTSIDE);
        outcome
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let mark = detach(state);
        if mark != OUTSIDE {
            enabled.push(stay_in(mark));
        } else {
            STEPS.with_borrow_mut(|steps| {
                steps.clear();
                self.system.enabled(state, steps);
                let is_inside = self.system.is_transient(state);
                for (process, steps) in steps.by_process() {
                    steps.iter().for_each(|step| enabled.push(*step));
                    if !is_inside && let Some(stay) = self.staying(state, process, steps) {
                        enabled.push(stay);
                    }
                }
            });
        }
        state.extend_from_slice(&mark);
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        detach(state);
        if Self::is_stay(step) {
            state.extend_from_slice(&mark_of(step));
            return Outcome::Done;
        }
        let outcome = self.system.apply(state, step);
        state.extend_from_slice(&OUTSIDE);
        outcome
    }

    fn successors(&self, request: Request, sink: Sink<'_>) -> Answer {
        let (state, out) = match (request, sink) {
            (Request::All | Request::Process(_), Sink::Copies(state, out)) => (state, out),
            (_, sink) => return by_steps(self, request, sink),
        };
        let mark = detach(state);
        let is_outside = mark == OUTSIDE;
        let answer = SUCCESSORS.with_borrow_mut(|inner| {
            inner.clear();
            if !is_outside {
                return Answer::AskForAll;
            }
            // The notes are about this system; the next one may have other ones.
            std::mem::swap(&mut inner.notes, &mut out.notes);
            let answer = self.system.successors(request, Sink::Copies(state, inner));
            std::mem::swap(&mut inner.notes, &mut out.notes);
            self.mark(state, inner, out);
            answer
        });
        state.extend_from_slice(&mark);
        match answer {
            Answer::AskForAll => by_steps(self, request, Sink::Copies(state, out)),
            answer => answer,
        }
    }

    fn depth_of(&self, step: Step) -> u32 {
        if Self::is_stay(step) { 1 } else { self.system.depth_of(step) }
    }

    fn transitions_of(&self, step: Step) -> (usize, Option<usize>) {
        if Self::is_stay(step) { (usize::MAX, None) } else { self.system.transitions_of(step) }
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        match (split(state), label) {
            ((vector, OUTSIDE), label) => self.system.has_label(vector, label),
            ((_, mark), Label::Accept) => Circles(mark[0]).has(Circles::ACCEPTING),
            ((_, mark), Label::Progress) => !Circles(mark[0]).has(Circles::QUIET),
        }
    }

    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        let (vector, mark) = split(state);
        let stalled = self.stalled.iter().find(|(known, _)| mark != OUTSIDE && *known == index);
        match stalled {
            Some((_, meant)) if Circles(mark[0]).has(Circles::QUIET) == *meant => Ok(true),
            // Not true: a fault would still be one.
            Some(_) => self.system.proposition(vector, index).map(|_| false),
            None => self.system.proposition(vector, index),
        }
    }
}

impl Independence for Endless<'_> {
    leave_to_system! {
        fn is_visible(state, process: ProcessId) -> bool;
        fn future(state, process: ProcessId) -> Option<&Footprint>;
        fn observed() -> Option<&ObjectSet>;
    }

    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        let (vector, mark) = split(state);
        match mark != OUTSIDE || self.system.may_stay_inside(vector, process) {
            true => Locality::Shared,
            false => self.system.locality(vector, process),
        }
    }

    fn footprint(&self, state: &[u8], step: Step) -> Option<&Footprint> {
        if Self::is_stay(step) { None } else { self.system.footprint(split(state).0, step) }
    }
}

impl Describe for Endless<'_> {
    leave_to_system! {
        fn unreached(taken: &[bool]) -> Vec<Unreached>;
        fn fault(number: u32) -> Fault;
        fn process_name(state, process: ProcessId) -> String;
        fn position(state, process: ProcessId) -> Option<(String, u32, String)>;
        fn variables(state) -> Vec<(String, Value)>;
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        if Self::is_stay(step) {
            return (String::new(), 0, "stays inside an indivisible sequence for ever".into());
        }
        self.system.describe(split(state).0, step)
    }

    fn output(&self, state: &[u8], step: Step) -> String {
        if Self::is_stay(step) {
            return String::new();
        }
        self.system.output(split(state).0, step)
    }
}
