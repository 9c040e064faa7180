//! What loom and shuttle get wrong, beside our answer, as measured by the benchmark itself.

use std::collections::BTreeSet;
use std::process::Command;

/// The distinct outcomes of all executions that a tool makes.
fn outcomes(tool: &str, body: &str, size: usize, bound: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-rust-testing"))
        .args(["one", tool, body, &size.to_string(), "false", bound, "10000"])
        .output()
        .expect("the benchmark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("RESULT exhausted"), "{text}");
    text.lines().filter_map(|l| l.strip_prefix("OUTCOME ")).map(str::to_string).collect()
}

/// Where loom runs fewer executions than there are partial orders, it loses outcomes that plain
/// search without any reduction shows, so its smaller count is no merit.
#[test]
fn loom_loses_outcomes_within_its_bound() {
    for bound in ["1", "2"] {
        let plain = outcomes("preempt-dfs", "treiber_outcomes", 3, bound);
        assert_eq!(outcomes("preempt", "treiber_outcomes", 3, bound), plain);
        let loom = outcomes("loom", "treiber_outcomes", 3, bound);
        println!("treiber, bound {bound}: {} outcomes, loom sees {}", plain.len(), loom.len());
        assert!(plain.difference(&loom).count() > 0, "bound {bound}: {plain:?} {loom:?}");
    }
    let plain = outcomes("preempt-dfs", "log_outcomes", 3, "1");
    assert_eq!(plain.len(), 24);
    assert_eq!(outcomes("preempt", "log_outcomes", 3, "1"), plain);
    assert_eq!(outcomes("loom", "log_outcomes", 3, "1").len(), 18);
}

/// Without preemption every thread runs to its end before another begins, so no update is lost
/// under SeqCst. loom fails these at bound 0: its failures use values that SeqCst forbids.
#[test]
fn loom_fails_without_preemption_what_only_preemption_breaks() {
    for body in ["racy_counter", "spinlock", "ticketlock"] {
        assert_eq!(answer("preempt-dfs", body, 2, true, "0"), "exhausted", "{body}");
        assert_eq!(answer("preempt", body, 2, true, "0"), "exhausted", "{body}");
        assert_eq!(answer("loom", body, 2, true, "0"), "failure", "{body}");
    }
}

fn answer(tool: &str, body: &str, size: usize, broken: bool, bound: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-rust-testing"))
        .args(["one", tool, body, &size.to_string(), &broken.to_string(), bound, "1000"])
        .output()
        .expect("the benchmark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|l| l.starts_with("RESULT")).unwrap_or("RESULT aborted");
    line.split_whitespace().nth(1).unwrap_or("").to_string()
}

/// Four philosophers deadlock within one preemption; loom's bound loses the free switches.
#[test]
fn loom_misses_a_deadlock_within_its_bound() {
    assert_eq!(answer("preempt", "philosophers", 4, true, "1"), "failure");
    assert_eq!(answer("loom", "philosophers", 4, true, "1"), "exhausted");
    assert_eq!(answer("preempt", "bounded_queue", 1, true, "0"), "failure");
    assert_eq!(answer("loom", "bounded_queue", 1, true, "0"), "exhausted");
}

/// Store buffering is impossible under SeqCst.
#[test]
fn loom_raises_a_false_alarm_for_sequential_consistency() {
    assert_eq!(answer("preempt", "store_buffering", 1, false, "none"), "exhausted");
    assert_eq!(answer("loom", "store_buffering", 1, false, "none"), "failure");
    assert_eq!(answer("preempt", "work_stealing", 2, false, "none"), "exhausted");
    assert_eq!(answer("loom", "work_stealing", 2, false, "none"), "failure");
}

/// A loop that spins has infinitely many schedules but few partial orders.
#[test]
fn shuttle_does_not_end_on_a_spin_loop() {
    assert_eq!(answer("preempt", "spinlock", 2, false, "none"), "exhausted");
    assert_eq!(answer("shuttle", "spinlock", 2, false, "none"), "timeout");
}
