//! Random models have the same stored and matched states and the same errors here and in real Spin.
//!
//! Skipped where `spin` or a C compiler is missing. `PREEMPT_RANDOM_MODELS` sets how many models are made,
//! `PREEMPT_RANDOM_SEED` the first seed, `PREEMPT_RANDOM_FEATURE` a feature that all must have. A model that differs is made smaller before it is shown;
//! `PREEMPT_RANDOM_SHRINK` sets how many smaller ones are tried. `PREEMPT_RANDOM_FILE` names a model to be
//! compared instead, in all modes.

mod naive;
mod peer;
mod random;
mod support;

use naive::Counts;
use peer::{Result, modes, ours, setting, spins, workshop};
use random::{Random, RandomModel, make};
use std::path::Path;

/// How the two sides compare.
enum Comparison {
    Same,
    /// Nothing to compare, and why.
    Skipped(String),
    /// They differ by a known mistake of Spin's.
    Explained(&'static str),
    Different(Result, Result),
}

fn compare(text: &str, mode: usize, folder: &Path) -> Comparison {
    let (flags, options) = modes()[mode];
    let ours = ours(text, options);
    if ours == Result::Incomplete {
        return Comparison::Skipped("too large".into());
    }
    let spins = spins(text, flags, folder);
    match (&ours, &spins) {
        // Spin refuses some models for reasons of its own, such as a loop that ends at a `d_step`.
        (_, Result::Rejected(reason)) => {
            let complaint = reason.lines().rev().find(|line| line.contains("rror"));
            Comparison::Skipped(complaint.unwrap_or("refused").to_string())
        }
        (_, Result::Incomplete) => Comparison::Skipped("too large for Spin".into()),
        _ if ours == spins => Comparison::Same,
        (Result::Broken, Result::Counts(Counts { errors: 1.., .. })) => Comparison::Same,
        (Result::Counts(a), Result::Counts(b)) => {
            let same_states = Counts { errors: 0, ..*a } == Counts { errors: 0, ..*b };
            if same_states && is_error_repeated(text) && (a.errors > 0) == (b.errors > 0) {
                return Comparison::Same;
            }
            if let Some(same_to_spin) = with_empty_fields(text) {
                return match compare(&same_to_spin, mode, folder) {
                    Comparison::Same => Comparison::Explained(FORGOTTEN_FIELDS),
                    other => other,
                };
            }
            match mistake_of_spin(text, same_states) {
                Some(mistake) => Comparison::Explained(mistake),
                None => Comparison::Different(ours, spins),
            }
        }
        _ => Comparison::Different(ours, spins),
    }
}

/// Whether Spin may report one error several times. For a D_proctype it counts one per statement of a
/// merged step. A claim that has come to its end is reported at every half step that is tried: also
/// at the offer of a rendezvous that no process takes, and once more where the claim's moves are repeated
/// because no process can move without `timeout` (as `pan` built with `-DVERBOSE` shows).
fn is_error_repeated(text: &str) -> bool {
    let half_steps = text.contains("= [0] of") || text.contains("timeout");
    // Both halves of a rendezvous may have the wrong number of fields, and several messages of one `d_step`:
    // we report one error per step.
    text.contains("D_proctype")
        || text.contains("never {") && half_steps
        || text.contains("chan rf = [0]")
        || text.contains("mf!x; mf?y")
}

const FORGOTTEN_FIELDS: &str =
    "going back over a receive of too few fields does not restore the others";

/// Going back over a receive of too few fields, Spin puts 0 into the others. So a model in which nothing but 0
/// is sent in these must have the same counts: where such a model differs, Spin's mistake is not why.
fn with_empty_fields(text: &str) -> Option<String> {
    let sent = "mf!x, 1";
    let matters = text.contains("chan mf = [1]") && text.contains(sent);
    matters.then(|| text.replace(sent, "mf!x, 0"))
}

/// A mistake of Spin's that may be behind a difference; `spin_mistakes.rs` shows each of them.
/// `same_states`: only the errors differ.
fn mistake_of_spin(text: &str, same_states: bool) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    if same_states && has(&["D_proctype"]) {
        return Some(
            "`skip`, `break` and `goto` are not counted as choices, an offer is that nobody takes",
        );
    }
    if has(&["never {", "timeout", "atomic {"]) {
        return Some("beside a claim, `timeout` stays true through an atomic sequence");
    }
    if same_states && has(&["timeout", "assert("]) {
        return Some("statements that are merged see the `timeout` of the first");
    }
    if has(&["hidden", "d_step"]) {
        return Some("going back over a `d_step` does not restore hidden variables");
    }
    if has(&["enabled(", "priority"]) {
        return Some("a guard that asks `enabled` ends the mode in which steps are only tried");
    }
    None
}

