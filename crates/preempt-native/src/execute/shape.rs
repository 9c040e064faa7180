//! The shape of state vectors, and the helpers that machine code calls to find its way in them.

use preempt_promela::ir::{Op, Program};

/// Type and offset of each channel of a frame.
pub(crate) type OwnChannels = Box<[(u32, u32)]>;

/// What is needed to walk over the frames of a vector.
pub(crate) struct Shape {
    pub(crate) globals_end: u32,
    /// Per process type: the length of its frame.
    pub(crate) frames: Box<[u32]>,
    /// Per process type: its channels, as (type, offset in the frame).
    pub(crate) own_channels: Box<[OwnChannels]>,
    global_channels: u32,
    /// Per process type: a new frame, with type and control state in place.
    pub(crate) new_frames: Box<[Box<[u8]>]>,
    /// Per process type: where the ids of its own channels go.
    pub(crate) cells: Box<[Box<[u32]>]>,
    /// The frames of all processes, where none is ever created: then they never move.
    pub(crate) fixed: Option<Box<[Frame]>>,
}

/// A process of a vector.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Where its frame begins.
    pub(crate) at: u32,
    pub(crate) proctype: u8,
}

/// A process or channel that does not exist.
const NOWHERE: u32 = u32::MAX;
/// Neither more processes nor more channels than this can be alive.
pub(crate) const MOST_ALIVE: u32 = 255;

impl Shape {
    pub(crate) fn new(program: &Program) -> Self {
        let types = &program.proctypes;
        let mut shape = Shape {
            globals_end: program.layout.globals_end,
            frames: types.iter().map(|t| t.frame.length).collect(),
            own_channels: types
                .iter()
                .map(|t| t.frame.channels.iter().map(|c| (c.channel_type, c.offset)).collect())
                .collect(),
            global_channels: program.layout.channels.len() as u32,
            new_frames: (0..types.len()).map(|at| new_frame(program, at)).collect(),
            cells: types.iter().map(|t| t.frame.channel_cells.clone().into()).collect(),
            fixed: None,
        };
        if !creates_processes(program) {
            let mut at = shape.globals_end;
            let start = program.start.iter().map(|proctype| {
                let frame = Frame { at, proctype: proctype.0 };
                at += shape.frames[usize::from(proctype.0)];
                frame
            });
            shape.fixed = Some(start.collect());
        }
        shape
    }

    /// The frames of a vector, oldest process first.
    #[inline]
    pub(crate) fn frames<'a>(&'a self, state: &'a [u8]) -> impl Iterator<Item = Frame> + 'a {
        let mut at = self.globals_end;
        (0..state[1]).map(move |_| {
            let frame = Frame { at, proctype: state[at as usize] };
            at += self.frames[usize::from(frame.proctype)];
            frame
        })
    }

    /// The frame of one process.
    #[inline]
    pub(crate) fn frame(&self, state: &[u8], pid: usize) -> Option<Frame> {
        match &self.fixed {
            Some(frames) if pid < usize::from(state[1]) => frames.get(pid).copied(),
            Some(_) => None,
            None => self.frames(state).nth(pid),
        }
    }
}

fn new_frame(program: &Program, at: usize) -> Box<[u8]> {
    let proctype = &program.proctypes[at];
    let mut frame = proctype.initial_frame.clone();
    frame[0] = at as u8;
    let width = program.layout.pc_width as usize;
    frame[1..=width].copy_from_slice(&proctype.entry.0.to_le_bytes()[..width]);
    frame.into()
}

fn creates_processes(program: &Program) -> bool {
    program.moves.iter().any(|m| {
        let inner: &[_] = match &m.kind {
            preempt_promela::ir::MoveKind::Compound { blocks, .. } => blocks,
            _ => &[],
        };
        let inner = inner.iter().flat_map(|b| &b.options).flat_map(|o| &o.ops);
        m.ops.iter().chain(inner).any(|op| matches!(op, Op::Run { .. }))
    })
}

/// Type (high half) and offset (low half) of a process's channel; all ones if there is none.
pub(crate) extern "C" fn locate(shape: *const Shape, state: *const u8, id: u32) -> u64 {
    // SAFETY: called only by code made for this shape, with a vector that it describes; the
    // shape is owned by the system that owns the code.
    let (shape, state) = unsafe { (&*shape, vector(&*shape, state)) };
    let mut left = id.wrapping_sub(1).wrapping_sub(shape.global_channels);
    if id <= shape.global_channels {
        return u64::MAX;
    }
    for frame in shape.frames(state) {
        let own = &shape.own_channels[usize::from(frame.proctype)];
        if let Some((ty, offset)) = own.get(left as usize) {
            return u64::from(*ty) << 32 | u64::from(frame.at + offset);
        }
        left -= own.len() as u32;
    }
    u64::MAX
}

