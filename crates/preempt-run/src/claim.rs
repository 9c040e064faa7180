//! From what a program's search reports to a verdict with the sentence that says what it means.
//!
//! The guarantee is about scheduling points: synchronisation, atomics, and, where races are no
//! violations, the plain accesses that were found to race. Where no race exists, switching threads at
//! these points loses nothing.

use crate::fold;
use crate::run::Options;
use crate::shown;
use crate::stale;
use crate::symbols::{Line, Symbols};
use crate::waiting::{waiting, waits};
use crate::words::{self, Names, at};
use preempt_core::{
    BoundRow, Change, Claim, Observations, Statistics, Stop, Switch, Trace, TraceStep, Value,
    Verdict, Violation, ViolationKind, counted, grouped,
};
use preempt_exchange::{
    Access, Evidence, Found, Halt, Kind, Memory, Row, Search, Standing, Thread, Trouble,
};

/// A verdict on a program.
pub struct Answer {
    /// The verdict.
    pub claim: Claim,
    /// How to get to the violation again.
    pub schedule: Option<String>,
    /// The most threads of any execution, where they were counted.
    pub threads: usize,
}

/// What is checked, in words.
fn property(options: &Options) -> String {
    let mut parts = vec![
        "no failed assertion, crash, deadlock, livelock, use of dead memory, heap overflow or misuse of locks",
    ];
    if options.search.races {
        parts.push("no data race");
    }
    if options.search.leaks {
        parts.push("no leak");
    }
    if options.search.exit_code {
        parts.push("exit code 0");
    }
    if options.search.unjoined {
        parts.push("no thread outlives the program");
    }
    parts.join(", ")
}

/// Draws the conclusion.
pub fn answer(options: &Options, found: &Found, symbols: &Symbols) -> Answer {
    let violation =
        found.evidence.as_ref().and_then(|evidence| violation(options, evidence, found, symbols));
    let verdict = match violation.is_none() && is_misfit(options, found) {
        true => Verdict::Nothing,
        false => verdict(options, found, violation.is_some()),
    };
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
        notes: notes(options, found, symbols),
    };
    Answer { claim, schedule, threads: found.threads }
}

fn verdict(options: &Options, found: &Found, violated: bool) -> Verdict {
    if violated {
        return Verdict::Violated;
    }
    if found.unsupported.is_some() || found.nondeterministic {
        return Verdict::Inconclusive(Stop::Unsupported);
    }
    if let Some(evidence) = found.evidence.as_ref().filter(|_| options.search.replay.is_none()) {
        let is_long = evidence.kind == Kind::StepLimit;
        return Verdict::Inconclusive(if is_long { Stop::Depth } else { Stop::Unsupported });
    }
    match found.halt {
        Halt::Done if options.search.replay.is_some() => Verdict::Inconclusive(Stop::Sampling),
        Halt::Done if options.search.search == Search::Random => {
            Verdict::Inconclusive(Stop::Sampling)
        }
        Halt::Done if found.exhausted => Verdict::Holds,
        Halt::Done => Verdict::HoldsWithinBound(
            options.search.most_preemptions().unwrap_or_else(|| most(found)),
        ),
        Halt::Time if options.budget && within(options, found).is_some() => {
            Verdict::HoldsWithinBound(within(options, found).unwrap_or_default())
        }
        Halt::States => Verdict::Inconclusive(Stop::Memory),
        Halt::Interrupted => Verdict::Inconclusive(Stop::Interrupted),
        Halt::Executions => Verdict::Inconclusive(Stop::Sampling),
        _ => Verdict::Inconclusive(Stop::Time),
    }
}

