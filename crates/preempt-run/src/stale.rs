//! Why a failing execution is not an interleaving, and which memory orders would forbid it, in words.
//! What they are was tried by the program's own search.

use crate::symbols::{Line, Symbols};
use crate::words;
use preempt_exchange::{Event, Evidence};

/// Lines for the report of an execution with stale choices.
pub(crate) fn explain(evidence: &Evidence, symbols: &Symbols, threads: &[String]) -> Vec<String> {
    if evidence.stale == 0 {
        return Vec::new();
    }
    let stories =
        evidence.events.iter().filter_map(|event| story(evidence, event, symbols, threads));
    stories.chain(remedy(evidence, symbols)).collect()
}

/// A place, as seen from another one.
fn place(line: &Line, from: &str) -> String {
    match line.file == from {
        true => format!("line {}", line.line),
        false => format!("{}:{}", line.file, line.line),
    }
}

fn story(
    evidence: &Evidence,
    event: &Event,
    symbols: &Symbols,
    threads: &[String],
) -> Option<String> {
    let source = event.source.as_ref().filter(|source| source.stale)?;
    let line = symbols.place(event.pc, &event.frames).unwrap_or_default();
    let site = format!("{}:{}", line.file, line.line);
    let who = threads.get(event.thread).map_or("a thread", String::as_str);
    if source.fails {
        return Some(format!(
            "{who}: the weak compare_exchange at {site} fails for no reason, as it may"
        ));
    }
    let newest = words::number(source.value);
    let other = made(evidence, source.newest, symbols, &line.file)?;
    Some(match event.action.as_str() {
        "store" => format!(
            "{who} stores {} at {site} before the {newest} that was stored at {other}: nothing orders \
             the two stores the other way around",
            words::number(event.first)
        ),
        action => format!(
            "{who} reads {} at {site}, though {newest} was stored at {other}: nothing orders that store \
             before this {}",
            words::number(event.result),
            if action == "load" { "load" } else { "operation" }
        ),
    })
}

/// Where a step is written, as seen from a file.
fn made(evidence: &Evidence, step: Option<usize>, symbols: &Symbols, from: &str) -> Option<String> {
    let event = evidence.events.get(step?)?;
    Some(place(&symbols.place(event.pc, &event.frames)?, from))
}

fn remedy(evidence: &Evidence, symbols: &Symbols) -> Option<String> {
    let mut file = None;
    let changes: Vec<String> = evidence
        .remedy
        .iter()
        .map(|change| {
            let step = evidence.events.iter().find(|event| event.pc == change.pc);
            let frames = step.map_or(&[][..], |event| &event.frames);
            let line = symbols.place(change.pc, frames).unwrap_or_default();
            let from = file.get_or_insert_with(|| line.file.clone());
            format!(
                "{} at {}",
                order(&change.order, &line.file),
                place(&line, if *from == line.file { from } else { "" })
            )
        })
        .collect();
    (!changes.is_empty())
        .then(|| format!("with {} this execution is impossible", changes.join(" and ")))
}

/// A memory order as the language of the file writes it.
fn order<'a>(name: &'a str, file: &str) -> &'a str {
    match name {
        _ if !file.ends_with(".rs") => name,
        "memory_order_relaxed" => "Relaxed",
        "memory_order_acquire" => "Acquire",
        "memory_order_release" => "Release",
        "memory_order_acq_rel" => "AcqRel",
        "memory_order_seq_cst" => "SeqCst",
        _ => name,
    }
}

/// In an execution that is no interleaving: where a value comes from, and what was missed.
pub(crate) fn origin(evidence: &Evidence, event: &Event, symbols: &Symbols) -> String {
    let Some(source) = event.source.as_ref().filter(|_| evidence.stale > 0) else {
        return String::new();
    };
    let file = symbols.place(event.pc, &event.frames).unwrap_or_default().file;
    let made = |step| made(evidence, step, symbols, &file);
    let missed = made(source.newest).filter(|_| source.stale);
    let newest = words::number(source.value);
    match (event.action.as_str(), missed) {
        _ if source.fails => " for no reason".into(),
        ("store", Some(other)) => format!(", before {newest} of {other}"),
        ("store", None) => String::new(),
        (_, Some(other)) => format!(", though {newest} was stored at {other}"),
        (_, None) => made(source.read).map(|line| format!(" of {line}")).unwrap_or_default(),
    }
}
