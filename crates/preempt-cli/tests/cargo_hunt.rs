//! Random programs over std's own types, unmodified, against the same programs over preempt's.
//!
//! The programs are those of `preempt`'s hunt: right by construction, or with one mistake. Unmodified ones execute std's
//! own locks and channels, step by step, so their numbers of partial orders differ; verdicts, least preemptions and
//! stale choices must not.
//!
//! `PREEMPT_CARGO_HUNT` sets how many programs of each kind there are, `PREEMPT_CARGO_HUNT_SEED` the first.

mod rust_crates;

mod library {
    pub(crate) use preempt::cell::UnsafeCell;
    pub(crate) use preempt::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, Weak, atomic, mpsc};
    pub(crate) use preempt::{hint, thread};
}
#[path = "../../preempt/tests/hunt/program.rs"]
mod program;

use preempt::{Check, FailureKind};
use program::{body, mistake, program};
use rust_crates::Crate;
use std::time::Duration;

/// The same programs over std; a cell that is not watched has to be written out.
const MAIN: &str = r#"
mod library {
    pub use std::sync::{atomic, mpsc, Arc, Condvar, Mutex, OnceLock, RwLock, Weak};
    pub use std::{hint, thread};
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);
    impl<T> UnsafeCell<T> {
        pub fn new(value: T) -> Self { UnsafeCell(std::cell::UnsafeCell::new(value)) }
        pub fn with<R>(&self, look: impl FnOnce(*const T) -> R) -> R { look(self.0.get()) }
        pub fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R { change(self.0.get()) }
    }
}
mod program;
mod random;
fn main() {
    let mut words = std::env::args().skip(1);
    let seed: u64 = words.next().unwrap().parse().unwrap();
    let mistake = words.next().map(|_| program::mistake(seed));
    program::body(&program::program(seed, mistake));
}
"#;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What both ways to run a program must agree on: the kind of failure, its stale choices and preemptions.
type Failed = (&'static str, u64, u64);

fn over_preempt(seed: u64) -> Option<Failed> {
    let program = program(seed, Some(mistake(seed)));
    let check = Check::new().time(Duration::from_secs(60)).timeouts(4);
    let report = check.run(|| body(&program));
    let failure = report.failure()?;
    let kind = match failure.kind {
        FailureKind::DataRace => "data_race",
        FailureKind::Deadlock | FailureKind::Livelock => "deadlock",
        _ => "panic",
    };
    Some((kind, u64::from(failure.stale), u64::from(failure.preemptions)))
}

#[test]
fn std_unmodified_has_the_verdicts_of_the_facade() {
    let text = include_str!("../../preempt/tests/hunt/program.rs");
    let text = text.replace("use preempt_testing::Random;", "use crate::random::Random;");
    let random = include_str!("../../preempt-testing/src/random.rs");
    let files = [("src/main.rs", MAIN), ("src/program.rs", &text), ("src/random.rs", random)];
    let subject = Crate::new("", &files);
    let first = number("PREEMPT_CARGO_HUNT_SEED", 0);
    let (mut right, mut equal) = (0, 0);
    // Mistakes were found by the last of these: a switch that costs a preemption was free; a thread waited for ever for a
    // timeout that was not let come; a sender learnt from another one that was dropped.
    for seed in (first..first + number("PREEMPT_CARGO_HUNT", 6)).chain([5017, 20165, 20523]) {
        let name = seed.to_string();
        let run = |time: &str, more: &[&str]| {
            let words = ["run", "--", "--json", "-q", "--timeouts", "4", "--time", time, "--"];
            let ended = subject.run(&[&words[..], &[name.as_str()], more].concat());
            let (_, value) = ended.tests().pop().unwrap_or_else(|| panic!("{}", ended.stderr));
            value
        };
        let report = run("2s", &[]);
        let verdict = report["verdict"].as_str().unwrap_or_default();
        let claim = report["claim"].as_str().unwrap_or_default();
        let limit = claim.contains("time limit") || claim.contains("too many states");
        let accepted = verdict.starts_with("holds") || verdict == "inconclusive" && limit;
        assert!(accepted, "seed {seed}: {report}");
        right += 1;
        let report = run("30s", &["wrong"]);
        let violation = &report["violation"];
        let kind = match violation["kind"].as_str() {
            Some("data_race") => "data_race",
            Some("deadlock" | "livelock") => "deadlock",
            Some(_) => "panic",
            None => panic!("seed {seed}: the mistake was not found: {report}"),
        };
        let found = (
            kind,
            violation["stale"].as_u64().unwrap_or(0),
            violation["preemptions"].as_u64().unwrap_or(0),
        );
        // What was sampled beside a search that takes long is not the simplest, and does not say so.
        match violation["simplest"].as_bool() {
            Some(true) => assert_eq!(Some(found), over_preempt(seed), "seed {seed}: {report}"),
            _ => assert!(Some(found) >= over_preempt(seed), "seed {seed}: {report}"),
        }
        equal += 1;
    }
    println!("{right} correct programs accepted, {equal} mistakes found as by the facade");
}
