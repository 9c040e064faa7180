//! One process, two processes, files and checkpoints side by side: `bench-models --spread PATH-OF-PREEMPT`.
//!
//! Times are those on the clock, so the machine should have nothing else to do; each way is run several times in turn, and
//! the quickest counts. Two processes of one thread each are to take no longer than one alone.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Models of more than a million states, and what they are called with.
const MODELS: [(&str, &[&str]); 3] =
    [("peterson_n.pml", &[]), ("bench_long.pml", &[]), ("bench_channels.pml", &["-D", "SIZE=5"])];
const TIMES: usize = 3;

/// How a search is made.
const WAYS: [(&str, &[&str]); 6] = [
    ("one process", &["--search", "bfs", "--threads", "1"]),
    ("one process of a cluster", &["--processes", "1", "--threads", "1"]),
    ("two processes", &["--processes", "2", "--threads", "1"]),
    ("two processes, two preemptions", &["--processes", "2", "--threads", "1", "--bound", "2"]),
    ("checkpoints", &["--every", "2s", "--checkpoint"]),
    ("files", &["--disk"]),
];

struct Run {
    seconds: f64,
    states: u64,
    bytes_per_state: f64,
}

pub(crate) fn compare(root: &Path, preempt: &str) -> Result<()> {
    println!("| model | way | states | s | bytes per state | against one process |");
    println!("|---|---|---|---|---|---|");
    for (model, options) in MODELS {
        let mut best: Vec<Option<Run>> = WAYS.iter().map(|_| None).collect();
        for _ in 0..TIMES {
            for ((_, way), best) in WAYS.iter().zip(&mut best) {
                let run = measure(root, preempt, model, &[options, *way].concat())?;
                if best.as_ref().is_none_or(|best| run.seconds < best.seconds) {
                    *best = Some(run);
                }
            }
        }
        let alone = best[0].as_ref().context("it was run")?;
        let (states, seconds) = (alone.states, alone.seconds);
        for ((name, way), run) in WAYS.iter().zip(&best) {
            let run = run.as_ref().context("it was run")?;
            ensure!(
                way.contains(&"--bound") || run.states == states,
                "{model}, {name}: {}",
                run.states
            );
            println!(
                "| {model} | {name} | {} | {:.2} | {:.0} | {:.2} |",
                run.states,
                run.seconds,
                run.bytes_per_state,
                seconds / run.seconds
            );
        }
    }
    Ok(())
}

fn measure(root: &Path, preempt: &str, model: &str, options: &[&str]) -> Result<Run> {
    let folder = std::env::temp_dir().join(format!("preempt-spread-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new(preempt);
    command.arg("check").arg(root.join("models").join(model));
    command.args(["--no-claim", "--por", "off", "--json"]).args(options);
    if matches!(options.last(), Some(&"--checkpoint" | &"--disk")) {
        command.arg(&folder);
    }
    let output = command.output().with_context(|| format!("cannot start {preempt}"))?;
    std::fs::remove_dir_all(&folder)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let number = |key: &str| -> Result<f64> {
        let at = text.find(&format!("\"{key}\":")).with_context(|| format!("no {key}: {text}"))?;
        let rest = &text[at + key.len() + 3..];
        let end = rest.find([',', '}']).unwrap_or(rest.len());
        rest[..end].parse().with_context(|| format!("{key} is no number"))
    };
    Ok(Run {
        seconds: number("seconds")?,
        states: number("states")? as u64,
        bytes_per_state: number("bytes_per_state")?,
    })
}
