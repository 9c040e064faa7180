//! Which control states have moves that no other process can notice in any way.
//!
//! Spin's rules for what is safe look at the data that a move touches. Four things change with moves that
//! touch no data: `_last` and what `enabled` and `pc_value` tell with every move, `_nr_pr` where a process
//! begins or ends, and which process gets which `_pid` where several start processes. Where a model looks at
//! these, such moves are not safe; Spin overlooks that, and misses violations.
//!
//! The same holds for every step where C may use the memory of other processes.
//!
//! A fifth thing is where an indivisible sequence is interrupted. A send by a channel's only sender commutes
//! with everything, unless the receiver waits for it in the middle of such a sequence: sent early, the
//! message keeps the others from ever moving in between. Where the rest of the sequence touches what they
//! touch they could tell, and the send is not safe (nor a receive that makes room, nor arriving
//! where a rendezvous is received). Spin overlooks that as well.
//!
//! A move on local data commutes with everything. Searches that count preemptions ask for more:
//! that it enables no process either, because then a process that was blocked, and could be left for
//! free, no longer is. A local move can enable a process in three ways: by arriving where a rendezvous
//! is received (the sender can move then), by leaving no process that could move (a `timeout` becomes
//! true), and by making room for processes of lower priority. An indivisible sequence is local only if
//! all of it is.

use crate::ir::{
    BlockGuard, ChannelRef, ControlState, Expr, ExprId, Move, MoveId, MoveKind, Op, Pattern, Place,
    ProctypeIndex, Program, Safety, Space,
};
use std::collections::HashSet;

/// Takes the promise of strict locality back where it does not hold.
pub(super) fn restrict(program: &mut Program) {
    let never = program.uses_timeout || program.layout.has_priorities;
    for proctype in 0..program.proctypes.len() {
        let states = &program.proctypes[proctype].states;
        let local: Vec<bool> = (0..states.len())
            .map(|at| !never && is_local(program, proctype, at, &mut vec![false; states.len()]))
            .collect();
        for (state, is_local) in program.proctypes[proctype].states.iter_mut().zip(local) {
            if let Safety::Safe { local, .. } = &mut state.safety {
                *local &= is_local;
            }
        }
    }
}

/// Takes the promise of safety back where a move is noticed that touches no data. `counted`: the model
/// looks at `_nr_pr`.
pub(super) fn restrict_noticed(program: &mut Program, counted: bool) {
    let c_reaches = program.embedded.as_ref().is_some_and(|mirror| mirror.reaches_others);
    if c_reaches || program.notices_every_step() {
        return program.take_nothing_for_safe();
    }
    if !(counted || numbers_vary(program) && numbers_matter(program)) {
        return;
    }
    let changes_count: Vec<bool> = program.moves.iter().map(changes_count).collect();
    for state in program.proctypes.iter_mut().flat_map(|proctype| &mut proctype.states) {
        if state.moves.iter().any(|id| changes_count[id.0 as usize]) {
            state.safety = Safety::Unsafe;
        }
    }
}

/// What the interruption of a sequence may wait for.
#[derive(Clone, Debug, PartialEq)]
enum Wait {
    /// A message.
    Sends(ChannelRef),
    /// Room for one, or a process that takes it at once.
    Receives(ChannelRef),
}

