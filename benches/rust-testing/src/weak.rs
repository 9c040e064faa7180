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
         Made by `cargo run --release -p bench-rust-testing -- weak {limit} > benches/WEAK-MEMORY.md` (the argument \
         is the limit per search in milliseconds of processor time), in one run. The bodies are one text compiled \
         against each tool (`crates/preempt/tests/bodies/weak.rs`); loom 0.7. Without any bound. Each cell shows \
         how the search ended, the number of executions of the body, and processor time including the start of \
         the tool.\n\n"
    );
    let mut ratios = Ratios::default();
    litmus(&mut text, &mut ratios, limit);
    algorithms(&mut text, &mut ratios, limit);
    let _ = writeln!(
        text,
        "\n## Summary\n\nGeometric means. Over rows in which both exhaust, loom takes {:.1} times as long. Over all correct \
         bodies, with each search repeated until the limit: preempt's search makes {:.1} times as many \
         executions per second of processor time as loom's, and random executions, stale choices included, are {:.1} \
         times as many. preempt's search looks at every prefix of an execution once, which takes longer than executing \
         these bodies; it makes fewer executions instead: never more than there are consistent graphs, where loom \
         makes {:.0} times as many or does not end. A body may be begun a few times more, by executions that are stopped \
         because they show something new about the test (that it uses weak orders, that a loop waits): {:.1} times \
         as often as it is executed, in the mean.",
        ratios.times.mean(),
        ratios.searched.mean(),
        ratios.sampled.mean(),
        ratios.executions.mean(),
        ratios.started.mean()
    );
    text
}

/// loom's numbers by ours, or ours by loom's.
#[derive(Default)]
struct Ratios {
    times: Geometric,
    searched: Geometric,
    sampled: Geometric,
    executions: Geometric,
    started: Geometric,
}

/// Times of searches that both exhaust, and how fast each tool executes a body: in the search, repeated until the
/// limit, and at random. The two tools take turns, so that what else the machine does affects both.
fn compare(
    case: &dyn Fn(&'static str) -> Case,
    (ours, loom): (&Result, &Result),
    ratios: &mut Ratios,
    limit: u64,
) {
    let rate = |result: &Result| result.executions as f64 / result.seconds;
    let best = |tool: &'static str| (0..3).map(move |_| tool);
    let (mut searched, mut theirs) = (0.0, 0.0);
    for (us, them) in best("preempt-repeated").zip(best("loom-repeated")) {
        searched = f64::max(searched, rate(&measure(&case(us), limit)));
        theirs = f64::max(theirs, rate(&measure(&case(them), limit)));
    }
    let sampled = rate(&measure(&case("preempt-random"), limit));
    if loom.status != "failure" && theirs > 0.0 {
        ratios.searched.0.push(searched / theirs);
        ratios.sampled.0.push(sampled / theirs);
    }
    if ours.status == "exhausted" {
        ratios.started.0.push(ours.started as f64 / ours.executions as f64);
    }
    if ours.status == "exhausted" && loom.status == "exhausted" {
        ratios.times.0.push(loom.seconds / ours.seconds);
        ratios.executions.0.push(loom.executions as f64 / ours.executions as f64);
    }
}

fn graphs(case: &Case, limit: u64) -> u64 {
    let text = run(case, limit).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("GRAPHS "));
    line.and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn litmus(text: &mut String, ratios: &mut Ratios, limit: u64) {
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
        compare(&case, (&us, &them), ratios, limit);
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

fn algorithms(text: &mut String, ratios: &mut Ratios, limit: u64) {
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
        compare(&|tool| case(tool, false), (&us, &them), ratios, limit);
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
