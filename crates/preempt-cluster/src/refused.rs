//! Why something is not done, for people.

/// Why a process does not take part, in one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
