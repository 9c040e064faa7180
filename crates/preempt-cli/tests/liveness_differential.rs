//! Random models and random formulas without `X`: the verdict with reduction is the verdict without,
//! and where Spin is installed, that of Spin without its reduction.
//!
//! `PREEMPT_MODELS` sets the number of models, `PREEMPT_FORMULAS` how many formulas each has,
//! `PREEMPT_SEED` the seed of the first model; the next one has the next seed. Most of the time goes
//! into compiling Spin's checkers: `PREEMPT_VERDICTS` names a file in which Spin's verdicts are kept, so
//! that another run with the same seeds need not ask Spin again. How often Spin *with* its reduction is
//! wrong is printed, not judged.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

const STATEMENTS: &[&str] = &[
    "g0 = 1",
    "g0 = 0",
    "g1 = 1",
    "g1 = 0",
    "g0 = 1 - g0",
    "(g0 == 1)",
    "(g1 == 0)",
    "x = 1 - x",
    "x = 0",
    "x = g0",
    "(x == 1)",
    "skip",
    "c!1",
    "c?_",
];

/// Process 0 alone sends to `d`, and process 1 alone receives.
const SENDS: &[&str] = &["d!1", "d!0", "x = 1 - x"];
const RECEIVES: &[&str] = &["d?_", "d?1", "d?x"];

fn statement<'a>(random: &mut Random, own: &[&'a str]) -> &'a str {
    match random.below(5) {
        0 if !own.is_empty() => random.pick(own),
        _ => random.pick(STATEMENTS),
    }
}

fn block(random: &mut Random, depth: u32, own: &[&str]) -> String {
    let length = 1 + random.below(3);
    let mut parts = Vec::new();
    for _ in 0..length {
        parts.push(match random.below(10) {
            0 | 1 if depth > 0 => {
                let options: Vec<String> = (0..1 + random.below(2))
                    .map(|_| format!(":: {}", block(random, depth - 1, own)))
                    .collect();
                let (open, close) = if random.below(2) == 0 { ("if", "fi") } else { ("do", "od") };
                format!("{open} {} {close}", options.join(" "))
            }
            2 if depth > 0 => {
                let (first, second) = (statement(random, own), statement(random, own));
                format!("atomic {{ {first}; {second} }}")
            }
            _ => statement(random, own).to_string(),
        });
    }
    parts.join("; ")
}

fn formula(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        return random.pick(&["p", "q", "!p", "!q"]).to_string();
    }
    match random.below(7) {
        0 => format!("[] ({})", formula(random, depth - 1)),
        1 => format!("<> ({})", formula(random, depth - 1)),
        2 => format!("[] <> ({})", formula(random, depth - 1)),
        3 => format!("(({}) U ({}))", formula(random, depth - 1), formula(random, depth - 1)),
        4 => format!("(({}) -> ({}))", formula(random, depth - 1), formula(random, depth - 1)),
        5 => format!("(({}) && ({}))", formula(random, depth - 1), formula(random, depth - 1)),
        _ => format!("(({}) || ({}))", formula(random, depth - 1), formula(random, depth - 1)),
    }
}

/// Formulas per model: compiling Spin's checker costs more than running it.
fn formulas() -> usize {
    setting("PREEMPT_FORMULAS", 6) as usize
}

/// A model with several formulas, no two of them alike.
fn model(random: &mut Random) -> String {
    let mut text = String::from(
        "#define p (g0 == 1)\n#define q (g1 == 1)\nbit g0, g1;\nchan c = [1] of { bit };\nchan d = [1] of { bit };\n",
    );
    for number in 0..2 + random.below(2) {
        let (promise, own) = match number {
            0 => ("xs d; ", SENDS),
            1 => ("xr d; ", RECEIVES),
            _ => ("", &[][..]),
        };
        let body = block(random, 2, own);
        let body = if random.below(2) == 0 { format!("do :: {body} od") } else { body };
        let _ = writeln!(text, "active proctype P{number}() {{ bit x; {promise}{body} }}");
    }
    let mut different = BTreeSet::new();
    while different.len() < formulas() {
        different.insert(formula(random, 2));
    }
    for (number, formula) in different.into_iter().enumerate() {
        let _ = writeln!(text, "ltl f{number} {{ {formula} }}");
    }
    text
}

/// Our verdicts about all formulas.
fn ours(path: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .arg("check")
        .arg(path)
        .args(["--json", "--first"])
        .args(arguments)
        .output()
        .unwrap();
    let report: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
    let Ok(report) = report else {
        let complaint = format!("failed: {}", String::from_utf8_lossy(&output.stderr));
        return vec![complaint; formulas()];
    };
    let one = vec![report.clone()];
    let results = report["results"].as_array().unwrap_or(&one);
    results.iter().map(|result| result["verdict"].as_str().unwrap_or("").to_string()).collect()
}