/// The id of the first channel that a process owns.
pub(crate) extern "C" fn first_own(shape: *const Shape, state: *const u8, pid: u32) -> u32 {
    // SAFETY: as for `locate`.
    let (shape, state) = unsafe { (&*shape, vector(&*shape, state)) };
    let older = shape.frames(state).take(pid as usize);
    let channels = older.map(|frame| shape.own_channels[usize::from(frame.proctype)].len() as u32);
    shape.global_channels + channels.sum::<u32>() + 1
}

/// The offset of the frame of a process of a given type (`pid` -1: of the first one).
pub(crate) extern "C" fn frame_of(
    shape: *const Shape,
    state: *const u8,
    proctype: u32,
    pid: i32,
    any: u32,
) -> u32 {
    // SAFETY: as for `locate`; byte 1 is the number of frames.
    let (shape, count) = unsafe { (&*shape, usize::from(*state.add(1))) };
    let wanted = |(at, frame): &(usize, Frame)| {
        u32::from(frame.proctype) == proctype && (any != 0 || i32::try_from(*at) == Ok(pid))
    };
    let found = match &shape.fixed {
        Some(fixed) => fixed.iter().copied().take(count).enumerate().find(wanted),
        // SAFETY: as for `locate`.
        None => shape.frames(unsafe { vector(shape, state) }).enumerate().find(wanted),
    };
    found.map_or(NOWHERE, |(_, frame)| frame.at)
}

/// Removes one of the `length` messages in the slots of a channel.
pub(crate) extern "C" fn remove(slots: *mut u8, index: u32, width: u32, length: u32) -> u32 {
    // SAFETY: `slots` points at the slots of a channel of the vector at hand, and `index` is below its length,
    // so all its messages lie in the vector.
    unsafe {
        let (index, width) = (index as usize, width as usize);
        let rest = (length as usize - index - 1) * width;
        let at = slots.add(index * width);
        std::ptr::copy(at.add(width), at, rest);
        std::ptr::write_bytes(at.add(rest), 0, width);
    }
    0
}

/// Makes room for one message before the one at `index`, of `length` messages.
pub(crate) extern "C" fn make_room(slots: *mut u8, index: u32, width: u32, length: u32) -> u32 {
    // SAFETY: `slots` points at the slots of a channel of the vector at hand that is not full, and `index` is
    // at most its length: one more message fits behind the last.
    unsafe {
        let (index, width) = (index as usize, width as usize);
        let at = slots.add(index * width);
        std::ptr::copy(at, at.add(width), (length as usize - index) * width);
    }
    0
}

/// Adds a process at the end of a vector; gives the offset of its frame, or all ones if there are
/// too many processes or channels.
pub(crate) extern "C" fn create(shape: *const Shape, state: *mut u8, proctype: u32) -> u32 {
    // SAFETY: as for `locate`; behind the vector there is room for as many frames as the move
    // creates.
    unsafe {
        let shape = &*shape;
        let (mut at, mut channels) = (shape.globals_end, shape.global_channels);
        let count = *state.add(1);
        for _ in 0..count {
            let older = usize::from(*state.add(at as usize));
            channels += shape.own_channels[older].len() as u32;
            at += shape.frames[older];
        }
        let cells = &shape.cells[proctype as usize];
        let own = shape.own_channels[proctype as usize].len() as u32;
        if u32::from(count) == MOST_ALIVE || channels + own > MOST_ALIVE {
            return NOWHERE;
        }
        let frame = &shape.new_frames[proctype as usize];
        std::ptr::copy_nonoverlapping(frame.as_ptr(), state.add(at as usize), frame.len());
        *state.add(1) = count + 1;
        for (number, cell) in cells.iter().enumerate() {
            *state.add((at + cell) as usize) = (channels as usize + number + 1) as u8;
        }
        at
    }
}

/// The length of a vector.
pub(crate) extern "C" fn length_of(shape: *const Shape, state: *const u8) -> u32 {
    // SAFETY: as for `locate`.
    unsafe { vector(&*shape, state).len() as u32 }
}

/// The vector behind a pointer: its length follows from its frames.
///
/// # Safety
/// `state` must point at a whole vector of this shape.
unsafe fn vector(shape: &Shape, state: *const u8) -> &[u8] {
    // SAFETY: the caller's promise; byte 1 is the number of frames, each begins with its type.
    unsafe {
        let mut length = shape.globals_end;
        for _ in 0..*state.add(1) {
            length += shape.frames[usize::from(*state.add(length as usize))];
        }
        std::slice::from_raw_parts(state, length as usize)
    }
}
