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
    /// Steps at which the running thread falls.
    changes: Vec<usize>,
    depth: u32,
    longest: usize,
    /// Priorities handed out at changes, falling.
    lowest: u64,
}

const HIGH: u64 = 1 << 32;

impl Priorities {
    fn priority(&mut self, thread: usize) -> u64 {
        if self.priorities.len() <= thread {
            self.priorities.resize(thread + 1, 0);
        }
        if self.priorities[thread] == 0 {
            self.priorities[thread] = HIGH + (self.random.number() >> 2);
        }
        self.priorities[thread]
    }
}

impl Driver for Priorities {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        let mut best = (0, 0);
        for (index, step) in moves.iter().enumerate() {
            let priority = self.priority(step.thread.index());
            if priority > best.0 {
                best = (priority, index);
            }
        }
        let step = self.random.alternative(moves, best.1);
        let yields = run.state.thread(step.thread).operation.action == Action::Yield;
        if yields || self.changes.contains(&run.path.len()) {
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
    }

    fn end(&mut self, steps: usize) {
        self.longest = self.longest.max(steps);
    }
}
