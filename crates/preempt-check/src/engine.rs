//! What searches are made of, for crates that bring searches of their own (`preempt-partitioned`).
//!
//! Users of the library do not need it, and it changes with the searches of this crate.

pub use crate::reduce::{EVERYTHING, Selector};
pub use crate::search::bounded::least_preemptions::{
    LARGEST_BOUND, LeastPreemptions, StateRecord, Visit, fits_record,
};
pub use crate::search::shared::atomic_sequence::last_mover;
pub use crate::search::shared::events::Events;
pub use crate::search::shared::expansion::{Expander, Watch};
pub use crate::search::shared::statistics::Counters;
pub use crate::search::shared::trace::first_way;
pub use crate::search::shared::visit_rule::{Due, Turn, turn};
