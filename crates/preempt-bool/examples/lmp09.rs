//! The experiments of [LMP09] (Fig. 5 and Table 1) again, beside the paper's seconds, and beyond.
//!
//! `cargo run --release -p preempt-bool --example lmp09 [SECONDS]` limits each cell of the eager
//! column to that many seconds (20). Times are processor seconds of full fixpoints, also where the
//! target is reachable, as the paper's seem to be; "first" is the time of the lazy method to the
//! first counterexample, shown and replayed.

use preempt_bool::{Dialect, Limits, Method, Options, Program, Switches, check, parse};
use preempt_core::Verdict;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Eager and lazy seconds of Fig. 5, per configuration and number of switches.
const FIGURE_5: [(&str, [(&str, &str); 6]); 4] = [
    (
        "1-1",
        [
            ("0.1", "0.1"),
            ("0.3", "0.2"),
            ("43.3", "1.4"),
            ("73.6", "5.5"),
            ("930.0", "20.2"),
            (">1800", "66.8"),
        ],
    ),
    (
        "2-1",
        [
            ("0.2", "0.1"),
            ("0.9", "0.8"),
            ("135.9", "6.3"),
            ("1601.0", "2.6"),
            (">1800", "18.0"),
            (">1800", "122.9"),
        ],
    ),
    (
        "1-2",
        [
            ("0.1", "0.1"),
            ("0.7", "0.9"),
            ("70.1", "0.4"),
            ("597.2", "2.9"),
            (">1800", "14.0"),
            (">1800", "66.1"),
        ],
    ),
    (
        "2-2",
        [
            ("0.2", "0.1"),
            ("1.6", "2.0"),
            ("177.6", "0.8"),
            ("memory", "7.5"),
            ("memory", "66.5"),
            ("memory", "535.9"),
        ],
    ),
];
const TABLE_1: [(&str, &str); 3] = [("6.97", "0.1"), ("194.7", "1.0"), ("memory", "122.5")];

fn main() {
    let eager_limit = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(20);
    println!("Fig. 5: Bluetooth, seconds (paper in parentheses)");
    heading();
    for (name, cells) in FIGURE_5 {
        let program = model(&format!("bluetooth-{name}"));
        for (i, paper) in cells.iter().enumerate() {
            row(name, &program, i as u32 + 1, paper, eager_limit);
        }
    }
    println!("\nTable 1: permutation of 16 bits");
    heading();
    let program = model("permutation-16");
    for (i, paper) in TABLE_1.iter().enumerate() {
        row("16", &program, i as u32 + 1, paper, eager_limit);
    }
    println!("\nWith procedures: the same driver with a recursive `dec`; full fixpoints");
    let program = model("bluetooth-2-2-recursive");
    for switches in 1..=6 {
        let (verdict, direct) = cell(&program, Some(Method::Direct), switches, true, 60);
        let (lazy_verdict, lazy) = cell(&program, Some(Method::Lazy), switches, true, 120);
        assert!(verdict == lazy_verdict || lazy_verdict == '?', "the methods disagree");
        println!("  2-2 k={switches}  {verdict}  direct {direct}  lazy {lazy}");
    }
    println!("\nBeyond the paper, direct, full fixpoints; then what the default does");
    for (name, switches) in [
        ("bluetooth-8-8", 5),
        ("bluetooth-3-3", 5),
        ("bluetooth-3-3", 8),
        ("bluetooth-3-3", 10),
        ("bluetooth-3-3", 40),
        ("wide-64", 4),
        ("wide-64", 40),
    ] {
        let program = model(name);
        let (verdict, seconds) = cell(&program, Some(Method::Direct), switches, true, 60);
        let (chosen, default) = cell(&program, None, switches, false, 60);
        assert!(verdict == chosen, "the methods disagree");
        println!("  {name:<14} k={switches:<3} {verdict}  {seconds}  default {default}");
    }
}

fn heading() {
    println!(
        "  {:<4} {:>2} {:>1} {:>18} {:>18} {:>9} {:>9} {:>9}",
        "", "k", "", "eager", "lazy", "direct", "explicit", "first"
    );
}

fn row(name: &str, program: &Program, switches: u32, paper: &(&str, &str), limit: u64) {
    let (_, eager) = cell(program, Some(Method::Eager), switches, true, limit);
    let (verdict, lazy) = cell(program, Some(Method::Lazy), switches, true, 120);
    let (direct_verdict, direct) = cell(program, Some(Method::Direct), switches, true, 60);
    let (explicit_verdict, explicit) = cell(program, Some(Method::Explicit), switches, true, 60);
    assert!(verdict == direct_verdict && verdict == explicit_verdict, "the methods disagree");
    let first = match verdict {
        'Y' => cell(program, Some(Method::Lazy), switches, false, 60).1,
        _ => String::new(),
    };
    println!(
        "  {name:<4} {switches:>2} {verdict} {:>18} {:>18} {direct:>9} {explicit:>9} {first:>9}",
        format!("{eager} ({})", paper.0),
        format!("{lazy} ({})", paper.1),
    );
}

fn cell(
    program: &Program,
    method: Option<Method>,
    switches: u32,
    full: bool,
    limit: u64,
) -> (char, String) {
    let limits = Limits { time: Some(Duration::from_secs(limit)), ..Limits::default() };
    let options = Options {
        method,
        switches: Switches::AtMost(switches),
        full,
        limits,
        ..Options::default()
    };
    let start = processor_seconds();
    let report = check(program, &options).expect("the target exists");
    let seconds = processor_seconds() - start;
    match report.claim.verdict {
        Verdict::Violated => ('Y', format!("{seconds:.3}")),
        Verdict::Holds | Verdict::HoldsWithinBound(_) | Verdict::Nothing => {
            ('N', format!("{seconds:.3}"))
        }
        Verdict::Inconclusive(_) => ('?', format!(">{limit}")),
    }
}

/// Of this process so far; the clock where the system does not tell.
fn processor_seconds() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = told.and_then(|s| s.split(' ').next()?.parse::<u64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |n| n as f64 / 1e9)
}

fn model(name: &str) -> Program {
    let path = format!("{}/../../models/boolean/{name}.bp", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).expect("the model is in the tree");
    parse(&source, name, Dialect::Slam).expect("the model is correct").0
}
