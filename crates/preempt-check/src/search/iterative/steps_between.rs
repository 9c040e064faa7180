//! The cheapest steps between two states that were visited one after the other.

use super::local_steps::LocalSteps;
use crate::search::shared::atomic_sequence::{AtomicSequence, Event, last_mover};
use preempt_core::{Enabled, ProcessId, Step, Switch, System, classify};

/// The cheapest steps from one stored state to the next.
pub(crate) fn steps_between<S: System + ?Sized>(
    system: &S,
    reduce: bool,
    observed: bool,
    (state, last): (&[u8], Option<ProcessId>),
    (target, mover): (&[u8], Option<ProcessId>),
) -> Vec<Step> {
    let (mut sequence, mut local_steps) = (AtomicSequence::default(), LocalSteps::new(observed));
    let (mut copy, mut enabled) = (state.to_vec(), Enabled::new());
    system.enabled(&mut copy, &mut enabled);
    let mut best: Option<(bool, Vec<Step>)> = None;
    for step in enabled.steps() {
        let costs = classify(last, &enabled, step) == Switch::Preemption;
        sequence.run(system, state, *step, &mut |path, event| {
            let Event::Arrived(arrived) = event else { return true };
            if last_mover(path, last) != mover {
                return true;
            }
            let mut offer = |path: &[Step], arrived: &[u8]| {
                let better = best.as_ref().is_none_or(|(worse, _)| *worse && !costs);
                if better && arrived == target {
                    best = Some((costs, path.to_vec()));
                }
            };
            if reduce {
                local_steps.run(system, path, arrived, &mut |path, event| {
                    if let Event::Arrived(arrived) = event {
                        offer(path, arrived);
                    }
                });
            } else {
                offer(path, arrived);
            }
            true
        });
    }
    best.map_or(Vec::new(), |(_, path)| path)
}
