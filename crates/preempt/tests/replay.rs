//! A failing test tells how to repeat it, is saved, and is tried first next time.

use preempt::sync::Arc;
use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::thread;
use std::process::Command;

/// Fails only when the test below asks for it.
#[preempt::test]
fn inner() {
    let fails = std::env::var("PREEMPT_TEST_INNER").as_deref() == Ok("fail");
    let x = Arc::new(AtomicUsize::new(0));
    let theirs = x.clone();
    let handle = thread::spawn(move || theirs.store(theirs.load(SeqCst) + 1, SeqCst));
    x.store(x.load(SeqCst) + 1, SeqCst);
    handle.join().unwrap();
    assert!(!fails || x.load(SeqCst) == 2, "lost update");
}

fn run(inner: &str, replay: Option<&str>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "inner", "--nocapture"]).env("PREEMPT_TEST_INNER", inner);
    command.env_remove("PREEMPT_REPLAY").env("RUST_BACKTRACE", "0");
    if let Some(schedule) = replay {
        command.env("PREEMPT_REPLAY", schedule);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
fn a_failure_can_be_repeated() {
    let (passed, text) = run("fail", None);
    assert!(!passed, "{text}");
    assert!(text.contains("lost update") && text.contains("with 1 preemption"), "{text}");
    assert!(text.contains("preemption 1"), "{text}");
    // The page exists, stands alone, and shows this test.
    let page = text.split("as a page: ").nth(1).and_then(|t| t.lines().next()).unwrap_or("");
    let page = &page.to_string();
    let html = std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{page}: {error}"));
    assert!(html.contains("lost update") && html.contains("replay.rs"), "{page}");
    assert!(!html.contains("http://") || html.contains("www.w3.org"), "{page} loads something");
    let schedule = text.split("PREEMPT_REPLAY='").nth(1).and_then(|t| t.split('\'').next());
    let schedule = schedule.unwrap_or_else(|| panic!("no schedule in {text}"));
    let (passed, text) = run("fail", Some(schedule));
    assert!(!passed && text.contains("found after 1 execution "), "{text}");
    // Saved, so the next run begins with it.
    let (passed, text) = run("fail", None);
    assert!(!passed && text.contains("found after 1 execution "), "{text}");
    // Repaired: the saved schedule passes and is forgotten.
    let (passed, text) = run("pass", None);
    assert!(passed && text.contains("partial orders; no execution fails"), "{text}");
    assert!(!std::path::Path::new(page).exists(), "the page of a repaired test is gone");
    let (passed, text) = run("fail", None);
    assert!(!passed && !text.contains("found after 1 execution "), "{text}");
    let (passed, text) = run("pass", None);
    assert!(passed, "{text}");
}
