//! Running a strategy, and turning its finding into a failure report.

use crate::failure::Failure;
use crate::gather::gather;
use crate::job::{Found, Job, Learnt, on_worker, runtime};
use crate::report::Reason;
use crate::rt::Runtime;
use crate::strategy::Strategy;
use crate::unseen;
use preempt_explore::{
    Cut, Ending, Finding, Halt, Limits, Schedule, Session, Statistics, WorkerPool, caching, delay,
    forward, iterative, optimal, pct, random, sampling, serve, sleep_sets,
};
use std::sync::Arc;
use std::time::Instant;

/// What is said where something was left out, with what a test can change about it.
fn words(cut: Cut) -> &'static str {
    match cut {
        Cut::Timeouts => {
            "of timeouts while others can move, only as many per execution as Check::timeouts says"
        }
        Cut::Failures => "of compare_exchange_weak, only so many failures for no reason in a row",
        cut => cut.words(),
    }
}

/// What is said of a schedule that is no execution of the test.
const MISFIT: &str = "the schedule does not fit this test: it could not be followed to its end, so nothing was repeated";

/// Runs one schedule. One that does not fit the test is a mistake of the user's, unless the execution fails all the same.
pub(crate) fn replay(job: &Job<'_>, schedule: Schedule) -> Found {
    let mut learnt = Learnt::new(job);
    let evidence = gather(job, &mut learnt, schedule);
    let mut statistics = Statistics { executions: 1, ..Statistics::default() };
    let fails = !matches!(evidence.ending, Ending::Complete | Ending::Abandoned);
    let mut notes = Vec::new();
    if evidence.diverged && fails {
        notes.push("the schedule could not be followed to its end: the test has changed".into());
    }
    let misfit = evidence.diverged && !fails;
    if fails {
        notes.extend(crate::stale::explain(job, &mut learnt, &evidence));
        let finding = Finding {
            ending: evidence.ending.clone(),
            schedule: evidence.schedule.clone(),
            preemptions: evidence.preemptions,
            stale: evidence.stale,
        };
        statistics.failure = Some(finding);
    }
    let misfit = misfit.then(|| Failure::of_input(MISFIT.into()));
    let failure = fails.then(|| Failure::from_evidence(evidence)).or(misfit);
    Found { statistics, failure, reason: Some(Reason::Replay), notes, unexplored: Vec::new() }
}

/// Explores on the calling thread.
pub(crate) fn explore_here(job: &Job<'_>) -> Found {
    let mut learnt = Learnt::new(job);
    let mut runtime = runtime(job, &learnt);
    let mut has_lost_rows = false;
    let mut has_operated = false;
    let (halt, mut statistics) = loop {
        let mut session =
            Session::new(&mut runtime, job.limits.clone(), learnt.rules, learnt.names.clone());
        session.has_lost_rows = has_lost_rows;
        session.repeats_after_loops = true;
        let halt = match job.strategy {
            Strategy::PartialOrders
                if job.threads > 1 && !session.program.registry.has_externals() =>
            {
                with_workers(job, &learnt, &mut session)
            }
            _ => strategy(job, &mut session),
        };
        learnt.rules = session.run.rules;
        has_operated |= session.run.has_operated;
        if halt == Halt::Restart {
            session.forget_rows();
        }
        has_lost_rows = session.has_lost_rows;
        let statistics = session.statistics;
        learnt.knowledge = runtime.registry.knowledge.clone();
        if halt != Halt::Restart {
            break (halt, statistics);
        }
        if job.limits.worker.0 > 0 && runtime.registry.has_externals() {
            // Data made outside the body must not be touched by two workers at once.
            break (Halt::Time, statistics);
        }
        if job.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break (Halt::Time, statistics);
        }
    };
    let mut notes = Vec::new();
    let unseen = unseen::explore(job, &mut runtime, &mut learnt, &mut statistics);
    notes.extend(unseen.as_ref().map(unseen::note));
    simplify(job, &mut runtime, &mut learnt, &mut statistics);
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
    let outside_change = runtime.outside_change;
    drop(runtime);
    let failure = statistics.failure.clone().map(|finding| {
        let evidence = gather(job, &mut learnt, finding.schedule.clone());
        notes.extend(crate::stale::explain(job, &mut learnt, &evidence));
        Failure::from_finding(finding, evidence)
    });
    let reason = match halt {
        _ if unseen.is_some() => Some(Reason::Unseen),
        _ if outside_change.is_some() => outside_change.map(Reason::Outside),
        Halt::Done if !has_operated => Some(Reason::Nothing),
        Halt::Time => Some(Reason::Time),
        Halt::Executions => Some(Reason::Executions),
        Halt::States => Some(Reason::States),
        Halt::Done | Halt::Failure | Halt::Restart => None,
    };
    let is_cut =
        |cut: &Cut| learnt.names.has_cut(*cut) && !(*cut == Cut::Rounds && learnt.rules.all_rounds);
    let unexplored = Cut::ALL.into_iter().filter(is_cut).map(words).collect();
    Found { statistics, failure, reason, notes, unexplored }
}

/// Strategies without bound stop at the first failure, however many preemptions it has: looks for one
/// with fewer. Its executions are not the strategy's, so they are not counted.
fn simplify(
    job: &Job<'_>,
    runtime: &mut Runtime,
    learnt: &mut Learnt,
    statistics: &mut Statistics,
) {
    if !matches!(job.strategy, Strategy::Optimal | Strategy::SleepSets) || job.threads > 1 {
        return;
    }
    let Some(found) = &statistics.failure else { return };
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
        if let Some(simpler) = session.statistics.failure {
            statistics.failure = Some(simpler);
        }
        if halt != Halt::Restart || late {
            return;
        }
    }
}

/// Searches here while other threads execute the test.
fn with_workers(job: &Job<'_>, learnt: &Learnt, session: &mut Session<'_, Runtime>) -> Halt {
    let (pool, handle) = WorkerPool::new(job.threads - 1);
    std::thread::scope(|scope| {
        for _ in 1..job.threads {
            let handle = handle.clone();
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
                    serve(&mut session, handle);
                })
            });
        }
        drop(handle);
        forward::explore_with(session, Some(pool))
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
    let halt = forward::explore_ahead(session);
    let unfinished = matches!(halt, Halt::Time | Halt::States);
    session.limits.first_deadline = None;
    session.limits.deadline = fifths(4);
    if unfinished && session.statistics.rows.is_empty() && !session.is_late() {
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
