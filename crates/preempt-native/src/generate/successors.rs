//! Which moves of a process are enabled, and where they lead: one function per process type that only
//! lists, and one per control state that takes each enabled move on a copy of the state as soon as it is
//! found. On a card one function per process type does that, in which control states with one move share what they do alike
//! ([`Only`]).

use super::channel::Channel;
use super::code::{Arithmetic, Block, Code, Compare, Memory, Register, Value};
use super::moves::{Maker, Process};
use super::scope::{HelperId, OnFault};
use super::value::load_pc;
use crate::execute::workspace::{ASK_MOVES, ASK_STEP, HEADER, Workspace};
use preempt_core::engine::SuccessorHeader;
use preempt_promela::ir::{ControlState, Move, MoveId, MoveKind, Op};
use std::mem::offset_of;

/// What is done with an enabled move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// It is noted.
    List,
    /// It is taken, on a copy or in place.
    Expand,
}

/// A process that is asked for its moves, what it is asked with, and where to go if it cannot tell them.
#[derive(Clone, Copy)]
struct Caller {
    process: Process,
    timeout: Value,
    workspace: Value,
    ask: Block,
}

/// What the code of one control state works with.
pub(crate) struct Visit {
    pub(crate) process: Process,
    pub(crate) timeout: Value,
    pub(crate) workspace: Value,
    /// Headers so far.
    count: Register,
    /// The escape that is restricted to, if the state has any.
    group: Option<Register>,
    ask: Block,
    purpose: Purpose,
}

/// What control states with one move have in common: the copy of the state is there already, and what is said of the successor is the
/// same but for the move and its result. So the code is shorter, and threads of a card whose processes are at different control
/// points are together again behind their steps.
struct Only {
    /// The copy, and the process in it.
    process: Process,
    /// Where the header is written.
    tail: Block,
    result: Register,
    id: Register,
}

/// Whether the move changes the length of the vector.
pub(crate) fn resizes(taken: &Move) -> bool {
    matches!(taken.kind, MoveKind::End) || taken.ops.iter().any(|op| matches!(op, Op::Run { .. }))
}

