//! Checks that a page starts: on a thread of their own, with progress to all open pages, and an end on
//! request.

use crate::explorer::{Explorer, Refusal, Signature, follow};
use crate::path;
use crate::subject::{Question, Subject};
use crate::walk::Walk;
use preempt_core::{Claim, ProcessId, Step, System, Trace, Verdict};
use preempt_verify::{Control, Error, Event, Phase, Progress};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More than so many at once are refused.
const MOST_AT_ONCE: usize = 4;

/// Parsers and translations follow nested input by recursion.
const STACK: usize = 64 << 20;

/// Starts a check; the answer comes as an event. Returns its number.
pub(crate) fn start(
    explorer: &Arc<Explorer>,
    (model, version): (usize, u64),
    subject: Arc<dyn Subject>,
    question: Question,
    time: Option<Duration>,
) -> Result<u64, Refusal> {
    let known = subject.properties().into_iter().find(|known| known.id == question.property);
    let label = known.map_or_else(|| question.property.clone(), |known| known.label);
    let asked = json!({
        "property": question.property, "label": label, "formula": question.formula, "bound": question.bound,
        "iterate": question.iterate, "fair": question.fair, "options": question.options,
    });
    if explorer.running() >= MOST_AT_ONCE {
        let message = "too many checks are running: cancel one first".into();
        return Err(Refusal { status: 429, message });
    }
    let (id, flag) = explorer.begin_check(model, &asked);
    explorer.notify(&json!({ "event": "started", "check": id, "model": model, "asked": asked }));
    let explorer = explorer.clone();
    let if_not_started = explorer.clone();
    let work = move || {
        let begin = Instant::now();
        let limits = (question.memory, time);
        let listener = |event: Event<'_>| {
            if let Some(progress) = progress(event, limits, begin) {
                let event = json!({ "event": "progress", "check": id, "model": model, "progress": progress });
                explorer.notify(&event);
            }
        };
        let mut control = Control::new().interrupt(flag).listener(&listener);
        if let Some(time) = time {
            control = control.time(time);
        }
        let run = std::panic::AssertUnwindSafe(|| subject.check(&question, &control));
        let answer = std::panic::catch_unwind(run)
            .unwrap_or_else(|_| Err(Error::Bug("the check ended unexpectedly".into())));
        let results = match answer {
            Ok(claims) => {
                let mut shown: Vec<Value> = claims.iter().map(|c| claim(&*subject, c)).collect();
                for (shown, claim) in shown.iter_mut().zip(&claims) {
                    let lines = subject.unreached(&question, claim, &control);
                    shown["unreached_lines"] = json!(lines);
                }
                json!({ "claims": shown })
            }
            Err(error) => json!({ "problem": error.to_string() }),
        };
        explorer.end_check(id);
        let (event, seconds) = ("checked", begin.elapsed().as_secs_f64());
        let result = json!({
            "event": event, "check": id, "model": model, "version": version, "asked": asked,
            "seconds": seconds, "results": results,
        });
        let is_program = subject.command(&question.property).is_some();
        explorer.keep(model, result.clone(), is_program);
        explorer.notify(&result);
    };
    let thread = std::thread::Builder::new().name("check".into()).stack_size(STACK).spawn(work);
    match thread {
        Ok(_) => Ok(id),
        Err(error) => {
            if_not_started.end_check(id);
            Err(Refusal { status: 503, message: format!("cannot start the check: {error}") })
        }
    }
}

type Limits = (Option<u64>, Option<Duration>);

fn progress(event: Event<'_>, (memory, time): Limits, begin: Instant) -> Option<Value> {
    let left = time.map(|time| time.saturating_sub(begin.elapsed()).as_secs_f64());
    match event {
        Event::Progress(Progress {
            states,
            transitions,
            depth,
            queue,
            memory: used,
            phase,
            ..
        }) => {
            let seconds = begin.elapsed().as_secs_f64();
            Some(json!({
                "states": states, "transitions": transitions, "depth": depth, "queue": queue,
                "rate": *states as f64 / seconds.max(1e-3), "memory": used,
                "memory_limit": memory, "seconds": seconds, "seconds_left": left,
                "simplifying": *phase == Phase::Simplify,
            }))
        }
        Event::Symbolic(progress) => Some(json!({
            "method": progress.method, "switches": progress.switches, "size": progress.size,
            "seconds": progress.seconds, "seconds_left": left,
        })),
        Event::Found => Some(json!({ "found": true, "seconds": begin.elapsed().as_secs_f64() })),
        _ => None,
    }
}

