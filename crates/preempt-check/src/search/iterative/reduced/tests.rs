//! The reduction against the truth about small random systems, which mistakes about it lose violations,
//! and the number of states it needs.

use super::mistake::{Mistake, is_mistaken, with_mistake};
use super::{Order, Reduced, iterative_reduced, pilot};
use crate::reduce::{Learned, Signalled};
use crate::search::iterative::one_thread::iterative;
use crate::search::iterative::visit_memory::Numbered;
use crate::search::preemption_bound::LOOKS;
use crate::store::Exact;
use crate::{Budget, Check, Finding, Options, Preemptions, Reduction, Search, Storage};
use preempt_core::{Stop, System, Verdict, replay};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::LowerOptions;
use signalling::{Program, Signalling};

#[path = "../../../../tests/promela/mod.rs"]
mod promela;
#[path = "../../../../tests/signalling/mod.rs"]
mod signalling;
#[path = "../../../../tests/texts/mod.rs"]
mod texts;
#[path = "../../../../tests/triples/mod.rs"]
mod triples;

/// How a system is searched.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// How many states a pilot learns from; `None` assumes that anything is signalled.
    pilot: Option<u64>,
    reduction: Reduction,
    bound: u32,
    /// Whether bounds are tried one by one.
    iterates: bool,
    assertions: bool,
    deadlocks: bool,
}

/// What a search says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Violated,
    Holds,
    HoldsWithin,
    /// A violation was met; whether it is within the bound an exact search must tell.
    Undecided,
    /// Nothing runs ahead.
    Idle,
}

/// What is signalled ahead; `None` if no process runs ahead.
fn signalled<S: System + ?Sized>(
    system: &S,
    states: Option<u64>,
    options: &Options,
) -> Option<Signalled> {
    let Some(states) = states else { return Some(Signalled::Anything) };
    let unknown = Signalled::Learned(Learned::default());
    let way = (Order::Deep, states);
    let seen = pilot(system, way, options, unknown, &mut Budget::unlimited()).expect("no limit");
    (states == 0 || seen.ran_ahead).then_some(seen.signalled)
}

fn search<S: System + ?Sized>(system: &S, way: Way) -> Said {
    let options = Options {
        reduction: way.reduction,
        preemptions: match way.iterates {
            true => Preemptions::Iterate { last: Some(way.bound) },
            false => Preemptions::AtMost(way.bound),
        },
        assertions: way.assertions,
        deadlocks: way.deadlocks,
        ..Options::default()
    };
    let mut store = Exact::new(1 << 28);
    let mut budget = Budget::unlimited();
    let Some(signalled) = signalled(system, way.pilot, &options) else { return Said::Idle };
    match iterative_reduced(system, &mut store, &options, &signalled, &mut budget) {
        Reduced::Undecided(_) => Said::Undecided,
        Reduced::Decided(finding) => match (&finding.counterexample, finding.bound) {
            (Some(found), _) => {
                let (trace, ..) = replay(system, &found.steps).expect("an execution");
                let bound = match way.iterates {
                    true => finding.statistics.per_bound.last().expect("a row").bound,
                    false => way.bound,
                };
                assert!(trace.cost().preemptions <= bound, "{way:?}");
                Said::Violated
            }
            (None, None) => Said::Holds,
            (None, Some(_)) => Said::HoldsWithin,
        },
    }
}

/// What random systems came to.
#[derive(Default, Debug)]
struct Score {
    systems: u64,
    /// Searches in which something ran ahead.
    searches: u64,
    /// Searches where there was a violation within the bound.
    violated: u64,
    /// Searches that missed a violation.
    lost: u64,
    undecided: u64,
}

/// The last bound of the tests, and one far beyond.
const LAST: u32 = 4;
const FAR: u32 = 12;

