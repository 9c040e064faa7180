//! Random concurrent programs on which all engines must agree.
//!
//! The generator favours programs whose threads wait for each other, so that targets need
//! switches. The plain explicit search (interruptions everywhere, no reduction) is the judge where
//! stacks stay bounded; beyond, every counterexample is replayed and the engines judge each other.

use crate::check::{Method, Options, Switches, check};
use crate::explicit::{Layers, Machine, search};
use crate::limits::{Limits, Watch};
use crate::proof::holds_for_every_number;
use crate::sequentialize::solve;
use crate::{Dialect, Program, parse, sequentialize};
use preempt_core::Verdict;
use std::fmt::Write;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
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
            5 => {
                let (e, f) = (self.condition(1), self.condition(1));
                self.line(&format!("a, b := {e}, {f};"));
            }
            6 | 7 if !self.functions.is_empty() => {
                let (name, returns) = self.functions[self.random.below(self.functions.len())];
                let e = self.condition(1);
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

/// A random program; `recursive` allows functions that call themselves.
fn program(seed: u64, recursive: bool) -> String {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for _ in 0..5 {
        random.below(2);
    }
    let with_int = random.chance(40);
    let with_private = random.chance(30);
    let with_atomic = random.chance(25);
    let mut g = Generator {
        random,
        out: String::new(),
        bools: vec!["a", "b", "c"],
        ints: if with_int { vec!["n"] } else { Vec::new() },
        functions: Vec::new(),
        atomic: with_atomic,
        nesting: 0,
        labels: 0,
    };
    g.out.push_str("decl bool a, b, c;\n");
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
    for (name, returns) in [("f", true), ("h", false)] {
        if !g.random.chance(if recursive { 90 } else { 50 }) {
            continue;
        }
        let kind = if returns { "bool" } else { "void" };
        let _ = writeln!(g.out, "{kind} {name}(bool x) begin\n  decl bool y;");
        g.bools.extend(["x", "y"]);
        if recursive {
            g.functions.push((name, returns));
        }
        let own = std::mem::take(&mut g.functions);
        g.statement(1);
        g.functions = own;
        if recursive {
            g.line("if (*) then");
            g.block(0, 2);
            let e = g.condition(1);
            let into = if returns { "y := " } else { "" };
            g.line(&format!("  {into}{name}({e});"));
            g.line("fi;");
        }
        g.statement(1);
        if returns {
            let e = g.condition(1);
            g.line(&format!("return {e};"));
        }
        g.out.push_str("end\n");
        g.bools.truncate(g.bools.len() - 2);
        if !g.functions.contains(&(name, returns)) {
            g.functions.push((name, returns));
        }
    }
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
            if i > 0 && g.random.chance(25) {
                let v = ["a", "b", "c"][g.random.below(3)];
                let not = ["", "!"][g.random.below(2)];
                g.line(&format!("assume({not}{v});"));
            }
            g.statement(2);
        }
        if t == 0 || g.random.chance(25) {
            let literals: Vec<String> = ["a", "b", "c"]
                .iter()
                .map(|v| format!("{}{v}", ["", "!"][g.random.below(2)]))
                .collect();
            if g.random.chance(70) {
                g.line(&format!("if ({}) then Target: skip; fi;", literals.join(" & ")));
            } else {
                g.line(&format!("assert(!({}));", literals.join(" & ")));
            }
        }
        g.bools.pop();
        g.out.push_str("end\n");
    }
    g.out
}

/// The smallest number of switches up to `max`, by plain search; `Err` if it is not known.
fn judge(program: &Program, max: u32) -> Result<Option<u32>, ()> {
    let watch = Watch::new(Limits::default());
    let machine = Machine::new(program, None, 7).map_err(|_| ())?;
    let mut layers = Layers::default();
    search(&machine, max, 60_000, true, false, &watch, &mut layers).map_err(|_| ())?;
    match &layers.found {
        // With a truncated stack there may be a simpler one.
        Some(_) if layers.truncated.is_none() => Ok(Some(layers.states.len() as u32 - 1)),
        None if layers.truncated.is_none() => Ok(None),
        _ => Err(()),
    }
}

fn smallest(source: &str, program: &Program, method: Method, max: u32) -> Option<u32> {
    let options = Options {
        method: Some(method),
        switches: Switches::AtMost(max),
        max_frames: 7,
        ..Options::default()
    };
    let report = check(program, &options).unwrap();
    assert!(report.claim.notes.is_empty(), "{:?}\n{source}", report.claim.notes);
    match report.claim.verdict {
        Verdict::Violated => {
            assert!(report.switches.is_some_and(|s| s <= max), "{method:?}\n{source}");
            report.switches
        }
        Verdict::Holds | Verdict::HoldsWithinBound(_) => None,
        Verdict::Inconclusive(stop) => panic!("{method:?}: {stop}\n{source}"),
    }
}

fn campaign(seeds: std::ops::Range<u64>, recursive: bool, methods: &[Method]) -> [usize; 8] {
    let mut first = [0; 8];
    for seed in seeds {
        let source = program(seed, recursive);
        let (parsed, _) = parse(&source, "random.bp", Dialect::Slam)
            .unwrap_or_else(|e| panic!("seed {seed}: {}\n{source}", e[0]));
        let direct = smallest(&source, &parsed, Method::Direct, 4);
        let targets = parsed.targets(None).unwrap();
        let watch = Watch::new(Limits::default());
        let proven = holds_for_every_number(&parsed, &targets, 20_000, &watch).unwrap();
        assert!(!(proven && direct.is_some()), "seed {seed}: a wrong proof\n{source}");
        first[5] += usize::from(proven);
        match judge(&parsed, 4) {
            Ok(judged) => {
                assert_eq!(judged, direct, "seed {seed}: judge, direct\n{source}");
                let explicit = smallest(&source, &parsed, Method::Explicit, 4);
                assert_eq!(judged, explicit, "seed {seed}: judge, reduced explicit\n{source}");
            }
            Err(()) => first[7] += 1,
        }
        first[direct.map_or(6, |k| k as usize)] += 1;
        for &method in methods {
            for k in 0..=if seed % 4 == 0 { 3 } else { 2 } {
                let found = smallest(&source, &parsed, method, k);
                let wanted = direct.filter(|d| *d <= k);
                assert_eq!(
                    found.is_some(),
                    wanted.is_some(),
                    "seed {seed} {method:?} {k}\n{source}"
                );
                if k < 3 {
                    let again = reread(&parsed, method, k);
                    assert_eq!(again, wanted.is_some(), "seed {seed} {method:?} {k}\n{source}");
                }
            }
        }
    }
    first
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
    solve(&sequential, &targets, false, &watch).unwrap().reachable
}

/// How many programs: a few in the suite, more when asked for.
fn cases(few: u64) -> u64 {
    std::env::var("PREEMPT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

#[test]
fn engines_agree_on_programs_without_recursion() {
    let first = campaign(1..1 + cases(60), false, &[Method::Lazy, Method::Eager]);
    eprintln!("first violated with 0 to 4 switches, proven, not violated, not judged: {first:?}");
    assert!(first[1..5].iter().sum::<usize>() > 8, "{first:?}");
}

#[test]
fn engines_agree_on_recursive_programs() {
    let first = campaign(1..1 + cases(40), true, &[Method::Lazy, Method::Eager]);
    eprintln!("first violated with 0 to 4 switches, proven, not violated, not judged: {first:?}");
    assert!(first[1..5].iter().sum::<usize>() > 5, "{first:?}");
}
