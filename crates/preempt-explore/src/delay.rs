//! Delay-bounded search: for tests with too many threads for even the first bound on preemptions.
//!
//! Threads run in turns, each until it cannot go on. A *delay* passes over the thread that is next in turn.
//! Executions are explored by increasing number of delays. With n threads there are about as many
//! executions with d delays as places to choose d from, while free choices at blocking points alone
//! make n! executions without a preemption. Nothing is remembered: a real execution per schedule.
//!
//! Paper: Emmi, Qadeer, Rakamaric: Delay-bounded scheduling (2011)

use crate::schedule::without_preemption;
use crate::{Driver, Ending, Halt, Mismatch, Move, Program, Run, Session};

/// Explores all executions with 0, 1, 2, … delays until a limit is reached; notes the last number
/// that was completed.
#[doc(alias = "delay-bounded scheduling")]
pub fn explore<P: Program>(session: &mut Session<'_, P>) -> Halt {
    for bound in 0.. {
        let mut search = Delays { bound, ..Delays::default() };
        loop {
            search.spent = 0;
            let mut ending = session.execute(&mut search);
            if let Some(mismatch) = search.mismatch.take() {
                ending = Ending::Nondeterminism(mismatch);
            }
            if let Some(halt) = session.judge(ending).or_else(|| session.limit()) {
                return halt;
            }
            if session.is_late() {
                return Halt::Time;
            }
            if !search.backtrack() {
                break;
            }
        }
        session.statistics.delays = Some(bound);
        if !search.pruned {
            session.statistics.exhausted = true;
            return Halt::Done;
        }
    }
    Halt::Done
}

#[derive(Default)]
struct Delays {
    bound: u32,
    /// Alternatives at each step, with the delays that each takes in all, and which is taken.
    stack: Vec<(Vec<(Move, u32)>, usize)>,
    spent: u32,
    pruned: bool,
    mismatch: Option<Mismatch>,
}

impl Delays {
    fn backtrack(&mut self) -> bool {
        while let Some((alternatives, taken)) = self.stack.last_mut() {
            *taken += 1;
            if *taken < alternatives.len() {
                return true;
            }
            self.stack.pop();
        }
        false
    }
}

impl Driver for Delays {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        if self.stack.len() == run.path.len() {
            let first = without_preemption(&run.state, run.last, moves).thread;
            let split = moves.iter().position(|m| m.thread >= first).unwrap_or(0);
            let in_turn = moves[split..].iter().chain(&moves[..split]);
            let mut alternatives = Vec::new();
            let (mut delays, mut thread) = (0, first);
            for &step in in_turn {
                delays += u32::from(step.thread != thread);
                thread = step.thread;
                if self.spent + delays <= self.bound {
                    alternatives.push((step, self.spent + delays));
                } else {
                    self.pruned = true;
                }
            }
            self.stack.push((alternatives, 0));
        }
        let (alternatives, taken) = &self.stack[run.path.len()];
        let &(step, spent) = alternatives.get(*taken)?;
        if !moves.contains(&step) {
            self.mismatch = Some(Mismatch::cannot_move(run, step));
            return None;
        }
        self.spent = spent;
        Some(step)
    }
}
