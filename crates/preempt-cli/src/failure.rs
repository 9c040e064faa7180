//! Why a command ends without a verdict.

use crate::output;
use std::fmt;
use std::process::ExitCode;

/// A command that could not do its job.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input or usage: what to say. Exit code 2.
    Input(String),
    /// Diagnostics were printed already. Exit code 2.
    Reported,
    /// A counterexample that does not replay: a bug in preempt. Exit code 101.
    Bug(String),
}

impl Failure {
    /// A file that cannot be read or written.
    pub(crate) fn io(action: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Failure::Input(format!("cannot {action} {}: {error}", path.display()))
    }

    /// Says what is wrong, and gives the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        match self {
            Failure::Input(message) => {
                output::complain(&format!("error: {message}"));
                ExitCode::from(2)
            }
            Failure::Reported => ExitCode::from(2),
            Failure::Bug(message) => {
                output::complain(&format!("bug in preempt, please report it: {message}"));
                ExitCode::from(101)
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(message) | Failure::Bug(message) => f.write_str(message),
            Failure::Reported => f.write_str("see the diagnostics above"),
        }
    }
}
