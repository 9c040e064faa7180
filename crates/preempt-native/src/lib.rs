//! Promela as machine code.
//!
//! [`Native`] is a [`System`] like the reference interpreter and gives the same answers, step for
//! step; it only gives them faster. What has no machine code it passes on to the interpreter it was
//! made from, process by process and step by step. Translation takes milliseconds and needs no C
//! compiler; what a search does not use, or hardly uses, is not translated.
//!
//! **Invariant:** every vector handed to machine code was produced by this system or its interpreter,
//! so offsets computed from it stay inside it.

mod alone;
mod build;
mod channel;
mod code;
mod control;
mod moves;
mod ondemand;
mod pen;
mod place;
mod rendezvous;
mod room;
mod sequence;
mod shape;
mod sleep;
mod successors;
mod support;
mod touch;
mod value;

pub use code::CodeError;

use build::{Expanding, Proposition, Stepping};
use code::{Executable, PIECE};
use control::Control;
use place::Placing;
use preempt_core::{
    Asleep, Change, Difference, Enabled, Fault, Few, Footprint, Label, Lead, Leads, Locality,
    ObjectSet, Outcome, ProcessId, Step, Successors, System, Unreached, Value, Vector,
};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{MoveKind, Program};
use room::{ASK_STEP, Meeting, Room, both_halves, frame_space, frames_of, lead_space};
use sequence::Sequences;
use shape::{Frame, Shape, length_of};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;
use touch::Sleeping;
use value::Tables;

/// So many questions are left to the interpreter, which answers them in about the time that a
/// translation takes.
const PATIENCE: u32 = 1000;

/// To translate a move takes about as long as the interpreter takes for so many questions.
const PATIENCE_PER_MOVE: u32 = 50;

/// What a proposition without a value gives, instead of 0 or 1.
const NO_VALUE: u32 = 2;

/// A program as machine code, with the interpreter for the rest.
pub struct Native<'p> {
    reference: &'p Interpreter,
    program: &'p Program,
    shape: Box<Shape>,
    tables: Box<Tables>,
    meeting: Box<Meeting>,
    control: Control,
    /// The code of each proposition, and whether it may have no value.
    propositions: Vec<Option<(Proposition, bool)>>,
    /// Per move: how many bytes it can add, if it can change the length of the vector.
    growth: Vec<Option<u32>>,
    most_growth: usize,
    /// The most entries that one process can have,
    most_successors: usize,
    /// and the most moves.
    most_moves: usize,
    /// How often something was asked before it was translated: for all successors of a state,
    asked: AtomicU32,
    /// and for single steps, which the search for the simplest counterexample and replays take.
    asked_for_steps: AtomicU32,
    /// Time that translations took since it was made, in nanoseconds.
    translation: AtomicU64,
    stepping: OnceLock<Option<Stepping>>,
    expanding: OnceLock<Option<Expanding>>,
    sleeping: OnceLock<Option<Sleeping>>,
    placing: OnceLock<Option<Placing>>,
    sequences: OnceLock<Option<Sequences>>,
    _code: Executable,
}

// SAFETY: the raw pointers inside point at tables that this value owns and never changes.
unsafe impl Sync for Native<'_> {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Native<'_> {}

impl<'p> Native<'p> {
    /// Translates the program of an interpreter.
    pub fn new(reference: &'p Interpreter) -> Result<Self, CodeError> {
        build::native(reference)
    }

    /// Translates everything now; otherwise what a search needs is translated once it has asked
    /// often.
    pub fn prepare(&self) {
        self.translate_stepping();
        if let Some(expanding) = self.translate_expanding() {
            expanding.prepare(self);
        }
        self.sleeping();
        if let Some(placing) = self.translate_placing() {
            placing.prepare(self);
        }
        if let Some(sequences) = self.sequences() {
            sequences.prepare();
        }
    }

    #[inline]
    fn stepping(&self) -> Option<&Stepping> {
        match self.stepping.get() {
            Some(stepping) => stepping.as_ref(),
            None if is_early(&self.asked_for_steps, self.patience_with_steps()) => None,
            None => self.translate_stepping(),
        }
    }

    /// Single steps are translated all at once, which takes the longer the more there are.
    fn patience_with_steps(&self) -> u32 {
        PATIENCE.saturating_add((self.program.moves.len() as u32).saturating_mul(PATIENCE_PER_MOVE))
    }

    #[inline]
    fn expanding(&self) -> Option<&Expanding> {
        match self.expanding.get() {
            Some(expanding) => expanding.as_ref(),
            None if is_early(&self.asked, PATIENCE) => None,
            None => self.translate_expanding(),
        }
    }

