//! Running a strategy on worker threads, and turning its finding into a failure report.

use crate::check::{Memory, Strategy};
use crate::lanes::RacyAccess;
use crate::pulse::Pulse;
use crate::report::{Failure, Reason};
use crate::rt::{Knowledge, PanicNote, Runtime, Trouble};
use crate::unseen;
use preempt_explore::{
    Access, Crew, Ending, Event, Finding, Halt, Limits, Names, ObjectId, Order, Replay, Rules, Run,
    Schedule, Session, Site, Tally, caching, delay, forward, iterative, optimal, pct, random,
    sampling, serve, sleep_sets,
};
use rustc_hash::FxHashMap;
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
    pub(crate) require_join: bool,
    pub(crate) spurious: u32,
    pub(crate) daemons: bool,
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
    pub(crate) tally: Tally,
    pub(crate) failure: Option<Failure>,
    pub(crate) reason: Option<Reason>,
    pub(crate) notes: Vec<String>,
}

/// Everything a report needs to know about one failing execution.
pub(crate) struct Evidence {
    pub(crate) ending: Ending,
    pub(crate) schedule: Schedule,
    pub(crate) preemptions: u32,
    pub(crate) stale: u32,
    pub(crate) events: Vec<Event>,
    /// The accesses to the cell of a data race.
    pub(crate) racy: Vec<RacyAccess>,
    /// Where objects were made.
    pub(crate) origins: FxHashMap<ObjectId, Site>,
    pub(crate) trouble: Option<Trouble>,
    pub(crate) panics: Vec<(usize, PanicNote)>,
    pub(crate) threads: Vec<String>,
    /// For each thread that did not end: what it stands before.
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) diverged: bool,
    pub(crate) stack: usize,
    pub(crate) steps: usize,
}

/// A thread that cannot go on.
pub(crate) struct Waiting {
    pub(crate) thread: usize,
    pub(crate) operation: preempt_explore::Operation,
    /// The thread that holds what it waits for.
    pub(crate) holder: Option<usize>,
}

/// Explores on threads of their own: a panic that cannot be unwound costs only that thread.
pub(crate) fn explore(job: &Job<'_>) -> Found {
    if job.threads == 1 || job.strategy == Strategy::PartialOrders {
        return on_worker(job, || explore_here(job)).unwrap_or_else(lost_worker);
    }
    if job.strategy == Strategy::Portfolio {
        return crate::parallel::portfolio(job);
    }
    explore_apart(job)
}

