//! Random models and random formulas without `X`: the verdict with reduction is the verdict without,
//! and where Spin is installed, that of Spin without its reduction.
//!
//! `PREEMPT_MODELS` sets the number of models, `PREEMPT_FORMULAS` how many formulas each has,
//! `PREEMPT_SEED` the first seed. How often Spin *with* its
//! reduction is wrong is printed, not judged.

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

fn block(random: &mut Random, depth: u32) -> String {
    let length = 1 + random.below(3);
    let mut parts = Vec::new();
    for _ in 0..length {
        parts.push(match random.below(10) {
            0 | 1 if depth > 0 => {
                let options: Vec<String> = (0..1 + random.below(2))
                    .map(|_| format!(":: {}", block(random, depth - 1)))
                    .collect();
                let (open, close) = if random.below(2) == 0 { ("if", "fi") } else { ("do", "od") };
                format!("{open} {} {close}", options.join(" "))
            }
            2 if depth > 0 => {
                let (first, second) = (random.pick(STATEMENTS), random.pick(STATEMENTS));
                format!("atomic {{ {first}; {second} }}")
            }
            _ => random.pick(STATEMENTS).to_string(),
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

/// A model with several formulas.
fn model(random: &mut Random) -> String {
    let mut text = String::from(
        "#define p (g0 == 1)\n#define q (g1 == 1)\nbit g0, g1;\nchan c = [1] of { bit };\n",
    );
    for number in 0..2 + random.below(2) {
        let body = block(random, 2);
        let body = if random.below(2) == 0 { format!("do :: {body} od") } else { body };
        text.push_str(&format!("active proctype P{number}() {{ bit x; {body} }}\n"));
    }
    for number in 0..formulas() {
        text.push_str(&format!("ltl f{number} {{ {} }}\n", formula(random, 2)));
    }
    text
}

fn ours(path: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .arg("check")
        .arg(path)
        .args(["--json", "--first"])
        .args(arguments)
        .output()
        .unwrap();
    let report: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
    match report {
        Ok(report) => report["verdict"].as_str().unwrap_or("").to_string(),
        Err(_) => format!("failed: {}", String::from_utf8_lossy(&output.stderr)),
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

fn spins_verdict(program: &Path, folder: &Path, number: usize) -> String {
    let output = Command::new(program)
        .args(["-a", "-m100000", "-w16", "-n", "-N", &format!("f{number}")])
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = text.split("errors: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    match errors {
        Some("0") => "holds".into(),
        Some(_) => "violated".into(),
        None => format!("failed: {text}"),
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
    let mut random = Random((setting("PREEMPT_SEED", 2019) * 0x9E37_79B9) | 1);
    let (mut compared, mut violated, mut with_spin, mut spin_wrong) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for number in 0..setting("PREEMPT_MODELS", 8) {
        let text = model(&mut random);
        let path = folder.join("m.pml");
        std::fs::write(&path, &text).unwrap();
        let unreduced_spin = spin(&folder, "m.pml", &["-DNOREDUCE"]);
        let reduced_spin = unreduced_spin.as_ref().and_then(|_| spin(&folder, "m.pml", &[]));
        for at in 0..formulas() {
            let name = format!("f{at}");
            let full = ours(&path, &["--ltl", &name, "--por", "off"]);
            let reduced = ours(&path, &["--ltl", &name]);
            compared += 1;
            violated += u32::from(full == "violated");
            if full != reduced || full.starts_with("failed") {
                wrong.push(format!("model {number}, {name}: {full}, reduced {reduced}\n{text}"));
            }
            if let (Some(unreduced), Some(reducing)) = (&unreduced_spin, &reduced_spin) {
                with_spin += 1;
                let truth = spins_verdict(unreduced, &folder, at);
                if truth != full {
                    wrong.push(format!("model {number}, {name}: {full}, Spin {truth}\n{text}"));
                }
                if spins_verdict(reducing, &folder, at) != truth {
                    spin_wrong += 1;
                    println!("Spin's reduction is wrong about {name} of\n{text}");
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
