//! Weak memory orders: preempt and loom on the same litmus tests and algorithms.

use crate::with_preempt::weak::{ALGORITHMS, LITMUS};
use crate::{Case, Geometric, Result, measure, outcomes, run, show};
use std::fmt::Write as _;

/// Why loom answers otherwise, where it does; found by looking at what it lost or added.
fn reason(name: &str, lost: usize, added: usize) -> &'static str {
    match (name, lost, added) {
        (_, 0, 0) => "",
        (name, 0, _) if name.contains("sc") => {
            "loom runs SeqCst accesses as AcqRel: outcomes that no execution has"
        }
        (name, _, 0) if name.starts_with("2+2W") => {
            "loom stores in the order of execution: other modification orders are missed"
        }
        (name, 0, _) if name.starts_with("LB") => "loom",
        _ => "both ways",
    }
}

/// All tables.
pub(crate) fn tables(limit: u64) -> String {
    let mut text = format!(
        "# Weak memory: preempt and loom on the same bodies\n\n\
         Made by `cargo run --release -p bench-rust-testing -- weak {limit} > benches/WEAK-MEMORY.md` (the argument \
         is the limit per search in milliseconds of processor time), in one run. The bodies are one text compiled \
         against each tool (`crates/preempt/tests/bodies/weak.rs`); loom 0.7. Without any bound. Each cell shows \
         how the search ended, the number of executions of the body, and processor time including the start of \
         the tool.\n\n"
    );
    let mut rates = Geometric::default();
    let mut times = Geometric::default();
    litmus(&mut text, &mut rates, &mut times, limit);
    algorithms(&mut text, &mut rates, &mut times, limit);
    let _ = writeln!(
        text,
        "\n## Summary\n\nGeometric means over rows in which both exhaust: {:.1} times loom's executions per \
         second of processor time, 1/{:.1} of its time.",
        rates.mean(),
        times.mean()
    );
    text
}

fn compare(ours: &Result, loom: &Result, rates: &mut Geometric, times: &mut Geometric) {
    if ours.status == "exhausted" && loom.status == "exhausted" {
        let rate = |result: &Result| result.executions as f64 / result.seconds;
        rates.0.push(rate(ours) / rate(loom));
        times.0.push(loom.seconds / ours.seconds);
    }
}

fn graphs(case: &Case, limit: u64) -> u64 {
    let text = run(case, limit).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("GRAPHS "));
    line.and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn litmus(text: &mut String, rates: &mut Geometric, times: &mut Geometric, limit: u64) {
    text.push_str(
        "## Litmus tests\n\nOutcomes are what the threads see together with memory in the end; how many there are \
         comes from the axioms.\n\n\
         | test | outcomes | preempt | graphs | loom | lost by loom | added by loom | why |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (size, (name, _, expected)) in LITMUS.into_iter().enumerate() {
        let case = |tool| Case { tool, body: "litmus", size, broken: false, bound: None };
        let [ours, loom] = ["preempt", "loom"].map(|tool| outcomes(&case(tool), limit));
        let (lost, added) = (ours.difference(&loom).count(), loom.difference(&ours).count());
        let [us, them] = ["preempt", "loom"].map(|tool| measure(&case(tool), limit));
        compare(&us, &them, rates, times);
        let _ = writeln!(
            text,
            "| {name} | {expected} | {} seen; {} | {} | {} seen; {} | {lost} | {added} | {} |",
            ours.len(),
            show(&us),
            graphs(&case("preempt"), limit),
            loom.len(),
            show(&them),
            reason(name, lost, added)
        );
    }
}

fn algorithms(text: &mut String, rates: &mut Geometric, times: &mut Geometric, limit: u64) {
    text.push_str(
        "\n## Algorithms\n\nCorrect, and with one order too weak. loom fails correct ones that rely on SeqCst \
         accesses, because it runs these as AcqRel.\n\n\
         | algorithm | preempt, correct | graphs | loom, correct | preempt, too weak | loom, too weak |\n\
         |---|---|---|---|---|---|\n",
    );
    for (size, (name, _)) in ALGORITHMS.into_iter().enumerate() {
        let case = |tool, broken| Case { tool, body: "algorithm", size, broken, bound: None };
        let result = |tool, broken| measure(&case(tool, broken), limit);
        let (us, them) = (result("preempt", false), result("loom", false));
        compare(&us, &them, rates, times);
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} |",
            show(&us),
            graphs(&case("preempt", false), limit),
            show(&them),
            show(&result("preempt", true)),
            show(&result("loom", true))
        );
    }
}
