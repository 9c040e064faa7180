//! What loom and shuttle get wrong, beside our answer, as measured by the benchmark itself.

use std::process::Command;

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
