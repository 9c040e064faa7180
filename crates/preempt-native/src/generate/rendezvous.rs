//! Rendezvous as machine code: what the sender offers, which process takes it, and both halves of the step.
//!
//! An offered message lies in the workspace, one 32-bit number per field, cut to the channel's fields.

use super::channel::Channel;
use super::code::{Arithmetic, Block, Code, Compare, Memory, Register, Value};
use super::moves::{Maker, Process};
use super::scope::{OnFault, Scope, Want};
use super::support::Reply;
use super::value::{cut, load_pc};
use crate::execute::workspace::{ASK_MOVES, Workspace};
use preempt_promela::ir::{Move, MoveId, MoveKind, Pattern, PatternRange};

impl Maker<'_> {
    /// Puts the message that a send offers on a rendezvous channel into the workspace.
    pub(crate) fn offer(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        (_, send): (MoveId, &Move),
        channel: &Channel,
    ) {
        let MoveKind::Send { values, .. } = &send.kind else { unreachable!("only sends offer") };
        let values = self.values(code, scope, *values);
        for (at, (field, value)) in channel.ty().fields.iter().zip(values).enumerate() {
            let value = cut(code, field.0, value);
            code.store(Memory::Four, value, scope.workspace, message_field(at));
        }
    }

    /// Body of `(state, frame, pid, move, workspace) -> result`: the sender's half.
    pub(crate) fn give(
        &self,
        code: &mut dyn Code,
        process: Process,
        which: Value,
        workspace: Value,
    ) {
        let ids = self.moves(|m| self.support().gives(m));
        self.one_of(code, &ids, which, |code, id, ask| {
            let timeout = code.number(0);
            let scope = self.scope(process, timeout, workspace, OnFault::Return);
            let taken = self.program.move_of(id);
            let MoveKind::Send { channel, values, .. } = &taken.kind else { return };
            let wanted = (channel, values.indices().len(), Want::Rendezvous);
            let after = code.block();
            scope.with_channel(code, wanted, ask, |scope, code, channel| {
                self.offer(code, scope, (id, taken), &channel);
                code.jump(after);
            });
            code.begin(after);
            self.stand_at(code, &scope, taken);
            let zero = code.number(0);
            let violated = code.register(zero);
            self.ops(code, &scope, &taken.ops, violated);
            let result = code.get(violated);
            code.give(result);
        });
    }

    /// Body of `(state, frame, pid, timeout, workspace, channel) -> number of replies`.
    pub(crate) fn replies(
        &self,
        code: &mut dyn Code,
        process: Process,
        timeout: Value,
        workspace: Value,
        channel: Value,
    ) {
        let ask = code.cold_block();
        let nobody = code.block();
        if let Some(provided) = self.proctype.provided {
            let runs = code.block();
            if self.support().expr(provided) {
                let scope = self.scope(process, timeout, workspace, OnFault::Goto(nobody));
                scope.condition(code, provided, runs, nobody);
            } else {
                code.jump(ask);
            }
            code.begin(runs);
        }
        let pc = load_pc(code, self.program.layout.pc_width, process.frame);
        let mut cases = Vec::new();
        for (pc, state) in self.proctype.states.iter().enumerate() {
            let replies =
                state.moves.iter().map(|id| self.support().reply(self.program.move_of(*id)));
            match replies.max() {
                None | Some(Reply::Never) => {}
                Some(Reply::Maybe) => cases.push((pc as u32, code.block())),
                Some(Reply::Unknown) => cases.push((pc as u32, ask)),
            }
        }
        code.select_block(pc, &cases, nobody);
        for (block, number) in [(ask, ASK_MOVES), (nobody, 0)] {
            code.begin(block);
            let number = code.number(number);
            code.give(number);
        }
        for (pc, block) in cases.into_iter().filter(|(_, block)| *block != ask) {
            code.begin(block);
            let zero = code.number(0);
            let (count, group) = (code.register(zero), code.register(zero));
            let end = code.block();
            for id in &self.proctype.states[pc as usize].moves {
                let candidate = self.program.move_of(*id);
                if self.support().reply(candidate) == Reply::Maybe {
                    let scope = self.scope(process, timeout, workspace, OnFault::Return);
                    self.reply(code, &scope, (*id, candidate), channel, (count, group), end);
                }
            }
            code.jump(end);
            code.begin(end);
            let number = code.get(count);
            code.give(number);
        }
    }

    /// Adds one receive to the replies if it takes the message.
    fn reply(
        &self,
        code: &mut dyn Code,
        scope: &Scope<'_>,
        (id, candidate): (MoveId, &Move),
        offered: Value,
        (count, group): (Register, Register),
        end: Block,
    ) {
        let MoveKind::Receive { channel, pattern, .. } = &candidate.kind else { return };
        let (taken, next) = (code.block(), code.block());
        let own = code.number(i32::from(candidate.escape));
        let before = code.get(group);
        let (go_on, restricted) = (code.block(), code.block());
        code.branch(before, restricted, go_on);
        code.begin(restricted);
        let same = code.compare(Compare::Equal, before, own);
        code.branch(same, go_on, end);
        code.begin(go_on);
        // A channel that is unknown is not the one; a field that is unknown may fit.
        let looking = Scope { on_fault: OnFault::Goto(next), ..*scope };
        let here = looking.known_id(code, channel);
        let right = code.compare(Compare::Equal, here, offered);
        let fits = code.block();
        code.branch(right, fits, next);
        code.begin(fits);
        let matching = Scope { on_fault: OnFault::Goto(taken), ..*scope };
        self.fields_fit(code, &matching, *pattern, next);
        code.jump(taken);
        code.begin(taken);
        let index = code.get(count);
        let place = code.element(scope.workspace, index, 4);
        let number = code.number(id.0 as i32);
        code.store(Memory::Four, number, place, Workspace::REPLIES);
        let one = code.number(1);
        let more = code.arithmetic(Arithmetic::Add, index, one);
        code.set(count, more);
        code.set(group, own);
        code.jump(next);
        code.begin(next);
    }

    /// Goes on if the message in the workspace matches, else to `no`.
    fn fields_fit(&self, code: &mut dyn Code, scope: &Scope<'_>, pattern: PatternRange, no: Block) {
        for (at, pattern) in self.program.patterns[pattern.indices()].iter().enumerate() {
            let Pattern::Match(expected) = pattern else { continue };
            let expected = scope.value(code, *expected);
            let offered = code.load(Memory::Four, scope.workspace, message_field(at));
            let equal = code.compare(Compare::Equal, expected, offered);
            let go_on = code.block();
            code.branch(equal, go_on, no);
            code.begin(go_on);
        }
    }

    /// Body of `(state, frame, pid, move, workspace) -> result`: the receiver's half.
    pub(crate) fn accept(
        &self,
        code: &mut dyn Code,
        process: Process,
        which: Value,
        workspace: Value,
    ) {
        let ids = self.moves(|m| self.support().accepts(m));
        self.one_of(code, &ids, which, |code, id, _| {
            let timeout = code.number(0);
            let scope = self.scope(process, timeout, workspace, OnFault::Return);
            let taken = self.program.move_of(id);
            let MoveKind::Receive { pattern, .. } = &taken.kind else { return };
            let after = code.block();
            self.fields_fit(code, &scope, *pattern, after);
            code.jump(after);
            code.begin(after);
            for (at, pattern) in self.program.patterns[pattern.indices()].iter().enumerate() {
                if let Pattern::Store(place) = pattern {
                    let value = code.load(Memory::Four, workspace, message_field(at));
                    scope.store(code, place, value);
                }
            }
            let zero = code.number(0);
            let violated = code.register(zero);
            self.ops(code, &scope, &taken.ops, violated);
            self.stand_at(code, &scope, taken);
            self.leave(code, &scope, taken, violated);
        });
    }
}

fn message_field(at: usize) -> u32 {
    Workspace::MESSAGE + 4 * at as u32
}
