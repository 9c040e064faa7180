//! The moves of a process type as machine code: when they are enabled, and what they do.

use super::channel::Channel;
use super::code::{Arithmetic, Block, Code, Compare, Memory, Register, Value};
use super::scope::{HelperId, OnFault, Promises, Scope, Tables, Want, broken, deliver};
use super::support::{Fit, Support};
use super::value::store;
use crate::execute::workspace::ASK_STEP;
use preempt_core::engine::SuccessorHeader;
use preempt_promela::ir::{
    ArgumentRange, BlockGuard, ChannelRef, FaultId, Move, MoveId, MoveKind, Op, Proctype,
    ProctypeIndex, Program,
};

/// A `d_step` with a loop looks after so many blocks whether it should be given up.
const BLOCKS_PER_LOOK: i32 = 1 << 16;
/// After so many looks it is left to the interpreter to find out whether a `d_step` ever ends.
const MOST_LOOKS: i32 = 1 << 8;

/// The parameters of all functions that describe the process.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    pub(crate) state: Value,
    pub(crate) frame: Value,
    pub(crate) pid: Value,
}

impl Process {
    /// The first three parameters.
    pub(crate) fn of(parameters: &[Value]) -> Self {
        Process { state: parameters[0], frame: parameters[1], pid: parameters[2] }
    }
}

/// Makes the code of one process type.
#[derive(Clone, Copy)]
pub(crate) struct Maker<'a> {
    pub(crate) program: &'a Program,
    pub(crate) proctype: &'a Proctype,
    pub(crate) tables: &'a Tables,
    /// Whether steps are taken in place, and noted.
    pub(crate) notes: bool,
}

