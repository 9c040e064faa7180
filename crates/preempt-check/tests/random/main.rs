//! Every store, search and reduction against a naive explorer, on random small programs.

mod naive;
mod program;

use naive::{Truth, explore};
use preempt_check::{Answer, Check, Options, Reduction, Search, Storage};
use preempt_core::{Enabled, Outcome, System, Verdict, ViolationKind, replay};
use program::Program;

/// The lossy ones are large enough to lose nothing on programs this small.
const STORAGES: [Storage; 5] = [
    Storage::Auto,
    Storage::Exact,
    Storage::Tree,
    Storage::Compact,
    Storage::Bitstate { bits: Some(22), hashes: 5 },
];

/// How many programs to try; set `PREEMPT_RANDOM_PROGRAMS` for a longer campaign.
fn seeds() -> std::ops::Range<u64> {
    let programs = std::env::var("PREEMPT_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok());
    0..programs.unwrap_or(150)
}

fn programs() -> impl Iterator<Item = (u64, Program, Truth)> {
    seeds().filter_map(|seed| {
        let program = Program::random(seed);
        let truth = explore(&program, 20_000);
        (!truth.too_large).then_some((seed, program, truth))
    })
}

fn settings(reductions: &[Reduction]) -> Vec<Options> {
    let mut all = Vec::new();
    for storage in STORAGES {
        for search in [Search::Depth, Search::Breadth] {
            for threads in [1, 2] {
                for &reduction in reductions {
                    let options = Options {
                        storage,
                        search,
                        threads,
                        reduction,
                        first: true,
                        ..Options::default()
                    };
                    all.push(options);
                }
            }
        }
    }
    all
}

#[test]
fn everything_is_found_and_counted_without_reduction() {
    let mut violated = 0u64;
    for (seed, program, truth) in programs() {
        for options in settings(&[Reduction::None]) {
            let context = format!("seed {seed}, {options:?}");
            let all = Options { max_errors: 0, ..options.clone() };
            let answer = Check::new(&program).options(all).run();
            let numbers = &answer.claim.statistics;
            assert_eq!(numbers.states, truth.states, "states: {context}");
            assert_eq!(numbers.transitions, truth.transitions, "transitions: {context}");
            assert_eq!(numbers.matched, truth.transitions - truth.states, "matched: {context}");
            assert_eq!(numbers.atomic_steps, truth.atomic_steps, "atomic steps: {context}");
            assert_eq!(numbers.errors, truth.faults + truth.deadlocks, "errors: {context}");
            let transitions: usize = program.processes.iter().map(Vec::len).sum();
            let unreached = transitions - truth.taken.len();
            if is_complete(&answer) && keeps_states(&options) {
                assert_eq!(answer.claim.unreached.len(), unreached, "unreached: {context}");
            }
            let first = Check::new(&program).options(options).run();
            for answer in [answer, first] {
                let expected = truth.faults + truth.deadlocks > 0;
                assert_eq!(answer.verdict() == Verdict::Violated, expected, "{context}");
                check_counterexample(&program, &answer, &context);
            }
        }
        violated += u64::from(truth.faults + truth.deadlocks > 0);
    }
    assert!(
        violated > seeds().end / 8,
        "only {violated} programs were wrong: the test says little"
    );
}

fn is_complete(answer: &Answer) -> bool {
    !matches!(answer.verdict(), Verdict::Inconclusive(_))
}

#[test]
fn reductions_keep_every_verdict() {
    let (mut full, mut spin, mut none) = (0, 0, 0);
    for (seed, program, truth) in programs() {
        for options in settings(&[Reduction::Spin, Reduction::Full]) {
            let context = format!("seed {seed}, {options:?}");
            for (assertions, deadlocks) in [(true, false), (false, true)] {
                let options = Options { assertions, deadlocks, max_errors: 0, ..options.clone() };
                let answer = Check::new(&program).options(options.clone()).run();
                let broken = truth.fault_numbers.iter().any(|_| true);
                // Without assertions runtime faults are still reported, so only deadlocks of
                // programs without faults can be compared.
                if !assertions && broken {
                    continue;
                }
                let expected = if assertions { truth.faults > 0 } else { truth.deadlocks > 0 };
                assert_eq!(answer.verdict() == Verdict::Violated, expected, "{context}");
                if deadlocks {
                    assert_eq!(
                        answer.claim.statistics.errors, truth.deadlocks,
                        "deadlocks: {context}"
                    );
                    let states = answer.claim.statistics.states;
                    assert!(states <= truth.states, "{context}");
                    if options.search == Search::Depth && options.threads == 1 {
                        match options.reduction {
                            Reduction::Full => full += states,
                            _ => spin += states,
                        }
                        none += truth.states;
                    }
                }
                check_counterexample(&program, &answer, &context);
            }
        }
    }
    none /= 2;
    assert!(full < spin && spin < none, "states: {full} full, {spin} as Spin, {none} in all");
}

#[test]
fn every_reachable_fault_stays_reachable_under_reduction() {
    for (seed, program, truth) in programs() {
        for options in settings(&[Reduction::Spin, Reduction::Full]) {
            let all = Options { max_errors: 0, deadlocks: false, ..options.clone() };
            let answer = Check::new(&program).options(all).run();
            let transitions: usize = program.processes.iter().map(Vec::len).sum();
            if is_complete(&answer) && keeps_states(&options) {
                let unreached = transitions - truth.taken.len();
                assert_eq!(answer.claim.unreached.len(), unreached, "seed {seed}, {options:?}");
            }
        }
    }
}

/// Where states may have been missed, nothing is said about unreached code.
fn keeps_states(options: &Options) -> bool {
    !matches!(options.storage, Storage::Compact | Storage::Bitstate { .. })
}

fn check_counterexample(program: &Program, answer: &Answer, context: &str) {
    let Some(found) = &answer.counterexample else {
        assert_ne!(answer.verdict(), Verdict::Violated, "{context}");
        return;
    };
    let (_, mut state, outcome) =
        replay(program, &found.steps).unwrap_or_else(|error| panic!("{error}: {context}"));
    match found.kind {
        ViolationKind::InvalidEnd => {
            let mut enabled = Enabled::new();
            program.enabled(&mut state, &mut enabled);
            assert!(enabled.is_empty() && !program.is_valid_end(&state), "{context}");
        }
        _ => {
            let number = found.fault.expect("a fault has a number");
            let bad = [Outcome::Violated(number), Outcome::Broken(number)];
            assert!(bad.contains(&outcome), "{outcome:?}: {context}");
        }
    }
}
