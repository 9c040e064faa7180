//! A system with a small memory of the execution at the end of its state.
//!
//! The memory is a function of the path, so equal bytes mean equal futures *and* equal memory.
//! **Invariant:** the memory is brought into normal form by [`System::enabled`], which a search asks before it
//! stores a state.

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
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        let outcome = self.system.initial(state);
        state.resize(state.len() + W::WIDTH, 0);
        outcome
    }

    fn process_count(&self, state: &[u8]) -> usize {
        self.system.process_count(self.inner(state))
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

    fn is_transient(&self, state: &[u8]) -> bool {
        self.system.is_transient(self.inner(state))
    }

    fn is_normalized(&self, _state: &[u8]) -> bool {
        false
    }

    fn depth_of(&self, step: Step) -> u32 {
        self.system.depth_of(step)
    }

    fn transition_count(&self) -> usize {
        self.system.transition_count()
    }

    fn transitions_of(&self, step: Step) -> (usize, Option<usize>) {
        self.system.transitions_of(step)
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.system.is_valid_end(self.inner(state))
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        let (inner, memory) = state.split_at(state.len() - W::WIDTH);
        let labelled = self.system.has_label(inner, label);
        match label {
            Label::Accept => self.watch.accepts(labelled, memory),
            Label::Progress => labelled,
        }
    }

    fn proposition_count(&self) -> usize {
        self.system.proposition_count()
    }

    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        self.system.proposition(self.inner(state), index)
    }
}

impl<S: System + ?Sized, W: Watch> Independence for Watched<'_, S, W> {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        self.system.locality(self.inner(state), process)
    }

    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        self.system.is_visible(self.inner(state), process)
    }

    fn footprint(&self, state: &[u8], step: Step) -> Option<&Footprint> {
        self.system.footprint(self.inner(state), step)
    }

    fn future(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        self.system.future(self.inner(state), process)
    }

    fn observed(&self) -> Option<&ObjectSet> {
        self.system.observed()
    }
}

impl<S: System + ?Sized, W: Watch> Describe for Watched<'_, S, W> {
    fn unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        self.system.unreached(taken)
    }

    fn fault(&self, number: u32) -> Fault {
        self.system.fault(number)
    }

    fn process_name(&self, state: &[u8], process: ProcessId) -> String {
        self.system.process_name(self.inner(state), process)
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        self.system.describe(self.inner(state), step)
    }

    fn output(&self, state: &[u8], step: Step) -> String {
        self.system.output(self.inner(state), step)
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        self.system.position(self.inner(state), process)
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        self.system.variables(self.inner(state))
    }
}
