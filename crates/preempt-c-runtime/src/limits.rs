//! The limits that `preempt run` asks for, for a search that begins now.

use crate::runtime::runtime;
use preempt_explore::Limits;
use std::time::Instant;

/// The most states of a search: more would not fit into its heap.
const STATES: usize = 4_000_000;

pub(crate) fn limits(begin: Instant) -> Limits {
    let options = &runtime().options;
    Limits {
        bound: options.most_preemptions(),
        stale: options.stale,
        deadline: options.time.and_then(|time| begin.checked_add(time)),
        executions: options.executions.unwrap_or(u64::MAX),
        steps: options.most_steps(),
        states: STATES,
        stop: Some(runtime().stop.clone()),
        ..Limits::default()
    }
}
