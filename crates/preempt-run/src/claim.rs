//! From what a program's search reports to a verdict with the sentence that says what it means.
//!
//! The guarantee is about scheduling points: synchronisation, atomics, and, where races are no
//! violations, the plain accesses that were found to race. Where no race exists, switching threads at
//! these points loses nothing.

use crate::found::{Evidence, Found, Trouble};
use crate::run::{Options, Search};
use crate::symbols::{Line, Symbols};
use crate::words;
use preempt_core::{
    BoundRow, Change, Claim, Statistics, Stop, Switch, Trace, TraceStep, Value, Verdict, Violation,
    ViolationKind, grouped,
};

/// A verdict on a program.
pub struct Answer {
    /// The verdict.
    pub claim: Claim,
    /// How to get to the violation again.
    pub schedule: Option<String>,
}

/// What is checked, in words.
fn property(options: &Options) -> String {
    let mut parts = vec!["no failed assertion, crash, deadlock, misuse of memory or locks"];
    if options.races {
        parts.push("no data race");
    }
    if options.leaks {
        parts.push("no leak");
    }
    if options.exit_code {
        parts.push("exit code 0");
    }
    if options.unjoined {
        parts.push("no thread outlives the program");
    }
    parts.join(", ")
}

/// Draws the conclusion.
pub fn answer(options: &Options, found: &Found, symbols: &Symbols) -> Answer {
    let violation =
        found.evidence.as_ref().and_then(|evidence| violation(evidence, found, symbols));
    let verdict = verdict(options, found, violation.is_some());
    let sentence = match &violation {
        Some(violation) => violation.message.clone(),
        None => sentence(options, found, symbols, verdict),
    };
    let schedule = match (&violation, &found.evidence) {
        (Some(_), Some(evidence)) => Some(evidence.schedule.clone()),
        _ => None,
    };
    let claim = Claim {
        property: property(options),
        verdict,
        sentence,
        statistics: statistics(found, violation.is_some()),
        violation,
        unreached: Vec::new(),
        notes: notes(options, found),
    };
    Answer { claim, schedule }
}

fn verdict(options: &Options, found: &Found, violated: bool) -> Verdict {
    if violated {
        return Verdict::Violated;
    }
    if found.unsupported.is_some()
        || found.nondeterministic
        || found.evidence.is_some() && options.replay.is_none()
    {
        return Verdict::Inconclusive(Stop::Unsupported);
    }
    match found.halt.as_str() {
        "done" if options.replay.is_some() => Verdict::Inconclusive(Stop::Sampling),
        "done" if matches!(options.search, Search::Random(_)) => {
            Verdict::Inconclusive(Stop::Sampling)
        }
        "done" if found.exhausted => Verdict::Holds,
        "done" => Verdict::HoldsWithinBound(options.bound.unwrap_or(0)),
        "states" => Verdict::Inconclusive(Stop::Memory),
        "interrupted" => Verdict::Inconclusive(Stop::Interrupted),
        "executions" => Verdict::Inconclusive(Stop::Sampling),
        _ => Verdict::Inconclusive(Stop::Time),
    }
}

