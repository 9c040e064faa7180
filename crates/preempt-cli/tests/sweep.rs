//! Examples have the same states, transitions, errors and verdicts with one, two and four threads, with every store, with and
//! without reduction, and within bounds. What one thread counts is compared with Spin elsewhere
//! (`preempt-promela/tests/spin_counts.rs`).
//!
//! `PREEMPT_SWEEP_ALL` asks for all of Spin's examples with every combination.

mod examples;

use examples::models_below;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const STORES: [&str; 5] = ["auto", "exact", "tree", "compact", "bitstate"];
const THREADS: [&str; 4] = ["default", "1", "2", "4"];

fn all() -> bool {
    std::env::var_os("PREEMPT_SWEEP_ALL").is_some()
}

fn examples() -> Vec<PathBuf> {
    let mut found = Vec::new();
    models_below(&examples::ours(), &mut found);
    found.retain(|path| !path.to_string_lossy().contains("bench_"));
    let spins = examples::spins();
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

/// A lossy store proves nothing; what is violated, and what is not, is the same.
fn is_violated(result: &Value) -> bool {
    result["verdict"] == "violated"
}

/// Whether a model has too many states to be searched in so many ways.
fn is_too_large(one: &Value) -> bool {
    !all() && one["states"].as_u64().is_none_or(|states| states > 60_000)
}

/// The stores and threads with which the model of this number is searched.
fn combinations(number: usize) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all_of_them = STORES.iter().flat_map(|store| THREADS.map(|threads| (*store, threads)));
    let is_chosen = move |at: usize| all() || (number + at).is_multiple_of(7);
    (1..).zip(all_of_them).filter(move |(at, _)| is_chosen(*at)).map(|(_, one)| one)
}

/// What a search says that has to come to its end.
fn whole(model: &Path, options: &[&str], what: &str) -> Value {
    let found = check(model, options).unwrap_or_else(|| panic!("{what}: not completed"));
    found[0].clone()
}

/// Of larger ones a table of bits misses some.
fn has_fewer_states(one: &Value, than: u64) -> bool {
    one["states"].as_u64().is_some_and(|states| states < than)
}

/// Compares searches of examples with that of one thread: with what it is asked, by how many states bits are exact, and
/// what it has to say alike. Prints how many were compared.
fn compare_searches(
    asked: &[&str],
    few: u64,
    alike: impl Fn(&Value) -> Value,
    is_left_out: impl Fn(&str, &str) -> bool,
) -> usize {
    let (mut compared, mut passed_over) = (0, Vec::new());
    let full = [asked, &["--por", "off"]].concat();
    for (number, model) in examples().iter().enumerate() {
        let Some(one) = check(model, &options("exact", "1", &full)) else {
            passed_over.push(model.clone());
            continue;
        };
        if is_too_large(&one[0]) {
            continue;
        }
        for (store, threads) in combinations(number) {
            if is_left_out(store, threads) {
                continue;
            }
            let what = format!("{model:?} {asked:?}, {store}, {threads} threads");
            let found = whole(model, &options(store, threads, &full), &what);
            if store != "bitstate" || has_fewer_states(&one[0], few) {
                assert_eq!(alike(&found), alike(&one[0]), "{what}");
            }
            assert_eq!(is_violated(&found), is_violated(&one[0]), "{what}");
            let reduced = check(model, &options(store, threads, asked));
            if reduced.is_none() && asked.contains(&"--bound") {
                continue;
            }
            let reduced = reduced.unwrap_or_else(|| panic!("{what}, reduced: not completed"));
            assert_eq!(is_violated(&reduced[0]), is_violated(&one[0]), "{what}, reduced");
            compared += 1;
        }
    }
    println!("{compared} combinations of {asked:?} compared; passed over: {passed_over:?}");
    compared
}

#[test]
fn examples_are_counted_alike_with_all_stores_and_threads() {
    let asked = ["--no-claim", "--max-errors", "0"];
    let counts = |one: &Value| json!([one["states"], one["transitions"], one["errors"]]);
    let compared = compare_searches(&asked, 20_000, counts, |_, _| false);
    assert!(compared > 30, "only {compared} combinations compared");
}

/// Threads that explore level by level, more or less, leave out nearly what breadth-first search leaves out.
#[test]
fn reduction_by_several_threads_leaves_out_what_one_leaves_out() {
    let model = examples::ours().join("peterson_n.pml");
    let states = |more: &[&str]| -> u64 {
        let options = [&["-D", "N=4", "--no-claim"], more].concat();
        whole(&model, &options, "Peterson")["states"].as_u64().expect("a number of states")
    };
    let all = states(&["--por", "off", "--threads", "1"]);
    let breadth_first = states(&["--search", "bfs", "--threads", "1"]);
    assert!(all > 2 * breadth_first);
    for store in ["exact", "tree"] {
        for threads in ["2", "4"] {
            let reduced = states(&["--store", store, "--threads", threads]);
            let left_out = all.saturating_sub(reduced);
            assert!(10 * left_out > 8 * (all - breadth_first), "{reduced}, {store}, {threads}");
        }
    }
}

#[test]
fn bounds_have_the_same_rows_with_all_stores_and_threads() {
    // One thread goes depth-first over stores that may miss states, and counts other transitions.
    let goes_deep = |store: &str, threads: &str| {
        ["compact", "bitstate"].contains(&store) && !["2", "4"].contains(&threads)
    };
    let compared: usize = ["0", "1", "2", "3"]
        .iter()
        .map(|bound| {
            let asked = ["--no-claim", "--max-errors", "0", "--bound", bound];
            compare_searches(&asked, 3_000, |one| one["per_bound"].clone(), goes_deep)
        })
        .sum();
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
        if is_too_large(&one[0]) {
            continue;
        }
        for (store, threads) in combinations(number) {
            for more in [&[][..], &["--por", "off"]] {
                let Some(found) = check(model, &options(store, threads, more)) else { continue };
                let verdicts =
                    |results: &[Value]| -> Vec<bool> { results.iter().map(is_violated).collect() };
                let what = format!("{model:?}, {store}, {threads} threads, {more:?}");
                assert_eq!(verdicts(&found), verdicts(&one), "{what}");
                compared += 1;
            }
        }
    }
    println!("{compared} combinations compared");
    assert!(compared > 10, "only {compared} combinations compared");
}
