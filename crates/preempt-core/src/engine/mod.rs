//! The interface between engines and systems. It is internal: not part of the stable interface of the crate.
//!
//! A search asks a system for successors by a [`Request`] (which steps) and a [`Sink`] (where they go):
//! 1. `request.rs`: the two, and what a system answers.
//! 2. `successors.rs`: lists of successors in a layout that machine code can write.
//! 3. `vector.rs`: a state that is changed step by step and back, with a hash that follows.
//! 4. `sleep_set.rs`: processes whose steps need not be taken, and why nothing is lost.
//!
//! What a system cannot do quickly [`System::successors`](crate::System::successors) does one step after the other.

mod request;
mod sleep_set;
mod successors;
mod vector;

pub use crate::system::{AsSystem, by_steps};
pub use request::{Answer, ProcessSelection, Request, Sink};
pub use sleep_set::SleepSet;
pub use successors::{Scratch, SuccessorHeader, SuccessorList, Successors};
pub use vector::{Difference, Vector, part};
