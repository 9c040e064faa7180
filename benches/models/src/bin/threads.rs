//! One thread and several, over every store, on the same models.
//!
//! Runs the `preempt` binary (the first argument, or `target/release/preempt`) with 1 and with N threads in turns, so that
//! both have the machine in the same state, and writes the best times, the speed-up, bytes per state and what was counted of
//! contention to `benches/THREADS.md`. The environment variable `PREEMPT_BENCH_THREADS` sets N (2), `PREEMPT_BENCH_ROUNDS` how often
//! each is run (3). Numbers of states that differ are an error. At the end it sets the bytes per state of all our stores beside
//! those of Spin, by default and with `-DMA`, where Spin is installed.

use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A search: name, model, options, and what is hoped for.
type Case = (&'static str, &'static str, &'static [&'static str], f64);

/// Models with more than five million states where time allows.
const CASES: &[Case] = &[
    ("exact", "philosophers_ordered.pml", &["-DN=12", "--por", "off", "--store", "exact"], 1.7),
    ("tree", "philosophers_ordered.pml", &["-DN=12", "--por", "off", "--store", "tree"], 1.7),
    ("compact", "philosophers_ordered.pml", &["-DN=12", "--por", "off", "--store", "compact"], 1.7),
    (
        "bitstate",
        "philosophers_ordered.pml",
        &["-DN=12", "--por", "off", "--store", "bitstate"],
        1.7,
    ),
    ("exact, Peterson", "peterson_n.pml", &["-DN=5", "--por", "off", "--store", "exact"], 1.7),
    ("tree, Peterson", "peterson_n.pml", &["-DN=5", "--por", "off", "--store", "tree"], 1.7),
    ("bounded", "philosophers_ordered.pml", &["-DN=12", "--por", "off", "--bound", "6"], 1.6),
    (
        "liveness",
        "philosophers_ordered.pml",
        &["-DN=11", "--por", "off", "--formula", "[] <> (taken[0] == 0 || taken[1] == 1)"],
        1.5,
    ),
];

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let binary = std::env::args().nth(1).map(PathBuf::from);
    let binary = binary.unwrap_or_else(|| root.join("target/release/preempt"));
    let number = |name: &str, usual: usize| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let threads = number("PREEMPT_BENCH_THREADS", 2);
    let rounds = number("PREEMPT_BENCH_ROUNDS", 3);
    let mut text = format!(
        "# One thread and {threads}\n\nBest of {rounds} runs each, in turns. `contention` per state: locks, failed exchanges, \
         bytes written to shared lines.\n\n\
         | search | states | 1 thread, s | {threads} threads, s | speed-up | wanted | bytes per state, 1 and {threads} | contention |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for (name, model, options, wanted) in CASES {
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            alone.push(run(&binary, &root, model, options, 1)?);
            together.push(run(&binary, &root, model, options, threads)?);
        }
        let (one, many) = (best(alone)?, best(together)?);
        let is_liveness = options.contains(&"--formula");
        let lossy = options.contains(&"bitstate");
        if one.states != many.states && !lossy && !is_liveness {
            bail!("{name}: {} states by one thread, {} by {threads}", one.states, many.states);
        }
        let contention = many.contention.map_or("none".into(), |counted| {
            let per_state = |count: f64| count / many.states.max(1.0);
            let [locks, failed, bytes] = counted.map(per_state);
            format!("{locks:.4}, {failed:.5}, {bytes:.1}")
        });
        let line = format!(
            "| {name} | {} | {:.2} | {:.2} | {:.2} | {wanted} | {:.1}, {:.1} | {contention} |",
            one.states,
            one.seconds,
            many.seconds,
            one.seconds / many.seconds.max(1e-9),
            one.bytes_per_state,
            many.bytes_per_state,
        );
        println!("{line}");
        writeln!(text, "{line}")?;
    }
    text.push_str(&memory(&binary, &root)?);
    std::fs::write(root.join("benches/THREADS.md"), text).context("cannot write the results")
}

