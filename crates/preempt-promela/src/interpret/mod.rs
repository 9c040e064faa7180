//! The reference interpreter: executes the intermediate form step by step.
//!
//! Small and obvious rather than fast: it is what simulation and the replay of counterexamples
//! run on, and what every other way of executing a model is compared with.

mod apply;
mod channel;
mod compound;
mod enabled;
mod enabling;
mod evaluate;
mod footprint;
mod show;
mod touch;
pub mod trail;

use crate::ir::{
    ControlState, EndlessSequences, FaultId, MoveId, Pc, Proctype, Program, ValueKind,
};
pub use apply::Truncation;
use apply::Witness;
use evaluate::{Process, View};
use footprint::Footprints;
use preempt_core::{
    Cancellation, Change, Describe, Enabled, Fault, Footprint, Independence, Label, Locality,
    ObjectSet, Outcome, ProcessId, Step, System, Unreached, Value,
};
use std::sync::Arc;
pub use touch::{Ends, Found, Touched, Touches, Usage, touches};

/// A model that can be explored.
pub struct Interpreter {
    program: Program,
    footprints: Footprints,
    endless: EndlessSequences,
    checks_promises: bool,
    empties_channels: bool,
    cancellation: Arc<Cancellation>,
}

impl Interpreter {
    /// Prepares a program for execution.
    pub fn new(program: Program) -> Self {
        let footprints = Footprints::of(&program);
        let endless = EndlessSequences::of(&program);
        Interpreter {
            program,
            footprints,
            endless,
            checks_promises: false,
            empties_channels: false,
            cancellation: Arc::default(),
        }
    }

    /// Whether a send or receive that breaks another process's `xr` or `xs` is a violation. Needed
    /// when a reduction relies on them; off at first, as in a search without reduction.
    pub fn check_promises(mut self, on: bool) -> Self {
        self.checks_promises = on;
        self
    }

    /// Whether broken promises are violations, and there are promises to break.
    pub fn checks_promises(&self) -> bool {
        self.checks_promises && self.program.proctypes.iter().any(|p| !p.promises.is_empty())
    }

    /// Whether an end is valid only if no message is left in any channel.
    pub fn end_with_empty_channels(mut self, on: bool) -> Self {
        self.empties_channels = on;
        self
    }

    /// Whether messages left behind make an end invalid.
    pub fn empties_channels(&self) -> bool {
        self.empties_channels
    }

    /// A `d_step` that is still running when this is requested is given up.
    pub fn cancel_by(mut self, cancellation: Arc<Cancellation>) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// What a running `d_step` looks at now and then.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// The fault of a step that was given up, behind those of the program.
    fn given_up(&self) -> FaultId {
        FaultId(self.program.faults.len() as u32 + 1)
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What an expression of the program is worth in a state, outside of any process; `None` if it
    /// cannot be evaluated.
    pub fn evaluate(&self, state: &[u8], expr: crate::ir::ExprId) -> Option<i32> {
        View::outside(&self.program, state).value(expr).ok()
    }

    /// The process type and control state of a live process.
    pub fn control_state(&self, state: &[u8], process: ProcessId) -> Option<(&Proctype, Pc)> {
        let process = Process::find(&self.program, state, process.index())?;
        Some((&self.program.proctypes[process.proctype], Pc(process.pc)))
    }

    /// What the moves at a control state touch, see [`System::present`].
    pub fn present_at(&self, proctype: usize, pc: Pc) -> Option<&Footprint> {
        self.footprints.present(proctype, pc.0)
    }

    /// What a process may touch from a control state on, see [`System::future`].
    pub fn future_at(&self, proctype: usize, pc: Pc) -> Option<&Footprint> {
        self.footprints.future(proctype, pc.0)
    }

    /// What the moves at a control state signal, see [`System::signals`].
    pub fn signals_at(&self, proctype: usize, pc: Pc) -> Option<&ObjectSet> {
        self.footprints.enabling.signals(proctype, pc.0)
    }

    /// Whether a rendezvous may be answered at a control state, see [`System::may_answer`].
    pub fn may_answer_at(&self, proctype: usize, pc: Pc) -> bool {
        self.footprints.enabling.may_answer(proctype, pc.0)
    }

    /// Whether a move at a control state may be seen by a property, see [`System::is_visible`].
    #[inline]
    pub fn is_visible_at(&self, proctype: usize, pc: Pc) -> bool {
        self.footprints.is_visible(proctype, pc.0)
    }

    /// Where indivisible sequences may begin that never end.
    pub fn endless_sequences(&self) -> &EndlessSequences {
        &self.endless
    }

    /// Whether the `trace` automaton may rest where it is. Nobody asks once all processes are gone, as
    /// in Spin.
    pub fn may_trace_end(&self, state: &[u8]) -> bool {
        match (&self.program.trace, self.program.layout.trace_offset) {
            (Some(trace), Some(at)) if state[1] > 0 => {
                trace.states[usize::from(state[at as usize])].is_end
            }
            _ => true,
        }
    }

    fn state_of(&self, state: &[u8], process: usize) -> Option<&ControlState> {
        let process = Process::find(&self.program, state, process)?;
        self.program.proctypes[process.proctype].states.get(usize::from(process.pc))
    }

    fn move_of(&self, transition: u32) -> Option<&crate::ir::Move> {
        self.program.moves.get(MoveId(transition).0 as usize)
    }
}

impl System for Interpreter {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.write_initial(state)
    }

