//! Probabilistic concurrency testing: threads have random priorities, and at a few random steps
//! the running thread falls to the lowest. A failure that needs d ordering constraints is found
//! with probability at least 1/(n·k^(d−1)) per execution of n threads and k steps.
//!
//! A thread that yields waits for others, so it falls to the lowest as well: while it has the highest priority, those
//! that it waits for would move only as often as fairness demands.

use crate::random::{Random, Sampler, sample};
use crate::{Action, Driver, Halt, Move, Program, Run, Session};

/// Executes again and again until a limit is reached.
pub fn explore<P: Program>(session: &mut Session<'_, P>, depth: u32, seed: u64) -> Halt {
    let mut driver = Priorities {
        random: Random::new(seed),
        priorities: Vec::new(),
        changes: Vec::new(),
        passed: 0,
        depth: depth.max(1),
        longest: 16,
        lowest: 0,
    };
    sample(session, &mut driver)
}

struct Priorities {
    random: Random,
    /// By thread; 0 is not drawn yet.
    priorities: Vec<u64>,
    /// Steps at which the running thread falls, in order.
    changes: Vec<usize>,
    /// How many of them have passed.
    passed: usize,
    depth: u32,
    longest: usize,
    /// Priorities handed out at changes, falling.
    lowest: u64,
}

const HIGH: u64 = 1 << 32;

impl Priorities {
    /// The priority of a thread that has none yet.
    #[cold]
    fn draw(&mut self, thread: usize) -> u64 {
        if self.priorities.len() <= thread {
            self.priorities.resize(thread + 1, 0);
        }
        self.priorities[thread] = HIGH + (self.random.number() >> 2);
        self.priorities[thread]
    }

    /// Whether the running thread falls at this step, which is not before the last one that was asked for.
    fn changes_at(&mut self, step: usize) -> bool {
        let left = &self.changes[self.passed..];
        self.passed += left.iter().take_while(|&&change| change < step).count();
        self.changes.get(self.passed) == Some(&step)
    }
}

impl Driver for Priorities {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        let mut best = (0, 0);
        for (index, step) in moves.iter().enumerate() {
            let known = self.priorities.get(step.thread.index()).copied().unwrap_or(0);
            let priority = if known == 0 { self.draw(step.thread.index()) } else { known };
            if priority > best.0 {
                best = (priority, index);
            }
        }
        let step = self.random.alternative(moves, best.1);
        let yields = run.state.thread(step.thread).operation.action == Action::Yield;
        let changes = self.changes_at(run.path.len());
        if yields || changes {
            self.lowest -= 1;
            self.priorities[step.thread.index()] = self.lowest;
        }
        Some(step)
    }
}

impl Sampler for Priorities {
    fn begin(&mut self) {
        self.priorities.clear();
        self.changes.clear();
        self.lowest = HIGH;
        for _ in 1..self.depth {
            let step = self.random.below(self.longest);
            self.changes.push(step);
        }
        self.changes.sort_unstable();
        self.passed = 0;
    }

    fn end(&mut self, steps: usize) {
        self.longest = self.longest.max(steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Priorities fall exactly at the steps that were drawn, also where two of them are the same.
    #[test]
    fn every_change_happens() {
        let mut driver = Priorities {
            random: Random::new(7),
            priorities: Vec::new(),
            changes: Vec::new(),
            passed: 0,
            depth: 40,
            longest: 60,
            lowest: 0,
        };
        for _ in 0..20 {
            driver.begin();
            let drawn = driver.changes.clone();
            assert_eq!(drawn.len(), 39);
            for step in 0..70 {
                assert_eq!(driver.changes_at(step), drawn.contains(&step), "{step} of {drawn:?}");
            }
        }
    }
}
