//! Workers that execute the program for a search.
//!
//! The search itself, which imagines states, stays on one thread; where it meets an unknown history
//! it hands the path to a worker and goes on elsewhere until the result is back. Which worker ran
//! what changes neither the graphs nor the preemptions they need. Two paths handed out at the same
//! time may lead to the same graph, so with workers there can be more executions than graphs.

use crate::follow::{Learner, follow};
use crate::{Effect, Ending, Finding, Mismatch, Move, Next, Program, Schedule, Session, ThreadId};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What an execution showed.
pub(crate) struct RunReport {
    pub(crate) path: Vec<Move>,
    pub(crate) lessons: Lessons,
    pub(crate) ending: Ending,
    /// Set if the execution failed.
    pub(crate) finding: Option<Finding>,
}

/// The search's end: where it hands out paths.
pub struct Crew {
    paths: Sender<Vec<Move>>,
    reports: Receiver<RunReport>,
    workers: usize,
    pub(crate) outstanding: usize,
}

/// A worker's end.
#[derive(Clone)]
pub struct Employer {
    paths: Arc<Mutex<Receiver<Vec<Move>>>>,
    reports: Sender<RunReport>,
}

impl Crew {
    /// Both ends, for this many workers.
    pub fn new(workers: usize) -> (Crew, Employer) {
        let (paths, taken) = channel();
        let (given, reports) = channel();
        let crew = Crew { paths, reports, workers, outstanding: 0 };
        (crew, Employer { paths: Arc::new(Mutex::new(taken)), reports: given })
    }

    /// Whether every worker has something to do and something to do next.
    pub(crate) fn is_busy(&self) -> bool {
        self.outstanding >= 2 * self.workers
    }

    pub(crate) fn hand_out(&mut self, path: Vec<Move>) {
        // If nobody is left to take it, `report` says so.
        let _ = self.paths.send(path);
        self.outstanding += 1;
    }

    /// A report, if there is one within this time. `Err` if no worker is left.
    pub(crate) fn report(&mut self, patience: Duration) -> Result<Option<RunReport>, ()> {
        match self.reports.recv_timeout(patience) {
            Ok(report) => {
                self.outstanding -= 1;
                Ok(Some(report))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(()),
        }
    }
}

/// Executes the program along the paths that are handed out, until the search is over.
pub fn serve<P: Program>(session: &mut Session<'_, P>, employer: Employer) {
    loop {
        let path = employer.paths.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(path) = path else { return };
        let mut lessons = Lessons::default();
        let ending = follow(session, &path, &mut lessons);
        let fails = !matches!(ending, Ending::Complete | Ending::Abandoned | Ending::Restart);
        let finding = fails.then(|| Finding {
            ending: ending.clone(),
            schedule: Schedule::of(&session.run),
            preemptions: session.run.preemptions,
            stale: session.run.stale,
        });
        let report = RunReport { path, lessons, ending, finding };
        if employer.reports.send(report).is_err() {
            return;
        }
    }
}

/// What a worker has learnt, to be told to the search.
#[derive(Default)]
pub(crate) struct Lessons {
    pub(crate) segments: Vec<(ThreadId, u64, Box<[Effect]>, Next)>,
    pub(crate) compared: Vec<(u64, bool)>,
}

impl Learner for Lessons {
    fn learn(
        &mut self,
        thread: ThreadId,
        history: u64,
        effects: &[Effect],
        next: Next,
    ) -> Result<(), Mismatch> {
        self.segments.push((thread, history, effects.into(), next));
        Ok(())
    }

    fn learn_comparison(&mut self, history: u64, equal: bool) {
        self.compared.push((history, equal));
    }
}
