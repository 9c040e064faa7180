//! Machine code as a [`System`]: which code answers which request.

use super::Native;
use super::selected_processes::One;
use crate::generate::compiled::NO_VALUE;
use preempt_core::engine::{
    Answer, Difference, Request, Sink, SuccessorList, Successors, Vector, by_steps,
};
use preempt_core::{
    Change, Describe, Enabled, Fault, Footprint, Independence, Label, Locality, ObjectSet, Outcome,
    ProcessId, Step, System, Unreached, Value,
};
use std::ops::Range;

impl Native<'_> {
    /// Answers a request by whole successors.
    #[inline(always)]
    fn copies(&self, request: Request, state: &mut Vec<u8>, out: &mut Successors) -> Answer {
        match request {
            Request::All => {
                if !self.expand_all(state, out) {
                    self.expand_mixed(state, None, out);
                }
                Answer::AsRequested
            }
            Request::Process(process) => match self.expand_one(state, process, out) {
                One::Steps(_) => Answer::AsRequested,
                One::AskForAll => Answer::AskForAll,
                One::AskInterpreter => {
                    self.expand_mixed(state, Some(process), out);
                    Answer::AsRequested
                }
            },
            Request::Selection(selection) => match self.expand_selection(state, selection, out) {
                true => Answer::AsRequested,
                false => by_steps(self, request, Sink::Copies(state, out)),
            },
            Request::Ample { behind, observed } => {
                match self.expand_ample(state, behind, observed, out) {
                    Some(found) => Answer::Ample(found),
                    None => by_steps(self, request, Sink::Copies(state, out)),
                }
            }
            Request::Awake(sleep_set) => match self.expand_awake(state, sleep_set, out) {
                true => Answer::AsRequested,
                false => {
                    self.expand_mixed(state, None, out);
                    Answer::NobodySlept
                }
            },
        }
    }

    /// Answers a request by differences.
    #[inline(always)]
    fn differences(
        &self,
        request: Request,
        state: &mut Vector,
        out: &mut SuccessorList<Difference>,
    ) -> Answer {
        match request {
            Request::All if self.expand_differences(state, out) => Answer::AsRequested,
            Request::Ample { behind, observed } => {
                match self.expand_ample_differences(state, behind, observed, out) {
                    Some(found) => Answer::Ample(found),
                    None => by_steps(self, request, Sink::Differences(state, out)),
                }
            }
            _ => by_steps(self, request, Sink::Differences(state, out)),
        }
    }
}

impl System for Native<'_> {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.reference.initial(state)
    }

    #[inline]
    fn process_count(&self, state: &[u8]) -> usize {
        usize::from(state[1])
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        self.list_enabled(state, enabled);
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let taken = self.stepping().and_then(|stepping| self.take(stepping, state, step));
        match taken {
            Some(outcome) => outcome,
            None => self.reference.apply(state, step),
        }
    }

    // Requests are mostly constants: then nothing is left to decide at run time.
    #[inline(always)]
    fn successors(&self, request: Request, sink: Sink<'_>) -> Answer {
        match sink {
            Sink::Copies(state, out) => self.copies(request, state, out),
            Sink::Differences(state, out) => self.differences(request, state, out),
        }
    }

    fn is_compiled(&self) -> bool {
        true
    }

    fn unmatched(&self) -> Range<usize> {
        self.reference.unmatched()
    }

    #[inline]
    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        match self.propositions.get(index) {
            Some(Some((evaluate, _))) => match evaluate(state.as_ptr()) {
                NO_VALUE => self.reference.proposition(state, index),
                value => Ok(value == 1),
            },
            _ => self.reference.proposition(state, index),
        }
    }

    #[inline]
    fn is_transient(&self, state: &[u8]) -> bool {
        state[0] != 0
    }

    fn depth_of(&self, step: Step) -> u32 {
        self.reference.depth_of(step)
    }

    #[inline]
    fn transitions_of(&self, step: Step) -> (usize, Option<usize>) {
        self.reference.transitions_of(step)
    }

    fn transition_count(&self) -> usize {
        self.reference.transition_count()
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.parts.shape.frames(state).all(|frame| self.parts.control.is_end(state, frame))
            && (!self.reference.empties_channels() || self.reference.is_valid_end(state))
            && self.reference.may_trace_end(state)
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        self.parts.control.knows(label)
            && self
                .parts
                .shape
                .frames(state)
                .any(|frame| self.parts.control.has_label(state, frame, label))
    }

    fn proposition_count(&self) -> usize {
        self.reference.proposition_count()
    }
}

impl Independence for Native<'_> {
    fn control_points(&self, state: &[u8], points: &mut Vec<u32>) {
        points.extend(
            self.parts.shape.frames(state).map(|frame| self.parts.control.point(state, frame)),
        );
    }

    #[inline]
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        self.parts
            .shape
            .frame(state, process.index())
            .and_then(|frame| self.parts.control.locality(state, frame, process.index()))
            .unwrap_or_else(|| self.reference.locality(state, process))
    }

    #[inline]
    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        let frame = self.parts.shape.frame(state, process.index());
        frame.is_none_or(|frame| {
            let pc = self.parts.control.pc(state, frame);
            self.reference.is_visible_at(usize::from(frame.proctype), pc)
        })
    }

    fn may_stay_inside(&self, state: &[u8], process: ProcessId) -> bool {
        let frame = self.parts.shape.frame(state, process.index());
        frame.is_some_and(|frame| {
            let pc = self.parts.control.pc(state, frame);
            self.reference.endless_sequences().may_begin(usize::from(frame.proctype), pc)
        })
    }

    fn present(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let frame = self.parts.shape.frame(state, process.index())?;
        self.reference.present_at(usize::from(frame.proctype), self.parts.control.pc(state, frame))
    }

    fn footprint(&self, state: &[u8], step: Step) -> Option<&Footprint> {
        self.reference.footprint(state, step)
    }

    fn future(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let frame = self.parts.shape.frame(state, process.index())?;
        self.reference.future_at(usize::from(frame.proctype), self.parts.control.pc(state, frame))
    }

    fn signals(&self, state: &[u8], process: ProcessId) -> Option<&ObjectSet> {
        let frame = self.parts.shape.frame(state, process.index())?;
        self.reference.signals_at(usize::from(frame.proctype), self.parts.control.pc(state, frame))
    }

    fn waits_for(&self, state: &[u8], step: Step, signalled: Option<&ObjectSet>) -> bool {
        self.reference.waits_for(state, step, signalled)
    }

    fn may_answer(&self, state: &[u8], process: ProcessId) -> bool {
        self.parts.shape.frame(state, process.index()).is_none_or(|frame| {
            let proctype = usize::from(frame.proctype);
            self.reference.may_answer_at(proctype, self.parts.control.pc(state, frame))
        })
    }

    fn observed(&self) -> Option<&ObjectSet> {
        self.reference.observed()
    }
}

impl Describe for Native<'_> {
    fn unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        self.reference.unreached(taken)
    }

    fn fault(&self, number: u32) -> Fault {
        self.reference.fault(number)
    }

    fn process_name(&self, state: &[u8], process: ProcessId) -> String {
        self.reference.process_name(state, process)
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        self.reference.describe(state, step)
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        self.reference.position(state, process)
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        self.reference.variables(state)
    }

    fn changed_variables(&self, before: &[u8], after: &[u8]) -> Option<Vec<Change>> {
        self.reference.changed_variables(before, after)
    }
}
