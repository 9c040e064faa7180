//! Starting a program that searches its own schedules, and waiting for its report.

use crate::found::{Found, Trouble};
use crate::std_locks;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How executions are repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Backend {
    /// In the process where the program has no effects outside of it, otherwise by fork.
    #[default]
    Auto,
    /// In the process.
    Restart,
    /// In a forked process each.
    Fork,
    /// In a forked process each, on real threads.
    Threads,
}

/// Which executions are searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Search {
    /// One per happens-before graph.
    #[default]
    Orders,
    /// Every schedule.
    Schedules,
    /// At random, from this seed.
    Random(u64),
}

/// What atomic operations do whose memory order is not `memory_order_seq_cst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// The same as if it were.
    Sc,
    /// What C11 and C++20 allow, as the model RC11 has it.
    #[default]
    Rc11,
}

/// How std's `Mutex` is locked, in programs of Rust.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StdLocks {
    /// By one step, which waits until the lock is free.
    #[default]
    Whole,
    /// By all the steps that std takes.
    Steps,
}

/// What to search for and how far.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder it is started in; otherwise the current one.
    pub folder: Option<PathBuf>,
    /// Its whole environment; otherwise that of this process.
    pub variables: Option<Vec<(OsString, OsString)>>,
    /// At most so many preemptions.
    pub bound: Option<u32>,
    /// At most so many stale choices.
    pub stale: Option<u32>,
    /// What memory orders allow.
    pub memory: Memory,
    /// At most this long.
    pub time: Option<Duration>,
    /// The time is a share for this program: bounds that are finished within it are a verdict.
    pub budget: bool,
    /// At most so many executions.
    pub executions: Option<u64>,
    /// At most so many steps in an execution.
    pub depth: Option<u64>,
    /// How executions are repeated.
    pub backend: Backend,
    /// Which executions.
    pub search: Search,
    /// Processes that search together, with [`Search::Orders`].
    pub threads: usize,
    /// Data races are violations.
    pub races: bool,
    /// Memory that is never freed is a violation.
    pub leaks: bool,
    /// An exit code other than 0 is a violation.
    pub exit_code: bool,
    /// Threads that run when the program ends are a violation.
    pub unjoined: bool,
    /// Show what the program prints.
    pub output: bool,
    /// Execute this schedule only.
    pub replay: Option<String>,
    /// With `replay`: under this debugger.
    pub debugger: Option<String>,
    /// The file that is the standard input of each execution.
    pub input: Option<PathBuf>,
    /// The least and the greatest of the values that `__VERIFIER_nondet_int` and its relatives return.
    pub values: (i64, i64),
    /// Whether executions are sampled beside a search that takes long.
    pub sample: bool,
    /// Long pauses and timeouts end in the order of their times, when no other thread can go on.
    pub keeps_pauses: bool,
    /// How the program takes locks of Rust's std.
    pub std_locks: StdLocks,
    /// How many waits per execution may end because time is up while other threads could still move.
    pub timeouts: u32,
    /// Seconds without an operation after which a thread is taken to compute without end.
    pub patience: u64,
}

impl Options {
    /// The defaults for a program.
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> Self {
        Options {
            program,
            arguments,
            folder: None,
            variables: None,
            bound: None,
            stale: None,
            memory: Memory::Rc11,
            time: None,
            budget: false,
            executions: None,
            depth: None,
            backend: Backend::Auto,
            search: Search::Orders,
            threads: 1,
            races: true,
            leaks: false,
            exit_code: false,
            unjoined: false,
            output: false,
            replay: None,
            debugger: None,
            input: None,
            values: (0, 3),
            sample: true,
            keeps_pauses: false,
            std_locks: StdLocks::Whole,
            timeouts: 1,
            patience: 10,
        }
    }
}

/// Why there is no report.
#[derive(Debug)]
pub enum Failure {
    /// The program cannot be used: what to say.
    Input(String),
    /// The library in the program failed.
    Bug(String),
    /// The program was killed before its search could report.
    Killed(String),
}

