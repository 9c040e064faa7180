//! Steps with an undo log: machine code that notes what it is going to write to, see
//! [`crate::execute::undo_log`].

use super::code::{Code, Memory, Value};
use super::moves::{Maker, Process};
use super::scope::{HelperId, OnFault, Scope};
use super::successors::{Visit, resizes};
use crate::execute::workspace::Workspace;
use preempt_promela::ir::{ChannelType, Move, MoveKind, Program};

/// The most notes that one half of a step takes, with whatever channel it works on.
pub(super) fn notes_of(program: &Program, taken: &Move) -> usize {
    let length_width = program.layout.length_width as usize;
    let channel = |ty: &ChannelType| {
        let message = ty.message_length as usize;
        // All messages, and what lies behind the last.
        span(length_width + (ty.capacity as usize + 1) * message)
            + span(message)
            + 2 * ty.fields.len()
    };
    let channels = program.layout.channel_types.iter().map(channel).max();
    // Control state, right to go on, last mover, number of messages.
    8 + 2 * taken.ops.len() + channels.unwrap_or(0)
}

/// The most words that so many bytes lie in.
fn span(bytes: usize) -> usize {
    bytes.div_ceil(8) + 1
}

/// Whether all that a move writes is noted.
fn is_noted(taken: &Move) -> bool {
    !resizes(taken) && !matches!(taken.kind, MoveKind::Compound { .. })
}

impl Scope<'_> {
    /// To be called before so many bytes are written.
    pub(crate) fn note(&self, code: &mut dyn Code, base: Value, offset: u32, length: u32) {
        if !self.notes {
            return;
        }
        let end = offset + length - 1;
        let mut at = offset;
        while at < end && (base != self.state || at / 8 != end / 8) {
            code.note_word(self.state, (base, at), (self.workspace, Workspace::NEXT_NOTE));
            at += 8;
        }
        code.note_word(self.state, (base, end), (self.workspace, Workspace::NEXT_NOTE));
    }

    /// To be called before messages of a channel are moved.
    pub(crate) fn note_messages(&self, code: &mut dyn Code, channel: Value, bytes: Value) {
        if self.notes {
            let arguments = [self.workspace, self.state, channel, bytes];
            code.call(HelperId::NoteMessages as usize, &arguments);
        }
    }
}

impl Maker<'_> {
    /// Takes an enabled move and takes it back. Gives the result, and start and length of the
    /// differences.
    pub(crate) fn take_in_place(
        &self,
        code: &mut dyn Code,
        visit: &Visit,
        taken: &Move,
    ) -> (Value, Value, Value) {
        let (done, result) = code.block_with_number();
        let ask = code.cold_block();
        let recorded = if is_noted(taken) {
            let on_fault = OnFault::Deliver(done);
            let scope = self.scope(visit.process, visit.timeout, visit.workspace, on_fault);
            self.effect(code, &scope, taken, false, ask);
            self.asked(code, visit, ask, done);
            code.call(HelperId::Record as usize, &[visit.workspace, visit.process.state])
        } else {
            let copy = code.load_wide(visit.workspace, Workspace::FIRST_NOTE);
            let before = code.load(Memory::Four, visit.workspace, Workspace::STATE_LENGTH);
            code.copy(visit.process.state, copy, before);
            let (offset, _) = code.distance(visit.process.state, visit.process.frame);
            let frame = code.further(copy, offset);
            let process = Process { state: copy, frame, pid: visit.process.pid };
            let on_fault = OnFault::Deliver(done);
            let scope = self.scope(process, visit.timeout, visit.workspace, on_fault);
            self.effect(code, &Scope { notes: false, ..scope }, taken, false, ask);
            self.asked(code, visit, ask, done);
            let length = match resizes(taken) {
                false => before,
                true => {
                    let shape = code.address(self.tables.shape);
                    code.call(HelperId::LengthOf as usize, &[shape, copy])
                }
            };
            let arguments = [visit.workspace, visit.process.state, copy, length];
            code.call(HelperId::RecordCopy as usize, &arguments)
        };
        let (start, length) = code.halves(recorded);
        (self.with_control(code, taken, result), start, length)
    }
}
