//! Weak memory: which write an atomic access may read, and where a store may stand.
//!
//! The model is RC11 with the release sequences of C++20. Its consistency is closed under prefixes, and
//! program order together with reads-from has no cycle, so every consistent execution can be built
//! forwards: pick a thread, append its next event, for a load pick the write it reads, for a store its
//! place in modification order. A *stale choice* is one that is not what an interleaving would do: to
//! read another write than the newest, to store behind the newest, or to let a `compare_exchange_weak`
//! fail for no reason.
//!
//! What an event may do is decided here for the moment at which it is appended:
//! * coherence: a thread reads nothing older, and stores nothing before, what is accessed in its
//!   happens-before past (the *floor*);
//! * atomicity: a read-modify-write reads a write that no other one reads, and stands right behind it;
//! * the order of sequentially consistent events, in `psc.rs`.
//!
//! Invariant: an event without a stale choice is always consistent, because nothing comes after it: no
//! event reads from it, is newer, or happens after it. So only stale choices are ever tested.
//!
//! What is cut: after a yield a thread does not read the same old write again unless it has read something new since,
//! and a thread fails for no reason at a location only once until it has written. Otherwise loops that wait
//! would have executions without end.

mod access;
mod log;
mod psc;
#[cfg(test)]
mod psc_definition;
mod psc_search;
mod writes;

pub use writes::Source;
pub(crate) use writes::Weak;