impl Maker<'_> {
    /// Body of `(state, frame, pid, timeout, workspace) -> number of headers`, wherever the process is.
    pub(crate) fn everywhere(
        &self,
        code: &mut dyn Code,
        process: Process,
        timeout: Value,
        workspace: Value,
        purpose: Purpose,
    ) {
        let ask = code.cold_block();
        let caller = Caller { process, timeout, workspace, ask };
        self.stop_unless_provided(code, &caller);
        let only = (purpose == Purpose::Expand).then(|| begin_only(code, process, workspace));
        let pc = load_pc(code, self.program.layout.pc_width, process.frame);
        let states: Vec<_> = self.proctype.states.iter().map(|_| code.block()).collect();
        let cases: Vec<_> = states.iter().enumerate().map(|(pc, b)| (pc as u32, *b)).collect();
        code.select_block(pc, &cases, ask);
        for (state, block) in self.proctype.states.iter().zip(states) {
            code.begin(block);
            match (&only, self.only_move(state)) {
                (Some(only), Some(id)) => self.take_only(code, id, caller, only),
                _ => self.moves_of(code, state, caller, purpose),
            }
        }
        if let Some(only) = only {
            end_only(code, process, workspace, &only);
        }
        give_up(code, ask);
    }

    /// The only move of a control state, if there is one that is taken by the processes of this type alone and leaves the length of the
    /// vector as it is.
    fn only_move(&self, state: &ControlState) -> Option<MoveId> {
        let [id] = state.moves[..] else { return None };
        let (support, only) = (self.support(), self.program.move_of(id));
        let is_whole = support.guard(only) && support.effect(only) && !support.gives(only);
        (is_whole && !resizes(only) && self.block_behind(only).is_none()).then_some(id)
    }

    /// Deals with it; the present block is left.
    fn take_only(&self, code: &mut dyn Code, id: MoveId, caller: Caller, only: &Only) {
        let Caller { process, timeout, workspace, ask } = caller;
        let taken = self.program.move_of(id);
        let zero = code.number(0);
        let none = code.register(zero);
        let (enabled, disabled, faulty) = (code.block(), code.block(), code.cold_block());
        let scope = self.scope(process, timeout, workspace, OnFault::Goto(faulty));
        let blocks = (enabled, disabled, ask);
        self.guard(code, &scope, taken, none, blocks, |_, _, _| unreachable!("no rendezvous"));
        code.begin(enabled);
        let (done, result) = code.block_with_number();
        let asks = code.cold_block();
        let scope = self.scope(only.process, timeout, workspace, OnFault::Deliver(done));
        self.effect(code, &scope, taken, false, asks);
        for block in [asks, faulty] {
            code.begin(block);
            note_question(code, workspace);
            let number = code.number(ASK_STEP as i32);
            code.jump_with(done, number);
        }
        code.begin(done);
        let result = self.with_control(code, taken, result);
        code.set(only.result, result);
        let number = code.number(id.0 as i32);
        code.set(only.id, number);
        code.jump(only.tail);
        code.begin(disabled);
        let zero = code.number(0);
        code.give(zero);
    }

    /// Body of the same for a process that is known to be at one control state; takes the moves.
    pub(crate) fn successors(
        &self,
        code: &mut dyn Code,
        state: &ControlState,
        process: Process,
        timeout: Value,
        workspace: Value,
    ) {
        let ask = code.cold_block();
        let caller = Caller { process, timeout, workspace, ask };
        self.stop_unless_provided(code, &caller);
        self.moves_of(code, state, caller, Purpose::Expand);
        give_up(code, ask);
    }

    /// Returns at once where the process may not run.
    fn stop_unless_provided(&self, code: &mut dyn Code, caller: &Caller) {
        let Caller { process, timeout, workspace, ask } = *caller;
        let Some(provided) = self.proctype.provided else { return };
        let (runs, rests) = (code.block(), code.block());
        if self.support().expr(provided) {
            let scope = self.scope(process, timeout, workspace, OnFault::Goto(rests));
            scope.condition(code, provided, runs, rests);
        } else {
            code.jump(ask);
        }
        code.begin(rests);
        let none = code.number(0);
        code.give(none);
        code.begin(runs);
    }

    /// Deals with the moves of one control state; the present block is left.
    fn moves_of(
        &self,
        code: &mut dyn Code,
        state: &ControlState,
        caller: Caller,
        purpose: Purpose,
    ) {
        let Caller { process, timeout, workspace, ask } = caller;
        let all = |id: &MoveId| self.support().guard(self.program.move_of(*id));
        if !state.moves.iter().all(all) {
            code.jump(ask);
            return;
        }
        let zero = code.number(0);
        let count = code.register(zero);
        let has_escapes = state.moves.iter().any(|id| self.program.move_of(*id).escape != 0);
        let group = has_escapes.then(|| code.register(zero));
        self.visit(code, state, &Visit { process, timeout, workspace, count, group, ask, purpose });
    }

    fn visit(&self, code: &mut dyn Code, state: &ControlState, visit: &Visit) {
        let end = code.block();
        for &id in &state.moves {
            let candidate = self.program.move_of(id);
            let (enabled, next) = (code.block(), code.block());
            // A guard that fails to be evaluated is no part of the effect that follows one that holds:
            // the interpreter says how it fails.
            let faulty = match visit.purpose {
                Purpose::List => enabled,
                Purpose::Expand => code.cold_block(),
            };
            if let Some(group) = visit.group {
                stop_at_other_groups(code, group, candidate.escape, end);
            }
            let on_fault = OnFault::Goto(faulty);
            let scope = self.scope(visit.process, visit.timeout, visit.workspace, on_fault);
            let blocks = (enabled, next, visit.ask);
            self.guard(code, &scope, candidate, visit.count, blocks, |scope, code, channel| {
                self.offer(code, scope, (id, candidate), channel);
                self.after_offer(code, visit, (id, candidate), channel, next);
            });
            for block in [enabled, faulty].into_iter().take(1 + usize::from(faulty != enabled)) {
                code.begin(block);
                self.enter(code, visit, id, block == enabled);
                if let Some(group) = visit.group {
                    let own = code.number(i32::from(candidate.escape));
                    code.set(group, own);
                }
                code.jump(next);
            }
            code.begin(next);
        }
        code.jump(end);
        code.begin(end);
        let number = code.get(visit.count);
        code.give(number);
    }

    /// Asks the other processes to answer the offer that lies in the workspace.
    fn after_offer(
        &self,
        code: &mut dyn Code,
        visit: &Visit,
        (id, candidate): (MoveId, &Move),
        channel: &Channel,
        next: Block,
    ) {
        let Some(channel) = channel.rendezvous() else { unreachable!("a rendezvous channel") };
        let before = code.get(visit.count);
        let one = code.number(1);
        let Process { state, frame, pid } = visit.process;
        let doubled = code.arithmetic(Arithmetic::ShiftLeft, pid, one);
        let who = code.arithmetic(Arithmetic::Or, doubled, visit.timeout);
        let number = code.number(id.0 as i32);
        let arguments = [visit.workspace, state, frame, who, number, channel, before];
        let after = code.call(HelperId::Offer as usize, &arguments);
        let minus_one = code.number(ASK_MOVES);
        let failed = code.compare(Compare::Equal, after, minus_one);
        let (fine, answered, unanswered) = (code.block(), code.block(), code.block());
        code.branch(failed, visit.ask, fine);
        code.begin(fine);
        let none = code.compare(Compare::Equal, after, before);
        code.branch(none, unanswered, answered);
        for (block, escape) in [(answered, candidate.escape), (unanswered, 0)] {
            code.begin(block);
            code.set(visit.count, after);
            if let Some(group) = visit.group {
                let own = code.number(i32::from(escape));
                code.set(group, own);
            }
            code.jump(next);
        }
    }

    /// Adds a header for an enabled move, whose guard holds or cannot be evaluated.
    fn enter(&self, code: &mut dyn Code, visit: &Visit, id: MoveId, holds: bool) {
        let taken = self.program.move_of(id);
        let successor = match visit.purpose {
            Purpose::List => None,
            Purpose::Expand if !holds || !self.support().effect(taken) => {
                let (ask, zero) = (code.number(ASK_STEP as i32), code.number(0));
                note_question(code, visit.workspace);
                Some((ask, zero, zero))
            }
            Purpose::Expand if self.notes => Some(self.take_in_place(code, visit, taken)),
            Purpose::Expand => Some(self.take_on_a_copy(code, visit, taken)),
        };
        let index = code.get(visit.count);
        let headers = code.load_wide(visit.workspace, Workspace::HEADERS);
        let header = code.element(headers, index, HEADER);
        if let Some((result, start, length)) = successor {
            code.store(Memory::Four, start, header, offset_of!(SuccessorHeader, start) as u32);
            code.store(Memory::Four, length, header, offset_of!(SuccessorHeader, length) as u32);
            code.store(Memory::Four, result, header, offset_of!(SuccessorHeader, result) as u32);
        }
        code.store(
            Memory::Four,
            visit.process.pid,
            header,
            offset_of!(SuccessorHeader, who) as u32,
        );
        let number = code.number(id.0 as i32);
        code.store_widened(number, header, offset_of!(SuccessorHeader, transition) as u32);
        code.store_nothing(header, offset_of!(SuccessorHeader, sleep_set) as u32);
        let one = code.number(1);
        let more = code.arithmetic(Arithmetic::Add, index, one);
        code.set(visit.count, more);
    }

    /// Gives the result, the start and the length of the successor.
    fn take_on_a_copy(
        &self,
        code: &mut dyn Code,
        visit: &Visit,
        taken: &Move,
    ) -> (Value, Value, Value) {
        let copy = code.load_wide(visit.workspace, Workspace::OUT);
        let length = code.load(Memory::Four, visit.workspace, Workspace::STATE_LENGTH);
        code.copy(visit.process.state, copy, length);
        let (offset, _) = code.distance(visit.process.state, visit.process.frame);
        let frame = code.further(copy, offset);
        let (done, result) = code.block_with_number();
        let ask = code.cold_block();
        let process = Process { state: copy, frame, pid: visit.process.pid };
        let scope = self.scope(process, visit.timeout, visit.workspace, OnFault::Deliver(done));
        self.effect(code, &scope, taken, false, ask);
        self.asked(code, visit, ask, done);
        let length = match resizes(taken) {
            false => length,
            true => {
                let shape = code.address(self.tables.shape);
                code.call(HelperId::LengthOf as usize, &[shape, copy])
            }
        };
        let end = code.element(copy, length, 1);
        code.store_wide(end, visit.workspace, Workspace::OUT);
        let result = match self.block_behind(taken) {
            None => self.with_control(code, taken, result),
            Some(block) => {
                let block = code.number(block as i32);
                let arguments = [visit.workspace, copy, frame, visit.process.pid, block, result];
                code.call(HelperId::RunSequence as usize, &arguments)
            }
        };
        let base = code.load_wide(visit.workspace, Workspace::BASE);
        let (_, start) = code.distance(base, copy);
        (result, start, length)
    }

    /// Where the interpreter must take the step; then begins what follows every step.
    pub(crate) fn asked(&self, code: &mut dyn Code, visit: &Visit, ask: Block, done: Block) {
        code.begin(ask);
        let number = code.number(ASK_STEP as i32);
        note_question(code, visit.workspace);
        code.jump_with(done, number);
        code.begin(done);
    }

    /// The result of a move with what is known of its target.
    pub(crate) fn with_control(&self, code: &mut dyn Code, taken: &Move, result: Value) -> Value {
        match taken.keeps_control {
            false => result,
            true => {
                let transient = code.number(SuccessorHeader::TRANSIENT as i32);
                code.arithmetic(Arithmetic::Or, result, transient)
            }
        }
    }
}

