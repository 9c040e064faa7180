//! A generator of programs that wait: locks of many kinds, queues of threads among them, flags, loops that give up and then
//! park, condition variables, also with timeouts, with pauses of any shape; correct, and with one planted mistake. The verdict follows from how a program was
//! made: a correct one must be exhausted and hold, a planted one must fail as the mistake does.
//!
//! `PREEMPT_WAITING` sets how many programs there are, `PREEMPT_WAITING_SEED` the first.

mod library {
    pub(crate) use preempt::sync::{Arc, Condvar, Mutex, atomic, mpsc};
    pub(crate) use preempt::{hint, thread};
}
mod program;

use preempt::{Check, FailureKind, Outcome};
use program::{Failure, plan, run};
use std::time::Duration;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn verdicts_follow_from_how_programs_were_made() {
    let first = number("PREEMPT_WAITING_SEED", 0);
    let count = number("PREEMPT_WAITING", 360);
    let (mut wrong, mut unfinished, mut held, mut failed) = (Vec::new(), Vec::new(), 0, 0);
    let mut most = 0;
    for seed in first..first + count {
        let plan = plan(seed);
        let check = Check::new().time(Duration::from_secs(60)).executions(400_000);
        let check = match plan.timeouts() {
            Some(timeouts) => check.timeouts(timeouts),
            None => check,
        };
        let report = check.run(|| run(plan));
        most = most.max(report.executions);
        let expected = plan.expected().map(|failure| match failure {
            Failure::Panic => FailureKind::Panic,
            Failure::Livelock => FailureKind::Livelock,
            Failure::Deadlock => FailureKind::Deadlock,
        });
        match &report.outcome {
            Outcome::Holds if expected.is_none() => held += 1,
            Outcome::Failed(failure) if expected == Some(failure.kind) => failed += 1,
            Outcome::HoldsWithinBound(_) | Outcome::Inconclusive(_) if expected.is_none() => {
                unfinished.push(format!("{seed}: {plan:?}: {report}"));
            }
            _ => wrong.push(format!("{seed}: {plan:?}: {report}")),
        }
    }
    println!(
        "{held} hold, {failed} fail as planted, {} not exhausted, {} wrong; at most {most} executions",
        unfinished.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unfinished.is_empty(), "{}", unfinished.join("\n"));
}
