//! The front door: what to check, how, and the answer.

use crate::search::{bounded, breadth_first, depth_first};
use crate::store::{Exact, Store};
use crate::{Answer, Budget, Finding, Options, Preemptions, Progress, Search, conclude};
use preempt_core::System;
use std::sync::atomic::AtomicBool;

/// A check of one system, to be configured and run.
pub struct Check<'a, S: System + ?Sized> {
    system: &'a S,
    options: Options,
    interrupt: Option<&'a AtomicBool>,
    listener: Option<&'a mut (dyn FnMut(&Progress) + Send)>,
}

impl<'a, S: System + ?Sized> Check<'a, S> {
    /// A check with default options: assertions and deadlocks, all executions.
    pub fn new(system: &'a S) -> Self {
        Check { system, options: Options::default(), interrupt: None, listener: None }
    }

    /// Takes all options at once.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Ends with a partial answer when the flag is set.
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Tells `listener` about ten times a second how far the search is.
    pub fn progress(mut self, listener: &'a mut (dyn FnMut(&Progress) + Send)) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Searches, and says what was found.
    pub fn run(self) -> Answer {
        let mut budget = Budget::unlimited().memory(self.options.memory);
        if let Some(time) = self.options.time {
            budget = budget.time(time);
        }
        if let Some(flag) = self.interrupt {
            budget = budget.interrupt(flag);
        }
        if let Some(listener) = self.listener {
            budget = budget.listener(listener);
        }
        let finding = match self.options.preemptions {
            Preemptions::Any => search(self.system, &self.options, &mut budget),
            _ => bounded(self.system, &self.options, &mut budget),
        };
        conclude(self.system, &self.options.property, finding)
    }
}

fn search<S: System + ?Sized>(system: &S, options: &Options, budget: &mut Budget) -> Finding {
    let mut store = Exact::new(budget.memory_limit());
    let mut finding = match options.search {
        Search::Depth => depth_first(system, &mut store, options, budget),
        Search::Auto | Search::Breadth => breadth_first(system, &mut store, options, budget),
    };
    let numbers = &mut finding.statistics;
    numbers.seconds = budget.elapsed().as_secs_f64();
    numbers.bytes_per_state = store.bytes() as f64 / store.len().max(1) as f64;
    numbers.memory_bytes = budget.peak_memory().max(store.bytes()) as u64;
    finding
}
