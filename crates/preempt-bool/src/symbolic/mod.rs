//! Sets of states as decision diagrams.

pub(crate) mod code;
pub(crate) mod compile;
pub(crate) mod diagram;
mod effects;
pub(crate) mod engine;
pub(crate) mod levels;
pub(crate) mod walk;
