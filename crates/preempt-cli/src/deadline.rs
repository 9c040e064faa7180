//! The last resort of a time limit, of Ctrl-C and of memory: an answer that comes even if no search
//! looks at the clock.
//!
//! Searches poll their limits and end with what they have. Some work cannot be interrupted, such as a
//! single step that runs for minutes, or the translation of a huge formula. A thread waits until the
//! limit has passed by [`GRACE`]; if the command has not answered by then, the thread gives the
//! inconclusive answer, with the claims that were finished and what the last report of progress said,
//! and ends the process. It does so at once when the system has refused memory. That a counterexample was found, but
//! could not be shown in time, is part of the answer.

use crate::allocation;
use crate::arguments::CheckArguments;
use crate::output::{self, Report};
use crate::terminal::INTERRUPTED;
use preempt_core::{Claim, Statistics, Stop, Verdict, grouped};
use preempt_report::json;
use preempt_verify::{Phase, Progress};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a command may take to answer, once it should.
const GRACE: Duration = Duration::from_millis(400);
/// The same for one that has a counterexample to show.
const GRACE_TO_SHOW: Duration = Duration::from_millis(900);
/// How often the thread looks whether the user has interrupted the command.
const LOOK_EVERY: Duration = Duration::from_millis(100);

struct State {
    /// Counts commands: in tests one process runs many.
    run: u64,
    phase: Work,
    /// The properties in words, those of the finished claims first.
    properties: Vec<String>,
    claims: Vec<Claim>,
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Whether there is a violation is not known yet.
    Searching,
    /// There is one.
    Found,
    /// The command answers, or nothing is under way.
    Answered,
    /// The thread has answered: the process ends.
    GivenUp,
}

static STATE: Mutex<State> = Mutex::new(State {
    run: 0,
    phase: Work::Answered,
    properties: Vec::new(),
    claims: Vec::new(),
    progress: Progress {
        states: 0,
        transitions: 0,
        depth: 0,
        queue: 0,
        memory: 0,
        elapsed: Duration::ZERO,
        phase: Phase::Search,
    },
});
static CHANGED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work begins. Without a thread to spare there is no last resort, only the polls of the searches.
pub(crate) fn start(arguments: &CheckArguments) {
    let mut state = state();
    state.run += 1;
    state.phase = Work::Searching;
    state.properties.clear();
    state.claims.clear();
    state.progress = Progress::default();
    let run = state.run;
    drop(state);
    let arguments = arguments.clone();
    let _ = std::thread::Builder::new().spawn(move || wait(&arguments, run));
}

/// What will be checked.
pub(crate) fn expect(properties: Vec<String>) {
    state().properties = properties;
}

/// How far the present search is.
pub(crate) fn note(progress: &Progress) {
    let mut state = state();
    state.progress = *progress;
    if progress.phase == Phase::Simplify && state.phase == Work::Searching {
        state.phase = Work::Found;
    }
}

/// A counterexample was found.
pub(crate) fn found() {
    note(&Progress { phase: Phase::Simplify, ..Progress::default() });
}

/// A claim is finished; the next one may follow.
pub(crate) fn keep(claim: Claim) {
    let mut state = state();
    state.claims.push(claim);
    state.progress = Progress::default();
    if state.phase == Work::Found {
        state.phase = Work::Searching;
    }
}

