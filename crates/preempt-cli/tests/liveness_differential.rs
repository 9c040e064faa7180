//! Random models and random formulas without `X`: the verdict with reduction is the verdict without,
//! and where Spin is installed, that of Spin without its reduction.
//!
//! Models come in families that share their formulas: compiling Spin's checker costs far more than
//! running it, and one checker serves a whole family (the variant is chosen by the first step, which
//! asks the environment). `PREEMPT_FAMILIES` sets the number of families, `PREEMPT_VARIANTS` how many
//! models each has, `PREEMPT_FORMULAS` how many formulas, `PREEMPT_SEED` the seed of the first family;
//! the next one has the next seed. `PREEMPT_VERDICTS` names a file in which Spin's verdicts are kept, so
//! that another run with the same settings need not ask Spin again. How often Spin *with* its reduction
//! is wrong is printed, not judged.

use preempt_testing::{Random, c_compiler};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// No `skip`: Spin refuses loops of nothing else.
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
    "x = x",
    "c!1",
    "c?_",
];

/// Process 0 alone sends to `mail`, and process 1 alone receives.
const SENDS: &[&str] = &["mail!1", "mail!0", "x = 1 - x"];
const RECEIVES: &[&str] = &["mail?_", "mail?1", "mail?x"];

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

fn formulas() -> usize {
    setting("PREEMPT_FORMULAS", 6) as usize
}

fn variants() -> usize {
    setting("PREEMPT_VARIANTS", 4) as usize
}

/// Models with the same formulas: the process types of each, and what starts them.
struct Family {
    variants: Vec<(String, String)>,
    formulas: String,
}

const DECLARATIONS: &str = "#define p (g0 == 1)\n#define q (g1 == 1)\n\
    bit g0, g1;\nbyte which;\nchan c = [1] of { bit };\n";

impl Family {
    fn new(random: &mut Random) -> Self {
        let variants = (0..variants()).map(|variant| Self::variant(random, variant)).collect();
        let mut different = BTreeSet::new();
        while different.len() < formulas() {
            different.insert(formula(random, 2));
        }
        let mut text = String::new();
        for (number, formula) in different.into_iter().enumerate() {
            let _ = writeln!(text, "ltl f{number} {{ {formula} }}");
        }
        Family { variants, formulas: text }
    }

    fn variant(random: &mut Random, variant: usize) -> (String, String) {
        // Promises about a channel hold for the whole text: each variant has its own.
        let mut types = format!("chan mail{variant} = [1] of {{ bit }};\n");
        let mut starts = String::new();
        for number in 0..2 + random.below(2) {
            let (promise, own) = match number {
                0 => ("xs mail; ", SENDS),
                1 => ("xr mail; ", RECEIVES),
                _ => ("", &[][..]),
            };
            let body = block(random, 2, own);
            let body = if random.below(2) == 0 { format!("do :: {body} od") } else { body };
            let name = format!("P{variant}_{number}");
            let body = format!("{promise}{body}").replace("mail", &format!("mail{variant}"));
            let _ = writeln!(types, "proctype {name}() {{ bit x; {body} }}");
            let _ = write!(starts, "; run {name}()");
        }
        (types, starts)
    }

    /// One model.
    fn model(&self, variant: usize) -> String {
        let (types, starts) = &self.variants[variant];
        let init = format!("init {{ atomic {{ which = {variant}{starts} }} }}\n");
        format!("{DECLARATIONS}{types}{init}{}", self.formulas)
    }

