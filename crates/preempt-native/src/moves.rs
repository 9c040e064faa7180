//! The moves of a process type as machine code: which are enabled, and what they do.
//!
//! Two functions per process type. The first lists the enabled moves of a process at its control
//! state; the second takes one, in place. Their results say when to ask the interpreter instead.

use crate::code::{Arithmetic, Block, Code, Compare, Memory, Register, Value};
use crate::support::{Fit, Support};
use crate::value::{OnFault, Scope, Tables, broken, load_pc};
use preempt_promela::ir::{
    ArgumentRange, BlockGuard, ControlState, FaultId, Move, MoveId, MoveKind, Op, Proctype, Program,
};

/// The number of enabled moves when the interpreter must be asked.
pub(crate) const ASK_MOVES: i32 = -1;
/// The result of a step when the interpreter must take it; the state is untouched.
pub(crate) const ASK_STEP: i32 = 3;
/// Rounds through a `d_step` before it is taken for a loop without end.
pub(crate) const LONGEST_COMPOUND: i32 = 1_000_000;

/// The parameters of both functions that describe the process.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    pub(crate) state: Value,
    pub(crate) frame: Value,
    pub(crate) pid: Value,
}

/// Makes the code of one process type.
pub(crate) struct Maker<'a> {
    pub(crate) program: &'a Program,
    pub(crate) proctype: &'a Proctype,
    pub(crate) tables: &'a Tables,
}

