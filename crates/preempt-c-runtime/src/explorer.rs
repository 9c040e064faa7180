//! The search itself: the strategies of `preempt-explore` over executions of this program.

use crate::backend::Backend;
use crate::limits::limits;
use crate::places::without_places;
use crate::record::Record;
use crate::report::{self, Evidence};
use crate::runtime::{Runtime, runtime};
use crate::sampling::Companion;
use crate::switch::finish;
use crate::trouble::Trouble;
use crate::workers::Processes;
use crate::{progress, weak_failures};
use preempt_exchange::Search;
use preempt_explore::{
    Cut, Ending, Finding, Halt, Names, Order, Program, Replay, Rules, Run, Schedule, Session,
    Statistics, WorkerPool, forward, iterative, random, remedies,
};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What an exploration keeps when it begins again.
struct Kept {
    rules: Rules,
    names: Names,
}

/// Runs on the search's own stack.
pub(crate) extern "C" fn body() -> ! {
    let begin = Instant::now();
    runtime().deadline = limits(begin).deadline;
    let replay = runtime().options.replay.clone();
    // A schedule says itself which waits end.
    let timeouts = if replay.is_some() { u32::MAX } else { runtime().options.timeouts };
    let rules = Rules {
        rc11: runtime().options.is_weak(),
        messages: false,
        time: true,
        timeouts,
        failures: weak_failures::MOST,
        ..Rules::default()
    };
    let mut kept = Kept { rules, names: Names::default() };
    match replay {
        Some(schedule) => replay_one(&mut kept, &schedule, begin),
        None => search(&mut kept, begin),
    }
    finish(runtime())
}

fn search(kept: &mut Kept, begin: Instant) {
    let companion = samples().then(|| Companion::start(kept.rules, kept.names.clone()));
    let (halt, statistics) = loop {
        let (halt, statistics) = attempt(kept, begin);
        let stopped = runtime().stop.load(Ordering::Relaxed);
        let deadline = limits(begin).deadline;
        let late = stopped || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match halt {
            Halt::Restart if late => break (Halt::Time, statistics),
            Halt::Restart => {}
            _ => break (halt, statistics),
        }
    };
    let mut statistics = statistics;
    let mut halt = halt;
    if let Some(companion) = companion
        && statistics.failure.is_none()
        && let Some(finding) = companion.found().and_then(sampled)
    {
        runtime().note(&format!(
            "the violation was found beside the search, by sampling {} executions",
            companion.executions()
        ));
        statistics.failure = Some(finding);
        halt = Halt::Failure;
    }
    let unsupported = runtime().trouble.take().filter(|trouble| !trouble.is_program_s());
    let evidence = match &statistics.failure {
        Some(_) if unsupported.is_some() => None,
        Some(finding) => Some(gather(kept, finding)),
        None => None,
    };
    report::write(&report::Results {
        halt,
        statistics: &statistics,
        evidence,
        unsupported,
        seconds: begin.elapsed().as_secs_f64(),
        weak: kept.rules.weak,
        unexplored: unexplored(kept),
    });
}

/// What was left out although it is within the bounds.
fn unexplored(kept: &Kept) -> Vec<String> {
    let cuts = Cut::ALL.into_iter().filter(|cut| kept.names.has_cut(*cut));
    let mut words: Vec<String> = cuts.map(|cut| cut.words().to_string()).collect();
    if runtime().has_chosen_values {
        let (low, high) = runtime().options.values;
        words
            .push(format!("of values that may be any, only those from {low} to {high} (--values)"));
    }
    if runtime().has_taken_locks {
        words.push(TAKEN_LOCKS.into());
    }
    if runtime().has_merged_references {
        words.push(MERGED_REFERENCES.into());
    }
    words
}

/// What is left out where a lock of std is one step.
const TAKEN_LOCKS: &str =
    "of what std does to take a Mutex, only that it waits until the lock is free (--std steps)";
/// What is left out where changes of counts of references commute.
const MERGED_REFERENCES: &str = "of the orders in which Arcs are cloned and dropped, only those that make a difference (--std steps)";

/// Whether executions are sampled beside the search: where it looks for everything by partial orders.
fn samples() -> bool {
    let options = &runtime().options;
    let is_limited = options.most_preemptions().is_some() || options.executions.is_some();
    options.sample && options.search == Search::Orders && !is_limited
}

/// A violation that was found by sampling, as if the search had found it. How it ends is found out when it is executed
/// again.
fn sampled(text: String) -> Option<Finding> {
    let (schedule, places) = without_places(&text)?;
    runtime().shadow.add_places(places);
    let schedule = schedule.parse().ok()?;
    Some(Finding { ending: Ending::Reported, schedule, preemptions: 0, stale: 0 })
}

fn attempt(kept: &mut Kept, begin: Instant) -> (Halt, Statistics) {
    let options = &runtime().options;
    let workers = options.workers();
    let mut session = Session::new(runtime(), limits(begin), kept.rules, kept.names.clone());
    session.on_execution = runtime().progress.then_some(progress::tell);
    let halt = match options.search {
        Search::Orders if workers > 0 => {
            let processes = Processes::new(workers, kept.rules, kept.names.clone());
            forward::explore_with(&mut session, Some(WorkerPool::of(workers, Box::new(processes))))
        }
        Search::Orders => forward::explore(&mut session),
        Search::Schedules => iterative::explore(&mut session),
        Search::Random => random::explore(&mut session, options.random_seed()),
    };
    kept.rules = session.run.rules;
    (halt, session.statistics)
}

