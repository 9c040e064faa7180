//! The ways to execute the program (`launch.rs` says what each is for).

use preempt_exchange::SearchOptions;

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
    /// The way to begin with: another one may turn out to be necessary.
    pub(crate) fn first(options: &SearchOptions) -> Backend {
        match options.backend {
            _ if options.debugger.is_some() => Backend::Here,
            preempt_exchange::Backend::Auto | preempt_exchange::Backend::Restart => {
                Backend::Restart
            }
            preempt_exchange::Backend::Fork => Backend::Fork,
            preempt_exchange::Backend::Threads => Backend::Threads,
        }
    }
}
