//! The functions most tests call.

use crate::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};
use crate::{Config, Runner};
use std::path::Path;

/// One execution, threads in turn.
#[doc(hidden)]
#[track_caller]
pub fn check<F>(test: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RoundRobinScheduler::new(1), Config::default()).run(test);
}

/// Executions by a random walk.
#[track_caller]
pub fn check_random<F>(test: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RandomScheduler::new(iterations), Config::default()).run(test);
}

/// Executions by a random walk that begins with this seed.
#[track_caller]
pub fn check_random_with_seed<F>(test: F, seed: u64, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    let scheduler = RandomScheduler::new_from_seed(seed, iterations);
    Runner::new(scheduler, Config::default()).run(test);
}

/// Executions that are drawn more evenly than by a random walk.
#[track_caller]
pub fn check_urw<F>(test: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(UrwRandomScheduler::new(iterations), Config::default()).run(test);
}

/// Executions by random priorities that change `depth` - 1 times.
#[track_caller]
pub fn check_pct<F>(test: F, iterations: usize, depth: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(PctScheduler::new(depth, iterations), Config::default()).run(test);
}

/// All executions: every partial order once, or `max_iterations` of them.
#[track_caller]
pub fn check_dfs<F>(test: F, max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(DfsScheduler::new(max_iterations, false), Config::default()).run(test);
}

/// Looks for behaviour that depends on anything but the schedule.
#[track_caller]
pub fn check_uncontrolled_nondeterminism<F>(test: F, max_iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    let scheduler = RandomScheduler::new(max_iterations);
    let scheduler = UncontrolledNondeterminismCheckScheduler::new(scheduler);
    Runner::new(scheduler, Config::default()).run(test);
}

/// One schedule, as printed by a failure.
#[track_caller]
pub fn replay<F>(test: F, schedule: &str)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(ReplayScheduler::new_from_encoded(schedule), Config::default()).run(test);
}

/// One schedule, as written to a file by a failure.
///
/// # Panics
/// If the file cannot be read.
#[track_caller]
pub fn replay_from_file<F, P>(test: F, path: P)
where
    F: Fn() + Send + Sync + 'static,
    P: AsRef<Path>,
{
    let scheduler =
        ReplayScheduler::new_from_file(path).expect("could not load schedule from file");
    Runner::new(scheduler, Config::default()).run(test);
}
