//! What of a model does not matter to its properties: static slicing, backwards from assertions, claims and formulas.
//!
//! A move *matters* if it asserts something, if it changes something that matters, or if it decides whether a move behind it that matters
//! is made at all; and what it reads, matters. Everything else is redundant: without it the same assertions fail, the same claims and formulas
//! are violated by finite executions, and the same values of what they speak of are seen. Invalid end states, run-time errors and how long it takes
//! are not looked at.
//!
//! A choice decides nothing if it cannot block, all its options lead to the same next moves that matter, and there is no loop on
//! the way. Everything here errs on the side of what matters.

use super::{
    ArgumentRange, Block, BlockGuard, ChannelRef, Expr, ExprId, Move, MoveId, MoveKind, NamedValue,
    Op, Pattern, PatternRange, Pc, Place, Program, Space,
};
use std::collections::BTreeSet;

/// What no assertion, claim or formula depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redundant {
    /// Moves, in the order of [`Program::moves`].
    pub moves: Vec<MoveId>,
    /// Names of global variables and channels.
    pub globals: Vec<String>,
    /// Names of variables and channels of process types: index of the type, and name.
    pub locals: Vec<(usize, String)>,
}

/// Finds what is redundant in a program in which every statement is a move ([`LowerOptions::plain`](super::LowerOptions::plain)); the error
/// says why everything matters.
pub fn redundant(program: &Program) -> Result<Redundant, &'static str> {
    let mut slice = Slice::new(program);
    slice.follow();
    match slice.everything {
        Some(why) => Err(why),
        None => Ok(slice.rest()),
    }
}

impl Redundant {
    /// Takes the redundant moves out of a program: what is left of them is a step that does nothing.
    pub fn remove_from(&self, program: &mut Program) {
        let guard = program.add_expr(Expr::Const(1));
        for id in &self.moves {
            let action = &mut program.moves[id.0 as usize];
            action.ops.clear();
            if !matches!(action.kind, MoveKind::Else | MoveKind::End) {
                action.kind = MoveKind::Plain { guard };
            }
        }
    }
}

/// What is known to matter so far.
struct Slice<'p> {
    program: &'p Program,
    /// The bytes of the global part.
    globals: Vec<bool>,
    /// The bytes of the frames, by process type.
    locals: Vec<Vec<bool>>,
    /// The global channels, and behind them all others together.
    channels: Vec<bool>,
    /// Some channel is found at run time: what happens to one may happen to each.
    is_one_class: bool,
    moves: Vec<bool>,
    /// Process types of which processes have to be there.
    types: Vec<bool>,
    /// Process types of which it matters where the processes are.
    positions: Vec<bool>,
    everything: Option<&'static str>,
    grew: bool,
}

impl<'p> Slice<'p> {
    fn new(program: &'p Program) -> Self {
        let types = program.proctypes.len();
        let finds_channels = |channel: &ChannelRef| matches!(channel, ChannelRef::Dynamic { .. });
        let of_moves = program.moves.iter().flat_map(channels_of);
        let of_exprs = program.exprs.iter().filter_map(|expr| match expr {
            Expr::Length(channel) | Expr::ChannelTest(_, channel) | Expr::Poll { channel, .. } => {
                Some(channel)
            }
            _ => None,
        });
        let frames = program.proctypes.iter().map(|one| vec![false; one.frame.length as usize]);
        Slice {
            program,
            globals: vec![false; program.layout.globals_end as usize],
            locals: frames.collect(),
            channels: vec![false; program.layout.channels.len() + 1],
            is_one_class: of_moves.chain(of_exprs).any(finds_channels),
            moves: vec![false; program.moves.len()],
            types: vec![false; types],
            positions: vec![false; types],
            everything: None,
            grew: false,
        }
    }

