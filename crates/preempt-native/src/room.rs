//! The room in which machine code and its helpers work on one state.
//!
//! Machine code leaves here which moves it found, and what it offers on a rendezvous channel. The
//! helper [`offer`] then asks the other processes who answers, and takes the joint steps on the spot
//! when successors are wanted.
//!
//! **Invariant:** while a call into machine code lasts, `out` (if any) has room for every successor
//! that the process can have, [`Room::reserve_for`] bytes.

use crate::code::PIECE;
use crate::place::{record, record_copy};
use crate::sequence::{LOG_BYTES, Sequences};
use crate::shape::{Frame, Shape};
use preempt_core::{Asleep, Difference, Lead};
use std::mem::{MaybeUninit, offset_of};

/// More processes than a vector can count.
const MOST_PROCESSES: usize = 256;
/// More options in one control state than this are left to the interpreter.
pub(crate) const MOST_MOVES: usize = 256;
/// More fields in a message than this are left to the interpreter.
pub(crate) const MOST_FIELDS: usize = 32;
/// A process that makes an offer with more successors than this is left to the interpreter.
const MOST_JOINT: usize = 256;

/// The answer of machine code when the interpreter must be asked for a process's moves.
pub(crate) const ASK_MOVES: i32 = -1;
/// The result of a step when the interpreter must take it.
pub(crate) const ASK_STEP: u32 = Lead::VIOLATED | Lead::BROKEN;

/// `(state, frame, pid, timeout, room) -> number of leads`
pub(crate) type ListMoves = extern "C" fn(*const u8, *const u8, u32, u32, *mut Room) -> i32;
/// `(state, frame, pid, move, room) -> result`
pub(crate) type TakeMove = extern "C" fn(*mut u8, *mut u8, u32, u32, *mut Room) -> u32;
/// `(state, frame, pid, timeout, room, channel) -> number of replies`
pub(crate) type ListReplies = extern "C" fn(*const u8, *const u8, u32, u32, *mut Room, u32) -> i32;

/// Bytes of a lead.
pub(crate) const LEAD: u32 = size_of::<Lead>() as u32;
/// Room for the leads of one process.
pub(crate) type LeadSpace = [MaybeUninit<Lead>; MOST_MOVES + MOST_JOINT];
/// Room for the frames of a state.
pub(crate) type FrameSpace = [MaybeUninit<Frame>; MOST_PROCESSES];

/// The machine code for the two halves of a rendezvous, per process type.
#[derive(Default)]
pub(crate) struct Meeting {
    /// The sender's half.
    pub(crate) give: Vec<Option<TakeMove>>,
    /// Which receives answer an offer.
    pub(crate) replies: Vec<Option<ListReplies>>,
    /// The receiver's half.
    pub(crate) accept: Vec<Option<TakeMove>>,
    /// Per process type and control state: whether a receive there may answer an offer.
    pub(crate) may_reply: Vec<Vec<bool>>,
    /// Per move: whether its half of a rendezvous has machine code.
    pub(crate) halves: Vec<bool>,
    pub(crate) pc_width: u32,
    /// Bytes that a joint step can add to the vector.
    pub(crate) growth: usize,
}

/// Working memory for one state.
#[repr(C)]
pub(crate) struct Room {
    /// Where the next successor goes; null when only a list is wanted.
    pub(crate) out: *mut u8,
    /// Where the bytes of all successors begin.
    pub(crate) base: *const u8,
    /// Where the leads of the present process go.
    pub(crate) leads: *mut Lead,
    /// Bytes of the state.
    pub(crate) length: u32,
    /// Not 0 once a lead has the result [`ASK_STEP`].
    pub(crate) asks: u32,
    meeting: *const Meeting,
    shape: *const Shape,
    frames: *const Frame,
    frame_count: usize,
    /// Where the notes about the present step begin, see [`crate::place`]; null when steps are not
    /// taken in place.
    pub(crate) first_note: *mut Difference,
    /// Where they end.
    pub(crate) next_note: *mut Difference,
    /// The sum of the state.
    pub(crate) sum: u64,
    /// The code that follows indivisible sequences, if that is wanted.
    pub(crate) sequences: *const Sequences,
    /// Where the transitions of inner steps are logged.
    pub(crate) log: *mut u8,
    /// So many differences further on notes do not get in the way of the differences of one step.
    pub(crate) spare: usize,
    message: [MaybeUninit<i32>; MOST_FIELDS],
    replies: [MaybeUninit<u32>; MOST_MOVES],
}

