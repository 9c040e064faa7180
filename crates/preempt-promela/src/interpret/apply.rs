//! Takes steps.

use super::Interpreter;
use super::channel;
use super::enabled::Offer;
use super::evaluate::View;
use super::process::{Process, processes, seen_by_c, write_pc};
use super::sights::Sights;
use crate::embedded::Ending;
use crate::ir::{
    ArgumentRange, ChannelRef, Expr, ExprId, FaultId, FragmentRef, Move, MoveKind, Op, Pattern,
    PatternRange, Place, ProctypeIndex, ValueKind,
};
use crate::model::ChannelTest;
use crate::syntax::span::Span;
use preempt_core::{Enabled, Outcome, Step};
use std::fmt;

/// What one step can print is kept up to about this many bytes.
const MOST_PRINTED: usize = 1 << 20;
/// So many values that one step cuts are kept.
const MOST_TRUNCATIONS: usize = 1000;

/// What a step leaves behind besides the next state, as far as that is wanted.
#[derive(Default)]
pub(super) struct Witness {
    /// What was printed.
    pub(super) printed: Option<String>,
    /// Values that were cut to the type they were stored in.
    pub(super) truncations: Option<Vec<Truncation>>,
    /// What was looked at.
    pub(super) sights: Option<Sights>,
}

/// A step in progress.
pub(super) struct Execution<'a, 's> {
    pub(super) interpreter: &'a Interpreter,
    pub(super) state: &'s mut Vec<u8>,
    /// The first property that was violated.
    violated: Option<FaultId>,
    pub(super) witness: &'s mut Witness,
}

/// A value that did not fit where it was stored, sent or passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Source file.
    pub file: String,
    /// Source line, counted from 1; 0 when unknown.
    pub line: u32,
    /// The value.
    pub value: i32,
    /// What was left of it.
    pub kept: i32,
    /// How many bits there was room for.
    pub bits: u8,
}

impl fmt::Display for Truncation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = preempt_core::counted(self.bits, "bit");
        write!(f, "value {} is cut to {} ({bits})", self.value, self.kept)
    }
}

/// A step that cannot be completed.
pub(super) struct Broken(pub(super) FaultId);

impl From<FaultId> for Broken {
    fn from(fault: FaultId) -> Self {
        Broken(fault)
    }
}

impl Interpreter {
    pub(super) fn write_initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.clear();
        state.extend_from_slice(&self.program.initial_globals);
        let mut witness = Witness::default();
        let mut run = Execution { interpreter: self, state, violated: None, witness: &mut witness };
        for proctype in &self.program.start {
            let priority = self.program.proctypes[usize::from(proctype.0)].priority;
            if usize::from(run.state[1]) >= 255 {
                return Outcome::Broken(self.program.faults.len() as u32);
            }
            if let Err(Broken(fault)) = run.create(*proctype, &[], priority) {
                return Outcome::Broken(fault.0);
            }
        }
        Outcome::Done
    }

    /// Takes an enabled step.
    pub(super) fn take(&self, state: &mut Vec<u8>, step: Step, witness: &mut Witness) -> Outcome {
        let mut run = Execution { interpreter: self, state, violated: None, witness };
        match run.step(step) {
            Err(Broken(fault)) => Outcome::Broken(fault.0),
            Ok(()) => match run.violated {
                Some(fault) => Outcome::Violated(fault.0),
                None => Outcome::Done,
            },
        }
    }
}

