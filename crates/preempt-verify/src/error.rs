//! Why there is no answer.

#[cfg(feature = "promela")]
use preempt_promela::model::Model;
#[cfg(feature = "promela")]
use preempt_promela::syntax::{diagnostic::Diagnostic, span::SourceMap};
use std::fmt;

/// A request that cannot be answered.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The request does not fit the subject: one sentence says why.
    Request(String),
    /// The source has mistakes, or asks for more than can be done.
    #[cfg(feature = "promela")]
    Promela(Box<Refusal>),
    /// The same of a Boolean program.
    #[cfg(feature = "boolean")]
    Boolean(Vec<preempt_bool::Diagnostic>),
    /// A counterexample that the reference does not confirm: a bug in preempt.
    Bug(String),
}

/// What is wrong with a model, or with a formula about it.
#[cfg(feature = "promela")]
#[derive(Debug)]
pub struct Refusal {
    /// Errors first, then warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// What the diagnostics point into.
    pub sources: SourceMap,
}

#[cfg(feature = "promela")]
impl Refusal {
    pub(crate) fn of(diagnostic: Diagnostic, model: &Model) -> Error {
        let sources = model.sources.clone();
        Error::Promela(Box::new(Refusal { diagnostics: vec![diagnostic], sources }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Request(message) => f.write_str(message),
            Error::Bug(message) => write!(f, "bug in preempt: {message}"),
            #[cfg(feature = "promela")]
            Error::Promela(refusal) => {
                let messages = refusal.diagnostics.iter().map(|found| found.message.as_str());
                f.write_str(&messages.collect::<Vec<_>>().join("; "))
            }
            #[cfg(feature = "boolean")]
            Error::Boolean(diagnostics) => {
                let messages = diagnostics.iter().map(|found| found.message.as_str());
                f.write_str(&messages.collect::<Vec<_>>().join("; "))
            }
        }
    }
}

impl std::error::Error for Error {}
