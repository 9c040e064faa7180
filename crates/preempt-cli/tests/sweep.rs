//! Examples have the same states, transitions, errors and verdicts with one, two and four threads, with every store, with and
//! without reduction, and within bounds. What one thread counts is compared with Spin elsewhere
//! (`preempt-promela/tests/spin_counts.rs`).
//!
//! `PREEMPT_SWEEP_ALL` asks for all of Spin's examples with every combination.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const STORES: [&str; 5] = ["auto", "exact", "tree", "compact", "bitstate"];
const THREADS: [&str; 4] = ["default", "1", "2", "4"];

fn all() -> bool {
    std::env::var_os("PREEMPT_SWEEP_ALL").is_some()
}

/// Models in a folder and below it.
fn models_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => models_below(&path, found),
            path if path.extension().is_some_and(|end| end == "pml") => found.push(path),
            _ => {}
        }
    }
    found.sort();
}

fn examples() -> Vec<PathBuf> {
    let mut found = Vec::new();
    models_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models"), &mut found);
    found.retain(|path| !path.to_string_lossy().contains("bench_"));
    let spins = Path::new("/usr/share/doc/spin/examples");
    if all() {
        models_below(spins, &mut found);
    } else {
        let names = ["abp", "hajek", "loops", "peterson", "snoopy", "sort"];
        let theirs = names.map(|name| spins.join("Examples").join(format!("{name}.pml")));
        found.extend(theirs.into_iter().filter(|path| path.exists()));
    }
    found
}

/// What a check says; nothing where it was not completed.
fn check(model: &Path, options: &[&str]) -> Option<Vec<Value>> {
    let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .arg("check")
        .arg(model)
        .args(options)
        .args(["--first", "--json", "--quiet", "--time", if all() { "60s" } else { "20s" }])
        .output()
        .expect("preempt runs");
    assert_ne!(output.status.code(), Some(101), "{model:?} {options:?}: {output:?}");
    let value: Value = serde_json::from_slice(&output.stdout).ok()?;
    let results = match value.get("results") {
        Some(Value::Array(results)) => results.clone(),
        _ => vec![value],
    };
    let is_cut = |result: &Value| {
        let claim = result["claim"].as_str().unwrap_or_default();
        result["verdict"] == "inconclusive" && !claim.contains("does not keep states exactly")
    };
    (!results.iter().any(is_cut)).then_some(results)
}

/// The options of a combination.
fn options<'a>(store: &'a str, threads: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut options = more.to_vec();
    if store != "auto" {
        options.extend(["--store", store]);
    }
    if store == "bitstate" {
        options.extend(["--bits", "26"]);
    }
    if threads != "default" {
        options.extend(["--threads", threads]);
    }
    options
}

fn counts(result: &Value) -> [Value; 3] {
    ["states", "transitions", "errors"].map(|key| result[key].clone())
}

fn rows(result: &Value) -> Value {
    result["per_bound"].clone()
}

/// A lossy store proves nothing; what is violated, and what is not, is the same.
fn is_violated(result: &Value) -> bool {
    result["verdict"] == "violated"
}

/// Whether a model is small enough to be searched in so many ways.
fn is_left_out(one: &Value) -> bool {
    !all() && one["states"].as_u64().is_none_or(|states| states > 60_000)
}

/// Whether a combination is looked at for the model with this number.
fn is_chosen(number: usize, combination: usize) -> bool {
    all() || (number + combination).is_multiple_of(7)
}

