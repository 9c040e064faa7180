//! Reduction with liveness: what is lost without the SI normal form, and that nothing is with it.

use cycles::{accepting_cycles, confirm, graph};
use formulas::random_formula;
use preempt_check::property::{
    Buchi, Fair, Product, Property, Stutter, StutterInvariant, Watched, WithinBound,
};
use preempt_check::search::concurrent::nested_concurrent;
use preempt_check::search::nested::{NestedOptions, Scheme, nested};
use preempt_check::search::nested_shared::nested_shared;
use preempt_check::search::nested_together::nested_together;
use preempt_check::store::Exact;
use preempt_check::{Budget, Finding, Storage};
use preempt_core::{Describe, Enabled, Independence, Locality, Outcome, ProcessId, Step, System};
use preempt_ltl::{Automaton, Cube, Edge, Formula, parse, translate};
use std::sync::atomic::{AtomicUsize, Ordering};
use tiny::{Move, Random, Tiny, tiny};

mod cycles;
mod formulas;
mod tiny;

const V1: Scheme = Scheme::SourceState(Locality::Local);

fn search<S: System, P: Property>(system: &Product<'_, S, P>, scheme: Scheme) -> Finding {
    run(system, scheme, Product::<S, P>::target)
}

fn run<S: System>(system: &S, scheme: Scheme, target: fn(preempt_core::Step) -> u32) -> Finding {
    let mut store = Exact::new(1 << 30);
    let finding = nested(
        system,
        &mut store,
        &mut Budget::unlimited(),
        NestedOptions::to_the_first(scheme),
        target,
    );
    assert_eq!(finding.stop, None);
    finding
}

/// Whether two threads find a cycle, which then is one; and how many states they stored.
fn concurrent<S: System + ?Sized>(system: &S, scheme: Scheme) -> (bool, u64) {
    let found: Vec<Finding> = [Storage::Exact, Storage::Tree]
        .into_iter()
        .map(|storage| {
            let mut budget = Budget::unlimited();
            let finding = nested_concurrent(
                system,
                2,
                storage,
                &mut budget,
                NestedOptions::to_the_first(scheme),
            )
            .expect("the search knows such questions");
            assert_eq!(finding.stop, None);
            if let Some(found) = &finding.counterexample {
                confirm(system, found, "two threads");
            }
            finding
        })
        .collect();
    assert_eq!(found[0].counterexample.is_some(), found[1].counterexample.is_some());
    if found[0].counterexample.is_none() {
        assert_eq!(found[0].statistics.states, found[1].statistics.states);
    }
    (found[0].counterexample.is_some(), found[0].statistics.states)
}

/// The search whose product states share their system states.
fn shared<S: System, P: Property>(
    system: &S,
    property: &P,
    stutter: Stutter,
    scheme: Scheme,
) -> Finding {
    let (mut budget, options) = (Budget::unlimited(), NestedOptions::to_the_first(scheme));
    let finding = nested_shared(system, property, stutter, &mut budget, options)
        .expect("the search knows such systems");
    assert_eq!(finding.stop, None);
    // To start threads takes longer than to search so small a system.
    static SEARCHES: AtomicUsize = AtomicUsize::new(0);
    let threads = match SEARCHES.fetch_add(1, Ordering::Relaxed) {
        number if number % 64 == 0 => 16,
        number if number % 32 == 0 => 4,
        number if number % 8 == 0 => 2,
        _ => 1,
    };
    let mut budget = Budget::unlimited();
    let together = nested_together(system, property, stutter, threads, &mut budget, options);
    same(&together.expect("the search knows such systems"), &finding, threads);
    if let Some(found) = &finding.counterexample {
        let product = Product::new(system, property, stutter);
        confirm(&product, found, "one thread");
    }
    finding
}

