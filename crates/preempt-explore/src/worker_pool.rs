//! Workers that execute the program for a search.
//!
//! The search itself, which imagines states, stays on one thread; where it meets an unknown history
//! it hands the path to a worker and goes on elsewhere until the result is back. Which worker ran
//! what changes neither the graphs nor the preemptions they need. Two paths handed out at the same
//! time may lead to the same graph, so with workers there can be more executions than graphs.

use crate::run_along::{Observer, Tail, run_along};
use crate::{Effect, Ending, Finding, Mismatch, Move, Next, Program, Schedule, Session, ThreadId};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What an execution showed.
pub struct RunReport {
    /// The path that was handed out.
    pub path: Vec<Move>,
    /// What threads did on it.
    pub observations: Observations,
    /// How it ended. [`Ending::Restart`] asks the search to execute the path itself.
    pub ending: Ending,
    /// Set if the execution failed.
    pub finding: Option<Finding>,
}

/// No worker is left.
#[derive(Debug)]
pub struct WorkersLost;

/// How paths get to the workers, and reports back: by channels between threads, or otherwise.
pub trait Workers {
    /// Gives a path to some worker. If no worker is left to take it, `report` says so.
    fn hand_out(&mut self, path: Vec<Move>);

    /// A report, if there is one within this time.
    fn report(&mut self, patience: Duration) -> Result<Option<RunReport>, WorkersLost>;
}

/// The search's end: where it hands out paths.
pub struct WorkerPool {
    workers: Box<dyn Workers>,
    count: usize,
    pub(crate) outstanding: usize,
}

struct Channels {
    paths: Sender<Vec<Move>>,
    reports: Receiver<RunReport>,
}

impl Workers for Channels {
    fn hand_out(&mut self, path: Vec<Move>) {
        let _ = self.paths.send(path);
    }

    fn report(&mut self, patience: Duration) -> Result<Option<RunReport>, WorkersLost> {
        match self.reports.recv_timeout(patience) {
            Ok(report) => Ok(Some(report)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(WorkersLost),
        }
    }
}

/// A worker's end.
#[derive(Clone)]
pub struct WorkerHandle {
    paths: Arc<Mutex<Receiver<Vec<Move>>>>,
    reports: Sender<RunReport>,
}

impl WorkerPool {
    /// Both ends, for this many workers on threads.
    pub fn new(workers: usize) -> (WorkerPool, WorkerHandle) {
        let (paths, taken) = channel();
        let (given, reports) = channel();
        let pool = WorkerPool::of(workers, Box::new(Channels { paths, reports }));
        (pool, WorkerHandle { paths: Arc::new(Mutex::new(taken)), reports: given })
    }

    /// This many workers, wherever they are. At most two paths each are handed out at a time.
    pub fn of(count: usize, workers: Box<dyn Workers>) -> WorkerPool {
        WorkerPool { workers, count, outstanding: 0 }
    }

    /// Whether every worker has something to do and something to do next.
    pub(crate) fn is_busy(&self) -> bool {
        self.outstanding >= 2 * self.count
    }

    pub(crate) fn hand_out(&mut self, path: Vec<Move>) {
        self.workers.hand_out(path);
        self.outstanding += 1;
    }

    pub(crate) fn report(&mut self, patience: Duration) -> Result<Option<RunReport>, WorkersLost> {
        let report = self.workers.report(patience)?;
        self.outstanding -= usize::from(report.is_some());
        Ok(report)
    }
}

/// Executes the program along the paths that are handed out, until the search is over.
pub fn serve<P: Program>(session: &mut Session<'_, P>, handle: WorkerHandle) {
    loop {
        let path = handle.paths.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(path) = path else { return };
        if handle.reports.send(execute(session, path)).is_err() {
            return;
        }
    }
}

/// What a worker does with a path.
pub fn execute<P: Program>(session: &mut Session<'_, P>, path: Vec<Move>) -> RunReport {
    let mut observations = Observations::default();
    // It does not know what the search has finished.
    session.limits.deadline = session.limits.last_deadline();
    session.limits.first_deadline = None;
    let ending = run_along(session, &path, Tail::Newest, &mut observations);
    let fails = !matches!(ending, Ending::Complete | Ending::Abandoned | Ending::Restart);
    let finding = fails.then(|| Finding {
        ending: ending.clone(),
        schedule: Schedule::of(&session.run),
        preemptions: session.run.preemptions,
        stale: session.run.stale,
    });
    RunReport { path, observations, ending, finding }
}

/// What a worker has observed, for the search.
#[derive(Default)]
pub struct Observations {
    /// By thread and history: what the thread did, and where it stands.
    pub segments: Vec<(ThreadId, u64, Box<[Effect]>, Next)>,
    /// Outcomes of comparisons of pointers, by history.
    pub compared: Vec<(u64, bool)>,
}

impl Observer for Observations {
    fn observe(
        &mut self,
        thread: ThreadId,
        history: u64,
        effects: &[Effect],
        next: Next,
    ) -> Result<(), Mismatch> {
        self.segments.push((thread, history, effects.into(), next));
        Ok(())
    }

    fn observe_comparison(&mut self, history: u64, equal: bool) {
        self.compared.push((history, equal));
    }
}
