//! `preempt explain`: what a code or a verdict means.

use crate::failure::Failure;
use crate::output::print;
use crate::spin_flags;
use preempt_promela::syntax::codes;
use std::process::ExitCode;

/// Words that are no diagnostic codes but deserve a paragraph.
const WORDS: [(&str, &str); 9] = [
    (
        "holds",
        "No execution violates the property. Everything that can happen was explored, exactly.",
    ),
    (
        "holds_within_bound",
        "No execution with at most the given number of preemptions violates the property. A\npreemption is a context switch away from a process that could have gone on. A violation,\nif there is one, needs at least one preemption more. Most concurrency bugs need few.",
    ),
    (
        "violated",
        "There is an execution that violates the property, and it is shown: fewest preemptions\nfirst, then fewest steps. It was replayed by the reference interpreter before it was shown.",
    ),
    (
        "inconclusive",
        "No violation was found, but not everything was searched: memory, time or depth ran out, the\nsearch was interrupted, or the store forgets states on purpose (bitstate, hash compaction).\nThe report says what was covered.",
    ),
    (
        "preemption",
        "A context switch that was not forced: the process that moved last could have moved again,\nand another one moved instead. A switch away from a process that is blocked or has ended is\nfree.",
    ),
    (
        "fair",
        "--fair leaves out executions in which some process can move from some point on for ever, but\nnever does (weak fairness). Real schedulers are fair, so such executions are no bugs.",
    ),
    (
        "por",
        "Partial-order reduction explores one order of steps that commute instead of all orders. It\nchanges no verdict. With liveness it is used only where that is proven: automata in SI normal\nform, ample sets chosen at the source state.",
    ),
    (
        "exit",
        "0 holds (also within a bound that was asked for), 1 violated, 2 usage or input error,\n3 inconclusive, 101 a bug in preempt.",
    ),
    ("spin", ""),
];

/// Runs `preempt explain`.
pub(crate) fn run(word: Option<&str>) -> Result<ExitCode, Failure> {
    let Some(word) = word else {
        list();
        return Ok(ExitCode::SUCCESS);
    };
    if word == "spin" {
        print("Spin's flags and their equivalents (preempt spin accepts Spin's own):\n");
        for (spin, ours) in spin_flags::TABLE {
            print(&format!("  {spin:<36} {ours}\n"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let lower = word.to_lowercase().replace('-', "_");
    if let Some((_, text)) = WORDS.iter().find(|(name, _)| *name == lower) {
        print(&format!("{text}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(code) = codes::find(&word.to_uppercase()) {
        print(&format!(
            "{} {}\n\n{}\n\nwrong:\n{}\n\nright:\n{}\n",
            code.id,
            code.title,
            code.explanation,
            indent(code.wrong),
            indent(code.right)
        ));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some((code, meaning)) = boolean_code(word) {
        print(&format!("{code} {meaning} (Boolean programs)\n"));
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Input(format!("`{word}` is not a known code; `preempt explain` lists all codes")))
}

fn list() {
    for (word, _) in WORDS {
        print(&format!("{word}\n"));
    }
    for code in codes::TABLE {
        print(&format!("{} {}\n", code.id, code.title));
    }
    for (code, meaning) in preempt_bool::CODES {
        print(&format!("{code} {meaning}\n"));
    }
}

fn boolean_code(word: &str) -> Option<(&'static str, &'static str)> {
    preempt_bool::CODES.iter().find(|(code, _)| code.eq_ignore_ascii_case(word)).copied()
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
