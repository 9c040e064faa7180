//! The table of litmus tests, and random ones.

use super::oracle::{Axiom, allowed, costs};
use super::{Cost, Litmus, Shape, explored, explored_in_turns, random_litmus};
use crate::mutation::{ACTIVE, Mutation};
use crate::random::Random;
use crate::{Ending, Halt, Limits, Row as Covered, Statistics};
use std::collections::{BTreeMap, BTreeSet};

struct Row {
    name: String,
    litmus: Litmus,
    graphs: usize,
    outcomes: usize,
    interleavings: usize,
    asked: Vec<(String, u64)>,
    least: Option<Cost>,
    races: bool,
}

fn table() -> Vec<Row> {
    let cost = |text: &str| {
        let (stale, preemptions) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(", ")?;
        Some((stale.parse().ok()?, preemptions.parse().ok()?))
    };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        // "0:a=0 1:b=0" or "mem x=1 mem y=1"
        let asked = fields[5].replace("mem ", "mem_");
        let asked = asked.split(' ').map(|part| {
            let (register, value) = part.split_once('=').expect("register=value");
            (register.replace("mem_", "mem "), value.parse().expect("a number"))
        });
        let least = cost(fields[7]);
        assert_eq!(fields[6] == "yes", least.is_some(), "{line}");
        Row {
            name: fields[0].into(),
            litmus: fields[1].parse().expect(line),
            graphs: fields[2].parse().expect(line),
            outcomes: fields[3].parse().expect(line),
            interleavings: fields[4].parse().expect(line),
            asked: asked.collect(),
            least,
            races: fields[8] == "race",
        }
    };
    include_str!("rc11.tsv").lines().skip(1).map(row).collect()
}

/// (graphs, outcomes, graphs without a stale choice, least cost of the outcome that is asked for)
fn summary(row: &Row, graphs: &BTreeMap<Shape, Cost>) -> (usize, usize, usize, Option<Cost>) {
    let outcomes: BTreeSet<_> = graphs.keys().map(|shape| row.litmus.outcome(shape)).collect();
    let interleavings = graphs.values().filter(|cost| cost.0 == 0).count();
    let asked = |shape: &&Shape| {
        let outcome = row.litmus.outcome(shape);
        row.asked.iter().all(|(register, value)| outcome.get(register) == Some(value))
    };
    let least = graphs.keys().filter(asked).map(|shape| graphs[shape]).min();
    (graphs.len(), outcomes.len(), interleavings, least)
}

fn least(costs: BTreeMap<Shape, Vec<Cost>>) -> BTreeMap<Shape, Cost> {
    costs.into_iter().filter_map(|(shape, costs)| Some((shape, *costs.iter().min()?))).collect()
}

#[test]
fn the_axioms_agree_with_the_table() {
    let rows = table();
    assert_eq!(rows.len(), 44);
    for row in rows {
        let (graphs, races) = allowed(&row.litmus, None).expect("small");
        let costs = least(costs(&row.litmus).expect("small"));
        assert_eq!(graphs, costs.keys().cloned().collect(), "{}", row.name);
        let expected = (row.graphs, row.outcomes, row.interleavings, row.least);
        assert_eq!(summary(&row, &costs), expected, "{}", row.name);
        assert_eq!(races, row.races, "{}", row.name);
    }
}

#[test]
fn the_explorer_agrees_with_the_table() {
    for row in table() {
        let (graphs, halt, statistics) = explored(&row.litmus, Limits::default());
        if row.races {
            let failure = statistics.failure.expect("a data race");
            assert!(matches!(failure.ending, Ending::Race(_)), "{}", row.name);
            continue;
        }
        assert_eq!((halt, statistics.exhausted), (Halt::Done, true), "{}", row.name);
        let expected = (row.graphs, row.outcomes, row.interleavings, row.least);
        assert_eq!(summary(&row, &graphs), expected, "{}", row.name);
        assert_eq!(statistics.graphs.len(), row.graphs, "{}", row.name);
        assert!(statistics.executions <= statistics.graphs.len() as u64, "{}", row.name);
    }
}

/// How the explorer differs from the oracle; `None` if the oracle gave up.
fn difference(seed: u64, without: Option<Axiom>) -> Option<Result<(), String>> {
    let litmus = random_litmus(&mut Random::new(seed));
    let (graphs, _) = allowed(&litmus, without)?;
    let (ours, halt, statistics) = explored(&litmus, Limits::default());
    if halt != Halt::Done || !statistics.exhausted {
        return Some(Err(format!("{halt:?}, exhausted {}", statistics.exhausted)));
    }
    let found: BTreeSet<Shape> = ours.keys().cloned().collect();
    if found != graphs {
        let missing = graphs.difference(&found).next();
        let wrong = found.difference(&graphs).next();
        return Some(Err(format!(
            "{} graphs instead of {}\nmissing: {missing:?}\nwrong: {wrong:?}\n{litmus:?}",
            found.len(),
            graphs.len()
        )));
    }
    if statistics.graphs.len() != found.len() || statistics.executions > found.len() as u64 {
        let (hashes, runs) = (statistics.graphs.len(), statistics.executions);
        return Some(Err(format!("{hashes} hashes, {runs} runs for {} graphs", found.len())));
    }
    if without.is_some() {
        return Some(Ok(()));
    }
    let fronts = costs(&litmus)?;
    if least(fronts.clone()) != ours {
        return Some(Err(format!("other costs\n{litmus:?}")));
    }
    if let Some(message) = wrong_row(&statistics, &fronts) {
        return Some(Err(format!("{message}\n{litmus:?}")));
    }
    // Levels that take turns: the same, and the bounds are on both.
    let turn = 1 + seed as u32 % 7;
    let (ours, halt, statistics) = explored_in_turns(&litmus, Limits::default(), Some(turn));
    let same = ours.keys().eq(fronts.keys()) && statistics.graphs.len() == fronts.len();
    if (halt, statistics.exhausted, same) != (Halt::Done, true, true) {
        let (found, exhausted) = (ours.len(), statistics.exhausted);
        return Some(Err(format!(
            "in turns of {turn}: {halt:?}, {found} graphs, exhausted {exhausted}\n{litmus:?}"
        )));
    }
    if let Some(message) = wrong_row(&statistics, &fronts) {
        return Some(Err(format!("in turns of {turn}: {message}\n{litmus:?}")));
    }
    bounded_difference(seed, &litmus, &fronts)
}

