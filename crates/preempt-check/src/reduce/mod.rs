//! Partial-order reduction: leaving the steps of most processes for later.
//!
//! In a state where the steps of some processes commute with all that the others can do, exploring
//! only these is enough to find every deadlock and every failing assertion, provided that no step
//! is left for later for ever: the search takes care of that (its *proviso*).
//!
//! Selections are tried in this order until one passes the search's proviso; if none does,
//! everything is explored:
//! 1. all steps of one process, by Spin's rule ([`System::is_ample`](preempt_core::System::is_ample)):
//!    the system promises that they are safe (a step on local data, a send by a channel's only
//!    sender while there is room, …). Paper: [S19] section 2, conditions C0 to C2; C3 is the proviso;
//! 2. the stubborn sets grown from one process each.
//!
//! A [`Selector`] chooses among steps that were listed; a [`Reducer`] makes the successors of a
//! selection without listing more steps than it needs. Both choose alike. [`Gain`] says when to give up.

mod ahead;
mod gain;
mod reducer;
mod selector;
mod stubborn;

pub(crate) use ahead::{Ahead, Learned, Signalled};
pub(crate) use gain::{Gain, LOOK, is_too_little, may_be_dropped};
pub(crate) use reducer::{Pick, Reducer};
pub use selector::{EVERYTHING, Selector};
