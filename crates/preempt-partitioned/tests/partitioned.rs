//! Searches whose states are dealt out among owners, against the truth about small random systems, with any number of
//! owners, and with owners that change on the way.

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
use preempt_check::{
    Budget, Check, Counterexample, Finding, Options, Preemptions, Reduction, Search,
};
use preempt_core::{Stop, System, ViolationKind, replay};
use preempt_partitioned::{
    Cycles, Owner, Partition, PartitionResult, Saver, Time, combine, explore, explore_cycles,
    partition, trace_back,
};
use tiny::Random;
use triples::truth;

/// `PREEMPT_TEST_SYSTEMS` asks for a longer campaign.
fn cases(usual: u64) -> u64 {
    let wanted = std::env::var("PREEMPT_TEST_SYSTEMS").ok().and_then(|n| n.parse().ok());
    wanted.unwrap_or(usual)
}

const MEMORY: usize = 1 << 24;

fn budget() -> Budget<'static> {
    Budget::unlimited().memory(MEMORY)
}

fn options(preemptions: Preemptions, max_errors: u64) -> Options {
    Options {
        preemptions,
        max_errors,
        search: Search::Auto,
        reduction: Reduction::None,
        memory: Some(MEMORY),
        first: true,
        ..Options::default()
    }
}

fn owners<'a>(system: &'a Guarded, options: &Options, of: usize) -> Vec<Box<dyn Partition + 'a>> {
    let make = |me| partition(system, options, Owner { me, of }, &mut budget());
    (0..of).map(make).collect()
}

