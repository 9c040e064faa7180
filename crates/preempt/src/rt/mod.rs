//! The runtime: real code on coroutines, one visible operation at a time.
//!
//! Every thread of the program under test is a coroutine on one operating system thread. A
//! thread runs until it stands before a visible operation, [`operation()`] asks the strategy which
//! thread goes next, and only if that is another thread does the processor change hands.
//!
//! An execution that is stopped is never unwound: it runs on to its end unobserved, or is
//! abandoned (see `Runtime::conclude`).
//!
//! Invariant: `CURRENT` is set exactly while code of the program under test runs, so facade types
//! used anywhere else behave like those of the standard library.

mod addresses;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod arena;
mod cells;
pub(crate) mod counts;
mod creation_log;
mod creations;
mod ends;
mod execute;
mod fiber;
mod fingerprint;
pub(crate) mod foreign;
mod heap;
mod local;
mod operation;
mod overflow;
mod panic;
pub(crate) mod raw_tags;
mod registry;
mod runtime;
mod slot;
mod spawn;
mod spinning;
mod stacks;
mod static_data;
mod statics;
mod time;
mod trouble;
mod unwinding;

pub(crate) use addresses::{follows_addresses, inward, outward};
pub(crate) use cells::{
    Access, add_sender, fence, has_failed, keep_offers, note_failures, note_recursion, touch,
    touch_atomic, touch_end, weaken,
};
pub(crate) use creation_log::Initial;
pub(crate) use ends::has_ended;
pub(crate) use fingerprint::Frame;
pub use heap::Allocator;
pub(crate) use local::{Local, local};
pub(crate) use operation::{operation, perform, yield_now};
pub(crate) use overflow::Callee;
pub(crate) use registry::{Knowledge, Shown};
pub(crate) use runtime::{Runtime, current, is_controlled};
pub(crate) use slot::{Slot, lend, take_back};
pub(crate) use spawn::{Body, payload_of, spawn};
pub(crate) use static_data::data;
pub use statics::Static;
pub(crate) use statics::per_execution;
pub(crate) use time::{now, pass};
pub(crate) use trouble::{MemoryError, PanicNote, Trouble};
