//! std's fine print: small programs with all the outcomes that std's documentation allows, written down by hand. preempt must
//! see exactly these, and std, run again and again with random pauses, none but these.
#![allow(clippy::duplicate_mod, reason = "once with std's names and once with the facade's")]
#![allow(clippy::incompatible_msrv, reason = "what the newest std has is tried, too")]

#[path = "."]
mod on_std {
    pub(super) use std::{sync, thread, thread_local};
    /// What a program calls where std is to get the chance to go on elsewhere.
    pub(super) fn pause() {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static STATE: AtomicU64 = AtomicU64::new(1);
        let number = STATE.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed);
        match (number ^ number >> 29) % 4 {
            0 => std::thread::yield_now(),
            1 => std::thread::sleep(std::time::Duration::from_micros(number >> 56)),
            _ => {}
        }
    }
    #[path = "programs.rs"]
    pub(super) mod programs;
}

#[path = "."]
mod on_preempt {
    pub(super) use preempt::{sync, thread, thread_local};
    pub(super) fn pause() {}
    #[path = "programs.rs"]
    pub(super) mod programs;
}

use preempt::{Check, Outcome};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

/// Each program is run so often on std.
const REPETITIONS: usize = 60;

#[test]
fn outcomes_are_those_that_std_documents() {
    // Panics on purpose are no news.
    std::panic::set_hook(Box::new(|_| ()));
    let mut wrong = Vec::new();
    let programs = on_preempt::programs::PROGRAMS.iter().zip(on_std::programs::PROGRAMS);
    for ((name, program, outcomes), (_, std_program, _)) in programs {
        let expected: BTreeSet<String> = outcomes.split('|').map(str::to_string).collect();
        let seen = Mutex::new(BTreeSet::new());
        let report = Check::new().time(Duration::from_secs(60)).run(|| {
            // A program that never waits may do nothing that preempt sees.
            preempt::choose(1);
            let outcome = program();
            seen.lock().unwrap().insert(outcome);
        });
        let seen = seen.into_inner().unwrap();
        if !matches!(report.outcome, Outcome::Holds) {
            wrong.push(format!("{name}: {report}"));
        }
        if seen != expected {
            wrong.push(format!("{name}: {seen:?} with preempt, {expected:?} documented"));
        }
        let on_std: BTreeSet<String> = (0..REPETITIONS).map(|_| std_program()).collect();
        if !on_std.is_subset(&expected) {
            wrong.push(format!("{name}: {on_std:?} with std, {expected:?} documented"));
        }
    }
    let _ = std::panic::take_hook();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