impl<'a> Execution<'a, '_> {
    pub(super) fn view(&self, process: Process) -> View<'_> {
        View::of(&self.interpreter.program, self.state, process)
    }

    fn process(&self, id: usize) -> Result<Process, Broken> {
        Process::find(&self.interpreter.program, self.state, id).ok_or(Broken(FaultId(0)))
    }

    fn step(&mut self, step: Step) -> Result<(), Broken> {
        let me = self.process(step.process.index())?;
        let Some(action) = self.interpreter.move_of(step.transition) else {
            return Err(Broken(FaultId(0)));
        };
        self.check_determinism(me, step);
        let mut mover = me.id;
        let mut keeps_control = action.keeps_control;
        match (step.partner, &action.kind) {
            (Some(partner), MoveKind::Send { channel, values, misfit, .. }) => {
                let partner = self.process(partner.index())?;
                let view = self.view(me);
                let channel = view.channel(channel)?;
                let sent = view.values(*values)?;
                let fits = channel.has_fields(sent.len());
                let id = channel.id;
                let offer = Offer { message: channel.cut(&sent), channel: id };
                self.require(fits, *misfit);
                self.look_all(me, *values);
                self.note_sent(id, *values, &sent);
                self.check_promises(me, id, false);
                self.check_promises(partner, id, true);
                self.go(me, action);
                self.ops(me, &action.ops)?;
                self.event(false, id, &offer.message);
                let Some(receive) = self.interpreter.move_of(step.partner_transition) else {
                    return Err(Broken(FaultId(0)));
                };
                self.answer(partner, receive, &offer)?;
                mover = partner.id;
                keeps_control = receive.keeps_control;
            }
            _ => self.single(me, action)?,
        }
        self.state[0] = if keeps_control { mover as u8 + 1 } else { 0 };
        if let Some(at) = self.interpreter.program.layout.last_offset {
            self.state[at as usize] = mover as u8;
        }
        Ok(())
    }

    fn go(&mut self, process: Process, action: &Move) {
        let width = self.interpreter.program.layout.pc_width;
        write_pc(self.state, process.base + 1, width, action.target.0);
    }

    fn single(&mut self, me: Process, action: &'a Move) -> Result<(), Broken> {
        match &action.kind {
            MoveKind::Plain { guard } => {
                self.look(me, *guard);
                self.view(me).value(*guard)?;
                if self.interpreter.checks_promises() {
                    self.check_looks(me, *guard);
                }
            }
            MoveKind::Else => {}
            MoveKind::Send { channel, sorted, values, misfit } => {
                self.send(me, channel, *sorted, *values, *misfit)?;
            }
            MoveKind::Receive { channel, random, copy, pattern, misfit } => {
                self.receive(me, channel, (*random, *copy), *pattern, *misfit)?;
            }
            MoveKind::Compound { blocks, endless } => {
                self.compound(me, blocks, *endless, None)?;
            }
            MoveKind::End => {
                self.state.truncate(me.base);
                self.state[1] -= 1;
                return Ok(());
            }
        }
        self.ops(me, &action.ops)?;
        self.go(me, action);
        Ok(())
    }

    /// The receiver's half of a rendezvous.
    fn answer(&mut self, me: Process, action: &'a Move, offer: &Offer) -> Result<(), Broken> {
        match &action.kind {
            MoveKind::Receive { pattern, misfit, .. } => {
                self.view(me).matches(*pattern, |at| field(&offer.message, at))?;
                self.take_offer(me, *pattern, offer, *misfit)?;
            }
            MoveKind::Compound { blocks, endless } => {
                self.compound(me, blocks, *endless, Some(offer))?;
            }
            _ => {}
        }
        self.ops(me, &action.ops)?;
        self.go(me, action);
        Ok(())
    }

    pub(super) fn take_offer(
        &mut self,
        me: Process,
        pattern: PatternRange,
        Offer { message, channel }: &Offer,
        misfit: FaultId,
    ) -> Result<(), Broken> {
        self.require(pattern.indices().len() == message.len(), misfit);
        self.event(true, *channel, message);
        self.store_fields(me, pattern, message)
    }

    pub(super) fn send(
        &mut self,
        me: Process,
        channel: &ChannelRef,
        sorted: bool,
        values: ArgumentRange,
        misfit: FaultId,
    ) -> Result<(), Broken> {
        let view = self.view(me);
        let channel = view.channel(channel)?;
        if channel.is_rendezvous() {
            // An offer that no process takes is a step only where it is a mistake.
            return Err(Broken(misfit));
        }
        let sent = view.values(values)?;
        let (message, fits) = (channel.cut(&sent), channel.has_fields(sent.len()));
        let (program, id) = (&self.interpreter.program, channel.id);
        self.require(fits, misfit);
        self.look_all(me, values);
        self.note_sent(id, values, &sent);
        self.check_promises(me, id, false);
        if let Some(channel) = channel::by_id(program, self.state, id as i32) {
            channel.insert(self.state, &sent, sorted);
        }
        self.event(false, id, &message);
        Ok(())
    }

    pub(super) fn receive(
        &mut self,
        me: Process,
        channel: &ChannelRef,
        (random, copy): (bool, bool),
        pattern: PatternRange,
        misfit: FaultId,
    ) -> Result<(), Broken> {
        let view = self.view(me);
        let channel = view.channel(channel)?;
        if copy && channel.is_rendezvous() {
            return Err(Broken(misfit));
        }
        let Some(slot) = view.find_message(&channel, random, pattern)? else { return Ok(()) };
        let message: Vec<i32> =
            (0..channel.kind.fields.len()).map(|f| channel.field(self.state, slot, f)).collect();
        let (program, id) = (&self.interpreter.program, channel.id);
        self.check_promises(me, id, true);
        if !copy {
            self.require(pattern.indices().len() == message.len(), misfit);
            self.event(true, id, &message);
            if let Some(channel) = channel::by_id(program, self.state, id as i32) {
                channel.remove(self.state, slot);
            }
        }
        self.store_fields(me, pattern, &message)
    }

    pub(super) fn store_fields(
        &mut self,
        me: Process,
        pattern: PatternRange,
        message: &[i32],
    ) -> Result<(), Broken> {
        let interpreter = self.interpreter;
        for (at, part) in interpreter.program.patterns[pattern.indices()].iter().enumerate() {
            if let Pattern::Store(place) = part {
                let address = self.view(me).address(place)?;
                let span = || interpreter.program.pattern_spans.get(&pattern.start);
                self.store(place.kind, address, field(message, at), span);
                self.look_at(place.kind, address);
            }
        }
        Ok(())
    }

    /// Notes a violation behind which the search may go on, unless something holds.
    pub(super) fn require(&mut self, holds: bool, fault: FaultId) {
        if !holds {
            self.violated.get_or_insert(fault);
        }
    }

    pub(super) fn ops(&mut self, me: Process, ops: &'a [Op]) -> Result<(), Broken> {
        for op in ops {
            self.op(me, op)?;
        }
        Ok(())
    }

    fn op(&mut self, me: Process, op: &'a Op) -> Result<(), Broken> {
        match op {
            Op::Store { place, value } => self.assign(me, place, *value)?,
            Op::Evaluate { value } => {
                self.look(me, *value);
                self.view(me).value(*value)?;
            }
            Op::Assert { condition, fault } => {
                self.look(me, *condition);
                let holds = self.view(me).value(*condition)? != 0;
                if !holds && self.violated.is_none() {
                    self.look_why(me, *condition);
                }
                self.require(holds, *fault);
            }
            Op::Run { proctype, arguments, priority, fault } => {
                self.run(me, *proctype, *arguments, *priority, *fault)?;
            }
            Op::Print { format, arguments } => {
                self.look_all(me, *arguments);
                let values = self.view(me).values(*arguments)?;
                if let Some(output) = &mut self.witness.printed
                    && output.len() < MOST_PRINTED
                {
                    output.push_str(&self.interpreter.format(*format, &values));
                }
            }
            Op::PrintName { value } => {
                let value = self.view(me).value(*value)?;
                if let Some(output) = &mut self.witness.printed {
                    output.push_str(&self.interpreter.symbol(value, None));
                }
            }
            Op::Fragment(fragment) => self.fragment(me, fragment)?,
            Op::SetPriority { pid, value, fault } => {
                let view = self.view(me);
                let (pid, value) = (view.value(*pid)?, view.value(*value)?);
                if !(1..=255).contains(&value) {
                    return Err(Broken(*fault));
                }
                self.set_priority(pid, value as u8);
            }
        }
        Ok(())
    }

    fn assign(&mut self, me: Process, place: &Place, value: ExprId) -> Result<(), Broken> {
        self.look(me, value);
        let view = self.view(me);
        let result = view.value(value)?;
        let at = view.address(place)?;
        let spans = &self.interpreter.program.value_spans;
        self.store(place.kind, at, result, || spans.get(&value));
        self.look_at(place.kind, at);
        Ok(())
    }

    /// Starts a process, if there is room for it and its channels.
    fn run(
        &mut self,
        me: Process,
        index: ProctypeIndex,
        arguments: ArgumentRange,
        priority: u8,
        fault: FaultId,
    ) -> Result<(), Broken> {
        self.look_all(me, arguments);
        let values = self.view(me).values(arguments)?;
        let program = &self.interpreter.program;
        let proctype = &program.proctypes[usize::from(index.0)];
        let channels = channel::count(program, self.state) + proctype.frame.channels.len();
        if self.state[1] == 255 || channels > 255 {
            return Err(Broken(fault));
        }
        let passed = program.arguments[arguments.indices()].iter().zip(&values);
        for ((argument, value), place) in passed.zip(&proctype.parameters) {
            self.note(place.kind, *value, || program.value_spans.get(argument));
        }
        self.create(index, &values, priority)
    }

    /// Executes a piece of C.
    fn fragment(&mut self, me: Process, fragment: &FragmentRef) -> Result<(), Broken> {
        let program = &self.interpreter.program;
        let mirror = program.embedded.as_ref().ok_or(Broken(fragment.fault))?;
        let output = self.witness.printed.as_mut().filter(|out| out.len() < MOST_PRINTED);
        let seen = seen_by_c(mirror, program, self.state, Some(me));
        let executor = Some(me.executor());
        match mirror.execute(fragment.fragment, self.state, executor, &seen, output) {
            Ok(()) => {}
            Err(Ending::Reported) => self.require(false, fragment.fault_of(Ending::Reported)),
            Err(ending) => return Err(Broken(fragment.fault_of(ending))),
        }
        Ok(())
    }

    fn set_priority(&mut self, pid: i32, priority: u8) {
        let program = &self.interpreter.program;
        if let Ok(pid) = usize::try_from(pid)
            && let Some(process) = Process::find(program, self.state, pid)
        {
            self.state[process.base + 1 + program.layout.pc_width as usize] = priority;
        }
    }

    /// Stores a value, and notes when it does not fit.
    fn store(
        &mut self,
        kind: ValueKind,
        at: usize,
        value: i32,
        span: impl FnOnce() -> Option<&'a Span>,
    ) {
        self.note(kind, value, span);
        kind.store(self.state, at, value);
    }

    fn note(&mut self, kind: ValueKind, value: i32, span: impl FnOnce() -> Option<&'a Span>) {
        let kept = kind.cut(value);
        if kept != value
            && let Some(truncations) = &mut self.witness.truncations
            && truncations.len() < MOST_TRUNCATIONS
        {
            let (file, line) = self.interpreter.place(span().copied().unwrap_or_default());
            truncations.push(Truncation { file, line, value, kept, bits: kind.bits() });
        }
    }

    fn note_sent(&mut self, channel: u32, values: ArgumentRange, sent: &[i32]) {
        let program = &self.interpreter.program;
        let Some(channel) = channel::by_id(program, self.state, channel as i32) else { return };
        let arguments = program.arguments[values.indices()].iter();
        for (((field, _), value), argument) in channel.kind.fields.iter().zip(sent).zip(arguments) {
            self.note(*field, *value, || program.value_spans.get(argument));
        }
    }

    /// A process of a `D_proctype` has one move at most: when one that comes before this one was enabled
    /// as well, that is a violation, as in Spin.
    fn check_determinism(&mut self, me: Process, step: Step) {
        let program = &self.interpreter.program;
        let fault_of = |process: Process| program.proctypes[process.proctype].deterministic;
        let partner = step.partner.and_then(|p| Process::find(program, self.state, p.index()));
        let (mine, partners) = (fault_of(me), partner.and_then(fault_of));
        if mine.is_none() && partners.is_none() {
            return;
        }
        for timeout in [false, true] {
            let mut enabled = Enabled::new();
            self.interpreter.enabled_of(self.state, step.process, timeout, &mut enabled);
            let Some(at) =
                enabled.steps().iter().position(|s| Step { choice: step.choice, ..*s } == step)
            else {
                continue;
            };
            for earlier in &enabled.steps()[..at] {
                let fault = if earlier.transition != step.transition {
                    mine
                } else if earlier.partner == step.partner {
                    partners
                } else {
                    None
                };
                self.violated = self.violated.or(fault);
            }
            return;
        }
    }

    /// Adds a process at the end of the vector.
    fn create(
        &mut self,
        index: ProctypeIndex,
        arguments: &[i32],
        priority: u8,
    ) -> Result<(), Broken> {
        let program = &self.interpreter.program;
        let proctype = &program.proctypes[usize::from(index.0)];
        let first_channel = channel::count(program, self.state);
        let base = self.state.len();
        self.state.extend_from_slice(&proctype.initial_frame);
        self.state[base] = index.0;
        write_pc(self.state, base + 1, program.layout.pc_width, proctype.entry.0);
        if program.layout.has_priorities {
            self.state[base + 1 + program.layout.pc_width as usize] = priority;
        }
        self.state[1] += 1;
        for (place, value) in proctype.parameters.iter().zip(arguments) {
            place.kind.store(self.state, base + place.offset as usize, *value);
        }
        for (number, cell) in proctype.frame.channel_cells.iter().enumerate() {
            self.state[base + *cell as usize] = (first_channel + number + 1) as u8;
        }
        let me = self.process(usize::from(self.state[1]) - 1)?;
        self.ops(me, &proctype.on_start)
    }

    /// Notes when a process uses a channel that another one claims for itself.
    fn check_promises(&mut self, me: Process, channel: u32, receive: bool) {
        if !self.interpreter.checks_promises {
            return;
        }
        let program = &self.interpreter.program;
        for other in processes(program, self.state).filter(|p| p.id != me.id) {
            for promise in &program.proctypes[other.proctype].promises {
                let claimed = View::of(program, self.state, other).channel(&promise.channel);
                if promise.receive == receive && claimed.is_ok_and(|c| c.id == channel) {
                    self.violated.get_or_insert(promise.fault);
                }
            }
        }
    }

    /// Notes when a condition looks at a channel that another process claims for itself. As in Spin
    /// `nempty` is like a receive and `nfull` like a send; whatever else says how many messages
    /// there are is like both.
    fn check_looks(&mut self, me: Process, condition: ExprId) {
        let program = &self.interpreter.program;
        let (channel, sides) = match program.expr(condition) {
            Expr::Unary(_, a) => return self.check_looks(me, *a),
            Expr::Binary(_, a, b) => {
                self.check_looks(me, *a);
                return self.check_looks(me, *b);
            }
            Expr::ChannelTest(ChannelTest::NotEmpty, channel) => (channel, &[true][..]),
            Expr::ChannelTest(ChannelTest::NotFull, channel) => (channel, &[false][..]),
            Expr::Length(channel) | Expr::ChannelTest(_, channel) | Expr::Poll { channel, .. } => {
                (channel, &[true, false][..])
            }
            _ => return,
        };
        let found = self.view(me).channel(channel).map(|channel| channel.id);
        if let Ok(id) = found {
            sides.iter().for_each(|&receive| self.check_promises(me, id, receive));
        }
    }

    /// Shows an event to the trace automaton.
    pub(super) fn event(&mut self, receive: bool, channel: u32, message: &[i32]) {
        let program = &self.interpreter.program;
        let (Some(trace), Some(at)) = (&program.trace, program.layout.trace_offset) else {
            return;
        };
        let watched = if receive { &trace.watched_receives } else { &trace.watched_sends };
        if !watched.contains(&channel) {
            return;
        }
        let at = at as usize;
        let now = self.state[at];
        let view = View::outside(program, self.state);
        let taken = trace.states[usize::from(now)].transitions.iter().find(|t| {
            t.channel == channel
                && t.receive == receive
                && Some(now) != trace.end
                && view.matches(t.pattern, |f| field(message, f)).unwrap_or(false)
        });
        match (taken, trace.negated) {
            (Some(transition), negated) => {
                self.state[at] = transition.target;
                if negated && Some(transition.target) == trace.end {
                    self.violated.get_or_insert(trace.fault);
                }
            }
            // Only the first mismatch counts: a notrace automaton gives up for good.
            (None, true) => self.state[at] = trace.end.unwrap_or(now),
            (None, false) => {
                self.violated.get_or_insert(trace.fault);
            }
        }
    }
}

fn field(message: &[i32], at: usize) -> i32 {
    message.get(at).copied().unwrap_or(0)
}
