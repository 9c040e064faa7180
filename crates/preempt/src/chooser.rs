//! Executions whose every step is chosen by code outside preempt: schedulers that users write.

use crate::rt::Runtime;
use preempt_explore::{Action, Driver, Halt, Move, Run, Session};

/// Chooses which thread moves. Threads are numbered in the order of spawning; the main thread is 0.
pub trait Chooser {
    /// Whether there is to be another execution.
    fn begin(&mut self) -> bool;

    /// One of the threads that can move; `None` gives the execution up. `current` moved last,
    /// `yields` says whether it stands at a yield.
    fn choose(&mut self, runnable: &[usize], current: Option<usize>, yields: bool)
    -> Option<usize>;

    /// A random number, for choices that are not between threads.
    fn number(&mut self) -> u64;

    /// The execution in progress does not count: something about the test was found out that must be
    /// known from the beginning.
    fn begin_again(&mut self) {}
}

struct Asking<'a>(&'a mut dyn Chooser);

impl Driver for Asking<'_> {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        let groups: Vec<&[Move]> = moves.chunk_by(|a, b| a.thread == b.thread).collect();
        let runnable: Vec<usize> =
            groups.iter().map(|group| run.ordinal(group[0].thread)).collect();
        let last = run.path.last().map(|step| step.thread);
        let yields = last.is_some_and(|t| run.state.thread(t).operation.action == Action::Yield);
        let chosen = self.0.choose(&runnable, last.map(|t| run.ordinal(t)), yields)?;
        let group = groups.get(runnable.iter().position(|&thread| thread == chosen)?)?;
        let alternative = match group.len() {
            1 => 0,
            many => usize::try_from(self.0.number() % many as u64).unwrap_or(0),
        };
        Some(group[alternative])
    }
}

/// Executes for as long as the chooser wants.
pub(crate) fn explore(session: &mut Session<'_, Runtime>, chooser: &mut dyn Chooser) -> Halt {
    while chooser.begin() {
        let ending = session.execute(&mut Asking(chooser));
        session.statistics.samples += 1;
        let halt = session.judge(ending).or_else(|| session.limit());
        if halt == Some(Halt::Restart) {
            chooser.begin_again();
        }
        if let Some(halt) = halt {
            return halt;
        }
    }
    Halt::Executions
}