#[test]
fn examples_are_counted_alike_with_all_stores_and_threads() {
    let (mut compared, mut passed_over) = (0, Vec::new());
    for (number, model) in examples().iter().enumerate() {
        let plain = ["--no-claim", "--max-errors", "0"];
        let full = [&plain[..], &["--por", "off"]].concat();
        let Some(one) = check(model, &options("exact", "1", &full)) else {
            passed_over.push(model.clone());
            continue;
        };
        if is_left_out(&one[0]) {
            continue;
        }
        let mut combination = 0;
        for store in STORES {
            for threads in THREADS {
                combination += 1;
                if !is_chosen(number, combination) {
                    continue;
                }
                let what = format!("{model:?}, {store}, {threads} threads");
                let found = check(model, &options(store, threads, &full));
                let found = found.unwrap_or_else(|| panic!("{what}: not completed"));
                // Of a million states a table of bits misses some.
                let is_small = one[0]["states"].as_u64().is_some_and(|states| states < 20_000);
                if store != "bitstate" || is_small {
                    assert_eq!(counts(&found[0]), counts(&one[0]), "{what}");
                }
                assert_eq!(is_violated(&found[0]), is_violated(&one[0]), "{what}");
                let reduced = check(model, &options(store, threads, &plain));
                let reduced = reduced.unwrap_or_else(|| panic!("{what}, reduced: not completed"));
                assert_eq!(is_violated(&reduced[0]), is_violated(&one[0]), "{what}, reduced");
                compared += 1;
            }
        }
    }
    println!("{compared} combinations compared; passed over: {passed_over:?}");
    assert!(compared > 30, "only {compared} combinations compared");
}

#[test]
fn bounds_have_the_same_rows_with_all_stores_and_threads() {
    let (mut compared, mut passed_over) = (0, Vec::new());
    for (number, model) in examples().iter().enumerate() {
        for bound in ["0", "1", "2", "3"] {
            let plain = ["--no-claim", "--max-errors", "0", "--bound", bound];
            let full = [&plain[..], &["--por", "off"]].concat();
            let Some(one) = check(model, &options("exact", "1", &full)) else {
                passed_over.push((model.clone(), bound));
                continue;
            };
            if is_left_out(&one[0]) {
                continue;
            }
            let is_small = one[0]["states"].as_u64().is_some_and(|states| states < 3_000);
            let mut combination = 0;
            for store in STORES {
                for threads in THREADS {
                    combination += 1;
                    // One thread goes depth-first there and counts other transitions.
                    let is_lossy = ["compact", "bitstate"].contains(&store);
                    let is_deep = is_lossy && !["2", "4"].contains(&threads);
                    if !is_chosen(number, combination) || is_deep {
                        continue;
                    }
                    let what = format!("{model:?}, bound {bound}, {store}, {threads} threads");
                    let found = check(model, &options(store, threads, &full));
                    let found = found.unwrap_or_else(|| panic!("{what}: not completed"));
                    if store != "bitstate" || is_small {
                        assert_eq!(rows(&found[0]), rows(&one[0]), "{what}");
                    }
                    assert_eq!(is_violated(&found[0]), is_violated(&one[0]), "{what}");
                    let reduced = check(model, &options(store, threads, &plain));
                    if let Some(reduced) = reduced {
                        let what = format!("{what}, reduced");
                        assert_eq!(is_violated(&reduced[0]), is_violated(&one[0]), "{what}");
                    }
                    compared += 1;
                }
            }
        }
    }
    println!("{compared} combinations compared; passed over: {passed_over:?}");
    assert!(compared > 60, "only {compared} combinations compared");
}

/// Properties of models, where they have some: the same verdicts with all stores and threads, and the same counts where several
/// threads explore everything.
#[test]
fn properties_have_the_same_verdicts_with_all_stores_and_threads() {
    let mut compared = 0;
    for (number, model) in examples().iter().enumerate() {
        let text = std::fs::read_to_string(model).unwrap_or_default();
        if !text.contains("ltl ") && !text.contains("never") {
            continue;
        }
        let Some(one) = check(model, &options("exact", "1", &["--por", "off"])) else { continue };
        if is_left_out(&one[0]) {
            continue;
        }
        let mut combination = 0;
        for store in STORES {
            for threads in THREADS {
                combination += 1;
                if !is_chosen(number, combination) {
                    continue;
                }
                for more in [&[][..], &["--por", "off"]] {
                    let Some(found) = check(model, &options(store, threads, more)) else {
                        continue;
                    };
                    let verdicts = |results: &[Value]| -> Vec<bool> {
                        results.iter().map(is_violated).collect()
                    };
                    let what = format!("{model:?}, {store}, {threads} threads, {more:?}");
                    assert_eq!(verdicts(&found), verdicts(&one), "{what}");
                    compared += 1;
                }
            }
        }
    }
    println!("{compared} combinations compared");
    assert!(compared > 10, "only {compared} combinations compared");
}
