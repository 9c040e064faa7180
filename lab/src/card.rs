//! When a graphics card pays: states against time, on one thread, on all of the machine's, and on a card.
//!
//! `lab card` draws what was measured last, which is in `lab/data/card.tsv`; `lab card measure` measures on this machine, which needs
//! a card. `lab card compile` prints how long its driver compiles the kernels of every model.

use crate::Options;
use crate::markdown::Rows;
use crate::plot::{Plot, Point, Scale, Series};
use crate::tool;
use anyhow::{Context, Result, bail, ensure};
use preempt_core::grouped;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread::available_parallelism;

/// A model by its constant, the sizes, and the largest one that a single thread is given.
const MODELS: [(&str, &str, std::ops::RangeInclusive<u32>, u32); 2] =
    [("philosophers_ordered", "N", 7..=15, 13), ("bench_processes", "N", 5..=11, 8)];

/// Longer runs are made once, the others three times.
const LONG: f64 = 5.0;

const DATA: &str = "lab/data/card.tsv";

/// One run.
struct Run {
    model: String,
    size: u32,
    way: String,
    seconds: f64,
    states: u64,
}

pub(crate) fn run(options: &Options) -> Result<String> {
    match options.rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["measure"] => measure()?,
        ["compile"] => return compile(),
        _ => bail!("`measure` and `compile` are the options"),
    }
    let runs = read(&std::fs::read_to_string(tool::root().join(DATA)).context(DATA)?)?;
    show(&runs)
}

fn measure() -> Result<()> {
    let threads = available_parallelism()?;
    let mut text = String::from("model\tsize\tway\tseconds\tstates\n");
    for (model, constant, sizes, most) in MODELS {
        for size in sizes {
            for way in ["1 thread".to_owned(), format!("{threads} threads"), "card".into()] {
                let how = match way.as_str() {
                    "1 thread" if size > most => continue,
                    "card" => "--gpu".to_owned(),
                    _ => format!("--threads {}", way.split(' ').next().unwrap_or_default()),
                };
                let arguments = format!("-D {constant}={size} --no-claim --por off {how}");
                for nth in 0..3 {
                    let run = tool::check(&format!("models/{model}.pml"), &arguments)?;
                    ensure!(run.verdict() == "holds", "{model} {arguments}: {}", run.verdict());
                    let (seconds, states) = (run.seconds(), run.number("states"));
                    eprintln!("{model} {arguments}: {states} states, {seconds:.3} s");
                    let _ = writeln!(text, "{model}\t{size}\t{way}\t{seconds:.4}\t{states}");
                    if nth == 0 && seconds > LONG && way != "card" {
                        break;
                    }
                }
            }
        }
    }
    let file = tool::root().join(DATA);
    std::fs::write(&file, text).with_context(|| file.display().to_string())
}

/// How long the kernels of all models take, those that look at every interleaving, by preemptions, and beside a formula.
fn compile() -> Result<String> {
    let kinds: [(&str, &[&str]); 3] = [
        ("every interleaving", &[]),
        ("by preemptions", &["--bound"]),
        ("beside a formula", &["--formula", "[] (_nr_pr < 9)"]),
    ];
    let mut models: Vec<String> = std::fs::read_dir(tool::root().join("models"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".pml"))
        .collect();
    models.sort();
    let head: Vec<&str> = ["model"].into_iter().chain(kinds.iter().map(|kind| kind.0)).collect();
    let mut rows = Rows::new(&head);
    for model in models {
        let path = format!("models/{model}");
        let mut cells = vec![model];
        for (_, how) in kinds {
            let mut words = vec!["kernel", &path, "--compile"];
            words.extend(how);
            // What the driver has compiled before it would not compile again.
            let said = tool::preempt(&words, &[("CUDA_CACHE_DISABLE", "1")])?;
            eprint!("{path} {how:?}: {said}");
            cells.push(said.trim().to_owned());
        }
        rows.push(&cells);
    }
    Ok(rows.finish())
}

fn read(text: &str) -> Result<Vec<Run>> {
    let run = |line: &str| {
        let [model, size, way, seconds, states] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("no row of five: {line}");
        };
        let (model, way) = (model.to_owned(), way.to_owned());
        Ok(Run {
            model,
            size: size.parse()?,
            way,
            seconds: seconds.parse()?,
            states: states.parse()?,
        })
    };
    text.lines().skip(1).map(run).collect()
}

fn show(runs: &[Run]) -> Result<String> {
    let mut seconds: BTreeMap<(&str, &str, u32), Vec<f64>> = BTreeMap::new();
    let mut states: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for run in runs {
        seconds.entry((&run.model, &run.way, run.size)).or_default().push(run.seconds);
        let known = *states.entry((&run.model, run.size)).or_insert(run.states);
        ensure!(
            known == run.states,
            "{} {}: {} and {known} states",
            run.model,
            run.size,
            run.states
        );
    }
    let mut series: Vec<Series> = Vec::new();
    for (&(model, way, size), of_runs) in &seconds {
        let name = format!("{model}, {way}");
        if series.last().is_none_or(|last| last.name != name) {
            series.push(Series { name, points: Vec::new() });
        }
        let count = states.get(&(model, size)).copied().unwrap_or_default() as f64;
        series.last_mut().context("a series")?.points.push(Point::mean(count, of_runs));
    }
    let mut ways: Vec<&str> = seconds.keys().map(|key| key.1).collect();
    ways.sort_unstable();
    ways.dedup();
    let head: Vec<&str> =
        ["model", "size", "states"].into_iter().chain(ways.iter().copied()).collect();
    let mut rows = Rows::new(&head);
    for (&(model, size), &count) in &states {
        let mut cells = vec![model.to_owned(), size.to_string(), grouped(count)];
        cells.extend(ways.iter().map(|way| cell(seconds.get(&(model, way, size)))));
        rows.push(&cells);
    }
    let plot = Plot {
        title: "seconds by states, on the processor and on a graphics card",
        x: ("states", Scale::Log),
        y: ("seconds", Scale::Log),
        series,
    };
    let picture = plot.write("card")?;
    // The book has it, too.
    let root = tool::root();
    std::fs::copy(root.join("lab/results/card.svg"), root.join("docs/src/images/card.svg"))?;
    Ok(format!(
        "{picture}\n{}\nSeconds of the search, every interleaving, on an NVIDIA H200 and the machine that it is in; least and greatest of \n\
         three runs, or one run where it took more than {LONG} seconds. The card begins when the processor has \n\
         found a hundred thousand states. Opening its driver takes a tenth of a second in any case, and its first level a quarter to half a second.\n",
        rows.finish()
    ))
}

/// What the runs took.
fn cell(seconds: Option<&Vec<f64>>) -> String {
    let Some(seconds) = seconds else { return String::new() };
    let least = seconds.iter().copied().fold(f64::MAX, f64::min);
    let greatest = seconds.iter().copied().fold(f64::MIN, f64::max);
    match greatest - least < 0.005 {
        true => format!("{least:.2}"),
        false => format!("{least:.2} to {greatest:.2}"),
    }
}
