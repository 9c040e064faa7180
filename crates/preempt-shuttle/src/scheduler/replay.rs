//! One schedule again.

use super::{Native, Schedule, ScheduleStep, Scheduler, Task, TaskId};
use std::fs;
use std::io;
use std::path::Path;

/// One schedule again.
#[derive(Clone, Debug)]
pub struct ReplayScheduler {
    encoded: Option<String>,
    schedule: Schedule,
    started: bool,
    position: usize,
}

impl ReplayScheduler {
    /// A schedule that a failure printed.
    pub fn new_from_encoded(encoded: &str) -> Self {
        let encoded = Some(encoded.trim().to_string());
        ReplayScheduler { encoded, schedule: Schedule::default(), started: false, position: 0 }
    }

    /// A schedule that a failure wrote to a file.
    pub fn new_from_file<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Ok(Self::new_from_encoded(&fs::read_to_string(path)?))
    }

    /// These tasks in this order, then whoever can move.
    pub fn new_from_schedule(schedule: Schedule) -> Self {
        ReplayScheduler { encoded: None, schedule, started: false, position: 0 }
    }

    /// Nothing to do: a schedule that is too short goes on without preemption.
    pub fn set_allow_incomplete(&mut self) {}
}

impl Scheduler for ReplayScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        let first = !self.started;
        self.started = true;
        self.position = 0;
        first.then(|| self.schedule.clone())
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        let wanted = loop {
            match self.schedule.steps.get(self.position) {
                Some(ScheduleStep::Random) => self.position += 1,
                Some(ScheduleStep::Task(task)) => break Some(*task),
                None => break None,
            }
        };
        self.position += 1;
        let can = |task: TaskId| runnable_tasks.iter().any(|runnable| runnable.id == task);
        wanted.or(current_task).filter(|&task| can(task)).or(Some(runnable_tasks.first()?.id))
    }

    fn next_u64(&mut self) -> u64 {
        0
    }

    fn native(&self) -> Option<Native> {
        self.encoded.clone().map(Native::Replay)
    }

    fn begin_again(&mut self) {
        self.started = false;
    }
}
