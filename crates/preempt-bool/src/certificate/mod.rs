//! Certificates: an answer about a program in a form that a small checker can verify.
//!
//! A certificate for *holds* lists states that no execution leaves and of which none is a target: an
//! inductive invariant. A certificate for *violated* lists the states of one execution that ends at a
//! target. `check` verifies both and shares nothing with the engines but the flow graphs; `make` writes
//! down what the engines know. A certificate is checked before it is given out.
//!
//! The file is JSON without spaces. What is read must be what would be written: a certificate that was
//! changed anywhere is either not readable or says something else.

mod check;
mod make;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use make::of_search;
pub(crate) use make::{execution, of_verdict};

/// The format that is written and read.
const FORMAT: u32 = 1;

/// More threads than any answer is about.
const MOST_THREADS: usize = 64;

/// An answer that can be verified.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    preempt_certificate: u32,
    /// How the text of a program is read; pushdown systems have no dialects.
    pub dialect: Option<String>,
    /// The label or configuration that should not be reached, if one was named.
    pub target: Option<String>,
    /// How many threads stand for those that a program starts without end.
    instances: Option<usize>,
    says: Says,
}

/// What a certificate claims.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Says {
    /// No execution reaches a target, with any number of context switches.
    Holds {
        /// The states of `init`, which runs alone before the threads.
        init: Invariant,
        /// The states of the threads.
        threads: Invariant,
    },
    /// The states of an execution, one after the other, up to a target.
    Violated { init: Vec<State>, threads: Vec<State> },
}

/// States that no step leaves.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Invariant {
    states: Vec<State>,
    calls: Vec<Call>,
}

/// Values of the shared variables, and the threads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct State(Vec<u32>, Vec<Thread>);

/// Values of a thread's own variables, and its stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Thread(Vec<u32>, Stack);

/// Frames, the running one first, and the call below which the stack was cut. A thread that has ended has
/// neither.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Stack(Vec<Frame>, Option<usize>);

/// Function, the node of the running frame or the call edge of one that waits, and local variables.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Frame(usize, usize, Vec<u32>);

/// What is remembered of a call below which stacks are cut: how it began, and every stack that waits for
/// it. When it returns, any of them may go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    began: Beginning,
    waiting: Vec<Stack>,
}

/// Thread, function, values passed, and the shared and the thread's own variables at the time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Beginning(usize, usize, Vec<u32>, Vec<u32>, Vec<u32>);

impl Certificate {
    /// Reads a certificate.
    pub fn from_json(text: &str) -> Result<Certificate, String> {
        let wrong = |error: serde_json::Error| format!("this is not a certificate: {error}");
        let read: Certificate = serde_json::from_str(text).map_err(wrong)?;
        if read.instances.is_some_and(|threads| threads > MOST_THREADS) {
            return Err(format!("the certificate speaks of more than {MOST_THREADS} threads"));
        }
        match read.preempt_certificate {
            FORMAT if read.to_json() == text => Ok(read),
            FORMAT => Err("the certificate is damaged: it is not as it was written".into()),
            other => {
                Err(format!("the certificate has format {other}; this program reads {FORMAT}"))
            }
        }
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        // Numbers, strings and lists can always be written.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// The same certificate about a text that is read in this dialect, with this target.
    pub fn about(mut self, dialect: Option<&str>, target: Option<&str>) -> Certificate {
        self.dialect = dialect.map(Into::into);
        self.target = target.map(Into::into);
        self
    }

    /// How many states it lists.
    pub fn len(&self) -> usize {
        match &self.says {
            Says::Holds { init, threads } => init.states.len() + threads.states.len(),
            Says::Violated { init, threads } => init.len() + threads.len(),
        }
    }

    /// Whether it lists no state.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn new(says: Says, instances: Option<usize>) -> Certificate {
        Certificate { preempt_certificate: FORMAT, dialect: None, target: None, instances, says }
    }
}