/// Said where a violation may depend on it that pauses and timeouts say nothing about other threads.
const OVERTAKEN: &str = "a pause or a timed wait of 10 ms or more ends in this execution before another thread has done what takes no time, or before a shorter one ends: nothing guarantees that this does not happen, but tests often rely on it; --pauses kept tells whether there is a violation without it";

/// Executes the schedule of a failure once more, in a process of its own, keeping every step, or none of one with too many.
fn gather(kept: &mut Kept, finding: &Finding) -> Evidence {
    let schedule = &finding.schedule;
    let keep = finding.ending != Ending::StepLimit;
    let here = runtime().backend;
    if here == Backend::Restart {
        runtime().backend = Backend::Fork;
    }
    let mut evidence = execute(kept, schedule, keep);
    if runtime().overtaken && !runtime().options.keeps_pauses() {
        runtime().note(OVERTAKEN);
    }
    evidence.remedy = remedy(kept, schedule, &evidence);
    runtime().backend = here;
    evidence
}

/// The weakest change of memory orders that makes an execution with stale choices impossible.
fn remedy(kept: &Kept, schedule: &Schedule, evidence: &Evidence) -> Vec<(usize, Order)> {
    if evidence.stale == 0 || evidence.diverged {
        return Vec::new();
    }
    let (trouble, exit_code) = (runtime().trouble.clone(), runtime().exit_code);
    let forbids = |change: &Vec<(usize, Order)>| {
        let rules = Rules { strong: true, ..kept.rules };
        runtime().stronger.clone_from(change);
        execute(&mut Kept { rules, names: kept.names.clone() }, schedule, true).diverged
    };
    let found = remedies(&evidence.communication()).into_iter().find(forbids);
    runtime().stronger.clear();
    (runtime().trouble, runtime().exit_code) = (trouble, exit_code);
    found.unwrap_or_default()
}

/// A schedule that was found by sampling may go round in a loop that waits, which a search does not.
fn execute(kept: &mut Kept, schedule: &Schedule, keep: bool) -> Evidence {
    let evidence = execute_by_rules(kept, schedule, keep);
    if !evidence.diverged || !kept.rules.tries_loops {
        return evidence;
    }
    kept.rules.tries_loops = false;
    let sampled = execute_by_rules(kept, schedule, keep);
    kept.rules.tries_loops = true;
    sampled
}

fn execute_by_rules(kept: &mut Kept, schedule: &Schedule, keep: bool) -> Evidence {
    const ATTEMPTS: usize = 1000;
    let runtime: &'static mut Runtime = runtime();
    runtime.record = keep.then(Record::default);
    for attempt in 0.. {
        let mut run = Run::new(kept.names.clone(), kept.rules, runtime.options.most_steps());
        run.events = keep.then(Vec::new);
        run.reset();
        let mut driver = Replay::new(schedule.clone());
        runtime.execute(&mut run, &mut driver);
        run.finish_probe();
        kept.rules = run.rules;
        if run.ending != Some(Ending::Restart) || attempt == ATTEMPTS {
            let diverged = driver.misses(&run);
            return Evidence::of(runtime, run, diverged);
        }
    }
    raw_impossible()
}

fn raw_impossible() -> ! {
    crate::raw::fail("preempt: a loop without end has ended\n")
}

/// Executes a schedule in processes of their own, silently, until all is known that would make an execution begin again: in a
/// debugger there is one execution, and nothing puts memory back.
fn rehearse(kept: &mut Kept, schedule: &Schedule) {
    runtime().backend = Backend::Fork;
    runtime().is_rehearsal = true;
    execute(kept, schedule, true);
    runtime().is_rehearsal = false;
    runtime().backend = Backend::Here;
    (runtime().trouble, runtime().exit_code) = (None, 0);
}

fn replay_one(kept: &mut Kept, schedule: &str, begin: Instant) {
    let statistics = Statistics { executions: 1, ..Statistics::default() };
    let text = without_places(schedule).map_or(schedule, |(text, places)| {
        runtime().shadow.add_places(places);
        text
    });
    let (evidence, unsupported) = match text.parse::<Schedule>() {
        Ok(schedule) => {
            if runtime().backend == Backend::Here {
                rehearse(kept, &schedule);
            }
            let mut evidence = execute(kept, &schedule, true);
            // What can be watched is executed once.
            if runtime().backend != Backend::Here && !runtime().options.shows_output() {
                evidence.remedy = remedy(kept, &schedule, &evidence);
            }
            let unsupported = runtime().trouble.clone().filter(|trouble| !trouble.is_program_s());
            (Some(evidence), unsupported)
        }
        Err(error) => (None, Some(Trouble::unsupported(0, error.to_string()))),
    };
    report::write(&report::Results {
        halt: Halt::Done,
        statistics: &statistics,
        evidence,
        unsupported,
        seconds: begin.elapsed().as_secs_f64(),
        weak: kept.rules.weak,
        unexplored: Vec::new(),
    });
}