impl Room {
    pub(crate) const OUT: u32 = offset_of!(Room, out) as u32;
    pub(crate) const BASE: u32 = offset_of!(Room, base) as u32;
    pub(crate) const LEADS: u32 = offset_of!(Room, leads) as u32;
    pub(crate) const STATE_LENGTH: u32 = offset_of!(Room, length) as u32;
    pub(crate) const ASKS: u32 = offset_of!(Room, asks) as u32;
    pub(crate) const FIRST_NOTE: u32 = offset_of!(Room, first_note) as u32;
    pub(crate) const NEXT_NOTE: u32 = offset_of!(Room, next_note) as u32;
    pub(crate) const LOG: u32 = offset_of!(Room, log) as u32;
    pub(crate) const MESSAGE: u32 = offset_of!(Room, message) as u32;
    pub(crate) const REPLIES: u32 = offset_of!(Room, replies) as u32;

    /// A room for a vector of this length, with these frames.
    #[inline(always)]
    pub(crate) fn new(shape: &Shape, meeting: &Meeting, length: usize, frames: &[Frame]) -> Self {
        Room {
            out: std::ptr::null_mut(),
            base: std::ptr::null(),
            leads: std::ptr::null_mut(),
            length: length as u32,
            asks: 0,
            meeting,
            shape,
            frames: frames.as_ptr(),
            frame_count: frames.len(),
            first_note: std::ptr::null_mut(),
            next_note: std::ptr::null_mut(),
            sum: 0,
            sequences: std::ptr::null(),
            log: std::ptr::null_mut(),
            spare: 0,
            message: [const { MaybeUninit::uninit() }; MOST_FIELDS],
            replies: [const { MaybeUninit::uninit() }; MOST_MOVES],
        }
    }

    /// Gets ready for the notes of a step in place.
    #[inline(always)]
    pub(crate) fn aim(&mut self) {
        self.first_note = self.out.cast::<Difference>().wrapping_add(self.spare);
        self.next_note = self.first_note;
    }

    /// Goes on behind the differences of a step. Gives where they begin (low half) and how many they are.
    ///
    /// # Safety
    /// Both pointers must lie in the memory that begins at `base`.
    #[inline(always)]
    pub(crate) unsafe fn told(&mut self, start: *mut Difference, end: *mut Difference) -> u64 {
        self.out = end.cast();
        self.aim();
        // SAFETY: the caller's promise.
        unsafe {
            let count = end.offset_from_unsigned(start) as u64;
            let base: *const Difference = self.base.cast();
            count << 32 | start.cast_const().offset_from_unsigned(base) as u32 as u64
        }
    }

    /// The most bytes that the successors of one process can take.
    #[inline(always)]
    pub(crate) fn reserve_for(length: usize, most_moves: usize, growth: usize) -> usize {
        (most_moves + 1) * (length + growth) + PIECE
    }

    /// The most bytes more where sequences are followed: a log behind each successor, and behind the last one
    /// what it was in the beginning.
    #[inline(always)]
    pub(crate) fn reserve_for_logs(length: usize, most_moves: usize, growth: usize) -> usize {
        (most_moves + 1) * LOG_BYTES + length + growth
    }
}

/// Room for [`Lead`]s that machine code has not written yet.
pub(crate) fn lead_space() -> LeadSpace {
    [const { MaybeUninit::uninit() }; MOST_MOVES + MOST_JOINT]
}

/// Room for frames that are not found yet.
pub(crate) fn frame_space() -> FrameSpace {
    [const { MaybeUninit::uninit() }; MOST_PROCESSES]
}

/// The frames of a state: found once for all where they never move, otherwise written to `space`.
#[inline(always)]
pub(crate) fn frames_of<'a>(
    shape: &'a Shape,
    state: &[u8],
    space: &'a mut FrameSpace,
) -> &'a [Frame] {
    let count = usize::from(state[1]);
    if let Some(fixed) = &shape.fixed {
        return &fixed[..count];
    }
    for (room, frame) in space.iter_mut().zip(shape.frames(state)) {
        room.write(frame);
    }
    // SAFETY: a state has as many frames as its byte 1 counts, fewer than there is room for: that
    // many were just written.
    unsafe { std::slice::from_raw_parts(space.as_ptr().cast(), count) }
}

/// The most moves and joint steps that one process can have, for [`Room::reserve_for`]: joint steps
/// are added only while there are fewer than [`MOST_JOINT`] leads.
pub(crate) fn most_successors(most_moves: usize, has_rendezvous: bool) -> usize {
    most_moves + if has_rendezvous { MOST_JOINT } else { 0 }
}

/// Whether the step that gave this result cannot be completed.
fn is_broken(result: u32) -> bool {
    result & ASK_STEP == Lead::BROKEN
}