/// The head of what control states with one move have in common.
fn begin_only(code: &mut dyn Code, process: Process, workspace: Value) -> Only {
    let copy = code.load_wide(workspace, Workspace::OUT);
    let (offset, _) = code.distance(process.state, process.frame);
    let frame = code.further(copy, offset);
    let zero = code.number(0);
    let (result, id) = (code.register(zero), code.register(zero));
    let process = Process { state: copy, frame, pid: process.pid };
    Only { process, tail: code.block(), result, id }
}

/// Its tail: the first header, of the first copy.
fn end_only(code: &mut dyn Code, process: Process, workspace: Value, only: &Only) {
    code.begin(only.tail);
    let header = code.load_wide(workspace, Workspace::HEADERS);
    let (zero, result) = (code.number(0), code.get(only.result));
    let fields = [
        (zero, offset_of!(SuccessorHeader, start)),
        (result, offset_of!(SuccessorHeader, result)),
        (process.pid, offset_of!(SuccessorHeader, who)),
    ];
    for (value, offset) in fields {
        code.store(Memory::Four, value, header, offset as u32);
    }
    let id = code.get(only.id);
    code.store_widened(id, header, offset_of!(SuccessorHeader, transition) as u32);
    let one = code.number(1);
    code.give(one);
}

/// Leaves the moves of the process to the interpreter.
fn give_up(code: &mut dyn Code, ask: Block) {
    code.begin(ask);
    let number = code.number(ASK_MOVES);
    code.give(number);
}

/// Some header needs the interpreter.
fn note_question(code: &mut dyn Code, workspace: Value) {
    let one = code.number(1);
    code.store(Memory::Four, one, workspace, Workspace::ASKS);
}

/// Once a move of an escape was enabled, those of other groups are not tried.
fn stop_at_other_groups(code: &mut dyn Code, group: Register, own: u16, end: Block) {
    let taken = code.get(group);
    let own = code.number(i32::from(own));
    let (go_on, restricted) = (code.block(), code.block());
    code.branch(taken, restricted, go_on);
    code.begin(restricted);
    let same = code.compare(Compare::Equal, taken, own);
    code.branch(same, go_on, end);
    code.begin(go_on);
}
