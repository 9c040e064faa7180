//! The objects of a program, and which of them a step touches.

use super::usage::{Found, Usage};
use crate::ir::{
    ArgumentRange, Block, BlockGuard, ChannelRef, ControlState, Expr, ExprId, Move, MoveKind, Op,
    Pattern, PatternRange, Place, Program, Space,
};
use crate::model::ChannelTest;
use preempt_core::{Footprint, ObjectSet};
use std::collections::HashMap;

/// The set of live processes.
pub(super) const PROCESSES: usize = 0;

/// Any channel that is found at run time, or belongs to a process.
pub(super) const OTHER_CHANNELS: usize = 1;

/// The last mover.
pub(super) const LAST: usize = 2;

pub(super) const FIRST_FREE: usize = 3;

/// Numbers for everything that is shared.
pub(super) struct Objects<'p> {
    pub(super) program: &'p Program,
    /// By offset in the global part: the object of the cell that starts there.
    cells: HashMap<u32, usize>,
    pub(super) first_channel: usize,
    first_type: usize,
    /// Some expression reads locals of another process.
    reads_locals: bool,
    /// Some rendezvous is sent in the middle of an indivisible sequence.
    meets_inside: bool,
}

impl<'p> Objects<'p> {
    pub(super) fn of(program: &'p Program) -> Self {
        let mut cells = HashMap::new();
        let mut next = FIRST_FREE;
        for offset in 0..program.layout.globals_end {
            // One object per byte: a wider value takes the one it starts at.
            cells.insert(offset, next);
            next += 1;
        }
        let first_channel = next;
        let first_type = first_channel + program.layout.channels.len();
        let reads_locals = program.exprs.iter().any(|e| matches!(e, Expr::RemoteLoad { .. }));
        let meets_inside = meets_inside(program);
        Objects { program, cells, first_channel, first_type, reads_locals, meets_inside }
    }

    /// The channels that may be meant, by number: the global ones, and behind them one number for all
    /// others.
    fn channels_of(&self, channel: &ChannelRef) -> std::ops::RangeInclusive<usize> {
        let others = self.program.layout.channels.len();
        match channel {
            ChannelRef::Global(index) => *index as usize..=*index as usize,
            ChannelRef::Own(_) => others..=others,
            ChannelRef::Dynamic { .. } => 0..=others,
        }
    }

    /// The number of a channel of a state, given by its id.
    pub(super) fn channel_number(&self, id: u32) -> usize {
        (id as usize).saturating_sub(1).min(self.program.layout.channels.len())
    }

    /// What would have to change for an expression to have another value: objects, and channels by
    /// number.
    pub(super) fn of_expression(&self, expression: ExprId) -> (ObjectSet, Vec<usize>) {
        let mut out = Touch::default();
        self.read(expression, &mut out);
        (out.footprint.reads, out.uses.into_iter().map(|(channel, _)| channel).collect())
    }

    /// Whether the object is a channel, or all that are not global.
    pub(super) fn is_channel(&self, object: usize) -> bool {
        object == OTHER_CHANNELS || (self.first_channel..self.first_type).contains(&object)
    }

    /// The first number that no object has.
    pub(super) fn end(&self) -> usize {
        self.locals_of(self.program.proctypes.len())
    }

    fn control_of(&self, proctype: usize) -> usize {
        self.first_type + 2 * proctype
    }

    fn locals_of(&self, proctype: usize) -> usize {
        self.first_type + 2 * proctype + 1
    }

    pub(super) fn of_propositions(&self) -> Option<ObjectSet> {
        let mut out = Touch::default();
        // `np_` looks at labels, and steps to and from labels are visible anyway; only a process
        // that starts at one brings it along.
        let starts_at_label =
            self.program.proctypes.iter().any(|declaration| {
                declaration.states[usize::from(declaration.entry.0)].is_progress
            });
        for e in &self.program.propositions {
            let is_np = matches!(self.program.expr(*e), Expr::NonProgress);
            if !is_np || starts_at_label {
                self.read(*e, &mut out);
            }
        }
        (!out.unknown).then_some(out.footprint.reads)
    }

