//! Spin: generate, compile, run, read the numbers.

use crate::case::Case;
use crate::measure::{self, Measured};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// How Spin is built and run.
#[derive(Clone, Copy, PartialEq, Eq)]
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

pub(crate) const BOUNDED_REDUCED: Form = Form {
    name: "bounded-reduced",
    compile: &["-O2", "-DSAFETY", "-DBCS"],
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

/// A verifier that was compiled, and what that took.
pub(crate) struct Verifier {
    form: Form,
    generate: Measured,
    compile: Measured,
}

/// How often the form whose whole command is compared is compiled; the quickest counts.
const COMPILED: u32 = 3;

/// Runs `spin -a` and the C compiler in `folder`, where the model lies.
pub(crate) fn prepare(case: &Case, folder: &Path, form: Form) -> Result<Verifier> {
    prepare_with(case, folder, form, &[])
}

/// As [`prepare`] for vectors of up to so many bytes.
pub(crate) fn prepare_long(case: &Case, folder: &Path, form: Form, bytes: u32) -> Result<Verifier> {
    prepare_with(case, folder, form, &[format!("-DVECTORSZ={bytes}")])
}

/// States as a minimal automaton, for vectors of so many bytes.
pub(crate) fn run_minimal(case: &Case, folder: &Path, vector: u64) -> Result<Told> {
    prepare_with(case, folder, MINIMAL, &[format!("-DMA={vector}")])?.run(case, folder)
}

fn prepare_with(case: &Case, folder: &Path, form: Form, more: &[String]) -> Result<Verifier> {
    let times = if form.name == REDUCED.name { COMPILED } else { 1 };
    let generate = measure::best_of(times, || {
        let mut command = Command::new("spin");
        command.arg("-a").args(case.defines.iter().map(|define| format!("-D{define}")));
        command.arg("model.pml").current_dir(folder);
        command
    })?;
    anyhow::ensure!(folder.join("pan.c").exists(), "{}: spin makes no verifier", case.name);
    let compile = measure::best_of(times, || {
        let mut command = Command::new("gcc");
        command.args(form.compile).args(more);
        command.args(["-w", "-DMEMLIM=8000", "-o", &form.program(), "pan.c"]).current_dir(folder);
        command
    })?;
    if !compile.status.success() {
        bail!("{}: the verifier does not compile", case.name);
    }
    Ok(Verifier { form, generate, compile })
}

impl Form {
    fn program(&self) -> String {
        format!("pan{}", self.name)
    }
}

impl Verifier {
    /// Runs it once.
    pub(crate) fn run(&self, case: &Case, folder: &Path) -> Result<Told> {
        let form = self.form;
        let mut command = Command::new(folder.join(form.program()));
        command.arg(format!("-m{}", case.depth)).args(["-n", "-c0"]);
        command.args(form.run).current_dir(folder);
        if !form.run.iter().any(|argument| argument.starts_with("-w")) {
            command.arg(format!("-w{}", case.slots));
        }
        if form.huge_pages {
            command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        }
        let verify = measure::run(&mut command)?;
        read(&verify, [&self.generate, &self.compile])
            .with_context(|| format!("{} {}", case.name, form.name))
    }
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