    /// Goes on until nothing more is found that matters.
    fn follow(&mut self) {
        let program = self.program;
        if program.trace.is_some() {
            self.everything = Some("a trace automaton watches the order of all messages");
        } else if program.embedded.is_some() {
            self.everything = Some("C in the model may read and change everything");
        } else if program.layout.has_priorities {
            self.everything = Some("priorities decide which processes move");
        }
        let claims = program.claims.iter().flat_map(|claim| &claim.states);
        let in_claims = claims.flat_map(|state| &state.transitions).flat_map(|one| {
            one.proposition.into_iter().chain(one.asserts.iter().map(|(asserted, _)| *asserted))
        });
        for proposition in in_claims {
            self.read(program.propositions[proposition as usize], None);
        }
        for formula in &program.formulas {
            for proposition in &formula.propositions {
                self.read(program.propositions[*proposition as usize], None);
            }
        }
        loop {
            self.grew = false;
            for at in 0..program.moves.len() {
                if !self.moves[at] && self.changes_what_matters(&program.moves[at]) {
                    self.take(at);
                }
            }
            for proctype in 0..program.proctypes.len() {
                self.take_decisions(proctype);
            }
            if !self.grew || self.everything.is_some() {
                return;
            }
        }
    }

    fn changes_what_matters(&self, action: &Move) -> bool {
        let at = usize::from(action.proctype.0);
        let ops = |ops: &[Op]| {
            ops.iter().any(|op| match op {
                Op::Assert { .. } => true,
                Op::Store { place, .. } => self.matters(place, at),
                Op::Run { proctype, .. } => self.types[usize::from(proctype.0)],
                Op::Evaluate { .. } | Op::Print { .. } | Op::PrintName { .. } => false,
                Op::Fragment(_) | Op::SetPriority { .. } => true,
            })
        };
        let receives = |channel: &ChannelRef, copy: bool, pattern: PatternRange| {
            let stores = self.program.patterns[pattern.indices()].iter();
            let stored = |field: &Pattern| match field {
                Pattern::Store(place) => self.matters(place, at),
                Pattern::Match(_) | Pattern::Ignore => false,
            };
            !copy && self.channels[self.class_of(channel)] || stores.into_iter().any(stored)
        };
        let kind = match &action.kind {
            MoveKind::Plain { .. } | MoveKind::Else => false,
            MoveKind::Send { channel, .. } => self.channels[self.class_of(channel)],
            MoveKind::Receive { channel, copy, pattern, .. } => receives(channel, *copy, *pattern),
            MoveKind::Compound { blocks, .. } => {
                blocks.iter().flat_map(|block| &block.options).any(|option| {
                    ops(&option.ops)
                        || match &option.kind {
                            BlockGuard::Else | BlockGuard::Condition(_) => false,
                            BlockGuard::Send { channel, .. } => {
                                self.channels[self.class_of(channel)]
                            }
                            BlockGuard::Receive { channel, copy, pattern, .. } => {
                                receives(channel, *copy, *pattern)
                            }
                        }
                })
            }
            MoveKind::End => self.positions[at],
        };
        kind || ops(&action.ops)
    }

    /// A move matters, with all that it reads.
    fn take(&mut self, at: usize) {
        if std::mem::replace(&mut self.moves[at], true) {
            return;
        }
        self.grew = true;
        let program = self.program;
        let action = &program.moves[at];
        let proctype = usize::from(action.proctype.0);
        self.need_processes(proctype);
        match &action.kind {
            MoveKind::Plain { guard } => self.read(*guard, Some(proctype)),
            MoveKind::Else | MoveKind::End => {}
            MoveKind::Send { channel, values, .. } => self.send(channel, *values, proctype),
            MoveKind::Receive { channel, pattern, .. } => self.receive(channel, *pattern, proctype),
            MoveKind::Compound { blocks, .. } => {
                for option in blocks.iter().flat_map(|block: &Block| &block.options) {
                    match &option.kind {
                        BlockGuard::Else => {}
                        BlockGuard::Condition(guard) => self.read(*guard, Some(proctype)),
                        BlockGuard::Send { channel, values, .. } => {
                            self.send(channel, *values, proctype)
                        }
                        BlockGuard::Receive { channel, pattern, .. } => {
                            self.receive(channel, *pattern, proctype)
                        }
                    }
                    self.read_ops(&option.ops, proctype);
                }
            }
        }
        self.read_ops(&action.ops, proctype);
    }

    fn send(&mut self, channel: &ChannelRef, values: ArgumentRange, proctype: usize) {
        self.use_channel(channel, Some(proctype));
        self.read_all(values, Some(proctype));
    }

