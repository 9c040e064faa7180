//! Litmus tests of weak memory as C and C++ programs.
//!
//! The table `preempt-explore/src/litmus/rc11.tsv` says for each test how many consistent graphs RC11 has,
//! whether an outcome is allowed and what it takes at least; it was made without any code of this
//! project. Random tests are compared with the same program as a Rust test.
//! `PREEMPT_C_LITMUS` and `PREEMPT_C_LITMUS_SEED` make that a campaign.

mod c_programs;
mod litmus;

use c_programs::{compile, folder, has, preempt};
use litmus::{Ask, Litmus, Random, Row, Spelling, rows};
use preempt::{Check, Outcome, Report, Strategy};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One executable with all tests: the arguments are the number of the test, and `ask` for one that fails
/// with the outcome in question.
fn executable(name: &str, tests: &[(Litmus, Ask)], spelling: Spelling) -> PathBuf {
    let extension = if spelling == Spelling::Cxx { "cc" } else { "c" };
    let source = folder().join(format!("{name}.{extension}"));
    std::fs::write(&source, litmus::source(tests, spelling)).expect("a program");
    compile(&source, &[], ["gcc", "g++"])
}

fn report(program: &Path, number: usize, ask: bool, options: &[&str]) -> Value {
    let mut command = preempt();
    command.arg("run").args(options).args(["--json", "--"]).arg(program).arg(number.to_string());
    if ask {
        command.arg("ask");
    }
    let output = command.output().expect("preempt runs");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{number} {options:?}: {error}: {text} {}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Stale choices and preemptions of a violation.
fn cost(report: &Value) -> Option<(u64, u64)> {
    let violation = &report["violation"];
    // Without weak orders there is no such thing as a stale choice.
    Some((violation["stale"].as_u64().unwrap_or(0), violation["preemptions"].as_u64()?))
}

fn check_row(program: &Path, number: usize, row: &Row) {
    let name = &row.name;
    let ways = ["restart", "fork", "threads"]
        .map(|backend| report(program, number, false, &["--backend", backend]));
    if row.races {
        for way in &ways {
            assert_eq!(way["violation"]["kind"], "data_race", "{name}: {way}");
        }
        return;
    }
    for way in &ways {
        assert_eq!(way["verdict"], "holds", "{name}: {way}");
        assert_eq!(way["states"], row.graphs, "{name}: {way}");
        assert_eq!(way["executions"], ways[0]["executions"], "{name}: {way}");
        assert_eq!(way["per_bound"], ways[0]["per_bound"], "{name}: {way}");
    }
    let together = report(program, number, false, &["--threads", "2"]);
    assert_eq!(together["states"], row.graphs, "{name}: {together}");
    // What sequential consistency allows is the same whether it is asked for or comes first.
    for options in [["--stale", "0"], ["--memory-model", "sc"]] {
        let strong = report(program, number, false, &options);
        assert_eq!(strong["states"], row.without_stale, "{name} {options:?}: {strong}");
    }
    let asked = report(program, number, true, &[]);
    assert_eq!(cost(&asked), row.least, "{name}: {asked}");
    assert_eq!(asked["verdict"] == "violated", row.least.is_some(), "{name}: {asked}");
    if row.least.is_some() {
        assert_eq!(asked["violation"]["simplest"], true, "{name}: {asked}");
    }
}

#[test]
fn the_table_as_c_programs() {
    if !has("gcc") {
        return;
    }
    let rows = rows();
    assert!(rows.len() >= 44);
    let tests: Vec<_> = rows.iter().map(|row| (row.litmus.clone(), row.ask.clone())).collect();
    let program = executable("litmus", &tests, Spelling::C);
    for (number, row) in rows.iter().enumerate() {
        check_row(&program, number, row);
    }
}

#[test]
fn the_table_as_cxx_programs() {
    if !has("g++") {
        return;
    }
    let rows = rows();
    let tests: Vec<_> = rows.iter().map(|row| (row.litmus.clone(), row.ask.clone())).collect();
    let program = executable("litmus", &tests, Spelling::Cxx);
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| !row.races) {
        let all = report(&program, number, false, &[]);
        assert_eq!(all["states"], row.graphs, "{}: {all}", row.name);
        let asked = report(&program, number, true, &[]);
        assert_eq!(cost(&asked), row.least, "{}: {asked}", row.name);
    }
}

/// clang calls other functions for comparisons, and does not say which may fail for no reason.
#[test]
fn the_table_by_clang() {
    if !has("clang") {
        return;
    }
    let rows = rows();
    let tests: Vec<_> = rows.iter().map(|row| (row.litmus.clone(), row.ask.clone())).collect();
    let source = folder().join("litmus_clang.c");
    std::fs::write(&source, litmus::source(&tests, Spelling::C)).expect("a program");
    let program = compile(&source, &["-O1"], ["clang", "clang++"]);
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| !row.races) {
        let asked = report(&program, number, true, &[]);
        assert_eq!(cost(&asked), row.least, "{}: {asked}", row.name);
    }
}

fn rust(test: &Litmus, ask: Option<&Ask>) -> Report {
    let check = Check::new().unbounded().strategy(Strategy::PartialOrders);
    check.time(Duration::from_secs(3600)).run(|| litmus::execute(test, ask))
}

/// Rows of both: stale choices, preemptions, partial orders.
type Rows = Vec<(u64, u64, u64)>;

fn rust_rows(report: &Report) -> Rows {
    let row = |row: &preempt::Bound| (row.stale.into(), row.preemptions.into(), row.partial_orders);
    report.per_bound.iter().map(row).collect()
}

