//! A failing test tells how to repeat it, is saved, and is tried first next time.

use preempt::sync::Arc;
use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::thread;
use std::process::Command;

/// Fails only when the test below asks for it. Ignored otherwise: where it passes, what was saved of a failure is removed.
#[preempt::test]
#[ignore = "the test below runs it, in a process of its own"]
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
    command.args(["--exact", "inner", "--nocapture", "--ignored"]).env("PREEMPT_TEST_INNER", inner);
    command.env_remove("PREEMPT_REPLAY").env("RUST_BACKTRACE", "0");
    if let Some(schedule) = replay {
        command.env("PREEMPT_REPLAY", schedule);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// Both tests below run the same inner test, whose page and saved schedule are files: one after the other.
static INNER: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn a_failure_can_be_repeated() {
    let _alone = INNER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
    let link = format!("in VS Code: vscode://preempt.preempt/execution?page={page}\n");
    assert!(page.contains(' ') || text.contains(&link), "{text}");
    let schedule = text.split("PREEMPT_REPLAY='").nth(1).and_then(|t| t.split('\'').next());
    let schedule = schedule.unwrap_or_else(|| panic!("no schedule in {text}"));
    // The command names this test, and no other.
    assert!(text.contains("cargo test -p preempt --test replay -- --exact inner\n"), "{text}");
    let (passed, text) = run("fail", Some(schedule));
    assert!(!passed && text.contains("found after 1 execution "), "{text}");
    // Saved, so the next run begins with it.
    let (passed, text) = run("fail", None);
    assert!(!passed && text.contains("found after 1 execution "), "{text}");
    // Repaired: the saved schedule passes and is forgotten.
    let (passed, text) = run("pass", None);
    assert!(passed && text.contains("no execution fails; "), "{text}");
    assert!(!std::path::Path::new(page).exists(), "the page of a repaired test is gone");
    let (passed, text) = run("fail", None);
    assert!(!passed && !text.contains("found after 1 execution "), "{text}");
    let (passed, text) = run("pass", None);
    assert!(passed, "{text}");
}

/// A schedule that is no execution of the test: nothing was repeated, and that is no success.
#[test]
fn a_schedule_that_does_not_fit_is_a_failure() {
    use preempt::{Check, FailureKind, Outcome};
    let body = || {
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let handle = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        x.fetch_add(1, SeqCst);
        handle.join().unwrap();
        assert_eq!(x.load(SeqCst), 2);
    };
    for wrong in ["p1.7.7", "p1.0x200", "p1.0.1.1.1.1.1", "nonsense"] {
        match Check::new().replay(wrong).run(body).outcome {
            Outcome::Failed(failure) => assert_eq!(failure.kind, FailureKind::Input, "{wrong}"),
            other => panic!("{wrong}: {other:?}"),
        }
    }
    // One that fits, and does not fail.
    let outcome = Check::new().replay("p1").run(body).outcome;
    assert!(matches!(outcome, Outcome::Inconclusive(_)), "{outcome:?}");
    let _alone = INNER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (passed, text) = run("pass", Some("p1.9.9.9"));
    assert!(!passed && text.contains("does not fit this test"), "{text}");
}
