//! A system with a small memory of the execution at the end of its state.
//!
//! The memory is a function of the path, so equal bytes mean equal futures *and* equal memory.
//! **Invariant:** the memory is brought into normal form by [`System::enabled`], which a search asks before it
//! stores a state.

use super::around::leave_to_system;
use preempt_core::{
    Describe, Enabled, Fault, Footprint, Independence, Label, Locality, ObjectSet, Outcome,
    ProcessId, Step, System, Unreached, Value,
};

/// What is remembered of an execution, in a fixed number of bytes.
pub trait Watch: Sync {
    /// How many bytes.
    const WIDTH: usize;

    /// Called when all enabled steps of a state are known, outside indivisible sequences: brings
    /// the memory into its normal form, and may forbid steps.
    fn normalize(&self, processes: usize, enabled: &mut Enabled, memory: &mut [u8]);

    /// Called before a step is taken from a state that is accepting or not.
    fn advance(&self, processes: usize, accepting: bool, step: Step, memory: &mut [u8]);

    /// Whether steps that touch nothing shared and that no property observes are none of its business.
    fn passes_over_local(&self) -> bool {
        false
    }

    /// Whether a state counts as accepting, given that it does without this memory.
    fn accepts(&self, accepting: bool, memory: &[u8]) -> bool;
}

/// A system, watched.
pub struct Watched<'a, S: System + ?Sized, W: Watch> {
    system: &'a S,
    watch: W,
}

impl<'a, S: System + ?Sized, W: Watch> Watched<'a, S, W> {
    /// Starts watching; the memory is all zeros at first.
    pub fn new(system: &'a S, watch: W) -> Self {
        Watched { system, watch }
    }

    fn inner<'v>(&self, state: &'v [u8]) -> &'v [u8] {
        &state[..state.len() - W::WIDTH]
    }

    fn detach(&self, state: &mut Vec<u8>, memory: &mut [u8]) {
        let at = state.len() - W::WIDTH;
        memory.copy_from_slice(&state[at..]);
        state.truncate(at);
    }
}

/// Large enough for every watch.
const WIDEST: usize = 8;

impl<S: System + ?Sized, W: Watch> System for Watched<'_, S, W> {
    leave_to_system! {
        fn process_count(state) -> usize;
        fn is_transient(state) -> bool;
        fn is_valid_end(state) -> bool;
        fn depth_of(step: Step) -> u32;
        fn transition_count() -> usize;
        fn transitions_of(step: Step) -> (usize, Option<usize>);
        fn proposition_count() -> usize;
        fn proposition(state, index: usize) -> Result<bool, u32>;
    }

    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        let outcome = self.system.initial(state);
        state.resize(state.len() + W::WIDTH, 0);
        outcome
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let mut memory = [0; WIDEST];
        let memory = &mut memory[..W::WIDTH];
        self.detach(state, memory);
        self.system.enabled(state, enabled);
        if !self.system.is_transient(state) {
            self.watch.normalize(self.system.process_count(state), enabled, memory);
        }
        state.extend_from_slice(memory);
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let mut memory = [0; WIDEST];
        let memory = &mut memory[..W::WIDTH];
        self.detach(state, memory);
        // Searches look at no state inside an indivisible sequence, so none may be accepting for the watch.
        let is_stored = !self.system.is_transient(state);
        let accepting = is_stored && self.system.has_label(state, Label::Accept);
        let passes = self.watch.passes_over_local()
            && is_stored
            && step.process != ProcessId::PROPERTY
            && self.system.locality(state, step.process) == Locality::Local
            && !self.system.is_visible(state, step.process);
        if !passes {
            self.watch.advance(self.system.process_count(state), accepting, step, memory);
        }
        let outcome = self.system.apply(state, step);
        state.extend_from_slice(memory);
        outcome
    }

    fn is_normalized(&self, _state: &[u8]) -> bool {
        false
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        let (inner, memory) = state.split_at(state.len() - W::WIDTH);
        let labelled = self.system.has_label(inner, label);
        match label {
            Label::Accept => self.watch.accepts(labelled, memory),
            Label::Progress => labelled,
        }
    }
}

impl<S: System + ?Sized, W: Watch> Independence for Watched<'_, S, W> {
    leave_to_system! {
        fn locality(state, process: ProcessId) -> Locality;
        fn is_visible(state, process: ProcessId) -> bool;
        fn footprint(state, step: Step) -> Option<&Footprint>;
        fn future(state, process: ProcessId) -> Option<&Footprint>;
        fn observed() -> Option<&ObjectSet>;
    }
}

impl<S: System + ?Sized, W: Watch> Describe for Watched<'_, S, W> {
    leave_to_system! {
        fn unreached(taken: &[bool]) -> Vec<Unreached>;
        fn fault(number: u32) -> Fault;
        fn process_name(state, process: ProcessId) -> String;
        fn describe(state, step: Step) -> (String, u32, String);
        fn output(state, step: Step) -> String;
        fn position(state, process: ProcessId) -> Option<(String, u32, String)>;
        fn variables(state) -> Vec<(String, Value)>;
    }
}