fn sentence(options: &Options, found: &Found, symbols: &Symbols, verdict: Verdict) -> String {
    let explored = match options.search.search {
        Search::Orders => counted(found.graphs, "partial order"),
        Search::Schedules | Search::Random => counted(found.executions, "schedule"),
    };
    match verdict {
        Verdict::Holds => format!(
            "holds: no execution violates it ({explored}, all explored); {}",
            points(found)
        ),
        Verdict::HoldsWithinBound(bound) if found.halt == Halt::Time => format!(
            "holds within bound {bound}: {} within the time, and none violates it; {}",
            searched(options, found),
            points(found)
        ),
        Verdict::HoldsWithinBound(bound) => holds_within(options, found, bound, &explored),
        Verdict::Inconclusive(_) if found.unsupported.is_some() => {
            found.unsupported.as_ref().map_or(String::new(), |trouble| {
                format!("inconclusive: {}", with_place(symbols, trouble))
            })
        }
        Verdict::Inconclusive(_) if found.nondeterministic => format!(
            "inconclusive: the program is not deterministic: after the same observations a thread does \
             different things{} ({}). Uninstrumented libraries, random numbers or addresses can cause \
             this; try --search schedules",
            found.strayed.as_ref().map_or(String::new(), |standing| standing_at(symbols, standing)),
            found.expected.as_deref().unwrap_or_default()
        ),
        Verdict::Inconclusive(_) if options.search.replay.is_some() => {
            "the schedule was executed, and nothing is violated".into()
        }
        Verdict::Inconclusive(_) if found.evidence.is_some() => {
            let evidence = found.evidence.as_ref();
            match evidence.map(|evidence| evidence.kind) {
                Some(Kind::StepLimit) => "inconclusive: an execution has too many steps (--depth): a loop \
                                 without end, or one that waits without synchronisation?"
                    .into(),
                _ => "inconclusive: a violation was found but did not happen again: the program \
                      depends on something outside of it"
                    .into(),
            }
        }
        Verdict::Inconclusive(stop) => stopped(options, found, symbols, stop),
        Verdict::Nothing if found.evidence.is_none() => {
            let why = found.unsupported.as_ref().map_or("", |trouble| trouble.message.as_str());
            format!("the schedule cannot be replayed: {why}")
        }
        Verdict::Nothing if options.search.debugger.is_some() => {
            "the violation did not happen again under the debugger: nothing was repeated".into()
        }
        Verdict::Nothing => "the schedule does not fit this program: it could not be followed to its end, so nothing was repeated (has the program, or what it reads, changed?)".into(),
        Verdict::Violated => String::new(),
    }
}

fn holds_within(options: &Options, found: &Found, bound: u32, explored: &str) -> String {
    let stale = options.search.stale.filter(|_| found.weak);
    let (name, least) = match (stale, options.search.most_preemptions()) {
        (Some(stale), Some(_)) => {
            (format!("bound {bound} and {}", stale_choices(stale)), "more".into())
        }
        (Some(stale), None) => (stale_choices(stale), "more".into()),
        _ => (format!("bound {bound}"), format!("at least {}", bound + 1)),
    };
    format!(
        "holds within {name}: no execution with at most {} violates it ({explored}, all explored), and \
         any violation needs {least}; {}",
        limits(options, found),
        points(found)
    )
}

/// What a search has done that did not come to its end.
fn stopped(options: &Options, found: &Found, symbols: &Symbols, stop: Stop) -> String {
    let why = match found.halt {
        Halt::Executions => "the limit on executions was reached".to_string(),
        _ => stop.to_string(),
    };
    let unfinished = found.unfinished.as_ref().map_or(String::new(), |standing| {
        let (steps, place) = (counted(standing.steps, "step"), standing_at(symbols, standing));
        format!(" while an execution of {steps} so far went on{place}")
    });
    let searched = searched(options, found);
    let is_empty = found.rows.is_empty() && found.executions == 0;
    let none = if is_empty { "" } else { ", and none violates it" };
    format!("inconclusive, {why}{unfinished}: {searched}{none}")
}

/// Whether what was to be repeated did not happen: the schedule could not be followed, or in a debugger, which is there to look
/// at a violation, there was none.
fn is_misfit(options: &Options, found: &Found) -> bool {
    if options.search.replay.is_none() {
        return false;
    }
    // Without an execution, the schedule could not even be read.
    let Some(evidence) = found.evidence.as_ref() else { return found.unsupported.is_some() };
    let supported = found.unsupported.is_none() && !found.nondeterministic;
    supported && (evidence.diverged || options.search.debugger.is_some())
}

/// The bound on preemptions that was finished within a budget of time, as Rust tests with the facade have it:
/// without a limit of its own, the number of stale choices grows as time allows.
fn within(options: &Options, found: &Found) -> Option<u32> {
    let level = options.search.stale.unwrap_or(0);
    let rows = found.rows.iter().filter(|row| row.stale == level);
    rows.map(|row| row.bound)
        .max()
        .filter(|bound| options.search.most_preemptions().is_none_or(|most| most <= *bound))
}

