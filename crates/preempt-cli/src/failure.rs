//! Why a command ends without a verdict.

use crate::near;
use std::fmt;

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
        let is_missing = action == "read" && error.kind() == std::io::ErrorKind::NotFound;
        let hint = if is_missing { near::hint(path) } else { String::new() };
        Failure::Input(format!("cannot {action} {}: {error}{hint}", path.display()))
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
