//! Random concurrent programs on which all engines must agree.
//!
//! The generator favours programs whose threads wait for each other, so that targets need
//! switches. The plain explicit search (interruptions everywhere, no reduction) is the judge where
//! stacks stay bounded; beyond, every counterexample is replayed and the engines judge each other.

mod forms;
mod large;
mod pushdown;
mod remarks;
mod tables;
mod watches;

use crate::check::check;
use crate::direct::{self, Extent, Remember, is_call_free};
use crate::explicit::{self, Layers, Machine, search};
use crate::limits::{Limits, Watch};
use crate::options::{Method, Options, Switches};
use crate::proof::{Attempt, holds_for_every_number};
use crate::sequentialize::is_reachable;
use crate::{Dialect, Program, parse, sequentialize, witness};
use preempt_core::{Stop, Verdict};
use preempt_testing::Random;
use std::fmt::Write;

/// The numbers that a seed stands for.
pub(crate) fn random(seed: u64) -> Random {
    let mut random = Random::shifts(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, 20);
    // The first numbers of small seeds resemble each other.
    for _ in 0..5 {
        random.next_number();
    }
    random
}

struct Generator {
    random: Random,
    out: String,
    /// Boolean variables in scope, and those of two bits.
    bools: Vec<&'static str>,
    ints: Vec<&'static str>,
    functions: Vec<(&'static str, bool)>,
    atomic: bool,
    nesting: usize,
    labels: usize,
}

impl Generator {
    fn new(seed: u64, labels: usize) -> Self {
        Generator {
            random: random(seed),
            out: String::new(),
            bools: vec!["a", "b", "c"],
            ints: Vec::new(),
            functions: Vec::new(),
            atomic: false,
            nesting: 0,
            labels,
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        let r = &mut self.random;
        match r.below(if depth == 0 { 4 } else { 8 }) {
            0 | 1 => self.bools[r.below(self.bools.len())].to_string(),
            2 => format!("!{}", self.bools[r.below(self.bools.len())]),
            3 => match self.ints.len() {
                0 => "*".into(),
                n => {
                    let v = self.ints[r.below(n)];
                    let op = ["=", "!=", "<", ">="][r.below(4)];
                    format!("({v} {op} {})", r.below(4))
                }
            },
            4 | 5 => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                format!("({a} & {b})")
            }
            6 => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                let op = ["|", "=", "^", "=>"][self.random.below(4)];
                format!("({a} {op} {b})")
            }
            _ => ["*", "T", "F", "schoose[a, b]"][self.random.below(4)].into(),
        }
    }

    fn number(&mut self) -> String {
        let r = &mut self.random;
        let v = self.ints[r.below(self.ints.len())];
        match r.below(4) {
            0 => format!("{v} + 1"),
            1 => format!("{v} - 1"),
            2 => r.below(4).to_string(),
            _ => "*".into(),
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(self.nesting + 1));
    }

    fn statement(&mut self, depth: usize) {
        match self.random.below(if depth == 0 { 8 } else { 11 }) {
            0..=2 => {
                let v = self.bools[self.random.below(self.bools.len())];
                let e = self.condition(1);
                let constrain = if self.random.chance(10) { " constrain ('a | b)" } else { "" };
                self.line(&format!("{v} := {e}{constrain};"));
            }
            3 => {
                let c = self.condition(1);
                self.line(&format!("assume({c});"));
            }
            4 if !self.ints.is_empty() => {
                let v = self.ints[self.random.below(self.ints.len())];
                let e = self.number();
                self.line(&format!("{v} := {e};"));
            }
            5 if self.random.chance(30) => {
                let such_that = ["('a | 'b) & !'c", "'a != 'b", "'c = a", "'a & 'b & 'c & (a | b)"];
                let such_that = such_that[self.random.below(4)];
                let first = self.condition(0);
                self.line(&format!("a, b, c := {first}, *, * constrain ({such_that});"));
            }
            5 => {
                let (e, f) = (self.condition(1), self.condition(1));
                self.line(&format!("a, b := {e}, {f};"));
            }
            6 | 7 if !self.functions.is_empty() => {
                let (name, returns) = self.functions[self.random.below(self.functions.len())];
                let e = if name == "main" { String::new() } else { self.condition(1) };
                let v = self.bools[self.random.below(self.bools.len())];
                if returns && self.random.chance(70) {
                    self.line(&format!("{v} := {name}({e});"));
                } else {
                    self.line(&format!("{name}({e});"));
                }
            }
            8 => {
                let c = self.condition(1);
                self.line(&format!("if ({c}) then"));
                self.block(depth - 1, 2);
                if self.random.chance(50) {
                    self.line("else");
                    self.block(depth - 1, 2);
                }
                self.line("fi;");
            }
            9 if self.random.chance(40) => {
                let c = self.condition(1);
                self.line(&format!("while ({c}) do"));
                self.block(depth - 1, 2);
                self.line("od;");
            }
            10 if self.atomic && self.random.chance(60) => {
                self.line("atomic_begin;");
                self.atomic = false;
                self.block(0, 2);
                self.atomic = true;
                self.line("atomic_end;");
            }
            10 if self.random.chance(30) => {
                self.labels += 1;
                let l = format!("L{}", self.labels);
                self.line(&format!("goto {l};"));
                self.statement(0);
                self.line(&format!("{l}: skip;"));
            }
            _ => {
                let v = self.bools[self.random.below(self.bools.len())];
                self.line(&format!("{v} := {};", ["T", "F"][self.labels % 2]));
            }
        }
    }