/// What was searched completely, in words.
fn searched(options: &Options, found: &Found) -> String {
    let what = match options.search.search {
        Search::Orders => "partial orders",
        Search::Schedules | Search::Random => "schedules",
    };
    let row = |row: &Row| match (options.search.search, row.graphs) {
        (Search::Orders, 1) => format!("the only partial order with at most {}", both(found, row)),
        (Search::Orders, graphs) => {
            format!("all {} {what} with at most {}", grouped(graphs), both(found, row))
        }
        _ => format!("all {what} with at most {}", both(found, row)),
    };
    let rows = largest(found);
    let is_one = match (found.rows.is_empty(), &rows[..]) {
        (true, _) => found.executions == 1,
        (false, &[row]) => options.search.search == Search::Orders && row.graphs == 1,
        _ => false,
    };
    let covered = match found.rows.is_empty() {
        true if found.executions == 0 => return "no execution was searched to its end".into(),
        true => counted(found.executions, "execution"),
        false => rows.into_iter().map(row).collect::<Vec<_>>().join(", and "),
    };
    format!("{covered} {} searched", if is_one { "was" } else { "were" })
}

/// The limits that were asked for, in words.
fn limits(options: &Options, found: &Found) -> String {
    let stale = options.search.stale.filter(|_| found.weak).map(stale_choices);
    let words: Vec<String> =
        stale.into_iter().chain(options.search.most_preemptions().map(preemptions)).collect();
    words.join(" and ")
}

/// The most preemptions of any bound that was finished.
fn most(found: &Found) -> u32 {
    found.rows.iter().map(|row| row.bound).max().unwrap_or(0)
}

/// What was covered: for each number of stale choices the largest number of preemptions, unless a larger
/// number of stale choices covers it.
fn largest(found: &Found) -> Vec<&Row> {
    let mut largest: Vec<&Row> = Vec::new();
    for row in &found.rows {
        largest.retain(|other| !(other.stale <= row.stale && other.bound <= row.bound));
        if !largest.iter().any(|other| row.stale <= other.stale && row.bound <= other.bound) {
            largest.push(row);
        }
    }
    largest.sort_by_key(|row| row.stale);
    largest
}

/// The limits of a bound, in words.
fn both(found: &Found, row: &Row) -> String {
    match (found.weak, row.stale) {
        (false, _) => preemptions(row.bound),
        (true, 0) => format!("{} and no stale choice", preemptions(row.bound)),
        (true, stale) => format!("{} and {}", stale_choices(stale), preemptions(row.bound)),
    }
}

/// What the guarantee is about.
fn points(found: &Found) -> String {
    let points = match found.racy {
        0 => "threads switch at synchronisation and atomic operations".into(),
        1 => "threads switch at synchronisation, atomic operations and 1 place with a data race"
            .into(),
        racy => format!(
            "threads switch at synchronisation, atomic operations and {racy} places with data races"
        ),
    };
    let points = match found.weak {
        true => points + "; memory orders allow what RC11 does",
        false => points,
    };
    match found.unexplored.is_empty() {
        true => points,
        false => format!("{points}; searched were, {}", found.unexplored.join("; and ")),
    }
}

fn notes(options: &Options, found: &Found, symbols: &Symbols) -> Vec<String> {
    let mut notes = found.notes.clone();
    notes.extend_from_slice(&symbols.opaque);
    if symbols.has_no_assertions() {
        notes.push("assertions are compiled out (-DNDEBUG)".into());
    }
    if let Some(evidence) = &found.evidence {
        if evidence.diverged && options.search.replay.is_some() && kind(evidence.kind).is_some() {
            notes.push(
                "the schedule could not be followed to its end: this is another execution".into(),
            );
        }
        notes.extend(stale::explain(evidence, symbols, &threads(evidence, symbols)));
    }
    if let Some(call) = &found.forked_because {
        notes.push(format!(
            "the program reaches beyond its memory ({call}), so each execution had its own process"
        ));
    }
    if found.racy > 0 && !options.search.races {
        notes.push(format!("{} places race; races were not asked for", found.racy));
    }
    if options.search.memory == Memory::Sc || options.search.search == Search::Schedules {
        notes.push(
            "atomic operations of every memory order were executed as sequentially consistent"
                .into(),
        );
    }
    notes
}