/// Whichever threads expand the states, one searches.
fn same(together: &Finding, alone: &Finding, threads: usize) {
    let steps = |finding: &Finding| {
        let found = finding.counterexample.as_ref()?;
        Some((found.steps.clone(), found.cycle_start))
    };
    let numbers = |finding: &Finding| {
        let numbers = &finding.statistics;
        (numbers.states, numbers.matched, numbers.transitions, numbers.depth, numbers.errors)
    };
    assert_eq!(steps(together), steps(alone), "{threads} threads");
    assert_eq!(numbers(together), numbers(alone), "{threads} threads");
    assert_eq!((together.stop, together.cut), (alone.stop, alone.cut), "{threads} threads");
    if alone.counterexample.is_none() {
        assert_eq!(together.statistics.atomic_steps, alone.statistics.atomic_steps);
        assert_eq!(together.unreached, alone.unreached);
    }
}

fn violated<S: System, P: Property>(system: &Product<'_, S, P>, scheme: Scheme) -> bool {
    search(system, scheme).counterexample.is_some()
}

fn edge(target: u32, value: Option<bool>) -> Edge {
    Edge { target, label: value.map_or(Cube::default(), |value| Cube::literal(0, value)) }
}

/// S19 Fig. 2: one process sets g, another loops; the automaton B1 says that g becomes true.
fn figure_2() -> Tiny {
    let step = |from, to, set| Move { from, to, guard: None, set };
    Tiny { bits: 1, processes: vec![vec![step(0, 1, Some((0, 1)))], vec![step(0, 0, None)]] }
}

/// B1 of the paper: g is false for a while (at least once), then true for ever.
fn b1() -> Automaton {
    Automaton::new(
        vec![0],
        vec![vec![edge(0, Some(false)), edge(1, Some(false))], vec![edge(1, Some(true))]],
        vec![false, true],
    )
}

/// B2: the same words; it counts the repetitions of the first letter modulo two.
fn b2() -> Automaton {
    Automaton::new(
        vec![0],
        vec![
            vec![edge(1, Some(false)), edge(2, Some(false))],
            vec![edge(2, Some(false))],
            vec![edge(1, Some(false)), edge(3, Some(true))],
            vec![edge(3, Some(true))],
        ],
        vec![false, false, false, true],
    )
}

#[test]
fn the_violation_that_spin_misses_is_found() {
    let system = figure_2();
    let raw = Buchi::new(b1(), vec![0]);
    let raw = Product::new(&system, &raw, Stutter::Extend);
    let normal = StutterInvariant::new(&b1(), vec![0]).unwrap();
    let normal = Product::new(&system, &normal, Stutter::Extend);
    assert!(violated(&raw, Scheme::Full), "the truth");
    assert!(!violated(&raw, Scheme::IntermediateState), "V0 misses it, as Spin does");
    assert!(violated(&normal, V1), "V1 with the normal form does not");
    assert!(violated(&normal, Scheme::Full));
    for automaton in [b1(), b2()] {
        let raw = Buchi::new(automaton.clone(), vec![0]);
        let normal = StutterInvariant::new(&automaton, vec![0]).unwrap();
        let found = |finding: Finding| -> bool { finding.counterexample.is_some() };
        assert!(found(shared(&system, &raw, Stutter::Extend, Scheme::Full)));
        assert!(found(shared(&system, &normal, Stutter::Extend, Scheme::Full)));
        assert!(found(shared(&system, &normal, Stutter::Extend, V1)));
    }
    let reduced = shared(&system, &Buchi::new(b1(), vec![0]), Stutter::Extend, V1);
    assert!(reduced.counterexample.is_none(), "read on arrival it is V0, unsound for others");
}

#[test]
fn choosing_at_the_source_state_is_not_enough() {
    let system = figure_2();
    let raw = Buchi::new(b2(), vec![0]);
    let raw = Product::new(&system, &raw, Stutter::Extend);
    let normal = StutterInvariant::new(&b2(), vec![0]).unwrap();
    let normal = Product::new(&system, &normal, Stutter::Extend);
    assert!(violated(&raw, Scheme::Full), "the truth");
    assert!(!violated(&raw, V1), "V1 misses it without the normal form");
    assert!(violated(&normal, V1), "and finds it with");
}

