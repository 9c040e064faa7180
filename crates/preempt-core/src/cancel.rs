//! A request to give up, for work that is too long to finish first.
//!
//! Searches look at their limits between two steps. A single step can take long, too: a `d_step` may
//! loop a million times. Such a step looks at a [`Cancellation`] every few thousand rounds. Whoever
//! knows the clock or the signals sets it; nothing in here does. A step that gives up ends as
//! [`Outcome::Broken`](crate::Outcome) with a fault of the kind
//! [`FaultKind::Stopped`](crate::FaultKind), which makes a search inconclusive, never violated.
//!
//! **Invariant:** a request is never taken back, so that everything asked afterwards gives up, too.

use crate::Stop;
use std::sync::atomic::{AtomicU8, Ordering};

/// Whether work in progress should stop, and why.
#[derive(Debug, Default)]
pub struct Cancellation(AtomicU8);

/// The possible reasons, in the order of their numbers, from 1 on.
const REASONS: [Stop; 3] = [Stop::Time, Stop::Interrupted, Stop::Memory];

impl Cancellation {
    /// No request to stop.
    pub const fn new() -> Self {
        Cancellation(AtomicU8::new(0))
    }

    /// Asks to give up. The first reason stays.
    pub fn request(&self, reason: Stop) {
        let number = REASONS.iter().position(|known| *known == reason).unwrap_or(1) as u8 + 1;
        let _ = self.0.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Why to stop, if that was requested.
    #[inline]
    pub fn requested(&self) -> Option<Stop> {
        let number = self.0.load(Ordering::Relaxed).checked_sub(1)?;
        REASONS.get(usize::from(number)).copied()
    }

    /// The byte that is not 0 once a stop was requested, for machine code to read.
    pub fn flag(&self) -> *const u8 {
        self.0.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays() {
        let cancellation = Cancellation::new();
        assert_eq!(cancellation.requested(), None);
        cancellation.request(Stop::Interrupted);
        cancellation.request(Stop::Time);
        assert_eq!(cancellation.requested(), Some(Stop::Interrupted));
    }
}
