//! Successors of single states, for searches that keep states somewhere else: in files.

use super::forward::{Forward, Uncounted};
use super::retrace::{TraceTarget, steps_to};
use super::{PartitionResult, Time, ViolationSite};
use preempt_check::engine::Events;
use preempt_check::engine::{Expander, Watch};
use preempt_check::{Budget, Options};
use preempt_core::{Enabled, Label, Outcome, Step, Stop, System};

/// Expands states and counts what happens.
pub struct Single<'a> {
    system: &'a dyn System,
    events: Events<'a, dyn System + 'a, usize>,
    expander: Expander,
    /// Chooses steps, if not all are taken.
    forward: Option<Forward>,
    site: Option<ViolationSite>,
    /// States are brought into normal form, see [`System::is_normalized`].
    normalizes: bool,
    normal: Vec<u8>,
    enabled: Enabled,
}

impl<'a> Single<'a> {
    /// For a search with these options, as far as there is time to begin.
    pub fn new(
        system: &'a dyn System,
        options: &Options,
        budget: &mut Budget<'_>,
    ) -> Result<Self, Stop> {
        let forward = Forward::new(system, options, budget)?;
        Ok(Single { forward, ..Self::with_every_step(system, options) })
    }

    fn with_every_step(system: &'a dyn System, options: &Options) -> Self {
        Single {
            system,
            events: Events::new(system, options),
            expander: Expander::default().run_sequences(),
            forward: None,
            site: None,
            normalizes: false,
            normal: Vec::new(),
            enabled: Enabled::new(),
        }
    }

    /// For a search for accepting cycles: every step is taken, and states are in normal form.
    pub fn for_cycles(system: &'a dyn System, options: &Options) -> Self {
        Single { normalizes: true, ..Self::with_every_step(system, options) }
    }

    /// The initial state; `None` if nothing can follow it.
    pub fn initial(&mut self) -> Option<Vec<u8>> {
        let mut state = Vec::new();
        let outcome = self.system.initial(&mut state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.events.fault(&[], fault);
            self.note_site(0, &state);
        }
        if self.normalizes {
            self.system.enabled(&mut state, &mut self.enabled);
        }
        self.events.counters.state_bytes = state.len();
        let goes_on = !matches!(outcome, Outcome::Broken(_)) && !self.has_enough();
        goes_on.then_some(state)
    }

    /// Gives the successors of a state of this level to `each`. `Err` if memory does not suffice for that.
    pub fn expand(
        &mut self,
        level: u32,
        state: &mut Vec<u8>,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), Stop> {
        self.expander.clear();
        let (system, events) = (self.system, &mut self.events);
        let selected = match &mut self.forward {
            Some(forward) => forward.select(system, state).map_err(|_| Stop::Memory)?,
            None => None,
        };
        let steps = match selected {
            Some(some) => self.expander.expand_selected(system, state, some, events),
            None => self.expander.expand(system, state, events),
        };
        if steps.map_err(|_| Stop::Memory)? == 0 {
            self.events.check_end(state);
        }
        self.note_site(level, state);
        self.events.counters.depth = level.into();
        for arrival in &self.expander.arrivals {
            let bytes = &self.expander.successors.data[arrival.start..arrival.end];
            let longest = &mut self.events.counters.state_bytes;
            *longest = (*longest).max(bytes.len());
        }
        self.pass_on(&mut each);
        Ok(())
    }

    /// As [`Single::expand`], once more: nothing is counted.
    pub fn expand_again(
        &mut self,
        state: &mut Vec<u8>,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), Stop> {
        self.expander.clear();
        let expanded = self.expander.expand(self.system, state, &mut Uncounted);
        expanded.map_err(|_| Stop::Memory)?;
        self.pass_on(&mut each);
        Ok(())
    }

    fn pass_on(&mut self, each: &mut impl FnMut(&[u8])) {
        for arrival in &self.expander.arrivals {
            let bytes = &self.expander.successors.data[arrival.start..arrival.end];
            if !self.normalizes || self.system.is_normalized(bytes) {
                each(bytes);
                continue;
            }
            self.normal.clear();
            self.normal.extend_from_slice(bytes);
            self.enabled.clear();
            self.system.enabled(&mut self.normal, &mut self.enabled);
            each(&self.normal);
        }
    }

    /// Whether an execution that comes to this state for ever is accepted.
    pub fn is_accepting(&self, state: &[u8]) -> bool {
        self.system.has_label(state, Label::Accept)
    }

    /// The first violation was found just now, behind this state.
    fn note_site(&mut self, level: u32, state: &[u8]) {
        if self.site.is_none()
            && let Some((_, path, fault)) = self.events.first_error()
        {
            let (time, path) = (Time { bucket: 0, round: level }, path.to_vec());
            self.site =
                Some(ViolationSite { time, state: state.to_vec(), mover: None, path, fault });
        }
    }

    /// Whether as many errors as asked for were found.
    pub fn has_enough(&self) -> bool {
        self.events.counters.is_enough()
    }

    /// What was counted; states and transitions are the caller's to add.
    pub fn share(&self) -> PartitionResult {
        PartitionResult {
            site: self.site.clone(),
            ..PartitionResult::counted(&self.events.counters)
        }
    }

    /// Steps from a state to the goal, if it is a predecessor.
    pub fn steps_to(&mut self, state: &[u8], goal: &TraceTarget) -> Option<Vec<Step>> {
        let normalizes = self.normalizes;
        steps_to(self.system, (state, None), goal, None, normalizes)
    }
}
