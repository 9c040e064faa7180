//! The list of tests with their verdicts, as `cargo test` has one.

use super::{plain, search};
use crate::arguments::CargoArguments;
use crate::failure::Failure;
use crate::output::{complain, print, print_exactly, write};
use crate::run::{code, given, sources, text, words};
use crate::terminal::{self, ProgressLine};
use preempt_cargo::{Program, Std, Test, export};
use preempt_core::{Stop, Trace, Verdict, counted};
use preempt_report::json::{self, Subject};
use preempt_report::{Page, SavedTrace, summary};
use preempt_run::{Answer, Options};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// What the tests so far came to.
pub(super) struct List<'a> {
    arguments: &'a CargoArguments,
    /// What was asked of cargo.
    command: String,
    foreign: Vec<String>,
    std: Std,
    begin: Instant,
    counts: Counts,
    /// JSON objects, if they go to a file.
    lines: String,
    /// Reports on tests that are violated, each with the lines that lead to its page, shown at the end.
    reports: Vec<(String, String, String)>,
    worst: u8,
    failed: Option<Failure>,
}

#[derive(Default)]
struct Counts {
    holds: usize,
    within: usize,
    violated: usize,
    inconclusive: usize,
    ignored: usize,
}

/// Which of two exit codes is worse.
fn rank(code: u8) -> u8 {
    match code {
        0 => 0,
        3 => 1,
        1 => 2,
        2 => 3,
        _ => 4,
    }
}

impl<'a> List<'a> {
    /// An empty list.
    pub(super) fn new(
        arguments: &'a CargoArguments,
        command: String,
        foreign: Vec<String>,
        std: Std,
    ) -> Self {
        List {
            arguments,
            command,
            foreign,
            std,
            begin: Instant::now(),
            counts: Counts::default(),
            lines: String::new(),
            reports: Vec::new(),
            worst: 0,
            failed: None,
        }
    }

    fn is_shown(&self) -> bool {
        !matches!(self.arguments.search.json, Some(None))
    }

    /// The tests of a program follow.
    pub(super) fn program(&mut self, program: &Program, count: usize) {
        if self.is_shown() && !self.arguments.search.quiet {
            let name = program.as_test().name;
            print(&format!("\nexploring {} of {name}\n", counted(count, "test")));
        }
    }

    /// A test that is not run.
    pub(super) fn ignored(&mut self, test: &Test) {
        self.counts.ignored += 1;
        if self.is_shown() && !self.arguments.search.quiet {
            print(&format!("test {} ... ignored\n", test.name));
        }
    }

    /// Searches a test and shows what that came to.
    pub(super) fn test(&mut self, program: &Program, test: &Test) -> Result<(), Failure> {
        if self.is_shown() {
            // On the same line as the verdict that will follow.
            print(&format!("test {} ... ", test.name));
        }
        let line = ProgressLine::behind(format!("test {} ... ", test.name));
        let line = line.filter(|_| self.is_shown() && !self.arguments.search.quiet);
        let line = line.map(RefCell::new);
        let show = |progress| line.iter().for_each(|line| line.borrow_mut().show_program(progress));
        let watch = line.as_ref().map(|_| &show as &dyn Fn(_));
        let explored = search::explore(self.arguments, program, test, watch);
        line.iter().for_each(|line| line.borrow_mut().clear());
        let (mut answer, options) = match explored {
            Ok(explored) => explored,
            Err(failure) => {
                if self.is_shown() {
                    print("FAILED TO RUN\n");
                }
                complain(&format!("{}: {failure}", test.name));
                let code = if matches!(failure, Failure::Bug(_)) { 101 } else { 2 };
                self.count_code(code);
                return Ok(());
            }
        };
        if answer.threads < 2
            && options.search.replay.is_none()
            && matches!(
                answer.claim.verdict,
                Verdict::Inconclusive(Stop::Unsupported | Stop::Depth)
            )
            && let Some(claim) = plain::run(&options, &answer.claim.property)
        {
            answer.claim = claim;
        }
        search::qualify(&mut answer, &options, &self.std, &self.foreign);
        self.count(&answer, &options);
        self.tell(program, test, &answer, &options);
        self.keep_files(program, test, &answer, &options);
        Ok(())
    }

    fn count_code(&mut self, code: u8) {
        if rank(code) > rank(self.worst) {
            self.worst = code;
        }
    }

