//! Where Spin alone takes less time than preempt: assertions and invalid ends of public models, with and without reduction.
//!
//! `lab public-losses FOLDER... [--seconds N]` takes every model below folders with a folder for each repository (`owner+name`,
//! fetched by hand: none is kept here). Spin's side is the run of `pan` alone, compiled by `gcc -O2`; ours is the whole command,
//! which ends at the first violation, as `pan` does, and so searches in the same order. Only where ours takes longer than the
//! difference that counts is Spin asked at all. A loss is more than that difference and a tenth; why it is one is said by hand, in
//! `lab/data/losses.tsv`.

use crate::markdown::Rows;
use crate::public_properties::{Search, collect};
use crate::{Options, spin, tool};
use anyhow::{Context, Result, bail};
use preempt_core::grouped;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Less than so many seconds more is no loss.
const LEAST: f64 = 0.2;
/// Nor is less than this multiple.
const RATIO: f64 = 1.1;
/// So many runs of each decide, of which the quickest counts.
const RUNS: u32 = 2;

/// Reduction in words, as our option, and as what `gcc` gets.
const WAYS: [[&str; 3]; 2] = [
    ["full", "off", "-DSAFETY -DNOCLAIM -DNOREDUCE -DMEMLIM=4000 -DVECTORSZ=4096"],
    ["reduced", "on", "-DSAFETY -DNOCLAIM -DMEMLIM=4000 -DVECTORSZ=4096"],
];

const EXPLANATIONS: &str = include_str!("../data/losses.tsv");

/// What became of the searches.
struct Sweep {
    /// For each.
    limit: u64,
    models: usize,
    refused: usize,
    quick: usize,
    compared: usize,
    open: usize,
    refused_by_spin: usize,
    /// Of Spin and of preempt, where both ended.
    seconds: [f64; 2],
    wrong: Vec<String>,
    losses: Rows,
}

pub(crate) fn run(options: &Options) -> Result<String> {
    let (mut folders, mut limit) = (Vec::new(), 10);
    let mut arguments = options.rest.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => limit = arguments.next().context("how many seconds?")?.parse()?,
            option if option.starts_with("--") => bail!("unknown option {option}"),
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    let head = ["model", "search", "states: Spin", "ours", "s: Spin", "ours", "why"];
    let mut sweep = Sweep {
        limit,
        models: 0,
        refused: 0,
        quick: 0,
        compared: 0,
        open: 0,
        refused_by_spin: 0,
        seconds: [0.0; 2],
        wrong: Vec::new(),
        losses: Rows::new(&head),
    };
    for folder in &folders {
        let mut models = Vec::new();
        collect(folder, &mut models)?;
        for file in models {
            let model = file.strip_prefix(folder)?.display().to_string();
            sweep.models += 1;
            WAYS.iter().try_for_each(|way| sweep.compare(&file, &model, way))?;
            spin::clean();
        }
    }
    Ok(sweep.report())
}

impl Sweep {
    fn compare(&mut self, file: &Path, model: &str, [how, por, gcc]: &[&str; 3]) -> Result<()> {
        let file = file.to_str().context("its name is no text")?;
        let Ok(ours) = quickest(|| ours(file, por, self.limit)) else {
            self.refused += 1;
            return Ok(());
        };
        if ours.is_some_and(|ours| ours.seconds < LEAST) {
            self.quick += 1;
            return Ok(());
        }
        eprintln!("{model}, {how}");
        let Ok(spins) = quickest(|| spins(file, gcc, self.limit)) else {
            self.refused_by_spin += 1;
            return Ok(());
        };
        let Some(spins) = spins else {
            self.open += 1;
            return Ok(());
        };
        self.compared += 1;
        if let Some(ours) = ours {
            self.seconds[0] += spins.seconds;
            self.seconds[1] += ours.seconds;
            if ours.violated != spins.violated {
                self.wrong.push(format!("{model}, {how}: Spin violated: {}", spins.violated));
            }
            if ours.seconds < spins.seconds + LEAST || ours.seconds < spins.seconds * RATIO {
                return Ok(());
            }
        }
        let key = format!("{model}\t{how}\t");
        let why = EXPLANATIONS.lines().find_map(|line| line.strip_prefix(&key)).unwrap_or("");
        let states = |search: Search| match search.violated {
            true => "violated".to_owned(),
            false => grouped(search.states),
        };
        let time = |search: Search| format!("{:.2}", search.seconds);
        self.losses.push(&[
            model.to_owned(),
            (*how).to_owned(),
            states(spins),
            ours.map_or_else(String::new, states),
            time(spins),
            ours.map_or_else(|| format!("> {}", self.limit), time),
            why.to_owned(),
        ]);
        Ok(())
    }

    fn report(self) -> String {
        let [spins, ours] = self.seconds;
        let mut text = format!(
            "{} models, each searched with and without reduction for {} s at most. {} of these searches took preempt less than {LEAST} s, \
             so that nothing can be lost; {} were compared with `pan` ({spins:.1} s of `pan` and {ours:.1} s of preempt where both ended); \
             {} ended in neither; {} are refused by preempt, {} more by Spin or its compiler.\n\n",
            self.models,
            self.limit,
            self.quick,
            self.compared,
            self.open,
            self.refused,
            self.refused_by_spin,
        );
        let _ = writeln!(text, "Verdicts that differ: {}\n", self.wrong.len());
        self.wrong.iter().for_each(|line| _ = writeln!(text, "- {line}\n"));
        text + &self.losses.finish()
    }
}

/// The quicker of several runs, if the first one took so long that the difference may matter; `None` if it did not end.
fn quickest(run: impl Fn() -> Result<Option<Search>>) -> Result<Option<Search>> {
    let mut best = run()?;
    for _ in 1..RUNS {
        let Some(known) = best.filter(|known| known.seconds > LEAST) else { break };
        best = run()?.filter(|next| next.seconds < known.seconds).or(Some(known));
    }
    Ok(best)
}

fn ours(file: &str, por: &str, limit: u64) -> Result<Option<Search>> {
    let arguments = format!("--first --no-claim --quiet --por {por} --time {limit} --memory 4G");
    let (run, seconds) = tool::timed_check(file, &arguments)?;
    let violated = run.verdict() == "violated";
    let found = Search { violated, states: run.number("states"), seconds };
    Ok((run.verdict() != "inconclusive").then_some(found))
}

fn spins(file: &str, gcc: &str, limit: u64) -> Result<Option<Search>> {
    let run = |depth| spin::timed(file, gcc, depth, limit).context("it is refused");
    // A deep stack costs a quarter of a second before anything is searched.
    let (mut numbers, mut truncated) = run("")?;
    if truncated && numbers.errors == 0 {
        (numbers, truncated) = run("-m5000000")?;
    }
    let violated = numbers.errors > 0;
    let found = Search { violated, states: numbers.states, seconds: numbers.seconds };
    Ok((violated || !truncated).then_some(found))
}
