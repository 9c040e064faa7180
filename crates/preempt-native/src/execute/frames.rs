//! Where the frames of the processes lie in a state.

use super::shape::{Frame, Shape};

/// The frames of a state. In most states they lie where they lay in the one before, which is quicker
/// to see than to walk along them: each walk waits for the type of one frame to know where the next
/// one is.
#[inline(always)]
pub(crate) fn frames_from<'a>(
    shape: &'a Shape,
    state: &[u8],
    notes: &'a mut Vec<u64>,
) -> &'a [Frame] {
    let count = usize::from(state[1]);
    if let Some(fixed) = &shape.fixed {
        return &fixed[..count];
    }
    let own = std::ptr::from_ref(shape) as u64;
    if notes.first() != Some(&own) || !lie_there(noted(notes), state, count) {
        walk(shape, state, notes);
        notes.insert(0, own);
    }
    noted(notes)
}

/// The frames that a system has noted, behind its name.
#[inline(always)]
fn noted(notes: &[u64]) -> &[Frame] {
    let frames = &notes[1..];
    // SAFETY: `walk` makes each note of the bytes of a frame; whatever else it were, a frame is plain
    // numbers.
    unsafe { std::slice::from_raw_parts(frames.as_ptr().cast(), frames.len()) }
}

/// Whether these are the frames of the state. Where the types of all older ones are as noted, the next
/// one begins where it is noted to begin.
#[inline(always)]
fn lie_there(frames: &[Frame], state: &[u8], count: usize) -> bool {
    let lies_there = |frame: &Frame| state.get(frame.at as usize) == Some(&frame.proctype);
    frames.len() == count && frames.iter().all(lies_there)
}

#[cold]
fn walk(shape: &Shape, state: &[u8], notes: &mut Vec<u64>) {
    notes.clear();
    notes.extend(shape.frames(state).map(|frame| {
        let mut bytes = [0; 8];
        bytes[std::mem::offset_of!(Frame, at)..][..4].copy_from_slice(&frame.at.to_ne_bytes());
        bytes[std::mem::offset_of!(Frame, proctype)] = frame.proctype;
        u64::from_ne_bytes(bytes)
    }));
}
