//! std's `Mutex` under `preempt cargo test`: taken by one step that waits, or by all the steps of std. Both find the same with
//! the same number of preemptions; the first finds it sooner, and proves more.

mod rust_crates;

use rust_crates::Crate;

const TESTS: &str = r#"
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

#[test]
fn three_threads() {
    let sum = Arc::new(Mutex::new(0));
    let add = |sum: Arc<Mutex<i32>>| move || (0..2).for_each(|_| *sum.lock().unwrap() += 1);
    let threads: Vec<_> = (0..3).map(|_| thread::spawn(add(sum.clone()))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*sum.lock().unwrap(), 6);
}

#[test]
fn signalled() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = pair.clone();
    let thread = thread::spawn(move || {
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    let mut ready = pair.0.lock().unwrap();
    while !*ready {
        ready = pair.1.wait(ready).unwrap();
    }
    drop(ready);
    thread.join().unwrap();
}

#[test]
fn in_both_orders() {
    let pair = Arc::new((Mutex::new(0), Mutex::new(0)));
    let theirs = pair.clone();
    let thread = thread::spawn(move || {
        let _first = theirs.0.lock().unwrap();
        let _second = theirs.1.lock().unwrap();
    });
    {
        let _second = pair.1.lock().unwrap();
        let _first = pair.0.lock().unwrap();
    }
    thread.join().unwrap();
}

#[test]
fn locked_twice() {
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| drop(lock.lock().unwrap()));
        let _held = lock.lock().unwrap();
        let _again = lock.lock().unwrap();
    });
}

#[test]
fn tried() {
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *lock.lock().unwrap() += 1);
        assert!(lock.try_lock().is_ok(), "another thread has it");
    });
}

#[test]
fn poisoned() {
    let lock = Arc::new(Mutex::new(0));
    let theirs = lock.clone();
    let ended = thread::spawn(move || {
        let _held = theirs.lock().unwrap();
        panic!("with the lock");
    });
    assert!(ended.join().is_err() && lock.lock().is_err());
}

fn polled(pause: fn()) {
    let ready = Arc::new(Mutex::new(false));
    let theirs = ready.clone();
    let thread = thread::spawn(move || *theirs.lock().unwrap() = true);
    while !*ready.lock().unwrap() {
        pause();
    }
    thread.join().unwrap();
}

#[test]
fn polled_with_yields() {
    polled(thread::yield_now);
}

#[test]
fn polled_with_pauses() {
    polled(|| thread::sleep(Duration::from_millis(1)));
}

#[test]
fn polled_without_yields() {
    polled(std::hint::spin_loop);
}
"#;

#[test]
fn one_step_finds_what_all_steps_find() {
    let subject = Crate::library(TESTS);
    let whole = subject.run(&["test", "--", "--json", "--time", "20s"]);
    let steps = subject.run(&["test", "--", "--json", "--time", "2s", "--std", "steps"]);
    // A preemption while the other thread has the lock, and one back; or the outdated value that says that it has it.
    for (name, expected, costs) in [
        ("in_both_orders", "deadlock", 1),
        ("locked_twice", "deadlock", 0),
        ("tried", "assertion", 2),
    ] {
        for ended in [&whole, &steps] {
            let violation = &ended.test(name)["violation"];
            assert_eq!(violation["kind"], expected, "{name}: {violation}");
            let number = |key: &str| violation[key].as_u64().unwrap_or_default();
            assert_eq!(number("preemptions") + number("stale"), costs, "{name}: {violation}");
        }
    }
    for name in [
        "three_threads",
        "signalled",
        "poisoned",
        "polled_with_yields",
        "polled_with_pauses",
        "polled_without_yields",
    ] {
        assert_eq!(whole.test(name)["verdict"], "holds", "{}", whole.test(name));
        // Within the time.
        let violation = &steps.test(name)["violation"];
        assert!(violation.is_null(), "{name}: {violation}");
    }
    let says = |value: &serde_json::Value| value["claim"].to_string().contains("--std steps");
    assert!(says(&whole.test("three_threads")), "{}", whole.test("three_threads"));
    assert!(!says(&steps.test("three_threads")), "{}", steps.test("three_threads"));
}

/// A schedule counts the steps of the way to take locks that it was found with.
#[test]
fn the_command_that_repeats_it_takes_locks_in_the_same_way() {
    let subject = Crate::library(TESTS);
    let words = ["test", "in_both_orders", "--", "--std", "steps"];
    let ended = subject.run(&words);
    let repeat = ended.stdout.lines().find(|line| line.starts_with("repeat it:"));
    let repeat = repeat.unwrap_or_else(|| panic!("{}", ended.stdout));
    assert!(repeat.contains("--std steps"), "{repeat}");
}