/// The environment variable that the library reads.
const VARIABLE: &str = "PREEMPT_NATIVE";
/// How much longer than its time limit a program may take.
const GRACE: Duration = Duration::from_secs(5);
/// How long a program has to end its search when it is asked to.
const FAREWELL: Duration = Duration::from_secs(3);
/// The signal that asks it to, the last one that Linux has.
const STOP: i32 = 64;
/// The most processes that search together.
pub const MOST_THREADS: usize = 64;
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// The exit code of a bug in the library.
const BUG: i32 = 101;
/// The exit code of the library where the system does not give what it needs.
const REFUSED: i32 = 102;

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Executions so far.
    pub executions: u64,
    /// The stale choices and the preemptions of the last bound that is finished.
    pub finished: Option<(u32, u32)>,
}

impl Progress {
    fn read(text: &str) -> Option<Progress> {
        let mut numbers = text.strip_suffix('\n')?.split(' ');
        let executions = numbers.next()?.parse().ok()?;
        let mut number = || numbers.next()?.parse().ok();
        Some(Progress { executions, finished: number().zip(number()) })
    }
}

/// What is told how far a search is.
pub type Watch<'a> = Option<&'a dyn Fn(Progress)>;

/// Runs the program, and again in forked processes if it destroys its own search.
pub fn run(
    options: &Options,
    interrupted: &AtomicBool,
    watch: Watch<'_>,
) -> Result<Found, Failure> {
    let program = find(&options.program)?;
    check_linked(&program)?;
    let is_repeated = options.backend == Backend::Auto && options.replay.is_none();
    let found = match once(options, &program, interrupted, watch) {
        Err(Failure::Bug(_) | Failure::Killed(_)) if is_repeated => {
            let again = Options { backend: Backend::Fork, ..options.clone() };
            once(&again, &program, interrupted, watch).map(|mut found| {
                found.notes.push(
                    "an execution damaged the process it ran in, so each was given its own".into(),
                );
                found
            })
        }
        other => other,
    };
    match found {
        Err(Failure::Killed(how)) => Ok(killed(&how)),
        other => other,
    }
}

/// What is known of a program that took its search with it.
fn killed(how: &str) -> Found {
    let message = format!(
        "the program was killed with its search ({how}): it ended its own process group, or the system killed it"
    );
    let (kind, frames) = ("unsupported".into(), Vec::new());
    let trouble = Trouble { kind, message, pc: 0, other: None, place: None, frames };
    Found { unsupported: Some(trouble), ..stopped("killed") }
}

fn once(
    options: &Options,
    program: &Path,
    interrupted: &AtomicBool,
    watch: Watch<'_>,
) -> Result<Found, Failure> {
    let report = Report::new();
    let mut command = command(options, program);
    let mut settings = settings(options, program, &report.path);
    if watch.is_some() {
        settings.push_str("\nprogress=on");
    }
    command.env(VARIABLE, settings);
    // A library that was preloaded would be asked before ours.
    command.env_remove("LD_PRELOAD");
    let cannot = |error: io::Error| {
        Failure::Input(format!("cannot start {}: {error}", options.program.display()))
    };
    if options.debugger.is_none() {
        // Ctrl-C is for us: the program is asked to end its search, and says what it has covered.
        separate(&mut command);
    }
    let mut child = command.spawn().map_err(cannot)?;
    let deadline = options.time.map(|time| Instant::now() + time + GRACE);
    let tell = || {
        let text = watch.map(|_| std::fs::read_to_string(report.progress()).unwrap_or_default());
        if let (Some(watch), Some(progress)) = (watch, text.as_deref().and_then(Progress::read)) {
            watch(progress);
        }
    };
    let ended = wait(&mut child, deadline, interrupted, &tell).map_err(cannot)?;
    let text = std::fs::read_to_string(&report.path).unwrap_or_default();
    if let Ok(found) = serde_json::from_str::<Found>(&text) {
        return Ok(found);
    }
    match ended {
        Ended::Late => Ok(stopped("time")),
        Ended::Interrupted => Ok(stopped("interrupted")),
        Ended::ByItself(status) if status.code() == Some(BUG) => {
            Err(Failure::Bug("the library in the program failed; see above".into()))
        }
        Ended::ByItself(status) if status.code() == Some(REFUSED) => Err(Failure::Input(format!(
            "{} cannot be run here; the line above says why (a search reserves more than 64 GiB of address \
                 space without using it, which `ulimit -v` or a container may forbid)",
            options.program.display()
        ))),
        Ended::ByItself(status) if status.code().is_none() => {
            Err(Failure::Killed(status.to_string()))
        }
        Ended::ByItself(status) => {
            Err(Failure::Bug(format!("the program ended without a report ({status})")))
        }
    }
}

