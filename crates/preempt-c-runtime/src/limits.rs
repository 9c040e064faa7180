//! The limits that `preempt run` asks for, for a search that begins now.

use crate::runtime::runtime;
use preempt_explore::Limits;
use std::time::{Duration, Instant};

pub(crate) fn limits(begin: Instant) -> Limits {
    let options = &runtime().options;
    Limits {
        bound: options.bound,
        stale: options.stale,
        deadline: options.nanoseconds.map(|time| begin + Duration::from_nanos(time)),
        executions: options.executions,
        steps: options.steps,
        states: options.states,
        stop: Some(runtime().stop.clone()),
        ..Limits::default()
    }
}
