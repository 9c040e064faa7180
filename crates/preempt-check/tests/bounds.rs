//! Bounded searches against the truth about small random systems.

mod guarded;
mod triples;

use guarded::{Guarded, random_system};
use preempt_check::{Budget, Check, Options, Preemptions, Reduction, Search, Storage, simplest};
use preempt_core::{
    Describe, Enabled, Independence, Locality, Outcome, ProcessId, Step, Stop, System, Verdict,
    replay,
};
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
}

impl Independence for Recorder<'_> {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        self.system.locality(state, process)
    }
    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        self.system.is_visible(state, process)
    }
}

impl Describe for Recorder<'_> {}

/// A system whose processes have higher numbers.
struct Shifted<'a> {
    system: &'a Guarded,
    by: u16,
}

impl Shifted<'_> {
    fn step(&self, step: Step, by: impl Fn(u16) -> u16) -> Step {
        let process = |process: ProcessId| ProcessId(by(process.0));
        Step { process: process(step.process), partner: step.partner.map(process), ..step }
    }
}

impl System for Shifted<'_> {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.system.initial(state)
    }
    fn process_count(&self, state: &[u8]) -> usize {
        self.system.process_count(state) + usize::from(self.by)
    }
    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let mut lower = Enabled::new();
        self.system.enabled(state, &mut lower);
        for step in lower.steps() {
            enabled.push(self.step(*step, |process| process + self.by));
        }
    }
    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        self.system.apply(state, self.step(step, |process| process - self.by))
    }
    fn is_transient(&self, state: &[u8]) -> bool {
        self.system.is_transient(state)
    }
    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.system.is_valid_end(state)
    }
}

impl Independence for Shifted<'_> {}

impl Describe for Shifted<'_> {}

/// How a search is configured.
#[derive(Clone, Copy, Debug)]
struct Way {
    search: Search,
    reduction: Reduction,
    storage: Storage,
    threads: usize,
}

/// All ways to search, over one of the stores in turn.
fn ways(seed: u64) -> Vec<Way> {
    let stores = [Storage::Exact, Storage::Tree, Storage::Compact, Storage::Auto];
    let storage = stores[(seed % 4) as usize];
    let mut ways = Vec::new();
    for search in [Search::Auto, Search::Depth] {
        for reduction in [Reduction::None, Reduction::Full] {
            for threads in if search == Search::Auto { 1..=2 } else { 1..=1 } {
                ways.push(Way { search, reduction, storage, threads });
            }
        }
    }
    ways
}

fn options(way: Way, preemptions: Preemptions, max_errors: u64) -> Options {
    Options {
        search: way.search,
        reduction: way.reduction,
        storage: way.storage,
        threads: way.threads,
        memory: Some(1 << 28),
        first: true,
        preemptions,
        max_errors,
        ..Options::default()
    }
}