/// What is known of a search that was ended from outside.
fn stopped(halt: &str) -> Found {
    Found {
        halt: halt.into(),
        exhausted: false,
        executions: 0,
        graphs: 0,
        states: 0,
        restarts: 0,
        threads: 0,
        seconds: 0.0,
        memory: 0,
        backend: String::new(),
        forked_because: None,
        racy: 0,
        rows: Vec::new(),
        weak: false,
        unexplored: Vec::new(),
        notes: Vec::new(),
        modules: Vec::new(),
        unsupported: None,
        nondeterministic: false,
        fewer_stale: false,
        expected: None,
        strayed: None,
        unfinished: None,
        least: 0,
        evidence: None,
    }
}

/// The program, found as a shell finds it.
fn find(program: &Path) -> Result<PathBuf, Failure> {
    let missing = || Failure::Input(format!("there is no program {}", program.display()));
    if program.components().count() > 1 || program.is_absolute() {
        return if program.is_file() { Ok(program.to_path_buf()) } else { Err(missing()) };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .ok_or_else(missing)
}

/// A program without our library would simply run.
fn check_linked(program: &Path) -> Result<(), Failure> {
    let bytes = std::fs::read(program)
        .map_err(|error| Failure::Input(format!("cannot read {}: {error}", program.display())))?;
    let name = crate::runtime::NAME.as_bytes();
    if bytes.windows(name.len()).any(|window| window == name) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{} was not linked by preempt: compile and link it by `preempt cc` or `preempt c++` (for \
         example CC=\"preempt cc\" make)",
        program.display()
    )))
}

