//! The next-state interface between models and searches.

use crate::{Enabled, Fault, Footprint, Locality, ObjectSet, Outcome, ProcessId, Step, Unreached};

/// What a state or step is marked with by the model's author.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Label {
    /// Some process is at an `accept` label.
    Accept,
    /// Some process is at a `progress` label.
    Progress,
}

/// The successors of one state, side by side in one buffer that is reused.
#[derive(Default, Debug)]
pub struct Successors {
    /// Each successor: the step to it, how the step went, where its bytes are.
    pub list: Vec<(Step, Outcome, std::ops::Range<usize>)>,
    /// The bytes of all successors.
    pub bytes: Vec<u8>,
}

impl Successors {
    /// Forgets all successors, keeps the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.bytes.clear();
    }
}

/// Anything that can be explored: a Promela model, a Boolean program, a model written in Rust.
///
/// A state is a plain vector of bytes that describes itself: equal bytes are equal states, the
/// length may differ from state to state. **Transient states** lie inside an indivisible sequence:
/// a search passes through them, but neither stores them nor lets another process move.
///
/// ```
/// use preempt_core::{Enabled, Fault, Outcome, ProcessId, Step, System};
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
/// let (mut state, mut enabled) = (Vec::new(), Enabled::new());
/// LostUpdate.initial(&mut state);
/// LostUpdate.enabled(&mut state, &mut enabled);
/// assert_eq!(enabled.steps().len(), 2);
/// ```
pub trait System: Sync {
    /// Writes the initial state into the empty `state`.
    fn initial(&self, state: &mut Vec<u8>) -> Outcome;

    /// How many processes are alive; their ids are `0..count`.
    fn process_count(&self, state: &[u8]) -> usize;

    /// Adds the enabled steps, process by process in the order of exploration. Inside an
    /// indivisible sequence only the steps of its process; where that process is blocked the
    /// sequence is interrupted: the state stops being transient (hence `&mut`) and everybody's
    /// steps are added.
    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled);

    /// Replaces the state by its successor under an enabled step.
    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome;

    /// Whether the state lies inside an indivisible sequence. Only certain after [`System::enabled`]
    /// has been asked, which ends interrupted sequences.
    fn is_transient(&self, _state: &[u8]) -> bool {
        false
    }

    /// Whether [`System::enabled`] would leave the state as it is, so that a search may compare the
    /// state before it asks.
    fn is_settled(&self, state: &[u8]) -> bool {
        !self.is_transient(state)
    }

    /// All successors at once, in the order of [`System::enabled`], added to what `out` holds
    /// already. Ends interrupted sequences as `enabled` does. Systems that can do better than one by
    /// one override this; they may leave `enabled` and `scratch` alone.
    fn expand(
        &self,
        state: &mut Vec<u8>,
        enabled: &mut Enabled,
        scratch: &mut Vec<u8>,
        out: &mut Successors,
    ) {
        enabled.clear();
        self.enabled(state, enabled);
        for &step in enabled.steps() {
            scratch.clear();
            scratch.extend_from_slice(state);
            let outcome = self.apply(scratch, step);
            let start = out.bytes.len();
            out.bytes.extend_from_slice(scratch);
            out.list.push((step, outcome, start..out.bytes.len()));
        }
    }

    /// The successors of one process in a state that is not transient, added to what `out` holds
    /// already. Steps that are enabled only because nobody else can move may be left out.
    fn expand_of(
        &self,
        state: &mut Vec<u8>,
        process: ProcessId,
        enabled: &mut Enabled,
        scratch: &mut Vec<u8>,
        out: &mut Successors,
    ) {
        enabled.clear();
        self.enabled(state, enabled);
        for &step in enabled.of(process) {
            scratch.clear();
            scratch.extend_from_slice(state);
            let outcome = self.apply(scratch, step);
            let start = out.bytes.len();
            out.bytes.extend_from_slice(scratch);
            out.list.push((step, outcome, start..out.bytes.len()));
        }
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

    /// The number of the step's transition, below [`System::transition_count`].
    fn transition_key(&self, step: Step) -> usize {
        step.transition as usize
    }

    /// The number of the transition that the partner of a rendezvous takes.
    fn partner_key(&self, step: Step) -> Option<usize> {
        step.partner.map(|_| step.partner_transition as usize)
    }

    /// The code that was not reached, given for each transition whether it was taken.
    fn unreached(&self, _taken: &[bool]) -> Vec<Unreached> {
        Vec::new()
    }

    /// In a state without enabled steps: whether every process may rest where it is.
    fn is_valid_end(&self, _state: &[u8]) -> bool {
        true
    }

    /// Whether some process of the state is at a label of this kind.
    fn has_label(&self, _state: &[u8], _label: Label) -> bool {
        false
    }

    /// How many propositions the properties of this system speak of.
    fn proposition_count(&self) -> usize {
        0
    }

    /// The value of one proposition; false where it has none.
    fn proposition(&self, _state: &[u8], _index: usize) -> bool {
        false
    }

    /// The fault that leaves a proposition without a value, see [`System::fault`].
    fn proposition_fault(&self, _state: &[u8], _index: usize) -> Option<u32> {
        None
    }

    /// How far the present steps of `process` stay out of the others' way. [`Locality::Shared`] is
    /// always a right answer.
    fn locality(&self, _state: &[u8], _process: ProcessId) -> Locality {
        Locality::Shared
    }

    /// Whether a present step of `process` may change a proposition, or enters or leaves a label
    /// that a liveness property looks at. `true` is always a right answer.
    fn is_visible(&self, _state: &[u8], _process: ProcessId) -> bool {
        true
    }

    /// What the steps of `process` at its present control state touch, whether they are enabled or
    /// not, with the whole of an indivisible sequence that they may begin; `None` when unknown.
    fn present(&self, _state: &[u8], _process: ProcessId) -> Option<&Footprint> {
        None
    }

    /// What one enabled step touches; `None` when unknown (then it may touch anything).
    fn footprint(&self, _state: &[u8], _step: Step) -> Option<&Footprint> {
        None
    }

    /// What `process`, and the processes that it may create, may touch from its present control
    /// state on; `None` when unknown. Creating or removing a process touches objects too, if
    /// anybody can tell the order.
    fn future(&self, _state: &[u8], _process: ProcessId) -> Option<&Footprint> {
        None
    }

    /// The objects that propositions read.
    fn observed(&self) -> Option<&ObjectSet> {
        None
    }

    /// The fault behind an [`Outcome`]'s number.
    fn fault(&self, number: u32) -> Fault {
        Fault {
            kind: crate::FaultKind::Assertion,
            message: format!("assertion {number} violated"),
            file: String::new(),
            line: 0,
        }
    }

    /// The name of a process.
    fn process_name(&self, _state: &[u8], process: ProcessId) -> String {
        format!("process {process}")
    }

    /// Where a step stands in the source, and its text.
    fn describe(&self, _state: &[u8], step: Step) -> (String, u32, String) {
        (String::new(), 0, format!("transition {}", step.transition))
    }

    /// What a step prints when it is taken in a state.
    fn output(&self, _state: &[u8], _step: Step) -> String {
        String::new()
    }

    /// Where a process stands: source file, line, and the statement it would take next; `None` when
    /// unknown.
    fn position(&self, _state: &[u8], _process: ProcessId) -> Option<(String, u32, String)> {
        None
    }

    /// The variables of a state, by name, in a fixed order.
    fn variables(&self, _state: &[u8]) -> Vec<(String, crate::Value)> {
        Vec::new()
    }
}