/// Compares searches of a system with the truth; `false` if it is too large.
fn score<S: System + ?Sized>(seed: u64, system: &S, most: usize, score: &mut Score) -> bool {
    let Some(truth) = triples::truth(system, FAR, most) else { return false };
    score.systems += 1;
    for (assertions, deadlocks) in [(true, true), (true, false), (false, true)] {
        let least =
            [truth.assertion.filter(|_| assertions), truth.invalid_end.filter(|_| deadlocks)];
        let least = least.into_iter().flatten().min();
        for pilot in [None, Some(seed % 4 * (seed % 7))] {
            for bound in 0..=LAST {
                let reduction = [Reduction::Full, Reduction::Spin][(seed % 4 / 3) as usize];
                let iterates = (seed + u64::from(bound)).is_multiple_of(3);
                let way = Way { pilot, reduction, bound, iterates, assertions, deadlocks };
                let said = search(system, way);
                if said == Said::Idle {
                    continue;
                }
                score.searches += 1;
                score.undecided += u64::from(said == Said::Undecided);
                let within = least.is_some_and(|least| least <= bound);
                score.violated += u64::from(within);
                let lost = match said {
                    Said::Violated => {
                        assert!(within, "seed {seed}, {way:?}: there is no violation");
                        false
                    }
                    Said::Holds => least.is_some(),
                    _ => within && said == Said::HoldsWithin,
                };
                score.lost += u64::from(lost);
                if lost && std::env::var_os("PREEMPT_TEST_SHOW").is_some() {
                    println!("seed {seed}: {way:?} {said:?} least {least:?}");
                }
            }
        }
        if !is_mistaken() {
            compare_others(seed, system, (assertions, deadlocks), least);
        }
    }
    true
}

/// The same rule elsewhere: on several threads, and depth-first, over all stores that can carry it, as a check
/// chooses it.
fn compare_others<S: System + ?Sized>(
    seed: u64,
    system: &S,
    (assertions, deadlocks): (bool, bool),
    least: Option<u32>,
) {
    let exact = [Storage::Exact, Storage::Tree][(seed % 2) as usize];
    let any = [Storage::Exact, Storage::Tree, Storage::Compact][(seed % 3) as usize];
    for bound in [seed as u32 % 2, 2 + seed as u32 % 3] {
        for (search, storage, threads) in
            [(Search::Auto, exact, 2), (Search::Depth, any, 1), (Search::Auto, any, 1)]
        {
            let options = Options {
                preemptions: match seed.is_multiple_of(3) && storage != Storage::Compact {
                    true if search == Search::Auto => Preemptions::Iterate { last: Some(bound) },
                    _ => Preemptions::AtMost(bound),
                },
                assertions,
                deadlocks,
                search,
                storage,
                threads,
                memory: Some(1 << 28),
                ..Options::default()
            };
            let what = format!("seed {seed} {options:?}: least {least:?}");
            let answer = Check::new(system).options(options).run();
            let within = least.is_some_and(|least| least <= bound);
            match answer.verdict() {
                Verdict::Violated => {
                    assert!(within, "{what}");
                    let trace = answer.claim.violation.expect("a violation").trace;
                    assert_eq!(Some(trace.cost().preemptions), least, "{what}");
                }
                Verdict::Holds => assert_eq!(least, None, "{what}"),
                Verdict::HoldsWithinBound(_) => assert!(!within, "{what}"),
                Verdict::Inconclusive(stop) => {
                    assert_eq!((stop, storage), (Stop::LossyStore, Storage::Compact), "{what}");
                    assert!(!within, "{what}");
                }
                Verdict::Nothing => panic!("{what}"),
            }
        }
    }
}

/// `PREEMPT_TEST_SYSTEMS` asks for a longer campaign, `PREEMPT_TEST_SEED` says where it begins.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

fn campaign(usual: u64, mut one: impl FnMut(u64, &mut Score) -> bool) -> Score {
    let wanted = setting("PREEMPT_TEST_SYSTEMS").unwrap_or(usual);
    let mut seed = setting("PREEMPT_TEST_SEED").unwrap_or(0);
    let (mut sum, mut done) = (Score::default(), 0);
    while done < wanted {
        let lost = sum.lost;
        done += u64::from(one(seed, &mut sum));
        if lost == 0 && sum.lost > 0 {
            println!("the first loss is seed {seed}");
        }
        seed += 1;
    }
    sum
}

fn systems_from(seed: u64, make: fn(u64) -> Program, sum: &mut Score) -> bool {
    let system = Signalling::new(make(seed), 600);
    system.is_some_and(|system| score(seed, &system, 20_000, sum))
}

fn models_from(seed: u64, make: fn(u64) -> String, sum: &mut Score) -> bool {
    promela::try_text(&make(seed)).is_some_and(|system| score(seed, &system, 40_000, sum))
}

fn systems(usual: u64, make: fn(u64) -> Program) -> Score {
    campaign(usual, |seed, sum| systems_from(seed, make, sum))
}

fn models(usual: u64, make: fn(u64) -> String) -> Score {
    campaign(usual, |seed, sum| models_from(seed, make, sum))
}

