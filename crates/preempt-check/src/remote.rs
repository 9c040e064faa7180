//! Searches that go on somewhere else than in this process's memory.

use crate::property::{Product, Property};
use crate::search::nested::NestedOptions;
use crate::{Budget, Finding, Options};
use preempt_core::System;

/// Looks after a search that goes on somewhere else than in [`Check`](crate::Check): on several machines, in files, on a card.
///
/// With several processes, all of them make the same calls, and get the same findings.
pub trait RemoteSearch: Send + Sync + std::fmt::Debug {
    /// Looks for what finite executions can show.
    fn safety(&self, system: &dyn System, options: &Options, budget: &mut Budget<'_>) -> Finding;

    /// The same of a system with a property beside it, for searches that do more with the two than with any system.
    fn safety_beside(
        &self,
        product: &Product<'_, dyn System + '_, dyn Property + '_>,
        options: &Options,
        budget: &mut Budget<'_>,
    ) -> Finding {
        self.safety(product, options, budget)
    }

    /// Looks for accepting cycles.
    fn cycles(
        &self,
        system: &dyn System,
        options: NestedOptions,
        budget: &mut Budget<'_>,
    ) -> Finding;

    /// Whether this process looks for simpler counterexamples; the others need not.
    fn simplifies(&self) -> bool;
}
