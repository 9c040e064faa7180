//! `cargo xtask bench --against REV`: is anything slower than it was, and are all answers the same?
//!
//! A fixed list of searches, at least one of each family, is made by two binaries: the present one, and that of a revision, which is
//! built in a worktree below `target/`. Instructions are counted (by `perf`, where the system lets it count, else by valgrind), and the
//! peak of memory is read from the system: both depend on the program alone, and not on what else the machine does.
//!
//! **Invariant:** it fails where one search takes 3 % more instructions or memory, or gives another answer.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A name, and the words of `preempt check`, each on one thread and so the same every time.
const SEARCHES: &[(&str, &str)] = &[
    ("breadth-first", "models/peterson_n.pml -D N=4 --no-claim --por off"),
    ("depth-first, reduced", "models/peterson_n.pml -D N=4 --no-claim --search dfs"),
    ("depth-first, every step", "models/peterson_n.pml -D N=4 --no-claim --search dfs --por off"),
    ("tree", "models/peterson_n.pml -D N=4 --no-claim --por off --store tree"),
    ("hash compaction", "models/peterson_n.pml -D N=4 --no-claim --por off --store compact"),
    ("bitstate", "models/peterson_n.pml -D N=4 --no-claim --store bitstate --bits 24"),
    ("sequences", "models/bench_atomic.pml --por off"),
    ("all violations", "models/philosophers.pml -D N=8 --max-errors 0 --por off"),
    ("within 3 preemptions", "models/worst_case.pml --bound 3 --por off"),
    ("within 3, reduced", "models/worst_case.pml --bound 3"),
    ("within 3, lossy", "models/worst_case.pml --bound 3 --store compact"),
    ("within 3, depth-first", "models/worst_case.pml --bound 3 --search dfs --por off"),
    ("bounds one by one", "models/wsq_bug1.pml --iterate"),
    ("formula", "models/peterson_n.pml -D N=4"),
    ("formula, every step", "models/peterson_n.pml -D N=4 --por off"),
    ("non-progress, fair", "models/philosophers.pml -D N=4 --non-progress --fair"),
    ("at random", "models/peterson_n.pml -D N=4 --no-claim --search random --seed 3 --depth 200"),
    ("Boolean, lazy", "models/boolean/bluetooth-2-1.bp --switches 4 --method lazy"),
    ("Boolean, explicit", "models/boolean/bluetooth-2-1.bp --switches 3 --method explicit"),
];

/// What may be added, in percent.
const TOLERANCE: f64 = 3.0;
/// A search of fewer instructions is over before it has begun: a percentage of it says nothing.
const LEAST: f64 = 50e6;
/// Pages come in large pieces, so a few megabytes more or less are chance.
const LEAST_BYTES: f64 = 4e6;

/// What one search took.
struct Measured {
    instructions: f64,
    bytes: f64,
    answer: String,
}

/// How instructions are counted.
#[derive(Clone, Copy, PartialEq)]
enum Counter {
    Perf,
    Valgrind,
}

/// Compares the present state with a revision, or with a binary that was built before.
pub(crate) fn compare(root: &Path, arguments: &[String]) -> Result<()> {
    let value = |name: &str| {
        let at = arguments.iter().position(|word| word == name)?;
        arguments.get(at + 1).cloned()
    };
    let revision = value("--against").context("--against needs a revision or a binary")?;
    let old = match Path::new(&revision) {
        path if path.is_file() => path.to_path_buf(),
        _ => build_revision(root, &revision)?,
    };
    let new = match value("--present") {
        Some(path) => PathBuf::from(path),
        None => build(root, &root.join("target"))?,
    };
    let counter = if can_perf() { Counter::Perf } else { Counter::Valgrind };
    let by = if counter == Counter::Perf { "perf" } else { "valgrind" };
    println!("instructions are counted by {by}; {revision} before, and after\n");
    println!("{:<28} {:>10} {:>10} {:>8} {:>8}", "search", "before", "after", "instr.", "memory");
    let mut complaints = Vec::new();
    for (name, words) in SEARCHES {
        let before = measure(root, &old, words, counter).with_context(|| name.to_string())?;
        let after = measure(root, &new, words, counter).with_context(|| name.to_string())?;
        let more = percent(before.instructions, after.instructions, LEAST);
        let memory = percent(before.bytes, after.bytes, LEAST_BYTES);
        println!(
            "{name:<28} {:>9.0}M {:>9.0}M {more:>+7.1}% {memory:>+7.1}%",
            before.instructions / 1e6,
            after.instructions / 1e6
        );
        if before.answer != after.answer {
            complaints.push(format!("{name}: {} before, {} now", before.answer, after.answer));
        }
        if more > TOLERANCE {
            complaints.push(format!("{name}: {more:.1} % more instructions"));
        }
        if memory > TOLERANCE {
            complaints.push(format!("{name}: {memory:.1} % more memory"));
        }
    }
    if complaints.is_empty() {
        println!("\nall answers are the same, and nothing is slower by more than {TOLERANCE} %");
        return Ok(());
    }
    bail!("{}", complaints.join("\n"))
}

