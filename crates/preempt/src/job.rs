//! What to explore and how, what is learnt on the way, and what comes out.

use crate::failure::Failure;
use crate::pulse::Pulse;
use crate::report::Reason;
use crate::rt::{Knowledge, Runtime, foreign};
use crate::strategy::{Memory, Strategy};
use preempt_explore::{Halt, Limits, Names, Rules, Session, Statistics};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A search that is not one of the strategies.
pub(crate) type Search<'a> = dyn for<'s, 'p> Fn(&'s mut Session<'p, Runtime>) -> Halt + Sync + 'a;

/// What to explore and how.
pub(crate) struct Job<'a> {
    pub(crate) body: &'a (dyn Fn() + Sync),
    pub(crate) limits: Limits,
    pub(crate) memory: Memory,
    pub(crate) strategy: Strategy,
    pub(crate) threads: usize,
    pub(crate) stack: usize,
    pub(crate) timeouts: u32,
    pub(crate) failures: u32,
    pub(crate) require_join: bool,
    pub(crate) spurious: u32,
    pub(crate) daemons: bool,
    pub(crate) all_rounds: bool,
    pub(crate) reuse_addresses: bool,
    pub(crate) begin: Instant,
    pub(crate) name: Option<String>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) patience: Duration,
    /// Searches instead of the strategy.
    pub(crate) search: Option<&'a Search<'a>>,
}

/// What came out.
pub(crate) struct Found {
    pub(crate) statistics: Statistics,
    pub(crate) failure: Option<Failure>,
    pub(crate) reason: Option<Reason>,
    pub(crate) notes: Vec<String>,
    /// What was left out, in words.
    pub(crate) unexplored: Vec<&'static str>,
}

/// What an exploration has learnt about the test and keeps when it begins again.
pub(crate) struct Learnt {
    pub(crate) rules: Rules,
    pub(crate) names: Names,
    pub(crate) knowledge: Knowledge,
}

impl Learnt {
    pub(crate) fn new(job: &Job<'_>) -> Self {
        let (spurious, daemons) = (job.spurious, job.daemons);
        let searched = job.search.is_none() && job.strategy.knows_weak_memory();
        let rc11 = job.memory == Memory::Rc11 && searched;
        let (timeouts, failures, all_rounds) = (job.timeouts, job.failures, job.all_rounds);
        let waits = Rules { timeouts, failures, all_rounds, ..Rules::default() };
        let rules = Rules { spurious, daemons, rc11, ..waits };
        Learnt { rules, names: Names::default(), knowledge: Knowledge::default() }
    }
}

/// A runtime for the executions of a job.
pub(crate) fn runtime(job: &Job<'_>, learnt: &Learnt) -> Runtime {
    let mut runtime = Runtime::new(job.body, job.stack);
    runtime.require_join = job.require_join;
    runtime.heap().reuses = job.reuse_addresses.then_some(|| crate::choose(2) == 1);
    runtime.pulse = job.pulse.clone();
    runtime.registry.knowledge = learnt.knowledge.clone();
    runtime
}

/// Runs a closure on a fresh operating system thread. `None` if that thread did not survive. The
/// calling thread meanwhile watches the pulse of the job.
pub(crate) fn on_worker<R: Send>(job: &Job<'_>, work: impl FnOnce() -> R) -> Option<R> {
    /// The closure is run by another thread while this one waits, so nothing is shared.
    struct Moved<T>(T);
    // SAFETY: the only thread that touches the content is the worker, between spawn and join.
    unsafe impl<T> Send for Moved<T> {}
    let moved = Moved(work);
    let (sender, receiver) = channel::<()>();
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("preempt".into()).stack_size(8 << 20);
        let worker = foreign::unmarked(|| {
            worker.spawn_scoped(scope, move || {
                let (moved, _sender) = (moved, sender);
                let _marks = foreign::Marks::new();
                job.pulse.adopt();
                (moved.0)()
            })
        });
        let worker = worker.ok()?;
        job.pulse.watch(&receiver, job.patience, || {
            eprintln!(
                "preempt: no operation for {:?}{}: the test computes without end, or spins on \
                 something that is not preempt's",
                job.patience,
                job.name.as_ref().map(|name| format!(" in {name}")).unwrap_or_default()
            );
        });
        worker.join().ok()
    })
}

/// What is found if the thread that explored did not survive.
pub(crate) fn lost_worker() -> Found {
    let message = "the thread that explored the test did not survive; this is a bug in preempt";
    Found {
        statistics: Statistics::default(),
        failure: Some(Failure::of_input(message.into())),
        reason: None,
        notes: Vec::new(),
        unexplored: Vec::new(),
    }
}
