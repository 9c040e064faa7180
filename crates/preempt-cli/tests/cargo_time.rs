//! Time in tests over std's own types: it never runs backwards along what happens before, it has passed when a wait is
//! over, and `--pauses kept` keeps the order that tests with pauses rely on.

mod rust_crates;

use rust_crates::Crate;

/// Hold, however long pauses and timeouts last.
const RIGHT: &str = r#"
use std::sync::{mpsc, Arc, Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
fn ms(n: u64) -> Duration { Duration::from_millis(n) }

#[test]
fn a_message_comes_after_the_pause_before_it() {
    let begin = Instant::now();
    let (s, r) = mpsc::channel();
    let t = thread::spawn(move || { sleep(ms(100)); s.send(Instant::now()).unwrap(); });
    let sent = r.recv().unwrap();
    assert!(begin.elapsed() >= ms(100) && Instant::now() >= sent);
    t.join().unwrap();
}

#[test]
fn what_is_acquired_is_not_later() {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = flag.clone();
    let begin = Instant::now();
    let t = thread::spawn(move || { sleep(ms(30)); theirs.store(true, Release); });
    if flag.load(Acquire) { assert!(begin.elapsed() >= ms(30)); }
    t.join().unwrap();
    assert!(begin.elapsed() >= ms(30));
}

#[test]
fn a_wait_that_times_out_has_taken_its_time() {
    let pair = (Mutex::new(()), Condvar::new());
    let begin = Instant::now();
    let guard = pair.0.lock().unwrap();
    let (guard, result) = pair.1.wait_timeout(guard, ms(50)).unwrap();
    drop(guard);
    assert!(!result.timed_out() || begin.elapsed() >= ms(50));
    let begin = Instant::now();
    thread::park_timeout(ms(70));
    let (_s, r) = mpsc::channel::<()>();
    assert_eq!(r.recv_timeout(ms(20)), Err(mpsc::RecvTimeoutError::Timeout));
    assert!(begin.elapsed() >= ms(20));
}

#[test]
fn a_loop_until_a_time_ends() {
    let (s, r) = mpsc::channel::<u32>();
    let t = thread::spawn(move || { sleep(ms(10)); drop(s) });
    let until = Instant::now() + ms(100);
    let mut rounds = 0;
    while Instant::now() < until {
        if r.recv_timeout(ms(40)) == Err(mpsc::RecvTimeoutError::Disconnected) { break; }
        rounds += 1;
    }
    assert!(rounds <= 3);
    t.join().unwrap();
}
"#;

/// Hold only if a longer pause ends later, and if what takes no time is done before any pause ends.
const RELYING: &str = r#"
use std::sync::{mpsc, Arc, atomic::{AtomicU32, Ordering::SeqCst}};
use std::thread::{self, sleep};
use std::time::Duration;
fn ms(n: u64) -> Duration { Duration::from_millis(n) }

#[test]
fn the_longer_pause_ends_later() {
    let last = Arc::new(AtomicU32::new(0));
    let pause = |n: u32| { let last = last.clone(); thread::spawn(move || { sleep(ms(100 * u64::from(n))); last.store(n, SeqCst) }) };
    let (a, b) = (pause(2), pause(1));
    a.join().unwrap();
    b.join().unwrap();
    assert_eq!(last.load(SeqCst), 2);
}

#[test]
fn a_timeout_comes_before_a_later_message() {
    let (s, r) = mpsc::channel();
    let t = thread::spawn(move || { sleep(ms(1500)); s.send(7).unwrap(); });
    assert_eq!(r.recv_timeout(ms(1000)), Err(mpsc::RecvTimeoutError::Timeout));
    assert_eq!(r.recv_timeout(ms(1000)), Ok(7));
    t.join().unwrap();
}

#[test]
fn the_others_are_ready_after_a_pause() {
    let ready = Arc::new(AtomicU32::new(0));
    let theirs = ready.clone();
    let t = thread::spawn(move || { theirs.store(1, SeqCst); });
    sleep(ms(200));
    assert_eq!(ready.load(SeqCst), 1);
    t.join().unwrap();
}
"#;

/// Fails whatever pauses mean.
const WRONG: &str = r#"
#[test]
fn an_update_is_lost() {
    use std::sync::{Arc, atomic::{AtomicU32, Ordering::SeqCst}};
    use std::{thread, time::Duration};
    let x = Arc::new(AtomicU32::new(0));
    let add = || { let x = x.clone(); thread::spawn(move || { thread::sleep(Duration::from_millis(100)); let seen = x.load(SeqCst); x.store(seen + 1, SeqCst) }) };
    let (a, b) = (add(), add());
    a.join().unwrap();
    b.join().unwrap();
    assert_eq!(x.load(SeqCst), 2);
}
"#;

/// What is repeated is what was found.
#[test]
fn the_command_that_repeats_it_keeps_pauses_too() {
    let subject = Crate::library(WRONG);
    let ended = subject.run(&["test", "--", "--time", "5s", "--pauses", "kept"]);
    // What was not looked at is said where the verdicts are read.
    let said = "ended in the order of their times (--pauses kept)";
    assert!(ended.stdout.contains(said), "{}", ended.stdout);
    let line =
        ended.stdout.lines().find_map(|line| line.strip_prefix("repeat it:  preempt cargo "));
    let line = line.unwrap_or_else(|| panic!("{}", ended.stdout));
    let words: Vec<&str> = line.split_whitespace().collect();
    let again = subject.run(&words);
    assert_eq!(again.code, 1, "{line}\n{}", again.stdout);
    assert!(again.stdout.contains("left: 1, right: 2"), "{line}\n{}", again.stdout);
}

fn verdict(value: &serde_json::Value) -> &str {
    value["verdict"].as_str().unwrap_or_default()
}

#[test]
fn time_is_consistent() {
    let subject = Crate::library(RIGHT);
    for pauses in ["any", "kept"] {
        let ended = subject.run(&["test", "--", "--json", "--time", "5s", "--pauses", pauses]);
        assert_eq!(ended.tests().len(), 4, "{}", ended.stderr);
        for (name, value) in ended.tests() {
            assert!(verdict(&value).starts_with("holds"), "{pauses} {name}: {value}");
        }
    }
}

#[test]
fn the_order_of_pauses_is_kept_if_asked_for() {
    let subject = Crate::library(&format!("{RELYING}{WRONG}"));
    let any = subject.run(&["test", "--", "--json", "--time", "5s"]);
    let kept = subject.run(&["test", "--", "--json", "--time", "5s", "--pauses", "kept"]);
    assert_eq!(any.tests().len(), 4, "{}", any.stderr);
    for (name, value) in any.tests() {
        assert_eq!(verdict(&value), "violated", "{name}: {value}");
        let explained = value["notes"].to_string().contains("--pauses kept");
        assert!(explained || name == "an_update_is_lost", "{name}: {value}");
    }
    for (name, value) in kept.tests() {
        if name == "an_update_is_lost" {
            assert_eq!(value["violation"]["preemptions"], 1, "{value}");
        } else {
            assert!(verdict(&value).starts_with("holds"), "{name}: {value}");
            let claim = value["claim"].as_str().unwrap_or_default();
            assert!(claim.contains("in the order of their times"), "{name}: {value}");
        }
    }
}
