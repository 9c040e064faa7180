//! The report at the end of a check: the claim in one sentence, then the block of numbers that
//! users of Spin know by heart.
//!
//! Labels and units follow Spin 6's verifier line by line where the number has the same meaning, so
//! that the two can be compared with `diff`; what Spin does not have (bounds, bytes per state)
//! stands below.

use crate::look::Tone;
use crate::{Look, fit};
use preempt_core::{Claim, Statistics, Unreached, Verdict};

/// The whole report.
pub fn render(claim: &Claim, look: &Look) -> String {
    let mut out = sentence(claim, look);
    if !claim.property.is_empty() {
        out.push_str(&format!("property: {}\n", fit::clean(&claim.property)));
    }
    for note in &claim.notes {
        for line in fit::wrap(&format!("note: {}", fit::clean(note)), look.width, 6) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out.push('\n');
    out.push_str(&numbers(&claim.statistics));
    if !claim.statistics.per_bound.is_empty() {
        out.push('\n');
        out.push_str(&coverage(&claim.statistics));
    }
    if !claim.unreached.is_empty() {
        out.push('\n');
        out.push_str(&unreached(&claim.unreached));
    }
    out.push('\n');
    out.push_str(&elapsed(&claim.statistics));
    out
}

/// The claim, wrapped and marked by its verdict.
pub fn sentence(claim: &Claim, look: &Look) -> String {
    let (mark, tone) = match claim.verdict {
        // A tick would say that something was proved.
        Verdict::Nothing => ("!", Tone::Warning),
        Verdict::Holds | Verdict::HoldsWithinBound(_) => (look.glyph("✓", "ok"), Tone::Good),
        Verdict::Violated => (look.glyph("✗", "!!"), Tone::Bad),
        Verdict::Inconclusive(_) => (look.glyph("?", "??"), Tone::Warning),
    };
    let text = format!("{mark} {}", fit::clean(claim.sentence.trim()));
    let mut out = String::new();
    for line in fit::wrap(&text, look.width, 2) {
        out.push_str(&look.paint(tone, &line));
        out.push('\n');
    }
    out
}

/// Spin's block: state vector, depth, errors, stored, matched, transitions, atomic steps, memory.
pub fn numbers(statistics: &Statistics) -> String {
    let s = statistics;
    if let Some(nodes) = s.nodes {
        return format!(
            "errors: {}\n{nodes:>9} nodes of decision diagrams, at most\n\n{}",
            s.errors,
            memory(s)
        );
    }
    let mut out = format!(
        "State-vector {} byte, depth reached {}, errors: {}\n",
        s.state_bytes, s.depth, s.errors
    );
    let mut line = |number: u64, label: &str| {
        out.push_str(&format!("{number:>9} {label}\n"));
    };
    line(s.states, "states, stored");
    if s.revisits > 0 {
        line(s.states + s.revisits, "states, visited");
    }
    line(s.matched, "states, matched");
    // A visit to a known state counts as matched, also where the state is expanded again.
    line(s.transitions, "transitions (= stored+matched)");
    line(s.atomic_steps, "atomic steps");
    out.push('\n');
    out.push_str(&memory(s));
    if s.bytes_per_state > 0.0 {
        out.push_str(&format!("{:9.1}\tbytes per stored state\n", s.bytes_per_state));
    }
    out
}

fn memory(statistics: &Statistics) -> String {
    let megabytes = statistics.memory_bytes as f64 / (1024.0 * 1024.0);
    format!("{megabytes:9.3}\ttotal actual memory usage (in Megabytes)\n")
}

/// What each bound added.
pub fn coverage(statistics: &Statistics) -> String {
    let unit = statistics.bound_unit.name();
    let titles = [unit, "states", "new states", "transitions", "errors"];
    let mut before = 0;
    let cells: Vec<[String; 5]> = statistics
        .per_bound
        .iter()
        .map(|row| {
            let new = row.states.saturating_sub(before);
            before = row.states;
            [
                format!("<= {}", row.bound),
                row.states.to_string(),
                format!("+{new}"),
                row.transitions.to_string(),
                row.errors.to_string(),
            ]
        })
        .collect();
    let widths: [usize; 5] = std::array::from_fn(|column| {
        cells.iter().map(|row| row[column].len()).max().unwrap_or(0).max(titles[column].len())
    });
    let line = |row: [&str; 5]| -> String {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        format!("{}\n", cells.join("  "))
    };
    let mut out = line(titles);
    for row in &cells {
        out.push_str(&line(std::array::from_fn(|column| row[column].as_str())));
    }
    out
}

/// Statements that no execution reached, by process type.
pub fn unreached(list: &[Unreached]) -> String {
    let mut out = String::new();
    for group in list.chunk_by(|a, b| a.process == b.process) {
        out.push_str(&format!("unreached in {}\n", fit::clean(&group[0].process)));
        for place in group {
            let text = fit::clean(&place.text);
            let file = fit::clean(&place.file);
            out.push_str(&format!("\t{file}:{}, \"{text}\"\n", place.line));
        }
        let noun = if group.len() == 1 { "statement" } else { "statements" };
        out.push_str(&format!("\t({} {noun})\n", group.len()));
    }
    out
}

/// Time and rate.
pub fn elapsed(statistics: &Statistics) -> String {
    let s = statistics;
    // Where the search is known apart from the whole, the parts add up to it.
    let known = s.compile_seconds + s.search_seconds;
    let rest = if s.search_seconds > 0.0 { s.seconds - known } else { 0.0 };
    let last = match known > 0.0 && rest >= 0.0005 {
        true => (rest, "to read, simplify and show"),
        false => (0.0, ""),
    };
    let parts = [(s.compile_seconds, "to compile"), (s.search_seconds, "to search"), last];
    let parts = parts.into_iter().filter(|(time, _)| *time > 0.0);
    let parts: Vec<String> =
        parts.map(|(time, what)| format!("{} {what}", seconds(time))).collect();
    let mut out = format!("elapsed time {} seconds", seconds(s.seconds));
    if !parts.is_empty() {
        out.push_str(&format!(" ({})", parts.join(", ")));
    }
    out.push('\n');
    // A rate over a few milliseconds says nothing.
    let searched = if s.search_seconds > 0.0 { s.search_seconds } else { s.seconds };
    if searched >= 0.01 && s.states > 0 {
        let visited = (s.states + s.revisits) as f64;
        out.push_str(&format!("rate {:9.0} states/second\n", visited / searched));
    }
    out
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{seconds:.3}") } else { format!("{seconds:.2}") }
}
