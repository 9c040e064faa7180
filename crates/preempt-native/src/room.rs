//! The room in which machine code and its helpers work on one state.
//!
//! Machine code leaves here which moves it found, and what it offers on a rendezvous channel. The
//! helper [`offer`] then asks the other processes who answers, and takes the joint steps on the spot
//! when successors are wanted.
//!
//! **Invariant:** while a call into machine code lasts, `out` (if any) has room for every successor
//! that the process can have, [`Room::reserve_for`] bytes.

use crate::shape::{Frame, Shape};
use std::mem::{MaybeUninit, offset_of};

/// More processes than a vector can count.
const MOST_PROCESSES: usize = 256;
/// More options in one control state than this are left to the interpreter.
pub(crate) const MOST_MOVES: usize = 256;
/// More fields in a message than this are left to the interpreter.
pub(crate) const MOST_FIELDS: usize = 32;
/// More joint steps of one process than this are left to the interpreter.
const MOST_JOINT: usize = 256;
/// Vectors are copied in pieces of this size.
pub(crate) const PIECE: usize = 16;

/// The answer of machine code when the interpreter must be asked for a process's moves.
pub(crate) const ASK_MOVES: i32 = -1;
/// The result of a step when the interpreter must take it.
pub(crate) const ASK_STEP: u32 = 3;

/// `(state, frame, pid, timeout, room) -> number of entries`
pub(crate) type ListMoves = extern "C" fn(*const u8, *const u8, u32, u32, *mut Room) -> i32;
/// `(state, frame, pid, move, room) -> result`
pub(crate) type TakeMove = extern "C" fn(*mut u8, *mut u8, u32, u32, *mut Room) -> u32;
/// `(state, frame, pid, timeout, room, channel) -> number of replies`
pub(crate) type ListReplies = extern "C" fn(*const u8, *const u8, u32, u32, *mut Room, u32) -> i32;

/// A move that was found enabled, and what became of it if it was taken.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) transition: u32,
    /// 1 + the partner; 0 without one.
    pub(crate) partner: u32,
    pub(crate) partner_transition: u32,
    pub(crate) result: u32,
    /// Bytes of the successor.
    pub(crate) length: u32,
}

impl Entry {
    pub(crate) const SIZE: u32 = size_of::<Entry>() as u32;
    pub(crate) const TRANSITION: u32 = offset_of!(Entry, transition) as u32;
    pub(crate) const PARTNER: u32 = offset_of!(Entry, partner) as u32;
    pub(crate) const RESULT: u32 = offset_of!(Entry, result) as u32;
    pub(crate) const LENGTH: u32 = offset_of!(Entry, length) as u32;
}

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
    /// Bytes of the state.
    pub(crate) length: u32,
    meeting: *const Meeting,
    shape: *const Shape,
    frame_count: usize,
    message: [MaybeUninit<i32>; MOST_FIELDS],
    replies: [MaybeUninit<u32>; MOST_MOVES],
    entries: [MaybeUninit<Entry>; MOST_MOVES + MOST_JOINT],
    frames: [MaybeUninit<Frame>; MOST_PROCESSES],
}

impl Room {
    pub(crate) const OUT: u32 = offset_of!(Room, out) as u32;
    pub(crate) const STATE_LENGTH: u32 = offset_of!(Room, length) as u32;
    pub(crate) const MESSAGE: u32 = offset_of!(Room, message) as u32;
    pub(crate) const REPLIES: u32 = offset_of!(Room, replies) as u32;
    pub(crate) const ENTRIES: u32 = offset_of!(Room, entries) as u32;

    /// A room whose frames are still to be found.
    #[inline(always)]
    pub(crate) fn new(shape: &Shape, meeting: &Meeting) -> Self {
        Room {
            out: std::ptr::null_mut(),
            length: 0,
            meeting,
            shape,
            frame_count: 0,
            message: [const { MaybeUninit::uninit() }; MOST_FIELDS],
            replies: [const { MaybeUninit::uninit() }; MOST_MOVES],
            entries: [const { MaybeUninit::uninit() }; MOST_MOVES + MOST_JOINT],
            frames: [const { MaybeUninit::uninit() }; MOST_PROCESSES],
        }
    }

    /// Finds the frames of a state.
    #[inline(always)]
    pub(crate) fn enter(&mut self, shape: &Shape, state: &[u8]) {
        self.length = state.len() as u32;
        self.frame_count = usize::from(state[1]);
        match &shape.fixed {
            Some(fixed) => {
                for (room, frame) in self.frames[..self.frame_count].iter_mut().zip(fixed) {
                    room.write(*frame);
                }
            }
            None => {
                for (room, frame) in self.frames.iter_mut().zip(shape.frames(state)) {
                    room.write(frame);
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn process_count(&self) -> usize {
        self.frame_count
    }

    #[inline(always)]
    pub(crate) fn frame(&self, pid: usize) -> Frame {
        assert!(pid < self.frame_count);
        // SAFETY: `enter` wrote the first `frame_count` frames.
        unsafe { self.frames[pid].assume_init() }
    }

    /// An entry that the last call into machine code counted.
    #[inline(always)]
    pub(crate) fn entry(&self, at: usize) -> Entry {
        // SAFETY: callers stay below the number that the call returned; that many were written.
        unsafe { self.entries[at].assume_init() }
    }

    /// The most bytes that the successors of one process can take.
    #[inline(always)]
    pub(crate) fn reserve_for(length: usize, most_moves: usize, growth: usize) -> usize {
        (most_moves + 1) * (length + growth) + PIECE
    }
}

/// The most moves and joint steps that one process can have, for [`Room::reserve_for`].
pub(crate) fn most_successors(most_moves: usize, has_rendezvous: bool) -> usize {
    most_moves + if has_rendezvous { MOST_JOINT } else { 0 }
}

/// Whether the step that gave this result cannot be completed.
fn is_broken(result: u32) -> bool {
    result & 3 == 2
}

/// Adds the joint steps of an offer that lies in the room to its entries. Gives the new number of
/// entries, or [`ASK_MOVES`].
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
            let other = (*room).frames[pid].assume_init();
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
                if count + 1 >= MOST_MOVES + MOST_JOINT {
                    return ASK_MOVES;
                }
                let reply = (*room).replies[at].assume_init();
                let mut entry = Entry {
                    transition,
                    partner: pid as u32 + 1,
                    partner_transition: reply,
                    result: 0,
                    length: (*room).length,
                };
                if !(*room).out.is_null() {
                    join(room, meeting, state, frame, me, other, &mut entry);
                }
                (*room).entries[count].write(entry);
                count += 1;
            }
        }
        count as i32
    }
}

/// Takes a joint step on a copy of the state.
///
/// # Safety
/// As for [`offer`].
unsafe fn join(
    room: *mut Room,
    meeting: &Meeting,
    state: *const u8,
    frame: *const u8,
    me: usize,
    other: Frame,
    entry: &mut Entry,
) {
    // SAFETY: the caller's promise: `out` has room for the copy and what the step adds.
    unsafe {
        let copy = (*room).out;
        std::ptr::copy_nonoverlapping(state, copy, entry.length as usize);
        let sender = frame.offset_from_unsigned(state);
        let proctype = usize::from(*frame);
        entry.result = both_halves(
            meeting,
            (copy, room),
            (proctype, sender, me, entry.transition),
            (other, entry.partner as usize - 1, entry.partner_transition),
        );
        if meeting.growth > 0 {
            entry.length = crate::shape::length_of((*room).shape, copy);
        }
        (*room).out = copy.add(entry.length as usize);
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
