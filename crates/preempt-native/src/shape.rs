//! The shape of state vectors, and the helpers that machine code calls to find its way in them.

use preempt_promela::ir::Program;

/// Type and offset of each channel of a frame.
type OwnChannels = Box<[(u32, u32)]>;

/// What is needed to walk over the frames of a vector.
pub(crate) struct Shape {
    pub(crate) globals_end: u32,
    /// Per process type: the length of its frame.
    pub(crate) frames: Box<[u32]>,
    /// Per process type: its channels, as (type, offset in the frame).
    own_channels: Box<[OwnChannels]>,
    global_channels: u32,
}

/// A process or channel that does not exist.
const NOWHERE: u32 = u32::MAX;

impl Shape {
    pub(crate) fn new(program: &Program) -> Self {
        let types = &program.proctypes;
        Shape {
            globals_end: program.layout.globals_end,
            frames: types.iter().map(|t| t.frame.length).collect(),
            own_channels: types
                .iter()
                .map(|t| t.frame.channels.iter().map(|c| (c.channel_type, c.offset)).collect())
                .collect(),
            global_channels: program.layout.channels.len() as u32,
        }
    }

    /// The offset of each frame of a vector, oldest process first.
    pub(crate) fn frames<'a>(&'a self, state: &'a [u8]) -> impl Iterator<Item = (u8, u32)> + 'a {
        let mut at = self.globals_end;
        (0..state[1]).map(move |_| {
            let proctype = state[at as usize];
            let here = at;
            at += self.frames[usize::from(proctype)];
            (proctype, here)
        })
    }
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
    for (proctype, at) in shape.frames(state) {
        let own = &shape.own_channels[usize::from(proctype)];
        if let Some((ty, offset)) = own.get(left as usize) {
            return u64::from(*ty) << 32 | u64::from(at + offset);
        }
        left -= own.len() as u32;
    }
    u64::MAX
}

/// The offset of the frame of a process of a given type (`pid` -1: of the first one).
pub(crate) extern "C" fn frame_of(
    shape: *const Shape,
    state: *const u8,
    proctype: u32,
    pid: i32,
) -> u32 {
    // SAFETY: as for `locate`.
    let (shape, state) = unsafe { (&*shape, vector(&*shape, state)) };
    let mut frames = shape.frames(state).enumerate();
    let wanted = |(at, (found, _)): &(usize, (u8, u32))| {
        u32::from(*found) == proctype && (pid < 0 || *at == pid as usize)
    };
    frames.find(wanted).map_or(NOWHERE, |(_, (_, at))| at)
}

/// Removes one message of a channel, whose first byte is its length.
pub(crate) extern "C" fn remove(channel: *mut u8, index: u32, width: u32) -> u32 {
    // SAFETY: `channel` points at a channel of the vector at hand, and `index` is below its length,
    // so all its messages lie in the vector.
    unsafe {
        let length = u32::from(*channel);
        let (index, width) = (index as usize, width as usize);
        let slots = channel.add(1);
        let rest = (length as usize - index - 1) * width;
        let at = slots.add(index * width);
        std::ptr::copy(at.add(width), at, rest);
        std::ptr::write_bytes(at.add(rest), 0, width);
        *channel = (length - 1) as u8;
    }
    0
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
