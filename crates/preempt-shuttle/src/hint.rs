//! Hints, with the shapes of `std::hint`.

pub use preempt::hint::{black_box, spin_loop};
