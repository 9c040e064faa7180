//! Random models with random pieces of C have as many states, matches and errors as in Spin.
//!
//! `PREEMPT_FRAGMENT_MODELS` and `PREEMPT_FRAGMENT_SEED` ask for more, and for others.

#[path = "../../preempt-promela/tests/naive/mod.rs"]
mod naive;
mod peer;
mod random;

use peer::{modes, ours, spins, workshop};
use random::{model, model_with_addresses, model_with_changing_claim};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn random_models_count_as_in_spin() {
    compare("fragments", model);
}

/// A process has its memory at one address in all states.
#[test]
fn random_models_that_keep_addresses_count_as_in_spin() {
    compare("addresses", model_with_addresses);
}

/// What a claim changes is what the step of a process starts from.
#[test]
fn random_claims_with_c_count_as_in_spin() {
    compare("changing-claims", model_with_changing_claim);
}

fn compare(name: &str, model: fn(u64) -> String) {
    let Some(folder) = workshop(name) else { return };
    let (models, seed) =
        (setting("PREEMPT_FRAGMENT_MODELS", 40), setting("PREEMPT_FRAGMENT_SEED", 1));
    let (mut compared, mut with_errors, mut most) = (0, 0, 0);
    for number in seed..seed + models {
        let text = model(number);
        let (flags, options) = modes()[number as usize % 2];
        let Some(wanted) = spins(&text, flags, &folder) else { continue };
        let found = ours(&text, options);
        if found.stopped && !found.broken {
            continue;
        }
        if found.broken {
            // A step that cannot be completed ends our simple search; Spin counts on.
            assert!(wanted.errors > 0, "model {number} {flags:?}: {found:?}, {wanted:?}\n{text}");
        } else {
            assert_eq!(found, wanted, "model {number} {flags:?}\n{text}");
        }
        compared += 1;
        with_errors += u64::from(wanted.errors > 0);
        most = most.max(wanted.stored);
    }
    println!("{compared} models compared, {with_errors} with errors, at most {most} states");
    assert!(compared * 10 >= models * 8, "too many models are too large: {compared} of {models}");
    assert!(models < 40 || (with_errors > 0 && with_errors < compared && most > 100));
    _ = std::fs::remove_dir_all(folder);
}
