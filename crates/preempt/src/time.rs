//! Time, with the shapes of `std::time`, on a virtual clock under control.
//!
//! Every thread has its own clock. It moves when the thread sleeps or a wait of it times out, and
//! in no other way: code takes no time.

use crate::rt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

pub use std::time::{Duration, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Moment {
    Virtual(Duration),
    Real(std::time::Instant),
}

/// `std::time::Instant`, virtual under control.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(Moment);

impl Instant {
    /// Now.
    pub fn now() -> Self {
        if rt::is_controlled() {
            Instant(Moment::Virtual(rt::now()))
        } else {
            Instant(Moment::Real(std::time::Instant::now()))
        }
    }

    /// Time since an earlier moment; zero if it is later.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// Time since an earlier moment, if it is not later.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        match (self.0, earlier.0) {
            (Moment::Virtual(a), Moment::Virtual(b)) => a.checked_sub(b),
            (Moment::Real(a), Moment::Real(b)) => a.checked_duration_since(b),
            _ => None,
        }
    }

    /// Time since an earlier moment; zero if it is later.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    /// Time since this moment.
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// A later moment, if it can be represented.
    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        Some(Instant(match self.0 {
            Moment::Virtual(moment) => Moment::Virtual(moment.checked_add(time)?),
            Moment::Real(moment) => Moment::Real(moment.checked_add(time)?),
        }))
    }

    /// An earlier moment, if it can be represented.
    pub fn checked_sub(&self, time: Duration) -> Option<Self> {
        Some(Instant(match self.0 {
            Moment::Virtual(moment) => Moment::Virtual(moment.checked_sub(time)?),
            Moment::Real(moment) => Moment::Real(moment.checked_sub(time)?),
        }))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        self.checked_add(time).expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        *self = *self + time;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, time: Duration) -> Instant {
        self.checked_sub(time).expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, time: Duration) {
        *self = *self - time;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}
