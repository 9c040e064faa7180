//! Spin's rule: all steps of one process, if the system promises that they are safe.
//!
//! The system decides per state what is safe (a step on local data, a send by a channel's only
//! sender while there is room, …) and answers with [`Locality`]. Paper: [S19] section 2, conditions
//! C0 to C2; C3 is the search's proviso.

use preempt_core::{Locality, ProcessId, System};

/// Whether the steps of `process`, which has some, may be explored alone.
#[doc(alias = "S19 C1 C2")]
pub(crate) fn is_ample<S: System + ?Sized>(
    system: &S,
    state: &[u8],
    process: ProcessId,
    observed: bool,
) -> bool {
    system.locality(state, process) >= Locality::Safe
        && !(observed && system.is_visible(state, process))
}
