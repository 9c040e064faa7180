//! The task that calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

pub use crate::scheduler::TaskId;

/// The name of a task.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TaskName(String);

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for TaskName {
    fn from(name: String) -> Self {
        TaskName(name)
    }
}

impl From<&str> for TaskName {
    fn from(name: &str) -> Self {
        TaskName(name.to_string())
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> Self {
        name.0
    }
}

/// Names given in this execution.
#[derive(Default)]
struct Names(RefCell<HashMap<TaskId, TaskName>>);

static NAMES: u8 = 0;

fn names() -> Option<&'static RefCell<HashMap<TaskId, TaskName>>> {
    preempt::facade::per_execution::<Names, _>(&NAMES).map(|names| &names.0)
}

/// The task that calls; `None` outside a test.
pub fn get_current_task() -> Option<TaskId> {
    preempt::facade::thread_number().map(TaskId::from)
}

/// The task that calls; `None` outside a test.
pub fn try_get_current_task() -> Option<TaskId> {
    get_current_task()
}

/// The task that calls.
///
/// # Panics
/// Outside a test.
pub fn me() -> TaskId {
    get_current_task().expect("there is a current task inside a test only")
}

/// The name of a task.
pub fn get_name_for_task(task: TaskId) -> Option<TaskName> {
    let given = names().and_then(|names| names.borrow().get(&task).cloned());
    given.or_else(|| preempt::facade::thread_name(task.into()).map(TaskName::from))
}

/// Names a task; returns the name before.
pub fn set_name_for_task(task: TaskId, name: impl Into<TaskName>) -> Option<TaskName> {
    let before = get_name_for_task(task);
    if let Some(names) = names() {
        names.borrow_mut().insert(task, name.into());
    }
    before
}

/// Changes of thread in this execution so far.
pub fn context_switches() -> usize {
    preempt::facade::context_switches()
}

/// Nothing to do: the limit on steps is on whole executions.
pub fn reset_step_count() {}
