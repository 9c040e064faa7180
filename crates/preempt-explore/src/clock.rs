//! Vector clocks that are cheap to copy: a search copies all clocks of a state with every state.
//!
//! Entries that are missing at the end of a clock are 0.

use std::ops::Deref;
use std::sync::Arc;

/// How many threads' times fit without an allocation.
const INLINE: usize = 6;

/// A clock that is kept as it was: that of a write, or of an event.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Inline([u32; INLINE]),
    Shared(Arc<[u32]>),
}

impl Default for Clock {
    fn default() -> Self {
        Clock::Inline([0; INLINE])
    }
}

impl From<&[u32]> for Clock {
    fn from(times: &[u32]) -> Self {
        if times.len() > INLINE {
            return Clock::Shared(times.into());
        }
        let mut inline = [0; INLINE];
        inline[..times.len()].copy_from_slice(times);
        Clock::Inline(inline)
    }
}

impl Deref for Clock {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Clock::Inline(times) => times,
            Clock::Shared(times) => times,
        }
    }
}

impl Clock {
    /// The later time of each thread.
    pub(crate) fn merge(&mut self, other: &[u32]) {
        match self {
            Clock::Inline(times) if other.len() <= INLINE => merge(times, other),
            _ => {
                let mut times = self.to_vec();
                times.resize(times.len().max(other.len()), 0);
                merge(&mut times, other);
                *self = times.as_slice().into();
            }
        }
    }
}

/// Clocks by number, in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    width: usize,
    times: Vec<u32>,
}

impl Clocks {
    pub(crate) fn get(&self, index: usize) -> &[u32] {
        self.times.get(index * self.width..(index + 1) * self.width).unwrap_or(&[])
    }

    /// A clock with room for so many threads.
    pub(crate) fn get_mut(&mut self, index: usize, threads: usize) -> &mut [u32] {
        if self.width < threads {
            self.widen(threads);
        }
        let end = (index + 1) * self.width;
        if self.times.len() < end {
            self.times.resize(end, 0);
        }
        &mut self.times[end - self.width..end]
    }

    #[cold]
    fn widen(&mut self, width: usize) {
        let mut times = Vec::with_capacity(self.times.len() / self.width.max(1) * width);
        for row in self.times.chunks(self.width.max(1)) {
            times.extend_from_slice(row);
            times.resize(times.len() + width - row.len(), 0);
        }
        (self.width, self.times) = (width, times);
    }

    /// Makes one clock at least as late as another one.
    pub(crate) fn join(&mut self, index: usize, other: usize, threads: usize) {
        self.get_mut(index.max(other), threads);
        for thread in 0..self.width {
            let time = self.times[other * self.width + thread];
            let own = &mut self.times[index * self.width + thread];
            *own = (*own).max(time);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.times.clear();
    }

    pub(crate) fn copy_from(&mut self, source: &Self) {
        self.width = source.width;
        self.times.clone_from(&source.times);
    }
}

/// The later time of each thread. What does not fit must be 0.
pub(crate) fn merge(target: &mut [u32], other: &[u32]) {
    debug_assert!(other.iter().skip(target.len()).all(|&time| time == 0));
    for (a, b) in target.iter_mut().zip(other) {
        *a = (*a).max(*b);
    }
}

/// Copies a clock. What does not fit must be 0.
pub(crate) fn copy(target: &mut [u32], other: &[u32]) {
    target.fill(0);
    merge(target, other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_keep_their_times_when_a_thread_is_added() {
        let mut clocks = Clocks::default();
        clocks.get_mut(2, 1).copy_from_slice(&[7]);
        clocks.get_mut(0, 3).copy_from_slice(&[1, 2, 3]);
        assert_eq!(clocks.get(2), [7, 0, 0]);
        assert_eq!(clocks.get(1), [0, 0, 0]);
        assert_eq!(clocks.get(5), [0; 0]);
        clocks.join(0, 2, 3);
        assert_eq!(clocks.get(0), [7, 2, 3]);
    }

    #[test]
    fn clocks_of_few_and_many_threads_merge() {
        let mut clock = Clock::from(&[3, 0, 1][..]);
        clock.merge(&[1, 2]);
        assert_eq!(clock[..3], [3, 2, 1]);
        clock.merge(&[0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(clock[..], [3, 2, 1, 0, 0, 0, 0, 9]);
        clock.merge(&[4]);
        assert_eq!(clock[..], [4, 2, 1, 0, 0, 0, 0, 9]);
    }
}