    pub(super) fn of_move(&self, at: usize) -> Option<Footprint> {
        let mut out = self.of_itself(at, Precision::Static);
        for other in self.looked_at_by(at) {
            let other = self.of_itself(other, Precision::Static);
            out.unknown |= other.unknown;
            out.footprint.reads.union_with(&other.footprint.reads);
            out.footprint.reads.union_with(&other.footprint.writes);
        }
        (!out.unknown).then_some(out.footprint)
    }

    /// The moves of the same control state that must be disabled for a move to be enabled: an `else` is
    /// enabled when the others are not, and another process may enable an escape and so disable a move
    /// that is none.
    pub(super) fn looked_at_by(&self, at: usize) -> Vec<usize> {
        let step = &self.program.moves[at];
        let declaration = &self.program.proctypes[usize::from(step.proctype.0)];
        let moves = &declaration.states[usize::from(step.source.0)].moves;
        let is_else = |id: usize| matches!(self.program.moves[id].kind, MoveKind::Else);
        let is_escape = |id: usize| self.program.moves[id].escape != 0;
        let others = || moves.iter().map(|id| id.0 as usize).filter(|id| *id != at);
        let escapable = step.escape == 0;
        let looks_at_all =
            is_else(at) || escapable && others().any(|id| is_escape(id) && is_else(id));
        others().filter(|id| looks_at_all || escapable && is_escape(*id)).collect()
    }

    /// What a move touches, other moves of its control state aside.
    pub(super) fn of_itself(&self, at: usize, precision: Precision) -> Touch {
        let step = &self.program.moves[at];
        let proctype = usize::from(step.proctype.0);
        let declaration = &self.program.proctypes[proctype];
        let mut out = Touch { precision, ..Touch::default() };
        if let Some(provided) = declaration.provided {
            self.read(provided, &mut out);
        }
        match &step.kind {
            MoveKind::Plain { guard } => self.read(*guard, &mut out),
            MoveKind::Else => {}
            MoveKind::Send { channel, values, sorted, .. } => {
                let usage = if *sorted { Usage::Everything } else { Usage::Send };
                self.send(channel, usage, *values, &mut out);
            }
            MoveKind::Receive { channel, pattern, random, .. } => {
                let usage = if *random { Usage::Everything } else { Usage::Receive };
                self.receive(channel, usage, *pattern, proctype, &mut out);
                out.precision = Precision::Static;
            }
            MoveKind::Compound { blocks, .. } => {
                out.precision = Precision::Static;
                self.blocks(blocks, proctype, &mut out);
            }
            MoveKind::End => {
                out.write(PROCESSES);
                out.write(OTHER_CHANNELS);
            }
        }
        self.ops(&step.ops, proctype, &mut out);
        let source = &declaration.states[usize::from(step.source.0)];
        let target = declaration.states.get(usize::from(step.target.0));
        if source.is_observed || target.is_some_and(|t| t.is_observed) {
            out.write(self.control_of(proctype));
        }
        if self.program.layout.last_offset.is_some() {
            out.write(LAST);
        }
        // Whether a process stands where a rendezvous is answered decides where a sequence is interrupted.
        let answers = |state: &ControlState| {
            state.moves.iter().any(|id| may_answer(self.program.move_of(*id)))
        };
        out.unknown |= self.meets_inside && target.is_some_and(answers);
        out
    }

    fn blocks(&self, blocks: &[Block], proctype: usize, out: &mut Touch) {
        for option in blocks.iter().flat_map(|b| &b.options) {
            match &option.kind {
                BlockGuard::Else => out.unknown = true,
                BlockGuard::Condition(e) => self.read(*e, out),
                BlockGuard::Send { channel, values, .. } => {
                    self.send(channel, Usage::Everything, *values, out);
                }
                BlockGuard::Receive { channel, pattern, .. } => {
                    self.receive(channel, Usage::Everything, *pattern, proctype, out);
                }
            }
            self.ops(&option.ops, proctype, out);
        }
    }

