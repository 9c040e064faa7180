//! Models in which values are cut wherever they can be have Spin's counts: stored and matched states, errors.
//!
//! Skipped where `spin` or a C compiler is missing. `PREEMPT_OVERFLOW_MODELS` sets how many models are made,
//! `PREEMPT_OVERFLOW_SEED` the first seed.

mod naive;
mod peer;
mod random;
mod support;

use naive::Counts;
use peer::{Result, modes, ours, setting, spins, spins_with, workshop};
use random::overflow::make_overflow;
use random::{Random, RandomModel};
use std::path::Path;

enum Comparison {
    Same,
    Skipped,
    /// Only Spin's depth-first search differs, which takes steps back.
    Explained,
    Different(Result),
}

fn compare(model: &RandomModel, mode: usize, folder: &Path) -> Comparison {
    let text = &model.text();
    let (flags, options) = modes()[mode];
    let ours = ours(text, options);
    if ours == Result::Incomplete {
        return Comparison::Skipped;
    }
    let spins = spins(text, flags, folder);
    let same = |spins: &Result| match (&ours, spins) {
        (Result::Broken, Result::Counts(Counts { errors: 1.., .. })) => true,
        // Spin counts every violated assertion of statements that are one step.
        (Result::Counts(a), Result::Counts(b)) if a.errors.min(b.errors) > 0 => {
            Counts { errors: 0, ..*a } == Counts { errors: 0, ..*b }
        }
        _ => ours == *spins,
    };
    match spins {
        Result::Incomplete => Comparison::Skipped,
        Result::Rejected(_) if matches!(ours, Result::Rejected(_)) => Comparison::Skipped,
        _ if same(&spins) => Comparison::Same,
        // Breadth first nothing is taken back; the states are the same. (Errors and matches are counted otherwise.)
        Result::Counts(_) => match (&ours, spins_with(text, flags, "-DBFS", folder)) {
            (Result::Counts(a), Result::Counts(b)) if a.stored == b.stored => Comparison::Explained,
            _ => Comparison::Different(ours),
        },
        _ => Comparison::Different(ours),
    }
}

#[test]
fn values_are_cut_where_spin_cuts_them() {
    let Some(folder) = workshop("overflow") else { return };
    let first = setting("PREEMPT_OVERFLOW_SEED", 1);
    let (mut made, mut same, mut explained) = (0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + setting("PREEMPT_OVERFLOW_MODELS", 30) {
        let mut random = Random::new(seed);
        let narrow = seed % 4 == 0;
        let mut model = make_overflow(&mut random, narrow);
        let mode = random.below(3) as usize;
        made += 1;
        match compare(&model, mode, &folder) {
            Comparison::Same => same += 1,
            Comparison::Skipped => {}
            Comparison::Explained if narrow => explained += 1,
            _ => {
                let differs = |m: &RandomModel| {
                    matches!(compare(m, mode, &folder), Comparison::Different(Result::Counts(_)))
                };
                let mut budget = setting("PREEMPT_OVERFLOW_SHRINK", 150);
                while let Some(smaller) = model.smaller().into_iter().find(|m| {
                    budget = budget.saturating_sub(1);
                    budget > 0 && differs(m)
                }) {
                    model = smaller;
                }
                let text = model.text();
                let (flags, options) = modes()[mode];
                let (a, b) = (ours(&text, options), spins(&text, flags, &folder));
                println!("seed {seed}, spin {flags:?}\nours {a:?}\nspin {b:?}\n{text}");
                failures.push(seed);
            }
        }
        if failures.len() as u64 >= setting("PREEMPT_OVERFLOW_FAILURES", 5) {
            break;
        }
    }
    println!(
        "{made} models, {same} with Spin's counts, {explained} differ where Spin takes steps back"
    );
    let _ = std::fs::remove_dir_all(&folder);
    assert!(failures.is_empty(), "models that differ: {failures:?}");
    assert!(same * 3 > made, "only {same} of {made} models could be compared");
}
