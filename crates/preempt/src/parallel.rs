//! Several operating system threads on one check.
//!
//! The default strategy searches on one thread while the others execute the test for it, so what
//! it counts and how many preemptions a failure needs do not depend on the number of threads. If it
//! does not finish, all threads sample. Strategies that sample differ by seed; sleep sets deal out
//! the tree. The other strategies run on one thread while the others sample, so a failure found by
//! sampling may need more preemptions than necessary.

use crate::explore::explore_here;
use crate::job::{Found, Job, lost_worker, on_worker};
use crate::report::Reason;
use crate::rt::foreign;
use crate::strategy::Strategy;
use preempt_explore::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Explores on threads of their own: a panic that cannot be unwound costs only that thread.
pub(crate) fn explore(job: &Job<'_>) -> Found {
    foreign::unmarked(|| explore_unmarked(job))
}

fn explore_unmarked(job: &Job<'_>) -> Found {
    if job.threads == 1 || job.strategy == Strategy::PartialOrders {
        return on_worker(job, || explore_here(job)).unwrap_or_else(lost_worker);
    }
    if job.strategy == Strategy::Portfolio {
        return portfolio(job);
    }
    explore_apart(job)
}

/// Explores on several threads that know nothing of each other.
fn explore_apart(job: &Job<'_>) -> Found {
    let jobs = split(job);
    let found = std::thread::scope(|scope| {
        let workers: Vec<_> = jobs
            .iter()
            .map(|job| {
                scope.spawn(|| {
                    let found = on_worker(job, || explore_here(job));
                    let found = found.unwrap_or_else(lost_worker);
                    finished(job, &found);
                    found
                })
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    merge(job, found)
}

/// Systematic exploration for four fifths of the time; if it does not finish, sampling.
fn portfolio(job: &Job<'_>) -> Found {
    let mut limits = job.limits.clone();
    if let Some(deadline) = limits.deadline {
        limits.deadline = Some(deadline - deadline.duration_since(job.begin) / 5);
    }
    let with = |strategy, limits, executions| {
        let (name, pulse) = (job.name.clone(), job.pulse.clone());
        let limits = Limits { executions, ..limits };
        Job { limits, strategy, name, pulse, ..*job }
    };
    let executions = job.limits.executions;
    let mut found = explore(&with(Strategy::PartialOrders, limits, executions));
    let unfinished = matches!(found.reason, Some(Reason::Time | Reason::States));
    let left = executions.saturating_sub(found.statistics.executions);
    if found.failure.is_some() || !unfinished || left == 0 {
        return found;
    }
    // Sampling needs no table of states, and states seen so far stay counted.
    let limits = Limits { states: usize::MAX, ..job.limits.clone() };
    let sampled = explore_apart(&with(Strategy::Sampling { seed: 1 }, limits, left));
    found.statistics.executions += sampled.statistics.executions;
    found.statistics.samples = sampled.statistics.samples;
    for (graph, (preemptions, terminal)) in sampled.statistics.graphs {
        let new = !found.statistics.graphs.contains_key(&graph);
        let stale = sampled.statistics.stale.get(&graph).copied().unwrap_or(0);
        found.statistics.stale_graph(graph, stale, preemptions, terminal);
        found.statistics.singletons += u64::from(new);
    }
    found.failure = sampled.failure;
    found
}

/// One job per worker.
fn split<'a>(job: &Job<'a>) -> Vec<Job<'a>> {
    let stop = Arc::new(AtomicBool::new(false));
    (0..job.threads)
        .map(|worker| {
            let mut limits = job.limits.clone();
            limits.stop = Some(stop.clone());
            limits.worker = (worker, job.threads);
            let strategy = strategy(job.strategy, worker);
            let (name, pulse) = (job.name.clone(), Arc::default());
            Job { limits, strategy, threads: 1, name, pulse, ..*job }
        })
        .collect()
}

fn strategy(strategy: Strategy, worker: usize) -> Strategy {
    let more = worker as u64;
    match strategy {
        Strategy::Random { seed } => Strategy::Random { seed: seed.wrapping_add(more) },
        Strategy::Pct { depth, seed } => Strategy::Pct { depth, seed: seed.wrapping_add(more) },
        Strategy::Sampling { seed } => Strategy::Sampling { seed: seed.wrapping_add(more) },
        Strategy::SleepSets => Strategy::SleepSets,
        systematic if worker == 0 => systematic,
        _ if worker % 2 == 1 => Strategy::Sampling { seed: more },
        _ => Strategy::Pct { depth: 3, seed: more },
    }
}

/// Tells the others to stop, if there is no point in going on.
fn finished(job: &Job<'_>, found: &Found) {
    let systematic = found.statistics.samples == 0 && job.strategy != Strategy::SleepSets;
    let decided = found.failure.is_some() || (systematic && job.limits.worker.0 == 0);
    if let (true, Some(stop)) = (decided, &job.limits.stop) {
        stop.store(true, Ordering::Relaxed);
    }
}

/// What all workers found together; the first one explored systematically.
fn merge(job: &Job<'_>, found: Vec<Found>) -> Found {
    let shares = matches!(
        job.strategy,
        Strategy::Random { .. }
            | Strategy::Pct { .. }
            | Strategy::Sampling { .. }
            | Strategy::SleepSets
    );
    let mut list = found.into_iter();
    let Some(mut all) = list.next() else { return lost_worker() };
    for other in list {
        all.statistics.executions += other.statistics.executions;
        all.statistics.samples += other.statistics.samples;
        if shares {
            all.statistics.states += other.statistics.states;
            all.statistics.singletons += other.statistics.singletons;
            all.statistics.exhausted &= other.statistics.exhausted;
            for (graph, (preemptions, terminal)) in other.statistics.graphs {
                let stale = other.statistics.stale.get(&graph).copied().unwrap_or(0);
                all.statistics.stale_graph(graph, stale, preemptions, terminal);
            }
            all.reason = all.reason.or(other.reason);
        } else {
            all.statistics.singletons = 0;
        }
        let fewer = match (&all.failure, &other.failure) {
            (Some(a), Some(b)) => (b.stale, b.preemptions) < (a.stale, a.preemptions),
            (None, Some(_)) => true,
            _ => false,
        };
        if fewer {
            all.failure = other.failure;
        }
        for cut in other.unexplored {
            if !all.unexplored.contains(&cut) {
                all.unexplored.push(cut);
            }
        }
        for note in other.notes {
            if !all.notes.contains(&note) {
                all.notes.push(note);
            }
        }
    }
    all
}
