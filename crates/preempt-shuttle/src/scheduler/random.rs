//! A random task at every step.

use super::{Generator, Native, Schedule, Scheduler, Task, TaskId, fresh_seed};
use preempt::Strategy;

macro_rules! random_walk {
    ($(#[$doc:meta])* $name:ident, $strategy:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            seed: u64,
            left: usize,
            generator: Generator,
        }

        impl $name {
            /// So many executions, from a fresh seed.
            pub fn new(max_iterations: usize) -> Self {
                Self::new_from_seed(fresh_seed(), max_iterations)
            }

            /// So many executions, from this seed.
            pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
                $name { seed, left: max_iterations, generator: Generator(seed) }
            }
        }

        impl Scheduler for $name {
            fn new_execution(&mut self) -> Option<Schedule> {
                self.left = self.left.checked_sub(1)?;
                Some(Schedule::new(self.generator.next()))
            }

            fn next_task(
                &mut self,
                runnable_tasks: &[&Task],
                _current_task: Option<TaskId>,
                _is_yielding: bool,
            ) -> Option<TaskId> {
                let count = runnable_tasks.len().max(1);
                Some(runnable_tasks.get(self.generator.below(count))?.id)
            }

            fn next_u64(&mut self) -> u64 {
                self.generator.next()
            }

            fn native(&self) -> Option<Native> {
                Some(Native::Strategy(Strategy::$strategy { seed: self.seed }, self.left))
            }

            fn begin_again(&mut self) {
                self.left += 1;
            }
        }
    };
}

random_walk!(
    /// A random task at every step.
    RandomScheduler,
    Random
);

random_walk!(
    /// Executions drawn more evenly than by a random walk. Inside a scheduler of a user's it is a random
    /// walk.
    UrwRandomScheduler,
    Sampling
);
