//! Spin: generate, compile, run, read the numbers.

use crate::case::Case;
use crate::measure::{self, Measured};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// How Spin is built and run.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    compile: &'static [&'static str],
    run: &'static [&'static str],
    huge_pages: bool,
}

pub(crate) const PLAIN: Form =
    Form { name: "-O2", compile: &["-O2", "-DSAFETY", "-DNOREDUCE"], run: &[], huge_pages: false };
pub(crate) const O3: Form =
    Form { name: "-O3", compile: &["-O3", "-DSAFETY", "-DNOREDUCE"], run: &[], huge_pages: false };
pub(crate) const FASTEST: Form = Form {
    name: "fastest",
    compile: &["-O3", "-DSAFETY", "-DNOREDUCE", "-DNOCOMP", "-DNOBOUNDCHECK", "-DNOFAIR"],
    run: &[],
    huge_pages: true,
};
pub(crate) const REDUCED: Form =
    Form { name: "reduced", compile: &["-O2", "-DSAFETY"], run: &[], huge_pages: false };
pub(crate) const BITSTATE: Form = Form {
    name: "bitstate",
    compile: &["-O2", "-DSAFETY", "-DNOREDUCE", "-DBITSTATE"],
    run: &["-w28", "-k3"],
    huge_pages: false,
};
pub(crate) const BOUNDED: Form = Form {
    name: "bounded",
    compile: &["-O2", "-DSAFETY", "-DNOREDUCE", "-DBCS"],
    run: &["-L2"],
    huge_pages: false,
};

const MINIMAL: Form = Form {
    name: "minimal",
    compile: &["-O2", "-DSAFETY", "-DNOREDUCE"],
    run: &[],
    huge_pages: false,
};

/// What a run of Spin told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) states: u64,
    pub(crate) errors: u64,
    /// Bytes of a state as Spin keeps it, with its overhead.
    pub(crate) bytes_per_state: f64,
    /// Bytes of the vector before compression.
    pub(crate) vector: u64,
    /// Processor time of the search.
    pub(crate) seconds: f64,
    /// Bytes per state as measured, where states share parts.
    pub(crate) shared_bytes: Option<f64>,
    /// Processor time of `spin -a`, and of the C compiler.
    pub(crate) generating: f64,
    pub(crate) compiling: f64,
    /// Processor time of all three commands.
    pub(crate) all_processor: f64,
}

/// Whether Spin and a C compiler are there.
pub(crate) fn is_installed() -> bool {
    ["spin", "gcc"]
        .iter()
        .all(|command| measure::run(Command::new(command).arg("--version")).is_ok())
}

/// Runs all three commands in `folder`, where the model lies.
pub(crate) fn run(case: &Case, folder: &Path, form: Form, times: u32) -> Result<Told> {
    run_with(case, folder, form, &[], times)
}

/// States as a minimal automaton, for vectors of so many bytes.
pub(crate) fn run_minimal(case: &Case, folder: &Path, vector: u64) -> Result<Told> {
    run_with(case, folder, MINIMAL, &[format!("-DMA={vector}")], 1)
}

fn run_with(case: &Case, folder: &Path, form: Form, more: &[String], times: u32) -> Result<Told> {
    let generate = measure::run(
        Command::new("spin")
            .arg("-a")
            .args(case.defines.iter().map(|define| format!("-D{define}")))
            .arg("model.pml")
            .current_dir(folder),
    )?;
    anyhow::ensure!(folder.join("pan.c").exists(), "{}: spin makes no verifier", case.name);
    let compile = measure::run(
        Command::new("gcc")
            .args(form.compile)
            .args(more)
            .args(["-w", "-DMEMLIM=8000", "-o", "pan", "pan.c"])
            .current_dir(folder),
    )?;
    if !compile.status.success() {
        bail!("{}: the verifier does not compile", case.name);
    }
    let verify = measure::best_of(times, || {
        let mut command = Command::new("./pan");
        command.arg(format!("-m{}", case.depth)).args(["-n", "-c0"]);
        command.args(form.run).current_dir(folder);
        if !form.run.iter().any(|argument| argument.starts_with("-w")) {
            command.arg(format!("-w{}", case.slots));
        }
        if form.huge_pages {
            command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        }
        command
    })?;
    read(&verify, [&generate, &compile]).with_context(|| format!("{} {}", case.name, form.name))
}

fn read(verify: &Measured, before: [&Measured; 2]) -> Result<Told> {
    let text = &verify.output;
    anyhow::ensure!(!text.contains("max search depth too small"), "the search was cut");
    let states = number_before(text, "states, stored").context("no states")? as u64;
    let errors = number_after(text, "errors:").context("no errors")? as u64;
    let vector = number_after(text, "State-vector").unwrap_or(0.0) as u64;
    // The size as stored is told only if there are many states; otherwise the plain size holds.
    let stored = number_after(text, "state-vector as stored =").unwrap_or(vector as f64);
    let overhead = number_before(text, "byte overhead").unwrap_or(20.0);
    Ok(Told {
        states,
        errors,
        bytes_per_state: stored + overhead,
        vector,
        shared_bytes: number_before(text, "actual memory usage for states")
            .map(|megabytes| megabytes * f64::from(1 << 20) / states.max(1) as f64),
        generating: before[0].processor,
        compiling: before[1].processor,
        seconds: verify.processor,
        all_processor: verify.processor + before.iter().map(|m| m.processor).sum::<f64>(),
    })
}

fn number_after(text: &str, key: &str) -> Option<f64> {
    let at = text.find(key)? + key.len();
    let word = text[at..].split_whitespace().next()?;
    word.trim_end_matches(',').parse().ok()
}

fn number_before(text: &str, key: &str) -> Option<f64> {
    let at = text.find(key)?;
    text[..at].split_whitespace().next_back()?.parse().ok()
}
