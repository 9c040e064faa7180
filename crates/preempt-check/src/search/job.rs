//! A search that is to be made.

use crate::{Budget, Options};

/// What is searched, how, and within which limits.
pub(crate) struct Job<'a, 'b, S: ?Sized> {
    pub(crate) system: &'a S,
    pub(crate) options: &'a Options,
    pub(crate) budget: &'a mut Budget<'b>,
}

impl<'b, S: ?Sized> Job<'_, 'b, S> {
    /// The same, for a part of the work.
    pub(crate) fn reborrow(&mut self) -> Job<'_, 'b, S> {
        Job { system: self.system, options: self.options, budget: self.budget }
    }
}