impl Maker<'_> {
    fn support(&self) -> Support<'_> {
        Support { program: self.program, own_channels: &self.proctype.frame.channels }
    }

    fn scope(&self, process: Process, timeout: Value, on_fault: OnFault) -> Scope<'_> {
        Scope {
            program: self.program,
            tables: self.tables,
            own_channels: &self.proctype.frame.channels,
            state: process.state,
            frame: process.frame,
            pid: process.pid,
            timeout,
            on_fault,
        }
    }

    /// Body of `(state, frame, pid, timeout, out) -> number of enabled moves`.
    pub(crate) fn list(&self, code: &mut Code<'_>, process: Process, timeout: Value, out: Value) {
        let pc = load_pc(code, self.program.layout.pc_width, process.frame);
        let ask = code.cold_block();
        let states: Vec<_> = self.proctype.states.iter().map(|_| code.block()).collect();
        let cases: Vec<_> = states.iter().enumerate().map(|(pc, b)| (pc as u32, *b)).collect();
        code.select_block(pc, &cases, ask);
        code.begin(ask);
        let number = code.number(ASK_MOVES);
        code.give(number);
        for (state, block) in self.proctype.states.iter().zip(states) {
            code.begin(block);
            let all = |id: &MoveId| self.support().guard(self.program.move_of(*id));
            if state.moves.iter().all(all) {
                self.list_state(code, process, timeout, out, state, ask);
            } else {
                code.jump(ask);
            }
        }
    }

    fn list_state(
        &self,
        code: &mut Code<'_>,
        process: Process,
        timeout: Value,
        out: Value,
        state: &ControlState,
        ask: Block,
    ) {
        let zero = code.number(0);
        let count = code.register(zero);
        let has_escapes = state.moves.iter().any(|id| self.program.move_of(*id).escape != 0);
        let group = has_escapes.then(|| code.register(zero));
        for &id in &state.moves {
            let candidate = self.program.move_of(id);
            let (enabled, next) = (code.block(), code.block());
            if let Some(group) = group {
                self.skip_other_groups(code, group, candidate.escape, next);
            }
            let scope = self.scope(process, timeout, OnFault::Goto(enabled));
            self.guard(code, &scope, candidate, count, enabled, next, ask);
            code.begin(enabled);
            let index = code.get(count);
            let slot = code.element(out, index, 4);
            let number = code.number(id.0 as i32);
            code.store(Memory::Four, number, slot, 0);
            let one = code.number(1);
            let more = code.arithmetic(Arithmetic::Add, index, one);
            code.set(count, more);
            if let Some(group) = group {
                let own = code.number(i32::from(candidate.escape));
                code.set(group, own);
            }
            code.jump(next);
            code.begin(next);
        }
        let number = code.get(count);
        code.give(number);
    }

    /// Once a move of an escape was enabled, those of other groups are not tried.
    fn skip_other_groups(&self, code: &mut Code<'_>, group: Register, own: u16, next: Block) {
        let taken = code.get(group);
        let own = code.number(i32::from(own));
        let (go_on, restricted) = (code.block(), code.block());
        code.branch(taken, restricted, go_on);
        code.begin(restricted);
        let same = code.compare(Compare::Equal, taken, own);
        code.branch(same, go_on, next);
        code.begin(go_on);
    }

    #[allow(clippy::too_many_arguments)]
    fn guard(
        &self,
        code: &mut Code<'_>,
        scope: &Scope<'_>,
        candidate: &Move,
        count: Register,
        yes: Block,
        no: Block,
        ask: Block,
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
                let fields = values.indices().len();
                let made =
                    scope.with_channel(code, channel, fields, ask, |scope, code, channel| {
                        scope.not_full(code, &channel, yes, no);
                    });
                debug_assert!(made.is_some());
            }
            MoveKind::Receive { channel, random, pattern, .. } => {
                let fields = pattern.indices().len();
                if self.support().fit(channel, fields) == Fit::Rendezvous {
                    code.jump(no);
                    return;
                }
                let made =
                    scope.with_channel(code, channel, fields, ask, |scope, code, channel| {
                        scope.find_message(code, &channel, *random, *pattern, no);
                        code.jump(yes);
                    });
                debug_assert!(made.is_some());
            }
            MoveKind::Compound { blocks } => {
                for option in &blocks[0].options {
                    let next = code.block();
                    self.block_guard(code, scope, &option.kind, Some(count), yes, next);
                    code.begin(next);
                }
                code.jump(no);
            }
        }
    }

    fn block_guard(
        &self,
        code: &mut Code<'_>,
        scope: &Scope<'_>,
        guard: &BlockGuard,
        count: Option<Register>,
        yes: Block,
        no: Block,
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
                let fields = values.indices().len();
                scope.with_channel(code, channel, fields, no, |scope, code, channel| {
                    scope.not_full(code, &channel, yes, no);
                });
            }
            BlockGuard::Receive { channel, random, pattern, .. } => {
                let fields = pattern.indices().len();
                scope.with_channel(code, channel, fields, no, |scope, code, channel| {
                    scope.find_message(code, &channel, *random, *pattern, no);
                    code.jump(yes);
                });
            }
        }
    }

    /// Body of `(state, frame, pid, move, timeout) -> result`.
    pub(crate) fn take(&self, code: &mut Code<'_>, process: Process, which: Value, timeout: Value) {
        let ask = code.cold_block();
        let own = self.proctype.states.iter().flat_map(|state| &state.moves).copied();
        let mut ids: Vec<MoveId> =
            own.filter(|id| self.support().effect(self.program.move_of(*id))).collect();
        ids.sort_unstable();
        ids.dedup();
        let cases: Vec<_> = ids.iter().map(|id| (id.0, code.block())).collect();
        code.select_block(which, &cases, ask);
        code.begin(ask);
        let number = code.number(ASK_STEP);
        code.give(number);
        for (id, (_, block)) in ids.iter().zip(cases) {
            code.begin(block);
            let scope = self.scope(process, timeout, OnFault::Return);
            self.effect(code, &scope, self.program.move_of(*id), ask);
        }
    }

    fn effect(&self, code: &mut Code<'_>, scope: &Scope<'_>, taken: &Move, ask: Block) {
        let zero = code.number(0);
        let violated = code.register(zero);
        match &taken.kind {
            MoveKind::Plain { guard } => {
                if scope.can_fault(*guard) {
                    scope.value(code, *guard);
                }
            }
            MoveKind::Else | MoveKind::End => {}
            MoveKind::Send { channel, values, .. } => {
                let after = code.block();
                let (fields, list) = (values.indices().len(), *values);
                scope.with_channel(code, channel, fields, ask, |scope, code, channel| {
                    let values = self.values(code, scope, list);
                    scope.append_message(code, &channel, &values);
                    code.jump(after);
                });
                code.begin(after);
            }
            MoveKind::Receive { channel, random, copy, pattern } => {
                let after = code.block();
                let fields = pattern.indices().len();
                scope.with_channel(code, channel, fields, ask, |scope, code, channel| {
                    let none = code.cold_block();
                    let index = scope.find_message(code, &channel, *random, *pattern, none);
                    scope.take_message(code, &channel, index, *copy, *pattern);
                    code.jump(after);
                    code.begin(none);
                    code.jump(ask);
                });
                code.begin(after);
            }
            MoveKind::Compound { blocks } => self.compound(code, scope, blocks, violated),
        }
        self.ops(code, scope, &taken.ops, violated);
        self.arrive(code, scope, taken, violated);
    }

    fn values(&self, code: &mut Code<'_>, scope: &Scope<'_>, list: ArgumentRange) -> Vec<Value> {
        let arguments = &self.program.arguments[list.indices()];
        arguments.iter().map(|id| scope.value(code, *id)).collect()
    }

    /// Runs a `d_step` from its first block to its end.
    fn compound(
        &self,
        code: &mut Code<'_>,
        scope: &Scope<'_>,
        blocks: &[preempt_promela::ir::Block],
        violated: Register,
    ) {
        let end = code.block();
        let starts: Vec<_> = blocks.iter().map(|_| code.block()).collect();
        let fuel = code.number(LONGEST_COMPOUND);
        let fuel = code.register(fuel);
        code.jump(starts[0]);
        for (block, start) in blocks.iter().zip(&starts) {
            code.begin(*start);
            let (go_on, stuck) = (code.block(), code.cold_block());
            let left = code.get(fuel);
            let one = code.number(1);
            let less = code.arithmetic(Arithmetic::Subtract, left, one);
            code.set(fuel, less);
            code.branch(left, go_on, stuck);
            code.begin(stuck);
            give_broken(code, block.blocked);
            code.begin(go_on);
            for option in &block.options {
                let (yes, next) = (code.block(), code.block());
                self.block_guard(code, scope, &option.kind, None, yes, next);
                code.begin(yes);
                self.block_effect(code, scope, &option.kind);
                self.ops(code, scope, &option.ops, violated);
                code.jump(option.next.map_or(end, |next| starts[next as usize]));
                code.begin(next);
            }
            give_broken(code, block.blocked);
        }
        code.begin(end);
    }

    fn block_effect(&self, code: &mut Code<'_>, scope: &Scope<'_>, guard: &BlockGuard) {
        let never = code.cold_block();
        let after = code.block();
        match guard {
            BlockGuard::Else | BlockGuard::Condition(_) => code.jump(after),
            BlockGuard::Send { channel, values, .. } => {
                let (fields, list) = (values.indices().len(), *values);
                scope.with_channel(code, channel, fields, never, |scope, code, channel| {
                    let values = self.values(code, scope, list);
                    scope.append_message(code, &channel, &values);
                    code.jump(after);
                });
            }
            BlockGuard::Receive { channel, random, copy, pattern } => {
                let fields = pattern.indices().len();
                scope.with_channel(code, channel, fields, never, |scope, code, channel| {
                    let index = scope.find_message(code, &channel, *random, *pattern, never);
                    scope.take_message(code, &channel, index, *copy, *pattern);
                    code.jump(after);
                });
            }
        }
        code.begin(never);
        code.jump(after);
        code.begin(after);
    }

    fn ops(&self, code: &mut Code<'_>, scope: &Scope<'_>, ops: &[Op], violated: Register) {
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
                    self.note_violation(code, *fault, violated, goes_on);
                    code.begin(goes_on);
                }
                Op::Print { .. } | Op::PrintName { .. } => {}
                Op::Run { .. } | Op::SetPriority { .. } => {
                    unreachable!("left to the interpreter")
                }
            }
        }
    }

    /// The first assertion that fails is the one that is reported.
    fn note_violation(
        &self,
        code: &mut Code<'_>,
        fault: FaultId,
        violated: Register,
        goes_on: Block,
    ) {
        let first = code.block();
        let before = code.get(violated);
        code.branch(before, goes_on, first);
        code.begin(first);
        let number = code.number((fault.0 << 2 | 1) as i32);
        code.set(violated, number);
        code.jump(goes_on);
    }

    /// The process stands at the target, with or without the right to go on alone.
    fn arrive(&self, code: &mut Code<'_>, scope: &Scope<'_>, taken: &Move, violated: Register) {
        let layout = &self.program.layout;
        let pc = code.number(i32::from(taken.target.0));
        let memory = if layout.pc_width == 1 { Memory::Byte } else { Memory::UnsignedTwo };
        code.store(memory, pc, scope.frame, 1);
        let one = code.number(1);
        let exclusive = match taken.keeps_control {
            true => code.arithmetic(Arithmetic::Add, scope.pid, one),
            false => code.number(0),
        };
        code.store(Memory::Byte, exclusive, scope.state, 0);
        if let Some(offset) = layout.last_offset {
            code.store(Memory::Byte, scope.pid, scope.state, offset);
        }
        let result = code.get(violated);
        code.give(result);
    }
}

fn give_broken(code: &mut Code<'_>, fault: FaultId) {
    let number = code.number(broken(fault));
    code.give(number);
}
