//! Depth-first search with a count of preemptions, whose rule is a parameter.
//!
//! What [HF] Figs. 3 and 5 share: take a step, pass through indivisible sequences, ask whether the
//! visit adds anything, go down or not. The rule says which steps a state gets, at which count.
//!
//! Invariant: a successor above the bound is never planned, so no visit above the bound is made.

use super::least_preemptions::Visit;
use super::stack::{Frame, Stack, Task};
use super::visited::{Arrival, Visited};
use crate::search::shared::atomic_sequence::{AtomicSequence, Event};
use crate::search::shared::halt::Halt;
use crate::search::shared::statistics::Counters;
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{Enabled, Outcome, Statistics, Step, Stop, System};

/// Which steps a state gets, at which count.
pub(crate) trait Rule<S: ?Sized> {
    /// Plans the steps of the state that was just entered.
    fn enter<V: Visited>(&mut self, system: &S, visited: &mut V, stack: &mut Stack, e: &Enabled);

    /// Whether [`Rule::resume`] has more for this frame, after its agenda is done.
    fn wants_resume(&self, _frame: &Frame) -> bool {
        false
    }

    /// Plans more for the deepest state.
    fn resume(&mut self, _system: &S, _stack: &mut Stack, _enabled: &Enabled) {}
}

/// Runs the search. Keeping to the bound, and saying whether it mattered, is up to the rule.
pub(crate) fn walk<S: System + ?Sized, V: Visited>(
    system: &S,
    visited: V,
    rule: &mut impl Rule<S>,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let mut walk = Walk {
        system,
        visited,
        stack: Stack::default(),
        counters: Counters::new(system, options),
        max_depth: options.depth.map_or(usize::MAX, |depth| depth as usize),
        numbers: Statistics::default(),
        truncated: false,
        enabled: Enabled::new(),
        state: Vec::new(),
        sequence: AtomicSequence::default(),
        steps: Vec::new(),
    };
    let end = walk.run(rule, budget).err();
    walk.finish(end, budget)
}

struct Walk<'a, S: ?Sized, V> {
    system: &'a S,
    visited: V,
    stack: Stack,
    counters: Counters,
    max_depth: usize,
    numbers: Statistics,
    /// Some execution was cut at the depth limit.
    truncated: bool,
    enabled: Enabled,
    state: Vec<u8>,
    sequence: AtomicSequence,
    steps: Vec<Step>,
}

