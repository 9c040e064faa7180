//! Random models have the same verdict, and where it is defined the same counts, by whichever engine:
//! machine code or interpreter, every store, both orders, one to four threads, with and without
//! reduction; and by real Spin where it is installed.
//!
//! `PREEMPT_RANDOM_MODELS` sets how many models are made, `PREEMPT_RANDOM_SEED` the first seed, and
//! `PREEMPT_RANDOM_SPIN` for how many of them Spin is asked.

#[path = "../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

use preempt_check::{Check, Options, Preemptions, Reduction, Search, Storage};
use preempt_core::{System, Verdict};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};
use std::path::Path;
use std::process::Command;

/// Larger models are passed over.
const MOST_MEMORY: usize = 12 << 20;
const BITSTATE: Storage = Storage::Bitstate { bits: Some(26), hashes: 3 };
/// With so many states one is expected to be missed in one of a hundred thousand models.
const BITSTATE_STATES: u64 = 20_000;

/// The same where a state enters several facts.
const SMALL_BITSTATE: Storage = Storage::Bitstate { bits: Some(25), hashes: 4 };
const SMALL_BITSTATE_STATES: u64 = 3_000;

/// What must agree: states, transitions (0 where they are not defined) and errors.
type Counts = (u64, u64, u64);
/// Searches that take fewer steps inside indivisible sequences check none of them for loops; in others
/// the transitions depend on the order in which sequences meet.
const LONG_SEQUENCE: u64 = 1 << 14;

fn interpreter(text: &str) -> Option<Interpreter> {
    let loader = |_: &str, _: &str| Err(std::io::Error::other("nothing is included"));
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let model = parse("random.pml", text.as_bytes().to_vec(), &options).model?;
    Some(Interpreter::new(lower(&model, LowerOptions::default()).ok()?))
}

/// The verdict, the counts, and whether everything was searched.
fn check<S: System + ?Sized>(system: &S, options: &Options) -> (Verdict, Counts, bool) {
    let answer = Check::new(system).options(options.clone()).run();
    let numbers = &answer.claim.statistics;
    let defined = numbers.atomic_steps < LONG_SEQUENCE;
    let transitions = if defined { numbers.transitions } else { 0 };
    (answer.verdict(), (numbers.states, transitions, numbers.errors), numbers.complete)
}

/// All ways to explore everything, by name.
fn ways() -> Vec<(String, Options)> {
    let mut ways = Vec::new();
    let plain = Options { max_errors: 0, first: true, ..Options::default() };
    for reduction in [Reduction::None, Reduction::Spin, Reduction::Full] {
        for search in [Search::Breadth, Search::Depth] {
            let exact = [Storage::Auto, Storage::Exact, Storage::Tree];
            for storage in exact.into_iter().chain([Storage::Compact, BITSTATE]) {
                let options = Options { reduction, search, storage, ..plain.clone() };
                ways.push((format!("{reduction:?} {search:?} {storage:?}"), options));
            }
        }
        for (threads, storage) in [
            (2, Storage::Auto),
            (4, Storage::Exact),
            (2, Storage::Tree),
            (4, Storage::Tree),
            (3, Storage::Compact),
            (4, BITSTATE),
        ] {
            let options = Options { reduction, threads, storage, ..plain.clone() };
            ways.push((format!("{reduction:?} {threads} threads, {storage:?}"), options));
        }
    }
    ways
}

/// Compares all ways on one system.
fn compare<S: System + ?Sized>(system: &S, who: &str, is_violated: bool, counts: Counts) {
    for (name, options) in ways() {
        if options.storage == BITSTATE && counts.0 > BITSTATE_STATES {
            continue;
        }
        let (verdict, found, _) = check(system, &options);
        let lossy = matches!(options.storage, Storage::Compact | Storage::Bitstate { .. });
        match verdict {
            Verdict::Violated => assert!(is_violated, "{who}, {name}"),
            Verdict::Holds => assert!(!is_violated && !lossy, "{who}, {name}"),
            // A lossy store proves nothing, and with so few states it misses nothing either.
            _ => assert!(!is_violated && lossy, "{who}, {name}: {verdict:?}"),
        }
        if options.reduction == Reduction::None {
            assert_eq!(found, counts, "{who}, {name}");
        } else {
            assert!(found.0 <= counts.0, "{who}, {name}: {found:?} of {counts:?}");
        }
    }
}

