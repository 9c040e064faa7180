//! Ourselves: the same model in a process of its own, so that memory and time are its own.

use crate::case::Case;
use crate::measure;
use anyhow::{Context, Result, bail};
use preempt_check::{Check, Options, Preemptions, Reduction, Search, Storage, conclude};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};
use std::path::Path;
use std::process::Command;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Every state, no reduction.
    Plain,
    /// The default reduction, from the command to the verdict.
    Reduced,
    /// The default reduction, the search alone.
    ReducedSearch,
    /// Every state, compressed.
    Tree,
    /// Every state, as bits.
    Bitstate,
    /// Every state, two threads.
    Threads,
    /// Every state that two preemptions reach.
    Bounded,
    /// Within two preemptions with the default reduction.
    BoundedReduced,
    /// Every state, by the reference interpreter.
    Interpreted,
}

pub(crate) const MODES: [(Mode, &str); 9] = [
    (Mode::Plain, "plain"),
    (Mode::Reduced, "reduced"),
    (Mode::ReducedSearch, "reduced-search"),
    (Mode::Tree, "tree"),
    (Mode::Bitstate, "bitstate"),
    (Mode::Threads, "threads"),
    (Mode::Bounded, "bounded"),
    (Mode::BoundedReduced, "bounded-reduced"),
    (Mode::Interpreted, "interpreted"),
];

/// What a run told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) states: u64,
    pub(crate) errors: u64,
    /// Processor time of the search.
    pub(crate) seconds: f64,
    /// Time of the search on the clock.
    pub(crate) clock: f64,
    pub(crate) bytes_per_state: f64,
    pub(crate) memory: u64,
    /// Processor time to read the model and bring it into its intermediate form.
    pub(crate) reading: f64,
    /// Processor time to translate that into machine code, all of it.
    pub(crate) translating: f64,
    /// Processor time from the command to its end.
    pub(crate) all_processor: f64,
}

impl Told {
    /// What is compared in a mode: two threads gain time on the clock only, and a user waits for the whole
    /// command.
    pub(crate) fn compared(&self, mode: Mode) -> f64 {
        match mode {
            Mode::Threads => self.clock,
            Mode::Reduced => self.all_processor,
            _ => self.seconds,
        }
    }
}

/// Measures a case once, in a process of its own.
pub(crate) fn run(case: &Case, folder: &Path, mode: Mode) -> Result<Told> {
    let name = MODES.iter().find(|(m, _)| *m == mode).context("no such mode")?.1;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--one").arg(name).arg(folder.join("model.pml")).args(case.defines);
    let measured = measure::run(&mut command)?;
    if !measured.status.success() {
        bail!("{} {name}: {}", case.name, measured.output.trim());
    }
    let numbers: Vec<f64> =
        measured.output.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [states, errors, seconds, clock, bytes_per_state, memory, reading, translating] =
        numbers[..]
    else {
        bail!("{} {name}: {}", case.name, measured.output.trim());
    };
    Ok(Told {
        states: states as u64,
        errors: errors as u64,
        seconds,
        clock,
        bytes_per_state,
        memory: memory as u64,
        reading,
        translating,
        all_processor: measured.processor,
    })
}

/// The measured process: checks one model and prints the numbers.
pub(crate) fn one(arguments: &[String]) -> Result<()> {
    let [mode, path, defines @ ..] = arguments else { bail!("--one MODE FILE [NAME=VALUE …]") };
    let (mode, _) = MODES.iter().find(|(_, name)| name == mode).context("unknown mode")?;
    let defines = defines
        .iter()
        .map(|define| define.split_once('=').unwrap_or((define, "1")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let loader = |_: &str, _: &str| {
        Err(std::io::Error::other("the models of the benchmark include nothing"))
    };
    let options = ParseOptions { defines, loader: &loader };
    let start = measure::own_processor_time();
    let Some(model) = parse(path, std::fs::read(path)?, &options).model else {
        bail!("the model has mistakes");
    };
    let program = lower(&model, LowerOptions::default()).map_err(|e| anyhow::anyhow!("{e:?}"))?;
    let reference = Interpreter::new(program);
    let read = measure::own_processor_time();
    let native = Native::new(&reference)?;
    let options = options_for(*mode);
    if *mode != Mode::Reduced {
        // Spin's searches are measured without its compiler, too. From the command to the verdict only
        // what is needed is translated.
        native.prepare();
    }
    let before = measure::own_processor_time();
    let answer = match mode {
        Mode::Interpreted => Check::new(&reference).options(options).run(),
        _ => {
            let property = options.property.clone();
            let finding = Check::new(&native).options(options).find_compiled_for(&native);
            conclude(&native, &property, finding)
        }
    };
    let seconds = measure::own_processor_time() - before;
    let numbers = &answer.claim.statistics;
    println!(
        "{} {} {seconds} {} {} {} {} {}",
        numbers.states,
        numbers.errors,
        numbers.seconds,
        numbers.bytes_per_state,
        numbers.memory_bytes,
        read - start,
        before - read,
    );
    Ok(())
}

fn options_for(mode: Mode) -> Options {
    // As Spin does, stop at what was found: a simpler counterexample is looked for only where the whole
    // command is measured.
    let plain =
        Options { reduction: Reduction::None, max_errors: 0, first: true, ..Options::default() };
    match mode {
        Mode::Plain | Mode::Interpreted => plain,
        Mode::Reduced => Options { reduction: Reduction::default(), first: false, ..plain },
        Mode::ReducedSearch => Options { reduction: Reduction::default(), ..plain },
        Mode::Tree => Options { storage: Storage::Tree, ..plain },
        Mode::Bitstate => Options {
            storage: Storage::Bitstate { bits: Some(28), hashes: 3 },
            search: Search::Auto,
            ..plain
        },
        Mode::Threads => Options { threads: 2, ..plain },
        Mode::Bounded => Options { preemptions: Preemptions::AtMost(2), ..plain },
        Mode::BoundedReduced => Options {
            preemptions: Preemptions::AtMost(2),
            reduction: Reduction::default(),
            ..plain
        },
    }
}
