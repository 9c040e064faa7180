//! One execution along a given path and from there without preemption, for whoever learns from it.

use crate::schedule::without_preemption;
use crate::{Driver, Effect, Ending, Mismatch, Move, Next, Program, Run, Session, ThreadId};

/// Keeps what an execution shows.
pub(crate) trait Learner {
    /// See [`Driver::segment`].
    fn learn(
        &mut self,
        thread: ThreadId,
        history: u64,
        effects: &[Effect],
        next: Next,
    ) -> Result<(), Mismatch>;

    /// See [`Driver::compared`].
    fn learn_comparison(&mut self, history: u64, equal: bool);
}

/// Executes the program. A path that cannot be followed is nondeterminism.
pub(crate) fn follow<P: Program>(
    session: &mut Session<'_, P>,
    path: &[Move],
    learner: &mut impl Learner,
) -> Ending {
    let mut follow = Follow { path, learner, strayed: None };
    let ending = session.execute(&mut follow);
    follow.strayed.map_or(ending, Ending::Nondeterminism)
}

struct Follow<'a, L> {
    path: &'a [Move],
    learner: &'a mut L,
    strayed: Option<Mismatch>,
}

impl<L: Learner> Driver for Follow<'_, L> {
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
        self.learner.learn(thread, history, effects, next)
    }

    fn compared(&mut self, history: u64, equal: bool) {
        self.learner.learn_comparison(history, equal);
    }
}
