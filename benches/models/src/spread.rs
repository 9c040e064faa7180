//! One process, two processes, files and checkpoints side by side: `bench-models --spread PATH-OF-PREEMPT`.
//!
//! Times on the clock need a machine that has nothing else to do; processor times, of all processes together, say how much
//! more work it is to share it. Each way is run several times in turn, and the quickest counts. Two processes of one thread
//! each are to take no longer than one alone, so no more than twice its processor time.

use crate::measure;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Models of more than a million states, and what they are called with.
const MODELS: [(&str, &[&str]); 4] = [
    ("peterson_n.pml", &[]),
    ("bench_long.pml", &[]),
    ("philosophers_ordered.pml", &["-D", "N=11"]),
    ("bench_channels.pml", &["-D", "SIZE=5"]),
];
const TIMES: usize = 3;

/// How a search is made, and the number of the way that it is compared with.
const WAYS: [(&str, usize, &[&str]); 7] = [
    ("one process", 0, &["--search", "bfs", "--threads", "1"]),
    ("one process of a cluster", 0, &["--processes", "1", "--threads", "1"]),
    ("two processes", 0, &["--processes", "2", "--threads", "1"]),
    ("one process, two preemptions", 3, &["--threads", "1", "--bound", "2"]),
    ("two processes, two preemptions", 3, &["--processes", "2", "--threads", "1", "--bound", "2"]),
    ("checkpoints", 0, &["--every", "2s", "--checkpoint"]),
    ("files", 0, &["--disk"]),
];

struct Run {
    seconds: f64,
    processor: f64,
    states: u64,
    bytes_per_state: f64,
}

pub(crate) fn compare(root: &Path, preempt: &str) -> Result<()> {
    println!(
        "| model | way | states | s | processor s | bytes per state | times as fast as one process |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (model, options) in MODELS {
        let mut best: Vec<Option<Run>> = WAYS.iter().map(|_| None).collect();
        for time in 0..TIMES {
            for ((_, _, way), best) in WAYS.iter().zip(&mut best) {
                // Files take longest, and always the same.
                if time > 0 && way.contains(&"--disk") {
                    continue;
                }
                let run = run_once(root, preempt, model, &[options, *way].concat())?;
                *best = Some(match best.take() {
                    None => run,
                    Some(best) => Run {
                        seconds: best.seconds.min(run.seconds),
                        processor: best.processor.min(run.processor),
                        ..run
                    },
                });
            }
        }
        let best: Vec<Run> =
            best.into_iter().collect::<Option<_>>().context("all of them were run")?;
        for ((name, against, _), run) in WAYS.iter().zip(&best) {
            let alone = &best[*against];
            ensure!(run.states == alone.states, "{model}, {name}: {}", run.states);
            println!(
                "| {model} | {name} | {} | {:.2} | {:.2} | {:.0} | {:.2} |",
                run.states,
                run.seconds,
                run.processor,
                run.bytes_per_state,
                alone.seconds / run.seconds
            );
        }
    }
    Ok(())
}

fn run_once(root: &Path, preempt: &str, model: &str, options: &[&str]) -> Result<Run> {
    let folder = std::env::temp_dir().join(format!("preempt-spread-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new(preempt);
    command.arg("check").arg(root.join("models").join(model));
    command.args(["--no-claim", "--por", "off", "--json"]).args(options);
    if matches!(options.last(), Some(&"--checkpoint" | &"--disk")) {
        command.arg(&folder);
    }
    let measured = measure::run(&mut command)?;
    std::fs::remove_dir_all(&folder)?;
    let text = measured.output;
    let number = |key: &str| -> Result<f64> {
        let at = text.find(&format!("\"{key}\":")).with_context(|| format!("no {key}: {text}"))?;
        let rest = &text[at + key.len() + 3..];
        let end = rest.find([',', '}']).unwrap_or(rest.len());
        rest[..end].parse().with_context(|| format!("{key} is no number"))
    };
    Ok(Run {
        seconds: number("seconds")?,
        processor: measured.processor,
        states: number("states")? as u64,
        bytes_per_state: number("bytes_per_state")?,
    })
}
