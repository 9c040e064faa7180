//! Takes transparent steps on the spot, without storing the states between them.
//!
//! Where several threads search, nobody can tell whether a successor that another thread owns is
//! yet to be expanded, as the proviso of `buckets.rs` asks. Instead the steps that touch nothing
//! but their own process are walked right after the step they follow, up to the states that have
//! none: those are stored and expanded.
//!
//! Invariant: every walk ends in states that are expanded in full; one that comes back to a state,
//! or gets long, ends there.

use crate::search::shared::atomic_sequence::{AtomicSequence, Event};
use preempt_core::{Enabled, Locality, Step, System};
use std::collections::HashSet;

/// Reusable buffers.
#[derive(Default)]
pub(crate) struct LocalSteps {
    /// Steps that a property can see must not be reordered.
    observed: bool,
    sequence: AtomicSequence,
    enabled: Enabled,
    queue: Vec<(Vec<u8>, Vec<Step>)>,
    seen: HashSet<Vec<u8>>,
}

/// A walk that has met so many states ends wherever it is.
const MOST: usize = 256;

impl LocalSteps {
    pub(crate) fn new(observed: bool) -> Self {
        LocalSteps { observed, ..LocalSteps::default() }
    }

    /// Tells where the transparent steps behind `state`, which was reached by `path`, lead, and the
    /// faults on the way. Without any such steps that is `state` itself.
    pub(crate) fn run<S: System + ?Sized>(
        &mut self,
        system: &S,
        path: &[Step],
        state: &[u8],
        report: &mut impl FnMut(&[Step], Event),
    ) {
        self.seen.clear();
        self.queue.push((state.to_vec(), path.to_vec()));
        while let Some((mut state, path)) = self.queue.pop() {
            self.enabled.clear();
            let mut copy = state.clone();
            system.enabled(&mut copy, &mut self.enabled);
            let transparent = self.enabled.by_process().find(|(process, _)| {
                system.locality(&state, *process) == Locality::Local
                    && !(self.observed && system.is_visible(&state, *process))
            });
            let ends = self.seen.len() >= MOST || !self.seen.insert(state.clone());
            let Some((_, steps)) = transparent.filter(|_| !ends) else {
                report(&path, Event::Arrived(&mut state));
                continue;
            };
            for &step in steps.iter().rev() {
                self.sequence.run(system, &state, step, &mut |more, event| {
                    let path = [&path, more].concat();
                    match event {
                        Event::Arrived(next) => self.queue.push((next.clone(), path)),
                        fault => report(&path, fault),
                    }
                    true
                });
            }
        }
    }
}
