//! Concurrent recursive Boolean programs: what they can reach within k context switches.
//!
//! [`parse`] reads a program, [`check`] answers whether its target is reachable, [`sequentialize`]
//! prints the sequential program that the paper's translations make of it.
//!
//! ```
//! use preempt_bool::{Dialect, Options, Switches, check, parse};
//!
//! let source = "
//!     decl bool ready;
//!     void init() begin ready := F; end
//!     thread producer() begin ready := T; end
//!     thread consumer() begin assume(ready); Target: skip; end";
//! let (program, _warnings) = parse(source, "ready.bp", Dialect::Slam).unwrap();
//! let options = Options { switches: Switches::Iterate(4), ..Options::default() };
//! let report = check(&program, &options).unwrap();
//! assert_eq!(report.switches, Some(1));
//! ```
//!
//! Layers, each using only those before it:
//!
//! * `syntax`: text to trees and back, in three dialects; `pushdown`: pushdown systems as trees;
//! * `flow`: checked programs as flow graphs, without sugar;
//! * `explicit`: state by state, with stacks; `replay`: the interpreter behind every
//!   counterexample; `proof`: programs that are safe for every number of switches;
//! * `symbolic`: decision diagrams, procedure summaries, executions read off backwards;
//! * `sequentialize`: the eager and lazy translations of \[LMP09\]; `direct`: context by context
//!   without a translation; `witness`: from a schedule to statements;
//! * `certificate`: answers that a small checker can verify;
//! * `check`, `choice`: the answer, and the choice between all of them.

#![forbid(unsafe_code)]

mod certificate;
mod check;
mod choice;
#[cfg(test)]
mod crosscheck;
mod diagnostic;
mod direct;
mod engines;
mod explicit;
mod flow;
mod limits;
mod options;
mod promela;
mod proof;
mod pushdown;
mod replay;
mod sequentialize;
mod symbolic;
mod syntax;
#[cfg(test)]
mod torture;
mod witness;

pub use certificate::{Certificate, of_search as certify_search};
pub use check::{Report, check, nothing_to_check};
pub use diagnostic::{CODES, Diagnostic, Severity};
pub use explicit::{Machine, Watch};
pub use flow::{Program, parse};
pub use limits::{Limits, Progress};
pub use options::{Method, Options, Switches};
pub use promela::to_promela;
pub use pushdown::parse_pushdown;
pub use replay::{Context, observed};
pub use sequentialize::sequentialize;
pub use syntax::Dialect;
