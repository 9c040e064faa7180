//! Searches in files against the truth about small random systems, and against the same searches in memory.

#[path = "../../preempt-check/tests/cycles/mod.rs"]
mod cycles;
#[path = "../../preempt-check/tests/formulas/mod.rs"]
mod formulas;
#[path = "../../preempt-check/tests/guarded/mod.rs"]
mod guarded;
#[path = "../../preempt-check/tests/tiny/mod.rs"]
mod tiny;
#[path = "../../preempt-check/tests/triples/mod.rs"]
mod triples;

use cycles::{accepting_cycles, confirm, graph};
use formulas::random_property;
use guarded::{Guarded, random_system};
use preempt_check::property::{Fair, Product, Stutter, Watched};
use preempt_check::search::nested::{NestedOptions, Scheme};
use preempt_check::{
    Budget, Check, Finding, Options, Preemptions, Reduction, RemoteSearch, Search,
};
use preempt_core::{System, replay};
use preempt_disk::OnDisk;
use preempt_partitioned::{Owner, Partition, combine, explore, partition, trace_back};
use tiny::Random;
use triples::truth;

/// `PREEMPT_TEST_SYSTEMS` asks for a longer campaign.
fn cases(usual: u64) -> u64 {
    let wanted = std::env::var("PREEMPT_TEST_SYSTEMS").ok().and_then(|n| n.parse().ok());
    wanted.unwrap_or(usual)
}

fn options(preemptions: Preemptions, max_errors: u64) -> Options {
    Options {
        preemptions,
        max_errors,
        search: Search::Auto,
        reduction: Reduction::None,
        first: true,
        ..Options::default()
    }
}

/// With all in memory, with some of it, with everything in files.
fn memory(seed: u64) -> Option<usize> {
    [None, Some(20_000), Some(0)][seed as usize % 3]
}

fn in_files(system: &dyn System, options: &Options, memory: Option<usize>) -> Finding {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = OnDisk { folder: folder.path().to_owned(), memory };
    let found = disk.safety(system, options, &mut Budget::unlimited());
    let left = std::fs::read_dir(folder.path()).expect("it is there").count();
    assert_eq!(left, 0, "nothing is left behind");
    found
}

fn in_memory(system: &Guarded, options: &Options) -> Finding {
    let mut budget = Budget::unlimited().memory(1 << 24);
    let mut part = partition(system, options, Owner::ALONE, &mut budget);
    part.begin();
    let mut owners: [&mut dyn Partition; 1] = [&mut *part];
    explore(&mut owners, options.max_errors, &mut Budget::unlimited(), &mut ());
    let (all, steps) = trace_back(&mut owners);
    combine(system, options, all, steps)
}

#[test]
fn levels_are_those_of_memory() {
    for seed in 0..cases(60) {
        let system = random_system(seed);
        for max_errors in [1, 0] {
            let options = options(Preemptions::Any, max_errors);
            let by_levels = Options { search: Search::Breadth, ..options.clone() };
            let expected = Check::new(&system).options(by_levels).run();
            let numbers = &expected.claim.statistics;
            let found = in_files(&system, &options, memory(seed));
            let what = format!("seed {seed}, {max_errors}\n{system:?}");
            assert_eq!(found.counterexample.is_some(), numbers.errors > 0, "{what}");
            if numbers.errors == 0 || max_errors == 0 {
                let ours = &found.statistics;
                assert_eq!(ours.states, numbers.states, "{what}");
                assert_eq!(ours.transitions, numbers.transitions, "{what}");
                assert_eq!(ours.errors, numbers.errors, "{what}");
                assert_eq!(ours.depth, numbers.depth, "{what}");
                assert_eq!(found.unreached, expected.claim.unreached, "{what}");
            }
            if let Some(example) = &found.counterexample {
                assert!(replay(&system, &example.steps).is_ok(), "{what}");
            }
        }
    }
}

/// All numbers of all bounds are those of the search in memory, and least bounds are true.
#[test]
fn buckets_are_exact() {
    let (mut violated, mut cut) = (0, 0);
    for seed in 0..cases(80) {
        let system = random_system(seed);
        let what = format!("seed {seed}\n{system:?}");
        for bound in [0, 1, 3] {
            let all = options(Preemptions::AtMost(bound), 0);
            let (found, expected) =
                (in_files(&system, &all, memory(seed)), in_memory(&system, &all));
            let (ours, theirs) = (&found.statistics, &expected.statistics);
            assert_eq!(ours.per_bound, theirs.per_bound, "bound {bound} of {what}");
            let key = |one: &preempt_core::Statistics| {
                (one.states, one.transitions, one.errors, one.complete)
            };
            assert_eq!(key(ours), key(theirs), "bound {bound} of {what}");
            assert_eq!(found.bound, expected.bound, "bound {bound} of {what}");
            assert_eq!(found.unreached, expected.unreached, "{what}");
            cut += u64::from(found.bound.is_some());
        }
        let Some(truth) = truth(&system, 3, 20_000) else { continue };
        let iterated = Preemptions::Iterate { last: Some(3) };
        let found = in_files(&system, &options(iterated, 1), memory(seed));
        let ours = found.counterexample.as_ref().map(|example| {
            let (trace, ..) = replay(&system, &example.steps).expect("it replays");
            trace.cost().preemptions
        });
        assert_eq!(ours, truth.simplest.map(|(preemptions, _)| preemptions), "{what}");
        violated += u64::from(ours.is_some());
    }
    assert!(violated > 10 && cut > 10, "{violated} violated, {cut} cut off");
}

fn cycle(system: &dyn System, memory: Option<usize>) -> Finding {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = OnDisk { folder: folder.path().to_owned(), memory };
    let nested = NestedOptions::to_the_first(Scheme::Full);
    disk.cycles(system, nested, &mut Budget::unlimited())
}

#[test]
fn cycles_are_found_if_there_are_any() {
    let mut random = Random(4711);
    let mut found = 0;
    for case in 0..cases(100) {
        let (system, property, about) = random_property(&mut random);
        let product = Product::new(&system, &property, Stutter::Extend);
        let what = format!("case {case}: {about}");
        let states = graph(&product);
        let truth = !accepting_cycles(&product, &states).is_empty();
        let ours = cycle(&product, memory(case));
        assert_eq!(ours.counterexample.is_some(), truth, "{what}");
        assert_eq!(ours.statistics.states, states.len() as u64, "{what}");
        if let Some(ours) = ours.counterexample {
            confirm(&product, &ours, &what);
        }
        found += u64::from(truth);
        let fair = Watched::new(&product, Fair);
        let truth = !accepting_cycles(&fair, &graph(&fair)).is_empty();
        let ours = cycle(&fair, memory(case + 1));
        assert_eq!(ours.counterexample.is_some(), truth, "fair, {what}");
        if let Some(ours) = ours.counterexample {
            confirm(&fair, &ours, &what);
        }
    }
    assert!(found > cases(100) / 10 && found < cases(100) * 9 / 10, "{found}");
}
