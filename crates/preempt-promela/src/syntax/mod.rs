//! From text to a resolved model.

pub mod span;