fn sentence(options: &Options, found: &Found, symbols: &Symbols, verdict: Verdict) -> String {
    let what = match options.search {
        Search::Orders => "partial orders",
        Search::Schedules | Search::Random(_) => "schedules",
    };
    let count = |graphs: u64| match options.search {
        Search::Orders => grouped(graphs),
        _ => grouped(found.executions),
    };
    match verdict {
        Verdict::Holds => format!(
            "holds: none of all {} {what} violates it; {}",
            count(found.graphs),
            points(found)
        ),
        Verdict::HoldsWithinBound(bound) => format!(
            "holds within bound {bound}: none of the {} {what} with at most {} violates it, and any \
             violation needs at least {}; {}",
            count(found.graphs),
            preemptions(bound),
            bound + 1,
            points(found)
        ),
        Verdict::Inconclusive(_) if found.unsupported.is_some() => {
            found.unsupported.as_ref().map_or(String::new(), |trouble| {
                format!("inconclusive: {}", with_place(symbols, trouble))
            })
        }
        Verdict::Inconclusive(_) if found.nondeterministic => format!(
            "inconclusive: the program is not deterministic: after the same observations a thread does \
             different things ({}). Uninstrumented libraries, random numbers or addresses can cause \
             this; try --search schedules",
            found.expected.as_deref().unwrap_or_default()
        ),
        Verdict::Inconclusive(_) if options.replay.is_some() => {
            "the schedule was executed, and nothing is violated".into()
        }
        Verdict::Inconclusive(_) if found.evidence.is_some() => {
            let evidence = found.evidence.as_ref();
            let kind = evidence.map_or("", |evidence| evidence.kind.as_str());
            match kind {
                "step_limit" => "inconclusive: an execution has too many steps (--depth): a loop \
                                 without end, or one that waits without synchronisation?"
                    .into(),
                _ => "inconclusive: a violation was found but did not happen again: the program \
                      depends on something outside of it"
                    .into(),
            }
        }
        Verdict::Inconclusive(stop) => {
            let covered = match found.rows.last() {
                Some(row) => format!(
                    "all {} {what} with at most {} were searched, and none violates it",
                    count(row.graphs),
                    preemptions(row.bound)
                ),
                None => format!(
                    "{} executions were searched, and none violates it",
                    grouped(found.executions)
                ),
            };
            let why = match found.halt.as_str() {
                "executions" => "the limit on executions was reached".to_string(),
                _ => stop.to_string(),
            };
            format!("inconclusive, {why}: {covered}")
        }
        Verdict::Violated => String::new(),
    }
}

/// What the guarantee is about.
fn points(found: &Found) -> String {
    match found.racy {
        0 => "threads switch at synchronisation and atomic operations".into(),
        1 => "threads switch at synchronisation, atomic operations and 1 place with a data race"
            .into(),
        racy => format!(
            "threads switch at synchronisation, atomic operations and {racy} places with data races"
        ),
    }
}

fn notes(options: &Options, found: &Found) -> Vec<String> {
    let mut notes = found.notes.clone();
    if let Some(call) = &found.forked_because {
        notes.push(format!(
            "the program reaches beyond its memory ({call}), so each execution had its own process"
        ));
    }
    if found.racy > 0 && !options.races {
        notes.push(format!("{} places race; races were not asked for", found.racy));
    }
    notes.push(
        "atomic operations of every memory order were executed as sequentially consistent".into(),
    );
    notes
}

fn statistics(found: &Found, violated: bool) -> Statistics {
    Statistics {
        states: found.graphs,
        executions: Some(found.executions),
        depth: found.evidence.as_ref().map_or(0, |evidence| evidence.events.len() as u64),
        errors: u64::from(violated),
        complete: found.halt == "done",
        memory_bytes: found.memory,
        seconds: found.seconds,
        per_bound: found
            .rows
            .iter()
            .map(|row| BoundRow {
                bound: row.bound,
                states: row.graphs,
                transitions: row.executions,
                errors: 0,
            })
            .collect(),
        ..Statistics::default()
    }
}

fn preemptions(number: u32) -> String {
    format!("{number} preemption{}", if number == 1 { "" } else { "s" })
}

fn kind(name: &str) -> Option<ViolationKind> {
    Some(match name {
        "assertion" => ViolationKind::Assertion,
        "abort" => ViolationKind::Abort,
        "signal" => ViolationKind::Signal,
        "deadlock" => ViolationKind::Deadlock,
        "livelock" => ViolationKind::Livelock,
        "data_race" => ViolationKind::DataRace,
        "use_after_free" => ViolationKind::UseAfterFree,
        "double_free" => ViolationKind::DoubleFree,
        "leak" => ViolationKind::Leak,
        "exit_code" => ViolationKind::ExitCode,
        "misuse" => ViolationKind::Misuse,
        _ => return None,
    })
}

fn violation(evidence: &Evidence, found: &Found, symbols: &Symbols) -> Option<Violation> {
    let kind = kind(&evidence.kind)?;
    let threads: Vec<String> = evidence
        .threads
        .iter()
        .enumerate()
        .map(|(number, thread)| words::thread(symbols, number, thread.start))
        .collect();
    let (message, line) = message(evidence, symbols, &threads);
    let line = line.unwrap_or_default();
    let simplest = found.rows.len() == evidence.preemptions as usize;
    Some(Violation {
        kind,
        message,
        file: line.file,
        line: line.line,
        trace: trace(evidence, symbols, &threads),
        simplest,
    })
}

