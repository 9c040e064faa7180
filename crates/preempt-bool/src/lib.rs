//! Concurrent recursive Boolean programs.
#![allow(dead_code)]
mod check;
mod diagnostic;
mod direct;
mod explicit;
mod flow;
mod limits;
mod promela;
mod proof;
mod replay;
mod sequentialize;
mod symbolic;
mod syntax;
mod witness;
pub use check::{Method, Options, Report, Switches, check};
pub use diagnostic::{CODES, Diagnostic, Severity};
pub use explicit::Machine;
pub use flow::{Program, parse};
pub use limits::{Limits, Progress};
pub use promela::to_promela;
pub use replay::Context;
pub use sequentialize::sequentialize;
pub use syntax::Dialect;

#[cfg(test)]
mod torture;
