//! The joint steps of a rendezvous, found and taken by a helper of machine code.

use super::shape::Frame;
use super::undo_log::{record, record_copy};
use super::workspace::{ASK_MOVES, ASK_STEP, MOST_JOINT, Meeting, Workspace};
use preempt_core::engine::{SleepSet, SuccessorHeader};

/// Whether the step that gave this result cannot be completed.
fn is_broken(result: u32) -> bool {
    result & ASK_STEP == SuccessorHeader::BROKEN
}

/// Adds the joint steps of an offer that lies in the workspace to the headers. Gives the new number of
/// headers, or [`ASK_MOVES`].
pub(crate) extern "C" fn offer(
    workspace: *mut Workspace,
    state: *const u8,
    frame: *const u8,
    pid_and_timeout: u32,
    transition: u32,
    channel: u32,
    count: u32,
) -> i32 {
    let (me, timeout) = ((pid_and_timeout >> 1) as usize, pid_and_timeout & 1);
    // SAFETY: called by machine code only, with the workspace and the state that it was called with
    // itself; the tables behind its pointers outlive the call.
    unsafe {
        let meeting = &*(*workspace).meeting;
        let mut count = count as usize;
        for pid in (0..(*workspace).frame_count).rev() {
            if pid == me {
                continue;
            }
            let other = *(*workspace).frames.add(pid);
            let there = state.add(other.at as usize);
            if !meeting.may_reply[usize::from(other.proctype)][control(there, meeting.pc_width)] {
                continue;
            }
            let Some(replies) = meeting.replies[usize::from(other.proctype)] else {
                return ASK_MOVES;
            };
            let Ok(found) =
                usize::try_from(replies(state, there, pid as u32, timeout, workspace, channel))
            else {
                return ASK_MOVES;
            };
            for at in 0..found {
                if count >= MOST_JOINT {
                    return ASK_MOVES;
                }
                let mut header = SuccessorHeader {
                    start: 0,
                    length: (*workspace).length,
                    result: 0,
                    who: me as u32 | (pid as u32 + 1) << 16,
                    transition,
                    partner_transition: (*workspace).replies[at].assume_init(),
                    sleep_set: SleepSet::EMPTY,
                };
                if !(*workspace).out.is_null() {
                    join(workspace, meeting, state, frame, (me, pid, other), &mut header);
                }
                (*workspace).headers.add(count).write(header);
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
    workspace: *mut Workspace,
    meeting: &Meeting,
    state: *const u8,
    frame: *const u8,
    (me, partner, other): (usize, usize, Frame),
    header: &mut SuccessorHeader,
) {
    // SAFETY: the caller's promise: `out`, or the place of the notes, has room for the copy and what the
    // step adds, and `base` is where the memory begins that `out` lies in.
    unsafe {
        let records_differences = !(*workspace).first_note.is_null();
        let place = match records_differences {
            true if meeting.growth == 0 => state.cast_mut(),
            true => (*workspace).first_note.cast(),
            false => (*workspace).out,
        };
        if place.cast_const() != state {
            std::ptr::copy_nonoverlapping(state, place, header.length as usize);
        }
        let sender = frame.offset_from_unsigned(state);
        let proctype = usize::from(*frame);
        let result = both_halves(
            meeting,
            (place, workspace),
            (proctype, sender, me, header.transition),
            (other, partner, header.partner_transition),
        );
        header.result = result;
        if result == ASK_STEP {
            (*workspace).asks = 1;
        } else if *place != 0 {
            header.result |= SuccessorHeader::TRANSIENT;
        }
        if meeting.growth > 0 {
            header.length = super::shape::length_of((*workspace).shape, place);
        }
        if records_differences {
            let recorded = match meeting.growth {
                0 => record(workspace, place),
                _ => record_copy(workspace, state, place, header.length),
            };
            (header.start, header.length) = (recorded as u32, (recorded >> 32) as u32);
        } else {
            header.start = place.cast_const().offset_from_unsigned((*workspace).base) as u32;
            (*workspace).out = place.add(header.length as usize);
        }
    }
}

/// Takes both halves of a rendezvous in place. The message need not lie in the workspace.
///
/// # Safety
/// `state` must be a vector of the system that the workspace belongs to, with room for what the step
/// adds, and the step must be enabled in it.
pub(crate) unsafe fn both_halves(
    meeting: &Meeting,
    (state, workspace): (*mut u8, *mut Workspace),
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
    let given = give(state, sender, pid as u32, transition, workspace);
    if given == ASK_STEP || is_broken(given) {
        return given;
    }
    let accepted = accept(state, receiver, partner as u32, reply, workspace);
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
