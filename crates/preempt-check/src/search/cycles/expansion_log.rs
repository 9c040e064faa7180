//! What happened during the expansion of one state: its steps, where each of them led, and what went wrong.

use crate::search::shared::expansion::Watch;
use crate::search::shared::taken::mark_taken;
use preempt_core::{ProcessId, Step, System};
use std::ops::Range;

/// One step of the state that is expanded.
pub(super) struct Taken {
    pub(super) process: ProcessId,
    /// Where it led.
    pub(super) arrivals: Range<usize>,
    /// It failed, or led into an indivisible sequence.
    pub(super) is_special: bool,
}

/// What happens during an expansion.
pub(super) struct Events<'a, S: ?Sized> {
    pub(super) system: &'a S,
    pub(super) taken: Vec<bool>,
    pub(super) steps: Vec<Taken>,
    pub(super) faults: Vec<(Vec<Step>, u32)>,
    /// How each arrival was reached, if wanted.
    pub(super) paths: Option<Vec<Vec<Step>>>,
    pub(super) arrivals: usize,
    pub(super) atomic_steps: u64,
}

impl<S: ?Sized> Events<'_, S> {
    pub(super) fn begin(&mut self) {
        self.steps.clear();
        self.faults.clear();
        self.arrivals = 0;
    }
}

impl<S: System + ?Sized> Watch for Events<'_, S> {
    fn begin_step(&mut self, step: Step) {
        let arrivals = self.arrivals..self.arrivals;
        self.steps.push(Taken { process: step.process, arrivals, is_special: false });
    }

    fn step(&mut self, step: Step, transient: bool) {
        mark_taken(self.system, &mut self.taken, step);
        self.atomic_steps += u64::from(transient);
        if let Some(last) = self.steps.last_mut() {
            last.is_special |= transient;
        }
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        self.faults.push((path.to_vec(), fault));
        if let Some(last) = self.steps.last_mut() {
            last.is_special = true;
        }
    }

    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        self.arrivals += 1;
        if let Some(last) = self.steps.last_mut() {
            last.arrivals.end = self.arrivals;
        }
        if let Some(paths) = &mut self.paths {
            paths.push(path.to_vec());
        }
    }
}