    fn block(&mut self, depth: usize, most: usize) {
        self.nesting += 1;
        for _ in 0..1 + self.random.below(most) {
            self.statement(depth);
        }
        self.nesting -= 1;
    }
}

impl Generator {
    /// Functions to call.
    fn functions_of(&mut self, recursive: bool) {
        for (name, returns) in [("f", true), ("h", false)] {
            if !self.random.chance(if recursive { 90 } else { 50 }) {
                continue;
            }
            let kind = if returns { "bool" } else { "void" };
            let _ = writeln!(self.out, "{kind} {name}(bool x) begin\n  decl bool y;");
            self.bools.extend(["x", "y"]);
            if recursive {
                self.functions.push((name, returns));
            }
            let own = std::mem::take(&mut self.functions);
            self.statement(1);
            self.functions = own;
            if recursive {
                self.line("if (*) then");
                self.block(0, 2);
                let e = self.condition(1);
                let into = if returns { "y := " } else { "" };
                self.line(&format!("  {into}{name}({e});"));
                self.line("fi;");
            }
            self.statement(1);
            if returns {
                let e = self.condition(1);
                self.line(&format!("return {e};"));
            }
            self.out.push_str("end\n");
            self.bools.truncate(self.bools.len() - 2);
            if !self.functions.contains(&(name, returns)) {
                self.functions.push((name, returns));
            }
        }
    }

    /// Now and then, a thread waits for another.
    fn waits(&mut self, percent: usize) {
        if self.random.chance(percent) {
            let v = ["a", "b", "c"][self.random.below(3)];
            let not = ["", "!"][self.random.below(2)];
            self.line(&format!("assume({not}{v});"));
        }
    }

    /// What should not be reached.
    fn target(&mut self) {
        let literals: Vec<String> = ["a", "b", "c"]
            .iter()
            .map(|v| format!("{}{v}", ["", "!"][self.random.below(2)]))
            .collect();
        if self.random.chance(70) {
            self.line(&format!("if ({}) then Target: skip; fi;", literals.join(" & ")));
        } else {
            self.line(&format!("assert(!({}));", literals.join(" & ")));
        }
    }
}

/// A random program; `recursive` allows functions that call themselves.
pub(crate) fn program(seed: u64, recursive: bool) -> String {
    let mut g = Generator::new(seed, 0);
    let with_int = g.random.chance(40);
    let with_private = g.random.chance(30);
    g.atomic = g.random.chance(25);
    g.ints.extend(with_int.then_some("n"));
    let _ = writeln!(g.out, "// seed {seed}\ndecl bool a, b, c;");
    if with_int {
        g.out.push_str("decl int<2> n;\n");
    }
    if with_private {
        g.out.push_str("thread_local decl bool p;\n");
    }
    let start = ["F", "T", "*"];
    g.out.push_str("void init() begin\n");
    let values: Vec<&str> = (0..3).map(|_| start[[0, 0, 0, 1, 2][g.random.below(5)]]).collect();
    let _ = writeln!(g.out, "  a, b, c := {};", values.join(", "));
    if with_int {
        g.out.push_str("  n := 0;\n");
    }
    g.out.push_str("end\n");
    if with_private {
        g.bools.push("p");
    }
    g.functions_of(recursive);
    let threads = 2 + g.random.below(2);
    let twins = g.random.chance(20);
    for t in 0..threads {
        if t == 1 && twins {
            let _ = writeln!(g.out, "thread t{t}[2]() begin");
        } else {
            let _ = writeln!(g.out, "thread t{t}() begin");
        }
        g.out.push_str("  decl bool l;\n");
        g.bools.push("l");
        for i in 0..2 + g.random.below(4) {
            if i > 0 {
                g.waits(25);
            }
            g.statement(2);
        }
        if t == 0 || g.random.chance(25) {
            g.target();
        }
        g.bools.pop();
        g.out.push_str("end\n");
    }
    g.out
}

