//! One execution along a given path and from there without preemption, for an observer that learns from it.
//!
//! What comes after the path is not needed, so it may as well be an execution in which something goes wrong more often than in
//! others: with stale choices ([`Tail::Stale`]).

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

/// What an execution does after the path that it was to follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tail {
    /// Every access is to the newest value.
    Newest,
    /// Each access is to the oldest value that it may have, for so many stale choices in the whole execution.
    Stale(u32),
}

/// Executes the program. A path that cannot be followed is nondeterminism.
pub(crate) fn run_along<P: Program>(
    session: &mut Session<'_, P>,
    path: &[Move],
    tail: Tail,
    observer: &mut impl Observer,
) -> Ending {
    let mut driver = RunAlong { path, tail, observer, strayed: None, moves: Vec::new() };
    let ending = session.execute(&mut driver);
    driver.strayed.map_or(ending, Ending::Nondeterminism)
}

struct RunAlong<'a, L> {
    path: &'a [Move],
    tail: Tail,
    observer: &'a mut L,
    strayed: Option<Mismatch>,
    moves: Vec<Move>,
}

impl<L> RunAlong<'_, L> {
    /// The oldest of the stale choices that a step has, if there is one.
    fn oldest(&mut self, run: &Run, step: Move) -> Option<Move> {
        let Tail::Stale(most) = self.tail else { return None };
        if !run.rules.weak || step.choice != 0 || run.stale >= most {
            return None;
        }
        self.moves.clear();
        run.state.possible_stale_moves(step.thread, &mut self.moves);
        let reads = self.moves.iter().rev().filter(|stale| stale.choice < Move::FAILURE);
        reads.copied().find(|&stale| run.state.is_consistent_after(stale))
    }
}

impl<L: Observer> Driver for RunAlong<'_, L> {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        let Some(&step) = self.path.get(run.path.len()) else {
            let step = without_preemption(&run.state, run.last, moves);
            return Some(self.oldest(run, step).unwrap_or(step));
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
        next: &Next,
    ) -> Result<(), Mismatch> {
        self.observer.observe(thread, history, effects, *next)
    }

    fn compared(&mut self, history: u64, equal: bool) {
        self.observer.observe_comparison(history, equal);
    }
}
