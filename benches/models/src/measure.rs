//! Runs a command and measures what it takes. Processor time is what is compared: on a machine that
//! does other things as well, the time on the clock measures these others.

use anyhow::{Context, Result};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

/// What a finished command took.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) output: String,
    /// Seconds of processor time, user and system.
    pub(crate) processor: f64,
    pub(crate) status: ExitStatus,
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Result<Measured> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let mut output = Vec::new();
    if let Some(stdout) = &mut child.stdout {
        std::io::Read::read_to_end(stdout, &mut output)?;
    }
    let mut status = 0;
    // SAFETY: a structure of numbers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: waits for the child that was just started; nothing else waits for it.
    let waited = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) };
    anyhow::ensure!(waited > 0, "the child is gone");
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Ok(Measured {
        output: String::from_utf8_lossy(&output).into_owned(),
        processor: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        status: ExitStatus::from_raw(status),
    })
}

/// Runs a command several times and keeps the quickest.
pub(crate) fn best_of(times: u32, mut command: impl FnMut() -> Command) -> Result<Measured> {
    let mut best: Option<Measured> = None;
    for _ in 0..times {
        let measured = run(&mut command())?;
        if best.as_ref().is_none_or(|best| measured.processor < best.processor) {
            best = Some(measured);
        }
    }
    best.context("nothing was run")
}

/// Processor time of this process so far, in seconds.
pub(crate) fn own_processor_time() -> f64 {
    // SAFETY: as above.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: writes into the structure that it is given.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