/// By how many percent something grew; what is smaller than `least` counts as that much.
fn percent(before: f64, after: f64, least: f64) -> f64 {
    (after.max(least) / before.max(least) - 1.0) * 100.0
}

/// The binary of a revision, from a worktree that is kept for the next time.
fn build_revision(root: &Path, revision: &str) -> Result<PathBuf> {
    let named = Command::new("git")
        .args(["rev-parse", "--verify", "--short", &format!("{revision}^{{commit}}")])
        .current_dir(root)
        .output()?;
    if !named.status.success() {
        bail!("there is no revision `{revision}`");
    }
    let name = String::from_utf8_lossy(&named.stdout).trim().to_string();
    let folder = root.join("target/against").join(&name);
    if !folder.is_dir() {
        let add = ["worktree", "add", "--detach"];
        crate::run(Command::new("git").args(add).arg(&folder).arg(&name).current_dir(root))?;
    }
    build(&folder, &folder.join("target"))
}

fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    let words = ["build", "--release", "--package", "preempt-cli", "--bin", "preempt"];
    let mut command = Command::new("cargo");
    crate::run(command.args(words).arg("--target-dir").arg(target).current_dir(root))?;
    Ok(target.join("release/preempt"))
}

/// Whether the system counts instructions; virtual machines often do not.
fn can_perf() -> bool {
    let output =
        Command::new("perf").args(["stat", "-x,", "-e", "instructions:u", "true"]).output();
    output.is_ok_and(|output| perf_count(&String::from_utf8_lossy(&output.stderr)).is_some())
}

fn perf_count(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("instructions"))?;
    line.split(',').next()?.parse().ok()
}

fn valgrind_count(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("refs:") || line.contains("Collected"))?;
    let number: String = line.rsplit(':').next()?.chars().filter(char::is_ascii_digit).collect();
    number.parse().ok()
}

fn measure(root: &Path, binary: &Path, words: &str, counter: Counter) -> Result<Measured> {
    // One thread executes the same every time.
    let fixed = ["--threads", "1", "--json"];
    let words: Vec<&str> = ["check"].into_iter().chain(words.split(' ')).chain(fixed).collect();
    let mut plain = Command::new(binary);
    plain.args(&words).current_dir(root).stdout(Stdio::piped()).stderr(Stdio::null());
    let (output, bytes) = with_peak(plain.spawn().context("cannot start preempt")?)?;
    let mut counted = match counter {
        Counter::Perf => Command::new("perf"),
        Counter::Valgrind => Command::new("valgrind"),
    };
    counted.args(match counter {
        Counter::Perf => &["stat", "-x,", "-e", "instructions:u"][..],
        Counter::Valgrind => {
            &["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"][..]
        }
    });
    let said = counted.arg(binary).args(&words).current_dir(root).output()?;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let instructions = match counter {
        Counter::Perf => perf_count(&said),
        Counter::Valgrind => valgrind_count(&said),
    };
    Ok(Measured {
        instructions: instructions.with_context(|| format!("no number of instructions: {said}"))?,
        bytes,
        answer: answer(&output)?,
    })
}

/// What a program prints, and the most memory that it had.
fn with_peak(mut child: Child) -> Result<(String, f64)> {
    // Read as it comes: a full pipe would stop the program.
    let mut pipe = child.stdout.take().context("no standard output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text)
    });
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0.0_f64;
    while child.try_wait()?.is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0.0) * 1024.0);
        std::thread::sleep(Duration::from_millis(2));
    }
    let text = reader.join().map_err(|_| anyhow::anyhow!("its output cannot be read"))?;
    Ok((text?, peak))
}

/// What of a report must not change: verdicts, and what was counted.
fn answer(report: &str) -> Result<String> {
    let report: Value = serde_json::from_str(report).context("the report is no JSON")?;
    let results = match &report["results"] {
        Value::Array(results) => results.clone(),
        _ => vec![report],
    };
    let brief = |claim: &Value| {
        let steps = claim["violation"]["steps"].as_u64().unwrap_or(0);
        format!("{} with {} states, {steps} steps", claim["verdict"], claim["states"])
    };
    Ok(results.iter().map(brief).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        assert_eq!(perf_count("1234567,,instructions:u,99,100.00,,\n"), Some(1_234_567.0));
        assert_eq!(perf_count("<not supported>,,instructions:u,0,100.00,,\n"), None);
        assert_eq!(valgrind_count("==7== I refs:        1,234,567\n"), Some(1_234_567.0));
    }

    #[test]
    fn small_numbers_are_no_percentages() {
        assert_eq!(percent(1e6, 2e6, LEAST), 0.0);
        assert!((percent(1e9, 1.05e9, LEAST) - 5.0).abs() < 1e-6);
    }
}
