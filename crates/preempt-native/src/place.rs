//! Steps in place: taken on the state itself, told by what they change, and taken back.
//!
//! Before machine code writes into the vector it notes the word that it writes to. Once the step is
//! taken, [`record`] goes back through the notes: each word is compared with what it was, what differs
//! becomes a [`Difference`], and the word is put back. A word that was noted twice is put back twice,
//! and the differences add up; so does the sum that the hash is made of. Where the length of the vector
//! may change, and for `d_step`, a step is taken on a copy, and all words are compared.
//!
//! **Invariant:** between two calls of machine code the state is what it was.

use crate::Native;
use crate::build::{self, Expanding, HELPERS};
use crate::code::{Assembly, Code, CodeError, Effort, Executable, Value};
use crate::moves::{Maker, Process};
use crate::pen::{Pen, frames_from};
use crate::room::{Meeting, Room};
use crate::shape::Frame;
use crate::successors::{Visit, resizes};
use crate::value::{HelperId, OnFault, Scope, Tables};
use preempt_core::{Difference, Leads, ProcessId, Vector, part};
use preempt_promela::ir::{ChannelType, Move, MoveKind, Program};

/// Code that takes the steps of a process in place.
pub(crate) struct Placing {
    expand: Expanding,
    /// The halves of a rendezvous that note what they write; none where a step may add to the vector.
    meeting: Option<Box<Meeting>>,
    /// The most notes that one step takes.
    most_notes: usize,
    _code: Executable,
}

impl Placing {
    pub(crate) fn new(
        program: &Program,
        tables: &Tables,
        growth: usize,
    ) -> Result<Self, CodeError> {
        let mut assembly = Assembly::new(&HELPERS, Effort::Usual)?;
        let halves = match growth {
            0 => Some(build::halves(&mut assembly, program, tables, true)?),
            _ => None,
        };
        let code = assembly.finish()?;
        let expand = Expanding::new(program, true)?;
        let meeting = halves.map(|halves| build::meeting(program, tables, &code, &halves, 0));
        let most_notes = 2 * program.moves.iter().map(|m| notes_of(program, m)).max().unwrap_or(0);
        Ok(Placing { expand, meeting: meeting.map(Box::new), most_notes, _code: code })
    }
}

impl Placing {
    pub(crate) fn prepare(&self, native: &Native<'_>) {
        self.expand.prepare(native);
    }

    /// Seconds that compilation took until now.
    pub(crate) fn seconds(&self) -> f64 {
        self.expand.seconds()
    }
}

/// The most notes that one half of a step takes, with whatever channel it works on.
fn notes_of(program: &Program, taken: &Move) -> usize {
    let channel = |ty: &ChannelType| {
        let message = ty.message_length as usize;
        // All messages, and what lies behind the last.
        span(1 + (ty.capacity as usize + 1) * message) + span(message) + 2 * ty.fields.len()
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
    pub(crate) fn note(&self, code: &mut Code<'_>, base: Value, offset: u32, length: u32) {
        if !self.notes {
            return;
        }
        let end = offset + length - 1;
        let mut at = offset;
        while at < end && (base != self.state || at / 8 != end / 8) {
            code.note_word(self.state, (base, at), (self.room, Room::NEXT_NOTE));
            at += 8;
        }
        code.note_word(self.state, (base, end), (self.room, Room::NEXT_NOTE));
    }

    /// To be called before messages of a channel are moved.
    pub(crate) fn note_messages(&self, code: &mut Code<'_>, channel: Value, width: Value) {
        if self.notes {
            let arguments = [self.room, self.state, channel, width];
            code.call(HelperId::NoteMessages as usize, &arguments);
        }
    }
}

impl Maker<'_> {
    /// Takes an enabled move and takes it back. Gives the result, and start and length of the
    /// differences.
    pub(crate) fn take_in_place(
        &self,
        code: &mut Code<'_>,
        visit: &Visit,
        taken: &Move,
    ) -> (Value, Value, Value) {
        let (done, result) = code.block_with_number();
        let ask = code.cold_block();
        let told = if is_noted(taken) {
            let on_fault = OnFault::Deliver(done);
            let scope = self.scope(visit.process, visit.timeout, visit.room, on_fault);
            self.effect(code, &scope, taken, false, ask);
            self.asked(code, visit, ask, done);
            code.call(HelperId::Record as usize, &[visit.room, visit.process.state])
        } else {
            let copy = code.load_wide(visit.room, Room::FIRST_NOTE);
            let before = code.load(crate::code::Memory::Four, visit.room, Room::STATE_LENGTH);
            code.copy(visit.process.state, copy, before);
            let (offset, _) = code.distance(visit.process.state, visit.process.frame);
            let frame = code.further(copy, offset);
            let process = Process { state: copy, frame, pid: visit.process.pid };
            let on_fault = OnFault::Deliver(done);
            let scope = self.scope(process, visit.timeout, visit.room, on_fault);
            self.effect(code, &Scope { notes: false, ..scope }, taken, false, ask);
            self.asked(code, visit, ask, done);
            let length = match resizes(taken) {
                false => before,
                true => {
                    let shape = code.address(self.tables.shape);
                    code.call(HelperId::LengthOf as usize, &[shape, copy])
                }
            };
            let arguments = [visit.room, visit.process.state, copy, length];
            code.call(HelperId::RecordCopy as usize, &arguments)
        };
        let (start, length) = code.halves(told);
        (self.with_control(code, taken, result), start, length)
    }
}

