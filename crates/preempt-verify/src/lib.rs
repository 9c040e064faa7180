//! From a request to claims: the one door to preempt's engines.
//!
//! A caller says what to check ([`Request`]) and keeps a hand on the work ([`Control`]: a deadline, a
//! flag that ends it, a listener for progress). It gets back claims: a verdict, a sentence that says
//! what it guarantees, numbers, and for a violation the trace. Which automaton, which reduction and
//! which search that takes is decided here, so that the command line, a page, an editor or a test all get
//! the same answer. **Nothing here writes to a terminal or opens a file.**
//!
//! | subject | door |
//! |---|---|
//! | Promela | [`promela::select`], [`promela::Checker`], or [`verify_promela`] for all properties of a text |
//! | Boolean programs, pushdown systems | [`boolean::check`] |
//! | models in Rust ([`preempt_model::Model`]) | [`verify_model`] |
//!
//! ```
//! use preempt_core::Verdict;
//! use preempt_verify::{Control, Preemptions, Request, verify_promela};
//!
//! let model = "
//!     byte counter, done;
//!     active [2] proctype adder() { byte seen; seen = counter; counter = seen + 1; done++ }
//!     active proctype judge() { done == 2 -> assert(counter == 2) }
//! ";
//! let request = Request { preemptions: Preemptions::AtMost(0), ..Request::default() };
//! let claims = verify_promela("lost_update.pml", model, &request, &Control::new())?;
//! assert_eq!(claims[0].verdict, Verdict::HoldsWithinBound(0));
//!
//! let claims = verify_promela("lost_update.pml", model, &Request::default(), &Control::new())?;
//! assert_eq!(claims[0].verdict, Verdict::Violated);
//! let violation = claims[0].violation.as_ref().expect("a violation has a trace");
//! assert_eq!(violation.trace.cost().preemptions, 1);
//! # Ok::<(), preempt_verify::Error>(())
//! ```

#![forbid(unsafe_code)]

mod assertions;
#[cfg(feature = "boolean")]
pub mod boolean;
mod confirm;
mod control;
mod cycles;
mod endless;
mod engine;
mod error;
mod models;
#[cfg(feature = "promela")]
pub mod promela;
mod question;
mod request;
mod safety;
#[cfg(feature = "promela")]
mod watchdog;

pub use control::{Control, Event};
pub use error::Error;
#[cfg(feature = "promela")]
pub use error::Refusal;
pub use models::verify_model;
pub use preempt_check::{
    Compatibility, Phase, Plan, Preemptions, Progress, Reduction, Search, Storage,
};
pub use request::Request;

#[cfg(feature = "promela")]
use preempt_core::Claim;

/// Checks all properties of a Promela model: its `ltl` blocks and never claims, or, if it has none,
/// assertions and ends. One claim for each.
#[cfg(feature = "promela")]
pub fn verify_promela(
    name: &str,
    text: &str,
    request: &Request,
    control: &Control<'_>,
) -> Result<Vec<Claim>, Error> {
    let mut model = promela::read(name, text)?;
    let selected = promela::select(&mut model, &promela::Selection::default())?;
    let settings = promela::Settings::default();
    let checker = promela::Checker { model: &model, settings: &settings, request, control };
    selected.into_iter().map(|property| Ok(checker.check(property)?.claim)).collect()
}
