//! Takes steps back: what they changed becomes differences, and the state is what it was.
//!
//! Before machine code writes into the vector it notes the word that it writes to. Once the step is
//! taken, [`record`] goes back through the notes: each word is compared with what it was, what differs
//! becomes a [`Difference`], and the word is put back. A word that was noted twice is put back twice,
//! and the differences add up; so does the sum that the hash is made of. Where the length of the vector
//! may change, and for `d_step`, a step is taken on a copy, and all words are compared.
//!
//! **Invariant:** between two calls of machine code the state is what it was.

use super::workspace::Workspace;
use preempt_core::engine::{Difference, part};

/// Notes so many bytes of a channel: all messages, and room for one more.
pub(crate) extern "C" fn note_messages(
    workspace: *mut Workspace,
    state: *const u8,
    channel: *const u8,
    bytes: u32,
) -> u32 {
    // SAFETY: called by machine code only, with a channel of the state that it works on; there is
    // room for `UndoLogging::most_notes` notes. Vectors end with a whole word.
    unsafe {
        let start = channel.offset_from_unsigned(state);
        for word in start / 8..=(start + bytes as usize - 1) / 8 {
            if word * 8 >= (*workspace).length as usize {
                break;
            }
            let value = state.cast::<u64>().add(word).read_unaligned();
            (*workspace).next_note.write(Difference { word: word as u64, bits: value });
            (*workspace).next_note = (*workspace).next_note.add(1);
        }
    }
    0
}

/// Takes back the step that was noted, and adds what it changed to the differences. Gives where they
/// begin (low half) and how many they are.
pub(crate) extern "C" fn record(workspace: *mut Workspace, state: *mut u8) -> u64 {
    // SAFETY: called by machine code only, with its own workspace and state. The notes lie between the two
    // pointers and are about words of the state; before them there is room for as many differences.
    unsafe {
        let workspace = &mut *workspace;
        let (first, mut note) = (workspace.first_note, workspace.next_note);
        let start: *mut Difference = workspace.out.cast();
        let (mut end, mut sum) = (start.add(1), workspace.sum);
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
        start.write(Difference::first((0, 0), (workspace.sum, sum)));
        workspace.recorded(start, end)
    }
}

/// As [`record`] for a step that was taken on a copy of the state.
pub(crate) extern "C" fn record_copy(
    workspace: *mut Workspace,
    state: *const u8,
    copy: *mut u8,
    length: u32,
) -> u64 {
    // SAFETY: called by machine code only. Behind the copy there is room for what a step can add and
    // a whole word more; state and copy were `workspace.length` bytes long, with zeros behind the state.
    unsafe {
        let workspace = &mut *workspace;
        let (before, after) = (workspace.length as usize, length as usize);
        copy.add(after).cast::<[u8; 8]>().write_unaligned([0; 8]);
        let start: *mut Difference = workspace.out.cast();
        let (mut end, mut sum) = (start.add(1), workspace.sum);
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
        start.write(Difference::first((before, after), (workspace.sum, sum)));
        workspace.recorded(start, end)
    }
}
