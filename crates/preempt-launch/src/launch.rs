//! One test or program: the commands that search its schedules, and running them.
//!
//! What is to be searched is compiled first. Every command is the first of a process group of its own, which is ended as a
//! whole when the limit is reached or the user cancels: nothing that was started stays behind.

use crate::execution::{Execution, from_page};
use crate::outcome;
use crate::package::Package;
use crate::tests::{Kind, Language, Test};
use preempt_core::{Claim, Statistics, Stop, Verdict};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether a command has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A search that knows its limit is left so much longer to say what it has.
const TO_REPORT: Duration = Duration::from_millis(700);
/// Larger reports and messages are cut.
const MOST_OUTPUT: u64 = 64 << 20;

/// A test or program that can be searched.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The command `preempt`.
    pub preempt: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// The test in it.
    pub test: Test,
}

/// How far a search goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// For everything, compilation included.
    pub time: Option<Duration>,
    /// At most so many preemptions.
    pub bound: Option<u32>,
}

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The verdict, with the execution that fails.
    pub claim: Claim,
    /// That execution as its page has it.
    pub execution: Option<Execution>,
}

/// How a command ended.
enum End {
    /// With this success, and what it said.
    Done(bool, String),
    Cancelled,
    OutOfTime,
}

impl Launch {
    /// The commands, for people, before anything of them is run.
    pub fn in_words(&self) -> String {
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        match (self.test.kind, Language::of(&self.file)) {
            (Kind::Program, Some(Language::CPlusPlus)) => {
                format!("preempt c++ {file} -o program && preempt run -- ./program")
            }
            (Kind::Program, _) => {
                format!("preempt cc {file} -o program && preempt run -- ./program")
            }
            (Kind::Facade, _) => format!("cargo test {}", self.words().join(" ")),
            (Kind::Plain, _) => format!("preempt cargo test {}", self.words().join(" ")),
        }
    }

    /// What selects the test for cargo.
    fn words(&self) -> Vec<String> {
        let (module, mut words) = match Package::of(&self.file) {
            Some(package) => package.module(&self.file),
            None => Default::default(),
        };
        words.push(module + &self.test.name);
        words
    }

    /// Compiles and searches. The error says why nothing was searched.
    pub fn run(&self, limits: &Limits, cancel: &AtomicBool) -> Result<Answer, String> {
        let begin = Instant::now();
        let end = limits.time.map(|time| begin + time);
        let folder =
            tempfile::tempdir().map_err(|error| format!("no folder to work in: {error}"))?;
        let answer = match self.test.kind {
            Kind::Program => self.program(limits, end, cancel, folder.path()),
            Kind::Facade | Kind::Plain => self.by_cargo(limits, end, cancel, folder.path()),
        };
        answer.map(|mut answer| {
            answer.claim.statistics.seconds = begin.elapsed().as_secs_f64();
            answer
        })
    }

    fn program(
        &self,
        limits: &Limits,
        end: Option<Instant>,
        cancel: &AtomicBool,
        folder: &Path,
    ) -> Result<Answer, String> {
        let file = std::path::absolute(&self.file).map_err(|error| error.to_string())?;
        let beside = file.parent().unwrap_or(Path::new("/"));
        let compiler = match Language::of(&file) {
            Some(Language::CPlusPlus) => "c++",
            _ => "cc",
        };
        let program = folder.join("program");
        let mut compile = Command::new(&self.preempt);
        compile.args([compiler, "-g", "-pthread"]).arg(&file).arg("-o").arg(&program);
        match run(compile.current_dir(beside), end, cancel)? {
            End::Done(true, _) => {}
            End::Done(false, said) => return Err(format!("it does not compile:\n{}", tail(&said))),
            End::Cancelled => return Ok(stopped(Stop::Interrupted)),
            End::OutOfTime => return Ok(stopped(Stop::Time)),
        }
        let (report, page) = (folder.join("report.json"), folder.join("page.html"));
        let mut search = Command::new(&self.preempt);
        search.arg("run").args(asked(limits, end));
        search.arg("--json").arg(&report).arg("--html").arg(&page).arg("--").arg(&program);
        let said = match run(search.current_dir(beside), end.map(|end| end + TO_REPORT), cancel)? {
            End::Done(_, said) => said,
            End::Cancelled => return Ok(stopped(Stop::Interrupted)),
            End::OutOfTime => return Ok(stopped(Stop::Time)),
        };
        let text = std::fs::read_to_string(&report).map_err(|_| tail(&said))?;
        let claim =
            outcome::of_report(&text).map_err(|problem| format!("{problem}: {}", tail(&said)))?;
        Ok(self.answer(claim, &page, beside))
    }

