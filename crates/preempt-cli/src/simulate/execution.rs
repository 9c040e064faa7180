//! An execution in the making: steps forward, steps back, and each step as text.
//!
//! Every state on the way is kept, so that going back and long runs cost nothing extra.

use crate::terminal;
use preempt_core::{
    Describe, Enabled, Outcome, Step, System, TraceStep, changes_between, classify, describe_step,
};
use preempt_promela::interpret::Interpreter;
use preempt_report::Cast;
use preempt_report::lanes::Lanes;
use preempt_verify::promela::Truncations;

/// See the module's text.
pub(super) struct Execution<'a> {
    system: &'a Interpreter,
    /// The states in front of each step.
    before: Vec<Vec<u8>>,
    steps: Vec<Step>,
    state: Vec<u8>,
    enabled: Enabled,
    /// The steps in words.
    described: Vec<TraceStep>,
    lanes: Lanes,
    truncations: Truncations,
}

/// What a step did.
pub(super) struct Taken {
    /// Its line in the lanes.
    pub(super) text: String,
    /// Warnings about values that were cut, each place once.
    pub(super) truncations: Vec<String>,
    /// What it violated.
    pub(super) fault: Option<u32>,
}

impl<'a> Execution<'a> {
    /// Starts; the second value is what is wrong with the start.
    pub(super) fn new(system: &'a Interpreter) -> (Self, Option<u32>) {
        let mut state = Vec::new();
        let fault = match system.initial(&mut state) {
            Outcome::Broken(fault) | Outcome::Violated(fault) => Some(fault),
            Outcome::Done => None,
        };
        let mut execution = Execution {
            system,
            before: Vec::new(),
            steps: Vec::new(),
            state,
            enabled: Enabled::new(),
            described: Vec::new(),
            lanes: Lanes::new(Cast::default(), &terminal::look()),
            truncations: Truncations::default(),
        };
        if fault.is_none() {
            execution.look();
        }
        (execution, fault)
    }

    fn look(&mut self) {
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
    }

    pub(super) fn state(&self) -> &[u8] {
        &self.state
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The steps taken, in words.
    #[cfg(feature = "screen")]
    pub(super) fn described(&self) -> &[TraceStep] {
        &self.described
    }

    /// The steps that are possible now.
    pub(super) fn enabled(&self) -> &[Step] {
        self.enabled.steps()
    }

    /// Takes one of the steps that are possible.
    pub(super) fn take(&mut self, step: Step) -> Taken {
        let switch = classify(self.steps.last().map(Step::mover), &self.enabled, &step);
        let truncations = self.truncations.note(self.system, &self.state, step);
        let before = self.state.clone();
        let outcome = self.system.apply(&mut self.state, step);
        let mut described = describe_step(self.system, &before, step, switch);
        described.changes =
            changes_between(&self.system.variables(&before), &self.system.variables(&self.state));
        self.before.push(before);
        self.steps.push(step);
        self.look();
        let fault = match outcome {
            Outcome::Broken(fault) | Outcome::Violated(fault) => Some(fault),
            Outcome::Done => None,
        };
        let text = self.lanes.step(&described);
        self.described.push(described);
        Taken { text, truncations, fault }
    }

    /// Takes up to that many steps back; false if there were fewer.
    pub(super) fn back(&mut self, count: usize) -> bool {
        let left = self.steps.len().saturating_sub(count);
        let complete = count <= self.steps.len();
        if left < self.steps.len() {
            self.state = self.before.swap_remove(left);
            self.before.truncate(left);
            self.steps.truncate(left);
            self.described.truncate(left);
            self.look();
        }
        // The lanes count steps: they are drawn again, and thrown away.
        self.lanes = Lanes::new(Cast::default(), &terminal::look());
        for described in &self.described {
            self.lanes.step(described);
        }
        complete
    }
}
