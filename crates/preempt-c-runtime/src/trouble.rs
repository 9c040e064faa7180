//! What the runtime itself finds wrong with an execution.

use crate::task::Frames;
pub(crate) use preempt_exchange::{Kind, Place};
use preempt_explore::ThreadId;

/// Something that ends an execution.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: Kind,
    /// One sentence.
    pub(crate) message: String,
    /// Where in the program.
    pub(crate) pc: usize,
    /// Another place that the sentence ends with, such as that of the `free`, and its role.
    pub(crate) other: Option<(&'static str, usize)>,
    /// The place where it is not that of `pc`.
    pub(crate) place: Option<Place>,
    /// The calls that led there, where places are kept.
    pub(crate) frames: Frames,
}

impl Trouble {
    pub(crate) fn new(kind: Kind, pc: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Trouble { kind, message, pc, other: None, place: None, frames: Frames::default() }
    }

    /// A call that cannot be executed under control.
    pub(crate) fn unsupported(pc: usize, message: impl Into<String>) -> Self {
        Trouble::new(Kind::Unsupported, pc, message)
    }

    /// Whether the program is to blame, as opposed to a limit of ours.
    pub(crate) fn is_program_s(&self) -> bool {
        self.kind != Kind::Unsupported
    }
}

/// Where an execution stood when it was left.
pub(crate) struct Standing {
    /// How many steps it had made.
    pub(crate) steps: usize,
    pub(crate) pc: usize,
    /// The calls that led there, the innermost first.
    pub(crate) frames: Frames,
}

/// A panic of a Rust program, which need not end the execution.
pub(crate) struct Panic {
    pub(crate) thread: ThreadId,
    pub(crate) message: String,
    pub(crate) place: Place,
    /// The calls that led to it, the innermost first.
    pub(crate) frames: Frames,
}

impl Panic {
    pub(crate) fn trouble(&self) -> Trouble {
        let trouble = Trouble::new(Kind::Assertion, 0, self.message.clone());
        Trouble { place: Some(self.place.clone()), ..trouble }
    }
}