/// The smallest number of switches (or of rounds after the first) up to `max`, by plain search;
/// `Err` if it is not known.
fn judge(program: &Program, max: u32, rounds: bool) -> Result<Option<u32>, ()> {
    let watch = Watch::new(Limits::default());
    let machine = Machine::new(program, None, 7).map_err(|_| ())?;
    let mut layers = Layers::default();
    let (states, everywhere, full) = (60_000, true, false);
    let extent = explicit::Extent { switches: max, rounds, states, everywhere, full };
    search(&machine, extent, &watch, &mut layers).map_err(|_| ())?;
    match &layers.found {
        // With a truncated stack there may be a simpler one.
        Some(_) if layers.truncated.is_none() => Ok(Some(layers.rows.len() as u32 - 1)),
        None if layers.truncated.is_none() => Ok(None),
        _ => Err(()),
    }
}

/// The switches of the violation that the method finds, replayed; `Err` if it gives up.
fn smallest(source: &str, program: &Program, method: Method, max: u32) -> Result<Option<u32>, ()> {
    let limits = Limits { memory_bytes: Some(64 << 20), ..Limits::default() };
    let switches = Switches::AtMost(max);
    let options =
        Options { method: Some(method), switches, max_frames: 7, limits, ..Options::default() };
    let report = check(program, &options).unwrap();
    assert!(report.claim.notes.is_empty(), "{method:?} {:?}\n{source}", report.claim.notes);
    match report.claim.verdict {
        Verdict::Violated => {
            assert!(report.switches.is_some_and(|s| s <= max), "{method:?}\n{source}");
            Ok(report.switches)
        }
        Verdict::Holds | Verdict::HoldsWithinBound(_) | Verdict::Nothing => Ok(None),
        Verdict::Inconclusive(Stop::Memory) => Err(()),
        Verdict::Inconclusive(stop) => panic!("{method:?}: {stop}\n{source}"),
    }
}

/// The smallest number of switches by the direct engine in both its forms.
pub(crate) fn directly(source: &str, program: &Program, max: u32) -> Option<u32> {
    let targets = program.targets(None).unwrap();
    let watch = Watch::new(Limits::default());
    let mut answers = Vec::new();
    for by in [Remember::Interfaces, Remember::WholeStates] {
        if by == Remember::WholeStates && !is_call_free(program) {
            continue;
        }
        let extent = Extent { switches: max, rounds: false, nodes: usize::MAX, full: false };
        let outcome = direct::search(program, &targets, by, extent, &watch);
        assert!(outcome.stop.is_none(), "{by:?} {:?}\n{source}", outcome.stop);
        answers.push(outcome.found.map(|schedule| {
            let shown = witness::execution(program, &targets, &schedule, &watch);
            let shown = shown.unwrap_or_else(|e| panic!("{by:?} {e:?}\n{source}"));
            shown.trace.cost().switches
        }));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}\n{source}");
    answers[0]
}

/// What a campaign met.
#[derive(Debug, Default)]
struct Met {
    /// Programs first violated with so many switches.
    first: [usize; 5],
    not_violated: usize,
    proven: usize,
    /// Of those not violated, proven by listing all states.
    safe: usize,
    /// Not decided by plain search.
    not_judged: usize,
    /// Answers of a translation, and those given up for lack of memory.
    translated: usize,
    given_up: usize,
}

fn read(source: &str) -> Program {
    match parse(source, "random.bp", Dialect::Slam) {
        Ok((program, _)) => program,
        Err(errors) => panic!("{}\n{source}", errors[0]),
    }
}

