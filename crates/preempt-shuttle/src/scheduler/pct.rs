//! Probabilistic concurrency testing: random priorities that change at a few random steps.

use super::{Generator, Native, Schedule, Scheduler, Task, TaskId, fresh_seed};
use preempt::Strategy;

/// Random priorities that change at a few random steps.
#[derive(Clone, Debug)]
pub struct PctScheduler {
    depth: u32,
    seed: u64,
    left: usize,
    generator: Generator,
    /// By task; the highest one goes first.
    priorities: Vec<u64>,
    /// Steps at which the running task falls behind all others.
    changes: Vec<usize>,
    step: usize,
    /// The longest execution so far.
    longest: usize,
}

/// Priorities at the start are at least this; one for each fall lies below.
const LOWEST: u64 = 1 << 32;

impl PctScheduler {
    /// So many executions with `max_depth` - 1 changes of priority, from a fresh seed.
    pub fn new(max_depth: usize, max_iterations: usize) -> Self {
        Self::new_from_seed(fresh_seed(), max_depth, max_iterations)
    }

    /// So many executions with `max_depth` - 1 changes of priority, from this seed.
    ///
    /// # Panics
    /// If the depth is 0.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> Self {
        assert!(max_depth > 0, "the depth must be at least 1");
        PctScheduler {
            depth: u32::try_from(max_depth).unwrap_or(u32::MAX),
            seed,
            left: max_iterations,
            generator: Generator(seed),
            priorities: Vec::new(),
            changes: Vec::new(),
            step: 0,
            longest: 0,
        }
    }

    fn priority(&mut self, task: TaskId) -> &mut u64 {
        while self.priorities.len() <= task.0 {
            self.priorities.push(LOWEST + (self.generator.next() >> 1));
        }
        &mut self.priorities[task.0]
    }
}

impl Scheduler for PctScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        self.longest = self.longest.max(self.step);
        let range = self.longest.max(1);
        self.changes = (1..self.depth).map(|_| 1 + self.generator.below(range)).collect();
        self.priorities.clear();
        self.step = 0;
        Some(Schedule::new(self.generator.next()))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.step += 1;
        let falls = is_yielding || self.changes.contains(&self.step);
        if let Some(current) = current_task.filter(|_| falls) {
            // Later falls go further down.
            *self.priority(current) = LOWEST.saturating_sub(self.step as u64);
        }
        runnable_tasks.iter().map(|task| task.id).max_by_key(|&task| *self.priority(task))
    }

    fn next_u64(&mut self) -> u64 {
        self.generator.next()
    }

    fn native(&self) -> Option<Native> {
        let strategy = Strategy::Pct { depth: self.depth, seed: self.seed };
        Some(Native::Strategy(strategy, self.left))
    }

    fn begin_again(&mut self) {
        self.left += 1;
    }
}
