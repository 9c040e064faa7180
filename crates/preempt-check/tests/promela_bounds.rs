//! Bounded searches over Promela models: against brute force, against what the models themselves
//! expect, and against real Spin, which misses violations within its bound.

mod promela;
mod triples;

use preempt_check::{Budget, Check, Options, Preemptions, Reduction, Search, simplest};
use preempt_core::{Verdict, ViolationKind};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::LowerOptions;
use std::path::Path;
use std::process::Command;
use triples::truth;

fn options(bound: u32, search: Search, reduction: Reduction, max_errors: u64) -> Options {
    Options {
        search,
        reduction,
        preemptions: Preemptions::AtMost(bound),
        memory: Some(1 << 30),
        max_errors,
        first: true,
        ..Options::default()
    }
}

/// What a model says about itself: the kind of its violation and the preemptions it needs.
fn expectation(text: &str) -> Option<(&str, u32)> {
    let line = text.lines().next()?.strip_prefix("/* expect: violated ")?;
    let mut words = line.split_whitespace();
    let kind = words.next()?.strip_prefix("kind=")?;
    Some((kind, words.next()?.strip_prefix("preemptions=")?.parse().ok()?))
}

/// [MQ07] Figs. 1 and 3: every bug needs few preemptions, and an exhausted search one bound lower
/// shows that it needs them.
#[test]
fn our_models_need_as_many_preemptions_as_they_say() {
    let (mut names, mut wrong) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(promela::ours("")).expect("models").flatten() {
        if entry.path().extension().is_none_or(|extension| extension != "pml") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a text file");
        let Some((kind, least)) = expectation(&text) else { continue };
        let safety = ["assertion", "invalid_end_state"].contains(&kind);
        if !safety || text.contains("never {") || text.contains("ltl ") {
            continue;
        }
        let name = entry.file_name().into_string().expect("a plain name");
        let system = promela::load(&entry.path(), &[], LowerOptions::default());
        for threads in [1, 2] {
            let iterate = Options {
                preemptions: Preemptions::Iterate { last: None },
                threads,
                memory: Some(1 << 30),
                ..Options::default()
            };
            let claim = Check::new(&system).options(iterate).run().claim;
            let violation = claim.violation.expect("a violation");
            assert_eq!(violation.kind.name(), kind, "{name}");
            assert!(violation.simplest, "{name}");
            let needed = violation.trace.cost().preemptions;
            if needed != least {
                wrong.push(format!("{name}: {needed}, not {least}"));
                continue;
            }
            let rows = claim.statistics.per_bound;
            assert_eq!(rows.last().expect("a row").bound, least, "{name}");
            assert!(rows.iter().rev().skip(1).all(|row| row.errors == 0), "{name}");
        }
        let lower = least.checked_sub(1).filter(|_| wrong.is_empty());
        if let Some(lower) = lower {
            for reduction in [Reduction::None, Reduction::Full] {
                for search in [Search::Auto, Search::Depth] {
                    let answer =
                        Check::new(&system).options(options(lower, search, reduction, 1)).run();
                    assert_eq!(answer.verdict(), Verdict::HoldsWithinBound(lower), "{name}");
                }
            }
        }
        // The same from the reference interpreter, by an explorer that shares no code: what the model
        // says is the least bound, and nothing is there below it.
        let truth = truth(&system, least, 1 << 21).expect("a small model");
        assert_eq!(truth.simplest.map(|(needed, _)| needed), Some(least), "{name}");
        names.push(name);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let seeded = ["wsq_bug1.pml", "wsq_bug2.pml", "wsq_bug3.pml", "transaction_manager.pml"];
    for name in seeded.into_iter().chain(["bluetooth.pml"]) {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
}

/// All executions, bound by bound until nothing is left.
#[test]
fn right_models_hold_at_every_bound() {
    for name in ["wsq.pml", "filesystem.pml", "peterson.pml"] {
        let system = promela::load(&promela::ours(name), &[], LowerOptions::default());
        let plain = Check::new(&system)
            .options(Options { reduction: Reduction::None, ..Options::default() })
            .run()
            .claim;
        for threads in [1, 2] {
            let iterate = Options {
                preemptions: Preemptions::Iterate { last: None },
                reduction: Reduction::None,
                threads,
                memory: Some(1 << 30),
                ..Options::default()
            };
            let claim = Check::new(&system).options(iterate).run().claim;
            assert_eq!(claim.verdict, Verdict::Holds, "{name}");
            assert_eq!(claim.statistics.states, plain.statistics.states, "{name}");
            assert!(claim.statistics.per_bound.is_sorted_by_key(|row| row.states), "{name}");
        }
    }
}

/// The exact rule reaches exactly the states of executions within the bound.
#[test]
fn exact_counts_are_those_of_brute_force() {
    let all = std::env::var_os("PREEMPT_TEST_ALL").is_some();
    let most = if all { 20_000_000 } else { 60_000 };
    let mut models: Vec<(String, Interpreter)> = Vec::new();
    for name in [
        "snoopy.pml",
        "dtp.pml",
        "abp.pml",
        "peterson.pml",
        "manna_pnueli.pml",
        "loops.pml",
        "pathfinder.pml",
        "werkplaats.pml",
        "calculator.pml",
        "Book_1991/p104.2.pml",
        "Book_1991/p105.2.pml",
        "Book_1991/p248.pml",
        "Book_1991/p320.pml",
        "Book_1991/p117.pml",
    ] {
        if let Some(path) = promela::debian(name) {
            models.push((name.into(), promela::load(&path, &[], LowerOptions::default())));
        }
    }
    let worst = promela::ours("worst_case.pml");
    models.push(("worst".into(), promela::load(&worst, &[("N", "5")], LowerOptions::default())));
    for (name, system) in &models {
        for bound in [0, 1, 2, 4] {
            let Some(truth) = truth(system, bound, most) else { continue };
            for search in [Search::Auto, Search::Depth] {
                let run = |reduction| {
                    Check::new(system).options(options(bound, search, reduction, 0)).run().claim
                };
                let claim = run(Reduction::None);
                let reached = truth.reached.len() as u64;
                assert_eq!(claim.statistics.states, reached, "{name} {bound} {search:?}");
                let violated = truth.simplest.is_some();
                assert_eq!(claim.verdict == Verdict::Violated, violated, "{name} {bound}");
                let reduced = run(Reduction::Full).verdict == Verdict::Violated;
                assert_eq!(reduced, violated, "{name} {bound} {search:?}, reduced");
            }
            if all {
                println!("{name} bound {bound}: {} states", truth.reached.len());
            }
        }
    }
}

/// [HF] Table 4: our exact minimum is never worse than any of its cells.
#[test]
fn the_simplest_deadlock_of_snoopy() {
    let Some(path) = promela::debian("snoopy.pml") else { return };
    let system = promela::load(&path, &[], LowerOptions::default());
    let found = simplest(&system, &Options::default(), None, &mut Budget::unlimited());
    assert!(found.proven);
    let counterexample = found.counterexample.expect("a deadlock");
    assert_eq!(counterexample.kind, ViolationKind::InvalidEnd);
    let (trace, ..) = preempt_core::replay(&system, &counterexample.steps).expect("an execution");
    assert_eq!(trace.cost().preemptions, 0);
    assert!(trace.blocks() <= 15, "{} blocks", trace.blocks());
    // Bounds 0 to 16 with -i give 40 steps.
    let length: u32 = counterexample.steps.iter().map(|s| 1 + u32::from(s.partner.is_some())).sum();
    assert!(length <= 40, "{length} steps");
}

/// One preemption suffices, but whether it does depends on which process moved last.
const LAST_MOVER_MATTERS: &str = "
chan c = [1] of { bit };
bit g = 0;
active proctype P0() { (g == 1); assert(g == 1) }
active proctype P1() { xs c; c!1 }
active proctype P2() { xr c; true; g = 1; c?1; g = 0 }
";

/// One preemption suffices without reduction; with Spin's ample sets, which contain sends, the
/// forced switch becomes a preemption.
const ENABLING_STEPS_MATTER: &str = "
chan c = [1] of { bit };
bit g = 0;
active proctype P0() { (g == 1); assert(g == 1) }
active proctype P1() { xs c; c!1 }
active proctype P2() { xr c; true; g = 1; atomic { c?1 -> g = 0 } }
";

/// The receiver waits in the middle of an indivisible sequence, and others can tell that it is interrupted.
const INTERRUPTED_BY_AN_EMPTY_CHANNEL: &str = "
chan c = [1] of { bit };
bit g = 0;
active proctype P0() { xr c; atomic { g = 1; c?1; g = 0 } }
active proctype P1() { xs c; c!1 }
active proctype P2() { assert(g == 0) }
";

/// The same for a sender that waits for room in a channel.
const INTERRUPTED_BY_A_FULL_CHANNEL: &str = "
chan c = [1] of { bit };
bit g = 0;
active proctype P0() { xs c; c!0; atomic { g = 1; c!1; g = 0 } }
active proctype P1() { xr c; c?_ }
active proctype P2() { assert(g == 0) }
";

/// The same for a sender that waits for a partner.
const INTERRUPTED_BY_NOBODY_WHO_ANSWERS: &str = "
chan c = [0] of { bit };
bit g = 0;
active proctype P0() { atomic { g = 1; c!1; g = 0 } }
active proctype P1() { bit l; l = 1; if :: l -> c?1 fi }
active proctype P2() { assert(g == 0) }
";

/// Spin's rule takes what ends the wait for safe, and so never sees the interruption.
#[test]
fn interrupted_sequences_are_seen() {
    for text in [
        INTERRUPTED_BY_AN_EMPTY_CHANNEL,
        INTERRUPTED_BY_A_FULL_CHANNEL,
        INTERRUPTED_BY_NOBODY_WHO_ANSWERS,
    ] {
        let system = promela::text(text);
        for reduction in [Reduction::None, Reduction::Spin, Reduction::Full] {
            let all = Options { reduction, deadlocks: false, ..Options::default() };
            let answer = Check::new(&system).options(all).run();
            assert_eq!(answer.verdict(), Verdict::Violated, "{reduction:?} {text}");
            assert!(finds(text, 1, reduction), "{reduction:?} {text}");
        }
    }
}

fn finds(text: &str, bound: u32, reduction: Reduction) -> bool {
    let system = promela::text(text);
    [Search::Auto, Search::Depth].into_iter().all(|search| {
        let options = Options { deadlocks: false, ..options(bound, search, reduction, 1) };
        Check::new(&system).options(options).run().verdict() == Verdict::Violated
    })
}

#[test]
fn we_find_what_spin_misses() {
    for text in [LAST_MOVER_MATTERS, ENABLING_STEPS_MATTER] {
        for reduction in [Reduction::None, Reduction::Full] {
            assert!(finds(text, 1, reduction));
            assert!(!finds(text, 0, reduction));
        }
    }
}

/// Real Spin's errors for a model, if it and a C compiler are there.
fn spins_errors(folder: &Path, text: &str, flags: &[&str], bound: u32) -> Option<u32> {
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(folder).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    std::fs::create_dir_all(folder).ok()?;
    std::fs::write(folder.join("m.pml"), text).ok()?;
    run("spin", &["-a", "m.pml"])?;
    run(
        &preempt_testing::c_compiler(),
        &[&["-w", "-DBCS", "-DSAFETY", "-o", "pan", "pan.c"], flags].concat(),
    )?;
    let output = Command::new(folder.join("pan"))
        .args(["-E", &format!("-L{bound}")])
        .current_dir(folder)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split("errors: ").nth(1)?.split_whitespace().next()?.parse().ok()
}

#[test]
fn real_spin_misses_them() {
    if !preempt_testing::peers(&["spin", &preempt_testing::c_compiler()]) {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spin-misses");
    let errors =
        |name: &str, text, flags: &[&str]| spins_errors(&folder.join(name), text, flags, 1);
    let missed = errors("mover", LAST_MOVER_MATTERS, &["-DNOREDUCE"]);
    assert_eq!(missed, Some(0), "Spin prunes by the lowest count alone");
    let unreduced = errors("unreduced", ENABLING_STEPS_MATTER, &["-DNOREDUCE"]);
    let reduced = errors("reduced", ENABLING_STEPS_MATTER, &[]);
    assert_eq!((unreduced, reduced), (Some(1), Some(0)), "Spin's reduction loses the violation");
}