#[test]
fn one_successor_off_the_path_is_not_enough() {
    // P1: g := 1, P0: [g == 1] g := 0, P2: at 0 goto 0 or goto 1, both local.
    let step = |from, to, guard, set| Move { from, to, guard, set };
    let system = Tiny {
        bits: 1,
        processes: vec![
            vec![step(0, 1, Some((0, 1)), Some((0, 0)))],
            vec![step(0, 1, None, Some((0, 1)))],
            vec![step(0, 0, None, None), step(0, 1, None, None)],
        ],
    };
    let property = StutterInvariant::new(&b1(), vec![0]).unwrap();
    let product = Product::new(&system, &property, Stutter::Extend);
    assert!(violated(&product, Scheme::Full));
    assert!(violated(&product, V1));
}

/// `PREEMPT_TEST_SYSTEMS` asks for a longer campaign.
fn cases() -> u64 {
    let wanted = std::env::var("PREEMPT_TEST_SYSTEMS").ok().and_then(|n| n.parse().ok());
    wanted.unwrap_or(600)
}

#[test]
fn reduction_loses_nothing_on_formulas() {
    let mut random = Random(19);
    let (mut found, mut full_states, mut reduced_states, mut shared_states) = (0, 0, 0, 0);
    let mut concurrent_states = 0;
    for case in 0..cases() {
        let system = tiny(&mut random);
        let size = 1 + random.below(7);
        let formula = random_formula(&mut random, system.bits as u64, size);
        let automaton = translate(&formula).unwrap();
        let propositions: Vec<usize> = (0..system.bits).collect();
        let raw = Buchi::new(automaton.clone(), propositions.clone());
        let raw = Product::new(&system, &raw, Stutter::Extend);
        let form = StutterInvariant::new(&automaton, propositions).unwrap();
        let normal = Product::new(&system, &form, Stutter::Extend);
        let truth = !accepting_cycles(&raw, &graph(&raw)).is_empty();
        assert_eq!(violated(&raw, Scheme::Full), truth, "case {case}: {system:?} {formula:?}");
        assert_eq!(violated(&normal, Scheme::Full), truth, "case {case}: {system:?} {formula:?}");
        let reduced = search(&normal, V1);
        assert_eq!(
            reduced.counterexample.is_some(),
            truth,
            "reduced, case {case}: {system:?} {formula:?}"
        );
        let shared = |scheme| shared(&system, &form, Stutter::Extend, scheme);
        for scheme in [Scheme::Full, V1] {
            assert_eq!(
                shared(scheme).counterexample.is_some(),
                truth,
                "{scheme:?}, case {case}: {system:?} {formula:?}"
            );
        }
        if !truth {
            let full = search(&normal, Scheme::Full).statistics.states;
            full_states += full;
            reduced_states += reduced.statistics.states;
            let same = shared(Scheme::Full).statistics.states;
            assert_eq!(same, full, "case {case}: {system:?} {formula:?}");
            shared_states += shared(V1).statistics.states;
        }
        let (told, states) = concurrent(&normal, V1);
        assert_eq!(told, truth, "concurrent, case {case}: {system:?} {formula:?}");
        if !truth {
            let full = concurrent(&normal, Scheme::Full).1;
            assert_eq!(full, search(&normal, Scheme::Full).statistics.states, "case {case}");
            concurrent_states += states;
        }
        let none = |_| 0;
        let fair = Watched::new(&normal, Fair);
        assert_eq!(
            concurrent(&fair, V1).0,
            run(&fair, Scheme::Full, none).counterexample.is_some(),
            "concurrent, fair, case {case}: {system:?} {formula:?}"
        );
        assert_eq!(
            run(&fair, V1, none).counterexample.is_some(),
            run(&fair, Scheme::Full, none).counterexample.is_some(),
            "fair, case {case}: {system:?} {formula:?}"
        );
        found += u64::from(truth);
    }
    assert!(found > cases() / 10 && found < cases() * 9 / 10, "{found}");
    assert!(reduced_states < full_states, "{reduced_states} of {full_states}");
    println!("states: {full_states}, reduced {reduced_states}, by order {concurrent_states}");
    assert!(concurrent_states < full_states, "{concurrent_states} of {full_states}");
    assert!(shared_states < reduced_states, "{shared_states}, {reduced_states} on departure");
}

