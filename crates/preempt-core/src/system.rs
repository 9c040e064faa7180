//! The next-state interface between models and searches.

use crate::engine::{
    Answer, Difference, Request, Scratch, Sink, SuccessorList, Successors, Vector,
};
use crate::{Describe, Enabled, Independence, Outcome, Step};
use std::ops::Range;

/// What a state or step is marked with by the model's author.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Label {
    /// Some process is at an `accept` label.
    Accept,
    /// Some process is at a `progress` label.
    Progress,
}

/// Anything that can be explored: a Promela model, a Boolean program, a model written in Rust.
///
/// A state is a plain vector of bytes that describes itself: equal bytes are equal states, the
/// length may differ from state to state. **Transient states** lie inside an indivisible sequence:
/// a search passes through them, but neither stores them nor lets another process move.
///
/// ```
/// use preempt_core::{Describe, Enabled, Independence, Outcome, ProcessId, Step, System};
///
/// /// Two processes that both do `x = x + 1` in two steps: load, then store.
/// struct LostUpdate;
///
/// impl System for LostUpdate {
///     // state: [x, (pc, register) of process 0, (pc, register) of process 1]
///     fn initial(&self, state: &mut Vec<u8>) -> Outcome {
///         state.extend([0, 0, 0, 0, 0]);
///         Outcome::Done
///     }
///     fn process_count(&self, _state: &[u8]) -> usize {
///         2
///     }
///     fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
///         for p in [1u16, 0] {
///             let pc = state[1 + 2 * usize::from(p)];
///             if pc < 2 {
///                 enabled.push(Step::new(ProcessId(p), u32::from(pc)));
///             }
///         }
///     }
///     fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
///         let at = 1 + 2 * step.process.index();
///         match step.transition {
///             0 => state[at + 1] = state[0],
///             _ => state[0] = state[at + 1] + 1,
///         }
///         state[at] += 1;
///         Outcome::Done
///     }
/// }
///
/// // Nothing is known that a reduction could use, and steps are shown by their numbers.
/// impl Independence for LostUpdate {}
/// impl Describe for LostUpdate {}
///
/// let (mut state, mut enabled) = (Vec::new(), Enabled::new());
/// LostUpdate.initial(&mut state);
/// LostUpdate.enabled(&mut state, &mut enabled);
/// assert_eq!(enabled.steps().len(), 2);
/// ```
pub trait System: Independence + Describe + AsSystem + Sync {
    /// Writes the initial state into the empty `state`.
    fn initial(&self, state: &mut Vec<u8>) -> Outcome;

    /// How many processes are alive; their ids are `0..count`.
    fn process_count(&self, state: &[u8]) -> usize;

    /// Adds the enabled steps, process by process in the order of exploration. Inside an
    /// indivisible sequence only the steps of its process; where that process is blocked the
    /// sequence is interrupted: the state stops being transient (hence `&mut`) and the steps of
    /// all processes are added.
    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled);

    /// Replaces the state by its successor under an enabled step.
    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome;

    /// Adds the successors that a request asks for to a sink, in the order of [`System::enabled`]. Systems
    /// that can do better than one by one override this, for all requests or for some.
    #[doc(hidden)]
    fn successors(&self, request: Request, sink: Sink<'_>) -> Answer {
        by_steps(self, request, sink)
    }

    /// Whether most successors are found by compiled code: then to find all of them costs less than to pick
    /// some step by step, and differences cost less than copies where states are long.
    #[doc(hidden)]
    fn is_compiled(&self) -> bool {
        false
    }

    /// Whether the state lies inside an indivisible sequence. Only certain after [`System::enabled`]
    /// has been asked, which ends interrupted sequences.
    fn is_transient(&self, _state: &[u8]) -> bool {
        false
    }

    /// Whether [`System::enabled`] would leave the state as it is, so that a search may compare the
    /// state before it asks.
    fn is_normalized(&self, state: &[u8]) -> bool {
        !self.is_transient(state)
    }

    /// Bytes of every state that are restored with it, but by which a search that can does not tell states apart. They lie
    /// at a place that all states have.
    fn unmatched(&self) -> Range<usize> {
        0..0
    }

    /// Whether the same step from the same state always has the same result. Foreign code may read what is no part of the
    /// state.
    fn is_repeatable(&self) -> bool {
        true
    }

    /// In a state without enabled steps: whether every process is at a valid end.
    fn is_valid_end(&self, _state: &[u8]) -> bool {
        true
    }

    /// Whether some process of the state is at a label of this kind.
    fn has_label(&self, _state: &[u8], _label: Label) -> bool {
        false
    }

    /// How many propositions the properties of this system use.
    fn proposition_count(&self) -> usize {
        0
    }

    /// The value of one proposition, or the number of the [fault](Describe::fault) that leaves it without one.
    fn proposition(&self, _state: &[u8], _index: usize) -> Result<bool, u32> {
        Ok(false)
    }

    /// How many steps an observer would count: 2 for a rendezvous, 1 otherwise.
    fn depth_of(&self, step: Step) -> u32 {
        1 + u32::from(step.partner.is_some())
    }

    /// How many transitions the program has, for reports of code that no execution reached; 0 when
    /// the system does not number them.
    fn transition_count(&self) -> usize {
        0
    }

    /// The number of the step's transition, below [`System::transition_count`] if it counts, and of the
    /// transition that the partner of a rendezvous takes.
    fn transitions_of(&self, step: Step) -> (usize, Option<usize>) {
        (step.transition as usize, step.partner.map(|_| step.partner_transition as usize))
    }
}

