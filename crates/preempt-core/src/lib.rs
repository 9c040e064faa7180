//! The words that preempt's engines share.
//!
//! A [`System`] is anything that can be explored: processes that take [`Step`]s from state to
//! state. A [`Trace`] is one execution told step by step with its preemptions marked, a
//! [`Verdict`] what a search concluded. This crate does no IO, knows no input language and
//! depends on nothing.

mod asleep;
mod cancel;
mod compact;
mod fault;
mod footprint;
mod replay;
mod step;
mod switch;
mod system;
mod trace;
mod vector;
mod verdict;
mod words;

pub use asleep::Asleep;
pub use cancel::Cancellation;
pub use compact::{Few, Lead, Leads};
pub use fault::{Fault, FaultKind, Outcome};
pub use footprint::{Footprint, Locality, ObjectSet};
pub use replay::{ReplayError, changes_between, cost, replay, tell};
pub use step::{Enabled, ProcessId, Step};
pub use switch::{Switch, SwitchCount, classify};
pub use system::{AsSystem, Label, Successors, System};
pub use trace::{Change, Position, ReadsFrom, Trace, TraceStep, Value};
pub use vector::{Difference, Vector, part};
pub use verdict::{
    BoundRow, Claim, NOTHING_TO_CHECK, Statistics, Stop, Unreached, Verdict, Violation,
    ViolationKind,
};
pub use words::grouped;