    fn count(&mut self, answer: &Answer, options: &Options) {
        match answer.claim.verdict {
            Verdict::Holds => self.counts.holds += 1,
            Verdict::HoldsWithinBound(_) => self.counts.within += 1,
            Verdict::Violated => self.counts.violated += 1,
            Verdict::Inconclusive(_) | Verdict::Nothing => self.counts.inconclusive += 1,
        }
        self.count_code(code(options, &answer.claim));
    }

    /// Shows the verdict, and keeps the report on a violation for the end.
    fn tell(&mut self, program: &Program, test: &Test, answer: &Answer, options: &Options) {
        let claim = &answer.claim;
        let file = options.program.to_string_lossy();
        let name = Some(test.name.as_str());
        let subject = Subject { file: &file, bound: options.search.most_preemptions(), test: name };
        let machine = json::report(subject, std::slice::from_ref(claim)) + "\n";
        match &self.arguments.search.json {
            Some(None) => print_exactly(&machine),
            Some(Some(_)) => self.lines.push_str(&machine),
            None => {}
        }
        if !self.is_shown() {
            return;
        }
        print(&format!("{}\n", verdict(answer)));
        let report = match claim.verdict {
            Verdict::Violated => {
                let schedule = answer.schedule.as_ref().filter(|_| claim.violation.is_some());
                let repeat = schedule.map(|schedule| self.repeat(program, test, schedule, options));
                text(&self.arguments.search, answer, repeat.as_deref())
            }
            Verdict::Inconclusive(_) if !self.arguments.search.quiet => {
                let mut text = summary::sentence(claim, &terminal::look()) + "\n";
                for note in &claim.notes {
                    text.push_str(&format!("note: {note}\n"));
                }
                text
            }
            _ => return,
        };
        self.reports.push((test.name.clone(), report, String::new()));
    }

    /// The command that executes a failing schedule again.
    fn repeat(&self, program: &Program, test: &Test, schedule: &str, options: &Options) -> String {
        let command = &self.command;
        let given: String = given(options).iter().map(|word| format!(" {word}")).collect();
        let replay = format!("--replay {schedule} --output{given}");
        if program.is_test {
            return format!("preempt cargo {command} -- --exact {} {replay}", test.name);
        }
        let words = program.arguments.iter().map(|word| format!(" {}", word.to_string_lossy()));
        let own: String = words.collect();
        let end = if own.is_empty() { String::new() } else { format!(" --{own}") };
        format!("preempt cargo {command} -- {replay}{end}")
    }

    /// Writes what was asked for about a test that is violated.
    fn keep_files(&mut self, program: &Program, test: &Test, answer: &Answer, options: &Options) {
        let claim = &answer.claim;
        if claim.violation.is_none() {
            return;
        }
        let mut results = Vec::new();
        let program_name = program.as_test().name;
        let place = |folder: &Path, extension: &str| -> PathBuf {
            let stem = export::path(Path::new(""), &program_name, &test.name);
            folder.join(stem.with_extension(extension).file_name().unwrap_or_default())
        };
        let file = options.program.to_string_lossy();
        let title = format!("{program_name}: {}", test.name);
        let sources = sources(claim);
        let shown = Page { title: &title, claim, trace: None, sources: &sources, drawing: None };
        if self.is_shown() && !self.arguments.search.quiet {
            let path = place(&program.pages(), "html");
            let written = write_in(&program.pages(), &path, &preempt_report::page(&shown));
            if let (Ok(()), Some((_, _, links))) = (written, self.reports.last_mut()) {
                *links = preempt_report::links(&path, terminal::has_links());
            }
        }
        for (format, folder) in &self.arguments.search.files.0 {
            if let Some(text) = (format.render)(&shown) {
                results.push(write_in(folder, &place(folder, format.name), &text));
            }
        }
        if let (Some(folder), Some(saved)) =
            (&self.arguments.search.trace, SavedTrace::of(&file, &words(options), claim))
        {
            let saved = SavedTrace { schedule: answer.schedule.clone(), ..saved };
            results.push(write_in(folder, &place(folder, "json"), &saved.to_json()));
        }
        if let (true, Some(schedule)) = (self.arguments.export, &answer.schedule) {
            let path = search::exported(program, test);
            let written = export::write(&path, &test.name, &claim.sentence, schedule);
            results.push(written.map_err(|error| Failure::io("write", &path, &error)));
            if let Some((_, report, _)) = self.reports.last_mut() {
                report.push_str(&format!(
                    "kept in {}: this schedule is executed first from now on\n",
                    path.display()
                ));
            }
        }
        for failure in results.into_iter().filter_map(Result::err) {
            self.failed.get_or_insert(failure);
        }
    }

