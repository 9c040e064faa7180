//! What machine code on the processor calls as Rust functions, written once more in the assembler for a card.
//!
//! **Invariant:** each does what the function of the same name in `execute/` does, but for what all states on a card have
//! in common: they are `stride` bytes long, with zeros behind what is used.

use super::tables::Places;
use crate::execute::shape::MOST_ALIVE;
use crate::execute::workspace::{ASK_MOVES, ASK_STEP, HEADER, Workspace};
use crate::generate::code::{Arithmetic, Block, Code, Compare, Memory, Register, Value};
use crate::generate::scope::HelperId;
use preempt_core::engine::SuccessorHeader;
use std::mem::offset_of;

/// What the helpers know of the program.
pub(super) struct Facts<'a> {
    pub(super) places: Places,
    /// Where the tables lie in this process.
    pub(super) bytes: &'a [u8],
    pub(super) globals_end: u32,
    pub(super) global_channels: u32,
    pub(super) stride: u32,
    /// Bytes of a state that the program may use.
    pub(super) room: u32,
    /// Most headers before a process is left to the processor.
    pub(super) most_headers: u32,
    /// Whether a joint step may change the length of a state.
    pub(super) grows: bool,
    /// By process type: the functions give, replies, accept, by the numbers that a call names.
    pub(super) halves: Vec<[Option<usize>; 3]>,
}

/// A walk over the frames of a state.
struct Walk {
    state: Value,
    pid: Register,
    at: Register,
    head: Block,
    end: Block,
}

fn add(code: &mut dyn Code, a: Value, b: Value) -> Value {
    code.arithmetic(Arithmetic::Add, a, b)
}