    /// How long translations took that were made because a search asked often.
    pub fn translation_seconds(&self) -> f64 {
        self.translation.load(Ordering::Relaxed) as f64 * 1e-9
            + known(&self.expanding).map_or(0.0, Expanding::seconds)
            + known(&self.placing).map_or(0.0, Placing::seconds)
            + known(&self.sequences).map_or(0.0, Sequences::seconds)
    }

    fn timed<T>(&self, translate: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = translate();
        let taken = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.translation.fetch_add(taken, Ordering::Relaxed);
        made
    }

    #[cold]
    fn translate_stepping(&self) -> Option<&Stepping> {
        let made = || self.timed(|| Stepping::new(self.program, &self.tables).ok());
        self.stepping.get_or_init(made).as_ref()
    }

    #[cold]
    fn translate_expanding(&self) -> Option<&Expanding> {
        let made = || self.timed(|| Expanding::new(self.program, false).ok());
        self.expanding.get_or_init(made).as_ref()
    }

    /// The code of indivisible sequences. Asked for only where states are expanded by machine code.
    #[inline]
    pub(crate) fn sequences(&self) -> Option<&Sequences> {
        let made = || self.timed(|| Sequences::new(self.program, &self.tables).ok());
        self.sequences.get_or_init(made).as_ref()
    }

    /// Asked only where states are expanded by machine code, so there is no need to wait with it.
    #[inline]
    fn sleeping(&self) -> Option<&Sleeping> {
        let made = || self.timed(|| Sleeping::new(self.program, &self.tables).ok());
        self.sleeping.get_or_init(made).as_ref()
    }

    #[inline]
    pub(crate) fn placing(&self) -> Option<&Placing> {
        match self.placing.get() {
            Some(placing) => placing.as_ref(),
            None if is_early(&self.asked, PATIENCE) => None,
            None => self.translate_placing(),
        }
    }

    #[cold]
    fn translate_placing(&self) -> Option<&Placing> {
        let made =
            || self.timed(|| Placing::new(self.program, &self.tables, self.meeting.growth).ok());
        self.placing.get_or_init(made).as_ref()
    }

    /// Visits the processes that may move, in order, until the rounds are over. `visit` tells
    /// whether it found a step.
    #[inline(always)]
    fn rounds(
        &self,
        state: &mut [u8],
        room: &mut Room,
        frames: &[Frame],
        mut visit: impl FnMut(&mut Room, &mut [u8], (usize, Frame), bool) -> bool,
    ) {
        if let Some(alone) = state[0].checked_sub(1) {
            let alone = usize::from(alone);
            if let Some(frame) = frames.get(alone)
                && visit(room, state, (alone, *frame), false)
            {
                return;
            }
            state[0] = 0;
        }
        for timeout in [false, true] {
            let mut found = false;
            for (pid, frame) in frames.iter().enumerate().rev() {
                found |= visit(room, state, (pid, *frame), timeout);
            }
            if found || !self.program.uses_timeout {
                return;
            }
        }
    }

    /// Takes a step in place; `None` when the interpreter must take it from the state as it was.
    #[inline]
    fn take(&self, stepping: &Stepping, state: &mut Vec<u8>, step: Step) -> Option<Outcome> {
        let pid = step.process.index();
        let frame = self.shape.frame(state, pid)?;
        let proctype = usize::from(frame.proctype);
        let before = state.len();
        if let Some(partner) = step.partner {
            let other = self.shape.frame(state, partner.index())?;
            self.meeting.halves.get(step.transition.max(step.partner_transition) as usize)?;
            state.resize(before + self.meeting.growth, 0);
            let mut room = Room::new(&self.shape, &self.meeting, before, &[]);
            // SAFETY: the frames are those of this vector, and there is room for what the step
            // adds.
            let result = unsafe {
                both_halves(
                    &self.meeting,
                    (state.as_mut_ptr(), &raw mut room),
                    (proctype, frame.at as usize, pid, step.transition),
                    (other, partner.index(), step.partner_transition),
                )
            };
            return self.fit_length(state, before, result, self.meeting.growth > 0);
        }
        let growth = *self.growth.get(step.transition as usize)?;
        if let Some(growth) = growth {
            state.resize(before + growth as usize, 0);
        }
        let saved = self.may_be_given_up(step.transition).then(|| state[..before].to_vec());
        let base = state.as_mut_ptr();
        // SAFETY: `frame` is a frame of this vector.
        let at = unsafe { base.add(frame.at as usize) };
        let take = stepping.take[proctype];
        let result = take(base, at, pid as u32, step.transition, std::ptr::null_mut());
        if result == ASK_STEP
            && let Some(saved) = saved
        {
            *state = saved;
            return None;
        }
        self.fit_length(state, before, result, growth.is_some())
    }