/// Takes the promise of safety back where a move decides whether an indivisible sequence is interrupted,
/// and others could tell.
pub(super) fn restrict_interrupting(program: &mut Program) {
    let waits: Vec<Wait> = (0..program.proctypes.len()).flat_map(|p| waits(program, p)).collect();
    if waits.is_empty() {
        return;
    }
    let ends_wait = |step: &Move| {
        waits.iter().any(|wait| match (wait, &step.kind) {
            (Wait::Sends(a), MoveKind::Send { channel: b, .. })
            | (Wait::Receives(a), MoveKind::Receive { channel: b, .. }) => may_be_one(a, b),
            (_, MoveKind::Compound { .. }) => true,
            _ => false,
        })
    };
    let meets = waits.iter().any(|wait| matches!(wait, Wait::Receives(_)));
    let unsafe_states: Vec<Vec<bool>> = program
        .proctypes
        .iter()
        .map(|proctype| {
            let is_unsafe = |state: &ControlState| {
                state.moves.iter().any(|id| {
                    let step = program.move_of(*id);
                    let target = proctype.states.get(usize::from(step.target.0));
                    let arrives =
                        meets && target.is_some_and(|target| receives(program, &target.moves));
                    arrives || ends_wait(step)
                })
            };
            proctype.states.iter().map(is_unsafe).collect()
        })
        .collect();
    for (proctype, list) in program.proctypes.iter_mut().zip(unsafe_states) {
        for (state, is_unsafe) in proctype.states.iter_mut().zip(list) {
            if is_unsafe {
                state.safety = Safety::Unsafe;
            }
        }
    }
}