    /// All models at once.
    fn all(&self) -> String {
        let types: String = self.variants.iter().map(|(types, _)| types.as_str()).collect();
        let options = self.variants.iter().enumerate();
        let options: String =
            options.map(|(at, (_, starts))| format!(" :: which == {at}{starts}")).collect();
        format!(
            "{DECLARATIONS}{types}init {{ atomic {{ c_code {{ now.which = atoi(getenv(\"PREEMPT_VARIANT\")); }}; \
             if{options} fi }} }}\n{}",
            self.formulas
        )
    }
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

/// What Spin said about each model of each family, without its reduction and with it: a letter per
/// formula, holds, violated, or `?` where it failed.
struct Verdicts {
    file: Option<PathBuf>,
    known: BTreeMap<(u64, usize), [String; 2]>,
    has_spin: bool,
}

impl Verdicts {
    fn new() -> Self {
        let file = std::env::var_os("PREEMPT_VERDICTS").map(PathBuf::from);
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let text = text.unwrap_or_default();
        let known = text.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [seed, variant, full, reduced] = cells[..] else { return None };
            let usual = full.len() == formulas() && reduced.len() == formulas();
            usual.then_some(())?;
            Some(((seed.parse().ok()?, variant.parse().ok()?), [full.into(), reduced.into()]))
        });
        let has_spin = preempt_testing::peers(&["spin", &c_compiler()]);
        Verdicts { known: known.collect(), file, has_spin }
    }

    /// Asks Spin about a family unless that was done before. Without Spin, nothing is known.
    fn learn(&mut self, seed: u64, family: &Family, folder: &Path) {
        if !self.has_spin {
            return;
        }
        if (0..variants()).all(|variant| self.known.contains_key(&(seed, variant))) {
            return;
        }
        std::fs::write(folder.join("all.pml"), family.all()).unwrap();
        let (Some(full), Some(reducing)) =
            (spin(folder, "all.pml", &["-DNOREDUCE"]), spin(folder, "all.pml", &[]))
        else {
            return;
        };
        for variant in 0..variants() {
            let ask = |program: &Path| -> String {
                (0..formulas()).map(|at| spins_verdict(program, folder, variant, at)).collect()
            };
            self.known.insert((seed, variant), [ask(&full), ask(&reducing)]);
        }
        if let Some(file) = &self.file {
            let line = |((seed, variant), [a, b]): (&(u64, usize), &[String; 2])| {
                format!("{seed}\t{variant}\t{a}\t{b}\n")
            };
            std::fs::write(file, self.known.iter().map(line).collect::<String>()).unwrap();
        }
    }
}

/// Compiles Spin's checker for the model; `None` without Spin, or when it refuses the model.
fn spin(folder: &Path, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let made = Command::new("spin").args(["-a", name]).current_dir(folder).output().ok()?;
    let program = folder.join(format!("pan{}", flags.len()));
    let compiled = Command::new(c_compiler())
        .args(["-O0", "-w", "-o"])
        .arg(&program)
        .args(flags)
        .arg("pan.c")
        .current_dir(folder)
        .output()
        .ok()?;
    (made.status.success() && compiled.status.success()).then_some(program)
}

fn spins_verdict(program: &Path, folder: &Path, variant: usize, number: usize) -> char {
    let output = Command::new(program)
        .env("PREEMPT_VARIANT", variant.to_string())
        .args(["-a", "-m10000", "-w12", "-n", "-N", &format!("f{number}")])
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
    for seed in first..first + setting("PREEMPT_FAMILIES", 2) {
        let mut random = Random::new(seed);
        random.below(1);
        let family = Family::new(&mut random);
        verdicts.learn(seed, &family, &folder);
        for variant in 0..variants() {
            let text = family.model(variant);
            let path = folder.join("m.pml");
            std::fs::write(&path, &text).unwrap();
            // Machine code takes longer to make than these models to search: one of a family has it.
            let backend = if variant == 0 { "native" } else { "interp" };
            let full = ours(&path, &["--por", "off", "--backend", backend]);
            let reduced = ours(&path, &["--backend", backend]);
            for at in 0..formulas() {
                let (full, reduced) = (&full[at], &reduced[at]);
                let model = format!("f{at} of variant {variant} of family {seed}");
                compared += 1;
                violated += u32::from(full == "violated");
                if full != reduced || full.starts_with("failed") {
                    wrong.push(format!("{model}: {full}, reduced {reduced}\n{text}"));
                }
                let Some([truth, reduced]) = verdicts.known.get(&(seed, variant)) else { continue };
                let (truth, reduced) = (&truth[at..=at], &reduced[at..=at]);
                with_spin += 1;
                if full.get(..1) != Some(truth) {
                    wrong.push(format!("{model}: {full}, Spin {truth}\n{text}"));
                }
                if reduced != truth {
                    spin_wrong += 1;
                    println!(
                        "Spin's reduction says {reduced}, not {truth}, about {model}:\n{text}"
                    );
                }
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
