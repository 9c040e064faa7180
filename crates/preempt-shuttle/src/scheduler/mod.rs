//! What decides which task goes next.
//!
//! A scheduler of this crate that is given to a runner says which strategy of preempt it is. One that
//! a user writes is asked at every step, and so are those of this crate inside it.

mod dfs;
mod nondeterminism;
mod pct;
mod random;
mod replay;
mod round_robin;

pub use dfs::DfsScheduler;
pub use nondeterminism::UncontrolledNondeterminismCheckScheduler;
pub use pct::PctScheduler;
pub use random::{RandomScheduler, UrwRandomScheduler};
pub use replay::ReplayScheduler;
pub use round_robin::RoundRobinScheduler;

use preempt::Strategy;

/// The number of a task, in the order of spawning; the main thread is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TaskId(usize);

impl From<usize> for TaskId {
    fn from(number: usize) -> Self {
        TaskId(number)
    }
}

impl From<TaskId> for usize {
    fn from(task: TaskId) -> Self {
        task.0
    }
}

/// A task that can move.
#[derive(Clone, Debug)]
pub struct Task {
    pub(crate) id: TaskId,
}

impl Task {
    /// Its number.
    pub fn id(&self) -> TaskId {
        self.id
    }
}

/// Where an execution begins, and what happened in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// For random numbers.
    pub seed: u64,
    /// The steps.
    pub steps: Vec<ScheduleStep>,
}

/// One step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleStep {
    /// A task moves.
    Task(TaskId),
    /// A number is drawn.
    Random,
}

impl Schedule {
    /// No steps yet.
    pub fn new(seed: u64) -> Self {
        Schedule { seed, steps: Vec::new() }
    }

    /// These tasks, one step each.
    pub fn new_from_task_ids<T>(seed: u64, tasks: impl IntoIterator<Item = T>) -> Self
    where
        T: Into<TaskId>,
    {
        let steps = tasks.into_iter().map(|task| ScheduleStep::Task(task.into())).collect();
        Schedule { seed, steps }
    }

    /// A task moves.
    pub fn push_task(&mut self, task: TaskId) {
        self.steps.push(ScheduleStep::Task(task));
    }

    /// A number is drawn.
    pub fn push_random(&mut self) {
        self.steps.push(ScheduleStep::Random);
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// How preempt runs a scheduler of this crate.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Native {
    /// So many executions by a strategy.
    Strategy(Strategy, usize),
    /// All executions, or so many of them, with random data or not.
    Exhaustive(Option<usize>, bool),
    /// One schedule of preempt's.
    Replay(String),
}

/// Decides which task goes next.
pub trait Scheduler {
    /// Another execution begins; `None` ends the test.
    fn new_execution(&mut self) -> Option<Schedule>;

    /// One of the tasks that can move; `None` ends the execution.
    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId>;

    /// A random number.
    fn next_u64(&mut self) -> u64;

    #[doc(hidden)]
    fn native(&self) -> Option<Native> {
        None
    }

    /// The execution in progress is given up and will be begun again.
    #[doc(hidden)]
    fn begin_again(&mut self) {}

    /// What this scheduler itself found wrong, when all executions are over.
    #[doc(hidden)]
    fn complaint(&mut self) -> Option<String> {
        None
    }
}

impl Scheduler for Box<dyn Scheduler + Send> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.as_mut().new_execution()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.as_mut().next_task(runnable_tasks, current_task, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.as_mut().next_u64()
    }

    fn native(&self) -> Option<Native> {
        self.as_ref().native()
    }

    fn begin_again(&mut self) {
        self.as_mut().begin_again();
    }

    fn complaint(&mut self) -> Option<String> {
        self.as_mut().complaint()
    }
}

/// A seed that is not the same every time.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// SplitMix64: any state gives a good stream.
#[derive(Clone, Debug)]
pub(crate) struct Generator(pub(crate) u64);

impl Generator {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or(0)
    }
}