/// Within bounds on preemptions, machine code, which asks some processes only, and the interpreter, which
/// is asked for all steps, come to the same states by the same number of steps.
fn compare_within_bounds(
    reference: &Interpreter,
    native: &Native<'_>,
    who: &str,
    is_violated: bool,
    defined: bool,
) {
    for bound in [0, 1, 2, 3] {
        let plain = Options {
            preemptions: Preemptions::AtMost(bound),
            reduction: Reduction::None,
            max_errors: 0,
            first: true,
            ..Options::default()
        };
        let counted = |(states, transitions, errors): Counts| {
            (states, if defined { transitions } else { 0 }, errors)
        };
        let (truth, counts, _) = check(reference, &plain);
        for threads in [1, 2, 4] {
            for storage in [Storage::Exact, Storage::Tree, Storage::Auto] {
                let options = Options { threads, storage, ..plain.clone() };
                let (verdict, found, _) = check(native, &options);
                let what = format!("{who}, at most {bound} preemptions, {threads}, {storage:?}");
                assert_eq!((verdict, counted(found)), (truth, counted(counts)), "{what}");
            }
            // One thread goes depth-first there and counts other transitions.
            for storage in [Storage::Compact, SMALL_BITSTATE] {
                if threads == 1 || counts.0 > SMALL_BITSTATE_STATES {
                    continue;
                }
                let options = Options { threads, storage, ..plain.clone() };
                let (verdict, found, _) = check(native, &options);
                let what = format!("{who}, at most {bound} preemptions, {threads}, {storage:?}");
                assert_eq!(counted(found), counted(counts), "{what}");
                let (wrong, truly) = (verdict == Verdict::Violated, truth == Verdict::Violated);
                assert!(wrong == truly && verdict != Verdict::Holds, "{what}: {verdict:?}");
            }
        }
        let reduced = Options { reduction: Reduction::Full, ..plain };
        let (verdict, ..) = check(native, &reduced);
        // The last mover is another there, so that a search may be exhausted at another bound.
        let (wrong, truly_wrong) = (Verdict::Violated == verdict, Verdict::Violated == truth);
        assert_eq!(wrong, truly_wrong, "{who}, at most {bound} preemptions, reduced");
        let what = format!("{who}, at most {bound} preemptions, {verdict:?}, {truth:?}");
        assert!(!is_violated || ![verdict, truth].contains(&Verdict::Holds), "{what}");
    }
}

