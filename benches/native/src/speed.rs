//! How fast C programs are executed: by restart in one process, by fork, and on real threads that
//! hand a token around with futexes, which is how such tools are usually built.
//!
//! Each program is compiled with its assertions off, so that no schedule ends the search, and
//! executed along random schedules. All three ways are measured in turn in every round, in processor
//! time of the program and its children; the table shows the median. A second table has the gain of
//! searching with two processes. Prints `benches/NATIVE.md`.

use anyhow::{Context, Result, bail};
use clap::Parser;
use preempt_run::{Failure, Language, Options, SearchOptions, compile, run, runtime};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Programs, and what they are about.
const PROGRAMS: [(&str, &str); 4] = [
    ("account", "2 threads, 4 operations on a mutex each"),
    ("bluetooth", "2 threads, atomic operations"),
    ("bounded_buffer", "3 threads, 2 conditions"),
    ("chase_lev", "2 threads, weak memory orders, stale choices"),
];
/// Searches that are measured with one process and with two: a program, and how it is executed.
const TOGETHER: [(&str, &str); 3] = [
    ("models/native/wsq.c", "restart"),
    ("benches/native/busy.c", "restart"),
    ("benches/native/busy.c", "fork"),
];
/// The bound of these searches.
const BOUND: u32 = 2;
/// Ways to execute, and how many executions are measured.
const WAYS: [(&str, u64); 3] = [("restart", 100_000), ("fork", 2_000), ("threads", 1_000)];

/// Prints the page with the medians of so many rounds.
pub(crate) fn measure_all(rounds: usize) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::temp_dir().join(format!("preempt-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let text = table(&root, &folder, rounds.max(1));
    std::fs::remove_dir_all(&folder)?;
    print!("{}", text?);
    Ok(())
}

fn table(root: &Path, folder: &Path, rounds: usize) -> Result<String> {
    let mut text = format!(
        "# C programs by restart in the process, by fork, and on real threads\n\n\
         Made by `cargo run --release -p bench-native > benches/NATIVE.md` on {}.\n\n\
         Random schedules of programs in `models/native/`, compiled by `preempt cc -O1 -DNDEBUG`; \
         data races are looked for in every execution. Microseconds of processor time per \
         execution, of the program and its children, starting it included; the median of {rounds} \
         rounds, in each of which all ways run in turn. \"threads\" is one forked process per \
         execution in which threads of the operating system hand a token around with futexes.\n\n\
         | program | restart µs | executions/s | fork µs | threads µs | fork/restart | threads/restart |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
        machine()
    );
    for (name, about) in PROGRAMS {
        let source = root.join(format!("models/native/{name}.c"));
        let program = build(&source, &folder.join(name))?;
        let mut times = [const { Vec::new() }; WAYS.len()];
        for _ in 0..rounds {
            for ((backend, executions), times) in WAYS.into_iter().zip(&mut times) {
                times.push(measure(&program, backend, executions)?);
            }
        }
        let [restart, fork, threads] = times.map(median);
        writeln!(
            text,
            "| {name} ({about}) | {restart:.2} | {:.0} | {fork:.0} | {threads:.0} | {:.0} | {:.0} |",
            1e6 / restart,
            fork / restart,
            threads / restart
        )?;
    }
    together(root, folder, rounds, &mut text)?;
    Ok(text)
}

/// What `--threads 2` gains, in seconds on the clock.
fn together(root: &Path, folder: &Path, rounds: usize, text: &mut String) -> Result<()> {
    write!(
        text,
        "\n## `--threads 2`\n\nAll partial orders within {BOUND} preemptions. Seconds on the clock, the median \
         of {rounds} rounds in turn.\n\n\
         | program | executed by | executions | one process | two processes | gain |\n\
         |---|---|---:|---:|---:|---:|\n"
    )?;
    for (name, way) in TOGETHER {
        let program = build(&root.join(name), &folder.join(way))?;
        let mut times = [const { Vec::new() }; 2];
        let mut executions = 0;
        for _ in 0..rounds {
            for (threads, times) in [1, 2].into_iter().zip(&mut times) {
                let words = format!("--backend {way} --bound {BOUND} --threads {threads}");
                let options = options(&program, &words)?;
                let begin = Instant::now();
                let executed = search(&options)?;
                times.push(begin.elapsed().as_secs_f64());
                executions = if threads == 1 { executed } else { executions };
            }
        }
        let [one, two] = times.map(median);
        let gain = one / two;
        writeln!(text, "| {name} | {way} | {executions} | {one:.3} | {two:.3} | {gain:.2} |")?;
    }
    Ok(())
}

/// The options of a search, as on a command line.
fn options(program: &Path, words: &str) -> Result<Options> {
    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Words {
        #[command(flatten)]
        search: SearchOptions,
    }
    let Words { search } = Words::try_parse_from(words.split(' '))?;
    let (arguments, folder, variables, budget) = (Vec::new(), None, None, false);
    Ok(Options { program: program.to_path_buf(), arguments, folder, variables, budget, search })
}

/// Runs a search; gives its number of executions.
fn search(options: &Options) -> Result<u64> {
    let found = run(options, &AtomicBool::new(false), None).map_err(|failure| match failure {
        Failure::Input(message) | Failure::Bug(message) | Failure::Killed(message) => {
            anyhow::Error::msg(message)
        }
    })?;
    Ok(found.executions)
}

fn build(source: &Path, program: &Path) -> Result<PathBuf> {
    let arguments = [
        "-O1".into(),
        "-DNDEBUG".into(),
        source.as_os_str().into(),
        "-o".into(),
        program.as_os_str().into(),
    ];
    let folder = runtime::folder().context("the runtime cannot be unpacked")?;
    let command = compile(Language::C, &arguments, &folder);
    let status = command.map_err(anyhow::Error::msg)?.status()?;
    if !status.success() {
        bail!("{} does not compile", source.display());
    }
    Ok(program.to_path_buf())
}

/// Microseconds of processor time per execution.
fn measure(program: &Path, backend: &str, executions: u64) -> Result<f64> {
    let words = format!("--backend {backend} --executions {executions} --search random --seed 1");
    let options = options(program, &words)?;
    let before = seconds_of_children();
    let executed = search(&options)?;
    let seconds = seconds_of_children() - before;
    if executed != executions {
        bail!("{} stopped after {executed} executions", program.display());
    }
    Ok(seconds * 1e6 / executions as f64)
}

pub(crate) fn seconds_of_children() -> f64 {
    // SAFETY: the structure is plain data, and valid for writing.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The processor's name, and how busy the machine is.
pub(crate) fn machine() -> String {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let names = read("/proc/cpuinfo");
    let name = names.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let load = read("/proc/loadavg");
    format!(
        "{} (load {})",
        name.map_or("an unknown processor", |(_, name)| name),
        load.split_whitespace().next().unwrap_or("unknown")
    )
}
