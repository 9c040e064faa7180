//! What the runtime itself finds wrong with an execution.

use crate::task::Frames;
use preempt_explore::ThreadId;

/// What kind of thing. The names are those of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `assert` failed, or a Rust test or program ends by a panic.
    Assertion,
    /// `abort` was called, also by an exception that nobody catches.
    Abort,
    /// A signal that ends the program.
    Signal,
    /// Memory was used after it was freed.
    UseAfterFree,
    /// Memory was freed twice.
    DoubleFree,
    /// Memory was never freed.
    Leak,
    /// The program ended with an exit code other than 0.
    ExitCode,
    /// A synchronisation object was used in a way that is undefined.
    Misuse,
    /// A thread computes without end.
    Livelock,
    /// The program does something that is not modelled.
    Unsupported,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Assertion => "assertion",
            Kind::Abort => "abort",
            Kind::Signal => "signal",
            Kind::UseAfterFree => "use_after_free",
            Kind::DoubleFree => "double_free",
            Kind::Leak => "leak",
            Kind::ExitCode => "exit_code",
            Kind::Misuse => "misuse",
            Kind::Livelock => "livelock",
            Kind::Unsupported => "unsupported",
        }
    }
}

/// A place in the source, where the program itself knows it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u32,
}

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
