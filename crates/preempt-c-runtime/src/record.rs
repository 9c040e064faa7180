//! What an execution keeps for its report, if it keeps its steps.

use crate::task::{CallSite, Frames};

/// One step of an execution that keeps its steps.
#[derive(Clone, Default)]
pub(crate) struct Recorded {
    pub(crate) call_site: CallSite,
    pub(crate) frames: Frames,
    /// The call that it belongs to, as an index into the calls of the execution.
    pub(crate) call: Option<usize>,
}

/// What one execution keeps for its report.
#[derive(Clone, Default)]
pub(crate) struct Record {
    pub(crate) steps: Vec<Recorded>,
    pub(crate) calls: Vec<Call>,
}

/// A call.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) text: String,
    /// What it returned, if it did.
    pub(crate) result: Option<isize>,
}

impl Record {
    /// An execution begins.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.calls.clear();
    }
}
