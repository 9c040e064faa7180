//! The workspace in which machine code and its helpers work on one state.
//!
//! Machine code leaves here which moves it found, and what it offers on a rendezvous channel. The
//! helper [`offer`] then asks each other process whether it answers, and takes the joint steps on the spot
//! when successors are wanted.
//!
//! **Invariant:** while a call into machine code lasts, `out` (if any) has room for every successor
//! that the process can have, [`Workspace::reserve_for`] bytes.

use super::shape::{Frame, Shape};
use preempt_core::engine::{Difference, SuccessorHeader};
use std::mem::{MaybeUninit, offset_of};

/// More processes than a vector can count.
const MOST_PROCESSES: usize = 256;
/// More options in one control state than this are left to the interpreter.
pub(crate) const MOST_MOVES: usize = 256;
/// More fields in a message than this are left to the interpreter.
pub(crate) const MOST_FIELDS: usize = 32;
/// A process that makes an offer with more successors than this is left to the interpreter.
pub(crate) const MOST_JOINT: usize = 256;

/// The answer of machine code when the interpreter must be asked for a process's moves.
pub(crate) const ASK_MOVES: i32 = -1;
/// The result of a step when the interpreter must take it.
pub(crate) const ASK_STEP: u32 = SuccessorHeader::VIOLATED | SuccessorHeader::BROKEN;

/// `(state, frame, pid, timeout, workspace) -> number of headers`
pub(crate) type ListMoves = extern "C" fn(*const u8, *const u8, u32, u32, *mut Workspace) -> i32;
/// `(state, frame, pid, move, workspace) -> result`
pub(crate) type TakeMove = extern "C" fn(*mut u8, *mut u8, u32, u32, *mut Workspace) -> u32;
/// `(state, frame, pid, timeout, workspace, channel) -> number of replies`
pub(crate) type ListReplies =
    extern "C" fn(*const u8, *const u8, u32, u32, *mut Workspace, u32) -> i32;

/// So many steps are taken in one go; a sequence may be endless, and the clock must be looked at now and then.
pub(crate) const LIMIT: usize = 256;
/// The most bytes that may be needed behind a successor: a log, and what keeps the vector meanwhile.
pub(crate) const LOG_BYTES: usize = LIMIT * size_of::<u32>();

/// `(state, frame, pid, limit, workspace) -> steps << 2 | how it stopped`
pub(crate) type Run = extern "C" fn(*mut u8, *mut u8, u32, u32, *mut Workspace) -> u32;

/// The code of atomic blocks.
pub(crate) trait AtomicBlocks {
    /// The code of a block of a process type.
    fn run(&self, proctype: usize, block: u32) -> Run;
}

/// Vectors are copied in pieces of this size.
pub(crate) const PIECE: usize = 64;

/// Bytes of a header.
pub(crate) const HEADER: u32 = size_of::<SuccessorHeader>() as u32;
/// Workspace for the headers of one process.
pub(crate) type HeaderSpace = [MaybeUninit<SuccessorHeader>; MOST_MOVES + MOST_JOINT];
/// Workspace for the frames of a state.
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
pub(crate) struct Workspace {
    /// Where the next successor goes; null when only a list is wanted.
    pub(crate) out: *mut u8,
    /// Where the bytes of all successors begin.
    pub(crate) base: *const u8,
    /// Where the headers of the present process go.
    pub(crate) headers: *mut SuccessorHeader,
    /// Bytes of the state.
    pub(crate) length: u32,
    /// Not 0 once a header has the result [`ASK_STEP`].
    pub(crate) asks: u32,
    pub(super) meeting: *const Meeting,
    pub(super) shape: *const Shape,
    pub(super) frames: *const Frame,
    pub(super) frame_count: usize,
    /// Where the notes about the present step begin, see [`crate::place`]; null when steps are not
    /// taken in place.
    pub(crate) first_note: *mut Difference,
    /// Where they end.
    pub(crate) next_note: *mut Difference,
    /// The sum of the state.
    pub(crate) sum: u64,
    /// The code that follows indivisible sequences, if that is wanted.
    pub(crate) sequences: Option<*const dyn AtomicBlocks>,
    /// Where the transitions of inner steps are logged.
    pub(crate) log: *mut u8,
    /// So many differences further on notes do not get in the way of the differences of one step.
    pub(crate) spare: usize,
    message: [MaybeUninit<i32>; MOST_FIELDS],
    pub(super) replies: [MaybeUninit<u32>; MOST_MOVES],
}

impl Workspace {
    pub(crate) const OUT: u32 = offset_of!(Workspace, out) as u32;
    pub(crate) const BASE: u32 = offset_of!(Workspace, base) as u32;
    pub(crate) const HEADERS: u32 = offset_of!(Workspace, headers) as u32;
    pub(crate) const STATE_LENGTH: u32 = offset_of!(Workspace, length) as u32;
    pub(crate) const ASKS: u32 = offset_of!(Workspace, asks) as u32;
    pub(crate) const FIRST_NOTE: u32 = offset_of!(Workspace, first_note) as u32;
    pub(crate) const NEXT_NOTE: u32 = offset_of!(Workspace, next_note) as u32;
    pub(crate) const LOG: u32 = offset_of!(Workspace, log) as u32;
    pub(crate) const MESSAGE: u32 = offset_of!(Workspace, message) as u32;
    pub(crate) const REPLIES: u32 = offset_of!(Workspace, replies) as u32;

    /// A workspace for a vector of this length, with these frames.
    #[inline(always)]
    pub(crate) fn new(shape: &Shape, meeting: &Meeting, length: usize, frames: &[Frame]) -> Self {
        Workspace {
            out: std::ptr::null_mut(),
            base: std::ptr::null(),
            headers: std::ptr::null_mut(),
            length: length as u32,
            asks: 0,
            meeting,
            shape,
            frames: frames.as_ptr(),
            frame_count: frames.len(),
            first_note: std::ptr::null_mut(),
            next_note: std::ptr::null_mut(),
            sum: 0,
            sequences: None,
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
    pub(crate) unsafe fn recorded(&mut self, start: *mut Difference, end: *mut Difference) -> u64 {
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

/// Workspace for [`SuccessorHeader`]s that machine code has not written yet.
pub(crate) fn header_space() -> HeaderSpace {
    [const { MaybeUninit::uninit() }; MOST_MOVES + MOST_JOINT]
}

/// Workspace for frames that are not found yet.
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
    for (workspace, frame) in space.iter_mut().zip(shape.frames(state)) {
        workspace.write(frame);
    }
    // SAFETY: a state has as many frames as its byte 1 counts, fewer than there is room for: that
    // many were just written.
    unsafe { std::slice::from_raw_parts(space.as_ptr().cast(), count) }
}

/// The most moves and joint steps that one process can have, for [`Workspace::reserve_for`]: joint steps
/// are added only while there are fewer than [`MOST_JOINT`] headers.
pub(crate) fn most_successors(most_moves: usize, has_rendezvous: bool) -> usize {
    most_moves + if has_rendezvous { MOST_JOINT } else { 0 }
}