/// Notes all messages of a channel, and room for one more.
pub(crate) extern "C" fn note_messages(
    room: *mut Room,
    state: *const u8,
    channel: *const u8,
    width: u32,
) -> u32 {
    // SAFETY: called by machine code only, with a channel of the state that it works on; there is
    // room for `Placing::most_notes` notes. Vectors end with a whole word.
    unsafe {
        let start = channel.offset_from_unsigned(state);
        let bytes = 1 + (usize::from(*channel) + 1) * width as usize;
        for word in start / 8..=(start + bytes - 1) / 8 {
            if word * 8 >= (*room).length as usize {
                break;
            }
            let value = state.cast::<u64>().add(word).read_unaligned();
            (*room).next_note.write(Difference { word: word as u64, bits: value });
            (*room).next_note = (*room).next_note.add(1);
        }
    }
    0
}

/// Takes back the step that was noted, and adds what it changed to the differences. Gives where they
/// begin (low half) and how many they are.
pub(crate) extern "C" fn record(room: *mut Room, state: *mut u8) -> u64 {
    // SAFETY: called by machine code only, with its own room and state. The notes lie between the two
    // pointers and are about words of the state; before them there is room for as many differences.
    unsafe {
        let room = &mut *room;
        let (first, mut note) = (room.first_note, room.next_note);
        let start: *mut Difference = room.out.cast();
        let (mut end, mut sum) = (start.add(1), room.sum);
        while note != first {
            note = note.sub(1);
            let Difference { word, bits } = *note;
            let place = state.cast::<u64>().add(word as usize);
            let now = place.read_unaligned();
            if now != bits {
                let (before, after) = (u64::from_le(bits), u64::from_le(now));
                let word = word as usize;
                sum = sum.wrapping_add(part(word, after)).wrapping_sub(part(word, before));
                end.write(Difference { word: word as u64, bits: before ^ after });
                end = end.add(1);
                place.write_unaligned(bits);
            }
        }
        start.write(Difference::first((0, 0), (room.sum, sum)));
        room.told(start, end)
    }
}

/// As [`record`] for a step that was taken on a copy of the state.
pub(crate) extern "C" fn record_copy(
    room: *mut Room,
    state: *const u8,
    copy: *mut u8,
    length: u32,
) -> u64 {
    // SAFETY: called by machine code only. Behind the copy there is room for what a step can add and
    // a whole word more; state and copy were `room.length` bytes long, with zeros behind the state.
    unsafe {
        let room = &mut *room;
        let (before, after) = (room.length as usize, length as usize);
        copy.add(after).cast::<[u8; 8]>().write_unaligned([0; 8]);
        let start: *mut Difference = room.out.cast();
        let (mut end, mut sum) = (start.add(1), room.sum);
        for word in 0..before.max(after).div_ceil(8) {
            let load = |bytes: *const u8, length: usize| match word * 8 < length {
                true => u64::from_le(bytes.cast::<u64>().add(word).read_unaligned()),
                false => 0,
            };
            let (old, new) = (load(state, before), load(copy, after));
            if old != new {
                sum = sum.wrapping_add(part(word, new)).wrapping_sub(part(word, old));
                end.write(Difference { word: word as u64, bits: old ^ new });
                end = end.add(1);
            }
        }
        start.write(Difference::first((before, after), (room.sum, sum)));
        room.told(start, end)
    }
}

