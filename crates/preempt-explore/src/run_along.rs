//! One execution along a given path and from there without preemption, for whoever learns from it.

use crate::schedule::without_preemption;
use crate::{Driver, Effect, Ending, Mismatch, Move, Next, Program, Run, Session, ThreadId};

/// Keeps what an execution shows.
pub(crate) trait Observer {
    /// See [`Driver::segment`].
    fn observe(
        &mut self,
        thread: ThreadId,
        history: u64,
        effects: &[Effect],
        next: Next,
    ) -> Result<(), Mismatch>;

    /// See [`Driver::compared`].
    fn observe_comparison(&mut self, history: u64, equal: bool);
}

/// Executes the program. A path that cannot be followed is nondeterminism.
pub(crate) fn run_along<P: Program>(
    session: &mut Session<'_, P>,
    path: &[Move],
    observer: &mut impl Observer,
) -> Ending {
    let mut driver = RunAlong { path, observer, strayed: None };
    let ending = session.execute(&mut driver);
    driver.strayed.map_or(ending, Ending::Nondeterminism)
}

struct RunAlong<'a, L> {
    path: &'a [Move],
    observer: &'a mut L,
    strayed: Option<Mismatch>,
}

impl<L: Observer> Driver for RunAlong<'_, L> {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        let Some(&step) = self.path.get(run.path.len()) else {
            return Some(without_preemption(&run.state, run.last, moves));
        };
        if moves.contains(&step) || run.state.permits(step) {
            return Some(step);
        }
        self.strayed = Some(Mismatch::cannot_move(run, step));
        None
    }

    fn segment(
        &mut self,
        thread: ThreadId,
        history: u64,
        effects: &[Effect],
        next: Next,
    ) -> Result<(), Mismatch> {
        self.observer.observe(thread, history, effects, next)
    }

    fn compared(&mut self, history: u64, equal: bool) {
        self.observer.observe_comparison(history, equal);
    }
}