impl Facts<'_> {
    fn table(&self, code: &mut dyn Code, place: u32) -> Value {
        code.address(self.bytes.as_ptr().wrapping_add(place as usize))
    }

    /// An entry of a table of numbers.
    fn entry(&self, code: &mut dyn Code, place: u32, index: Value) -> Value {
        let table = self.table(code, place);
        let entry = code.element(table, index, 4);
        code.load(Memory::Four, entry, 0)
    }

    /// Begins a walk: what follows is done for each frame, whose process type is given.
    fn walk(&self, code: &mut dyn Code, state: Value) -> (Walk, Value) {
        let (zero, first) = (code.number(0), code.number(self.globals_end as i32));
        let (pid, at) = (code.register(zero), code.register(first));
        let (head, body, end) = (code.block(), code.block(), code.block());
        code.jump(head);
        code.begin(head);
        let (here, count) = (code.get(pid), code.load(Memory::Byte, state, 1));
        let more = code.compare(Compare::Below, here, count);
        code.branch(more, body, end);
        code.begin(body);
        let offset = code.get(at);
        let frame = code.element(state, offset, 1);
        let ty = code.load(Memory::Byte, frame, 0);
        (Walk { state, pid, at, head, end }, ty)
    }

    /// On to the next frame; then begins what follows the walk.
    fn next(&self, code: &mut dyn Code, walk: &Walk) {
        let at = code.get(walk.at);
        let frame = code.element(walk.state, at, 1);
        let ty = code.load(Memory::Byte, frame, 0);
        let length = self.entry(code, self.places.frame_lengths, ty);
        let at = add(code, at, length);
        code.set(walk.at, at);
        let (pid, one) = (code.get(walk.pid), code.number(1));
        let pid = add(code, pid, one);
        code.set(walk.pid, pid);
        code.jump(walk.head);
        code.begin(walk.end);
    }

    /// The body of a helper.
    pub(super) fn body(&self, helper: HelperId, code: &mut dyn Code, p: &[Value]) {
        match helper {
            HelperId::Locate => self.locate(code, p),
            HelperId::FrameOf => self.frame_of(code, p),
            HelperId::Remove => remove(code, p),
            HelperId::MakeRoom => make_room(code, p),
            HelperId::FirstOwn => self.first_own(code, p),
            HelperId::Create => self.create(code, p),
            HelperId::LengthOf => self.length_of(code, p),
            HelperId::Offer => self.offer(code, p),
            // Code for a card takes no steps in place, runs no sequences and checks no promises.
            HelperId::NoteMessages | HelperId::RunSequence | HelperId::BrokenPromise => {
                let zero = code.number(0);
                code.give(zero);
            }
            HelperId::Record | HelperId::RecordCopy => code.give(p[0]),
        }
    }

    fn locate(&self, code: &mut dyn Code, p: &[Value]) {
        let (state, id) = (p[1], p[2]);
        let (possible, nowhere) = (code.block(), code.block());
        let globals = code.number(self.global_channels as i32);
        let own = code.compare(Compare::Below, globals, id);
        code.branch(own, possible, nowhere);
        code.begin(possible);
        let first = code.number(self.global_channels as i32 + 1);
        let index = code.arithmetic(Arithmetic::Subtract, id, first);
        let left = code.register(index);
        let (walk, ty) = self.walk(code, state);
        let count = self.entry(code, self.places.own_counts, ty);
        let index = code.get(left);
        let (here, further) = (code.block(), code.block());
        let found = code.compare(Compare::Below, index, count);
        code.branch(found, here, further);
        code.begin(here);
        let first = self.entry(code, self.places.own_firsts, ty);
        let number = add(code, first, index);
        let table = self.table(code, self.places.own_channels);
        let entry = code.element(table, number, 8);
        let entry = code.load_wide(entry, 0);
        let at = code.get(walk.at);
        let located = code.element(entry, at, 1);
        code.give(located);
        code.begin(further);
        let index = code.arithmetic(Arithmetic::Subtract, index, count);
        code.set(left, index);
        self.next(code, &walk);
        code.jump(nowhere);
        code.begin(nowhere);
        let ones = self.table(code, self.places.ones);
        let ones = code.load_wide(ones, 0);
        code.give(ones);
    }

    fn first_own(&self, code: &mut dyn Code, p: &[Value]) {
        let (state, wanted) = (p[1], p[2]);
        let first = code.number(self.global_channels as i32 + 1);
        let sum = code.register(first);
        let (walk, ty) = self.walk(code, state);
        let (older, rest) = (code.block(), code.block());
        let pid = code.get(walk.pid);
        let is_older = code.compare(Compare::Below, pid, wanted);
        code.branch(is_older, older, rest);
        code.begin(older);
        let count = self.entry(code, self.places.own_counts, ty);
        let before = code.get(sum);
        let after = add(code, before, count);
        code.set(sum, after);
        code.jump(rest);
        code.begin(rest);
        self.next(code, &walk);
        let sum = code.get(sum);
        code.give(sum);
    }

    fn frame_of(&self, code: &mut dyn Code, p: &[Value]) {
        let (state, proctype, wanted, any) = (p[1], p[2], p[3], p[4]);
        let (walk, ty) = self.walk(code, state);
        let pid = code.get(walk.pid);
        let same_type = code.compare(Compare::Equal, ty, proctype);
        let same_process = code.compare(Compare::Equal, pid, wanted);
        let right = code.arithmetic(Arithmetic::Or, same_process, any);
        let is_it = code.arithmetic(Arithmetic::And, same_type, right);
        let (found, further) = (code.block(), code.block());
        code.branch(is_it, found, further);
        code.begin(found);
        let at = code.get(walk.at);
        code.give(at);
        code.begin(further);
        self.next(code, &walk);
        let nowhere = code.number(-1);
        code.give(nowhere);
    }

    fn create(&self, code: &mut dyn Code, p: &[Value]) {
        let (state, proctype) = (p[1], p[2]);
        let globals = code.number(self.global_channels as i32);
        let channels = code.register(globals);
        let (walk, ty) = self.walk(code, state);
        let own = self.entry(code, self.places.own_counts, ty);
        let before = code.get(channels);
        let after = add(code, before, own);
        code.set(channels, after);
        self.next(code, &walk);
        let own = self.entry(code, self.places.own_counts, proctype);
        let alive = code.load(Memory::Byte, state, 1);
        let most = code.number(MOST_ALIVE as i32);
        let channels = code.get(channels);
        let all = add(code, channels, own);
        let many = code.compare(Compare::Below, most, all);
        let full = code.compare(Compare::Equal, alive, most);
        let refused = code.arithmetic(Arithmetic::Or, many, full);
        let (room, none) = (code.block(), code.block());
        code.branch(refused, none, room);
        code.begin(none);
        let nowhere = code.number(-1);
        code.give(nowhere);
        code.begin(room);
        let at = code.get(walk.at);
        let frame = code.element(state, at, 1);
        let length = self.entry(code, self.places.frame_lengths, proctype);
        let source = self.entry(code, self.places.new_frames, proctype);
        let tables = self.table(code, 0);
        let source = code.element(tables, source, 1);
        repeat(code, length, |code, index| {
            let (from, to) = (code.element(source, index, 1), code.element(frame, index, 1));
            let byte = code.load(Memory::Byte, from, 0);
            code.store(Memory::Byte, byte, to, 0);
        });
        let one = code.number(1);
        let more = add(code, alive, one);
        code.store(Memory::Byte, more, state, 1);
        let count = self.entry(code, self.places.cell_counts, proctype);
        let first = self.entry(code, self.places.cell_firsts, proctype);
        repeat(code, count, |code, index| {
            let number = add(code, first, index);
            let cell = self.entry(code, self.places.cells, number);
            let cell = code.element(frame, cell, 1);
            let (one, id) = (code.number(1), add(code, channels, index));
            let id = add(code, id, one);
            code.store(Memory::Byte, id, cell, 0);
        });
        code.give(at);
    }

    /// Makes the state as long as all are, with zeros behind what is used. One for which there is no room is
    /// left without processes, and noted.
    fn length_of(&self, code: &mut dyn Code, p: &[Value]) {
        let state = p[1];
        let (walk, _) = self.walk(code, state);
        self.next(code, &walk);
        let used = code.get(walk.at);
        let (stride, room) = (code.number(self.stride as i32), code.number(self.room as i32));
        let (fits, too_long) = (code.block(), code.block());
        let longer = code.compare(Compare::Below, room, used);
        code.branch(longer, too_long, fits);
        code.begin(too_long);
        let trouble = self.table(code, self.places.trouble);
        let (one, zero) = (code.number(1), code.number(0));
        code.store(Memory::Four, one, trouble, 0);
        code.store(Memory::Byte, zero, state, 1);
        code.give(stride);
        code.begin(fits);
        let rest = code.arithmetic(Arithmetic::Subtract, stride, used);
        let end = code.element(state, used, 1);
        repeat(code, rest, |code, index| {
            let at = code.element(end, index, 1);
            let zero = code.number(0);
            code.store(Memory::Byte, zero, at, 0);
        });
        code.give(stride);
    }

    /// Finds the processes that answer an offer, and takes the joint steps.
    fn offer(&self, code: &mut dyn Code, p: &[Value]) {
        let [workspace, state, frame, who, transition, channel, before] = p else { return };
        let (workspace, state, frame, who) = (*workspace, *state, *frame, *who);
        let (transition, channel) = (*transition, *channel);
        let one = code.number(1);
        let me = code.arithmetic(Arithmetic::ShiftRight, who, one);
        let timeout = code.arithmetic(Arithmetic::And, who, one);
        let count = code.register(*before);
        let ask = code.block();
        let (walk, ty) = self.walk(code, state);
        let next = code.block();
        let others = code.block();
        let pid = code.get(walk.pid);
        let same = code.compare(Compare::Equal, pid, me);
        code.branch(same, next, others);
        code.begin(others);
        let at = code.get(walk.at);
        let there = code.element(state, at, 1);
        let (answered, found) = code.block_with_number();
        let mut cases = Vec::new();
        for (number, halves) in self.halves.iter().enumerate() {
            if let Some(replies) = halves[1] {
                cases.push((number as u32, code.block(), replies));
            }
        }
        let blocks: Vec<_> = cases.iter().map(|(number, block, _)| (*number, *block)).collect();
        code.select_block(ty, &blocks, next);
        for (_, block, replies) in cases {
            code.begin(block);
            let found = code.call(replies, &[state, there, pid, timeout, workspace, channel]);
            code.jump_with(answered, found);
        }
        code.begin(answered);
        let zero = code.number(0);
        let unknown = code.compare(Compare::Less, found, zero);
        let known = code.block();
        code.branch(unknown, ask, known);
        code.begin(known);
        repeat(code, found, |code, index| {
            let full = code.block();
            let room = code.block();
            let (already, most) = (code.get(count), code.number(self.most_headers as i32));
            let fits = code.compare(Compare::Below, already, most);
            code.branch(fits, room, full);
            code.begin(full);
            code.jump(ask);
            code.begin(room);
            let place = code.element(workspace, index, 4);
            let reply = code.load(Memory::Four, place, Workspace::REPLIES);
            let sides = [(frame, me, transition), (there, pid, reply)];
            self.join(code, (workspace, state), sides, already);
            let one = code.number(1);
            let more = add(code, already, one);
            code.set(count, more);
        });
        code.jump(next);
        code.begin(ask);
        let minus_one = code.number(ASK_MOVES);
        code.give(minus_one);
        code.begin(next);
        self.next(code, &walk);
        let all = code.get(count);
        code.give(all);
    }

    /// Takes both halves of a joint step on a copy, and writes the header with this number.
    fn join(
        &self,
        code: &mut dyn Code,
        (workspace, state): (Value, Value),
        [(frame, me, transition), (there, partner, reply)]: [(Value, Value, Value); 2],
        number: Value,
    ) {
        let copy = code.load_wide(workspace, Workspace::OUT);
        let stride = code.number(self.stride as i32);
        code.copy(state, copy, stride);
        let (own, _) = code.distance(state, frame);
        let sender = code.further(copy, own);
        let (others, _) = code.distance(state, there);
        let receiver = code.further(copy, others);
        let (done, result) = code.block_with_number();
        let ask = code.block();
        for side in [transition, reply] {
            let table = self.table(code, self.places.halves);
            let entry = code.element(table, side, 1);
            let has_code = code.load(Memory::Byte, entry, 0);
            let go_on = code.block();
            code.branch(has_code, go_on, ask);
            code.begin(go_on);
        }
        let (given_at, given) = code.block_with_number();
        self.half(code, 0, frame, [copy, sender, me, transition, workspace], (given_at, ask));
        code.begin(ask);
        let question = code.number(ASK_STEP as i32);
        code.jump_with(done, question);
        code.begin(given_at);
        let bits = code.number(ASK_STEP as i32);
        let state_of = code.arithmetic(Arithmetic::And, given, bits);
        let broken = code.number(SuccessorHeader::BROKEN as i32);
        let is_broken = code.compare(Compare::GreaterEqual, state_of, broken);
        let (whole, ends) = (code.block(), code.block());
        code.branch(is_broken, ends, whole);
        code.begin(ends);
        code.jump_with(done, given);
        code.begin(whole);
        let (accepted_at, accepted) = code.block_with_number();
        self.half(code, 2, there, [copy, receiver, partner, reply, workspace], (accepted_at, ask));
        code.begin(accepted_at);
        let state_of = code.arithmetic(Arithmetic::And, accepted, bits);
        let is_broken = code.compare(Compare::Equal, state_of, broken);
        let zero = code.number(0);
        let fine = code.compare(Compare::Equal, given, zero);
        let second = code.arithmetic(Arithmetic::Or, is_broken, fine);
        let (second_at, first_at) = (code.block(), code.block());
        code.branch(second, second_at, first_at);
        code.begin(second_at);
        code.jump_with(done, accepted);
        code.begin(first_at);
        code.jump_with(done, given);
        code.begin(done);
        // After the step, the process that goes on alone is in the first byte.
        let alone = code.load(Memory::Byte, copy, 0);
        let zero = code.number(0);
        let inside = code.compare(Compare::NotEqual, alone, zero);
        let asked = code.compare(Compare::NotEqual, result, bits);
        let inside = code.arithmetic(Arithmetic::And, inside, asked);
        let transient = code.number(SuccessorHeader::TRANSIENT as i32);
        let transient = code.arithmetic(Arithmetic::Multiply, inside, transient);
        let result = code.arithmetic(Arithmetic::Or, result, transient);
        if self.grows {
            let nothing = self.table(code, 0);
            code.call(HelperId::LengthOf as usize, &[nothing, copy]);
        }
        let end = code.element(copy, stride, 1);
        code.store_wide(end, workspace, Workspace::OUT);
        let base = code.load_wide(workspace, Workspace::BASE);
        let (_, start) = code.distance(base, copy);
        let headers = code.load_wide(workspace, Workspace::HEADERS);
        let header = code.element(headers, number, HEADER);
        let (one, sixteen) = (code.number(1), code.number(16));
        let high = add(code, partner, one);
        let high = code.arithmetic(Arithmetic::ShiftLeft, high, sixteen);
        let who = code.arithmetic(Arithmetic::Or, me, high);
        let fields = [
            (start, offset_of!(SuccessorHeader, start)),
            (stride, offset_of!(SuccessorHeader, length)),
            (result, offset_of!(SuccessorHeader, result)),
            (who, offset_of!(SuccessorHeader, who)),
            (transition, offset_of!(SuccessorHeader, transition)),
            (reply, offset_of!(SuccessorHeader, partner_transition)),
        ];
        for (value, offset) in fields {
            code.store(Memory::Four, value, header, offset as u32);
        }
        code.store_nothing(header, offset_of!(SuccessorHeader, sleep_set) as u32);
    }

    /// Calls one half of a rendezvous, by the process type of a frame; where there is no code for it, goes to `ask`.
    fn half(
        &self,
        code: &mut dyn Code,
        which: usize,
        frame: Value,
        arguments: [Value; 5],
        (done, ask): (Block, Block),
    ) {
        let ty = code.load(Memory::Byte, frame, 0);
        let mut cases = Vec::new();
        for (number, halves) in self.halves.iter().enumerate() {
            if let Some(function) = halves[which] {
                cases.push((number as u32, code.block(), function));
            }
        }
        let blocks: Vec<_> = cases.iter().map(|(number, block, _)| (*number, *block)).collect();
        code.select_block(ty, &blocks, ask);
        for (_, block, function) in cases {
            code.begin(block);
            let result = code.call(function, &arguments);
            code.jump_with(done, result);
        }
    }
}

