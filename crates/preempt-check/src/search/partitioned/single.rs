//! Successors of single states, for searches that keep states somewhere else: in files.

use super::forward::Forward;
use super::levels::Events;
use super::retrace::{Goal, steps_to};
use super::{Share, Site, Time};
use crate::Options;
use crate::search::shared::atomic_sequence::AtomicSequence;
use crate::search::shared::expansion::Expander;
use preempt_core::{Outcome, Step, Stop, System};

/// Expands states and counts what happens.
pub struct Single<'a> {
    system: &'a dyn System,
    events: Events<'a>,
    expander: Expander,
    /// Chooses steps, if not all are taken.
    forward: Option<Forward>,
    sequence: AtomicSequence,
    site: Option<Site>,
}

impl<'a> Single<'a> {
    /// For a search with these options.
    pub fn new(system: &'a dyn System, options: &Options) -> Self {
        Single {
            system,
            events: Events::new(system, options),
            expander: Expander::new().run_sequences(),
            forward: Forward::new(system, options),
            sequence: AtomicSequence::default(),
            site: None,
        }
    }

    /// The initial state; `None` if nothing can follow it.
    pub fn initial(&mut self) -> Option<Vec<u8>> {
        let mut state = Vec::new();
        let outcome = self.system.initial(&mut state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.events.initial_fault(fault);
            self.note_site(0, &state);
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
            each(bytes);
        }
        Ok(())
    }

    /// The first violation was found just now, behind this state.
    fn note_site(&mut self, level: u32, state: &[u8]) {
        if self.site.is_none()
            && let Some((path, fault)) = self.events.first()
        {
            let time = Time { bucket: 0, round: level };
            self.site = Some(Site { time, state: state.to_vec(), mover: None, path, fault });
        }
    }

    /// Whether as many errors as asked for were found.
    pub fn has_enough(&self) -> bool {
        self.events.counters.is_enough()
    }

    /// What was counted; states and transitions are the caller's to add.
    pub fn share(&self) -> Share {
        Share { site: self.site.clone(), ..self.events.share() }
    }

    /// Steps from a state to the goal, if it is a predecessor.
    pub fn steps_to(&mut self, state: &[u8], goal: &Goal) -> Option<Vec<Step>> {
        steps_to(self.system, &mut self.sequence, (state, None), goal, None, false)
    }
}
