//! Message sequence charts: a lifeline per process, an arrow per message.
//!
//! Rows are the steps in which something is sent or received, in the order of the trace. A
//! rendezvous is a level arrow; a message through a buffer leaves at one row and arrives at a later
//! one, or never.

mod svg;
mod terminal;

pub use svg::svg;
pub use terminal::terminal;

use crate::{Message, messages};
use preempt_core::Trace;

/// The messages of a trace and the steps that matter to them.
struct Chart {
    messages: Vec<Message>,
    /// Indices of the steps that send or receive, ascending.
    steps: Vec<usize>,
}

impl Chart {
    fn of(trace: &Trace) -> Self {
        let messages = messages(trace);
        let mut steps: Vec<usize> =
            messages.iter().flat_map(|m| [m.sent, m.received]).flatten().map(|e| e.step).collect();
        steps.sort_unstable();
        steps.dedup();
        Chart { messages, steps }
    }

    fn row(&self, step: usize) -> usize {
        self.steps.partition_point(|&s| s < step)
    }
}