fn statistics(found: &Found, violated: bool) -> Statistics {
    Statistics {
        states: found.graphs,
        executions: Some(found.executions),
        depth: found.evidence.as_ref().map_or(0, |evidence| evidence.events.len() as u64),
        errors: u64::from(violated),
        complete: found.halt == Halt::Done,
        memory_bytes: found.memory,
        seconds: found.seconds,
        per_bound: found
            .rows
            .iter()
            .map(|row| BoundRow {
                stale: found.weak.then_some(row.stale),
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
    counted(number, "preemption")
}

fn stale_choices(number: u32) -> String {
    match number {
        0 => "no stale choice".into(),
        _ => counted(number, "stale choice"),
    }
}

/// What a violation is called; `None` for what is none.
fn kind(kind: Kind) -> Option<ViolationKind> {
    Some(match kind {
        Kind::Assertion => ViolationKind::Assertion,
        Kind::Abort => ViolationKind::Abort,
        Kind::Signal => ViolationKind::Signal,
        Kind::Deadlock => ViolationKind::Deadlock,
        Kind::Livelock => ViolationKind::Livelock,
        Kind::DataRace => ViolationKind::DataRace,
        Kind::UseAfterFree => ViolationKind::UseAfterFree,
        Kind::DoubleFree => ViolationKind::DoubleFree,
        Kind::Leak => ViolationKind::Leak,
        Kind::ExitCode => ViolationKind::ExitCode,
        Kind::Misuse => ViolationKind::Misuse,
        Kind::None | Kind::StepLimit | Kind::Nondeterminism | Kind::Unsupported => return None,
    })
}

fn violation(
    options: &Options,
    evidence: &Evidence,
    found: &Found,
    symbols: &Symbols,
) -> Option<Violation> {
    let kind = kind(evidence.kind)?;
    let threads = threads(evidence, symbols);
    let (message, line) = message(options, evidence, symbols, &threads);
    let line = line.unwrap_or_default();
    Some(Violation {
        kind,
        message,
        file: line.file,
        line: line.line,
        trace: trace(evidence, symbols, &threads),
        simplest: is_simplest(options, found, evidence),
        stale: found.weak.then_some(evidence.stale),
    })
}

/// Whether every execution with fewer stale choices, or as many and fewer preemptions, was searched.
fn is_simplest(options: &Options, found: &Found, evidence: &Evidence) -> bool {
    let rows = found.rows.iter().filter(|row| row.stale == evidence.stale).count();
    let below = evidence.stale == 0 || found.fewer_stale;
    options.search.replay.is_none() && rows == evidence.preemptions as usize && below
}

/// The names of threads.
fn threads(evidence: &Evidence, symbols: &Symbols) -> Vec<String> {
    let name = |(number, thread): (usize, &Thread)| words::thread(symbols, number, thread);
    evidence.threads.iter().enumerate().map(name).collect()
}

/// The user's line at which an execution was left.
fn standing_at(symbols: &Symbols, standing: &Standing) -> String {
    at(symbols.place(standing.pc, &standing.frames).as_ref())
}

fn with_place(symbols: &Symbols, trouble: &Trouble) -> String {
    let line = symbols.place(trouble.pc, &trouble.frames);
    match (&trouble.other, line.as_ref()) {
        (None, Some(line)) => format!("{} ({}:{})", trouble.message, line.file, line.line),
        _ => trouble.message.clone(),
    }
}

fn message(
    options: &Options,
    evidence: &Evidence,
    symbols: &Symbols,
    threads: &[String],
) -> (String, Option<Line>) {
    if let (Some(trouble), None) = (&evidence.trouble, &evidence.race) {
        let line = match &trouble.place {
            Some(place) => Some(symbols.told(place, options.folder.as_deref())),
            None => symbols.place(trouble.pc, &trouble.frames),
        };
        let mut text = format!("{}{}", trouble.message, at(line.as_ref()));
        if let Some(other) = &trouble.other {
            let place = at(symbols.line(other.pc).as_ref());
            text.push_str(&format!(", {}{place}", other.role));
        }
        return (text, line);
    }
    if let Some(race) = &evidence.race {
        let names = Names::of(evidence, symbols);
        let access = |access: &Access| {
            let name = threads.get(access.thread).map_or("a thread", |name| name.as_str());
            let verb = if access.write { "writes" } else { "reads" };
            let what = variable(access, &names);
            let place = at(symbols.place(access.pc, &access.frames).as_ref());
            let within = symbols.within_package(access.pc, &access.frames);
            let within = within.map_or(String::new(), |within| format!(" (in {within})"));
            format!("{name} {verb}{what}{place}{within}")
        };
        let text = format!(
            "data race: {} and {}, and neither happens before the other",
            access(&race[0]),
            access(&race[1])
        );
        return (text, symbols.place(race[1].pc, &race[1].frames));
    }
    let (mut text, line) = waits(evidence, symbols, threads);
    // A thread that is gone may be the reason why others wait.
    if let Some(panic) = evidence.panics.first() {
        let name = threads.get(panic.thread).map_or("a thread", |name| name.as_str());
        let place = symbols.told(&panic.place, options.folder.as_deref());
        let message = &panic.message;
        text.push_str(&format!(", after {name} panicked{}: {message}", at(Some(&place))));
    }
    (text, line)
}

/// The name of what is accessed, behind a space, if it has one.
fn variable(access: &Access, names: &Names<'_>) -> String {
    names.known(access.address).map_or(String::new(), |name| format!(" {name}"))
}

/// The value that an access is about, where it is known.
fn value(access: &Access, is_later: bool) -> String {
    let Some(value) = access.value else { return String::new() };
    let value = words::number(value);
    match (access.write, is_later) {
        (false, _) => format!(" -> {value}"),
        (true, false) => format!(" = {value}"),
        // It is not written yet.
        (true, true) => format!(" (was {value})"),
    }
}

/// A plain access as a step.
fn accesses(
    (access, is_later): (&Access, bool),
    (symbols, names): (&Symbols, &Names<'_>),
    threads: &[String],
) -> TraceStep {
    let line = symbols.place(access.pc, &access.frames).unwrap_or_default();
    let verb = if access.write { "write" } else { "read" };
    TraceStep {
        process: threads.get(access.thread).cloned().unwrap_or_default(),
        pid: access.thread,
        partner: None,
        file: line.file,
        line: line.line,
        text: format!("{verb}{}{}", variable(access, names), value(access, is_later)),
        switch: Switch::None,
        changes: Vec::new(),
        output: String::new(),
    }
}

fn trace(evidence: &Evidence, symbols: &Symbols, threads: &[String]) -> Trace {
    let mut last = None;
    let names = Names::of(evidence, symbols);
    let mut steps: Vec<TraceStep> = evidence
        .events
        .iter()
        .map(|event| {
            let switch = match last {
                Some(before) if before != event.thread && event.preemption => Switch::Preemption,
                Some(before) if before != event.thread => Switch::Forced,
                _ => Switch::None,
            };
            last = Some(event.thread);
            let line = symbols.place(event.pc, &event.frames).unwrap_or_default();
            let changes = match event.number && event.before != event.after {
                true => vec![Change {
                    name: names.object(event.address),
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
                text: words::describe(&names, threads, event)
                    + &stale::origin(evidence, event, symbols),
                switch,
                changes,
                output: String::new(),
            }
        })
        .collect();
    let mut hidden = shown::hidden(&evidence.events, symbols);
    let mut calls = fold::calls(evidence, symbols);
    if let Some([earlier, later]) = &evidence.race {
        // Accesses are no scheduling points. The execution ends with the second one.
        let place = at(symbols.place(earlier.pc, &earlier.frames).as_ref());
        let other = threads.get(earlier.thread).map_or("a thread", |name| name.as_str());
        let verb = if earlier.write { "write" } else { "read" };
        let mut last = accesses((later, true), (symbols, &names), threads);
        last.text.push_str(&format!(", races with the {verb} of {other}{place}"));
        last.switch = match steps.last() {
            Some(before) if before.pid != later.thread => Switch::Forced,
            _ => Switch::None,
        };
        steps.push(last);
        let first = earlier.step.min(steps.len() - 1);
        steps.insert(first, accesses((earlier, false), (symbols, &names), threads));
        hidden.insert(first, false);
        hidden.push(false);
        calls.insert(first, None);
        calls.push(None);
    }
    let steps = shown::keep(steps.into_iter().zip(calls).collect(), &hidden);
    let mut steps = fold::fold(steps, &evidence.calls);
    if steps.iter().any(|step| step.file != steps[0].file) {
        for step in steps.iter_mut().filter(|step| !step.file.is_empty()) {
            let file = step.file.rsplit('/').next().unwrap_or_default();
            step.text = format!("{file}: {}", step.text);
        }
    }
    let waiting = waiting(evidence, symbols, threads);
    let observations = Observations { waiting, ..Observations::default() };
    Trace { steps, observations, ..Trace::default() }
}