fn c_rows(report: &Value) -> Rows {
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap_or(0);
    let rows = report["per_bound"].as_array().cloned().unwrap_or_default();
    rows.iter()
        .map(|row| (number(row, "stale"), number(row, "bound"), number(row, "states")))
        .collect()
}

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn random_tests_are_the_same_in_c_and_in_rust() {
    if !has("gcc") {
        return;
    }
    let count = environment("PREEMPT_C_LITMUS", 40);
    let first = environment("PREEMPT_C_LITMUS_SEED", 0);
    let mut weak = 0;
    for begin in (first..first + count).step_by(40) {
        let seeds = begin..(begin + 40).min(first + count);
        let tests: Vec<_> =
            seeds.clone().map(|seed| Litmus::random(&mut Random::split(seed))).collect();
        let program = executable(&format!("litmus-{begin}"), &tests, Spelling::C);
        let reader = executable(&format!("reader-{begin}"), &tests, Spelling::PlainAtTheEnd);
        for (number, (seed, (test, ask))) in seeds.zip(&tests).enumerate() {
            let ours = rust(test, None);
            let c = report(&program, number, false, &[]);
            let name = format!("seed {seed}: {test:?}\n{ours}\n{c}");
            assert!(matches!(ours.outcome, Outcome::Holds), "{name}");
            assert_eq!(c["verdict"], "holds", "{name}");
            assert_eq!(rust_rows(&ours), c_rows(&c), "{name}");
            let ours = rust(test, Some(ask));
            let c = report(&program, number, true, &[]);
            let least = ours.failure().map(|f| (u64::from(f.stale), u64::from(f.preemptions)));
            assert_eq!(least, cost(&c), "seed {seed}: {test:?} {ask:?}\n{ours}\n{c}");
            // Plain reads, after all threads have ended, tell in which order they have stored.
            let read = report(&reader, number, true, &[]);
            assert_eq!(cost(&read), cost(&c), "seed {seed}: {test:?} {ask:?}\n{read}\n{c}");
            weak += usize::from(least.is_some_and(|(stale, _)| stale > 0));
            for backend in ["fork", "threads"] {
                let other = report(&program, number, true, &["--backend", backend]);
                for key in ["executions", "states", "per_bound"] {
                    assert_eq!(c[key], other[key], "seed {seed}: {test:?} {backend} {key}");
                }
                assert_eq!(cost(&c), cost(&other), "seed {seed}: {test:?} {backend}");
            }
        }
        let _ = std::fs::remove_file(program);
        let _ = std::fs::remove_file(reader);
    }
    assert!(weak > 0, "no outcome takes a stale choice");
}

const WEAK_COMPARISONS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#define WEAKLY(x, old, new) atomic_compare_exchange_weak_explicit(&x, &old, new, memory_order_relaxed, memory_order_relaxed)
static atomic_int x, y;
static int ask;
static void *reader(void *p) { (void)atomic_load_explicit(&x, memory_order_relaxed); return p; }
static void *once(void *p) { int old = 0; WEAKLY(x, old, 1); return p; }
static void *twice(void *p) {
  int old = 0, first = WEAKLY(x, old, 2), seen = old;
  old = 0;
  int second = WEAKLY(x, old, 2);
  assert(!ask || first || second || seen || old);
  return p;
}
static void *in_a_loop(void *p) { int old = 0; while (!WEAKLY(y, old, old + 1)) ; return p; }
static void *five_times(void *p) {
  for (int i = 0; i < 5; i++) { int old = 0; if (WEAKLY(y, old, 1)) break; }
  return p;
}
int main(int count, char **words) {
  void *(*all[][3])(void *) = {{reader, once, twice}, {in_a_loop, in_a_loop}, {five_times}};
  pthread_t threads[3];
  ask = count > 2;
  int which = atoi(words[1]);
  for (int i = 0; i < 3 - which; i++) pthread_create(&threads[i], 0, all[which][i], 0);
  for (int i = 0; i < 3 - which; i++) pthread_join(threads[i], 0);
  assert(which != 1 || y == 2);
}
"#;

/// Two comparisons may both fail for no reason. A loop that only tries again is not followed through more than two failures, and says
/// no less for it; one that counts is cut, and the sentence says so.
#[test]
fn comparisons_fail_several_times_in_a_row() {
    if !has("gcc") {
        return;
    }
    let source = folder().join("weak_comparisons.c");
    std::fs::write(&source, WEAK_COMPARISONS).expect("a program");
    let program = compile(&source, &[], ["gcc", "g++"]);
    let cut = |report: &Value| {
        report["claim"].as_str().is_some_and(|claim| claim.contains("may fail for no reason"))
    };
    // None succeeds, or exactly one does: 1 + 6 + 4 + 4 ways to read, counted by hand.
    let all = report(&program, 0, false, &[]);
    assert_eq!(
        (all["verdict"].as_str(), all["states"].as_u64()),
        (Some("holds"), Some(15)),
        "{all}"
    );
    assert!(!cut(&all), "{all}");
    let asked = report(&program, 0, true, &[]);
    assert_eq!(asked["violation"]["kind"], "assertion", "{asked}");
    let tries_again = report(&program, 1, false, &[]);
    assert_eq!(tries_again["verdict"], "holds", "{tries_again}");
    assert!(!cut(&tries_again), "{tries_again}");
    let counts = report(&program, 2, false, &[]);
    assert_eq!(counts["verdict"], "holds", "{counts}");
    assert!(cut(&counts), "{counts}");
}
