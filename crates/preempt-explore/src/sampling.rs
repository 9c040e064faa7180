//! Partial-order sampling: every pending operation has a random priority, the highest is executed,
//! and those that conflict with it draw again. Spreads samples over graphs rather than schedules.

use crate::random::{Random, Sampler, sample};
use crate::{Driver, Halt, Move, Program, Run, Session};

/// Executes again and again until a limit is reached.
pub fn explore<P: Program>(session: &mut Session<'_, P>, seed: u64) -> Halt {
    sample(session, &mut Orders { random: Random::new(seed), priorities: Vec::new() })
}

struct Orders {
    random: Random,
    /// By thread; 0 is to be drawn.
    priorities: Vec<u64>,
}

impl Driver for Orders {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        let mut best = (0, 0);
        for (index, step) in moves.iter().enumerate() {
            let thread = step.thread.index();
            if self.priorities.len() <= thread {
                self.priorities.resize(thread + 1, 0);
            }
            if self.priorities[thread] == 0 {
                self.priorities[thread] = self.random.number() | 1;
            }
            if self.priorities[thread] > best.0 {
                best = (self.priorities[thread], index);
            }
        }
        let step = self.random.alternative(moves, best.1);
        for other in moves.iter().filter(|m| m.thread != step.thread) {
            if run.state.depend(step, *other) {
                self.priorities[other.thread.index()] = 0;
            }
        }
        self.priorities[step.thread.index()] = 0;
        Some(step)
    }
}

impl Sampler for Orders {
    fn begin(&mut self) {
        self.priorities.clear();
    }
}
