//! Threads, with the shapes of `std::thread`.

mod handle;
mod local;
mod scope;

pub use handle::{Builder, JoinHandle, Thread, ThreadId, current, spawn};
pub use local::{AccessError, LocalKey};
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use std::thread::{Result, available_parallelism, panicking};

use crate::rt;
use preempt_explore::{Action, Operation};
use std::panic::Location;
use std::time::Duration;

/// Lets other threads run. A thread that has changed nothing since its last yield continues only
/// when something it has read changes, so loops that wait for others end.
#[track_caller]
pub fn yield_now() {
    match rt::current() {
        Some(runtime) => rt::yield_now(runtime, Location::caller()),
        None => std::thread::yield_now(),
    }
}

/// Lets virtual time pass, and other threads run. As after [`yield_now`], a loop that waits for others by sleeping goes on
/// when something it has read changes, and one that looks at the clock when time has passed.
#[track_caller]
pub fn sleep(time: Duration) {
    match rt::current() {
        Some(runtime) => {
            rt::pass(time);
            rt::yield_now(runtime, Location::caller());
        }
        None => std::thread::sleep(time),
    }
}

/// Waits for a token from [`Thread::unpark`].
#[track_caller]
pub fn park() {
    park_for(None, Location::caller());
}

/// Waits for a token for a limited time. Both outcomes are explored.
#[track_caller]
pub fn park_timeout(limit: Duration) {
    park_for(Some(limit), Location::caller());
}

fn park_for(limit: Option<Duration>, site: &'static Location<'static>) {
    match (rt::current(), limit) {
        (Some(runtime), _) => {
            let token = runtime.token();
            let timed = if limit.is_some() { 1 } else { Operation::SPURIOUS };
            let out = rt::operation(runtime, Action::TakeToken, token, 0, timed, site);
            if let (1, Some(limit)) = (out, limit) {
                rt::pass(limit);
            }
        }
        (None, None) => std::thread::park(),
        (None, Some(limit)) => std::thread::park_timeout(limit),
    }
}