#[test]
fn every_engine_gives_the_same_answer() {
    let first = setting("PREEMPT_RANDOM_SEED", 1);
    let wanted = setting("PREEMPT_RANDOM_MODELS", 24);
    let spins = setting("PREEMPT_RANDOM_SPIN", wanted.min(8));
    let spins =
        if preempt_testing::peers(&["spin", &preempt_testing::c_compiler()]) { spins } else { 0 };
    let folder = std::env::temp_dir().join(format!("preempt-engines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let (mut compared, mut with_spin) = (0, 0);
    for seed in first..first + wanted {
        let mut text = random::make(&mut random::Random::new(seed), None).text();
        // Depth-first search works in place on long states.
        if seed % 3 == 0 {
            text += "byte unused[600];\nactive proctype idle() { end: unused[0] == 1 }\n";
        }
        let Some(reference) = interpreter(&text) else { continue };
        let plain = Options {
            reduction: Reduction::None,
            max_errors: 0,
            first: true,
            memory: Some(MOST_MEMORY),
            ..Options::default()
        };
        let (verdict, counts, is_complete) = check(&reference, &plain);
        let is_violated = match verdict {
            // A violation may be found before the memory ends.
            Verdict::Violated if is_complete => true,
            Verdict::Holds => false,
            _ => continue,
        };
        let who = format!("seed {seed}\n{text}\ninterpreted");
        compare(&reference, &who, is_violated, counts);
        if let Ok(native) = Native::new(&reference) {
            native.prepare();
            compare(&native, &format!("seed {seed}\n{text}\nmachine code"), is_violated, counts);
            compare_within_bounds(&reference, &native, &who, is_violated, counts.1 != 0);
        }
        // A promise that several processes break changes nothing.
        let promised = text.replacen("byte g, h;", "local byte g, h;", 1);
        let promised = interpreter(&promised).expect("a promise does not make a model wrong");
        for reduction in [Reduction::None, Reduction::Full] {
            let options = Options { reduction, ..plain.clone() };
            let (found, ..) = check(&promised, &options);
            assert_eq!(
                found == Verdict::Violated,
                is_violated,
                "{who}, with a promise, {reduction:?}"
            );
        }
        compared += 1;
        // A channel whose process has ended is an error; Spin reads what is left of it in memory.
        let is_dangling = text.contains("of { chan }") && is_violated;
        if with_spin < spins && !is_dangling {
            let mut found = ask_spin(&text, &["-DNOREDUCE"], &folder);
            if let (Some(found), 0) = (&mut found, counts.1) {
                found.1 = 0;
            }
            // Spin counts what is wrong with a D_proctype once per statement, we once per step.
            let errors = |(states, transitions, errors): Counts| {
                let some = if text.contains("D_proctype") { errors.min(1) } else { errors };
                (states, transitions, some)
            };
            let same = found.is_none_or(|found| errors(found) == errors(counts));
            assert!(same, "{who}: Spin says {found:?}, not {counts:?}");
            let reduced = ask_spin(&text, &[], &folder);
            let agrees = reduced.is_none_or(|(_, _, errors)| (errors > 0) == is_violated);
            assert!(agrees, "{who}: Spin's reduction says {reduced:?}");
            with_spin += u64::from(found.is_some());
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("{compared} models compared, {with_spin} of them with Spin");
    assert!(compared * 2 > wanted, "only {compared} of {wanted} models are of use");
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Spin's counts; `None` where it refuses the model or does not finish.
fn ask_spin(text: &str, flags: &[&str], folder: &Path) -> Option<Counts> {
    std::fs::write(folder.join("m.pml"), text).ok()?;
    let _ = std::fs::remove_file(folder.join("pan.c"));
    Command::new("spin").args(["-a", "m.pml"]).current_dir(folder).output().ok()?;
    let compile = Command::new(preempt_testing::c_compiler())
        .args(["-O0", "-w", "-DSAFETY", "-DNOCLAIM", "-o", "pan", "pan.c"])
        .args(flags)
        .current_dir(folder)
        .output()
        .ok()?;
    if !folder.join("pan.c").exists() || !compile.status.success() {
        return None;
    }
    let pan = Command::new("timeout")
        .args(["20", "./pan", "-c0", "-m100000", "-w18", "-n"])
        .current_dir(folder)
        .output()
        .ok()?;
    let report = String::from_utf8_lossy(&pan.stdout);
    if report.contains("Search not completed") || report.contains("max search depth too small") {
        return None;
    }
    let before = |what: &str| {
        let line = report.lines().find(|line| line.contains(what))?;
        line.split_whitespace().next()?.parse::<f64>().ok().map(|number| number as u64)
    };
    let errors = report.split("errors: ").nth(1)?.split_whitespace().next()?.parse().ok()?;
    Some((before("states, stored")?, before("transitions (=")?, errors))
}
