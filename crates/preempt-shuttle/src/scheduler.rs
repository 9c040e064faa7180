//! Who decides which task goes next.
//!
//! Schedulers of this crate say which strategy of preempt they are; one that a user writes is asked
//! at every step.

use preempt::Strategy;
use std::fs;
use std::io;
use std::path::Path;

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
    /// All executions, or so many of them.
    Exhaustive(Option<usize>),
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
}

/// A scheduler that preempt runs by itself: it is never asked.
macro_rules! native {
    ($type:ident, |$this:ident| $native:expr) => {
        impl Scheduler for $type {
            fn new_execution(&mut self) -> Option<Schedule> {
                None
            }

            fn next_task(&mut self, _: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
                None
            }

            fn next_u64(&mut self) -> u64 {
                0
            }

            fn native(&self) -> Option<Native> {
                let $this = self;
                Some($native)
            }
        }
    };
}

/// A seed that is not the same every time.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// A random task at every step.
#[derive(Clone, Debug)]
pub struct RandomScheduler {
    seed: u64,
    iterations: usize,
}

impl RandomScheduler {
    /// So many executions, from a fresh seed.
    pub fn new(max_iterations: usize) -> Self {
        Self::new_from_seed(fresh_seed(), max_iterations)
    }

    /// So many executions, from this seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        RandomScheduler { seed, iterations: max_iterations }
    }
}

native!(RandomScheduler, |this| Native::Strategy(
    Strategy::Random { seed: this.seed },
    this.iterations
));

/// Executions drawn more evenly than by a random walk.
#[derive(Clone, Debug)]
pub struct UrwRandomScheduler {
    seed: u64,
    iterations: usize,
}

impl UrwRandomScheduler {
    /// So many executions, from a fresh seed.
    pub fn new(max_iterations: usize) -> Self {
        Self::new_from_seed(fresh_seed(), max_iterations)
    }

    /// So many executions, from this seed.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        UrwRandomScheduler { seed, iterations: max_iterations }
    }
}

native!(UrwRandomScheduler, |this| Native::Strategy(
    Strategy::Sampling { seed: this.seed },
    this.iterations
));

/// Random priorities that change at a few random steps.
#[derive(Clone, Debug)]
pub struct PctScheduler {
    depth: u32,
    seed: u64,
    iterations: usize,
}

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
        let depth = u32::try_from(max_depth).unwrap_or(u32::MAX);
        PctScheduler { depth, seed, iterations: max_iterations }
    }
}

native!(PctScheduler, |this| Native::Strategy(
    Strategy::Pct { depth: this.depth, seed: this.seed },
    this.iterations
));

/// All executions.
#[derive(Clone, Debug)]
pub struct DfsScheduler {
    iterations: Option<usize>,
}

impl DfsScheduler {
    /// Every partial order once, or so many of them. Random data is allowed in any case.
    pub fn new(max_iterations: Option<usize>, _allow_random_data: bool) -> Self {
        DfsScheduler { iterations: max_iterations }
    }
}

native!(DfsScheduler, |this| Native::Exhaustive(this.iterations));

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
}

/// Threads in turn: the next one whenever the running one cannot go on or yields.
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
}

/// Looks for behaviour that depends on anything but the schedule. preempt does so in every
/// exploration: a step that differs after the same observations is reported.
#[derive(Clone, Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S>(S);

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// Around another scheduler.
    pub fn new(scheduler: S) -> Self {
        UncontrolledNondeterminismCheckScheduler(scheduler)
    }
}

impl<S: Scheduler> Scheduler for UncontrolledNondeterminismCheckScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.0.next_task(runnable_tasks, current_task, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn native(&self) -> Option<Native> {
        self.0.native()
    }
}
