//! Long programs with few threads: what tools make that unroll loops and inline calls.
//!
//! Each thread takes cells from a list that is kept in three cells, marks a cell as its own, tests
//! the mark, and gives the cell back; every access to a cell is a chain of conditions, every
//! attempt is written out. With `locked` no thread can take a cell that another has; without, a cell
//! stays in the list while it is used.

use crate::check::check;
use crate::options::{Method, Options, Switches};
use crate::{Dialect, parse};
use preempt_core::Verdict;
use std::fmt::Write;

const CELLS: usize = 3;

/// A program of three threads that take a cell `times` times each.
fn program(times: usize, locked: bool) -> String {
    let mut out = String::from("decl int<2> head, next0, next1, next2, owner0, owner1, owner2;\n");
    out.push_str("void init() begin\n  head, next0, next1, next2 := 0, 1, 2, 3;\n");
    out.push_str("  owner0, owner1, owner2 := 3, 3, 3;\nend\n");
    for thread in 0..CELLS {
        let _ = writeln!(out, "thread user{thread}() begin\n  decl int<2> cell, after, seen;");
        out.push_str("  decl bool mine;\n");
        for _ in 0..times {
            out.push_str("  mine := F;\n");
            for _ in 0..2 {
                out.push_str("  if (!mine) then\n");
                out.push_str(if locked { "    atomic_begin;\n" } else { "" });
                out.push_str("    cell := head;\n    after := 3;\n");
                each_cell(&mut out, |cell| format!("after := next{cell}"));
                let take = if locked { "head, mine := after, T" } else { "mine := T" };
                let _ = writeln!(out, "    if (cell != 3) then\n      {take};\n    fi;");
                out.push_str(if locked { "    atomic_end;\n" } else { "" });
                out.push_str("  fi;\n");
            }
            out.push_str("  if (mine) then\n");
            each_cell(&mut out, |cell| format!("owner{cell} := {thread}"));
            out.push_str("    seen := 3;\n");
            each_cell(&mut out, |cell| format!("seen := owner{cell}"));
            let _ = writeln!(out, "    assert(seen = {thread});");
            out.push_str(if locked { "    atomic_begin;\n" } else { "" });
            out.push_str("    after := head;\n");
            each_cell(&mut out, |cell| format!("next{cell} := after"));
            out.push_str("    head := cell;\n");
            out.push_str(if locked { "    atomic_end;\n" } else { "" });
            out.push_str("  fi;\n");
        }
        out.push_str("end\n");
    }
    out
}

/// Does something to the cell that `cell` names.
fn each_cell(out: &mut String, what: impl Fn(usize) -> String) {
    for cell in 0..CELLS {
        let _ = writeln!(out, "    if (cell = {cell}) then\n      {};\n    fi;", what(cell));
    }
}

/// The choice and its alternatives agree on programs of hundreds (when asked: thousands) of lines.
#[test]
fn long_programs_are_solved_by_some_method() {
    let times = std::env::var("PREEMPT_LARGE").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    for (locked, k) in [(false, 2), (true, 2)] {
        let source = program(times, locked);
        let (parsed, _) = parse(&source, "large.bp", Dialect::Slam).unwrap();
        let mut answers = Vec::new();
        for method in [None, Some(Method::Lazy), Some(Method::Direct)] {
            let switches = Switches::AtMost(k);
            let start = std::time::Instant::now();
            let report =
                check(&parsed, &Options { method, switches, ..Options::default() }).unwrap();
            eprintln!(
                "{} lines, locked {locked}, {method:?}: {} by {} in {:.2} s",
                source.lines().count(),
                report.claim.sentence,
                report.method.name(),
                start.elapsed().as_secs_f64()
            );
            answers.push(report.claim.verdict == Verdict::Violated);
            if method.is_none() && !locked {
                assert_eq!(report.switches, Some(2), "the fewest switches");
            }
        }
        assert_eq!(answers, [!locked; 3]);
    }
}
