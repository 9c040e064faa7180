//! Threads in turn.

use super::{Schedule, Scheduler, Task, TaskId};

/// Threads in turn: the next one at every step.
#[derive(Clone, Debug)]
pub struct RoundRobinScheduler {
    left: usize,
}

impl RoundRobinScheduler {
    /// So many equal executions.
    pub fn new(max_iterations: usize) -> Self {
        RoundRobinScheduler { left: max_iterations }
    }
}

impl Scheduler for RoundRobinScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        Some(Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        let next = |task: &&&Task| current_task.is_none_or(|current| task.id > current);
        let chosen = runnable_tasks.iter().find(next).or(runnable_tasks.first())?;
        Some(chosen.id)
    }

    fn next_u64(&mut self) -> u64 {
        0
    }

    fn begin_again(&mut self) {
        self.left += 1;
    }
}