/// As the search for cycles without progress: an execution that ends is no infinite one.
#[test]
fn reduction_loses_nothing_where_executions_end() {
    let mut random = Random(23);
    let (mut found, mut full_states, mut reduced_states) = (0, 0, 0);
    let automaton = translate(&Formula::Prop(0).always().eventually()).unwrap();
    for case in 0..cases() {
        let system = tiny(&mut random);
        let form = StutterInvariant::new(&automaton, vec![0]).unwrap();
        let normal = Product::new(&system, &form, Stutter::End);
        let truth = !accepting_cycles(&normal, &graph(&normal)).is_empty();
        let reduced = search(&normal, V1);
        assert_eq!(reduced.counterexample.is_some(), truth, "case {case}: {system:?}");
        for scheme in [Scheme::Full, V1] {
            let found = shared(&system, &form, Stutter::End, scheme);
            assert_eq!(found.counterexample.is_some(), truth, "{scheme:?}, {case}: {system:?}");
        }
        assert_eq!(concurrent(&normal, V1).0, truth, "concurrent, case {case}: {system:?}");
        if !truth {
            full_states += search(&normal, Scheme::Full).statistics.states;
            reduced_states += reduced.statistics.states;
        }
        let fair = Watched::new(&normal, Fair);
        assert_eq!(
            run(&fair, V1, |_| 0).counterexample.is_some(),
            run(&fair, Scheme::Full, |_| 0).counterexample.is_some(),
            "fair, case {case}: {system:?}"
        );
        found += u64::from(truth);
    }
    assert!(found > cases() / 20 && found < cases() * 19 / 20, "{found}");
    assert!(reduced_states < full_states, "{reduced_states} of {full_states}");
}

/// A system with one more proposition: process 0 is at a certain location. So local steps may be seen.
#[derive(Debug)]
struct Seen {
    tiny: Tiny,
    location: u8,
}

impl Seen {
    /// A system, a formula about it, and the formula's automaton.
    fn with_question(random: &mut Random) -> (Self, Formula, Automaton) {
        let system = Seen::random(random);
        let size = 1 + random.below(7);
        let formula = random_formula(random, system.proposition_count() as u64, size);
        let automaton = translate(&formula).unwrap();
        (system, formula, automaton)
    }

    /// Processes that are often at places with nothing but local steps.
    fn random(random: &mut Random) -> Self {
        let bits = 1 + random.below(2) as usize;
        let locations = 2 + random.below(4);
        let processes = (0..2 + random.below(2)).map(|_| {
            let mut moves = Vec::new();
            for from in 0..locations as u8 {
                let is_local = random.below(5) < 3;
                for _ in 0..1 + random.below(5) / 2 {
                    let mut bit = |odds| {
                        let some = random.below(odds) == 0 && !is_local;
                        let bit = (random.below(bits as u64) as usize, random.below(2) as u8);
                        some.then_some(bit)
                    };
                    let (guard, set) = (bit(2), bit(2));
                    let to = random.below(locations) as u8;
                    moves.push(Move { from, to, guard, set });
                }
            }
            moves
        });
        let tiny = Tiny { bits, processes: processes.collect() };
        Seen { tiny, location: random.below(locations) as u8 }
    }
}

impl System for Seen {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.tiny.initial(state)
    }

    fn process_count(&self, state: &[u8]) -> usize {
        self.tiny.process_count(state)
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        self.tiny.enabled(state, enabled);
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        self.tiny.apply(state, step)
    }

    fn proposition_count(&self) -> usize {
        self.tiny.bits + 1
    }

    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        match index == self.tiny.bits {
            true => Ok(state[self.tiny.bits] == self.location),
            false => self.tiny.proposition(state, index),
        }
    }
}

impl Independence for Seen {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        self.tiny.locality(state, process)
    }

    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        let at = state[self.tiny.bits];
        let mut moves = self.tiny.processes[0].iter().filter(|m| m.from == at);
        process == ProcessId(0) && moves.any(|m| (m.to == self.location) != (at == self.location))
    }
}

impl Describe for Seen {}