fn conclude(
    system: &Guarded,
    options: &Options,
    owners: &mut [Box<dyn Partition + '_>],
    saver: &mut dyn Saver,
) -> Finding {
    let mut owners: Vec<&mut dyn Partition> =
        owners.iter_mut().map(|one| &mut **one as _).collect();
    explore(&mut owners, options.max_errors, &mut Budget::unlimited(), saver);
    let (all, steps) = trace_back(&mut owners);
    combine(system, options, all, steps)
}

fn run(system: &Guarded, options: &Options, of: usize) -> Finding {
    let mut owners = owners(system, options, of);
    owners.iter_mut().for_each(|owner| owner.begin());
    conclude(system, options, &mut owners, &mut ())
}

fn check(system: &Guarded, options: &Options) -> preempt_check::Answer {
    Check::new(system).options(options.clone()).run()
}

#[test]
fn levels_are_those_of_one_search() {
    let mut violated = 0;
    for seed in 0..cases(100) {
        let system = random_system(seed);
        for max_errors in [1, 0] {
            let options = options(Preemptions::Any, max_errors);
            let by_levels = Options { search: Search::Breadth, ..options.clone() };
            let expected = check(&system, &by_levels);
            let numbers = &expected.claim.statistics;
            for of in 1..=3 {
                let what = || format!("seed {seed}, {of} owners, {max_errors}\n{system:?}");
                let found = run(&system, &options, of);
                assert_eq!(found.counterexample.is_some(), numbers.errors > 0, "{}", what());
                if numbers.errors == 0 || max_errors == 0 {
                    let ours = &found.statistics;
                    assert_eq!(ours.states, numbers.states, "{}", what());
                    assert_eq!(ours.transitions, numbers.transitions, "{}", what());
                    assert_eq!(ours.atomic_steps, numbers.atomic_steps, "{}", what());
                    assert_eq!(ours.depth, numbers.depth, "{}", what());
                    assert_eq!(ours.errors, numbers.errors, "{}", what());
                    assert_eq!(found.unreached, expected.claim.unreached, "{}", what());
                }
                if let Some(example) = &found.counterexample {
                    violated += 1;
                    assert!(replay(&system, &example.steps).is_ok(), "{}", what());
                    // Of a level either an invalid end is found first, or a step behind it that fails.
                    let level = |one: &Counterexample| {
                        one.steps.len().saturating_sub(usize::from(one.fault.is_some()))
                    };
                    let first = expected.counterexample.as_ref().map(level);
                    let sequences = system.processes.iter().flatten().any(|at| at.atomic);
                    assert!(sequences || first == Some(level(example)), "{first:?} {}", what());
                }
            }
        }
    }
    assert!(violated > 25, "{violated}");
}

/// Steps that wait are decided upon by every owner alone: no violation is lost, and all numbers of owners agree.
#[test]
fn reduction_loses_no_violation() {
    let (mut violated, mut reduced) = (0, 0);
    for seed in 0..cases(250) {
        let system = random_system(seed);
        for max_errors in [1, 0] {
            let all = options(Preemptions::Any, max_errors);
            let full = run(&system, &all, 1);
            let mut alone = None;
            for of in 1..=3 {
                let what = || format!("seed {seed}, {of} owners, {max_errors}\n{system:?}");
                let some =
                    Options { reduction: Reduction::Full, always_reduce: true, ..all.clone() };
                let found = run(&system, &some, of);
                assert_eq!(
                    found.counterexample.is_some(),
                    full.counterexample.is_some(),
                    "{}",
                    what()
                );
                if let Some(example) = &found.counterexample {
                    violated += 1;
                    assert!(replay(&system, &example.steps).is_ok(), "{}", what());
                }
                if max_errors == 1 && found.counterexample.is_some() {
                    continue;
                }
                let states = found.statistics.states;
                assert!(states <= full.statistics.states, "{}", what());
                reduced += u64::from(states < full.statistics.states);
                let counted = &found.statistics;
                let numbers = (states, counted.transitions, counted.atomic_steps, counted.errors);
                assert_eq!(*alone.get_or_insert(numbers), numbers, "{}", what());
            }
        }
    }
    assert!(violated > 100 && reduced > 100, "{violated} violated, {reduced} reduced");
}

#[test]
fn buckets_are_exact() {
    let mut violated = 0;
    for seed in 0..cases(80) {
        let system = random_system(seed);
        let Some(truths) = (0..4).map(|b| truth(&system, b, 20_000)).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        for of in 1..=3 {
            let what = || format!("seed {seed}, {of} owners\n{system:?}");
            let all = run(&system, &options(Preemptions::AtMost(3), 0), of);
            for row in &all.statistics.per_bound {
                let expected = truths[row.bound as usize].reached.len() as u64;
                assert_eq!(row.states, expected, "bound {} of {}", row.bound, what());
            }
            let beyond = all.bound.is_some();
            assert!(!beyond || truths[3].cut, "{}", what());
            assert_eq!(all.statistics.states, truths[3].reached.len() as u64, "{}", what());
            let iterated = Preemptions::Iterate { last: Some(3) };
            let found = run(&system, &options(iterated, 1), of);
            let least = truths[3].simplest.map(|(preemptions, _)| preemptions);
            let ours = found.counterexample.as_ref().map(|example| {
                let (trace, ..) = replay(&system, &example.steps).expect("it replays");
                trace.cost().preemptions
            });
            assert_eq!(ours, least, "{}", what());
            violated += u64::from(ours.is_some());
        }
    }
    assert!(violated > 25, "{violated}");
}

/// What was saved of one owner.
type Saved = (PartitionResult, Vec<(Time, Vec<u8>)>);

/// Saves once, at the so manieth opportunity, and ends the search.
struct Once {
    left: u32,
    saved: Vec<Saved>,
}

impl Once {
    /// Gives what was saved to other owners; says whether there was anything.
    fn resume<'a, 'b: 'a>(
        self,
        owners: impl Iterator<Item = &'a mut (dyn Partition + 'b)>,
    ) -> bool {
        let mut all = PartitionResult::default();
        self.saved.iter().for_each(|(share, _)| all.add(share));
        let was_saved = !self.saved.is_empty();
        let mut sections: Vec<_> =
            self.saved.into_iter().flat_map(|(_, sections)| sections).collect();
        sections.sort_by_key(|(time, _)| *time);
        for owner in owners {
            for (time, bytes) in &sections {
                owner.restore(*time, bytes).expect("it is whole");
            }
            owner.restore_counts(&all);
        }
        was_saved
    }
}

