//! Executing a schedule once more, to see every step of it.

use crate::evidence::{Evidence, evidence};
use crate::job::{Job, Learnt, on_worker, runtime};
use preempt_explore::{Ending, Order, Replay, Run, Schedule, Site};
use rustc_hash::FxHashMap;

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
    // Each loop that yields is tried out once.
    for _ in 0..1 << 14 {
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
            evidence(&runtime, run, &driver, job.stack)
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
        shown: FxHashMap::default(),
        trouble: None,
        panic: None,
        threads: Vec::new(),
        waiting: Vec::new(),
        diverged: true,
        stack: job.stack,
        steps: job.limits.steps,
    }
}