#[test]
fn reduction_loses_nothing_where_local_steps_are_seen() {
    let mut random = Random(29);
    let (mut found, mut full_states, mut reduced_states) = (0, 0, 0);
    // A violation is rarely lost: passing over a choice shows once in a thousand.
    let cases = 5 * cases();
    for case in 0..cases {
        let (system, formula, automaton) = Seen::with_question(&mut random);
        let count = system.proposition_count();
        let raw = Buchi::new(automaton.clone(), (0..count).collect());
        let raw = Product::new(&system, &raw, Stutter::Extend);
        let form = StutterInvariant::new(&automaton, (0..count).collect()).unwrap();
        let normal = Product::new(&system, &form, Stutter::Extend);
        let truth = violated(&raw, Scheme::Full);
        assert_eq!(violated(&normal, V1), truth, "case {case}: {system:?} {formula:?}");
        assert_eq!(concurrent(&normal, V1).0, truth, "case {case}: {system:?} {formula:?}");
        let full = shared(&system, &form, Stutter::Extend, Scheme::Full);
        let reduced = shared(&system, &form, Stutter::Extend, V1);
        for finding in [&full, &reduced] {
            let verdict = finding.counterexample.is_some();
            assert_eq!(verdict, truth, "case {case}: {system:?} {formula:?}");
        }
        if !truth {
            full_states += full.statistics.states;
            reduced_states += reduced.statistics.states;
        }
        found += u64::from(truth);
    }
    assert!(found > cases / 10 && found < cases * 9 / 10, "{found}");
    assert!(reduced_states * 2 < full_states, "{reduced_states} of {full_states}");
}

/// Within a bound, strictly local steps that are passed over lose no violation; what they add is left to a search that
/// counts every step.
#[test]
fn reduction_within_a_bound_loses_nothing() {
    let mut random = Random(31);
    let (mut found, mut added, mut full_states, mut reduced_states) = (0, 0, 0, 0);
    for case in 0..cases() {
        let (system, formula, automaton) = Seen::with_question(&mut random);
        let count = system.proposition_count();
        let raw = Buchi::new(automaton.clone(), (0..count).collect());
        let raw = Product::new(&system, &raw, Stutter::Extend);
        let form = StutterInvariant::new(&automaton, (0..count).collect()).unwrap();
        let normal = Product::new(&system, &form, Stutter::Extend);
        for bound in 0..3 {
            for fair in [false, true] {
                let (fair_raw, fair_normal) =
                    (Watched::new(&raw, Fair), Watched::new(&normal, Fair));
                let (raw, normal): (&dyn System, &dyn System) = match fair {
                    true => (&fair_raw, &fair_normal),
                    false => (&raw, &normal),
                };
                let exact = Watched::new(raw, WithinBound::new(bound));
                let full = run(&exact, Scheme::Full, |_| 0);
                let lenient = Watched::new(normal, WithinBound::passing_over_local(bound));
                let reduced = run(&lenient, V1, |_| 0);
                let (truth, told) =
                    (full.counterexample.is_some(), reduced.counterexample.is_some());
                assert!(told || !truth, "{case}, {bound}, {fair}: {system:?} {formula:?}");
                if !told {
                    let counted = Watched::new(normal, WithinBound::new(bound));
                    full_states += run(&counted, Scheme::Full, |_| 0).statistics.states;
                    reduced_states += reduced.statistics.states;
                }
                found += u64::from(truth);
                added += u64::from(told && !truth);
            }
        }
    }
    let all = 6 * cases();
    println!("{all}: {found} violated, {added} added, {reduced_states} of {full_states} states");
    assert!(found > all / 10 && found < all * 9 / 10, "{found} of {all}");
    // Processes with local loops that take turns for ever, which would cost without end.
    assert!(added * 5 < all, "{added} of {all}");
    assert!(reduced_states < full_states, "{reduced_states} of {full_states}");
}

#[test]
fn a_formula_is_checked_end_to_end() {
    let system = figure_2();
    let negated = parse("!(<> g)").unwrap();
    let automaton = translate(&negated.formula).unwrap();
    let property = StutterInvariant::new(&automaton, vec![0]).unwrap();
    let product = Product::new(&system, &property, Stutter::Extend);
    assert!(violated(&product, V1), "P1 may loop for ever and starve P0");
    let fair = Watched::new(&product, Fair);
    assert!(run(&fair, V1, |_| 0).counterexample.is_none(), "but not in a fair execution");
}
