//! The reference interpreter: executes the intermediate form step by step.
//!
//! Small and obvious rather than fast: it is what simulation and the replay of counterexamples
//! run on, and what every other way of executing a model is compared with.

mod apply;
mod channel;
mod claim;
mod compound;
mod enabled;
mod enabling;
mod evaluate;
mod footprint;
mod objects;
mod process;
mod show;
mod sight;
mod sights;
mod system;
mod touch;
pub mod trail;
mod usage;
mod waiting;

use crate::ir::{ControlState, EndlessSequences, FaultId, MoveId, Pc, Proctype, Program};
pub use apply::Truncation;
pub use claim::ClaimEffect;
use evaluate::View;
use footprint::Footprints;
use preempt_core::{Cancellation, Footprint, ObjectSet, ProcessId};
use process::Process;
pub use sights::Sights;
use std::sync::Arc;
pub use touch::{Ends, Touched, Touches, touches};
pub use usage::{Found, Usage};

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

    /// What the moves at a control state touch, see [`Independence::present`](preempt_core::Independence::present).
    pub fn present_at(&self, proctype: usize, pc: Pc) -> Option<&Footprint> {
        self.footprints.present(proctype, pc.0)
    }

    /// What a process may touch from a control state on, see [`Independence::future`](preempt_core::Independence::future).
    pub fn future_at(&self, proctype: usize, pc: Pc) -> Option<&Footprint> {
        self.footprints.future(proctype, pc.0)
    }

    /// What the moves at a control state signal, see [`Independence::signals`](preempt_core::Independence::signals).
    pub fn signals_at(&self, proctype: usize, pc: Pc) -> Option<&ObjectSet> {
        self.footprints.enabling.signals(proctype, pc.0)
    }

    /// Whether a rendezvous may be answered at a control state, see [`Independence::may_answer`](preempt_core::Independence::may_answer).
    pub fn may_answer_at(&self, proctype: usize, pc: Pc) -> bool {
        self.footprints.enabling.may_answer(proctype, pc.0)
    }

    /// Whether a move at a control state may be seen by a property, see [`Independence::is_visible`](preempt_core::Independence::is_visible).
    #[inline]
    pub fn is_visible_at(&self, proctype: usize, pc: Pc) -> bool {
        self.footprints.is_visible(proctype, pc.0)
    }

    /// Where indivisible sequences may begin that never end.
    pub fn endless_sequences(&self) -> &EndlessSequences {
        &self.endless
    }

    /// Whether the `trace` automaton may rest where it is. Once all processes are gone it may rest anywhere,
    /// as in Spin.
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