/// What Spin said about each model, without its reduction and with it.
struct Verdicts {
    file: Option<PathBuf>,
    known: HashMap<u64, [String; 2]>,
}

impl Verdicts {
    fn new() -> Self {
        let file = std::env::var_os("PREEMPT_VERDICTS").map(PathBuf::from);
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let text = text.unwrap_or_default();
        let known = text.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let usual = cells[1..].iter().all(|cell| cell.len() == formulas());
            (usual && cells.len() == 3)
                .then(|| Some((cells[0].parse().ok()?, [cells[1].into(), cells[2].into()])))
                .flatten()
        });
        Verdicts { known: known.collect(), file }
    }

    /// A letter per formula: holds, violated, or `?` where Spin failed. `None` without Spin, or when
    /// it refuses the model.
    fn of(&mut self, seed: u64, folder: &Path) -> Option<[String; 2]> {
        if let Some(known) = self.known.get(&seed) {
            return Some(known.clone());
        }
        let letters = |flags: &[&str]| -> Option<String> {
            let program = spin(folder, "m.pml", flags)?;
            Some((0..formulas()).map(|at| spins_verdict(&program, folder, at)).collect())
        };
        let both = [letters(&["-DNOREDUCE"])?, letters(&[])?];
        self.known.insert(seed, both.clone());
        if let Some(file) = &self.file {
            let mut lines: Vec<_> =
                self.known.iter().map(|(seed, [a, b])| format!("{seed}\t{a}\t{b}\n")).collect();
            lines.sort();
            std::fs::write(file, lines.concat()).unwrap();
        }
        Some(both)
    }
}

/// Compiles Spin's checker for the model; `None` without Spin, or when it refuses the model.
fn spin(folder: &Path, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let made = Command::new("spin").args(["-a", name]).current_dir(folder).output().ok()?;
    let program = folder.join(format!("pan{}", flags.len()));
    let compiled = Command::new("gcc")
        .args(["-O0", "-w", "-o"])
        .arg(&program)
        .args(flags)
        .arg("pan.c")
        .current_dir(folder)
        .output()
        .ok()?;
    (made.status.success() && compiled.status.success()).then_some(program)
}

fn spins_verdict(program: &Path, folder: &Path, number: usize) -> char {
    let output = Command::new(program)
        .args(["-a", "-m100000", "-w12", "-n", "-N", &format!("f{number}")])
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = text.split("errors: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    match errors {
        Some("0") if !text.contains("max search depth too small") => 'h',
        Some("0") | None => '?',
        Some(_) => 'v',
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn reduction_changes_no_verdict_and_spin_without_it_agrees() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("liveness_differential_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut verdicts = Verdicts::new();
    let (mut compared, mut violated, mut with_spin, mut spin_wrong) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    let first = setting("PREEMPT_SEED", 2019);
    for seed in first..first + setting("PREEMPT_MODELS", 8) {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        random.below(1);
        let text = model(&mut random);
        let path = folder.join("m.pml");
        std::fs::write(&path, &text).unwrap();
        let (full, reduced) = (ours(&path, &["--por", "off"]), ours(&path, &[]));
        let spin = verdicts.of(seed, &folder);
        for at in 0..formulas() {
            let (full, reduced) = (&full[at], &reduced[at]);
            compared += 1;
            violated += u32::from(full == "violated");
            if full != reduced || full.starts_with("failed") {
                wrong.push(format!("model {seed}, f{at}: {full}, reduced {reduced}\n{text}"));
            }
            let Some([truth, with_reduction]) = &spin else { continue };
            let (truth, with_reduction) = (&truth[at..=at], &with_reduction[at..=at]);
            with_spin += 1;
            if full.get(..1) != Some(truth) {
                wrong.push(format!("model {seed}, f{at}: {full}, Spin {truth}\n{text}"));
            }
            if with_reduction != truth {
                spin_wrong += 1;
                println!(
                    "Spin's reduction is wrong ({with_reduction}, not {truth}) about f{at} of model {seed}:\n{text}"
                );
            }
        }
    }
    println!(
        "{compared} verdicts, {violated} of them violated; {with_spin} compared with Spin, whose reduction was wrong {spin_wrong} times"
    );
    let _ = std::fs::remove_dir_all(folder);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(violated > 0 && violated < compared);
}
