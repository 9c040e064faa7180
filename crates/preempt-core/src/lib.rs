//! The vocabulary that preempt's engines share.
//!
//! A [`System`] is anything that can be explored: processes that take [`Step`]s from state to
//! state. A [`Trace`] is one execution, step by step with its preemptions marked, a
//! [`Verdict`] what a search concluded. This crate does no IO, knows no input language and
//! depends on nothing.

mod cancel;
mod describe;
#[doc(hidden)]
pub mod engine;
mod fault;
mod footprint;
mod independence;
mod number_format;
mod observation;
mod replay;
mod step;
mod switch;
mod system;
mod trace;
mod value;
mod verdict;

pub use cancel::Cancellation;
pub use describe::Describe;
pub use fault::{Fault, FaultKind, Outcome};
pub use footprint::{Footprint, Locality, ObjectSet};
pub use independence::Independence;
#[doc(hidden)]
pub use number_format::{counted, grouped};
pub use observation::{Observations, PropositionRow, Waiting};
pub use replay::{
    ReplayError, changes_between, cost, describe_step, follow, outputs, replay, replay_until,
};
pub use step::{Enabled, ProcessId, Step};
pub use switch::{Switch, SwitchCount, classify};
pub use system::{Label, System};
pub use trace::{Change, Position, ReadsFrom, Trace, TraceStep};
pub use value::Value;
pub use verdict::{
    BoundRow, BoundUnit, Claim, Contention, Statistics, Stop, Unreached, Verdict, Violation,
    ViolationKind,
};