    fn receive(&mut self, channel: &ChannelRef, pattern: PatternRange, proctype: usize) {
        self.use_channel(channel, Some(proctype));
        self.match_fields(pattern, Some(proctype));
    }

    fn read_ops(&mut self, ops: &[Op], proctype: usize) {
        for op in ops {
            match op {
                Op::Store { place, value } => {
                    self.read_indices(place, Some(proctype));
                    self.read(*value, Some(proctype));
                }
                Op::Assert { condition, .. } => self.read(*condition, Some(proctype)),
                Op::Run { arguments, .. } => self.read_all(*arguments, Some(proctype)),
                Op::Evaluate { .. } | Op::Print { .. } | Op::PrintName { .. } => {}
                Op::Fragment(_) | Op::SetPriority { .. } => {
                    self.everything = Some("C in the model may read and change everything");
                }
            }
        }
    }

    /// Processes of a type have to be there: what starts them matters, and what they start with.
    fn need_processes(&mut self, proctype: usize) {
        if std::mem::replace(&mut self.types[proctype], true) {
            return;
        }
        self.grew = true;
        let of = &self.program.proctypes[proctype];
        if let Some(condition) = of.provided {
            self.read(condition, Some(proctype));
        }
        self.read_ops(&of.on_start, proctype);
    }

    /// It matters where processes of all types are, and how many there are.
    fn need_all_positions(&mut self) {
        for proctype in 0..self.positions.len() {
            self.need_positions(proctype);
        }
    }

    fn need_positions(&mut self, proctype: usize) {
        self.need_processes(proctype);
        self.grew |= !std::mem::replace(&mut self.positions[proctype], true);
    }

    fn matters(&self, place: &Place, proctype: usize) -> bool {
        let bytes = match place.space {
            Space::Global => &self.globals,
            Space::Local => &self.locals[proctype],
        };
        bytes[extent(place)].iter().any(|byte| *byte)
    }

    fn class_of(&self, channel: &ChannelRef) -> usize {
        match channel {
            ChannelRef::Global(number) if !self.is_one_class => *number as usize,
            _ => self.channels.len() - 1,
        }
    }

    fn use_channel(&mut self, channel: &ChannelRef, proctype: Option<usize>) {
        if let ChannelRef::Dynamic { id, .. } = channel {
            self.read(*id, proctype);
        }
        let class = self.class_of(channel);
        self.grew |= !std::mem::replace(&mut self.channels[class], true);
    }

    fn match_fields(&mut self, pattern: PatternRange, proctype: Option<usize>) {
        let program = self.program;
        for field in &program.patterns[pattern.indices()] {
            match field {
                Pattern::Match(value) => self.read(*value, proctype),
                Pattern::Store(place) => self.read_indices(place, proctype),
                Pattern::Ignore => {}
            }
        }
    }

    fn read_all(&mut self, arguments: ArgumentRange, proctype: Option<usize>) {
        let program = self.program;
        for value in &program.arguments[arguments.indices()] {
            self.read(*value, proctype);
        }
    }

    fn read_indices(&mut self, place: &Place, proctype: Option<usize>) {
        for index in &place.indices {
            self.read(index.value, proctype);
        }
    }

    /// What lies at a place, in the frames of a process type or in the global part, matters.
    fn read_place(&mut self, place: &Place, proctype: Option<usize>) {
        let bytes = match (place.space, proctype) {
            (Space::Global, _) => &mut self.globals,
            (Space::Local, Some(proctype)) => &mut self.locals[proctype],
            (Space::Local, None) => return,
        };
        for byte in &mut bytes[extent(place)] {
            self.grew |= !std::mem::replace(byte, true);
        }
    }