    fn ops(&self, ops: &[Op], proctype: usize, out: &mut Touch) {
        for op in ops {
            match op {
                Op::Store { place, value } => {
                    self.read(*value, out);
                    self.write(place, proctype, out);
                    out.precision = Precision::Static;
                }
                Op::Evaluate { value } | Op::PrintName { value } => self.read(*value, out),
                Op::Assert { condition, .. } => self.read(*condition, out),
                Op::Run { proctype, arguments, .. } => {
                    self.arguments(*arguments, out);
                    // What follows is described in the words of another process.
                    out.precision = Precision::Static;
                    out.write(PROCESSES);
                    out.write(OTHER_CHANNELS);
                    let started = &self.program.proctypes[usize::from(proctype.0)];
                    self.ops(&started.on_start, usize::from(proctype.0), out);
                }
                Op::Print { arguments, .. } => self.arguments(*arguments, out),
                Op::SetPriority { .. } | Op::Fragment(_) => out.unknown = true,
            }
        }
    }

    fn arguments(&self, range: ArgumentRange, out: &mut Touch) {
        for e in &self.program.arguments[range.indices()] {
            self.read(*e, out);
        }
    }

    fn send(&self, channel: &ChannelRef, usage: Usage, values: ArgumentRange, out: &mut Touch) {
        self.channel(channel, usage, out);
        self.arguments(values, out);
    }

    fn receive(
        &self,
        channel: &ChannelRef,
        usage: Usage,
        pattern: PatternRange,
        proctype: usize,
        out: &mut Touch,
    ) {
        self.channel(channel, usage, out);
        for part in &self.program.patterns[pattern.indices()] {
            match part {
                Pattern::Store(place) => {
                    let precision = std::mem::replace(&mut out.precision, Precision::Static);
                    self.write(place, proctype, out);
                    out.precision = precision;
                }
                Pattern::Match(e) => self.read(*e, out),
                Pattern::Ignore => {}
            }
        }
    }

    fn channel(&self, channel: &ChannelRef, usage: Usage, out: &mut Touch) {
        let touch = |object: usize, out: &mut Touch| match usage.writes() {
            true => out.write(object),
            false => out.read(object),
        };
        out.uses.extend(self.channels_of(channel).map(|channel| (channel, usage)));
        let dynamic = out.precision == Precision::Dynamic;
        match channel {
            ChannelRef::Own(_) => touch(OTHER_CHANNELS, out),
            _ if dynamic => out.found.push(Found::Channel(channel.clone(), usage)),
            ChannelRef::Global(index) => touch(self.first_channel + *index as usize, out),
            ChannelRef::Dynamic { .. } => {
                touch(OTHER_CHANNELS, out);
                for index in 0..self.program.layout.channels.len() {
                    touch(self.first_channel + index, out);
                }
            }
        }
        if let ChannelRef::Dynamic { id, .. } = channel {
            self.read(*id, out);
        }
        if self.program.trace.is_some() {
            out.unknown = true;
        }
    }

    /// The cells of the global part that a place can be, with their offsets.
    pub(super) fn cells_at(&self, place: &Place) -> Vec<(u32, usize)> {
        let mut offsets = vec![place.offset];
        for index in &place.indices {
            offsets = offsets
                .iter()
                .flat_map(|o| (0..index.length).map(move |i| o + i * index.stride))
                .collect();
        }
        offsets.iter().filter_map(|o| Some((*o, *self.cells.get(o)?))).collect()
    }

    fn cells(&self, place: &Place, writes: bool, out: &mut Touch) {
        if out.precision == Precision::Dynamic && !place.indices.is_empty() {
            out.found.push(Found::Cell(place.clone(), writes));
            return;
        }
        for (_, object) in self.cells_at(place) {
            match writes {
                true => out.write(object),
                false => out.read(object),
            }
        }
    }

    fn write(&self, place: &Place, proctype: usize, out: &mut Touch) {
        for index in &place.indices {
            self.read(index.value, out);
        }
        match place.space {
            Space::Global => self.cells(place, true, out),
            Space::Local if self.reads_locals => out.write(self.locals_of(proctype)),
            Space::Local => {}
        }
    }