/// A claim, with its counterexample as a path.
fn claim(subject: &dyn Subject, claim: &Claim) -> Value {
    let numbers = &claim.statistics;
    let violation = claim.violation.as_ref().map(|violation| {
        let found = as_path(subject, &violation.trace);
        let cost = violation.trace.cost();
        json!({
            "kind": violation.kind.name(), "message": violation.message, "file": violation.file,
            "line": violation.line, "simplest": violation.simplest,
            "preemptions": cost.preemptions, "switches": cost.switches, "steps": cost.steps,
            "reasons": preempt_report::reasons(&violation.trace),
            "path": found.path, "complete": found.complete, "cycle": found.cycle,
        })
    });
    let bound = match claim.verdict {
        Verdict::HoldsWithinBound(bound) => Some(bound),
        _ => None,
    };
    let rows = numbers
        .per_bound
        .iter()
        .map(|row| json!({ "bound": row.bound, "states": row.states, "transitions": row.transitions, "errors": row.errors }));
    let unreached = claim.unreached.iter().map(|code| {
        json!({ "process": code.process, "file": code.file, "line": code.line, "text": code.text })
    });
    json!({
        "property": claim.property, "verdict": claim.verdict.name(), "bound": bound,
        "bound_unit": numbers.bound_unit.name(), "nodes": numbers.nodes, "matched": numbers.matched,
        "sentence": claim.sentence, "notes": claim.notes, "violation": violation,
        "states": numbers.states, "transitions": numbers.transitions, "depth": numbers.depth,
        "memory": numbers.memory_bytes, "seconds": numbers.seconds,
        "per_bound": rows.collect::<Value>(), "unreached": unreached.collect::<Value>(),
    })
}

/// A trace as a path.
struct Found {
    path: String,
    /// Every step of the trace was found.
    complete: bool,
    /// The step of the path that the part which repeats begins with.
    cycle: Option<usize>,
}

/// The steps of a trace, found again among the enabled ones: themselves, or where a check numbers them
/// otherwise, what says the same.
fn as_path(subject: &dyn Subject, trace: &Trace) -> Found {
    let is_own = |pid: usize| pid != ProcessId::PROPERTY.index();
    let own = trace.steps.iter().filter(|step| is_own(step.pid));
    let words: Vec<Signature> = own
        .map(|step| Signature {
            pid: step.pid,
            partner: step.partner,
            text: step.text.clone(),
            nth: 0,
        })
        .collect();
    let raw = trace.raw.iter().filter(|step| is_own(step.process.index()));
    let raw: Vec<Step> = raw.copied().collect();
    let mut found = Found { path: String::new(), complete: false, cycle: None };
    subject.explore(&mut |system| {
        let mut walk = Walk::new(system);
        let exact = retrace(system, &mut walk, &raw);
        let kept = if exact && !raw.is_empty() {
            raw.len()
        } else {
            walk = Walk::new(system);
            follow(system, &mut walk, &words)
        };
        found.path = path::write(walk.choices());
        found.complete = kept == words.len();
    });
    let cycle = trace.cycle_start.filter(|_| found.complete);
    found.cycle =
        cycle.map(|at| trace.steps.iter().take(at).filter(|step| is_own(step.pid)).count());
    found
}

fn retrace(system: &dyn System, walk: &mut Walk, steps: &[Step]) -> bool {
    steps.iter().all(|step| {
        let enabled = walk.enabled().steps();
        // A search may number outcomes of its own.
        let at = enabled.iter().position(|known| known == step).or_else(|| {
            enabled.iter().position(|known| *known == Step { choice: known.choice, ..*step })
        });
        at.is_some_and(|choice| walk.take(system, choice as u32))
    })
}
