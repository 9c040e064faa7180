//! The paths and names of shuttle, over preempt.