#[test]
fn random_systems_lose_nothing() {
    let sum = systems(150, signalling::random);
    println!("{sum:?}");
    assert_eq!(sum.lost, 0, "{sum:?}");
}

#[test]
fn mutated_systems_lose_nothing() {
    let sum = systems(150, signalling::mutated);
    println!("{sum:?}");
    assert_eq!(sum.lost, 0, "{sum:?}");
}

#[test]
fn random_texts_lose_nothing() {
    let sum = models(100, texts::random);
    println!("{sum:?}");
    assert_eq!(sum.lost, 0, "{sum:?}");
}

#[test]
fn mutated_texts_lose_nothing() {
    let sum = models(100, texts::mutated);
    println!("{sum:?}");
    assert_eq!(sum.lost, 0, "{sum:?}");
}

/// The systems that each mistake was found with, and those that it was thought of for.
#[test]
fn known_systems_lose_nothing() {
    let mut sum = Score::default();
    (0..signalling::KNOWN).for_each(|seed| {
        assert!(systems_from(seed, signalling::known, &mut sum), "{seed} is too large");
    });
    println!("{sum:?}");
    assert_eq!(sum.lost, 0, "{sum:?}");
}

/// Where systems come from.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Known,
    Random,
    Mutated,
    Text,
    MutatedText,
}

impl Kind {
    /// How many systems of the kind the tests above look at.
    fn usual(self) -> u64 {
        match self {
            Kind::Known => signalling::KNOWN,
            Kind::Random | Kind::Mutated => 150,
            Kind::Text | Kind::MutatedText => 100,
        }
    }
}

/// Compares searches of one system with the truth.
fn one(kind: Kind, seed: u64) -> Score {
    let mut sum = Score::default();
    match kind {
        Kind::Known => systems_from(seed, signalling::known, &mut sum),
        Kind::Random => systems_from(seed, signalling::random, &mut sum),
        Kind::Mutated => systems_from(seed, signalling::mutated, &mut sum),
        Kind::Text => models_from(seed, texts::random, &mut sum),
        Kind::MutatedText => models_from(seed, texts::mutated, &mut sum),
    };
    sum
}

const MISTAKES: [Mistake; 8] = [
    Mistake::NeverJudgedAgain,
    Mistake::MoversForgotten,
    Mistake::NothingOwed,
    Mistake::TurnComesBack,
    Mistake::ArrivalsForgotten,
    Mistake::MeetingKeepsTurn,
    Mistake::NoProviso,
    Mistake::AheadIsFree,
];

/// The first system of a kind, among the first so many, of which a mistake loses violations.
fn noticed_by(mistake: Mistake, kind: Kind, among: u64) -> Option<u64> {
    (0..among).find(|seed| with_mistake(mistake, || one(kind, *seed).lost > 0))
}

/// Each mistake loses violations of some system that the tests above look at.
#[test]
fn mistakes_are_noticed() {
    let mut unnoticed = Vec::new();
    for mistake in MISTAKES {
        let kinds = [Kind::Known, Kind::Mutated, Kind::MutatedText, Kind::Random, Kind::Text];
        let found = kinds.into_iter().find_map(|kind| {
            let seed = noticed_by(mistake, kind, kind.usual())?;
            Some((kind, seed))
        });
        println!("{mistake:?}: {found:?}");
        unnoticed.extend(found.is_none().then_some(mistake));
    }
    assert_eq!(unnoticed, []);
}

/// Looks for systems of each kind that notice mistakes, among as many as `PREEMPT_TEST_MISTAKES` says.
#[test]
fn systems_that_notice_mistakes() {
    let Some(wanted) = setting("PREEMPT_TEST_MISTAKES") else { return };
    for mistake in MISTAKES {
        for kind in [Kind::Known, Kind::Mutated, Kind::MutatedText, Kind::Text, Kind::Random] {
            println!("{mistake:?} {kind:?}: {:?}", noticed_by(mistake, kind, wanted));
        }
    }
}

/// How many states of a model a check explores within a bound.
fn states(system: &Interpreter, bound: u32) -> u64 {
    let preemptions = Preemptions::AtMost(bound);
    let options = Options { preemptions, max_errors: 0, first: true, ..Options::default() };
    Check::new(system).options(options).run().claim.statistics.states
}

