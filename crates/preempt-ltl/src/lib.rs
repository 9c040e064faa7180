//! Linear temporal logic for preempt: formulas to Büchi automata.

mod alternating;
mod automaton;
mod degeneralize;
mod error;
mod formula;
mod generalized;
mod label;
mod merge;
mod parse;
mod rewrite;
mod simulation;
mod translate;
mod word;

pub use automaton::{Automaton, Edge, disjoint, intersection, product};
pub use degeneralize::degeneralize;
pub use error::Error;
pub use formula::Formula;
pub use generalized::{Generalized, MarkedEdge};
pub use label::{Cube, Valuation};
pub use parse::{Parsed, parse};
pub use translate::{translate, translate_both, translate_generalized};
pub use word::{Word, accepts, holds};