fn differ(text: &str, mode: usize, folder: &Path) -> Option<(Result, Result)> {
    match compare(text, mode, folder) {
        Comparison::Different(ours, spins) => Some((ours, spins)),
        _ => None,
    }
}

/// Deletes pieces as long as the two sides still differ in the same way.
fn shrink(mut model: RandomModel, mode: usize, folder: &Path, rejected: bool) -> RandomModel {
    let mut budget = setting("PREEMPT_RANDOM_SHRINK", 40);
    'again: loop {
        for smaller in model.smaller() {
            if budget == 0 {
                return model;
            }
            let text = smaller.text();
            if text.contains("never {") && !text.contains("proctype Z()") {
                // Where no process is left, Spin lets the claim itself come to an end and die.
                continue;
            }
            budget -= 1;
            let found = differ(&text, mode, folder);
            let is_rejected = |r: &Result| matches!(r, Result::Rejected(_));
            if found.is_some_and(|(a, b)| (is_rejected(&a) || is_rejected(&b)) == rejected) {
                model = smaller;
                continue 'again;
            }
        }
        return model;
    }
}

#[test]
fn random_models_have_spins_counts() {
    let Some(folder) = workshop("random") else { return };
    if let Some(file) = std::env::var_os("PREEMPT_RANDOM_FILE") {
        let text = std::fs::read_to_string(file).expect("the model can be read");
        let found: Vec<_> = (0..modes().len()).map(|mode| differ(&text, mode, &folder)).collect();
        let _ = std::fs::remove_dir_all(&folder);
        assert!(found.iter().all(Option::is_none), "{found:#?}");
        return;
    }
    let first = setting("PREEMPT_RANDOM_SEED", 1);
    let feature = std::env::var("PREEMPT_RANDOM_FEATURE").ok();
    let (mut made, mut compared, mut explained) = (0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + setting("PREEMPT_RANDOM_MODELS", 20) {
        let mut random = Random::new(seed);
        let model = make(&mut random, feature.as_deref());
        let mode = random.below(3) as usize;
        made += 1;
        let (a, b) = match compare(&model.text(), mode, &folder) {
            Comparison::Same => {
                compared += 1;
                continue;
            }
            Comparison::Skipped(reason) => {
                println!("seed {seed}: {reason}");
                continue;
            }
            Comparison::Explained(mistake) => {
                explained += 1;
                println!("seed {seed}: differs: {mistake}");
                continue;
            }
            Comparison::Different(ours, spins) => (ours, spins),
        };
        let rejected = matches!(a, Result::Rejected(_)) || matches!(b, Result::Rejected(_));
        let small = shrink(model, mode, &folder, rejected);
        let text = small.text();
        let (a, b) = differ(&text, mode, &folder).unwrap_or((a, b));
        let flags = modes()[mode].0;
        failures.push(format!("seed {seed}, spin {flags:?}\nours {a:?}\nspin {b:?}\n{text}"));
        println!("{}", failures[failures.len() - 1]);
        if failures.len() as u64 >= setting("PREEMPT_RANDOM_FAILURES", 5) {
            break;
        }
    }
    println!(
        "{made} models, {compared} with Spin's counts, {explained} differ by mistakes of Spin's, {} otherwise",
        failures.len()
    );
    let _ = std::fs::remove_dir_all(&folder);
    assert!(failures.is_empty(), "{} of {made} models differ", failures.len());
    assert!(compared * 3 > made, "only {compared} of {made} models could be compared");
}
