//! Starting a program that searches its own schedules, and waiting for its report.

use crate::{pauses, references, sections, std_locks};
use preempt_exchange::{
    Backend, Found, Halt, Kind, References, Request, SearchOptions, Std, Trouble, VARIABLE,
};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What to search for, and in which program.
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
    /// The time is a share for this program: bounds that are finished within it are a verdict.
    pub budget: bool,
    /// How its executions are searched.
    pub search: SearchOptions,
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
    let is_repeated = options.search.backend == Backend::Auto && options.search.replay.is_none();
    let found = match once(options, &program, interrupted, watch) {
        Err(Failure::Bug(_) | Failure::Killed(_)) if is_repeated => {
            let search = SearchOptions { backend: Backend::Fork, ..options.search.clone() };
            let again = Options { search, ..options.clone() };
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
    let (kind, frames) = (Kind::Unsupported, Vec::new());
    let trouble = Trouble { kind, message, pc: 0, other: None, place: None, frames };
    Found { unsupported: Some(trouble), ..Found::without_report(Halt::Killed) }
}

fn once(
    options: &Options,
    program: &Path,
    interrupted: &AtomicBool,
    watch: Watch<'_>,
) -> Result<Found, Failure> {
    let report = Report::new();
    let mut command = command(options, program);
    let is_whole = options.search.std == Std::Whole;
    let request = Request {
        report: report.path.display().to_string(),
        progress: watch.is_some(),
        locks: if is_whole { std_locks::locks(program) } else { Vec::new() },
        references: if is_whole { references::references(program) } else { References::default() },
        pauses: pauses::pauses(program),
        sections: sections::sections(program),
        options: options.search.clone(),
    };
    let request = serde_json::to_string(&request)
        .map_err(|error| Failure::Input(format!("the options cannot be handed on: {error}")))?;
    command.env(VARIABLE, request);
    // A library that was preloaded would be asked before ours.
    command.env_remove("LD_PRELOAD");
    let cannot = |error: io::Error| {
        Failure::Input(format!("cannot start {}: {error}", options.program.display()))
    };
    if options.search.debugger.is_none() {
        // Ctrl-C is for us: the program is asked to end its search, and says what it has covered.
        separate(&mut command);
    }
    let mut child = command.spawn().map_err(cannot)?;
    let deadline = options.search.time.and_then(|time| Instant::now().checked_add(time + GRACE));
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
        Ended::Late => Ok(Found::without_report(Halt::Time)),
        Ended::Interrupted => Ok(Found::without_report(Halt::Interrupted)),
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
    let mut command = match &options.search.debugger {
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
    if !options.search.shows_output() {
        command.stdin(Stdio::null());
    }
    command
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
