//! Bounded searches against the truth about small random systems.

mod guarded;
mod triples;

use guarded::{Guarded, random_system};
use preempt_check::{Budget, Check, Options, Preemptions, Reduction, Search, simplest};
use preempt_core::{Enabled, Locality, Outcome, ProcessId, Step, System, Verdict, replay};
use std::collections::BTreeSet;
use std::sync::Mutex;
use triples::{Truth, truth};

/// A system that writes down every state whose steps it was asked for.
struct Recorder<'a> {
    system: &'a Guarded,
    reached: Mutex<BTreeSet<Vec<u8>>>,
}

impl System for Recorder<'_> {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.system.initial(state)
    }
    fn process_count(&self, state: &[u8]) -> usize {
        self.system.process_count(state)
    }
    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        self.system.enabled(state, enabled);
        if !self.system.is_transient(state) {
            self.reached.lock().unwrap().insert(state.clone());
        }
    }
    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        self.system.apply(state, step)
    }
    fn is_transient(&self, state: &[u8]) -> bool {
        self.system.is_transient(state)
    }
    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.system.is_valid_end(state)
    }
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        self.system.locality(state, process)
    }
    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        self.system.is_visible(state, process)
    }
}

/// How a search is configured.
#[derive(Clone, Copy, Debug)]
struct Way {
    search: Search,
    reduction: Reduction,
    threads: usize,
}

fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for search in [Search::Auto, Search::Depth] {
        for reduction in [Reduction::None, Reduction::Full] {
            for threads in if search == Search::Auto { 1..=2 } else { 1..=1 } {
                ways.push(Way { search, reduction, threads });
            }
        }
    }
    ways
}

fn options(way: Way, preemptions: Preemptions, max_errors: u64) -> Options {
    Options {
        search: way.search,
        reduction: way.reduction,
        threads: way.threads,
        preemptions,
        max_errors,
        ..Options::default()
    }
}

/// Compares one search of one system at one bound with the truth.
fn compare(seed: u64, system: &Guarded, bound: u32, way: Way, truth: &Truth) {
    let what = || format!("seed {seed}, bound {bound}, {way:?}\n{system:?}");
    if way.reduction == Reduction::None {
        // Without anything to report, only what is explored asks for steps.
        let recorder = Recorder { system, reached: Mutex::default() };
        let silent = Options {
            assertions: false,
            deadlocks: false,
            ..options(way, Preemptions::AtMost(bound), 0)
        };
        let answer = Check::new(&recorder).options(silent).run();
        let reached = recorder.reached.into_inner().unwrap();
        assert_eq!(reached, truth.reached, "{}", what());
        assert_eq!(answer.claim.statistics.states, reached.len() as u64, "{}", what());
    }
    let everything = options(way, Preemptions::AtMost(bound), 0);
    let answer = Check::new(system).options(everything).run();
    let violated = answer.verdict() == Verdict::Violated;
    assert_eq!(violated, truth.simplest.is_some(), "{}", what());
    if !violated {
        let within = Verdict::HoldsWithinBound(bound);
        let exhausted = answer.verdict() == Verdict::Holds;
        assert!(answer.verdict() == within || exhausted, "{}", what());
        if exhausted {
            // Nothing may be left beyond the bound.
            let more = triples::truth(system, bound + 20, 1 << 20).expect("small enough");
            assert_eq!(more.simplest, None, "{}", what());
        }
    }
    let first = Check::new(system).options(options(way, Preemptions::AtMost(bound), 1)).run();
    assert_eq!(first.verdict() == Verdict::Violated, violated, "{}", what());
    if let (Some(violation), Some((least, _))) = (first.claim.violation, truth.simplest) {
        let cost = violation.trace.cost();
        assert!(cost.preemptions >= least, "{}", what());
        if way.reduction == Reduction::None {
            assert!(cost.preemptions <= bound, "{}", what());
        }
    }
}

fn check_system(seed: u64) -> bool {
    let system = random_system(seed);
    let mut last = None;
    for bound in 0..=4 {
        let Some(truth) = truth(&system, bound, 20_000) else { return false };
        for way in ways() {
            compare(seed, &system, bound, way, &truth);
        }
        last = Some(truth);
    }
    let truth = last.expect("five bounds");
    check_simplest(seed, &system, &truth);
    check_iteration(seed, &system, &truth);
    true
}

/// The simplest counterexample has the least weight, and replays.
fn check_simplest(seed: u64, system: &Guarded, truth: &Truth) {
    let found = simplest(system, &Options::default(), Some(4), &mut Budget::unlimited());
    assert!(found.proven);
    let weight = found.counterexample.map(|counterexample| {
        let (trace, ..) = replay(system, &counterexample.steps).expect("an execution");
        let cost = trace.cost();
        assert_eq!(cost.preemptions, found.preemptions);
        (cost.preemptions, cost.steps)
    });
    assert_eq!(weight, truth.simplest, "seed {seed}\n{system:?}");
}

/// Iteration stops at the least bound with a violation, and its rows are true.
fn check_iteration(seed: u64, system: &Guarded, truth: &Truth) {
    for way in ways().into_iter().filter(|way| way.search == Search::Auto) {
        let what = || format!("seed {seed}, {way:?}\n{system:?}");
        let iterate = Preemptions::Iterate { last: Some(4), extra: 0 };
        let answer = Check::new(system).options(options(way, iterate, 1)).run();
        let rows = &answer.claim.statistics.per_bound;
        match truth.simplest {
            Some((least, _)) => {
                assert_eq!(answer.verdict(), Verdict::Violated, "{}", what());
                assert_eq!(rows.last().expect("a row").bound, least, "{}", what());
                let cost = answer.claim.violation.expect("a violation").trace.cost();
                if way.reduction == Reduction::None {
                    assert_eq!(cost.preemptions, least, "{}", what());
                }
            }
            None => assert_ne!(answer.verdict(), Verdict::Violated, "{}", what()),
        }
        if way.reduction == Reduction::None {
            for row in rows.iter().filter(|row| row.errors == 0) {
                let states = triples::truth(system, row.bound, 1 << 20).expect("small").reached;
                assert_eq!(row.states, states.len() as u64, "{}", what());
            }
        }
    }
}

/// `PREEMPT_TEST_SYSTEMS` asks for a longer campaign.
#[test]
fn searches_agree_with_the_truth() {
    let wanted = std::env::var("PREEMPT_TEST_SYSTEMS").ok().and_then(|n| n.parse().ok());
    let (mut done, mut seed) = (0, 0);
    while done < wanted.unwrap_or(150) {
        done += u64::from(check_system(seed));
        seed += 1;
    }
}