impl Native<'_> {
    /// See [`preempt_core::System::expand_in_place`].
    pub(crate) fn expand_on_it(
        &self,
        state: &mut Vector,
        leads: &mut Leads,
        differences: &mut Vec<Difference>,
    ) -> bool {
        let Some(placing) = self.placing() else { return false };
        let (frames, mut room, mut pen) = self.open_in_place(placing, state, leads, differences);
        let alone = state.state()[0];
        let mut refused = false;
        self.rounds(state.bytes_mut(), &mut room, frames, |room, state, process, timeout| {
            pen.prepare(room);
            let count = self.write_differences(placing, room, state, process, timeout);
            refused |= count < 0;
            count != 0
        });
        let interrupted = state.state()[0] != alone;
        state.bytes_mut()[0] = alone;
        pen.close(&room, refused || interrupted)
    }

    /// See [`preempt_core::System::expand_ample_in_place`].
    pub(crate) fn expand_alone_on_it(
        &self,
        state: &mut Vector,
        behind: Option<ProcessId>,
        observed: bool,
        leads: &mut Leads,
        differences: &mut Vec<Difference>,
    ) -> Option<Option<ProcessId>> {
        let placing = self.placing()?;
        let mut end = behind.map_or(usize::MAX, ProcessId::index);
        while let Some(process) = self.ample_before(end, state.state(), observed, leads) {
            end = process.index();
            let (frames, mut room, pen) = self.open_in_place(placing, state, leads, differences);
            let process = (end, frames[end]);
            let bytes = state.bytes_mut();
            let count = self.write_differences(placing, &mut room, bytes, process, false);
            let waits = count == 0 && self.program.uses_timeout;
            if !pen.close(&room, count < 0 || waits) {
                return None;
            }
            if count > 0 {
                return Some(Some(ProcessId(end as u16)));
            }
        }
        Some(None)
    }

    /// The frames of a state, a room to work on it in place, and a pen for what its steps change.
    #[inline(always)]
    fn open_in_place<'a>(
        &'a self,
        placing: &'a Placing,
        state: &Vector,
        leads: &'a mut Leads,
        differences: &'a mut Vec<Difference>,
    ) -> (&'a [Frame], Room, Pen<'a, Difference>) {
        let frames = frames_from(&self.shape, state.state(), &mut leads.notes);
        let meeting = placing.meeting.as_deref().unwrap_or(&self.meeting);
        let mut room = Room::new(&self.shape, meeting, state.length(), frames);
        room.sum = state.sum();
        // Two words per place are more than a copy with what may be added.
        let longest = state.length() + self.most_growth + 2 * Vector::PIECE;
        room.spare = placing.most_notes.max(longest / 8) + 1;
        let most = (self.most_successors, (self.most_successors + 2) * room.spare);
        let pen = Pen::new(&mut leads.list, differences, most, &mut room);
        (frames, room, pen)
    }

    /// Has the steps of one process written where the room points. Gives their number, or less than zero
    /// if the interpreter must be asked.
    #[inline(always)]
    fn write_differences(
        &self,
        placing: &Placing,
        room: &mut Room,
        state: &mut [u8],
        (pid, frame): (usize, Frame),
        timeout: bool,
    ) -> i32 {
        let expand = placing.expand.at(self, self.control.point(state, frame) as usize);
        let base = state.as_mut_ptr();
        // SAFETY: `frame` is a frame of this vector.
        let at = unsafe { base.add(frame.at as usize) };
        room.aim();
        let count = expand(base, at, pid as u32, timeout.into(), &raw mut *room);
        // SAFETY: machine code wrote so many leads, for which there was room.
        room.leads = unsafe { room.leads.add(count.max(0) as usize) };
        count
    }
}