    fn by_cargo(
        &self,
        limits: &Limits,
        end: Option<Instant>,
        cancel: &AtomicBool,
        folder: &Path,
    ) -> Result<Answer, String> {
        let none =
            || format!("{} belongs to no package: there is no Cargo.toml", self.file.display());
        let package = Package::of(&self.file).ok_or_else(none)?;
        let words = self.words();
        let name = words.last().cloned().unwrap_or_default();
        let (targets, filter) = words.split_at(words.len().saturating_sub(1));
        let manifest = package.folder.join("Cargo.toml");
        let is_facade = self.test.kind == Kind::Facade;
        let cargo = || match is_facade {
            true => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
            false => {
                let mut command = Command::new(&self.preempt);
                command.arg("cargo");
                command
            }
        };
        let mut build = cargo();
        build.args(["test", "--no-run", "--manifest-path"]).arg(&manifest).args(targets);
        match run(build.current_dir(&package.folder), end, cancel)? {
            End::Done(true, _) => {}
            End::Done(false, said) => return Err(format!("it does not compile:\n{}", tail(&said))),
            End::Cancelled => return Ok(stopped(Stop::Interrupted)),
            End::OutOfTime => return Ok(stopped(Stop::Time)),
        }
        let (report, pages) = (folder.join("report"), folder.join("pages"));
        let mut search = cargo();
        search.args(["test", "--manifest-path"]).arg(&manifest).args(targets).args(filter);
        search.arg("--");
        if is_facade {
            search.arg("--include-ignored").env("PREEMPT_REPORT", &report);
            if let Some(bound) = limits.bound {
                search.env("PREEMPT_PREEMPTIONS", bound.to_string());
            }
            if let Some(left) = left(end) {
                search.env("PREEMPT_TIME", format!("{}ms", left.as_millis()));
            }
        } else {
            search.arg("--include-ignored").args(asked(limits, end));
            search.arg("--json").arg(&report).arg("--html").arg(&pages);
        }
        let said =
            match run(search.current_dir(&package.folder), end.map(|end| end + TO_REPORT), cancel)?
            {
                End::Done(_, said) => said,
                End::Cancelled => return Ok(stopped(Stop::Interrupted)),
                End::OutOfTime => return Ok(stopped(Stop::Time)),
            };
        let text = std::fs::read_to_string(&report).unwrap_or_default();
        let found = match is_facade {
            true => outcome::of_facade(&text, &name),
            false => outcome::of_tests(&text, &name),
        };
        let Some((claim, page)) = found else {
            let nothing = "no test of this name has reported anything";
            return Err(format!("{nothing}:\n{}", tail(&said)));
        };
        let page = page.unwrap_or_else(|| outcome::page_in(&pages, &name));
        Ok(self.answer(claim, &page, &package.folder))
    }

    fn answer(&self, mut claim: Claim, page: &Path, folder: &Path) -> Answer {
        let text = claim.violation.as_ref().and_then(|_| std::fs::read_to_string(page).ok());
        let execution = text.and_then(|text| from_page(&text).ok());
        let execution =
            execution.map(|execution| execution.with_files(&|file| absolute(file, folder)));
        if let (Some(violation), Some(execution)) = (&mut claim.violation, &execution) {
            violation.trace = execution.observed();
            if let Some(failure) = &execution.failure {
                (violation.file, violation.line) = (failure.file.clone(), failure.line);
            }
        }
        Answer { claim, execution }
    }
}

/// The compiler names files relative to the workspace, which may be above the package.
fn absolute(file: &str, folder: &Path) -> String {
    let found = folder.ancestors().map(|above| above.join(file)).find(|path| path.is_file());
    let found = found.filter(|_| !file.is_empty());
    found.map_or_else(|| file.to_string(), |path| path.display().to_string())
}

fn left(end: Option<Instant>) -> Option<Duration> {
    end.map(|end| end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)))
}

/// The options of a search.
fn asked(limits: &Limits, end: Option<Instant>) -> Vec<OsString> {
    let bound = limits.bound.map(|bound| format!("--bound={bound}"));
    let time = left(end).map(|left| format!("--time={}ms", left.as_millis()));
    bound.into_iter().chain(time).map(OsString::from).collect()
}

/// A search that did not come to its end.
fn stopped(stop: Stop) -> Answer {
    let claim = Claim {
        property: "no execution fails".into(),
        verdict: Verdict::Inconclusive(stop),
        sentence: format!("inconclusive: {stop}"),
        violation: None,
        statistics: Statistics::default(),
        unreached: Vec::new(),
        notes: Vec::new(),
    };
    Answer { claim, execution: None }
}

/// The last lines of what a command has said.
fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// Runs a command in a group of its own, and ends the group if it takes too long.
fn run(command: &mut Command, end: Option<Instant>, cancel: &AtomicBool) -> Result<End, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
    let reader = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What cannot be read is not shown.
            let _ = pipe.map(|pipe| pipe.take(MOST_OUTPUT).read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let readers = [
        reader(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)),
        reader(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)),
    ];
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if cancel.load(Ordering::Relaxed) => break Err(End::Cancelled),
            Ok(None) if end.is_some_and(|end| Instant::now() >= end) => break Err(End::OutOfTime),
            Ok(None) => std::thread::sleep(LOOK_EVERY),
            Err(error) => return Err(format!("cannot wait for {name}: {error}")),
        }
    };
    // Also what the command has left behind.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = match ended {
        Ok(status) => status,
        Err(end) => {
            let _ = child.wait();
            return Ok(end);
        }
    };
    let said = readers.map(|reader| reader.join().unwrap_or_default());
    Ok(End::Done(status.success(), said.concat()))
}