    fn read(&self, e: ExprId, out: &mut Touch) {
        match self.program.expr(e) {
            Expr::Const(_) | Expr::Pid => {}
            Expr::Load(place) => {
                for index in &place.indices {
                    self.read(index.value, out);
                }
                if place.space == Space::Global {
                    self.cells(place, false, out);
                }
            }
            Expr::Unary(_, a) => self.read(*a, out),
            Expr::Binary(_, a, b) | Expr::Divide { dividend: a, divisor: b, .. } => {
                self.read(*a, out);
                self.read(*b, out);
            }
            Expr::Conditional(a, b, c) => [a, b, c].iter().for_each(|e| self.read(**e, out)),
            Expr::Bounded(index) => self.read(index.value, out),
            Expr::Length(channel) => self.channel(channel, Usage::Length, out),
            Expr::ChannelTest(ChannelTest::Empty | ChannelTest::NotEmpty, channel) => {
                self.channel(channel, Usage::IsEmpty, out);
            }
            Expr::ChannelTest(ChannelTest::Full | ChannelTest::NotFull, channel) => {
                self.channel(channel, Usage::IsFull, out);
            }
            Expr::Poll { channel, pattern, random, .. } => {
                let usage = if *random { Usage::Length } else { Usage::First };
                self.channel(channel, usage, out);
                for part in &self.program.patterns[pattern.indices()] {
                    if let Pattern::Match(e) = part {
                        self.read(*e, out);
                    }
                }
            }
            Expr::ProcessCount => out.read(PROCESSES),
            Expr::LastMover => out.read(LAST),
            Expr::At { proctype, pid, .. } => {
                out.read(self.control_of(usize::from(proctype.0)));
                out.read(PROCESSES);
                if let Some(pid) = pid {
                    self.read(*pid, out);
                }
            }
            Expr::RemoteLoad { proctype, pid, place } => {
                out.read(self.locals_of(usize::from(proctype.0)));
                out.read(PROCESSES);
                if let Some(pid) = pid {
                    self.read(*pid, out);
                }
                for index in &place.indices {
                    self.read(index.value, out);
                }
            }
            // Where two processes can move there is no timeout, neither before one of them moves nor after.
            Expr::Timeout if out.precision == Precision::Dynamic => {}
            Expr::Enabled(_)
            | Expr::PcValue(_)
            | Expr::PriorityOf(_)
            | Expr::Timeout
            | Expr::Fragment(_)
            | Expr::NonProgress => out.unknown = true,
        }
    }
}

/// Whether the move may answer a rendezvous.
pub(super) fn may_answer(step: &Move) -> bool {
    match &step.kind {
        MoveKind::Receive { .. } => true,
        MoveKind::Compound { blocks, .. } => blocks
            .iter()
            .flat_map(|block| &block.options)
            .any(|option| matches!(option.kind, BlockGuard::Receive { .. })),
        _ => false,
    }
}

/// Whether a rendezvous may be sent in the middle of an indivisible sequence, which is interrupted where
/// no process answers.
fn meets_inside(program: &Program) -> bool {
    let inside = |proctype, pc| {
        let leads =
            |step: &Move| step.keeps_control && step.proctype == proctype && step.target == pc;
        program.moves.iter().any(leads)
    };
    let sends = |step: &&Move| matches!(step.kind, MoveKind::Send { .. });
    program.uses_rendezvous
        && program.moves.iter().filter(sends).any(|step| inside(step.proctype, step.source))
}

/// How exactly elements of arrays and channels in variables are known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Precision {
    /// As all that they can be.
    #[default]
    Static,
    /// By what finds them in the state before the step, for as long as the step has changed nothing.
    Dynamic,
}

#[derive(Default)]
pub(super) struct Touch {
    pub(super) footprint: Footprint,
    pub(super) found: Vec<Found>,
    pub(super) unknown: bool,
    /// What is used of channels, each as [`Objects::channels_of`] numbers it.
    pub(super) uses: Vec<(usize, Usage)>,
    precision: Precision,
}

impl Touch {
    fn read(&mut self, object: usize) {
        self.footprint.reads.insert(object);
    }

    fn write(&mut self, object: usize) {
        self.footprint.writes.insert(object);
    }
}
