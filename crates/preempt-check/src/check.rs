//! The front door: what to check, how, and the answer.

use crate::search::bounded;
use crate::store::{Exact, Store};
use crate::{Answer, Budget, Counterexample, Finding, Options, Preemptions, Progress, conclude};
use preempt_core::{Enabled, Outcome, Stop, System};
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
            Preemptions::Any => first_draft(self.system, &mut budget),
            _ => bounded(self.system, &self.options, &mut budget),
        };
        conclude(self.system, &self.options.property, finding)
    }
}

/// Plain depth-first search for the first violation.
fn first_draft<S: System + ?Sized>(system: &S, budget: &mut Budget) -> Finding {
    let mut store = Exact::new(budget.memory_limit());
    let mut finding = Finding::default();
    let mut state = Vec::new();
    if let Outcome::Violated(fault) | Outcome::Broken(fault) = system.initial(&mut state) {
        finding.counterexample = Some(Counterexample::from_fault(system, Vec::new(), fault));
        return finding;
    }
    let mut stack = vec![(state, Vec::new())];
    let mut enabled = Enabled::new();
    while let Some((mut state, path)) = stack.pop() {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        if !system.is_transient(&state) {
            match store.insert(&state) {
                Ok(inserted) if inserted.new => {}
                Ok(_) => continue,
                Err(_) => {
                    finding.stop = Some(Stop::Memory);
                    break;
                }
            }
        }
        if let Some(stop) =
            budget.poll(|| Progress { memory: store.bytes(), ..Progress::default() })
        {
            finding.stop = Some(stop);
            break;
        }
        if enabled.is_empty() && !system.is_valid_end(&state) {
            finding.counterexample = Some(Counterexample::invalid_end(path));
            break;
        }
        for &step in enabled.steps().iter().rev() {
            let mut next = state.clone();
            let mut path = path.clone();
            path.push(step);
            if let Outcome::Violated(fault) | Outcome::Broken(fault) = system.apply(&mut next, step)
            {
                finding.counterexample = Some(Counterexample::from_fault(system, path, fault));
                return finding;
            }
            stack.push((next, path));
        }
    }
    finding.statistics.states = store.len() as u64;
    finding
}
