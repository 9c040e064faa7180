//! Promela, as Spin 6.5.2 understands it.
//!
//! Text goes through [`syntax`] (preprocessor, lexer, parser, name and type checker) and becomes a
//! resolved [`model::Model`]; the `ir` module lowers it to guarded moves per control state, which
//! the reference interpreter executes.

#![forbid(unsafe_code)]

pub mod embedded;
pub mod interpret;
pub mod ir;
pub mod model;
pub mod syntax;