impl<S: System + ?Sized, V: Visited> Walk<'_, S, V> {
    fn run(&mut self, rule: &mut impl Rule<S>, budget: &mut Budget) -> Result<(), Halt> {
        let outcome = self.system.initial(&mut self.state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.judge(fault, &[])?;
        }
        if !matches!(outcome, Outcome::Broken(_)) {
            self.arrive(None, rule)?;
        }
        loop {
            if let Some(task) = self.stack.take_end(&mut self.steps, &mut self.state) {
                self.arrive(Some(task), rule)?;
                continue;
            }
            if let Some(task) = self.stack.next() {
                self.take(task, rule)?;
                continue;
            }
            let Some(frame) = self.stack.frame() else { return Ok(()) };
            if rule.wants_resume(&frame) {
                self.load_enabled();
                rule.resume(self.system, &mut self.stack, &self.enabled);
                continue;
            }
            self.poll(budget)?;
            if frame.marked {
                self.visited.leave(frame.key);
            }
            self.stack.pop();
        }
    }

    fn load_enabled(&mut self) {
        self.state.clear();
        self.state.extend_from_slice(self.stack.state());
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
    }

    fn take(&mut self, task: Task, rule: &mut impl Rule<S>) -> Result<(), Halt> {
        if self.stack.depth() >= self.max_depth {
            self.truncated = true;
            self.stack.leave();
            return Ok(());
        }
        self.state.clear();
        self.state.extend_from_slice(self.stack.state());
        let outcome = self.system.apply(&mut self.state, task.step);
        if !matches!(outcome, Outcome::Broken(_)) && self.system.is_transient(&self.state) {
            return self.take_sequence(task);
        }
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.judge(fault, &[task.step])?;
        }
        if let Outcome::Broken(_) = outcome {
            self.stack.leave();
            return Ok(());
        }
        self.steps.clear();
        self.steps.push(task.step);
        self.arrive(Some(task), rule)
    }

    /// Walks the indivisible sequence that begins with `task`, and leaves its ends to be visited.
    fn take_sequence(&mut self, task: Task) -> Result<(), Halt> {
        let mut sequence = std::mem::take(&mut self.sequence);
        let (mut faults, mut ends) = (Vec::new(), Vec::new());
        sequence.run(self.system, self.stack.state(), task.step, &mut |path, event| {
            match event {
                Event::Violated(fault) => faults.push((fault, path.to_vec(), false)),
                Event::Broken(fault) => faults.push((fault, path.to_vec(), true)),
                Event::Arrived(state) => ends.push((path.to_vec(), state.clone())),
            }
            true
        });
        self.sequence = sequence;
        for (path, state) in ends.iter().rev() {
            self.stack.add_end(task, path, state);
        }
        for (fault, path, broken) in faults {
            self.judge(fault, &path)?;
            if broken {
                self.stack.leave();
            }
        }
        Ok(())
    }

    /// Visits the stable state that `task` led to by `self.steps`.
    fn arrive(&mut self, task: Option<Task>, rule: &mut impl Rule<S>) -> Result<(), Halt> {
        let before = self.stack.frame().and_then(|frame| frame.mover);
        let mover = task.and_then(|task| task.label.mover(&self.steps, before));
        let count = task.map_or(0, |task| task.count);
        let depth = (self.stack.depth() + self.steps.len()) as u64;
        let Arrival { key, visit, new, on_path } = (self.visited)
            .arrive(&self.state, depth, count, mover)
            .map_err(|_| Halt::Stop(Stop::Memory))?;
        for &step in &self.steps {
            self.counters.take(self.system, step);
        }
        self.numbers.transitions += 1;
        self.numbers.atomic_steps += self.steps.len().saturating_sub(1) as u64;
        if !on_path {
            self.stack.leave();
        }
        if visit == Visit::Covered {
            return Ok(());
        }
        self.numbers.revisits += u64::from(!new);
        self.stack.push(key, task, mover, &self.steps, visit == Visit::First, &self.state);
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
        self.numbers.depth = self.numbers.depth.max(self.stack.depth() as u64);
        let marked = self.visited.enter(key);
        if let Some(frame) = self.stack.top() {
            frame.marked = marked;
        }
        self.counters.state_bytes = self.counters.state_bytes.max(self.state.len());
        if new && self.counters.is_invalid_end(self.system, &self.state, &self.enabled) {
            let path = self.stack.path();
            self.counters.error(|| Counterexample::invalid_end(path.to_vec()));
            self.enough()?;
        }
        rule.enter(self.system, &mut self.visited, &mut self.stack, &self.enabled);
        Ok(())
    }

    /// Takes note of a fault at the end of the path and these steps.
    fn judge(&mut self, fault: u32, steps: &[Step]) -> Result<(), Halt> {
        let path = self.stack.path();
        if self.counters.reports(self.system, fault) {
            let system = self.system;
            self.counters
                .error(|| Counterexample::from_fault(system, [path, steps].concat(), fault));
            self.enough()?;
        }
        Ok(())
    }

    /// Ends the search after as many violations as were asked for.
    fn enough(&self) -> Result<(), Halt> {
        if self.counters.is_enough() { Err(Halt::Enough) } else { Ok(()) }
    }

    fn poll(&self, budget: &mut Budget) -> Result<(), Halt> {
        budget.spend(|| Progress {
            states: self.visited.len(),
            transitions: self.numbers.transitions,
            depth: self.stack.depth() as u64,
            memory: self.visited.bytes() + self.stack.bytes(),
            ..Progress::default()
        })?;
        Ok(())
    }

    fn finish(self, end: Option<Halt>, budget: &Budget) -> Finding {
        let states = self.visited.len();
        let memory = self.visited.bytes() + self.stack.bytes();
        let mut finding = self.counters.finish(self.system, states);
        finding.stop = match end {
            Some(Halt::Stop(stop)) => Some(stop),
            _ if self.truncated => Some(Stop::Depth),
            _ => finding.stop,
        };
        // What the bound kept out may be reached beyond it.
        finding.unreached.clear();
        finding.statistics = Statistics {
            atomic_steps: self.numbers.atomic_steps,
            depth: self.numbers.depth,
            revisits: self.numbers.revisits,
            ..finding.statistics
        };
        budget.sum_up(&mut finding.statistics, memory);
        finding.statistics.count_arrivals(self.numbers.transitions);
        finding
    }
}
