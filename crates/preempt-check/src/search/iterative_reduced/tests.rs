//! The reduction against the truth about small random systems, which mistakes about it lose violations,
//! and the number of states it needs.

use super::mistake::{Mistake, with_mistake};
use super::{PILOT, Reduced, iterative_reduced, pilot};
use crate::reduce::Signalled;
use crate::store::Exact;
use crate::{Budget, Options, Preemptions, Reduction};
use preempt_core::{System, replay};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::LowerOptions;
use signalling::{Program, Signalling};

#[path = "../../../tests/promela/mod.rs"]
mod promela;
#[path = "../../../tests/signalling/mod.rs"]
mod signalling;
#[path = "../../../tests/texts/mod.rs"]
mod texts;
#[path = "../../../tests/triples/mod.rs"]
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

/// What is signalled ahead; `None` if nobody runs ahead.
fn signalled<S: System + ?Sized>(
    system: &S,
    states: Option<u64>,
    options: &Options,
) -> Option<Signalled> {
    let Some(states) = states else { return Some(Signalled::Anything) };
    let learned = pilot(system, states, options, &mut Budget::unlimited()).expect("no limit");
    (states == 0 || !learned.is_empty()).then_some(Signalled::Learned(learned))
}

fn search<S: System + ?Sized>(system: &S, way: Way) -> Said {
    let options = Options {
        reduction: way.reduction,
        preemptions: match way.iterates {
            true => Preemptions::Iterate { last: Some(way.bound), extra: 0 },
            false => Preemptions::AtMost(way.bound),
        },
        assertions: way.assertions,
        deadlocks: way.deadlocks,
        ..Options::default()
    };
    let mut store = Exact::new(1 << 28);
    let mut budget = Budget::unlimited();
    let Some(signalled) = signalled(system, way.pilot, &options) else { return Said::Idle };
    match iterative_reduced(system, &mut store, &options, signalled, &mut budget) {
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
    /// Searches in which something ran ahead,
    searches: u64,
    /// where there was a violation to be found,
    violated: u64,
    /// which was not found.
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
    }
    true
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
    let system = Signalling::new(make(seed), 300);
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

/// Where random systems come from.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Random,
    Mutated,
    Text,
    MutatedText,
}

/// Compares searches of one random system with the truth.
fn one(kind: Kind, seed: u64) -> Score {
    let mut sum = Score::default();
    match kind {
        Kind::Random => systems_from(seed, signalling::random, &mut sum),
        Kind::Mutated => systems_from(seed, signalling::mutated, &mut sum),
        Kind::Text => models_from(seed, texts::random, &mut sum),
        Kind::MutatedText => models_from(seed, texts::mutated, &mut sum),
    };
    sum
}

const MISTAKES: [Mistake; 8] = [
    Mistake::NothingOwed,
    Mistake::TurnComesBack,
    Mistake::ArrivalsForgotten,
    Mistake::MeetingKeepsTurn,
    Mistake::NoProviso,
    Mistake::AheadIsFree,
    Mistake::NeverJudgedAgain,
    Mistake::MoversForgotten,
];

/// Random systems of which a mistake loses violations.
const NOTICED_BY: [(Mistake, Kind, u64); 8] = [
    (Mistake::NothingOwed, Kind::Mutated, 1),
    (Mistake::NothingOwed, Kind::MutatedText, 6),
    (Mistake::TurnComesBack, Kind::Mutated, 12),
    (Mistake::TurnComesBack, Kind::MutatedText, 6),
    (Mistake::NoProviso, Kind::Random, 39),
    (Mistake::NoProviso, Kind::Mutated, 106),
    (Mistake::ArrivalsForgotten, Kind::Mutated, 3),
    (Mistake::ArrivalsForgotten, Kind::Mutated, 30),
];

/// Every mistake loses violations of some system, which the search without it does not.
#[test]
fn mistakes_are_noticed() {
    for (mistake, kind, seed) in NOTICED_BY {
        let lost = with_mistake(Some(mistake), || one(kind, seed).lost);
        assert!(lost > 0, "{mistake:?} is not noticed by {kind:?} {seed}");
        assert_eq!(one(kind, seed).lost, 0, "{kind:?} {seed}");
    }
}

/// Looks for systems that notice mistakes, as many as `PREEMPT_TEST_MISTAKES` says of each kind.
#[test]
fn systems_that_notice_mistakes() {
    let Some(wanted) = setting("PREEMPT_TEST_MISTAKES") else { return };
    for mistake in MISTAKES {
        for kind in [Kind::Mutated, Kind::MutatedText, Kind::Text, Kind::Random] {
            let seeds = (0..wanted)
                .filter(|seed| with_mistake(Some(mistake), || one(kind, *seed).lost > 0));
            println!("{mistake:?} {kind:?}: {:?}", seeds.take(4).collect::<Vec<_>>());
        }
    }
}

/// States and errors of an example within a bound, with what a pilot learns or with anything.
fn states(system: &Interpreter, bound: u32, states: Option<u64>) -> Option<(u64, u64)> {
    let options =
        Options { preemptions: Preemptions::AtMost(bound), max_errors: 0, ..Options::default() };
    let signalled = signalled(system, states, &options)?;
    let mut budget = Budget::unlimited();
    let found =
        iterative_reduced(system, &mut Exact::new(1 << 30), &options, signalled, &mut budget);
    let (Reduced::Decided(finding) | Reduced::Undecided(finding)) = found;
    Some((finding.statistics.states, finding.statistics.errors))
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
        for (bound, pilot) in [(1, Some(PILOT)), (4, None)] {
            let (states, _) = states(&system, bound, pilot).expect("somebody runs ahead");
            println!("{name} bound {bound}: {states}");
            assert!(states <= most, "{name} at bound {bound}: {states} states, not {most}");
        }
    }
}
