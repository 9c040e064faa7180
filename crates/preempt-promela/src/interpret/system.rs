//! The interpreter as a system that searches explore.

use super::apply::Witness;
use super::evaluate::View;
use super::process::Process;
use super::{Interpreter, channel};
use crate::ir::Pc;
use preempt_core::{
    Change, Describe, Enabled, Fault, Footprint, Independence, Label, Locality, ObjectSet, Outcome,
    ProcessId, Step, System, Unreached, Value,
};
use std::ops::Range;

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

    fn unmatched(&self) -> Range<usize> {
        match &self.program.embedded {
            Some(mirror) => mirror.unmatched.start as usize..mirror.unmatched.end as usize,
            None => 0..0,
        }
    }

    fn is_repeatable(&self) -> bool {
        self.program.embedded.is_none()
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