impl Saver for Once {
    fn between(&mut self, owners: &[&mut dyn Partition]) -> Option<Stop> {
        self.left = self.left.checked_sub(1)?;
        if self.left > 0 {
            return None;
        }
        for owner in owners {
            let mut sections = Vec::new();
            owner.save(&mut |time, bytes| {
                sections.push((time, bytes));
                true
            });
            self.saved.push((owner.share(), sections));
        }
        Some(Stop::Interrupted)
    }
}

#[test]
fn a_search_goes_on_with_other_owners() {
    let mut resumed = 0;
    // In the last one the first owner has counts, but no states.
    for seed in (0..cases(30)).chain([368]) {
        let system = random_system(seed);
        for preemptions in [Preemptions::Any, Preemptions::AtMost(2)] {
            let options = options(preemptions, 0);
            let expected = run(&system, &options, 1);
            for (before, after) in [(1, 1), (1, 3), (3, 2), (2, 1)] {
                for left in [1, 2, 3, 5, 9] {
                    let mut saver = Once { left, saved: Vec::new() };
                    let mut first = owners(&system, &options, before);
                    first.iter_mut().for_each(|owner| owner.begin());
                    conclude(&system, &options, &mut first, &mut saver);
                    if saver.saved.is_empty() {
                        continue;
                    }
                    resumed += 1;
                    let mut second = owners(&system, &options, after);
                    saver.resume(second.iter_mut().map(|owner| &mut **owner as _));
                    let found = conclude(&system, &options, &mut second, &mut ());
                    let what = || {
                        format!(
                            "seed {seed}, {preemptions:?}, {before} to {after}, {left}\n{system:?}"
                        )
                    };
                    let (a, b) = (&found.statistics, &expected.statistics);
                    assert_eq!(a.states, b.states, "{}", what());
                    assert_eq!(a.errors, b.errors, "{}", what());
                    assert_eq!(found.bound, expected.bound, "{}", what());
                    assert_eq!(found.unreached, expected.unreached, "{}", what());
                    let states = |rows: &Finding| -> Vec<(u32, u64)> {
                        let rows = rows.statistics.per_bound.iter();
                        rows.map(|row| (row.bound, row.states)).collect()
                    };
                    assert_eq!(states(&found), states(&expected), "{}", what());
                    assert_eq!(a.transitions, b.transitions, "{}", what());
                    if preemptions == Preemptions::Any {
                        assert_eq!(a.depth, b.depth, "{}", what());
                        assert_eq!(a.atomic_steps, b.atomic_steps, "{}", what());
                    }
                    assert_eq!(
                        found.counterexample.is_some(),
                        expected.counterexample.is_some(),
                        "{}",
                        what()
                    );
                    if let Some(example) = &found.counterexample {
                        assert!(replay(&system, &example.steps).is_ok(), "{}", what());
                    }
                }
            }
        }
    }
    assert!(resumed > 250, "{resumed}");
}

fn cycles_options() -> Options {
    Options { deadlocks: false, ..options(Preemptions::Any, 1) }
}

fn cycle_owners<'a>(system: &'a dyn System, options: &Options, of: usize) -> Vec<Cycles<'a>> {
    (0..of).map(|me| Cycles::new(system, options, Owner { me, of }, &mut budget())).collect()
}