/// What sequences of a process type wait for in their middle, where others could tell.
fn waits(program: &Program, proctype: usize) -> Vec<Wait> {
    let states = &program.proctypes[proctype].states;
    let mut inside = vec![false; states.len()];
    for step in program.moves.iter().filter(|step| usize::from(step.proctype.0) == proctype) {
        if step.keeps_control {
            inside[usize::from(step.target.0)] = true;
        }
    }
    let mut waits = Vec::new();
    for at in (0..states.len()).filter(|at| inside[*at]) {
        if !touches_shared(program, proctype, at, &mut vec![false; states.len()]) {
            continue;
        }
        for id in &states[at].moves {
            match &program.move_of(*id).kind {
                MoveKind::Send { channel, .. } => waits.push(Wait::Receives(channel.clone())),
                MoveKind::Receive { channel, .. } => waits.push(Wait::Sends(channel.clone())),
                MoveKind::Plain { guard } => tested(program, *guard, &mut waits),
                MoveKind::Compound { blocks, .. } => {
                    for option in blocks.iter().flat_map(|block| &block.options) {
                        match &option.kind {
                            BlockGuard::Send { channel, .. } => {
                                waits.push(Wait::Receives(channel.clone()));
                            }
                            BlockGuard::Receive { channel, .. } => {
                                waits.push(Wait::Sends(channel.clone()));
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }
    waits
}

/// The channels that an expression asks about.
fn tested(program: &Program, guard: ExprId, waits: &mut Vec<Wait>) {
    match program.expr(guard) {
        Expr::Unary(_, a) => tested(program, *a, waits),
        Expr::Binary(_, a, b) => [a, b].iter().for_each(|e| tested(program, **e, waits)),
        Expr::Conditional(a, b, c) => {
            [a, b, c].iter().for_each(|e| tested(program, **e, waits));
        }
        Expr::Length(channel) | Expr::ChannelTest(_, channel) | Expr::Poll { channel, .. } => {
            waits.push(Wait::Sends(channel.clone()));
            waits.push(Wait::Receives(channel.clone()));
        }
        _ => {}
    }
}

/// Whether a sequence, from a control state in its middle on, touches what is not promised to it.
fn touches_shared(program: &Program, proctype: usize, at: usize, seen: &mut [bool]) -> bool {
    if std::mem::replace(&mut seen[at], true) {
        return false;
    }
    let state = &program.proctypes[proctype].states[at];
    let sharing = Sharing { program, proctype };
    state.is_observed
        || state.moves.iter().any(|id| {
            let step = program.move_of(*id);
            let target = usize::from(step.target.0);
            sharing.step(step)
                || step.keeps_control && touches_shared(program, proctype, target, seen)
        })
}

/// What processes of a type share with others.
struct Sharing<'p> {
    program: &'p Program,
    proctype: usize,
}

impl Sharing<'_> {
    fn step(&self, step: &Move) -> bool {
        let kind = match &step.kind {
            MoveKind::Plain { guard } => self.expr(*guard),
            MoveKind::Else => false,
            MoveKind::Send { channel, values, .. } => {
                let values = &self.program.arguments[values.indices()];
                !self.promised(channel, false) || values.iter().any(|e| self.expr(*e))
            }
            MoveKind::Receive { channel, pattern, .. } => {
                let parts = &self.program.patterns[pattern.indices()];
                !self.promised(channel, true)
                    || parts.iter().any(|part| match part {
                        Pattern::Store(place) => self.place(place),
                        Pattern::Match(e) => self.expr(*e),
                        Pattern::Ignore => false,
                    })
            }
            MoveKind::Compound { .. } | MoveKind::End => true,
        };
        kind || step.ops.iter().any(|op| match op {
            Op::Store { place, value } => self.place(place) || self.expr(*value),
            Op::Evaluate { value } | Op::PrintName { value } => self.expr(*value),
            Op::Assert { condition, .. } => self.expr(*condition),
            Op::Print { arguments, .. } => {
                self.program.arguments[arguments.indices()].iter().any(|e| self.expr(*e))
            }
            Op::Run { .. } | Op::SetPriority { .. } | Op::Fragment(_) => true,
        })
    }

    fn place(&self, place: &Place) -> bool {
        place.space == Space::Global || place.indices.iter().any(|index| self.expr(index.value))
    }

    fn expr(&self, expr: ExprId) -> bool {
        match self.program.expr(expr) {
            Expr::Const(_) | Expr::Pid => false,
            Expr::Load(place) => self.place(place),
            Expr::Unary(_, a) => self.expr(*a),
            Expr::Binary(_, a, b) | Expr::Divide { dividend: a, divisor: b, .. } => {
                self.expr(*a) || self.expr(*b)
            }
            Expr::Conditional(a, b, c) => [a, b, c].iter().any(|e| self.expr(**e)),
            Expr::Bounded(index) => self.expr(index.value),
            _ => true,
        }
    }

    /// Whether processes of this type have the receiving or the sending side of a channel to themselves.
    fn promised(&self, channel: &ChannelRef, receive: bool) -> bool {
        let load = |channel: &ChannelRef| match channel {
            ChannelRef::Dynamic { id, .. } => match self.program.expr(*id) {
                Expr::Load(place) => Some(place.clone()),
                _ => None,
            },
            _ => None,
        };
        self.program.proctypes[self.proctype].promises.iter().any(|promise| {
            promise.receive == receive
                && (promise.channel == *channel
                    || load(channel).is_some() && load(channel) == load(&promise.channel))
        })
    }
}

fn may_be_one(a: &ChannelRef, b: &ChannelRef) -> bool {
    match (a, b) {
        (ChannelRef::Global(a), ChannelRef::Global(b)) => a == b,
        _ => true,
    }
}

/// The process types that a move starts, once for each `run`.
fn started(step: &Move) -> impl Iterator<Item = ProctypeIndex> + '_ {
    all_ops(step).filter_map(|op| match op {
        Op::Run { proctype, .. } => Some(*proctype),
        _ => None,
    })
}

/// What a move does, in whatever order.
fn all_ops(step: &Move) -> impl Iterator<Item = &Op> + '_ {
    let blocks = match &step.kind {
        MoveKind::Compound { blocks, .. } => blocks.as_slice(),
        _ => &[],
    };
    let inside = blocks.iter().flat_map(|block| &block.options).flat_map(|option| &option.ops);
    step.ops.iter().chain(inside)
}

/// Whether the number of a process may depend on the order of steps: the number of the last process is free again when that
/// has come to its end.
fn numbers_vary(program: &Program) -> bool {
    let runs = |proctype: ProctypeIndex| {
        let own = program.moves.iter().filter(move |step| step.proctype == proctype);
        own.flat_map(started)
    };
    let can_end = |proctype: ProctypeIndex| {
        let mut own = program.moves.iter().filter(|step| step.proctype == proctype);
        own.any(|step| matches!(step.kind, MoveKind::End))
    };
    let creators: Vec<usize> =
        (0..program.start.len()).filter(|at| runs(program.start[*at]).next().is_some()).collect();
    let mut all = program.moves.iter().flat_map(started);
    if creators.len() > 1 || all.any(|proctype| runs(proctype).next().is_some()) {
        return true;
    }
    creators.iter().any(|at| {
        let creator = program.start[*at];
        program.start[at + 1..].iter().any(|younger| can_end(*younger))
            || creates_apart(program, creator) && runs(creator).any(can_end)
    })
}

/// Whether a process of this type may be interrupted after it started one process and before it starts another one.
fn creates_apart(program: &Program, proctype: ProctypeIndex) -> bool {
    let states = &program.proctypes[usize::from(proctype.0)].states;
    let goes_on = |at: usize| {
        states[at].moves.iter().any(|id| match &program.move_of(*id).kind {
            MoveKind::Else => true,
            MoveKind::Plain { guard } => {
                matches!(program.expr(*guard), Expr::Const(value) if *value != 0)
                    || started(program.move_of(*id)).next().is_some()
            }
            _ => false,
        })
    };
    let behind = |step: &Move, apart: bool| {
        let target = usize::from(step.target.0);
        (target, apart || !step.keeps_control || !goes_on(target))
    };
    let own = program.moves.iter().filter(|step| step.proctype == proctype);
    let creating = own.filter(|step| started(step).next().is_some());
    let mut worklist: Vec<(usize, bool)> = creating.map(|step| behind(step, false)).collect();
    let mut known: HashSet<(usize, bool)> = worklist.iter().copied().collect();
    while let Some((at, apart)) = worklist.pop() {
        for step in states[at].moves.iter().map(|id| program.move_of(*id)) {
            if apart && started(step).next().is_some() {
                return true;
            }
            let next = behind(step, apart);
            if known.insert(next) {
                worklist.push(next);
            }
        }
    }
    false
}

/// Whether a verdict may depend on the number of a process. What is only printed does not count.
fn numbers_matter(program: &Program) -> bool {
    let printed: HashSet<ExprId> = program
        .moves
        .iter()
        .flat_map(all_ops)
        .filter_map(|op| match op {
            Op::Print { arguments, .. } => Some(&program.arguments[arguments.indices()]),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    let asks = |(at, e): (usize, &Expr)| match e {
        Expr::Pid => !printed.contains(&ExprId(at as u32)),
        // The value of a `run`.
        Expr::ProcessCount => true,
        Expr::At { pid, .. } | Expr::RemoteLoad { pid, .. } => pid.is_some(),
        _ => false,
    };
    program.embedded.is_some() || program.exprs.iter().enumerate().any(asks)
}

/// Whether the move begins or ends a process.
fn changes_count(step: &Move) -> bool {
    matches!(step.kind, MoveKind::End) || started(step).next().is_some()
}

/// Whether all moves from a control state, and all that follow them indivisibly, are local.
fn is_local(program: &Program, proctype: usize, at: usize, seen: &mut [bool]) -> bool {
    if std::mem::replace(&mut seen[at], true) {
        return true;
    }
    let states = &program.proctypes[proctype].states;
    matches!(states[at].safety, Safety::Safe { local: true, .. })
        && states[at].moves.iter().all(|id| {
            let step = program.move_of(*id);
            let target = usize::from(step.target.0);
            !receives(program, &states[target].moves)
                && (!step.keeps_control || is_local(program, proctype, target, seen))
        })
}

/// Whether one of the moves could answer a rendezvous.
fn receives(program: &Program, moves: &[MoveId]) -> bool {
    program.uses_rendezvous && moves.iter().any(|id| is_receive(program.move_of(*id)))
}

fn is_receive(step: &Move) -> bool {
    match &step.kind {
        MoveKind::Receive { .. } => true,
        MoveKind::Compound { blocks, .. } => blocks.first().is_some_and(|block| {
            block.options.iter().any(|option| matches!(option.kind, BlockGuard::Receive { .. }))
        }),
        _ => false,
    }
}
