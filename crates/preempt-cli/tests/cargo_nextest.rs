//! `preempt cargo nextest run`: nextest builds, selects and shows; each test is searched.

mod rust_crates;

use rust_crates::{Crate, Ended};

const TESTS: &str = r#"
use std::sync::{Arc, Mutex, atomic::{AtomicU32, Ordering::SeqCst}};
use std::thread;

#[test]
fn a_lock_keeps_updates() {
    let x = Arc::new(Mutex::new(0));
    let y = x.clone();
    let t = thread::spawn(move || *y.lock().unwrap() += 1);
    *x.lock().unwrap() += 1;
    t.join().unwrap();
    assert_eq!(*x.lock().unwrap(), 2);
}

#[test]
fn an_update_is_lost() {
    let x = Arc::new(AtomicU32::new(0));
    let y = x.clone();
    let t = thread::spawn(move || y.store(y.load(SeqCst) + 1, SeqCst));
    x.store(x.load(SeqCst) + 1, SeqCst);
    t.join().unwrap();
    assert_eq!(x.load(SeqCst), 2);
}

#[test]
#[ignore]
fn not_today() { panic!("it was asked for") }
"#;

#[test]
fn nextest_shows_what_a_search_finds() {
    if !preempt_testing::heavy_peer("cargo-nextest") {
        return;
    }
    let subject = Crate::library(TESTS);
    let run =
        |words: &[&str]| subject.run(&[&["nextest", "run", "--no-fail-fast"], words].concat());
    let text = |ended: &Ended| format!("{}\n{}", ended.stdout, ended.stderr);
    let ended = run(&["--", "--time", "5s"]);
    let said = text(&ended);
    // 100: a test has failed.
    assert_eq!(ended.code, 100, "{said}");
    assert!(said.contains("2 tests run: 1 passed, 1 failed, 1 skipped"), "{said}");
    assert!(said.contains("1 preemption,"), "{said}");
    let repeat =
        said.lines().find_map(|line| line.trim().strip_prefix("repeat it:  preempt cargo "));
    let words: Vec<&str> = repeat.unwrap_or_else(|| panic!("{said}")).split_whitespace().collect();
    assert_eq!(subject.run(&words).code, 1, "{words:?}");
    // Its own selections and options, and what is asked of the search.
    let ended = run(&["-E", "test(keeps)", "--", "--time", "5s"]);
    assert_eq!(ended.code, 0, "{}", text(&ended));
    let ended = run(&["--run-ignored", "only", "--", "--time", "5s"]);
    assert!(text(&ended).contains("it was asked for"), "{}", text(&ended));
    let ended = run(&["a_lock", "--", "--bound", "many"]);
    assert_eq!(ended.code, 2, "{}", text(&ended));
}

#[test]
fn other_commands_of_nextest_are_refused() {
    let subject = Crate::library(TESTS);
    for (words, why) in [
        (&["nextest", "list"][..], "`nextest run` is supported"),
        (&["nextest", "run", "--", "--replay", "p1.0"], "repeats schedules"),
        (&["nextest", "run", "--", "a_lock"], "before --"),
    ] {
        let ended = subject.run(words);
        assert_eq!(ended.code, 2, "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(why), "{words:?}: {}", ended.stderr);
    }
}
