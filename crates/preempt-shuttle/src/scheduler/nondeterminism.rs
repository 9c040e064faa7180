//! Behaviour that depends on anything but the schedule: every execution is made twice.
//!
//! The first one is chosen by another scheduler and recorded, the second one follows the record. Whatever
//! differs ends both, and the runner reports it.

use super::{Schedule, Scheduler, Task, TaskId};

/// Looks for behaviour that depends on anything but the schedule.
#[derive(Clone, Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S> {
    inner: S,
    schedule: Schedule,
    record: Vec<Step>,
    /// How much of the record was followed; `None` while it is made.
    followed: Option<usize>,
    begun: bool,
    complaint: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Switch { runnable: Vec<TaskId>, current: Option<TaskId>, yields: bool, chosen: Option<TaskId> },
    Random(u64),
}

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// Around another scheduler.
    pub fn new(scheduler: S) -> Self {
        UncontrolledNondeterminismCheckScheduler {
            inner: scheduler,
            schedule: Schedule::default(),
            record: Vec::new(),
            followed: None,
            begun: false,
            complaint: None,
        }
    }

    fn complain(&mut self, what: &str) {
        let step = self.followed.unwrap_or(0);
        let text = format!("possible nondeterminism: {what} (step {step} of the same schedule)");
        self.complaint.get_or_insert(text);
    }

    /// The execution before this one is over.
    fn judge(&mut self) {
        if self.followed.is_some_and(|followed| followed < self.record.len()) {
            self.complain("current execution ended earlier than expected");
        }
    }

    /// The recorded step that is to be followed now.
    fn expected(&mut self) -> Option<Step> {
        let followed = self.followed.as_mut()?;
        let step = self.record.get(*followed).cloned();
        *followed += 1;
        if step.is_none() {
            self.complain("current execution should have ended");
        }
        step
    }
}

impl<S: Scheduler> Scheduler for UncontrolledNondeterminismCheckScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        if std::mem::replace(&mut self.begun, true) {
            self.judge();
        }
        if self.complaint.is_some() {
            return None;
        }
        if self.followed.is_none() && !self.record.is_empty() {
            self.followed = Some(0);
            return Some(self.schedule.clone());
        }
        self.followed = None;
        self.record.clear();
        self.schedule = self.inner.new_execution()?;
        Some(self.schedule.clone())
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let runnable: Vec<TaskId> = runnable_tasks.iter().map(|task| task.id).collect();
        if self.followed.is_none() {
            let chosen = self.inner.next_task(runnable_tasks, current_task, is_yielding);
            let (current, yields) = (current_task, is_yielding);
            self.record.push(Step::Switch { runnable, current, yields, chosen });
            return chosen;
        }
        let what = match self.expected()? {
            Step::Random(_) => {
                "next step was context switch, but recording expected random number generation"
            }
            Step::Switch { yields, .. } if yields != is_yielding => {
                "`next_task` was called with `is_yielding` different than expected"
            }
            Step::Switch { runnable: before, .. } if before != runnable => {
                "set of runnable tasks is different than expected"
            }
            Step::Switch { current, .. } if current != current_task => {
                "`next_task` was called with `current_task` different than expected"
            }
            Step::Switch { chosen, .. } => return chosen,
        };
        self.complain(what);
        None
    }

    fn next_u64(&mut self) -> u64 {
        if self.followed.is_none() {
            let number = self.inner.next_u64();
            self.record.push(Step::Random(number));
            return number;
        }
        match self.expected() {
            Some(Step::Random(number)) => number,
            Some(Step::Switch { .. }) => {
                self.complain(
                    "next step was random number generation, but recording expected context switch",
                );
                0
            }
            None => 0,
        }
    }

    fn begin_again(&mut self) {
        // The record is of a test that was not known well enough.
        self.inner.begin_again();
        self.followed = None;
        self.record.clear();
        self.begun = false;
    }

    fn complaint(&mut self) -> Option<String> {
        self.judge();
        self.complaint.take()
    }
}
