//! The steps of an execution, found again from its visits.
//!
//! Bucketed searches keep of a visit only its last mover and where it came from. The steps between
//! are found by trying all: among several the one that preempts no process is taken, as the search did.

use crate::search::shared::atomic_sequence::last_mover;
use crate::search::shared::trace::first_way;
use preempt_core::{ProcessId, Step, System};

/// The last mover of a visit, and whether the last step was a transparent one.
pub(crate) type Mover = (Option<ProcessId>, bool);

/// The steps of the execution whose visits had these last movers, the initial state's first;
/// `is_visit(n, state)` says whether the state is that of visit `n`. `None` where no step fits, which
/// only a lossy store can bring about.
pub(crate) fn retrace<S: System + ?Sized>(
    system: &S,
    movers: &[Mover],
    mut is_visit: impl FnMut(usize, &[u8]) -> bool,
) -> Option<Vec<Step>> {
    let (mut steps, mut state) = (Vec::new(), Vec::new());
    system.initial(&mut state);
    for (before, pair) in movers.windows(2).enumerate() {
        let [(last, _), (mover, is_transparent)] = [pair[0], pair[1]];
        let mut next = Vec::new();
        let mut fits = |path: &[Step], arrived: &mut Vec<u8>| {
            let same = is_transparent || last_mover(path, last) == mover;
            let fits = same && is_visit(before + 1, arrived);
            if fits {
                next.clone_from(arrived);
            }
            fits
        };
        let free = first_way(system, &state, last, |preempts| !preempts, &mut fits);
        let path = free.or_else(|| first_way(system, &state, last, |preempts| preempts, fits));
        steps.extend(path?);
        state = next;
    }
    Some(steps)
}
