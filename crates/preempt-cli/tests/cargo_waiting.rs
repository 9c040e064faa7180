//! Random programs that wait, over std's own types, unmodified.
//!
//! The programs are those of `preempt`'s own test, and so are the verdicts that follow from how they were made. How far a search of
//! std's own locks and channels comes in the time is not asked.
//!
//! `PREEMPT_CARGO_WAITING` sets how many programs there are, `PREEMPT_CARGO_WAITING_SEED` the first.

mod rust_crates;

mod library {
    pub(crate) use std::sync::{Arc, Condvar, Mutex, atomic, mpsc};
    pub(crate) use std::{hint, thread};
}
#[path = "../../preempt/tests/waiting_programs/program.rs"]
mod program;

use program::{Failure, plan, run};
use rust_crates::Crate;

const MAIN: &str = r#"
mod library {
    pub(crate) use std::sync::{Arc, Condvar, Mutex, atomic, mpsc};
    pub(crate) use std::{hint, thread};
}
mod program;
mod random;
fn main() {
    let seed: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    program::run(program::plan(seed));
}
"#;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn programs_over_std_have_the_verdicts_that_follow_from_how_they_were_made() {
    let text = include_str!("../../preempt/tests/waiting_programs/program.rs");
    let text = text.replace("use preempt_testing::Random;", "use crate::random::Random;");
    let random = include_str!("../../preempt-testing/src/random.rs");
    let files = [("src/main.rs", MAIN), ("src/program.rs", &text), ("src/random.rs", random)];
    let subject = Crate::new("", &files);
    let first = number("PREEMPT_CARGO_WAITING_SEED", 0);
    let (mut hold, mut within, mut fail, mut wrong) = (0, 0, 0, Vec::new());
    for seed in first..first + number("PREEMPT_CARGO_WAITING", 30) {
        let plan = plan(seed);
        let timeouts = plan.timeouts().unwrap_or(4).to_string();
        let name = seed.to_string();
        let time = if plan.expected().is_some() { "30s" } else { "2s" };
        let words =
            ["run", "--", "--json", "-q", "--timeouts", &timeouts, "--time", time, "--", &name];
        let ended = subject.run(&words);
        let (_, report) = ended.tests().pop().unwrap_or_else(|| panic!("{}", ended.stderr));
        let verdict = report["verdict"].as_str().unwrap_or_default();
        let claim = report["claim"].as_str().unwrap_or_default();
        let found = match report["violation"]["kind"].as_str() {
            Some("livelock") => Some(Failure::Livelock),
            Some("deadlock") => Some(Failure::Deadlock),
            Some(_) => Some(Failure::Panic),
            None => None,
        };
        let time_is_up = claim.contains("time limit");
        // A loop that sleeps and counts its rounds may be one with a limit.
        let is_endless = claim.contains("too many steps");
        match verdict {
            "holds" if plan.expected().is_none() => hold += 1,
            "holds_within_bound" if plan.expected().is_none() => within += 1,
            "inconclusive" if time_is_up && plan.expected().is_none() => within += 1,
            "inconclusive" if is_endless && plan.expected() == Some(Failure::Livelock) => fail += 1,
            _ if found.is_some() && found == plan.expected() => fail += 1,
            _ => wrong.push(format!("{seed}: {plan:?}: {report}")),
        }
    }
    println!(
        "{hold} hold, {within} hold within a bound or as far as searched, {fail} fail as planted"
    );
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    // What the programs do here is not executed.
    let _ = run;
}