/// Adds the joint steps of an offer that lies in the room to the leads. Gives the new number of
/// leads, or [`ASK_MOVES`].
pub(crate) extern "C" fn offer(
    room: *mut Room,
    state: *const u8,
    frame: *const u8,
    pid_and_timeout: u32,
    transition: u32,
    channel: u32,
    count: u32,
) -> i32 {
    let (me, timeout) = ((pid_and_timeout >> 1) as usize, pid_and_timeout & 1);
    // SAFETY: called by machine code only, with the room and the state that it was called with
    // itself; the tables behind the room's pointers outlive the call.
    unsafe {
        let meeting = &*(*room).meeting;
        let mut count = count as usize;
        for pid in (0..(*room).frame_count).rev() {
            if pid == me {
                continue;
            }
            let other = *(*room).frames.add(pid);
            let there = state.add(other.at as usize);
            if !meeting.may_reply[usize::from(other.proctype)][control(there, meeting.pc_width)] {
                continue;
            }
            let Some(replies) = meeting.replies[usize::from(other.proctype)] else {
                return ASK_MOVES;
            };
            let Ok(found) =
                usize::try_from(replies(state, there, pid as u32, timeout, room, channel))
            else {
                return ASK_MOVES;
            };
            for at in 0..found {
                if count >= MOST_JOINT {
                    return ASK_MOVES;
                }
                let mut lead = Lead {
                    start: 0,
                    length: (*room).length,
                    result: 0,
                    who: me as u32 | (pid as u32 + 1) << 16,
                    transition,
                    partner_transition: (*room).replies[at].assume_init(),
                    asleep: Asleep::NOBODY,
                };
                if !(*room).out.is_null() {
                    join(room, meeting, state, frame, (me, pid, other), &mut lead);
                }
                (*room).leads.add(count).write(lead);
                count += 1;
            }
        }
        count as i32
    }
}

/// Takes a joint step on a copy of the state, or in place if that is wanted and the length cannot change.
///
/// # Safety
/// As for [`offer`].
unsafe fn join(
    room: *mut Room,
    meeting: &Meeting,
    state: *const u8,
    frame: *const u8,
    (me, partner, other): (usize, usize, Frame),
    lead: &mut Lead,
) {
    // SAFETY: the caller's promise: `out`, or the place of the notes, has room for the copy and what the
    // step adds, and `base` is where the memory begins that `out` lies in.
    unsafe {
        let tells_differences = !(*room).first_note.is_null();
        let place = match tells_differences {
            true if meeting.growth == 0 => state.cast_mut(),
            true => (*room).first_note.cast(),
            false => (*room).out,
        };
        if place.cast_const() != state {
            std::ptr::copy_nonoverlapping(state, place, lead.length as usize);
        }
        let sender = frame.offset_from_unsigned(state);
        let proctype = usize::from(*frame);
        let result = both_halves(
            meeting,
            (place, room),
            (proctype, sender, me, lead.transition),
            (other, partner, lead.partner_transition),
        );
        lead.result = result;
        if result == ASK_STEP {
            (*room).asks = 1;
        } else if *place != 0 {
            lead.result |= Lead::TRANSIENT;
        }
        if meeting.growth > 0 {
            lead.length = crate::shape::length_of((*room).shape, place);
        }
        if tells_differences {
            let told = match meeting.growth {
                0 => record(room, place),
                _ => record_copy(room, state, place, lead.length),
            };
            (lead.start, lead.length) = (told as u32, (told >> 32) as u32);
        } else {
            lead.start = place.cast_const().offset_from_unsigned((*room).base) as u32;
            (*room).out = place.add(lead.length as usize);
        }
    }
}

/// Takes both halves of a rendezvous in place. The message need not lie in the room.
///
/// # Safety
/// `state` must be a vector of the system that the room belongs to, with room for what the step
/// adds, and the step must be enabled in it.
pub(crate) unsafe fn both_halves(
    meeting: &Meeting,
    (state, room): (*mut u8, *mut Room),
    (proctype, frame, pid, transition): (usize, usize, usize, u32),
    (other, partner, reply): (Frame, usize, u32),
) -> u32 {
    let halves = meeting.halves[transition as usize] && meeting.halves[reply as usize];
    let (Some(give), Some(accept)) =
        (meeting.give[proctype], meeting.accept[usize::from(other.proctype)])
    else {
        return ASK_STEP;
    };
    if !halves {
        return ASK_STEP;
    }
    // SAFETY: the frames are those of this vector.
    let (sender, receiver) = unsafe { (state.add(frame), state.add(other.at as usize)) };
    let given = give(state, sender, pid as u32, transition, room);
    if given == ASK_STEP || is_broken(given) {
        return given;
    }
    let accepted = accept(state, receiver, partner as u32, reply, room);
    if is_broken(accepted) || given == 0 { accepted } else { given }
}

/// The control state of a frame.
///
/// # Safety
/// `frame` must be a frame of a vector.
unsafe fn control(frame: *const u8, width: u32) -> usize {
    // SAFETY: a frame begins with its type and its control state.
    unsafe {
        match width {
            1 => usize::from(*frame.add(1)),
            _ => usize::from(u16::from_le_bytes([*frame.add(1), *frame.add(2)])),
        }
    }
}