    fn process_count(&self, state: &[u8]) -> usize {
        usize::from(state[1])
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        self.list_enabled(state, enabled);
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        self.take(state, step, &mut Witness::default())
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        state[0] != 0
    }

    fn transition_count(&self) -> usize {
        self.program.moves.len()
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        (0..self.process_count(state))
            .all(|p| self.state_of(state, p).is_some_and(|control| control.is_end))
            && !(self.empties_channels && channel::any_message(&self.program, state))
            && self.may_trace_end(state)
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        (0..self.process_count(state)).any(|p| {
            self.state_of(state, p).is_some_and(|control| match label {
                Label::Accept => control.is_accept,
                Label::Progress => control.is_progress,
            })
        })
    }

    fn proposition_count(&self) -> usize {
        self.program.propositions.len()
    }

    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        let Some(&expr) = self.program.propositions.get(index) else { return Ok(false) };
        let value = View::outside(&self.program, state).value(expr);
        value.map(|value| value != 0).map_err(|fault| fault.0)
    }
}

impl Independence for Interpreter {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        self.judge_locality(state, process.index())
    }

    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        match Process::find(&self.program, state, process.index()) {
            Some(process) => self.footprints.is_visible(process.proctype, process.pc),
            None => true,
        }
    }

    fn may_stay_inside(&self, state: &[u8], process: ProcessId) -> bool {
        Process::find(&self.program, state, process.index())
            .is_some_and(|found| self.endless.may_begin(found.proctype, Pc(found.pc)))
    }

    fn present(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let process = Process::find(&self.program, state, process.index())?;
        self.footprints.present(process.proctype, process.pc)
    }

    fn footprint(&self, _state: &[u8], step: Step) -> Option<&Footprint> {
        self.footprints.step(step)
    }

    fn future(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let process = Process::find(&self.program, state, process.index())?;
        self.footprints.future(process.proctype, process.pc)
    }

    fn signals(&self, state: &[u8], process: ProcessId) -> Option<&ObjectSet> {
        let process = Process::find(&self.program, state, process.index())?;
        self.footprints.enabling.signals(process.proctype, process.pc)
    }

    fn waits_for(&self, _state: &[u8], step: Step, signalled: Option<&ObjectSet>) -> bool {
        self.footprints.enabling.waits_for(step, signalled)
    }

    fn may_answer(&self, state: &[u8], process: ProcessId) -> bool {
        Process::find(&self.program, state, process.index())
            .is_none_or(|process| self.footprints.enabling.may_answer(process.proctype, process.pc))
    }

    fn observed(&self) -> Option<&ObjectSet> {
        self.footprints.observed()
    }
}

impl Describe for Interpreter {
    fn unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        self.list_unreached(taken)
    }

    fn fault(&self, number: u32) -> Fault {
        self.describe_fault(number)
    }

    fn process_name(&self, state: &[u8], process: ProcessId) -> String {
        match self.control_state(state, process) {
            Some((proctype, _)) => format!("{}({})", proctype.name, process),
            None => format!("process {process}"),
        }
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        self.describe_step(state, step)
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        self.position_of(state, process.index())
    }

    fn output(&self, state: &[u8], step: Step) -> String {
        self.printed(state, step)
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        self.list_variables(state)
    }

    fn changed_variables(&self, before: &[u8], after: &[u8]) -> Option<Vec<Change>> {
        self.list_changes(before, after)
    }
}

/// Reads a control state of the given width.
fn read_pc(state: &[u8], at: usize, width: u32) -> u16 {
    let kind = ValueKind::Unsigned(if width == 2 { 16 } else { 8 });
    kind.load(state, at) as u16
}

/// Writes a control state.
fn write_pc(state: &mut [u8], at: usize, width: u32, pc: u16) {
    let kind = ValueKind::Unsigned(if width == 2 { 16 } else { 8 });
    kind.store(state, at, i32::from(pc));
}
