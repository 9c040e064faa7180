//! A model that can do nothing but what a saved trace says.
//!
//! Checking it with the property of the trace says whether the trace still violates it: a replay needs
//! no judge of its own. A state is the model's with the number of the next step behind it.
//!
//! Where the trace ends although the model could go on, the execution is cut off rather than ended:
//! every further step leads into an indivisible sequence that goes nowhere, which no property counts
//! as an end, nor as an infinite execution.

use preempt_core::{
    Change, Describe, Enabled, Fault, Independence, Label, Outcome, ProcessId, Step, System,
    Unreached, Value,
};
use preempt_promela::interpret::Interpreter;

/// See the module's text.
pub(crate) struct Along<'a> {
    model: &'a Interpreter,
    steps: &'a [Step],
    /// Where the execution goes on behind its last step.
    cycle_start: Option<usize>,
}

/// Bytes behind the model's state.
const WIDTH: usize = 4;
/// The number of the next step where there is none any more.
const CUT_OFF: u32 = u32::MAX;

impl<'a> Along<'a> {
    pub(crate) fn new(
        model: &'a Interpreter,
        steps: &'a [Step],
        cycle_start: Option<usize>,
    ) -> Self {
        Along { model, steps, cycle_start }
    }

    fn split(state: &[u8]) -> (&[u8], u32) {
        let (model, next) = state.split_at(state.len() - WIDTH);
        (model, u32::from_le_bytes(next.try_into().unwrap_or_default()))
    }

    fn model(state: &[u8]) -> &[u8] {
        Self::split(state).0
    }

    /// Calls `work` with the model's own state in place.
    fn inside<R>(state: &mut Vec<u8>, work: impl FnOnce(&mut Vec<u8>, u32) -> (R, u32)) -> R {
        let next = Self::split(state).1;
        state.truncate(state.len() - WIDTH);
        let (result, next) = work(state, next);
        state.extend(next.to_le_bytes());
        result
    }

    /// The number of the step behind this one.
    fn behind(&self, at: u32) -> u32 {
        let next = at as usize + 1;
        let next = if next == self.steps.len() { self.cycle_start.unwrap_or(next) } else { next };
        u32::try_from(next).unwrap_or(CUT_OFF)
    }
}

impl System for Along<'_> {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        let outcome = self.model.initial(state);
        state.extend(0_u32.to_le_bytes());
        outcome
    }

    fn process_count(&self, state: &[u8]) -> usize {
        self.model.process_count(Self::model(state))
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        Self::inside(state, |state, next| {
            if next == CUT_OFF {
                return ((), next);
            }
            let mut possible = Enabled::new();
            self.model.enabled(state, &mut possible);
            match self.steps.get(next as usize) {
                Some(step) if possible.steps().contains(step) => enabled.push(*step),
                _ => possible.steps().iter().for_each(|step| enabled.push(*step)),
            }
            ((), next)
        });
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        Self::inside(state, |state, next| {
            if self.steps.get(next as usize) != Some(&step) {
                return (Outcome::Done, CUT_OFF);
            }
            (self.model.apply(state, step), self.behind(next))
        })
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        let (model, next) = Self::split(state);
        next == CUT_OFF || self.model.is_transient(model)
    }

    fn is_normalized(&self, state: &[u8]) -> bool {
        self.model.is_normalized(Self::model(state))
    }

    fn depth_of(&self, step: Step) -> u32 {
        self.model.depth_of(step)
    }

    fn transition_count(&self) -> usize {
        self.model.transition_count()
    }

    fn transitions_of(&self, step: Step) -> (usize, Option<usize>) {
        self.model.transitions_of(step)
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.model.is_valid_end(Self::model(state))
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        self.model.has_label(Self::model(state), label)
    }

    fn proposition_count(&self) -> usize {
        self.model.proposition_count()
    }

    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        self.model.proposition(Self::model(state), index)
    }
}

impl Independence for Along<'_> {}

impl Describe for Along<'_> {
    /// One execution does not reach everything.
    fn unreached(&self, _taken: &[bool]) -> Vec<Unreached> {
        Vec::new()
    }

    fn fault(&self, number: u32) -> Fault {
        self.model.fault(number)
    }

    fn process_name(&self, state: &[u8], process: ProcessId) -> String {
        self.model.process_name(Self::model(state), process)
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        self.model.describe(Self::model(state), step)
    }

    fn output(&self, state: &[u8], step: Step) -> String {
        self.model.output(Self::model(state), step)
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        self.model.position(Self::model(state), process)
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        self.model.variables(Self::model(state))
    }

    fn changed_variables(&self, before: &[u8], after: &[u8]) -> Option<Vec<Change>> {
        self.model.changed_variables(Self::model(before), Self::model(after))
    }
}