/// Every [`System`] as one whose type is not known, so that a search need not be compiled for it.
pub trait AsSystem {
    /// The system, its type forgotten.
    fn as_system(&self) -> &dyn System;
}

impl<S: System> AsSystem for S {
    fn as_system(&self) -> &dyn System {
        self
    }
}

/// Answers a request by listing the enabled steps and taking those that are wanted; for differences, by
/// comparing copies.
pub fn by_steps<S: System + ?Sized>(system: &S, request: Request, sink: Sink<'_>) -> Answer {
    match sink {
        Sink::Copies(state, out) => {
            let mut scratch = out.scratch.take().unwrap_or_default();
            let answer = take_steps(system, request, state, out, &mut scratch);
            out.scratch = Some(scratch);
            answer
        }
        Sink::Differences(state, out) => {
            let mut scratch = out.scratch.take().unwrap_or_default();
            let answer = compare_copies(system, request, state, out, &mut scratch);
            out.scratch = Some(scratch);
            answer
        }
    }
}

fn take_steps<S: System + ?Sized>(
    system: &S,
    request: Request,
    state: &mut Vec<u8>,
    out: &mut Successors,
    scratch: &mut Scratch,
) -> Answer {
    scratch.enabled.clear();
    system.enabled(state, &mut scratch.enabled);
    let answer = select(system, request, state, &scratch.enabled, &mut scratch.steps);
    for &step in &scratch.steps {
        let next = &mut scratch.state;
        next.clear();
        next.extend_from_slice(state);
        let outcome = system.apply(next, step);
        // What a step that could not be completed leaves behind means nothing.
        let is_whole = !matches!(outcome, Outcome::Broken(_));
        out.push(step, outcome, is_whole && system.is_transient(next), next);
    }
    answer
}

/// Chooses the steps that are wanted.
fn select<S: System + ?Sized>(
    system: &S,
    request: Request,
    state: &[u8],
    enabled: &Enabled,
    steps: &mut Vec<Step>,
) -> Answer {
    steps.clear();
    match request {
        Request::All => steps.extend_from_slice(enabled.steps()),
        Request::Process(process) => steps.extend_from_slice(enabled.of(process)),
        Request::Selection(wanted) => {
            let mut everybody = wanted.is_open();
            for process in wanted.leading() {
                steps.extend_from_slice(enabled.of(process));
                everybody |= enabled.of(process).is_empty();
            }
            if everybody {
                let others = enabled.by_process().filter(|(one, _)| wanted.may_follow(*one));
                others.for_each(|(_, more)| steps.extend_from_slice(more));
            }
        }
        Request::Ample { behind, observed } => {
            let mut groups = enabled.by_process();
            if let Some(behind) = behind {
                groups.find(|(process, _)| *process == behind);
            }
            let found = groups.find(|(process, _)| system.is_ample(state, *process, observed));
            steps.extend_from_slice(found.map_or(&[], |(_, steps)| steps));
            return Answer::Ample(found.map(|(process, _)| process));
        }
        Request::Awake(_) => {
            steps.extend_from_slice(enabled.steps());
            return Answer::NobodySlept;
        }
    }
    Answer::AsRequested
}

fn compare_copies<S: System + ?Sized>(
    system: &S,
    request: Request,
    vector: &mut Vector,
    out: &mut SuccessorList<Difference>,
    scratch: &mut Scratch,
) -> Answer {
    let Scratch { state, copies, .. } = scratch;
    state.clear();
    state.extend_from_slice(vector.state());
    let answer = system.successors(request, Sink::Copies(state, copies));
    if state != vector.state() {
        vector.differences(state, &mut out.interruption);
        vector.change(&out.interruption);
    }
    for at in 0..copies.len() {
        let (step, outcome) = copies.step(at);
        let transient = copies.headers[at].is_transient();
        let before = out.data.len();
        vector.differences(copies.get(at), &mut out.data);
        out.push_last(step, outcome, transient, out.data.len() - before);
    }
    copies.clear();
    answer
}
