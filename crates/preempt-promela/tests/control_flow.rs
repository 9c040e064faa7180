//! Models whose control flow is random are accepted or refused exactly as by Spin, and have its counts.
//!
//! Skipped where `spin` or a C compiler is missing. `PREEMPT_FLOW_MODELS` sets how many models are made,
//! `PREEMPT_FLOW_SEED` the first seed, `PREEMPT_FLOW_SHRINK` how many smaller models are tried where one differs.

mod naive;
mod peer;
mod random;
mod support;

use naive::Counts;
use peer::{Result, modes, ours, setting, spins, workshop};
use random::flow::make_flow;
use random::{Random, RandomModel};
use std::path::Path;

enum Comparison {
    Same,
    /// Refused by both.
    Refused,
    /// Spin's verifier says too little.
    Skipped(&'static str),
    /// They differ by a known mistake of Spin's.
    Explained(&'static str),
    Different(Result, Result),
}

fn compare(model: &RandomModel, mode: usize, folder: &Path) -> Comparison {
    let text = &model.text();
    let (flags, options) = modes()[mode];
    let ours = ours(text, options);
    if ours == Result::Incomplete {
        return Comparison::Skipped("too large");
    }
    let spins = spins(text, flags, folder);
    match (&ours, &spins) {
        (Result::Rejected(_), Result::Rejected(_)) => Comparison::Refused,
        _ if ours == spins => Comparison::Same,
        (Result::Broken, Result::Counts(Counts { errors: 1.., .. })) => Comparison::Same,
        (Result::Broken | Result::Counts(_), Result::Incomplete) => {
            Comparison::Skipped("too large for Spin, or a `d_step` without an end")
        }
        // An assertion each for several in one `d_step`: for us it is one step.
        (Result::Counts(a), Result::Counts(b))
            if text.contains("d_step")
                && a.errors.min(b.errors) > 0
                && Counts { errors: 0, ..*a } == Counts { errors: 0, ..*b } =>
        {
            Comparison::Same
        }
        (_, Result::Rejected(_)) => Comparison::Different(ours, spins),
        _ => match model.flow_mistake(matches!(ours, Result::Rejected(_))) {
            Some(mistake) => Comparison::Explained(mistake),
            None => Comparison::Different(ours, spins),
        },
    }
}

fn shrink(mut model: RandomModel, mode: usize, folder: &Path) -> RandomModel {
    let mut budget = setting("PREEMPT_FLOW_SHRINK", 200);
    let kind = |model: &RandomModel| match compare(model, mode, folder) {
        Comparison::Different(a, b) => {
            let refused = |r: &Result| matches!(r, Result::Rejected(_));
            Some((refused(&a), refused(&b)))
        }
        _ => None,
    };
    let wanted = kind(&model);
    'again: loop {
        for smaller in model.smaller() {
            if budget == 0 {
                return model;
            }
            budget -= 1;
            if kind(&smaller) == wanted {
                model = smaller;
                continue 'again;
            }
        }
        return model;
    }
}

#[test]
fn random_control_flow_is_accepted_refused_and_counted_as_by_spin() {
    let Some(folder) = workshop("flow") else { return };
    let first = setting("PREEMPT_FLOW_SEED", 1);
    let (mut made, mut same, mut refused, mut explained) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + setting("PREEMPT_FLOW_MODELS", 40) {
        let mut random = Random::new(seed);
        let model = make_flow(&mut random);
        let mode = random.below(3) as usize;
        made += 1;
        match compare(&model, mode, &folder) {
            Comparison::Same => same += 1,
            Comparison::Refused => refused += 1,
            Comparison::Explained(mistake) => {
                explained += 1;
                println!("seed {seed}: differs: {mistake}");
            }
            Comparison::Skipped(reason) => println!("seed {seed}: {reason}"),
            Comparison::Different(..) => {
                let text = shrink(model, mode, &folder).text();
                let (flags, options) = modes()[mode];
                let (a, b) = (ours(&text, options), spins(&text, flags, &folder));
                println!("seed {seed}, spin {flags:?}\nours {a:?}\nspin {b:?}\n{text}");
                failures.push(seed);
            }
        }
        if failures.len() as u64 >= setting("PREEMPT_FLOW_FAILURES", 5) {
            break;
        }
    }
    println!(
        "{made} models, {refused} refused by both, {same} with Spin's counts, {explained} differ by mistakes of Spin's"
    );
    let _ = std::fs::remove_dir_all(&folder);
    assert!(failures.is_empty(), "models that differ: {failures:?}");
    assert!(same * 5 > made, "only {same} of {made} models could be compared");
}