/// Explores on several threads that know nothing of each other.
pub(crate) fn explore_apart(job: &Job<'_>) -> Found {
    let jobs = crate::parallel::split(job);
    let found = std::thread::scope(|scope| {
        let workers: Vec<_> = jobs
            .iter()
            .map(|job| {
                scope.spawn(|| {
                    let found = on_worker(job, || explore_here(job));
                    let found = found.unwrap_or_else(lost_worker);
                    crate::parallel::finished(job, &found);
                    found
                })
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    crate::parallel::merge(job, found)
}

/// Runs one schedule.
pub(crate) fn replay(job: &Job<'_>, schedule: Schedule) -> Found {
    let mut learnt = Learnt::new(job);
    let evidence = gather(job, &mut learnt, schedule);
    let mut tally = Tally { executions: 1, ..Tally::default() };
    let fails = !matches!(evidence.ending, Ending::Complete | Ending::Abandoned);
    let mut notes = Vec::new();
    if evidence.diverged {
        notes.push("the schedule could not be followed to its end: the test has changed".into());
    }
    if fails {
        notes.extend(crate::stale::explain(job, &mut learnt, &evidence));
        let finding = Finding {
            ending: evidence.ending.clone(),
            schedule: evidence.schedule.clone(),
            preemptions: evidence.preemptions,
            stale: evidence.stale,
        };
        tally.failure = Some(finding);
    }
    let failure = fails.then(|| Failure::from_evidence(evidence));
    Found { tally, failure, reason: Some(Reason::Replay), notes }
}

/// What an exploration has learnt about the test and keeps when it begins again.
pub(crate) struct Learnt {
    pub(crate) rules: Rules,
    pub(crate) names: Names,
    knowledge: Knowledge,
}

impl Learnt {
    fn new(job: &Job<'_>) -> Self {
        let (spurious, daemons) = (job.spurious, job.daemons);
        let searched = job.search.is_none() && job.strategy.knows_weak_memory();
        let rc11 = job.memory == Memory::Rc11 && searched;
        let rules = Rules { timeouts: job.timeouts, spurious, daemons, rc11, ..Rules::default() };
        Learnt { rules, names: Names::default(), knowledge: Knowledge::default() }
    }
}

fn runtime(job: &Job<'_>, learnt: &Learnt) -> Runtime {
    let mut runtime = Runtime::new(job.body, job.stack);
    runtime.require_join = job.require_join;
    runtime.heap().reuses = job.reuse_addresses;
    runtime.pulse = job.pulse.clone();
    runtime.registry.knowledge = learnt.knowledge.clone();
    runtime
}

fn explore_here(job: &Job<'_>) -> Found {
    let mut learnt = Learnt::new(job);
    let mut runtime = runtime(job, &learnt);
    let mut has_lost_rows = false;
    let (halt, mut tally) = loop {
        let mut session =
            Session::new(&mut runtime, job.limits.clone(), learnt.rules, learnt.names.clone());
        session.has_lost_rows = has_lost_rows;
        session.repeats_after_loops = true;
        let halt = match job.strategy {
            Strategy::PartialOrders
                if job.threads > 1 && !session.program.registry.has_externals() =>
            {
                with_crew(job, &learnt, &mut session)
            }
            _ => strategy(job, &mut session),
        };
        learnt.rules = session.run.rules;
        if halt == Halt::Restart {
            session.forget_rows();
        }
        has_lost_rows = session.has_lost_rows;
        let tally = session.tally;
        learnt.knowledge = runtime.registry.knowledge.clone();
        if halt != Halt::Restart {
            break (halt, tally);
        }
        if job.limits.worker.0 > 0 && runtime.registry.has_externals() {
            // Data made outside the body must not be touched by two workers at once.
            break (Halt::Time, tally);
        }
        if job.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break (Halt::Time, tally);
        }
    };
    let mut notes = Vec::new();
    let unseen = unseen::explore(job, &mut runtime, &mut learnt, &mut tally);
    if unseen.is_some() {
        notes.push(unseen::NOTE.into());
    }
    simplify(job, &mut runtime, &mut learnt, &mut tally);
    learnt.knowledge = runtime.registry.knowledge.clone();
    if let Some(site) = runtime.weak_ordering.filter(|_| !learnt.rules.rc11) {
        notes.push(format!("every ordering was run as SeqCst (first weaker one at {site})"));
    }
    let several = job.limits.worker.0 > 0 || job.threads > 1;
    if several && runtime.registry.has_externals() {
        notes.push("objects are made outside the test body, so one thread did all the work".into());
    }
    if runtime.registry.has_unstable_objects() {
        notes.push(
            "objects made outside the test body keep turning up: make them inside, or use \
             preempt::statics!"
                .into(),
        );
    }
    drop(runtime);
    let failure = tally.failure.clone().map(|finding| {
        let evidence = gather(job, &mut learnt, finding.schedule.clone());
        notes.extend(crate::stale::explain(job, &mut learnt, &evidence));
        Failure::from_finding(finding, evidence)
    });
    let reason = match halt {
        _ if unseen.is_some() => unseen,
        Halt::Time => Some(Reason::Time),
        Halt::Executions => Some(Reason::Executions),
        Halt::States => Some(Reason::States),
        Halt::Done | Halt::Failure | Halt::Restart => None,
    };
    Found { tally, failure, reason, notes }
}

/// Strategies without bound stop at the first failure, however many preemptions it has: looks for one
/// with fewer. Its executions are not the strategy's, so they are not counted.
fn simplify(job: &Job<'_>, runtime: &mut Runtime, learnt: &mut Learnt, tally: &mut Tally) {
    if !matches!(job.strategy, Strategy::Optimal | Strategy::SleepSets) || job.threads > 1 {
        return;
    }
    let Some(found) = &tally.failure else { return };
    let Some(fewer) = found.preemptions.checked_sub(1) else { return };
    if matches!(found.ending, Ending::Nondeterminism(_) | Ending::Reported) {
        return;
    }
    let limits = Limits { bound: Some(fewer), keep_going: false, ..job.limits.clone() };
    loop {
        let mut session = Session::new(runtime, limits.clone(), learnt.rules, learnt.names.clone());
        let halt = forward::explore(&mut session);
        let late = session.is_late();
        learnt.rules = session.run.rules;
        if let Some(simpler) = session.tally.failure {
            tally.failure = Some(simpler);
        }
        if halt != Halt::Restart || late {
            return;
        }
    }
}

/// Searches here while other threads execute the test.
fn with_crew(job: &Job<'_>, learnt: &Learnt, session: &mut Session<'_, Runtime>) -> Halt {
    let (crew, employer) = Crew::new(job.threads - 1);
    std::thread::scope(|scope| {
        for _ in 1..job.threads {
            let employer = employer.clone();
            let (rules, names, knowledge) =
                (learnt.rules, learnt.names.clone(), learnt.knowledge.clone());
            let (name, pulse, limits) = (job.name.clone(), Arc::default(), job.limits.clone());
            let job = Job { name, pulse, limits, ..*job };
            scope.spawn(move || {
                on_worker(&job, || {
                    let learnt = Learnt { rules, names, knowledge };
                    let mut runtime = runtime(&job, &learnt);
                    let Learnt { rules, names, .. } = learnt;
                    let mut session = Session::new(&mut runtime, job.limits.clone(), rules, names);
                    serve(&mut session, employer);
                })
            });
        }
        drop(employer);
        forward::explore_with(session, Some(crew))
    })
}

fn strategy(job: &Job<'_>, session: &mut Session<'_, Runtime>) -> Halt {
    if let Some(search) = job.search {
        return search(session);
    }
    match job.strategy {
        Strategy::Portfolio => portfolio(job, session),
        Strategy::PartialOrders => forward::explore(session),
        Strategy::ContextBoundedDfs => iterative::explore(session),
        Strategy::HappensBeforeCaching => caching::explore(session),
        Strategy::Optimal => optimal::explore(session),
        Strategy::SleepSets => sleep_sets::explore(session),
        Strategy::Random { seed } => random::explore(session, seed),
        Strategy::Pct { depth, seed } => pct::explore(session, depth, seed),
        Strategy::Sampling { seed } => sampling::explore(session, seed),
    }
}

/// Systematic exploration for four fifths of the time; if it does not finish, sampling. If not even
/// executions without preemption can be finished within two fifths, the next two are for bounds on
/// delays instead.
fn portfolio(job: &Job<'_>, session: &mut Session<'_, Runtime>) -> Halt {
    let limits = session.limits.clone();
    let fifths = |n: u32| {
        limits.deadline.map(|deadline| deadline - deadline.duration_since(job.begin) / 5 * (5 - n))
    };
    session.limits.deadline = fifths(2);
    session.limits.first_deadline = fifths(4);
    let halt = forward::explore(session);
    let unfinished = matches!(halt, Halt::Time | Halt::States);
    session.limits.first_deadline = None;
    session.limits.deadline = fifths(4);
    if unfinished && session.tally.rows.is_empty() && !session.is_late() {
        let delayed = delay::explore(session);
        if matches!(delayed, Halt::Done | Halt::Failure | Halt::Restart) {
            session.limits = limits;
            return delayed;
        }
    }
    session.limits = limits.clone();
    if !unfinished || session.is_late() {
        return halt;
    }
    // Sampling needs no table of states, and states seen so far stay counted.
    session.limits.states = usize::MAX;
    let sampled = sampling::explore(session, 1);
    session.limits = limits;
    if matches!(sampled, Halt::Failure | Halt::Restart) { sampled } else { halt }
}

/// Executes a schedule once more, keeping every step.
pub(crate) fn gather(job: &Job<'_>, learnt: &mut Learnt, schedule: Schedule) -> Evidence {
    gather_with(job, learnt, schedule, &[])
}

/// The same with other memory orders at some places.
pub(crate) fn gather_with(
    job: &Job<'_>,
    learnt: &mut Learnt,
    schedule: Schedule,
    stronger: &[(Site, Order)],
) -> Evidence {
    for _ in 0..64 {
        let evidence = on_worker(job, || {
            let mut runtime = runtime(job, learnt);
            let mut run = Run::new(learnt.names.clone(), learnt.rules, job.limits.steps);
            run.events = Some(Vec::new());
            run.stronger = stronger.to_vec();
            run.rules.strong |= !stronger.is_empty();
            let mut driver = Replay::new(schedule.clone());
            run.reset();
            preempt_explore::Program::execute(&mut runtime, &mut run, &mut driver);
            learnt.rules = run.rules;
            learnt.knowledge = runtime.registry.knowledge.clone();
            evidence(job, &runtime, run, &driver)
        });
        match evidence {
            Some(evidence) if evidence.ending == Ending::Restart => {}
            Some(evidence) => return evidence,
            None => break,
        }
    }
    Evidence {
        ending: Ending::Abandoned,
        schedule,
        preemptions: 0,
        stale: 0,
        events: Vec::new(),
        racy: Vec::new(),
        origins: FxHashMap::default(),
        trouble: None,
        panics: Vec::new(),
        threads: Vec::new(),
        waiting: Vec::new(),
        diverged: true,
        stack: job.stack,
        steps: job.limits.steps,
    }
}

fn evidence(job: &Job<'_>, runtime: &Runtime, run: Run, driver: &Replay) -> Evidence {
    let name = |(index, id): (usize, &preempt_explore::ThreadId)| match runtime.names.get(id) {
        Some(name) => name.clone(),
        None if index == 0 => "main".into(),
        None => format!("thread {index}"),
    };
    let waiting = run
        .order
        .iter()
        .enumerate()
        .filter_map(|(index, &id)| {
            let thread = run.state.thread(id);
            (thread.status == preempt_explore::Status::Ready).then(|| Waiting {
                thread: index,
                operation: thread.operation,
                holder: run.state.holder(id).map(|holder| run.ordinal(holder)),
            })
        })
        .collect();
    Evidence {
        ending: run.ending.clone().unwrap_or(Ending::Abandoned),
        schedule: Schedule::of(&run),
        preemptions: run.preemptions,
        stale: run.stale,
        threads: run.order.iter().enumerate().map(name).collect(),
        panics: runtime.panics.iter().map(|(t, note)| (run.ordinal(*t), note.clone())).collect(),
        events: renumbered(&run),
        racy: racy(&run),
        origins: runtime.registry.origins.clone(),
        trouble: runtime.trouble.clone(),
        waiting,
        diverged: driver.diverged,
        stack: job.stack,
        steps: job.limits.steps,
    }
}

/// The two accesses of a data race, and others to the same cell, with threads numbered in the order
/// of spawning.
fn racy(run: &Run) -> Vec<RacyAccess> {
    let Some(Ending::Race(race)) = run.ending else { return Vec::new() };
    let own = |(_, cell, _): &&(usize, ObjectId, Access)| *cell == race.cell;
    run.accesses
        .iter()
        .filter(own)
        .map(|&(position, cell, access)| {
            let thread = preempt_explore::ThreadId(run.ordinal(access.thread) as u32);
            RacyAccess { position, cell, access: Access { thread, ..access } }
        })
        .collect()
}

/// Events with threads numbered in the order of spawning.
fn renumbered(run: &Run) -> Vec<Event> {
    let mut events = run.events.clone().unwrap_or_default();
    for event in &mut events {
        event.step.thread = preempt_explore::ThreadId(run.ordinal(event.step.thread) as u32);
        if event.operation.action == preempt_explore::Action::Join {
            event.operation.first = run.ordinal(event.operation.target()) as u64;
        }
    }
    events
}

/// Runs a closure on a fresh operating system thread. `None` if that thread did not survive. The
/// calling thread meanwhile watches the pulse of the job.
fn on_worker<R: Send>(job: &Job<'_>, work: impl FnOnce() -> R) -> Option<R> {
    /// The closure is run by another thread while this one waits, so nothing is shared.
    struct Moved<T>(T);
    // SAFETY: the only thread that touches the content is the worker, between spawn and join.
    unsafe impl<T> Send for Moved<T> {}
    let moved = Moved(work);
    let (sender, receiver) = channel::<()>();
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name("preempt".into())
            .stack_size(8 << 20)
            .spawn_scoped(scope, move || {
                let (moved, _sender) = (moved, sender);
                job.pulse.adopt();
                (moved.0)()
            })
            .ok()?;
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

pub(crate) fn lost_worker() -> Found {
    let message = "the thread that explored the test did not survive; this is a bug in preempt";
    Found {
        tally: Tally::default(),
        failure: Some(Failure::of_input(message.into())),
        reason: None,
        notes: Vec::new(),
    }
}
