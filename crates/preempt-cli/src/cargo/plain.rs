//! A test that does what cannot be searched, but makes no thread: run once, as it is.

use preempt_core::{Claim, Statistics, Verdict, Violation, ViolationKind};
use preempt_run::Options;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names the file by which the runtime tells that a thread was made.
const THREADS_FILE: &str = "PREEMPT_THREADS_FILE";

/// What the run came to; `None` if the test makes threads after all, or does not end in time.
pub(super) fn run(options: &Options, property: &str) -> Option<Claim> {
    let folder = tempfile::tempdir().ok()?;
    let made = folder.path().join("threads");
    let begin = Instant::now();
    let mut command = Command::new(&options.program);
    command.args(&options.arguments);
    if let Some(folder) = &options.folder {
        command.current_dir(folder);
    }
    if let Some(variables) = &options.variables {
        command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    }
    command.env(THREADS_FILE, &made).stdin(Stdio::null());
    command.stdout(if options.search.shows_output() { Stdio::inherit() } else { Stdio::null() });
    let mut child = command.stderr(Stdio::piped()).spawn().ok()?;
    let pipe = child.stderr.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        // What is not text is not shown.
        let _ = pipe.take(1 << 20).read_to_string(&mut text);
        text
    });
    let deadline = begin + options.search.time.unwrap_or(super::search::TIME);
    let status = loop {
        if let Some(status) = child.try_wait().ok()? {
            break status;
        }
        if Instant::now() >= deadline || made.exists() {
            child.kill().ok()?;
            child.wait().ok()?;
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if made.exists() {
        return None;
    }
    let text = reader.join().unwrap_or_default();
    let failed =
        !status.success() && (options.search.exit_code || status.code().is_none_or(|c| c == 101));
    let said: Vec<&str> = text.lines().map(str::trim).collect();
    let said = said.into_iter().filter(|line| !line.is_empty() && !line.starts_with("note: "));
    let message = match said.collect::<Vec<_>>().join(", ") {
        nothing if nothing.is_empty() => format!("the test fails ({status})"),
        said => said,
    };
    let verdict = if failed { Verdict::Violated } else { Verdict::Holds };
    let violation = failed.then(|| Violation {
        kind: ViolationKind::Assertion,
        message: message.clone(),
        file: String::new(),
        line: 0,
        trace: preempt_core::Trace::default(),
        simplest: true,
        stale: None,
    });
    let sentence = match failed {
        true => message,
        false => "holds: it makes no thread, and was run once, as it is".into(),
    };
    Some(Claim {
        property: property.into(),
        verdict,
        sentence,
        violation,
        statistics: Statistics {
            executions: Some(1),
            states: 1,
            errors: u64::from(failed),
            complete: true,
            seconds: begin.elapsed().as_secs_f64(),
            ..Statistics::default()
        },
        unreached: Vec::new(),
        notes: vec!["it reaches outside of the process, so it was not searched".into()],
    })
}