fn look_for_cycle(
    system: &dyn System,
    options: &Options,
    owners: &mut [Cycles<'_>],
    saver: &mut dyn Saver,
) -> Finding {
    let kind = ViolationKind::AcceptanceCycle;
    let outcome = explore_cycles(system, options, kind, owners, &mut Budget::unlimited(), saver);
    outcome.finding(system, options, kind)
}

fn cycle(system: &dyn System, of: usize) -> (Option<Counterexample>, bool) {
    let options = cycles_options();
    let mut owners = cycle_owners(system, &options, of);
    owners.iter_mut().for_each(|owner| owner.begin());
    let found = look_for_cycle(system, &options, &mut owners, &mut ());
    let early = owners.iter().any(|owner| owner.totals().closing.0 != 0);
    (found.counterexample, early)
}

/// A search for cycles is saved and goes on with other owners, at all moments and again and again.
#[test]
fn a_search_for_cycles_goes_on_with_other_owners() {
    let mut random = Random(77);
    let (mut resumed, mut found) = (0, 0);
    for case in 0..cases(60) {
        let (system, property, about) = random_property(&mut random);
        let product = Product::new(&system, &property, Stutter::Extend);
        let truth = !accepting_cycles(&product, &graph(&product)).is_empty();
        let options = cycles_options();
        let mut whole = cycle_owners(&product, &options, 1);
        whole.iter_mut().for_each(|owner| owner.begin());
        let expected = look_for_cycle(&product, &options, &mut whole, &mut ()).statistics;
        for (before, after) in [(1, 1), (1, 3), (3, 2), (2, 1)] {
            for left in [1, 2, 3, 5, 9] {
                let what = format!("case {case}, {before} to {after}, {left}: {about}");
                let mut first = cycle_owners(&product, &options, before);
                first.iter_mut().for_each(|owner| owner.begin());
                let mut saver = Once { left, saved: Vec::new() };
                look_for_cycle(&product, &options, &mut first, &mut saver);
                let mut owners = cycle_owners(&product, &options, after);
                if !saver.resume(owners.iter_mut().map(|owner| owner as _)) {
                    continue;
                }
                resumed += 1;
                let ours = look_for_cycle(&product, &options, &mut owners, &mut ());
                assert_eq!(ours.counterexample.is_some(), truth, "{what}");
                match ours.counterexample {
                    Some(ours) => {
                        found += 1;
                        confirm(&product, &ours, &what);
                    }
                    None => {
                        let numbers = &ours.statistics;
                        assert_eq!(numbers.states, expected.states, "{what}");
                        assert_eq!(numbers.transitions, expected.transitions, "{what}");
                    }
                }
            }
        }
    }
    assert!(resumed > 100 && found > 10, "{resumed} resumed, {found} found");
}

#[test]
fn cycles_are_found_if_there_are_any() {
    let mut random = Random(31);
    let (mut found, mut early, mut late) = (0, 0, 0);
    for case in 0..cases(200) {
        let (system, property, about) = random_property(&mut random);
        let product = Product::new(&system, &property, Stutter::Extend);
        let truth = !accepting_cycles(&product, &graph(&product)).is_empty();
        let fair = Watched::new(&product, Fair);
        let fair_truth = !accepting_cycles(&fair, &graph(&fair)).is_empty();
        for of in 1..=3 {
            let what = format!("case {case}, {of} owners: {about}");
            let (ours, at_once) = cycle(&product, of);
            assert_eq!(ours.is_some(), truth, "{what}");
            if let Some(ours) = ours {
                confirm(&product, &ours, &what);
                (early, late) = (early + u64::from(at_once), late + u64::from(!at_once));
            }
            let (ours, _) = cycle(&fair, of);
            assert_eq!(ours.is_some(), fair_truth, "fair, {what}");
            if let Some(ours) = ours {
                confirm(&fair, &ours, &what);
            }
        }
        found += u64::from(truth);
    }
    assert!(found > cases(200) / 10 && found < cases(200) * 9 / 10, "{found}");
    assert!(early > 0 && late > 0, "{early} cycles showed early, {late} late");
}