fn campaign(seeds: std::ops::Range<u64>, recursive: bool) -> Met {
    let mut met = Met::default();
    for seed in seeds {
        let source = program(seed, recursive);
        compare(seed, &source, &source, 4, &mut met);
    }
    met
}

/// Compares all methods on a program; the judge looks at one that means the same within `most`
/// switches, and says what happens beyond if the number of threads is fixed.
fn compare(seed: u64, source: &str, same: &str, most: u32, met: &mut Met) {
    let parsed = read(source);
    let for_judge = read(same);
    let more = parsed.with_threads_for(most as usize).unwrap();
    let enough = more.as_ref().unwrap_or(&parsed);
    let direct = directly(source, enough, most);
    let fixed = parsed.instances.is_none();
    let proven = fixed && is_proven(source, &parsed);
    assert!(!(proven && direct.is_some()), "seed {seed}: a wrong proof\n{source}");
    met.proven += usize::from(proven);
    match judge(&for_judge, most, false) {
        Ok(judged) => {
            assert_eq!(judged, direct, "seed {seed}: judge, direct\n{source}");
            let explicit = smallest(source, &parsed, Method::Explicit, most);
            if fixed || explicit.is_ok() {
                assert_eq!(Ok(judged), explicit, "seed {seed}: judge, explicit\n{source}");
            }
        }
        Err(()) => met.not_judged += 1,
    }
    // All states, all switches: what is proven must be safe.
    match if fixed { judge(&parsed, u32::MAX, false) } else { Err(()) } {
        Ok(Some(switches)) => {
            assert!(!proven, "seed {seed}: violated with {switches}\n{source}");
        }
        Ok(None) => met.safe += 1,
        Err(()) => {}
    }
    match by_default(source, &parsed, most) {
        Some(found) => assert_eq!(found, direct, "seed {seed}: default, direct\n{source}"),
        None => met.given_up += 1,
    }
    match direct {
        Some(k) => met.first[k as usize] += 1,
        None => met.not_violated += 1,
    }
    for method in [Method::Lazy, Method::Eager] {
        for k in 0..=most {
            let wanted = direct.is_some_and(|d| d <= k);
            met.translated += 1;
            match smallest(source, &parsed, method, k) {
                Ok(found) => {
                    assert_eq!(found.is_some(), wanted, "seed {seed} {method:?} {k}\n{source}")
                }
                Err(()) => met.given_up += 1,
            }
            if fixed && (k < 3 || seed.is_multiple_of(8) && k == 3) {
                let again = reread(&parsed, method, k);
                assert_eq!(again, wanted, "seed {seed} {method:?} {k}\n{source}");
            }
        }
    }
}

/// What `check` finds when it may choose, one number of switches after the other.
fn by_default(source: &str, program: &Program, most: u32) -> Option<Option<u32>> {
    let limits = Limits { memory_bytes: Some(64 << 20), ..Limits::default() };
    let switches = Switches::Iterate(most);
    let report = check(program, &Options { switches, limits, ..Options::default() }).unwrap();
    match report.claim.verdict {
        // There may be one with fewer switches, and the report says so.
        Verdict::Violated if !report.claim.notes.is_empty() => None,
        Verdict::Violated => Some(report.switches),
        Verdict::Holds | Verdict::HoldsWithinBound(_) | Verdict::Nothing => Some(None),
        Verdict::Inconclusive(Stop::Memory) => None,
        Verdict::Inconclusive(stop) => panic!("{stop}\n{source}"),
    }
}

/// Whether one of the proofs for every number of switches succeeds; they must not contradict.
fn is_proven(source: &str, program: &Program) -> bool {
    let targets = program.targets(None).unwrap();
    let watch = Watch::new(Limits::default());
    let attempt = holds_for_every_number(program, &targets, 20_000, &watch).unwrap();
    let visible = attempt == Attempt::Proven;
    if !is_call_free(program) {
        return visible;
    }
    let extent = Extent { switches: u32::MAX, rounds: false, nodes: 1 << 21, full: false };
    let outcome = direct::search(program, &targets, Remember::WholeStates, extent, &watch);
    assert!(!(visible && outcome.found.is_some()), "a wrong proof\n{source}");
    visible || outcome.exhausted
}

