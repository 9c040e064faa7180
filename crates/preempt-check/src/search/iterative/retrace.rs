//! The steps of an execution, found again from its visits.
//!
//! Bucketed searches keep of a visit only its last mover and where it came from. The steps between
//! are found by trying all: among several the one that preempts no process is taken, as the search did.

use crate::search::shared::atomic_sequence::{AtomicSequence, Event, last_mover};
use preempt_core::{Enabled, ProcessId, Step, Switch, System, classify};

/// The last mover of a visit, and whether the last step was a transparent one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mover(u32);

impl Mover {
    const NOBODY: u32 = 0xffff;
    const TRANSPARENT: u32 = 1 << 16;

    #[inline]
    pub(crate) fn new(process: Option<ProcessId>, transparent: bool) -> Self {
        Mover(
            process.map_or(Mover::NOBODY, |p| u32::from(p.0))
                | if transparent { Mover::TRANSPARENT } else { 0 },
        )
    }

    #[inline]
    pub(crate) fn process(self) -> Option<ProcessId> {
        match self.0 & Mover::NOBODY {
            Mover::NOBODY => None,
            process => Some(ProcessId(process as u16)),
        }
    }

    #[inline]
    pub(crate) fn is_transparent(self) -> bool {
        self.0 & Mover::TRANSPARENT != 0
    }
}

/// The steps of the execution whose visits had these last movers, the initial state's first;
/// `is_visit(n, state)` says whether the state is that of visit `n`. `None` where no step fits, which
/// only a lossy store can bring about.
pub(crate) fn retrace<S: System + ?Sized>(
    system: &S,
    movers: &[Mover],
    mut is_visit: impl FnMut(usize, &[u8]) -> bool,
) -> Option<Vec<Step>> {
    let (mut steps, mut state) = (Vec::new(), Vec::new());
    let (mut sequence, mut enabled) = (AtomicSequence::default(), Enabled::new());
    system.initial(&mut state);
    for (before, pair) in movers.windows(2).enumerate() {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let mut best: Option<(bool, Vec<Step>, Vec<u8>)> = None;
        for step in enabled.steps() {
            let costs = classify(pair[0].process(), &enabled, step) == Switch::Preemption;
            sequence.run(system, &state, *step, &mut |path, event| {
                if let Event::Arrived(arrived) = event {
                    let mover = last_mover(path, pair[0].process());
                    let same = pair[1].is_transparent() || mover == pair[1].process();
                    let better = best.as_ref().is_none_or(|(worst, ..)| *worst && !costs);
                    if same && better && is_visit(before + 1, arrived) {
                        best = Some((costs, path.to_vec(), arrived.clone()));
                    }
                }
                true
            });
        }
        let (_, path, arrived) = best?;
        steps.extend(path);
        state = arrived;
    }
    Some(steps)
}