    /// What an expression reads matters; without a process type, it is read from outside.
    fn read(&mut self, expression: ExprId, proctype: Option<usize>) {
        let program = self.program;
        match program.expr(expression) {
            Expr::Const(_) => {}
            Expr::Load(place) => {
                self.read_place(place, proctype);
                self.read_indices(place, proctype);
            }
            Expr::Unary(_, operand) => self.read(*operand, proctype),
            Expr::Binary(_, left, right) => {
                self.read(*left, proctype);
                self.read(*right, proctype);
            }
            Expr::Divide { dividend, divisor, .. } => {
                self.read(*dividend, proctype);
                self.read(*divisor, proctype);
            }
            Expr::Conditional(condition, then, otherwise) => {
                self.read(*condition, proctype);
                self.read(*then, proctype);
                self.read(*otherwise, proctype);
            }
            Expr::Bounded(index) => self.read(index.value, proctype),
            Expr::Length(channel) | Expr::ChannelTest(_, channel) => {
                self.use_channel(channel, proctype);
            }
            Expr::Poll { channel, pattern, .. } => {
                self.use_channel(channel, proctype);
                self.match_fields(*pattern, proctype);
            }
            // Numbers of processes depend on which processes have ended.
            Expr::Pid | Expr::ProcessCount => self.need_all_positions(),
            Expr::At { proctype: of, pid, pc } => {
                if let Some(pid) = pid {
                    self.read(*pid, proctype);
                }
                let of = usize::from(of.0);
                let ends = |id: &MoveId| matches!(program.move_of(*id).kind, MoveKind::End);
                let states = &program.proctypes[of].states;
                match states.get(usize::from(pc.0)).is_some_and(|at| at.moves.iter().any(ends)) {
                    true => self.need_all_positions(),
                    false => self.need_positions(of),
                }
            }
            Expr::RemoteLoad { proctype: of, pid, place } => {
                if let Some(pid) = pid {
                    self.read(*pid, proctype);
                }
                self.read_place(place, Some(usize::from(of.0)));
                self.read_indices(place, proctype);
                // It is 0 once the process has ended.
                self.need_all_positions();
            }
            Expr::Enabled(_) | Expr::PcValue(_) | Expr::PriorityOf(_) | Expr::LastMover => {
                self.everything = Some("the model asks what other processes can do");
            }
            Expr::Timeout => self.everything = Some("`timeout` depends on all processes"),
            Expr::NonProgress => self.everything = Some("`np_` depends on all processes"),
            Expr::Fragment(_) => {
                self.everything = Some("C in the model may read and change everything");
            }
        }
    }

    /// The moves of a process type by which it is decided whether a move that matters is made. What is always possible decides by
    /// being there, whatever it does.
    fn take_decisions(&mut self, proctype: usize) {
        let program = self.program;
        let is_free = |id: &MoveId| match program.move_of(*id).kind {
            MoveKind::Plain { guard } => *program.expr(guard) == Expr::Const(1),
            _ => false,
        };
        for (at, state) in program.proctypes[proctype].states.iter().enumerate() {
            let taken = |id: &MoveId| is_free(id) || self.moves[id.0 as usize];
            if state.moves.iter().all(taken) || !self.decides(proctype, at, &state.moves) {
                continue;
            }
            for id in state.moves.iter().filter(|id| !is_free(id)) {
                self.take(id.0 as usize);
            }
        }
    }

    /// Whether it depends on what is possible at a control state, which has these moves, if a move that matters is made.
    fn decides(&self, proctype: usize, at: usize, moves: &[MoveId]) -> bool {
        if self.positions[proctype] {
            return true;
        }
        let program = self.program;
        let next: Vec<Next> = moves.iter().map(|id| self.next_of(proctype, *id)).collect();
        let is_possible = |id: &MoveId| match program.move_of(*id).kind {
            MoveKind::Plain { guard } => *program.expr(guard) == Expr::Const(1),
            MoveKind::Else => true,
            _ => false,
        };
        let can_block = program.uses_unless || !moves.iter().any(is_possible);
        let loops = next.iter().any(|one| one.loops);
        if next.iter().all(|next| next.moves.is_empty()) {
            // A process that cannot go on lets others move, and one that goes round in an atomic sequence does not.
            return can_block && loops && self.is_held_at(proctype, at);
        }
        can_block || loops || next.iter().any(|one| one.moves != next[0].moves || one.ends)
    }

    /// Whether a process may be in the middle of an atomic sequence there.
    fn is_held_at(&self, proctype: usize, at: usize) -> bool {
        self.program.moves.iter().any(|one| {
            one.keeps_control
                && usize::from(one.proctype.0) == proctype
                && usize::from(one.target.0) == at
        })
    }

