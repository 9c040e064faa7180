//! The ways to execute the program (`launch.rs` says what each is for).

/// One of the ways to execute the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backend {
    /// In this process, again and again.
    Restart,
    /// In a forked process each.
    Fork,
    /// In a forked process each, on real threads.
    Threads,
    /// Once, in this process, under a debugger.
    Here,
}

impl Backend {
    pub(crate) fn named(name: &str) -> Option<Backend> {
        [Backend::Restart, Backend::Fork, Backend::Threads, Backend::Here]
            .into_iter()
            .find(|backend| backend.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Backend::Restart => "restart",
            Backend::Fork => "fork",
            Backend::Threads => "threads",
            Backend::Here => "here",
        }
    }
}