/// The command will answer now: all claims. Does not return if the thread has done so.
pub(crate) fn answer() -> Vec<Claim> {
    let mut state = state();
    while state.phase == Work::GivenUp {
        state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.phase = Work::Answered;
    CHANGED.notify_all();
    std::mem::take(&mut state.claims)
}

/// Waits for the moment to give up, or for the answer.
fn wait(arguments: &CheckArguments, run: u64) {
    let mut interrupted: Option<Instant> = None;
    let mut state = state();
    loop {
        let grace = if state.phase == Work::Found { GRACE_TO_SHOW } else { GRACE };
        let deadline = arguments.deadline().and_then(|deadline| deadline.checked_add(grace));
        if state.phase == Work::Answered || state.run != run {
            return;
        }
        let now = Instant::now();
        if INTERRUPTED.load(Ordering::SeqCst) {
            interrupted.get_or_insert(now);
        }
        let late = deadline.is_some_and(|deadline| now >= deadline);
        let ignored = interrupted.is_some_and(|since| now - since >= grace);
        let refused = allocation::refused();
        if refused || late || ignored {
            let stop = match (refused, ignored) {
                (true, _) => Stop::Memory,
                (false, true) => Stop::Interrupted,
                (false, false) => Stop::Time,
            };
            let found = state.phase == Work::Found;
            state.phase = Work::GivenUp;
            let mut claims = last_claims(&mut state, stop, found);
            if let Some((last, others)) = claims.split_last_mut() {
                let before = others.iter().map(|claim| claim.statistics.seconds).sum();
                output::account_for_time(arguments, last, before);
            }
            drop(state);
            give_up(arguments, &claims);
        }
        let left = deadline.map_or(LOOK_EVERY, |deadline| deadline.saturating_duration_since(now));
        let pause = left.clamp(Duration::from_millis(1), LOOK_EVERY);
        state = CHANGED.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The claims that are finished, and an inconclusive one for each of the others.
fn last_claims(state: &mut State, stop: Stop, found: bool) -> Vec<Claim> {
    let mut claims = std::mem::take(&mut state.claims);
    if state.properties.is_empty() {
        state.properties.push(String::new());
    }
    let done = claims.len();
    for (at, property) in state.properties.iter().enumerate().skip(done) {
        let reached = match (at == done, found, state.progress.states) {
            (true, true, _) => "a violation was found, but could not be shown".into(),
            (false, ..) | (.., 0) => "nothing was explored".into(),
            (true, false, states) => {
                format!("no violation in the first {} states explored", grouped(states))
            }
        };
        let more = if stop == Stop::Memory { "memory" } else { "time" };
        let progress = if at == done { state.progress } else { Progress::default() };
        let mut statistics = Statistics {
            states: progress.states,
            depth: progress.depth,
            memory_bytes: progress.memory as u64,
            ..Statistics::default()
        };
        statistics.count_arrivals(progress.transitions);
        claims.push(Claim {
            property: property.clone(),
            verdict: Verdict::Inconclusive(stop),
            sentence: format!("inconclusive: {stop}; {reached}; more {more} covers more"),
            violation: None,
            statistics,
            unreached: Vec::new(),
            notes: Vec::new(),
        });
    }
    claims
}

/// Reports, and ends the process.
fn give_up(arguments: &CheckArguments, claims: &[Claim]) -> ! {
    let report = Report {
        arguments,
        claims,
        sources: &[],
        headings: &[],
        selectors: &[],
        trail: None,
        certificate: None,
        drawing: None,
    };
    let code = match output::report(&report) {
        Ok(_) => json::worst(claims).exit_code(),
        Err(failure) => {
            output::report_failure(&failure);
            2
        }
    };
    std::process::exit(code.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers add up, and only the property that was being searched has any.
    #[test]
    fn what_was_cut_has_the_numbers_of_its_progress() {
        for (states, transitions) in [(7, 9), (7, 7), (7, 6), (0, 0)] {
            let mut state = State {
                run: 1,
                phase: Work::Searching,
                properties: vec!["one".into(), "two".into()],
                claims: Vec::new(),
                progress: Progress { states, transitions, depth: 3, ..Progress::default() },
            };
            let claims = last_claims(&mut state, Stop::Time, false);
            let [searched, never_begun] = &claims[..] else { panic!("{claims:?}") };
            let numbers = &searched.statistics;
            assert_eq!((numbers.states, numbers.depth), (states, 3));
            assert_eq!(numbers.states + numbers.matched, numbers.transitions);
            assert_eq!(never_begun.statistics, Statistics::default());
            assert_eq!(never_begun.verdict, Verdict::Inconclusive(Stop::Time));
        }
    }
}
