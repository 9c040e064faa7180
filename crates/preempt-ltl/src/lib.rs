//! Linear temporal logic for preempt: formulas to Büchi automata, and what reduction needs of them.
//!
//! ```
//! use preempt_ltl::{NormalForm, parse, translate, write_never};
//!
//! let parsed = parse("[](request -> <>granted)").unwrap();
//! // A checker looks for executions that satisfy the negation.
//! let violation = translate(&parsed.formula.clone().not()).unwrap();
//! assert_eq!(violation.len(), 2);
//! println!("{}", write_never(&violation, &parsed.names, "!([](request -> <>granted))"));
//!
//! // With partial-order reduction it runs the SI normal form instead.
//! let property = NormalForm::new(&violation).unwrap();
//! let mut next = Vec::new();
//! property.next(property.initial().unwrap(), 0b01, &mut next); // request, not granted
//! assert!(next.iter().any(|state| property.accepting(*state)));
//! ```
//!
//! The way of a formula: [`parse`] gives a [`Formula`] over numbered propositions; `rewrite` its
//! negation normal form; `alternating` a generalised automaton; `simulation` and `merge` make it
//! small; `degeneralize` makes it an [`Automaton`]. [`holds`] is the meaning of formulas by
//! definition, which all of this is tested against. `stutter` and `invariance` belong to \[S19\].

#![forbid(unsafe_code)]

mod alternating;
mod automaton;
mod complement;
mod components;
mod degeneralize;
mod dot;
mod error;
mod formula;
mod generalized;
mod guard;
mod hoa;
mod invariance;
mod label;
mod merge;
mod never_read;
mod never_write;
mod parse;
mod product;
mod rewrite;
mod simulation;
mod stutter;
mod translate;
mod universal;
mod word;

pub use automaton::{Automaton, Edge};
pub use complement::complement;
pub use degeneralize::degeneralize;
pub use dot::write_dot;
pub use error::Error;
pub use formula::Formula;
pub use generalized::{Generalized, MarkedEdge};
pub use hoa::{Named, read_hoa, write_hoa};
pub use invariance::{Invariance, automaton_invariance, formula_invariance};
pub use label::{Cube, Valuation};
pub use never_read::read_never;
pub use never_write::write_never;
pub use parse::{Parsed, parse};
pub use product::{disjoint, intersection, product};
pub use stutter::{Alphabet, NormalForm, PropertyState, is_normal_form, normal_form};
pub use translate::{translate, translate_both, translate_generalized};
pub use word::{Word, accepts, holds};
