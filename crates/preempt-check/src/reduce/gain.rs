//! Whether reduction is worth its time.
//!
//! A reduced search takes three to four times as long per state as one that is not, and where every selection turns out to
//! need all steps, that is for nothing. So after the first tens of thousands of states a search looks at how many
//! of them were expanded by less than all their steps. If these are next to none it ends, and another one begins
//! without reduction, which is always right.
//!
//! Invariant: searches with fewer states never see this.

use crate::{Compatibility, Options, Preemptions, Reduction, Search};

/// So many states are looked at.
pub(crate) const LOOK: usize = 1 << 15;
/// One state of so many must have been expanded by less than all its steps.
const ONE_OF: usize = 256;

/// Counts what reduction is good for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gain {
    watches: bool,
    /// States expanded by a selection.
    reduced: usize,
}

impl Gain {
    pub(crate) fn new(options: &Options) -> Self {
        Gain { watches: may_be_dropped(options), reduced: 0 }
    }

    /// A state is expanded by a selection.
    #[inline(always)]
    pub(crate) fn count(&mut self) {
        self.reduced += 1;
    }

    /// It is expanded by all its steps after all.
    #[inline(always)]
    pub(crate) fn uncount(&mut self) {
        self.reduced = self.reduced.saturating_sub(1);
    }

    /// States expanded by a selection since this was asked before.
    pub(crate) fn take(&mut self) -> usize {
        std::mem::take(&mut self.reduced)
    }

    /// Whether the search should end after so many states and begin anew without reduction.
    #[inline(always)]
    pub(crate) fn is_none(&self, states: usize) -> bool {
        self.watches && states == LOOK && is_too_little(self.reduced, states)
    }
}

/// Whether so few states are expanded by a selection that it does not pay.
pub(crate) fn is_too_little(reduced: usize, states: usize) -> bool {
    reduced < states / ONE_OF
}

/// Whether a search may begin anew without reduction: if nothing depends on its order and it must not follow Spin's rules.
pub(crate) fn may_be_dropped(options: &Options) -> bool {
    options.reduction != Reduction::None
        && options.search == Search::Auto
        && options.preemptions == Preemptions::Any
        && options.compatibility == Compatibility::None
        && options.swarm.is_none()
        && options.depth.is_none()
}
