//! How far a search is, for a driver that shows it: a line in a file beside the report, from time to time.

use crate::runtime::runtime;
use preempt_explore::Statistics;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(200);

/// Writes how many executions there were, and the last bound that is finished.
pub(crate) fn tell(statistics: &Statistics) {
    let now = Instant::now();
    let last = runtime().progress_told.get_or_insert(now);
    if now.saturating_duration_since(*last) < EVERY {
        return;
    }
    *last = now;
    let path = format!("{}.progress", runtime().report);
    let bound = match statistics.rows.last() {
        Some(row) => format!(" {} {}", row.stale, row.preemptions),
        None => String::new(),
    };
    // A driver that reads half of it reads the next one.
    let _ = std::fs::write(path, format!("{}{bound}\n", statistics.executions));
}
