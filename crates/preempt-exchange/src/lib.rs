//! What preempt and the library in a program under test tell each other.
//!
//! `preempt run` and `preempt cargo` start a program with a [`Request`] in one environment variable; the library in the
//! program searches its own executions and leaves a [`Found`] in a file. Both travel as JSON, and both sides use
//! these types: there is no second description of an option or of a field of the report.
//!
//! **Invariant:** this crate holds data and its names only. It decides nothing, and needs nothing but `serde`, because it is
//! compiled into every program under test.

#![forbid(unsafe_code)]

mod options;
mod quantity;
mod records;
mod report;

pub use options::{
    Backend, Memory, Pauses, References, Request, Search, SearchOptions, Std, VARIABLE,
};
pub use quantity::{parse_threads, parse_time};
pub use report::{
    Access, Call, Event, Evidence, Found, Halt, Kind, Module, Other, Panic, Place, Row, Source,
    Standing, Stronger, Thread, Trouble, Waits,
};