fn at(line: Option<&Line>) -> String {
    line.map_or(String::new(), |line| format!(" at {}:{}", line.file, line.line))
}

fn with_place(symbols: &Symbols, trouble: &Trouble) -> String {
    let line = symbols.line(trouble.pc);
    match (&trouble.other, line.as_ref()) {
        (None, Some(line)) => format!("{} ({}:{})", trouble.message, line.file, line.line),
        _ => trouble.message.clone(),
    }
}

fn message(evidence: &Evidence, symbols: &Symbols, threads: &[String]) -> (String, Option<Line>) {
    if let (Some(trouble), None) = (&evidence.trouble, &evidence.race) {
        let line = symbols.line(trouble.pc);
        let mut text = format!("{}{}", trouble.message, at(line.as_ref()));
        if let Some(other) = &trouble.other {
            let place = at(symbols.line(other.pc).as_ref());
            text.push_str(&format!(", {}{place}", other.role));
        }
        return (text, line);
    }
    if let Some(race) = &evidence.race {
        let access = |access: &crate::found::Access| {
            let name = threads.get(access.thread).map_or("a thread", |name| name.as_str());
            let verb = if access.write { "writes" } else { "reads" };
            format!("{name} {verb}{}", at(symbols.line(access.pc).as_ref()))
        };
        let text = format!(
            "data race: {} and {}, and neither happens before the other",
            access(&race[0]),
            access(&race[1])
        );
        return (text, symbols.line(race[1].pc));
    }
    waits(evidence, symbols, threads)
}

/// Who waits for whom.
fn waits(evidence: &Evidence, symbols: &Symbols, threads: &[String]) -> (String, Option<Line>) {
    let mut parts = Vec::new();
    let mut place = None;
    for (number, thread) in evidence.threads.iter().enumerate() {
        let Some(waits) = &thread.waits else { continue };
        let line = symbols.line(waits.pc);
        let object = || words::object(symbols, waits.address);
        let name = |number: usize| threads.get(number).cloned().unwrap_or_default();
        let what = match (waits.action.as_str(), waits.holder) {
            ("join", Some(target)) => format!("for {} to end", name(target)),
            (_, Some(holder)) if holder == number => {
                format!("for {}, which it holds itself", object())
            }
            (_, Some(holder)) => format!("for {}, held by {}", object(), name(holder)),
            ("wake and lock again", None) => format!("for {} to be signalled", object()),
            ("recv", None) => format!("for {} to be posted", object()),
            ("leave", None) => format!("for others to arrive at {}", object()),
            ("yield", None) => "in a loop for a change that nobody makes".into(),
            (action, None) => format!("at {action} {}", object()),
        };
        parts.push(format!("{} waits {what}{}", name(number), at(line.as_ref())));
        if place.is_none() && waits.action != "join" {
            place = line;
        }
    }
    (format!("{}: {}", evidence.kind, parts.join("; ")), place)
}

fn trace(evidence: &Evidence, symbols: &Symbols, threads: &[String]) -> Trace {
    let mut last = None;
    let steps = evidence
        .events
        .iter()
        .map(|event| {
            let switch = match last {
                Some(before) if before != event.thread && event.preemption => Switch::Preemption,
                Some(before) if before != event.thread => Switch::Forced,
                _ => Switch::None,
            };
            last = Some(event.thread);
            let line = symbols.line(event.pc).unwrap_or_default();
            let changes = match event.number && event.before != event.after {
                true => vec![Change {
                    name: words::object(symbols, event.address),
                    from: Some(Value::Name(words::number(event.before))),
                    to: Some(Value::Name(words::number(event.after))),
                }],
                false => Vec::new(),
            };
            TraceStep {
                process: threads.get(event.thread).cloned().unwrap_or_default(),
                pid: event.thread,
                partner: None,
                file: line.file,
                line: line.line,
                text: words::describe(symbols, threads, event),
                switch,
                changes,
                output: String::new(),
            }
        })
        .collect();
    Trace { steps, ..Trace::default() }
}