/// Bytes per state of every store, and of Spin.
fn memory(binary: &Path, root: &Path) -> Result<String> {
    let mut text = "\n# Bytes per state\n\nOne thread; Spin without reduction, memory for states alone.\n\n\
         | model | states | exact | tree | compact | Spin | Spin -DMA |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (model, define) in [("philosophers_ordered.pml", "-DN=10"), ("peterson_n.pml", "-DN=4")] {
        let ours = |store| run(binary, root, model, &[define, "--por", "off", "--store", store], 1);
        let (exact, tree, compact) = (ours("exact")?, ours("tree")?, ours("compact")?);
        if [&tree, &compact].iter().any(|told| told.states != exact.states) {
            bail!("{model}: the stores do not agree on the number of states");
        }
        let longest = exact.state_bytes as u64;
        let plain = spin(root, model, define, &[]);
        let automaton = spin(root, model, define, &[format!("-DMA={}", longest + 40)]);
        let show = |bytes: Option<f64>| bytes.map_or("?".into(), |bytes| format!("{bytes:.1}"));
        let line = format!(
            "| {model} {define} | {} | {:.1} | {:.1} | {:.1} | {} | {} |",
            exact.states,
            exact.bytes_per_state,
            tree.bytes_per_state,
            compact.bytes_per_state,
            show(plain),
            show(automaton)
        );
        println!("{line}");
        writeln!(text, "{line}")?;
    }
    Ok(text)
}

/// What Spin says it took per state; `None` where it is not installed or does not say.
fn spin(root: &Path, model: &str, define: &str, flags: &[String]) -> Option<f64> {
    let folder = std::env::temp_dir().join(format!("preempt-threads-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let model = std::fs::canonicalize(root.join("models").join(model)).ok()?;
    let in_folder = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(&folder);
        command
    };
    let made = in_folder("spin").arg("-a").arg(define).arg(&model).output().ok()?;
    let mut compile = in_folder("gcc");
    compile.args(["-O2", "-DNOREDUCE", "-DSAFETY", "-DMEMLIM=8000", "-o", "pan", "pan.c"]);
    let compiled = compile.args(flags).output().ok()?;
    let told = in_folder("./pan").args(["-m5000000", "-n"]).output().ok()?;
    let _ = std::fs::remove_dir_all(&folder);
    if !made.status.success() || !compiled.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let number_before = |words: &str| {
        let line = text.lines().find(|line| line.contains(words))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let states = number_before("states, stored")?;
    let megabytes = number_before("actual memory usage for states")
        .or_else(|| number_before("memory used for minimized automaton"))?;
    Some(megabytes * 1024.0 * 1024.0 / states)
}

/// What a run told.
struct Told {
    states: f64,
    seconds: f64,
    bytes_per_state: f64,
    state_bytes: f64,
    contention: Option<[f64; 3]>,
}

fn best(runs: Vec<Told>) -> Result<Told> {
    runs.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds)).context("no runs")
}

fn run(binary: &Path, root: &Path, model: &str, options: &[&str], threads: usize) -> Result<Told> {
    let output = Command::new(binary)
        .args(["check", "--json", "--first"])
        .args(options)
        .args(["--threads", &threads.to_string()])
        .arg(root.join("models").join(model))
        .output()
        .with_context(|| format!("{} cannot be run", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |key: &str| number_of(&text, key);
    let Some(states) = number("states") else {
        bail!("{model} {options:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    };
    let counted = ["locks", "failed_swaps", "shared_bytes"].map(number);
    Ok(Told {
        states,
        seconds: number("search_seconds").unwrap_or_default(),
        bytes_per_state: number("bytes_per_state").unwrap_or_default(),
        state_bytes: number("state_bytes").unwrap_or_default(),
        contention: match counted {
            [Some(locks), Some(failed), Some(bytes)] => Some([locks, failed, bytes]),
            _ => None,
        },
    })
}

/// The number behind the first occurrence of a key.
fn number_of(json: &str, key: &str) -> Option<f64> {
    let behind = json.split_once(&format!("\"{key}\":"))?.1.trim_start();
    let end = behind.find(|c: char| !"0123456789.e+-".contains(c)).unwrap_or(behind.len());
    behind[..end].parse().ok()
}