/// The answer of the translation after it was printed and read again.
fn reread(program: &Program, method: Method, switches: u32) -> bool {
    let text = sequentialize(program, method, switches, None).unwrap();
    let (sequential, warnings) =
        parse(&text, "printed.bp", Dialect::Slam).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
    assert!(warnings.is_empty(), "{}\n{text}", warnings[0]);
    assert_eq!(sequential.thread_count(), 1);
    let targets = sequential.targets(None).unwrap();
    let watch = Watch::new(Limits::default());
    is_reachable(&sequential, &targets, &watch).unwrap()
}

/// Which programs: a few in the suite, `PREEMPT_CASES` many from `PREEMPT_SEED` on when asked for.
pub(crate) fn seeds(few: u64) -> std::ops::Range<u64> {
    let read = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let first = read("PREEMPT_SEED").unwrap_or(1);
    first..first + read("PREEMPT_CASES").unwrap_or(few)
}

#[test]
fn engines_agree_on_programs_without_recursion() {
    let met = campaign(seeds(120), false);
    eprintln!("without recursion: {met:?}");
    assert!(met.first[1..].iter().sum::<usize>() > 5, "{met:?}");
    assert!(met.safe > 5 && met.proven > 5 && met.given_up * 20 < met.translated, "{met:?}");
}

#[test]
fn engines_agree_on_recursive_programs() {
    let met = campaign(seeds(60), true);
    eprintln!("recursive: {met:?}");
    assert!(met.first[1..].iter().sum::<usize>() > 3, "{met:?}");
    assert!(met.proven > 2 && met.given_up * 10 < met.translated, "{met:?}");
}

/// `main` alone, with atomic sections, results, and thread variables that have values.
/// Where the sequential program calls its own `main` in place of that of the threads, seed 14 shows it.
#[test]
fn engines_agree_on_main_alone() {
    let mut met = Met::default();
    for seed in seeds(60) {
        let forms::Pair { source, .. } = forms::program(seed, forms::Form::Main, seed % 2 == 0);
        compare(seed, &source, &source, 1, &mut met);
    }
    eprintln!("main alone: {met:?}");
    assert!(met.first[0] > 5 && met.not_violated > 5, "{met:?}");
}

#[test]
fn engines_agree_on_started_threads() {
    let mut met = Met::default();
    for seed in seeds(60) {
        let form = [forms::Form::Starts, forms::Form::Loops][(seed % 2) as usize];
        let forms::Pair { source, unrolled } = forms::program(seed, form, seed % 5 == 0);
        compare(seed, &source, &unrolled, forms::UNROLLED, &mut met);
    }
    eprintln!("started threads: {met:?}");
    assert!(met.first[1..].iter().sum::<usize>() > 5 && met.not_violated > 5, "{met:?}");
}

/// The same number of rounds by plain search, by reduced search, and by the direct engine.
#[test]
fn engines_agree_on_rounds() {
    let mut met = [0; 4];
    for (seed, recursive) in seeds(40).flat_map(|seed| [(seed, false), (seed, true)]) {
        let source = program(seed, recursive);
        let (parsed, _) = parse(&source, "random.bp", Dialect::Slam).unwrap();
        let Ok(judged) = judge(&parsed, 2, true) else { continue };
        met[judged.map_or(3, |k| k as usize)] += 1;
        for rounds in 1..=if recursive { 2 } else { 3 } {
            for method in [Method::Explicit, Method::Direct] {
                let limits = Limits { memory_bytes: Some(64 << 20), ..Limits::default() };
                let options = Options {
                    method: Some(method),
                    switches: Switches::Rounds(rounds),
                    max_frames: 7,
                    limits,
                    ..Options::default()
                };
                let claim = check(&parsed, &options).unwrap().claim;
                assert!(claim.notes.is_empty(), "{seed} {method:?} {:?}\n{source}", claim.notes);
                let found = match claim.verdict {
                    Verdict::Violated => true,
                    Verdict::Inconclusive(Stop::Memory) => continue,
                    Verdict::Inconclusive(stop) => panic!("{method:?}: {stop}\n{source}"),
                    Verdict::Holds | Verdict::HoldsWithinBound(_) | Verdict::Nothing => false,
                };
                let wanted = judged.is_some_and(|k| k < rounds);
                assert_eq!(found, wanted, "seed {seed} {method:?} {rounds}\n{source}");
            }
        }
    }
    eprintln!("violated in 1 to 3 rounds, not violated: {met:?}");
    assert!(met[1] + met[2] > 2, "{met:?}");
}
