//! Goes on behind a step into an atomic block, by the code of the block.
//!
//! A step that breaks something is not for a log: the vector is put back, and the sequence is run to the
//! state in front of that step.

use super::workspace::{LIMIT, LOG_BYTES, Workspace};
use preempt_core::engine::SuccessorHeader;

/// The sequence is over.
pub(crate) const OVER: u32 = 0;
/// It stands at a state inside the sequence that only the search can deal with.
pub(crate) const INSIDE: u32 = 1;
/// The step behind those counted broke something halfway.
pub(crate) const BROKEN: u32 = 2;
pub(crate) const STOPS: u32 = 2;

/// In place of code that cannot be made.
pub(crate) extern "C" fn stay(_: *mut u8, _: *mut u8, _: u32, _: u32, _: *mut Workspace) -> u32 {
    INSIDE
}

/// Behind a step into an atomic block: follows the sequence, if that is wanted. `state` is the successor, the
/// last thing in the list of bytes. Gives the result of the header.
pub(crate) extern "C" fn run_sequence(
    workspace: *mut Workspace,
    state: *mut u8,
    frame: *mut u8,
    pid: u32,
    block: u32,
    result: u32,
) -> u32 {
    // SAFETY: called by machine code only, with its own workspace and successor. Behind the successor there is
    // room for a log, and behind that for the successor once more, see `Workspace::reserve_for`.
    unsafe {
        let workspace = &mut *workspace;
        let Some(sequences) = workspace.sequences.filter(|_| result == 0) else {
            return result | SuccessorHeader::TRANSIENT;
        };
        let run = (*sequences).run(usize::from(*frame), block);
        let length = workspace.out.offset_from_unsigned(state);
        workspace.log = workspace.out;
        let kept = workspace.out.add(LOG_BYTES);
        std::ptr::copy_nonoverlapping(state, kept, length);
        let mut stopped = run(state, frame, pid, LIMIT as u32, workspace);
        if stopped & BROKEN != 0 {
            std::ptr::copy_nonoverlapping(kept, state, length);
            let whole = stopped >> STOPS;
            stopped = match whole {
                0 => INSIDE,
                _ => run(state, frame, pid, whole, workspace),
            };
        }
        let steps = stopped >> STOPS;
        workspace.out = workspace.out.add(steps as usize * size_of::<u32>());
        let transient = if stopped & INSIDE != 0 { SuccessorHeader::TRANSIENT } else { 0 };
        steps << SuccessorHeader::FAULT_SHIFT | transient
    }
}