/// Compares one search of one system at one bound with the truth.
fn compare(seed: u64, system: &Guarded, bound: u32, way: Way, truths: &[Truth]) {
    let truth = &truths[bound as usize];
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
        let lossy = answer.verdict() == Verdict::Inconclusive(Stop::LossyStore)
            && way.storage == Storage::Compact;
        assert!(answer.verdict() == within || exhausted || lossy, "{}", what());
        if exhausted {
            // Nothing may be left beyond the bound.
            let more = truths.last().expect("a far bound");
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

fn check_system(seed: u64, seen: &mut Seen) -> bool {
    let system = random_system(seed);
    // The last bound is far beyond what the searches are asked for.
    let bounds = [0, 1, 2, 3, 4, 12];
    let truths = bounds.into_iter().map(|bound| truth(&system, bound, 20_000));
    let Some(truths) = truths.collect::<Option<Vec<_>>>() else { return false };
    for bound in 0..=4 {
        for way in ways(seed) {
            compare(seed, &system, bound, way, &truths);
        }
    }
    check_bits(seed, &system, &truths[4]);
    check_simplest(seed, &system, &truths[4]);
    check_iteration(seed, &system, &truths);
    check_iteration_over_bits(seed, &system, &truths, seen);
    true
}

/// A depth-first search that sees less than the bound, in bits, keeps to the truth all the same.
fn check_bits(seed: u64, system: &Guarded, truth: &Truth) {
    let base = Options {
        search: Search::Depth,
        reduction: Reduction::None,
        preemptions: Preemptions::AtMost(4),
        memory: Some(1 << 28),
        first: true,
        ..Options::default()
    };
    let run = |options: Options| Check::new(system).options(options).run();
    let violated = truth.simplest.is_some();
    let bits = Storage::Bitstate { bits: Some(20), hashes: 3 };
    let some = run(Options { storage: bits, ..base });
    match some.verdict() {
        Verdict::Violated => assert!(violated, "seed {seed}\n{system:?}"),
        verdict => assert_eq!(verdict, Verdict::Inconclusive(Stop::LossyStore)),
    }
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
fn check_iteration(seed: u64, system: &Guarded, truths: &[Truth]) {
    for way in ways(seed) {
        if way.search != Search::Auto {
            continue;
        }
        let what = || format!("seed {seed}, {way:?}\n{system:?}");
        let iterate = Preemptions::Iterate { last: Some(4) };
        let answer = Check::new(system).options(options(way, iterate, 1)).run();
        let rows = &answer.claim.statistics.per_bound;
        match truths[4].simplest {
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
                let states = truths[row.bound as usize].reached.len();
                assert_eq!(row.states, states as u64, "{}", what());
            }
        }
    }
}

/// Over a field of bits iteration may miss states, but never invents any, and says so.
fn check_iteration_over_bits(seed: u64, system: &Guarded, truths: &[Truth], seen: &mut Seen) {
    for reduction in [Reduction::None, Reduction::Full] {
        let storage = Storage::Bitstate { bits: Some(20), hashes: 3 };
        let way = Way { search: Search::Auto, reduction, storage, threads: 1 };
        let what = || format!("seed {seed}, {way:?}\n{system:?}");
        let iterate = Preemptions::Iterate { last: Some(4) };
        let answer = Check::new(system).options(options(way, iterate, 1)).run();
        let rows = &answer.claim.statistics.per_bound;
        let truth = &truths[4];
        let answer_violated = answer.verdict() == Verdict::Violated;
        match answer.verdict() {
            Verdict::Violated => {
                let least = truth.simplest.map(|(least, _)| least);
                assert!(least.is_some_and(|least| least <= rows.last().expect("a row").bound));
                let cost = answer.claim.violation.expect("a violation").trace.cost();
                assert!(Some(cost.preemptions) >= least, "{}", what());
            }
            verdict => assert_eq!(verdict, Verdict::Inconclusive(Stop::LossyStore), "{}", what()),
        }
        seen.violated += u64::from(truth.simplest.is_some());
        seen.found += u64::from(answer_violated);
        if reduction == Reduction::None {
            for row in rows.iter().filter(|row| row.errors == 0) {
                let states = truths[row.bound as usize].reached.len() as u64;
                assert!(row.states <= states, "{row:?} of {states} states: {}", what());
                seen.states += states;
                seen.stored += row.states;
            }
        }
    }
}

/// What searches over bits saw of what there was, over all systems: one state that is lost may lose
/// most of one system.
#[derive(Default, Debug)]
struct Seen {
    states: u64,
    stored: u64,
    violated: u64,
    found: u64,
}

/// `PREEMPT_TEST_SYSTEMS` asks for a longer campaign, `PREEMPT_TEST_SEED` says where it begins.
#[test]
fn searches_agree_with_the_truth() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let wanted = setting("PREEMPT_TEST_SYSTEMS").unwrap_or(60);
    let (mut done, mut seen) = (0, Seen::default());
    let mut seed = setting("PREEMPT_TEST_SEED").unwrap_or(0);
    while done < wanted {
        done += u64::from(check_system(seed, &mut seen));
        seed += 1;
    }
    assert!(seen.stored * 100 >= seen.states * 98, "{seen:?}");
    assert!(seen.found * 100 >= seen.violated * 98, "{seen:?}");
}

/// Marks hold small numbers of processes in bits and larger ones elsewhere; no answer depends on it.
#[test]
fn numbers_of_processes_do_not_matter() {
    for seed in 0..200 {
        let system = random_system(seed);
        let told_with = |system: &dyn System, preemptions, threads, storage| {
            let (search, reduction) = (Search::Auto, Reduction::None);
            let way = Way { search, reduction, storage, threads };
            let answer = Check::new(system).options(options(way, preemptions, 0)).run();
            let counts = &answer.claim.statistics;
            let rows = counts.per_bound.iter().map(|row| (row.states, row.transitions, row.errors));
            (answer.verdict(), counts.states, counts.transitions, rows.collect::<Vec<_>>())
        };
        let told = |system: &dyn System, preemptions, threads| {
            told_with(system, preemptions, threads, Storage::Exact)
        };
        for preemptions in
            [Preemptions::AtMost(1), Preemptions::AtMost(3), Preemptions::Iterate { last: Some(2) }]
        {
            let expected = told(&system, preemptions, 1);
            for by in [41, 62, 300] {
                let shifted = Shifted { system: &system, by };
                let found = told(&shifted, preemptions, 1);
                assert_eq!(found, expected, "seed {seed}, {preemptions:?}, {by}\n{system:?}");
            }
            // Stores for several threads take a while to make.
            let (threads, storage, by) = [
                (2, Storage::Exact, 0),
                (3, Storage::Exact, 41),
                (2, Storage::Tree, 0),
                (2, Storage::Tree, 300),
            ][seed as usize % 4];
            {
                let shifted = Shifted { system: &system, by };
                let found = told_with(&shifted, preemptions, threads, storage);
                let who = format!("seed {seed}, {preemptions:?}, {threads} threads, {storage:?}");
                assert_eq!(found, expected, "{who}, {by}\n{system:?}");
            }
        }
        // A given bound is searched in another order than one bound after the other.
        let given = told(&system, Preemptions::AtMost(2), 1);
        let tried = told(&system, Preemptions::Iterate { last: Some(2) }, 1);
        assert_eq!(given, tried, "seed {seed}\n{system:?}");
    }
}
