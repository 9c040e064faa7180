//! What a search is that draws executions at random, for whoever writes another one.

use crate::store::Store;
use crate::{Budget, Finding, Options};
use preempt_core::System;

/// A search that draws executions from a seed. It stores the states it meets, so that its coverage can be compared
/// with that of others, and ends as [`Stop::Sampling`](preempt_core::Stop::Sampling) unless it finds a violation.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Its name.
    pub name: &'static str,
    pub(crate) run: fn(&dyn System, &mut dyn Store, u64, &Options, &mut Budget) -> Finding,
}

impl PartialEq for Sampler {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Sampler {}
