//! All executions, depth first.

use super::{Generator, Native, Schedule, Scheduler, Task, TaskId};

/// All executions.
#[derive(Clone, Debug)]
pub struct DfsScheduler {
    left: Option<usize>,
    allow_random_data: bool,
    started: bool,
    /// At each step: which of how many tasks was taken.
    taken: Vec<(usize, usize)>,
    step: usize,
    generator: Generator,
}

/// The same random numbers in every execution.
const SEED: u64 = 0x5EED;

impl DfsScheduler {
    /// All executions, or so many of them. Without random data a test that asks for some fails.
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> Self {
        DfsScheduler {
            left: max_iterations,
            allow_random_data,
            started: false,
            taken: Vec::new(),
            step: 0,
            generator: Generator(SEED),
        }
    }
}

impl Scheduler for DfsScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        if self.started {
            self.taken.truncate(self.step);
            while self.taken.last().is_some_and(|(taken, of)| taken + 1 >= *of) {
                self.taken.pop();
            }
            self.taken.last_mut()?.0 += 1;
        }
        self.started = true;
        self.step = 0;
        self.generator = Generator(SEED);
        Some(Schedule::new(SEED))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        _current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        if self.taken.len() == self.step {
            self.taken.push((0, runnable_tasks.len()));
        }
        let (taken, _) = self.taken[self.step];
        self.step += 1;
        runnable_tasks.get(taken).or(runnable_tasks.last()).map(|task| task.id)
    }

    fn next_u64(&mut self) -> u64 {
        self.generator.next()
    }

    fn native(&self) -> Option<Native> {
        Some(Native::Exhaustive(self.left, self.allow_random_data))
    }

    fn begin_again(&mut self) {
        self.left = self.left.map(|left| left + 1);
        self.started = false;
        self.taken.clear();
    }
}
