//! Tasks: `std::task`. What they wait for is explored by [`future`](crate::future).

pub use std::task::*;
