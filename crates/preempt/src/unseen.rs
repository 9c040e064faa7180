//! Tests whose threads share something that preempt does not see.
//!
//! The usual strategies take what a thread does for a function of what it has seen. The count of a
//! std `Arc` or a std atomic breaks that: a thread that looks at it learns what others did without an
//! operation that says so. Such a test is still a function of its *schedule*, so it can be explored by
//! schedules, as a stateless search without reduction does. What it cannot have is a proof: no
//! switch is made between two accesses that are not seen, so the answer is inconclusive at best.
//!
//! Nor can it livelock: a loop that waits for something unseen looks endless, and is given up.
//!
//! A test that differs when the same schedule is repeated (random numbers, real time, state kept
//! between executions) fails as before.

use crate::evidence::Evidence;
use crate::gather::gather;
use crate::job::{Job, Learnt};
use crate::rt::Runtime;
use crate::strategy::Strategy;
use preempt_explore::{Ending, Halt, Mismatch, Schedule, Session, Statistics, iterative};
use std::time::{Duration, Instant};

/// Said where such a test was explored: how that showed first.
pub(crate) fn note(mismatch: &Mismatch) -> String {
    let Mismatch { expected, found, .. } = mismatch;
    format!(
        "threads share something that preempt does not see, such as the count of a std::sync::Arc or a std atomic: after \
         the same observations a thread first came to {expected}, and later to {found}; schedules were explored one by \
         one, without switches at such accesses"
    )
}

/// Schedules are explored for this long, even if there is no other limit: there may be very many.
const TIME: Duration = Duration::from_secs(10);

/// How often a schedule is repeated before it is taken to decide what happens.
const REPETITIONS: usize = 3;

/// If the failure is only that a thread did different things after the same observations, although the
/// same schedule has the same effect: explores by schedules instead, which is inconclusive. Returns what was different.
pub(crate) fn explore(
    job: &Job<'_>,
    runtime: &mut Runtime,
    learnt: &mut Learnt,
    statistics: &mut Statistics,
) -> Option<Mismatch> {
    let by_observations = matches!(
        job.strategy,
        Strategy::Portfolio
            | Strategy::PartialOrders
            | Strategy::HappensBeforeCaching
            | Strategy::Optimal
            | Strategy::SleepSets
    );
    let finding = statistics.failure.as_ref()?;
    let Ending::Nondeterminism(mismatch) = finding.ending.clone() else { return None };
    if !by_observations || job.search.is_some() || !repeats(job, learnt, &finding.schedule) {
        return None;
    }
    let mut limits = job.limits.clone();
    let latest = Instant::now() + TIME;
    limits.deadline = Some(limits.deadline.map_or(latest, |deadline| deadline.min(latest)));
    let before = statistics.executions + REPETITIONS as u64;
    loop {
        let (rules, names) = (learnt.rules, learnt.names.clone());
        let mut session = Session::new(runtime, limits.clone(), rules, names);
        let halt = iterative::explore(&mut session);
        let late = session.is_late();
        learnt.rules = session.run.rules;
        let mut found = session.statistics;
        if halt == Halt::Restart && !late {
            continue;
        }
        let failed = found.failure.as_ref().map(|failure| &failure.ending);
        if matches!(failed, Some(Ending::Nondeterminism(_))) {
            return None;
        }
        if matches!(failed, Some(Ending::StepLimit | Ending::Livelock | Ending::Cycle(_))) {
            // A loop that polls what is not seen does not seem to wait for anything.
            found.failure = None;
        }
        found.executions += before;
        found.exhausted = false;
        *statistics = found;
        return Some(mismatch);
    }
}

/// Whether the same schedule leads to the same execution.
fn repeats(job: &Job<'_>, learnt: &mut Learnt, schedule: &Schedule) -> bool {
    let first = gather(job, learnt, schedule.clone());
    (1..REPETITIONS).all(|_| is_same(&first, &gather(job, learnt, schedule.clone())))
}

fn is_same(a: &Evidence, b: &Evidence) -> bool {
    a.diverged == b.diverged
        && a.schedule == b.schedule
        && a.ending == b.ending
        && a.events.len() == b.events.len()
        && a.events
            .iter()
            .zip(&b.events)
            .all(|(a, b)| (a.step, a.operation, a.result) == (b.step, b.operation, b.result))
}
