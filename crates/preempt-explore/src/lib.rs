//! Systematic exploration of controlled executions.
//!
//! A program under test is anything that implements [`Program`]: it can be executed again and
//! again, tells its [`Run`] about every visible [`Operation`], and lets a [`Driver`] decide which
//! thread moves. A strategy explores its executions in a [`Session`] and leaves a [`Statistics`]: how
//! many happens-before graphs there are, with how many preemptions, and the first failure.
//!
//! This crate knows threads, objects, actions and schedules. It knows no coroutine and no
//! standard library facade; those live in the crate `preempt`.

#![forbid(unsafe_code)]

mod ahead;
pub mod caching;
mod clock;
mod cuts;
pub mod delay;
pub mod forward;
mod histories;
mod identity;
mod ids;
pub mod iterative;
mod loops;
mod message_clocks;
mod mix;
mod mutation;
mod operation;
pub mod optimal;
pub mod partial_order;
mod patience;
pub mod pct;
mod race;
pub mod random;
mod remedy;
mod run;
mod run_along;
pub mod sampling;
mod schedule;
mod segment;
mod segment_table;
mod session;
mod simplify;
pub mod sleep_sets;
mod state;
mod virtual_time;
mod weak;
mod worker_pool;

#[cfg(test)]
mod litmus;
#[cfg(test)]
mod random_programs;
#[cfg(test)]
mod random_worker_pools;

pub use cuts::Cut;
pub use identity::Names;
pub use ids::{ObjectId, ThreadId};
pub use operation::{Action, Deadline, Move, Operation, Order, POINTER, Site, Update};
pub use race::{Access, Race};
pub use remedy::remedies;
pub use run::{Command, Driver, Ending, Event, Mismatch, Program, Run};
pub use schedule::{Replay, Schedule, ScheduleError, without_preemption};
pub use segment::{Effect, Next, Segment};
pub use session::{Finding, Halt, Limits, Row, Session, Statistics, Terminal};
pub use simplify::simplify;
pub use state::{Channel, ExecutionState, Object, Rules, Status, Thread};
pub use weak::Source;
pub use worker_pool::{
    Observations, RunReport, WorkerHandle, WorkerPool, Workers, WorkersLost, execute, serve,
};
