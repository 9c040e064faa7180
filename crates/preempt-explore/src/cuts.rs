//! What an exploration leaves out although it is within the bounds.
//!
//! Some choices have no end: a loop may give up later and later, a wait may time out again and again. An exploration
//! cuts them somewhere, and the report must say where that was. Workers share what they have noted.

use std::sync::atomic::{AtomicU8, Ordering};

/// Something that is not explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Cut {
    /// The rounds of a loop that gives up after many, one by one.
    Rounds = 1,
    /// That a loop gives up which counts its rounds, and has not after very many of them.
    GivingUpLate = 2,
    /// That a wait times out while others can move, after so many have.
    Timeouts = 4,
    /// That a comparison fails for no reason once more.
    Failures = 8,
    /// That a pause or a timed wait ends while others can move, or before one that ends earlier.
    Deadlines = 16,
}

impl Cut {
    /// All kinds.
    pub const ALL: [Cut; 5] =
        [Cut::Rounds, Cut::GivingUpLate, Cut::Timeouts, Cut::Failures, Cut::Deadlines];

    /// What is left out, in words.
    pub fn words(self) -> &'static str {
        match self {
            Cut::Rounds => {
                "of loops that give up after more than 8 rounds, only that they see the next change or give up"
            }
            Cut::GivingUpLate => {
                "of loops that count more than 20,000 rounds, not that they give up while others can move"
            }
            Cut::Timeouts => {
                "of timeouts while others can move, only as many per execution as are allowed (--timeouts)"
            }
            Cut::Failures => {
                "of comparisons that may fail for no reason, only so many such failures in a row"
            }
            Cut::Deadlines => {
                "of pauses and timeouts of 10 ms and more, only that they end in the order of their times, when no other thread can go on"
            }
        }
    }
}

/// All that was cut so far.
#[derive(Debug, Default)]
pub(crate) struct Cuts(AtomicU8);

impl Cuts {
    pub(crate) fn note(&self, cut: Cut) {
        self.0.fetch_or(cut as u8, Ordering::Relaxed);
    }

    pub(crate) fn contains(&self, cut: Cut) -> bool {
        self.0.load(Ordering::Relaxed) & cut as u8 != 0
    }
}
