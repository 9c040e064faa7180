//! The next-state interface between models and searches.

use crate::{
    Asleep, Difference, Enabled, Fault, Few, Footprint, Leads, Locality, ObjectSet, Outcome,
    ProcessId, Step, Unreached, Vector,
};

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

    /// Adds the successor of a state under one step.
    pub fn take<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        step: Step,
        scratch: &mut Vec<u8>,
    ) {
        scratch.clear();
        scratch.extend_from_slice(state);
        let outcome = system.apply(scratch, step);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(scratch);
        self.list.push((step, outcome, start..self.bytes.len()));
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
pub trait System: AsSystem + Sync {
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
            out.take(self, state, step, scratch);
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
            out.take(self, state, step, scratch);
        }
    }

    /// Adds the successors under all steps of the first process that [may be explored
    /// alone](System::is_ample) and has steps, and says which process it is; `None` if there is none.
    /// Processes are tried in the order of [`System::enabled`], those up to `behind` are passed over.
    /// Only for states outside of indivisible sequences.
    fn expand_ample(
        &self,
        state: &mut Vec<u8>,
        behind: Option<ProcessId>,
        observed: bool,
        enabled: &mut Enabled,
        scratch: &mut Vec<u8>,
        out: &mut Successors,
    ) -> Option<ProcessId> {
        enabled.clear();
        self.enabled(state, enabled);
        let mut groups = enabled.by_process();
        if let Some(behind) = behind {
            groups.find(|(process, _)| *process == behind);
        }
        let (process, steps) =
            groups.find(|(process, _)| self.is_ample(state, *process, observed))?;
        for &step in steps {
            out.take(self, state, step, scratch);
        }
        Some(process)
    }

    /// As [`System::expand_ample`], in brief; `None`, and nothing added, if the system cannot.
    fn expand_ample_briefly(
        &self,
        _state: &mut Vec<u8>,
        _behind: Option<ProcessId>,
        _observed: bool,
        _leads: &mut Leads,
        _bytes: &mut Vec<u8>,
    ) -> Option<Option<ProcessId>> {
        None
    }

    /// Whether the steps of `process`, if it has some, may be explored alone by Spin's rule: they are
    /// safe, and where something is `observed` they cannot be seen.
    fn is_ample(&self, state: &[u8], process: ProcessId, observed: bool) -> bool {
        self.locality(state, process) >= Locality::Safe
            && !(observed && self.is_visible(state, process))
    }

    /// As [`System::expand`], in brief: adds to `leads` and `bytes`, and says `true`. A system that
    /// cannot, for this state or at all, adds nothing and says `false`; only the end of an
    /// interrupted sequence may show already. `leads` must not be used with another system.
    fn expand_briefly(
        &self,
        _state: &mut Vec<u8>,
        _leads: &mut Leads,
        _bytes: &mut Vec<u8>,
    ) -> bool {
        false
    }

    /// As [`System::expand_briefly`], without the steps of processes that are asleep; also tells who
    /// sleeps in each successor. At first nobody does: only what was told for a state may be passed here.
    fn expand_awake(
        &self,
        state: &mut Vec<u8>,
        _asleep: Asleep,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> bool {
        self.expand_briefly(state, leads, bytes)
    }

    /// As [`System::expand_briefly`], but the steps of one process only, in a state outside of
    /// indivisible sequences and without moves of a property. Says whether there are any; `None`, and
    /// nothing added, if that is known only from the steps of all processes.
    fn expand_process_briefly(
        &self,
        _state: &mut Vec<u8>,
        _process: ProcessId,
        _leads: &mut Leads,
        _bytes: &mut Vec<u8>,
    ) -> Option<bool> {
        None
    }

    /// As [`System::expand_process_briefly`] for some processes. Steps that wait until nobody else can move
    /// are left out. `false`, and nothing added, if all steps must be looked at for that.
    fn expand_few_briefly(
        &self,
        _state: &mut Vec<u8>,
        _few: Few,
        _leads: &mut Leads,
        _bytes: &mut Vec<u8>,
    ) -> bool {
        false
    }

    /// Whether most states can be [expanded in place](System::expand_in_place).
    fn works_in_place(&self) -> bool {
        false
    }

    /// As [`System::expand_briefly`], on a state that stays where it is: tells of each successor in what
    /// it differs, and `start` and `length` of its lead say where among the `differences`. They mean
    /// nothing where a step could not be completed. Leaves the state as it was; where an interrupted
    /// sequence ends, the answer is `false`.
    fn expand_in_place(
        &self,
        _state: &mut Vector,
        _leads: &mut Leads,
        _differences: &mut Vec<Difference>,
    ) -> bool {
        false
    }

    /// As [`System::expand_ample_briefly`], on a state that stays where it is.
    fn expand_ample_in_place(
        &self,
        _state: &mut Vector,
        _behind: Option<ProcessId>,
        _observed: bool,
        _leads: &mut Leads,
        _differences: &mut Vec<Difference>,
    ) -> Option<Option<ProcessId>> {
        None
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

    /// The value of a proposition, if it has one.
    fn proposition_value(&self, state: &[u8], index: usize) -> Option<bool> {
        let value = self.proposition(state, index);
        (value || self.proposition_fault(state, index).is_none()).then_some(value)
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

    /// Whether an indivisible sequence that `process` begins at its present control state may never end.
    /// `true` is always a right answer.
    fn may_stay_inside(&self, _state: &[u8], _process: ProcessId) -> bool {
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

    /// The objects that the present steps of `process` may change and whose change may enable somebody
    /// else, with the whole of an indivisible sequence that they may begin. Within a bound on
    /// preemptions these steps may be taken ahead of their time, if whoever
    /// [waits for](System::waits_for) one of these objects may then be left for free. `None` when
    /// unknown, and where they change what must not change ahead of its time.
    fn signals(&self, state: &[u8], process: ProcessId) -> Option<&ObjectSet> {
        self.present(state, process).map(|present| &present.writes)
    }

    /// Whether an enabled step may owe it to others that it is enabled, if others changed `signalled`,
    /// objects as [`System::signals`] numbers them; `None` means any of them. A rendezvous is
    /// judged by its two halves; whether the partner stands where it can answer is another question.
    fn waits_for(&self, state: &[u8], step: Step, signalled: Option<&ObjectSet>) -> bool {
        self.footprint(state, step).is_none_or(|touched| match signalled {
            Some(objects) => {
                touched.reads.intersects(objects) || touched.writes.intersects(objects)
            }
            None => !touched.is_local(),
        })
    }

    /// Whether `process` stands where it may answer a rendezvous. `true` is always a right answer.
    fn may_answer(&self, _state: &[u8], _process: ProcessId) -> bool {
        true
    }

    /// Adds a number per process, such that [`System::present`], [`System::future`] and
    /// [`System::is_visible`] answer alike for equal numbers. Numbers are small: searches keep tables
    /// by them. Adds nothing if the system has no such numbers.
    fn control_points(&self, _state: &[u8], _points: &mut Vec<u32>) {}

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

    /// The variables whose values differ between two states, in the order of [`System::variables`].
    /// `None` if the variables are not the same ones, or if comparing all of them is the only way.
    fn changed_variables(&self, _before: &[u8], _after: &[u8]) -> Option<Vec<crate::Change>> {
        None
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
