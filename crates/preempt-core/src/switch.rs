//! Context switches and preemptions: the one definition all engines count by.

use crate::{Enabled, ProcessId, Step};

/// How a step relates to the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Switch {
    /// The first step, or another step of the same process.
    None,
    /// Another process moves because the last one could not.
    Forced,
    /// Another process moves although the last one could have continued: a preemption.
    Preemption,
}

/// Classifies `step`, taken where `enabled` holds after a step by `last`.
pub fn classify(last: Option<ProcessId>, enabled: &Enabled, step: &Step) -> Switch {
    match last {
        _ if step.process == ProcessId::PROPERTY => Switch::None,
        None => Switch::None,
        Some(last) if last == step.process => Switch::None,
        Some(last) if enabled.of(last).is_empty() => Switch::Forced,
        Some(_) => Switch::Preemption,
    }
}

/// What a trace costs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct SwitchCount {
    /// Switches away from a process that could have continued.
    pub preemptions: u32,
    /// All context switches, forced ones included.
    pub switches: u32,
    /// Steps.
    pub steps: u32,
}

impl SwitchCount {
    /// Counts one more step.
    pub fn add(&mut self, switch: Switch) {
        self.steps += 1;
        self.switches += u32::from(switch != Switch::None);
        self.preemptions += u32::from(switch == Switch::Preemption);
    }
}
