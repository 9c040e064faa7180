//! Weak memory orders: preempt and loom on the same litmus tests and algorithms.

use crate::with_preempt::weak::{ALGORITHMS, LITMUS};
use crate::{Case, Geometric, Result, measure, outcomes, run, show};
use std::fmt::Write as _;

/// Why loom answers otherwise, where it does.
fn reason(name: &str, lost: usize, added: usize) -> &'static str {
    match (name.contains("sc"), lost, added) {
        (_, 0, 0) => "",
        (true, 0, _) => "loom runs SeqCst accesses as AcqRel: an outcome that no execution has",
        _ => "not known",
    }
}

/// All tables.
pub(crate) fn tables(limit: u64) -> String {
    let mut text = format!(
        "# Weak memory: preempt and loom on the same bodies\n\n\
         Made by `cargo run -p bench-rust-testing -- weak {limit} > benches/WEAK-MEMORY.md` (the argument \
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
        "\n## Summary\n\nGeometric mean over rows in which both exhaust: loom takes {:.1} times as long. Geometric \
         mean over all correct bodies: random executions of preempt, stale choices included, are {:.1} times \
         as many per second of processor time as loom's. The search makes so few executions that starting it is most \
         of its time: of those it makes fewer per second than loom.",
        times.mean(),
        rates.mean()
    );
    text
}

/// Times of searches that both exhaust, and how fast each tool executes a body: preempt at random, because
/// its search executes next to nothing.
fn compare(
    case: &dyn Fn(&'static str) -> Case,
    (ours, loom): (&Result, &Result),
    (rates, times): (&mut Geometric, &mut Geometric),
    limit: u64,
) {
    let rate = |result: &Result| result.executions as f64 / result.seconds;
    let random = measure(&case("preempt-random"), limit);
    if loom.executions > 50 {
        rates.0.push(rate(&random) / rate(loom));
    }
    if ours.status == "exhausted" && loom.status == "exhausted" {
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
        compare(&case, (&us, &them), (rates, times), limit);
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
        "\n## Algorithms\n\nCorrect, and with one order too weak. loom fails the correct left_right, because it runs \
         SeqCst accesses as AcqRel, and the correct event_count: the main thread sees the condition, does not park and \
         waits in `join`; the notifier sees that it was about to wait and unparks it; loom's `unpark` wakes any \
         blocked thread, so `join` returns before the notifier has ended, and an assertion of loom's own fails \
         (`state.notified`, rt/notify.rs). With std the token of `unpark` is kept for a later `park`.\n\n\
         | algorithm | preempt, correct | graphs | loom, correct | preempt, too weak | loom, too weak |\n\
         |---|---|---|---|---|---|\n",
    );
    for (size, (name, _)) in ALGORITHMS.into_iter().enumerate() {
        let case = |tool, broken| Case { tool, body: "algorithm", size, broken, bound: None };
        let result = |tool, broken| measure(&case(tool, broken), limit);
        let (us, them) = (result("preempt", false), result("loom", false));
        compare(&|tool| case(tool, false), (&us, &them), (rates, times), limit);
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