/// Where channels are all that processes share, a search within a bound explores about what a reduced search
/// without one does.
#[test]
fn examples_need_few_states() {
    let plain = LowerOptions { merge: false, reset_dead: false, ..LowerOptions::default() };
    for (name, options, most) in [
        ("snoopy.pml", LowerOptions::default(), 12_000),
        ("LTL/pftp.pml", plain, 105_000),
        ("dtp.pml", LowerOptions::default(), 35_000),
        ("LTL/leader.pml", LowerOptions::default(), 14_122),
        ("leader0.pml", LowerOptions::default(), 97),
        ("sort.pml", LowerOptions::default(), 135),
    ] {
        let Some(path) = promela::debian(name) else { continue };
        let system = promela::load(&path, &[], options);
        for bound in [1, 4] {
            let states = states(&system, bound);
            println!("{name} bound {bound}: {states}");
            assert!(states <= most, "{name} at bound {bound}: {states} states, not {most}");
        }
        if name == "dtp.pml" {
            assert!(states(&system, 0) <= 5_919);
        }
    }
}

/// The examples that come with Spin, as far as they can be checked without a claim.
fn examples() -> Vec<(String, Interpreter)> {
    let mut found = Vec::new();
    for folder in ["", "Book_1991", "Exercises", "LTL"] {
        let Some(folder) = promela::debian(folder) else { continue };
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.extension().is_some_and(|extension| extension == "pml")
                && let Some(system) = promela::try_load(&path, &[], LowerOptions::default())
            {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                found.push((name.unwrap_or_default(), system));
            }
        }
    }
    let channels = promela::ours("bench_channels.pml");
    found.push((
        "bench_channels".into(),
        promela::load(&channels, &[("SIZE", "2")], LowerOptions::default()),
    ));
    found
}

/// Whatever rule is chosen, it explores at most a twentieth more than strictly local steps would.
/// `PREEMPT_TEST_ALL` gives a number of seconds to each search, instead of a fifth of one, and prints all numbers.
#[test]
fn the_chosen_rule_never_costs_much() {
    let all = setting("PREEMPT_TEST_ALL");
    let seconds = std::time::Duration::from_millis(all.map_or(80, |seconds| seconds * 1000));
    let all = all.is_some();
    for (name, system) in examples() {
        for bound in [0, 1, 2, 4] {
            let options = Options {
                preemptions: Preemptions::AtMost(bound),
                max_errors: 0,
                first: true,
                time: Some(seconds),
                ..Options::default()
            };
            let budget = || Budget::unlimited().time(seconds);
            let told = |finding: &Finding| (finding.stop, finding.statistics.states);
            let local_steps = |reduce| {
                let mut store = Exact::new(1 << 30);
                let visited = Numbered::<_, true>::new(&mut store);
                told(&iterative(&system, visited, &options, reduce, &mut budget()))
            };
            let local = local_steps(true);
            let chosen = Check::new(&system).options(options.clone()).run();
            let states = chosen.claim.statistics.states;
            let note = chosen.claim.notes.iter().find(|note| note.starts_with("reduction"));
            let complete = !matches!(chosen.verdict(), Verdict::Inconclusive(_));
            if all {
                let run = |signalled| {
                    let mut store = Exact::new(1 << 30);
                    let found =
                        iterative_reduced(&system, &mut store, &options, &signalled, &mut budget());
                    let (Reduced::Decided(f) | Reduced::Undecided(f)) = found;
                    told(&f)
                };
                let plain = local_steps(false);
                let learned = signalled(&system, Some(LOOKS[0]), &options);
                let learned = learned.map(|learned| run(learned).1);
                let anything = run(Signalled::Anything).1;
                let looks = |signalled| {
                    let seen = pilot(
                        &system,
                        (Order::Layers, LOOKS[0]),
                        &options,
                        signalled,
                        &mut budget(),
                    );
                    seen.expect("no limit")
                };
                let first = looks(Signalled::Nothing);
                let pilots = [Signalled::Anything, Signalled::Learned(Learned::default())]
                    .map(|signalled| looks(signalled).compare(&first));
                println!(
                    "{name} {bound}: none {} local {} learned {learned:?} anything {anything} pilots {pilots:?} chosen {states} {}",
                    plain.1,
                    local.1,
                    note.map_or("", |note| note)
                );
            }
            if local.0.is_none() && complete {
                assert!(states * 20 <= local.1 * 21, "{name} at {bound}: {states}, not {local:?}");
            }
        }
    }
}