    /// Whether machine code may leave a step to the interpreter halfway: a `d_step` with a loop.
    fn may_be_given_up(&self, transition: u32) -> bool {
        let taken = self.program.moves.get(transition as usize);
        taken.is_some_and(|m| matches!(m.kind, MoveKind::Compound { endless: Some(_), .. }))
    }

    /// Cuts the vector to its length after a step, and reads the result.
    #[inline]
    fn fit_length(
        &self,
        state: &mut Vec<u8>,
        before: usize,
        result: u32,
        resized: bool,
    ) -> Option<Outcome> {
        if result == ASK_STEP {
            state.truncate(before);
            return None;
        }
        if resized {
            state.truncate(length_of(&raw const *self.shape, state.as_ptr()) as usize);
        }
        Some(outcome(result))
    }

    /// Adds the successors of one process; says whether there are any.
    fn expand_process(
        &self,
        expanding: &Expanding,
        room: &mut Room,
        most_bytes: usize,
        (state, (pid, frame), timeout): (&[u8], (usize, Frame), bool),
        (enabled, scratch, out): (&mut Enabled, &mut Vec<u8>, &mut Successors),
    ) -> bool {
        let mut leads = lead_space();
        let expand = expanding.at(self, self.control.point(state, frame) as usize);
        out.bytes.reserve(most_bytes);
        let start = out.bytes.len();
        room.leads = leads.as_mut_ptr().cast();
        // SAFETY: the reserved bytes begin there, and `frame` is a frame of this vector.
        let at = unsafe {
            room.out = out.bytes.as_mut_ptr().add(start);
            state.as_ptr().add(frame.at as usize)
        };
        room.base = room.out;
        let count = expand(state.as_ptr(), at, pid as u32, timeout.into(), &raw mut *room);
        let Ok(count) = usize::try_from(count) else {
            return self.expand_by_reference((state, pid, timeout), (enabled, scratch, out));
        };
        // SAFETY: machine code wrote as many leads as it counted, and bytes up to `out`, within what
        // was reserved.
        let leads: &[Lead] = unsafe {
            out.bytes.set_len(start + room.out.cast_const().offset_from_unsigned(room.base));
            std::slice::from_raw_parts(leads.as_ptr().cast(), count)
        };
        for lead in leads {
            if lead.result & ASK_STEP == ASK_STEP {
                out.take(self.reference, state, lead.step(), scratch);
            } else {
                let range = lead.range();
                let range = start + range.start..start + range.end;
                out.list.push((lead.step(), lead.outcome(), range));
            }
        }
        count > 0
    }

    #[cold]
    fn expand_by_reference(
        &self,
        (state, pid, timeout): (&[u8], usize, bool),
        (enabled, scratch, out): (&mut Enabled, &mut Vec<u8>, &mut Successors),
    ) -> bool {
        enabled.clear();
        self.reference.enabled_of(state, ProcessId(pid as u16), timeout, enabled);
        for &step in enabled.steps() {
            out.take(self.reference, state, step, scratch);
        }
        !enabled.is_empty()
    }

    fn frames<'a>(&'a self, state: &'a [u8]) -> impl Iterator<Item = Frame> + 'a {
        self.shape.frames(state)
    }
}

/// What was made already, if it could be.
fn known<T>(made: &OnceLock<Option<T>>) -> Option<&T> {
    made.get().and_then(Option::as_ref)
}

/// Whether so little was asked yet that the interpreter answers sooner than code is made.
fn is_early(asked: &AtomicU32, patience: u32) -> bool {
    asked.fetch_add(1, Ordering::Relaxed) < patience
}