fn command(options: &Options, program: &Path) -> Command {
    let mut command = match &options.debugger {
        Some(debugger) => {
            let mut words = debugger.split_whitespace();
            let name = words.next().unwrap_or("gdb");
            let mut command = Command::new(name);
            let is_gdb = name.ends_with("gdb");
            if is_gdb {
                // The library reports system calls and first writes to itself by signals. Before the
                // user's own commands, which may start the program.
                command.args(["-ex", "handle SIGSYS SIGALRM SIGSEGV nostop noprint pass"]);
                command.args(["-ex", "set startup-with-shell off"]);
            }
            command.args(words);
            if is_gdb {
                command.arg("--args");
            }
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(&options.arguments);
    // A backtrace of a Rust program would be made by instrumented code, for minutes; reports have their own.
    command.env("RUST_BACKTRACE", "0");
    if let Some(folder) = &options.folder {
        command.current_dir(folder);
    }
    if let Some(variables) = &options.variables {
        command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    }
    if !options.output {
        command.stdin(Stdio::null());
    }
    command
}

/// The options that the library gets, a line each.
fn settings(options: &Options, program: &Path, report: &Path) -> String {
    let mut text = format!("report={}", report.display());
    let mut add = |name: &str, value: &dyn std::fmt::Display| {
        let _ = write!(text, "\n{name}={value}");
    };
    if let Some(bound) = options.bound {
        add("bound", &bound);
    }
    if let Some(stale) = options.stale {
        add("stale", &stale);
    }
    let memory = match options.memory {
        Memory::Sc => "sc",
        Memory::Rc11 => "rc11",
    };
    add("memory", &memory);
    if let Some(time) = options.time {
        add("nanoseconds", &u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
    if let Some(executions) = options.executions {
        add("executions", &executions);
    }
    if let Some(depth) = options.depth {
        add("steps", &depth);
    }
    match options.backend {
        _ if options.debugger.is_some() => add("backend", &"here"),
        Backend::Auto => {}
        Backend::Restart => add("backend", &"restart"),
        Backend::Fork => add("backend", &"fork"),
        Backend::Threads => add("backend", &"threads"),
    }
    match options.search {
        Search::Orders => {}
        Search::Schedules => add("search", &"schedules"),
        Search::Random(seed) => add("search", &format!("random:{seed}")),
    }
    if options.threads > 1 && options.search == Search::Orders {
        add("workers", &(options.threads - 1));
    }
    let switch = |on: bool| if on { "on" } else { "off" };
    add("races", &switch(options.races));
    add("leaks", &switch(options.leaks));
    add("exit_code", &switch(options.exit_code));
    add("unjoined", &switch(options.unjoined));
    add("output", &switch(options.output));
    if let Some(path) = &options.input {
        add("input", &path.display());
    }
    add("sample", &switch(options.sample));
    add("keeps_pauses", &switch(options.keeps_pauses));
    add("values", &format!("{} {}", options.values.0, options.values.1));
    let patience = if options.debugger.is_some() { 0 } else { options.patience };
    add("patience", &patience);
    add("timeouts", &options.timeouts);
    if options.std_locks == StdLocks::Whole {
        let locks = std_locks::locks(program);
        let locks: Vec<String> = locks.iter().map(|lock| format!("{lock:x}")).collect();
        if !locks.is_empty() {
            add("locks", &locks.join(" "));
        }
    }
    if let Some(schedule) = &options.replay {
        add("replay", schedule);
    }
    text
}

enum Ended {
    ByItself(ExitStatus),
    Late,
    Interrupted,
}

fn wait(
    child: &mut Child,
    deadline: Option<Instant>,
    interrupted: &AtomicBool,
    tell: &dyn Fn(),
) -> io::Result<Ended> {
    let mut pause = Duration::from_micros(200);
    let mut told = Instant::now();
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::ByItself(status));
        }
        let now = Instant::now();
        if asked.is_none() && interrupted.load(Ordering::Relaxed) {
            signal(child, STOP);
            asked = Some(now + FAREWELL);
        }
        if deadline.is_some_and(|deadline| now >= deadline) {
            kill(child)?;
            return Ok(Ended::Late);
        }
        if asked.is_some_and(|deadline| now >= deadline) {
            kill(child)?;
            return Ok(Ended::Interrupted);
        }
        if now.saturating_duration_since(told) >= TELL_EVERY {
            told = now;
            tell();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Gives the program a process group of its own.
#[cfg(unix)]
fn separate(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn separate(_: &mut Command) {}

#[cfg(unix)]
fn signal(child: &Child, number: i32) {
    // SAFETY: a child that was not waited for.
    unsafe { libc::kill(child.id() as i32, number) };
}

#[cfg(not(unix))]
fn signal(_: &Child, _: i32) {}

/// Ends the program with everything that it has started.
fn kill(child: &mut Child) -> io::Result<()> {
    // SAFETY: the group that `separate` has made, unless there is none of that number.
    #[cfg(unix)]
    unsafe {
        libc::kill(-(child.id() as i32), libc::SIGKILL)
    };
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// A file that is gone when it is no longer needed.
struct Report {
    path: PathBuf,
}

impl Report {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("preempt-{}-{count}.json", std::process::id());
        Report { path: std::env::temp_dir().join(name) }
    }

    /// Where the library tells how far it is.
    fn progress(&self) -> PathBuf {
        self.path.with_extension("json.progress")
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(self.progress());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_as_it_is_written() {
        let read = |text| Progress::read(text).map(|p| (p.executions, p.finished));
        assert_eq!(read("17\n"), Some((17, None)));
        assert_eq!(read("17 0 2\n"), Some((17, Some((0, 2)))));
        // Written in part.
        for text in ["", "17", "17 0 2", "\n", "x\n"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
