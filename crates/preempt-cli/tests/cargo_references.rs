//! Counts of references of unmodified Rust: what is found if their order is not searched where it makes no difference, and
//! what if it is searched everywhere, is the same.
//!
//! `PREEMPT_ARC_PROGRAMS` sets how many random programs there are, `PREEMPT_ARC_SEED` the first.

mod rust_crates;

use rust_crates::Crate;
use serde_json::Value;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Kind, stale choices and preemptions of a violation.
fn violation(value: &Value) -> Option<(String, u64, u64)> {
    let violation = value["violation"].as_object()?;
    let number = |key: &str| violation[key].as_u64().unwrap_or(0);
    Some((violation["kind"].to_string(), number("stale"), number("preemptions")))
}

#[test]
fn random_programs_fail_in_the_same_way() {
    let first = number("PREEMPT_ARC_SEED", 0);
    let count = number("PREEMPT_ARC_PROGRAMS", 12);
    let mut text = String::from("mod program;\nmod random;\n");
    for seed in first..first + count {
        text.push_str(&format!("#[test]\nfn p{seed}() {{ program::run({seed}) }}\n"));
    }
    let program = include_str!("arc_programs/program.rs");
    let random = include_str!("../../preempt-testing/src/random.rs");
    let files = [("src/lib.rs", &*text), ("src/program.rs", program), ("src/random.rs", random)];
    let subject = Crate::new("", &files);
    let run = |words: &[&str]| {
        let options = ["test", "--lib", "--", "--json", "--sample", "off", "--time"];
        let mut tests = subject.run(&[&options[..], words].concat()).tests();
        tests.retain(|(name, _)| name.starts_with('p'));
        tests
    };
    let (whole, steps) = (run(&["10s"]), run(&["20s", "--std", "steps"]));
    assert_eq!((whole.len(), steps.len()), (count as usize, count as usize));
    let (mut equal, mut violated, mut open) = (0, 0, 0);
    let mut less = 0;
    for ((name, whole), (_, steps)) in whole.iter().zip(&steps) {
        let (found, known) = (violation(whole), violation(steps));
        let ended = |value: &Value| value["verdict"] == "holds" || violation(value).is_some();
        if !ended(steps) || !ended(whole) {
            // It took too long one way.
            open += 1;
            continue;
        }
        assert_eq!(found, known, "{name}: {whole}\n{steps}");
        equal += 1;
        violated += u32::from(found.is_some());
        let orders = |value: &Value| value["states"].as_u64();
        less += u32::from(orders(whole) < orders(steps));
    }
    println!("{equal} equal, {violated} of them violated, {less} with fewer orders, {open} open");
    assert!(equal >= count / 2, "{equal} equal, {open} open");
}

/// Tests in which threads share something by references and never read the count, and how many partial orders they have: those of
/// the operations on what is shared.
const SHARED: &str = r#"
use std::sync::{atomic::{AtomicUsize, Ordering::*}, Arc, Mutex};
use std::thread;

fn by_threads<T: Send + Sync + 'static>(shared: T, each: fn(&T)) -> Arc<T> {
    let shared = Arc::new(shared);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || (0..2).for_each(|_| each(&shared)))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    shared
}

#[test]
fn added() {
    let sum = by_threads(AtomicUsize::new(0), |sum| _ = sum.fetch_add(1, SeqCst));
    assert_eq!(sum.load(SeqCst), 6);
}

#[test]
fn locked() {
    let sum = by_threads(Mutex::new(0), |sum| *sum.lock().unwrap() += 1);
    assert_eq!(*sum.lock().unwrap(), 6);
}

struct Destroyed(Arc<AtomicUsize>, thread::ThreadId);

impl Drop for Destroyed {
    fn drop(&mut self) {
        self.0.store(1 + usize::from(thread::current().id() == self.1), SeqCst);
    }
}

/// It depends on which thread drops the last reference.
#[test]
fn destroyed_in_another_thread() {
    let by = Arc::new(AtomicUsize::new(0));
    let value = Arc::new(Destroyed(by.clone(), thread::current().id()));
    let other = value.clone();
    let thread = thread::spawn(move || drop(other));
    drop(value);
    thread.join().unwrap();
    assert_eq!(by.load(SeqCst), 1, "the thread that began has destroyed it");
}
"#;

#[test]
fn orders_are_those_of_what_is_shared() {
    let subject = Crate::library(SHARED);
    let ended = subject.run(&["test", "--", "--json", "--time", "20s"]);
    for name in ["added", "locked"] {
        let value = ended.test(name);
        assert_eq!(value["verdict"], "holds", "{value}");
        let orders = value["per_bound"].as_array().and_then(|rows| rows.last()?["states"].as_u64());
        // 6! / (2! 2! 2!)
        assert_eq!(orders, Some(90), "{value}");
        assert!(value["claim"].to_string().contains("--std steps"), "{value}");
    }
    let value = ended.test("destroyed_in_another_thread");
    assert_eq!(violation(&value), Some(("\"assertion\"".into(), 0, 1)), "{value}");
    // The order is part of what is reported.
    assert!(value["violation"].to_string().contains("fetch_sub"), "{value}");
}