#[inline(always)]
fn outcome(result: u32) -> Outcome {
    Lead { result, ..Lead::default() }.outcome()
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
        let Some(stepping) = self.stepping() else {
            return self.reference.enabled(state, enabled);
        };
        let (mut leads, mut space) = (lead_space(), frame_space());
        let frames = frames_of(&self.shape, state, &mut space);
        let mut room = Room::new(&self.shape, &self.meeting, state.len(), frames);
        self.rounds(state, &mut room, frames, |room, state, (pid, frame), timeout| {
            room.leads = leads.as_mut_ptr().cast();
            let list = stepping.list[usize::from(frame.proctype)];
            // SAFETY: `frame` is a frame of this vector.
            let at = unsafe { state.as_ptr().add(frame.at as usize) };
            let count = list(state.as_ptr(), at, pid as u32, timeout.into(), &raw mut *room);
            let Ok(count) = usize::try_from(count) else {
                let before = enabled.steps().len();
                self.reference.enabled_of(state, ProcessId(pid as u16), timeout, enabled);
                return enabled.steps().len() > before;
            };
            for lead in &leads[..count] {
                // SAFETY: machine code wrote as many leads as it counted; only the step is read.
                enabled.push(unsafe { (*lead.as_ptr()).step() });
            }
            count > 0
        });
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let taken = self.stepping().and_then(|stepping| self.take(stepping, state, step));
        match taken {
            Some(outcome) => outcome,
            None => self.reference.apply(state, step),
        }
    }

    fn expand(
        &self,
        state: &mut Vec<u8>,
        enabled: &mut Enabled,
        scratch: &mut Vec<u8>,
        out: &mut Successors,
    ) {
        let Some(expanding) = self.expanding() else {
            return self.reference.expand(state, enabled, scratch, out);
        };
        // States are copied in whole pieces: what lies behind this one must at least be readable.
        state.reserve(PIECE);
        let most_bytes = Room::reserve_for(state.len(), self.most_successors, self.most_growth);
        let mut space = frame_space();
        let frames = frames_of(&self.shape, state, &mut space);
        let mut room = Room::new(&self.shape, &self.meeting, state.len(), frames);
        self.rounds(state, &mut room, frames, |room, state, process, timeout| {
            let process = (&*state, process, timeout);
            self.expand_process(expanding, room, most_bytes, process, (enabled, scratch, out))
        });
    }

    fn expand_of(
        &self,
        state: &mut Vec<u8>,
        process: ProcessId,
        enabled: &mut Enabled,
        scratch: &mut Vec<u8>,
        out: &mut Successors,
    ) {
        let Some(expanding) = self.expanding() else {
            return self.reference.expand_of(state, process, enabled, scratch, out);
        };
        state.reserve(PIECE);
        let most_bytes = Room::reserve_for(state.len(), self.most_successors, self.most_growth);
        let mut space = frame_space();
        let frames = frames_of(&self.shape, state, &mut space);
        let Some(&frame) = frames.get(process.index()) else { return };
        let mut room = Room::new(&self.shape, &self.meeting, state.len(), frames);
        let process = (state.as_slice(), (process.index(), frame), false);
        self.expand_process(expanding, &mut room, most_bytes, process, (enabled, scratch, out));
    }

    fn expand_ample_briefly(
        &self,
        state: &mut Vec<u8>,
        behind: Option<ProcessId>,
        observed: bool,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> Option<Option<ProcessId>> {
        self.expand_alone(state, behind, observed, leads, bytes)
    }

    fn control_points(&self, state: &[u8], points: &mut Vec<u32>) {
        points.extend(self.frames(state).map(|frame| self.control.point(state, frame)));
    }

    fn expand_briefly(&self, state: &mut Vec<u8>, leads: &mut Leads, bytes: &mut Vec<u8>) -> bool {
        let Some(expanding) = self.expanding() else { return false };
        let (frames, mut room, mut pen) = self.open(state, leads, bytes);
        let mut refused = false;
        self.rounds(state, &mut room, frames, |room, state, (pid, frame), timeout| {
            pen.prepare(room);
            // SAFETY: `frame` is a frame of this vector.
            let at = unsafe { state.as_ptr().add(frame.at as usize) };
            let expand = expanding.at(self, self.control.point(state, frame) as usize);
            let count = expand(state.as_ptr(), at, pid as u32, timeout.into(), &raw mut *room);
            refused |= count < 0;
            // SAFETY: machine code wrote so many leads, for which there was room.
            room.leads = unsafe { room.leads.add(count.max(0) as usize) };
            count != 0
        });
        pen.close(&room, refused)
    }

    fn expand_awake(
        &self,
        state: &mut Vec<u8>,
        asleep: Asleep,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> bool {
        self.expand_with_sleepers(state, asleep, leads, bytes)
    }

    fn expand_process_briefly(
        &self,
        state: &mut Vec<u8>,
        process: ProcessId,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> Option<bool> {
        self.expand_one(state, process, leads, bytes)
    }

    fn expand_few_briefly(
        &self,
        state: &mut Vec<u8>,
        few: Few,
        leads: &mut Leads,
        bytes: &mut Vec<u8>,
    ) -> bool {
        self.expand_few(state, few, leads, bytes)
    }

    fn works_in_place(&self) -> bool {
        true
    }

    fn expand_in_place(
        &self,
        state: &mut Vector,
        leads: &mut Leads,
        differences: &mut Vec<Difference>,
    ) -> bool {
        self.expand_on_it(state, leads, differences)
    }

    fn expand_ample_in_place(
        &self,
        state: &mut Vector,
        behind: Option<ProcessId>,
        observed: bool,
        leads: &mut Leads,
        differences: &mut Vec<Difference>,
    ) -> Option<Option<ProcessId>> {
        self.expand_alone_on_it(state, behind, observed, leads, differences)
    }

    #[inline]
    fn is_transient(&self, state: &[u8]) -> bool {
        state[0] != 0
    }

    #[inline]
    fn proposition(&self, state: &[u8], index: usize) -> bool {
        match self.propositions.get(index) {
            Some(Some((evaluate, _))) => evaluate(state.as_ptr()) == 1,
            _ => self.reference.proposition(state, index),
        }
    }

    #[inline]
    fn proposition_fault(&self, state: &[u8], index: usize) -> Option<u32> {
        match self.propositions.get(index) {
            Some(Some((_, false))) => None,
            Some(Some((evaluate, true))) if evaluate(state.as_ptr()) != NO_VALUE => None,
            _ => self.reference.proposition_fault(state, index),
        }
    }

    #[inline]
    fn proposition_value(&self, state: &[u8], index: usize) -> Option<bool> {
        match self.propositions.get(index) {
            Some(Some((evaluate, _))) => match evaluate(state.as_ptr()) {
                NO_VALUE => None,
                value => Some(value == 1),
            },
            _ => self.reference.proposition_value(state, index),
        }
    }

    fn depth_of(&self, step: Step) -> u32 {
        self.reference.depth_of(step)
    }

    fn transition_count(&self) -> usize {
        self.reference.transition_count()
    }

    #[inline]
    fn transition_key(&self, step: Step) -> usize {
        self.reference.transition_key(step)
    }

    #[inline]
    fn partner_key(&self, step: Step) -> Option<usize> {
        self.reference.partner_key(step)
    }

    fn unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        self.reference.unreached(taken)
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.frames(state).all(|frame| self.control.is_end(state, frame))
            && (!self.reference.empties_channels() || self.reference.is_valid_end(state))
            && self.reference.may_trace_end(state)
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        self.control.knows(label)
            && self.frames(state).any(|frame| self.control.has_label(state, frame, label))
    }

    fn proposition_count(&self) -> usize {
        self.reference.proposition_count()
    }

    #[inline]
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        self.shape
            .frame(state, process.index())
            .and_then(|frame| self.control.locality(state, frame, process.index()))
            .unwrap_or_else(|| self.reference.locality(state, process))
    }

    #[inline]
    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        let frame = self.shape.frame(state, process.index());
        frame.is_none_or(|frame| {
            let pc = self.control.pc(state, frame);
            self.reference.is_visible_at(usize::from(frame.proctype), pc)
        })
    }

    fn may_stay_inside(&self, state: &[u8], process: ProcessId) -> bool {
        let frame = self.shape.frame(state, process.index());
        frame.is_some_and(|frame| {
            let pc = self.control.pc(state, frame);
            self.reference.endless_sequences().may_begin(usize::from(frame.proctype), pc)
        })
    }

    fn present(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let frame = self.shape.frame(state, process.index())?;
        self.reference.present_at(usize::from(frame.proctype), self.control.pc(state, frame))
    }

    fn footprint(&self, state: &[u8], step: Step) -> Option<&Footprint> {
        self.reference.footprint(state, step)
    }

    fn future(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let frame = self.shape.frame(state, process.index())?;
        self.reference.future_at(usize::from(frame.proctype), self.control.pc(state, frame))
    }

    fn signals(&self, state: &[u8], process: ProcessId) -> Option<&ObjectSet> {
        let frame = self.shape.frame(state, process.index())?;
        self.reference.signals_at(usize::from(frame.proctype), self.control.pc(state, frame))
    }

    fn waits_for(&self, state: &[u8], step: Step, signalled: Option<&ObjectSet>) -> bool {
        self.reference.waits_for(state, step, signalled)
    }

    fn may_answer(&self, state: &[u8], process: ProcessId) -> bool {
        self.shape.frame(state, process.index()).is_none_or(|frame| {
            let proctype = usize::from(frame.proctype);
            self.reference.may_answer_at(proctype, self.control.pc(state, frame))
        })
    }

    fn observed(&self) -> Option<&ObjectSet> {
        self.reference.observed()
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
