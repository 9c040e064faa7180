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
    /// Per such step: which messages it sends or receives.
    rows: Vec<Vec<usize>>,
}

impl Chart {
    fn of(trace: &Trace) -> Self {
        let messages = messages(trace);
        let mut steps: Vec<usize> =
            messages.iter().flat_map(|m| [m.sent, m.received]).flatten().map(|e| e.step).collect();
        steps.sort_unstable();
        steps.dedup();
        let mut chart = Chart { rows: vec![Vec::new(); steps.len()], messages, steps };
        for (index, message) in chart.messages.iter().enumerate() {
            let ends = [message.sent, message.received];
            for event in ends.into_iter().flatten() {
                let row = chart.steps.partition_point(|&s| s < event.step);
                if chart.rows[row].last() != Some(&index) {
                    chart.rows[row].push(index);
                }
            }
        }
        chart
    }

    /// The messages that a row sends or receives.
    fn at(&self, row: usize) -> impl Iterator<Item = &Message> {
        self.rows[row].iter().map(|&index| &self.messages[index])
    }

    fn row(&self, step: usize) -> usize {
        self.steps.partition_point(|&s| s < step)
    }
}