    /// The reports and the summary, and the exit code.
    pub(super) fn end(self) -> Result<ExitCode, Failure> {
        let counts = &self.counts;
        let run = counts.holds + counts.within + counts.violated + counts.inconclusive;
        if run == 0 && self.worst == 0 {
            return self.nothing();
        }
        if self.is_shown() {
            for (name, report, links) in &self.reports {
                print(&format!("\n---- {name} ----\n{report}"));
                print_exactly(links);
            }
            let result = match (counts.violated, counts.inconclusive) {
                _ if rank(self.worst) > rank(1) => "failed to run",
                (0, 0) => "ok",
                (0, _) => "inconclusive",
                _ => "VIOLATED",
            };
            print(&format!(
                "\npreempt result: {result}. {} hold, {} hold within a bound, {} violated, \
                 {} inconclusive, {} ignored; {:.2} s\n",
                counts.holds,
                counts.within,
                counts.violated,
                counts.inconclusive,
                counts.ignored,
                self.begin.elapsed().as_secs_f64()
            ));
            if self.arguments.search.options.keeps_pauses() {
                print(
                    "pauses and timeouts of 10 ms and more ended in the order of their times \
                     (--pauses kept)\n",
                );
            }
        }
        if let Some(Some(path)) = &self.arguments.search.json {
            write(path, &self.lines)?;
        }
        match self.failed {
            Some(failure) => Err(failure),
            None => Ok(ExitCode::from(self.worst)),
        }
    }

    /// No test was selected: that is no verdict.
    fn nothing(self) -> Result<ExitCode, Failure> {
        let ignored = match self.counts.ignored {
            0 => "no test is selected",
            _ => "every selected test is marked #[ignore] (--include-ignored)",
        };
        let message = format!("nothing to check: {ignored}");
        let line = r#"{"schema":1,"verdict":"nothing"}"#;
        match &self.arguments.search.json {
            Some(None) => print_exactly(&format!("{line}\n")),
            Some(Some(path)) => write(path, &format!("{line}\n"))?,
            None => {}
        }
        Err(Failure::Input(message))
    }
}

fn write_in(folder: &Path, path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::io("write", folder, &error))?;
    write(path, text)
}

fn preemptions(trace: &Trace) -> usize {
    trace.steps.iter().filter(|step| step.switch == preempt_core::Switch::Preemption).count()
}

/// A verdict in the list.
fn verdict(answer: &Answer) -> String {
    let claim = &answer.claim;
    let statistics = &claim.statistics;
    let executions = statistics.executions.unwrap_or(0);
    let numbers = |orders: bool| {
        let orders = match orders {
            true => counted(statistics.states, "partial order") + ", ",
            false => String::new(),
        };
        format!("{orders}{}, {:.2} s", counted(executions, "execution"), statistics.seconds)
    };
    match claim.verdict {
        Verdict::Nothing => claim.sentence.clone(),
        Verdict::Holds if answer.threads < 2 => {
            format!("holds (no second thread, {})", numbers(false))
        }
        Verdict::Holds => format!("holds ({})", numbers(true)),
        Verdict::HoldsWithinBound(bound) => {
            format!("holds within bound {bound} ({})", numbers(true))
        }
        Verdict::Violated => {
            let needs = claim.violation.as_ref().map_or(String::new(), |violation| {
                let preemptions = counted(preemptions(&violation.trace), "preemption");
                match violation.stale {
                    Some(stale) if stale > 0 => {
                        format!("{preemptions}, {}, ", counted(stale, "stale choice"))
                    }
                    _ => format!("{preemptions}, "),
                }
            });
            format!("VIOLATED ({needs}{})", numbers(false))
        }
        Verdict::Inconclusive(stop) => {
            let bound = statistics.per_bound.iter().map(|row| row.bound).max();
            let reached = bound.map_or(String::new(), |b| format!("bound {b} complete, "));
            format!("inconclusive: {stop} ({reached}{})", numbers(false))
        }
    }
}
