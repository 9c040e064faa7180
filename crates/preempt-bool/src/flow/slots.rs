//! Threads that are started at places that may run more than once: each takes one of a few slots.

use crate::syntax::ast::*;

/// What the places that may run more than once share.
#[derive(Default)]
pub(super) struct Slots {
    /// How many slots are filled.
    pub(super) count: Option<String>,
    /// Per slot, the variable that says which place filled it; 0 is none.
    pub(super) filled_by: Vec<String>,
    pub(super) places: Vec<Place>,
}

pub(super) struct Place {
    pub(super) callee: Name,
    /// Labels of the call.
    pub(super) labels: Vec<Name>,
    /// Per slot, the variables with the arguments.
    pub(super) variables: Vec<Vec<String>>,
}