/// Does something for each number below a count.
fn repeat(code: &mut dyn Code, count: Value, body: impl FnOnce(&mut dyn Code, Value)) {
    let zero = code.number(0);
    let index = code.register(zero);
    let (head, again, end) = (code.block(), code.block(), code.block());
    code.jump(head);
    code.begin(head);
    let here = code.get(index);
    let more = code.compare(Compare::Less, here, count);
    code.branch(more, again, end);
    code.begin(again);
    body(code, here);
    let (here, one) = (code.get(index), code.number(1));
    let next = add(code, here, one);
    code.set(index, next);
    code.jump(head);
    code.begin(end);
}

fn remove(code: &mut dyn Code, p: &[Value]) {
    let (slots, index, width, length) = (p[0], p[1], p[2], p[3]);
    let one = code.number(1);
    let shorter = code.arithmetic(Arithmetic::Subtract, length, one);
    let behind = code.arithmetic(Arithmetic::Subtract, shorter, index);
    let rest = code.arithmetic(Arithmetic::Multiply, behind, width);
    let skipped = code.arithmetic(Arithmetic::Multiply, index, width);
    let at = code.element(slots, skipped, 1);
    repeat(code, rest, |code, index| {
        let to = code.element(at, index, 1);
        let from = code.element(to, width, 1);
        let byte = code.load(Memory::Byte, from, 0);
        code.store(Memory::Byte, byte, to, 0);
    });
    let last = code.element(at, rest, 1);
    repeat(code, width, |code, index| {
        let to = code.element(last, index, 1);
        let zero = code.number(0);
        code.store(Memory::Byte, zero, to, 0);
    });
    let zero = code.number(0);
    code.give(zero);
}

fn make_room(code: &mut dyn Code, p: &[Value]) {
    let (slots, index, width, length) = (p[0], p[1], p[2], p[3]);
    let one = code.number(1);
    let behind = code.arithmetic(Arithmetic::Subtract, length, index);
    let bytes = code.arithmetic(Arithmetic::Multiply, behind, width);
    let skipped = code.arithmetic(Arithmetic::Multiply, index, width);
    let at = code.element(slots, skipped, 1);
    repeat(code, bytes, |code, index| {
        // The last one first.
        let back = code.arithmetic(Arithmetic::Subtract, bytes, index);
        let back = code.arithmetic(Arithmetic::Subtract, back, one);
        let from = code.element(at, back, 1);
        let to = code.element(from, width, 1);
        let byte = code.load(Memory::Byte, from, 0);
        code.store(Memory::Byte, byte, to, 0);
    });
    let zero = code.number(0);
    code.give(zero);
}