impl<'a> Maker<'a> {
    pub(crate) fn support(&self) -> Support<'a> {
        Support {
            program: self.program,
            own_channels: &self.proctype.frame.channels,
            promises: &self.tables.promises,
        }
    }

    pub(crate) fn scope(
        &self,
        process: Process,
        timeout: Value,
        workspace: Value,
        on_fault: OnFault,
    ) -> Scope<'a> {
        Scope {
            program: self.program,
            tables: self.tables,
            own_channels: &self.proctype.frame.channels,
            state: process.state,
            frame: process.frame,
            pid: process.pid,
            timeout,
            workspace,
            on_fault,
            notes: self.notes,
        }
    }

    /// The moves of this process type that `wanted` approves of, each once.
    pub(crate) fn moves(&self, wanted: impl Fn(&Move) -> bool) -> Vec<MoveId> {
        let own = self.proctype.states.iter().flat_map(|state| &state.moves).copied();
        let mut ids: Vec<MoveId> = own.filter(|id| wanted(self.program.move_of(*id))).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Branches on whether a move is enabled; `count` says how many were found before. Sends on
    /// rendezvous channels are left to `offer`.
    pub(crate) fn guard(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        candidate: &Move,
        count: Register,
        (yes, no, ask): (Block, Block, Block),
        mut offer: impl FnMut(&Scope<'_>, &mut dyn Code, &Channel),
    ) {
        match &candidate.kind {
            MoveKind::Plain { guard } => scope.condition(code, *guard, yes, no),
            MoveKind::Else => {
                let found = code.get(count);
                code.branch(found, no, yes);
            }
            MoveKind::End => {
                let alive = code.load(Memory::Byte, scope.state, 1);
                let one = code.number(1);
                let youngest = code.arithmetic(Arithmetic::Subtract, alive, one);
                let last = code.compare(Compare::Equal, youngest, scope.pid);
                code.branch(last, yes, no);
            }
            MoveKind::Send { channel, values, .. } => {
                let wanted = (channel, values.indices().len(), Want::Any);
                let made = scope.with_channel(code, wanted, ask, |scope, code, channel| {
                    match channel.rendezvous() {
                        Some(_) => offer(scope, code, &channel),
                        None => scope.not_full(code, &channel, yes, no),
                    }
                });
                debug_assert!(made.is_some());
            }
            MoveKind::Receive { channel, random, copy, pattern, .. } => {
                let fields = pattern.indices().len();
                // To copy a message of a rendezvous channel is a mistake.
                let none = if *copy { ask } else { no };
                if self.support().fit(channel, fields) == Fit::Rendezvous {
                    code.jump(none);
                    return;
                }
                let wanted = (channel, fields, Want::Any);
                let made = scope.with_channel(code, wanted, ask, |scope, code, channel| {
                    if channel.rendezvous().is_some() {
                        code.jump(none);
                        return;
                    }
                    scope.find_message(code, &channel, *random, *pattern, no);
                    code.jump(yes);
                });
                debug_assert!(made.is_some());
            }
            MoveKind::Compound { blocks, .. } => {
                for option in &blocks[0].options {
                    let next = code.block();
                    self.block_guard(code, scope, &option.kind, Some(count), (yes, next));
                    code.begin(next);
                }
                code.jump(no);
            }
        }
    }

    fn block_guard(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        guard: &BlockGuard,
        count: Option<Register>,
        (yes, no): (Block, Block),
    ) {
        match guard {
            BlockGuard::Else => match count {
                Some(count) => {
                    let found = code.get(count);
                    code.branch(found, no, yes);
                }
                None => code.jump(yes),
            },
            BlockGuard::Condition(id) => scope.condition(code, *id, yes, no),
            BlockGuard::Send { channel, values, .. } => {
                let wanted = (channel, values.indices().len(), Want::Buffered);
                scope.with_channel(code, wanted, no, |scope, code, channel| {
                    scope.not_full(code, &channel, yes, no);
                });
            }
            BlockGuard::Receive { channel, random, pattern, .. } => {
                let fields = pattern.indices().len();
                if self.support().fit(channel, fields) == Fit::Rendezvous {
                    code.jump(no);
                    return;
                }
                let wanted = (channel, fields, Want::Buffered);
                scope.with_channel(code, wanted, no, |scope, code, channel| {
                    scope.find_message(code, &channel, *random, *pattern, no);
                    code.jump(yes);
                });
            }
        }
    }

    /// Body of `(state, frame, pid, move, workspace) -> result`.
    pub(crate) fn take(
        &self,
        code: &mut dyn Code,
        process: Process,
        which: Value,
        workspace: Value,
    ) {
        // Whether a `d_step` is taken because of a timeout only the interpreter finds out.
        let unclear =
            |m: &Move| self.program.uses_timeout && matches!(m.kind, MoveKind::Compound { .. });
        let ids = self.moves(|m| self.support().effect(m) && !unclear(m));
        self.one_of(code, &ids, which, |code, id, ask| {
            let timeout = code.number(0);
            let scope = self.scope(process, timeout, workspace, OnFault::Return);
            self.effect(code, &scope, self.program.move_of(id), true, ask);
        });
    }

    /// Chooses the code of one move by its number; for unknown ones the interpreter is asked.
    pub(crate) fn one_of(
        &self,
        code: &mut dyn Code,
        ids: &[MoveId],
        which: Value,
        mut body: impl FnMut(&mut dyn Code, MoveId, Block),
    ) {
        let ask = code.cold_block();
        let cases: Vec<_> = ids.iter().map(|id| (id.0, code.block())).collect();
        code.select_block(which, &cases, ask);
        code.begin(ask);
        let number = code.number(ASK_STEP as i32);
        code.give(number);
        for (id, (_, block)) in ids.iter().zip(cases) {
            code.begin(block);
            body(code, *id, ask);
        }
    }

    /// Takes a move in place and delivers the result. `is_new` says that the guard has not been
    /// evaluated yet, which may be a fault.
    pub(crate) fn effect(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        taken: &Move,
        is_new: bool,
        ask: Block,
    ) {
        let zero = code.number(0);
        let violated = code.register(zero);
        if let MoveKind::End = taken.kind {
            let alive = code.load(Memory::Byte, scope.state, 1);
            let one = code.number(1);
            let fewer = code.arithmetic(Arithmetic::Subtract, alive, one);
            code.store(Memory::Byte, fewer, scope.state, 1);
        } else {
            self.perform(code, scope, taken, is_new, violated, ask);
            self.stand_at(code, scope, taken);
        }
        self.leave(code, scope, taken, violated);
    }

    /// Does what a move does to messages and variables; the process stays where it is.
    pub(crate) fn perform(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        taken: &Move,
        is_new: bool,
        violated: Register,
        ask: Block,
    ) {
        match &taken.kind {
            MoveKind::Plain { guard } => {
                if is_new && scope.program.can_fault(*guard) {
                    scope.value(code, *guard);
                }
                if self.tables.promises.are_checked() {
                    for (channel, sides) in self.support().looks(*guard) {
                        let id = scope.known_id(code, channel);
                        for &receive in sides {
                            self.keep_promises(code, scope, (id, receive), violated);
                        }
                    }
                }
            }
            MoveKind::Else | MoveKind::End => {}
            MoveKind::Send { channel, sorted, values, .. } => {
                let after = code.block();
                let (list, sorted) = (*values, *sorted);
                let wanted = (channel, values.indices().len(), Want::Buffered);
                let id = self.id_to_check(code, scope, channel);
                scope.with_channel(code, wanted, ask, |scope, code, channel| {
                    let values = self.values(code, scope, list);
                    if let Some(id) = id {
                        self.keep_promises(code, scope, (id, false), violated);
                    }
                    scope.add_message(code, &channel, sorted, &values);
                    code.jump(after);
                });
                code.begin(after);
            }
            MoveKind::Receive { channel, random, copy, pattern, .. } => {
                let after = code.block();
                let wanted = (channel, pattern.indices().len(), Want::Buffered);
                let id = self.id_to_check(code, scope, channel);
                scope.with_channel(code, wanted, ask, |scope, code, channel| {
                    let none = code.cold_block();
                    let index = match is_new || *random {
                        true => scope.find_message(code, &channel, *random, *pattern, none),
                        false => scope.first_message(code, &channel, none),
                    };
                    if let Some(id) = id {
                        self.keep_promises(code, scope, (id, true), violated);
                    }
                    scope.take_message(code, &channel, (index, !random), *copy, *pattern);
                    code.jump(after);
                    code.begin(none);
                    code.jump(ask);
                });
                code.begin(after);
            }
            MoveKind::Compound { blocks, endless } => {
                let ask = endless.map(|_| ask);
                self.compound(code, scope, blocks, violated, ask);
            }
        }
        self.ops(code, scope, &taken.ops, violated);
    }

    /// The id of a channel that is used, if a process may have claimed the channel.
    fn id_to_check(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        channel: &ChannelRef,
    ) -> Option<Value> {
        self.tables.promises.are_checked().then(|| scope.known_id(code, channel))
    }

    /// Notes when a channel is used on a side that another process claims for itself.
    fn keep_promises(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        (channel, receive): (Value, bool),
        violated: Register,
    ) {
        let Promises::Checked(claims) = &self.tables.promises else { return };
        let claims = code.address(std::ptr::from_ref(&**claims).cast());
        let shape = code.address(self.tables.shape);
        let side = code.number(receive.into());
        let arguments = [claims, shape, scope.state, scope.pid, channel, side];
        let result = code.call(HelperId::BrokenPromise as usize, &arguments);
        let (broken, first, goes_on) = (code.cold_block(), code.cold_block(), code.block());
        code.branch(result, broken, goes_on);
        code.begin(broken);
        let before = code.get(violated);
        code.branch(before, goes_on, first);
        code.begin(first);
        code.set(violated, result);
        code.jump(goes_on);
        code.begin(goes_on);
    }

    pub(crate) fn values(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        list: ArgumentRange,
    ) -> Vec<Value> {
        let arguments = &self.program.arguments[list.indices()];
        arguments.iter().map(|id| scope.value(code, *id)).collect()
    }

    /// Runs a `d_step` from its first block to its end. Where it has a loop, `ask` leads to the
    /// interpreter, for a step that takes very long or should be given up.
    fn compound(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        blocks: &[preempt_promela::ir::Block],
        violated: Register,
        ask: Option<Block>,
    ) {
        let end = code.block();
        let starts: Vec<_> = blocks.iter().map(|_| code.block()).collect();
        let meter = ask.map(|ask| Meter::new(code, self.tables.cancelled, ask));
        code.jump(starts[0]);
        for (block, start) in blocks.iter().zip(&starts) {
            code.begin(*start);
            if let Some(meter) = &meter {
                meter.count(code);
            }
            for option in &block.options {
                let (yes, next) = (code.block(), code.block());
                self.block_guard(code, scope, &option.kind, None, (yes, next));
                code.begin(yes);
                self.block_effect(code, scope, &option.kind);
                self.ops(code, scope, &option.ops, violated);
                code.jump(option.next.map_or(end, |next| starts[next as usize]));
                code.begin(next);
            }
            deliver_broken(code, scope, block.blocked);
        }
        code.begin(end);
    }

    fn block_effect(&self, code: &mut dyn Code, scope: &Scope<'_>, guard: &BlockGuard) {
        let never = code.cold_block();
        let after = code.block();
        match guard {
            BlockGuard::Else | BlockGuard::Condition(_) => code.jump(after),
            BlockGuard::Send { channel, values, sorted, .. } => {
                let (list, sorted) = (*values, *sorted);
                let wanted = (channel, values.indices().len(), Want::Buffered);
                scope.with_channel(code, wanted, never, |scope, code, channel| {
                    let values = self.values(code, scope, list);
                    scope.add_message(code, &channel, sorted, &values);
                    code.jump(after);
                });
            }
            BlockGuard::Receive { channel, random, copy, pattern, .. } => {
                let fields = pattern.indices().len();
                if self.support().fit(channel, fields) == Fit::Rendezvous {
                    code.jump(never);
                } else {
                    let wanted = (channel, fields, Want::Buffered);
                    scope.with_channel(code, wanted, never, |scope, code, channel| {
                        let index = scope.find_message(code, &channel, *random, *pattern, never);
                        scope.take_message(code, &channel, (index, !random), *copy, *pattern);
                        code.jump(after);
                    });
                }
            }
        }
        code.begin(never);
        code.jump(after);
        code.begin(after);
    }

    pub(crate) fn ops(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        ops: &[Op],
        violated: Register,
    ) {
        for op in ops {
            match op {
                Op::Store { place, value } => {
                    let value = scope.value(code, *value);
                    scope.store(code, place, value);
                }
                Op::Evaluate { value } => {
                    scope.value(code, *value);
                }
                Op::Assert { condition, fault } => {
                    let (fails, goes_on) = (code.cold_block(), code.block());
                    scope.condition(code, *condition, goes_on, fails);
                    code.begin(fails);
                    note_violation(code, *fault, violated, goes_on);
                    code.begin(goes_on);
                }
                Op::Run { proctype, arguments, fault, .. } => {
                    self.create(code, scope, *proctype, *arguments, *fault, violated);
                }
                Op::Print { .. } | Op::PrintName { .. } => {}
                Op::SetPriority { .. } | Op::Fragment(_) => unreachable!("left to the interpreter"),
            }
        }
    }

    fn create(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        index: ProctypeIndex,
        arguments: ArgumentRange,
        fault: FaultId,
        violated: Register,
    ) {
        let values = self.values(code, scope, arguments);
        let shape = code.address(self.tables.shape);
        let number = code.number(i32::from(index.0));
        let offset = code.call(HelperId::Create as usize, &[shape, scope.state, number]);
        let nowhere = code.number(-1);
        let created = code.compare(Compare::NotEqual, offset, nowhere);
        scope.require(code, created, fault);
        let frame = code.element(scope.state, offset, 1);
        let proctype = &self.program.proctypes[usize::from(index.0)];
        for (place, value) in proctype.parameters.iter().zip(values) {
            store(code, place.kind, value, frame, place.offset);
        }
        if !proctype.on_start.is_empty() {
            let alive = code.load(Memory::Byte, scope.state, 1);
            let one = code.number(1);
            let pid = code.arithmetic(Arithmetic::Subtract, alive, one);
            let own_channels = &proctype.frame.channels;
            let started = Scope { frame, pid, own_channels, ..*scope };
            self.ops(code, &started, &proctype.on_start, violated);
        }
    }

    /// The process stands at the target.
    pub(crate) fn stand_at(&self, code: &mut dyn Code, scope: &Scope<'_>, taken: &Move) {
        let pc = code.number(i32::from(taken.target.0));
        let wide = self.program.layout.pc_width != 1;
        let memory = if wide { Memory::UnsignedTwo } else { Memory::Byte };
        scope.note(code, scope.frame, 1, memory.bytes());
        code.store(memory, pc, scope.frame, 1);
    }

    /// Ends the step, with or without the right to go on alone.
    pub(crate) fn leave(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        taken: &Move,
        violated: Register,
    ) {
        let one = code.number(1);
        let exclusive = match taken.keeps_control {
            true => code.arithmetic(Arithmetic::Add, scope.pid, one),
            false => code.number(0),
        };
        scope.note(code, scope.state, 0, 1);
        code.store(Memory::Byte, exclusive, scope.state, 0);
        if let Some(offset) = self.program.layout.last_offset {
            scope.note(code, scope.state, offset, 1);
            code.store(Memory::Byte, scope.pid, scope.state, offset);
        }
        let result = code.get(violated);
        deliver(code, scope.on_fault, result);
    }
}

/// Counts the blocks that a `d_step` passes through.
struct Meter {
    blocks: Register,
    looks: Register,
    cancelled: *const u8,
    ask: Block,
}

impl Meter {
    fn new(code: &mut dyn Code, cancelled: *const u8, ask: Block) -> Self {
        let (blocks, looks) = (code.number(BLOCKS_PER_LOOK), code.number(MOST_LOOKS));
        Meter { blocks: code.register(blocks), looks: code.register(looks), cancelled, ask }
    }

    fn count(&self, code: &mut dyn Code) {
        let (go_on, look, more) = (code.block(), code.cold_block(), code.cold_block());
        let one = code.number(1);
        let left = code.get(self.blocks);
        let left = code.arithmetic(Arithmetic::Subtract, left, one);
        code.set(self.blocks, left);
        code.branch(left, go_on, look);
        code.begin(look);
        let left = code.get(self.looks);
        let left = code.arithmetic(Arithmetic::Subtract, left, one);
        code.set(self.looks, left);
        let flag = code.address(self.cancelled);
        let cancelled = code.load(Memory::Byte, flag, 0);
        let zero = code.number(0);
        let runs = code.compare(Compare::Equal, cancelled, zero);
        let left = code.compare(Compare::NotEqual, left, zero);
        let on = code.arithmetic(Arithmetic::And, runs, left);
        code.branch(on, more, self.ask);
        code.begin(more);
        let blocks = code.number(BLOCKS_PER_LOOK);
        code.set(self.blocks, blocks);
        code.jump(go_on);
        code.begin(go_on);
    }
}

/// The first assertion that fails is the one that is reported.
fn note_violation(code: &mut dyn Code, fault: FaultId, violated: Register, goes_on: Block) {
    let first = code.block();
    let before = code.get(violated);
    code.branch(before, goes_on, first);
    code.begin(first);
    let number =
        code.number((fault.0 << SuccessorHeader::FAULT_SHIFT | SuccessorHeader::VIOLATED) as i32);
    code.set(violated, number);
    code.jump(goes_on);
}

fn deliver_broken(code: &mut dyn Code, scope: &Scope<'_>, fault: FaultId) {
    let number = code.number(broken(fault));
    deliver(code, scope.on_fault, number);
}
