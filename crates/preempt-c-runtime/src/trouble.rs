//! What the runtime itself finds wrong with an execution.

/// What kind of thing. The names are those of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `assert` failed.
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
}

impl Trouble {
    pub(crate) fn new(kind: Kind, pc: usize, message: impl Into<String>) -> Self {
        Trouble { kind, message: message.into(), pc, other: None }
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