/// A row that does not say what its bounds cover, if there is one.
fn wrong_row(statistics: &Statistics, fronts: &BTreeMap<Shape, Vec<Cost>>) -> Option<String> {
    let expected = |row: &Covered| {
        let within = |costs: &&Vec<Cost>| match row.all_fewer {
            true => costs.iter().any(|&cost| cost <= (row.stale, row.preemptions)),
            false => costs.iter().any(|c| c.0 <= row.stale && c.1 <= row.preemptions),
        };
        fronts.values().filter(within).count() as u64
    };
    let wrong = statistics.rows.iter().find(|row| expected(row) != row.graphs)?;
    Some(format!("{} graphs within {wrong:?}", expected(wrong)))
}

/// The same with limits on both.
fn bounded_difference(
    seed: u64,
    litmus: &Litmus,
    fronts: &BTreeMap<Shape, Vec<Cost>>,
) -> Option<Result<(), String>> {
    let (stale, bound) = (seed as u32 % 3, seed as u32 / 3 % 3);
    let limits = Limits { stale: Some(stale), bound: Some(bound), ..Limits::default() };
    let within = |costs: &Vec<Cost>| costs.iter().any(|c| c.0 <= stale && c.1 <= bound);
    let expected = fronts.values().filter(|costs| within(costs)).count();
    for turn in [None, Some(1 + seed as u32 % 5)] {
        let (ours, halt, statistics) = explored_in_turns(litmus, limits.clone(), turn);
        let (found, bounds) = (ours.len(), format!("within {stale}, {bound}, turns {turn:?}"));
        if halt != Halt::Done || found != expected {
            return Some(Err(format!("{found} instead of {expected} {bounds}")));
        }
        if statistics.exhausted && expected != fronts.len() {
            return Some(Err(format!("not exhausted {bounds}\n{litmus:?}")));
        }
    }
    Some(Ok(()))
}

fn seeds(default: u64) -> u64 {
    std::env::var("PREEMPT_LITMUS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn the_explorer_agrees_with_the_axioms_on_random_tests() {
    let (mut compared, mut skipped) = (0, 0);
    let mut wrong = Vec::new();
    for seed in 0..seeds(300) {
        match difference(seed, None) {
            None => skipped += 1,
            Some(Ok(())) => compared += 1,
            Some(Err(message)) => wrong.push(format!("seed {seed}: {message}")),
        }
    }
    println!("{compared} compared, {skipped} skipped");
    wrong.truncate(5);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 3 * skipped, "{compared} compared, {skipped} skipped");
}

#[test]
fn axioms_that_are_left_out_are_noticed() {
    for axiom in [
        Axiom::Coherence,
        Axiom::Atomicity,
        Axiom::StrongAccesses,
        Axiom::StrongFences,
        Axiom::StrongMixed,
        Axiom::ReleaseSequences,
        Axiom::ReleaseFences,
        Axiom::AcquireFences,
        Axiom::Synchronisation,
        Axiom::NoThinAir,
    ] {
        let caught = (0..2000).find(|&seed| matches!(difference(seed, Some(axiom)), Some(Err(_))));
        println!("without {axiom:?}: caught by seed {caught:?}");
        assert!(caught.is_some(), "{axiom:?} was not missed");
    }
}

#[test]
fn mistakes_in_the_explorer_are_noticed() {
    for mutation in [
        Mutation::RelaxedAcquires,
        Mutation::NoReleaseSequence,
        Mutation::NoAcquireFence,
        Mutation::NoReleaseFence,
        Mutation::NoCoherence,
        Mutation::NoAtomicity,
        Mutation::NoTotalOrder,
        Mutation::StrongHidesFences,
        Mutation::StaleCoversPreemptions,
        Mutation::OneLastThread,
    ] {
        ACTIVE.set(Some(mutation));
        let caught = (0..2000).find(|&seed| matches!(difference(seed, None), Some(Err(_))));
        ACTIVE.set(None);
        println!("{mutation:?}: caught by seed {caught:?}");
        assert!(caught.is_some(), "{mutation:?} was not noticed");
    }
}