    /// The moves that matter which are made next, this one or some behind it.
    fn next_of(&self, proctype: usize, first: MoveId) -> Next {
        let states = &self.program.proctypes[proctype].states;
        let mut next = Next::default();
        // Depth-first, with the states of the way.
        let mut way: Vec<(Pc, usize)> = Vec::new();
        let mut seen = vec![Seen::Not; states.len()];
        let mut arrive = |id: MoveId, way: &mut Vec<(Pc, usize)>, seen: &mut Vec<Seen>| {
            let action = self.program.move_of(id);
            if self.moves[id.0 as usize] {
                next.moves.insert(id.0);
            } else if matches!(action.kind, MoveKind::End) {
                next.ends = true;
            } else {
                match seen[usize::from(action.target.0)] {
                    Seen::Not => {
                        seen[usize::from(action.target.0)] = Seen::OnTheWay;
                        way.push((action.target, 0));
                    }
                    Seen::OnTheWay => next.loops = true,
                    Seen::Done => {}
                }
            }
        };
        arrive(first, &mut way, &mut seen);
        while let Some((pc, done)) = way.last_mut() {
            let at = usize::from(pc.0);
            match states[at].moves.get(*done) {
                Some(id) => {
                    *done += 1;
                    arrive(*id, &mut way, &mut seen);
                }
                None => {
                    seen[at] = Seen::Done;
                    way.pop();
                }
            }
        }
        next
    }

    /// What does not matter.
    fn rest(&self) -> Redundant {
        let program = self.program;
        let is_something = |action: &Move| match &action.kind {
            MoveKind::End | MoveKind::Else => false,
            MoveKind::Plain { guard } => {
                let changes = |op: &Op| !matches!(op, Op::Print { .. } | Op::PrintName { .. });
                let waits = !matches!(program.expr(*guard), Expr::Const(_));
                waits || action.ops.iter().any(changes)
            }
            _ => true,
        };
        let moves = program.moves.iter().enumerate();
        let moves = moves.filter(|(at, action)| !self.moves[*at] && is_something(action));
        let unused = |value: &NamedValue, proctype: usize| match value {
            NamedValue::Number(place) => !self.matters(place, proctype),
            NamedValue::Channel(number) if proctype == usize::MAX => {
                !self.channels[self.class_of(&ChannelRef::Global(*number))]
            }
            NamedValue::Channel(_) | NamedValue::ChannelAt(_) => {
                !self.channels[self.channels.len() - 1]
            }
        };
        let globals = program.layout.names.iter();
        let globals = globals.filter(|named| unused(&named.value, usize::MAX));
        let types = program.proctypes.iter().enumerate();
        let locals = types.flat_map(|(at, one)| {
            let names = one.frame.names.iter().filter(move |named| unused(&named.value, at));
            names.map(move |named| (at, named.name.clone()))
        });
        Redundant {
            moves: moves.map(|(at, _)| MoveId(at as u32)).collect(),
            globals: globals.map(|named| named.name.clone()).collect(),
            locals: locals.collect(),
        }
    }
}

/// What comes next, as far as it matters.
#[derive(Default)]
struct Next {
    moves: BTreeSet<u32>,
    /// The process may end first.
    ends: bool,
    /// It may go round and round first.
    loops: bool,
}

#[derive(Clone, Copy)]
enum Seen {
    Not,
    OnTheWay,
    Done,
}

/// The bytes that may be meant.
fn extent(place: &Place) -> std::ops::Range<usize> {
    let start = place.offset as usize;
    let span = |index: &super::Index| index.length.saturating_sub(1) * index.stride;
    let reach: u32 = place.indices.iter().map(span).sum();
    start..start + (reach + place.kind.width().bytes()) as usize
}

/// The channels of sends and receives.
fn channels_of(action: &Move) -> Vec<&ChannelRef> {
    match &action.kind {
        MoveKind::Send { channel, .. } | MoveKind::Receive { channel, .. } => vec![channel],
        MoveKind::Compound { blocks, .. } => {
            let options = blocks.iter().flat_map(|block| &block.options);
            let of = options.filter_map(|option| match &option.kind {
                BlockGuard::Send { channel, .. } | BlockGuard::Receive { channel, .. } => {
                    Some(channel)
                }
                _ => None,
            });
            of.collect()
        }
        _ => Vec::new(),
    }
}
