//! The bytes of states, one behind the other, addressed by number.
//!
//! Memory comes in segments, so that growing copies nothing. While all states have the same
//! length an address is computed from the number; from the first other length on a table of
//! places (8 bytes per state) is kept.

use super::pages;

/// Segments are this large, and no state may be larger.
const SEGMENT: usize = 1 << 24;
/// What is taken of the first segment at first.
const FIRST_SEGMENT: usize = 1 << 14;

/// An append-only list of byte strings.
#[derive(Default, Debug)]
pub(crate) struct Arena {
    segments: Vec<Vec<u8>>,
    /// Bytes used of the last segment.
    used: usize,
    count: usize,
    length: usize,
    /// log2 of the states per segment, while lengths are equal.
    shift: u32,
    /// `offset << 24 | length` of each state, once lengths differ.
    places: Option<Vec<u64>>,
}

impl Arena {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Memory taken, counting of the last segment only what is used.
    pub(crate) fn bytes(&self) -> usize {
        let segments = self.segments.len().saturating_sub(1) * SEGMENT + self.used;
        segments + self.places.as_ref().map_or(0, |places| places.capacity() * 8)
    }

    /// Whether a state of this length can be kept at all.
    pub(crate) fn accepts(&self, length: usize) -> bool {
        length < SEGMENT
    }

    pub(crate) fn push(&mut self, state: &[u8]) {
        if self.count == 0 {
            self.length = state.len();
            self.shift = (SEGMENT / state.len().max(1)).ilog2();
        } else if self.places.is_none() && state.len() != self.length {
            let places = (0..self.count).map(|at| place(self.offset_of(at), self.length));
            self.places = Some(places.collect());
        }
        let full = match &self.places {
            None => self.count.trailing_zeros() >= self.shift,
            Some(_) => self.used + state.len() > SEGMENT,
        };
        if full || self.segments.is_empty() {
            // Many searches are small, and memory that was used before must be cleared: the first
            // segment starts small and grows.
            let first = self.segments.is_empty();
            self.segments.push(if first { vec![0; FIRST_SEGMENT] } else { pages::zeroed(SEGMENT) });
            self.used = 0;
        }
        let last = self.segments.len() - 1;
        if self.used + state.len() > self.segments[last].len() {
            let needed = (self.used + state.len()).next_power_of_two();
            self.segments[last].resize(needed.max(FIRST_SEGMENT), 0);
        }
        if let Some(places) = &mut self.places {
            places.push(place(last * SEGMENT + self.used, state.len()));
        }
        self.segments[last][self.used..self.used + state.len()].copy_from_slice(state);
        self.used += state.len();
        self.count += 1;
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> &[u8] {
        match &self.places {
            None => {
                let segment = &self.segments[at >> self.shift];
                let start = (at & ((1 << self.shift) - 1)) * self.length;
                &segment[start..start + self.length]
            }
            Some(places) => {
                let (offset, length) = (places[at] >> 24, places[at] as usize & (SEGMENT - 1));
                let start = offset as usize % SEGMENT;
                &self.segments[offset as usize / SEGMENT][start..start + length]
            }
        }
    }

    /// Fetches the beginning of a state into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, at: usize) {
        if self.places.is_none() {
            let start = (at & ((1 << self.shift) - 1)) * self.length;
            if let Some(segment) = self.segments.get(at >> self.shift) {
                pages::prefetch(segment, start);
                pages::prefetch(segment, start + self.length.saturating_sub(1));
            }
        } else if let Some(places) = &self.places {
            pages::prefetch(places, at);
        }
    }

    /// Whether places must be looked up, so that fetching a state takes two steps.
    pub(crate) fn has_places(&self) -> bool {
        self.places.is_some()
    }

    /// Fetches the beginning of a state whose place has been [fetched](Arena::prefetch) before.
    #[inline]
    pub(crate) fn prefetch_bytes(&self, at: usize) {
        if let Some(places) = &self.places {
            let offset = (places[at] >> 24) as usize;
            if let Some(segment) = self.segments.get(offset / SEGMENT) {
                pages::prefetch(segment, offset % SEGMENT);
            }
        }
    }

    fn offset_of(&self, at: usize) -> usize {
        (at >> self.shift) * SEGMENT + (at & ((1 << self.shift) - 1)) * self.length
    }
}

fn place(offset: usize, length: usize) -> u64 {
    (offset as u64) << 24 | length as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_and_mixed_lengths() {
        let mut arena = Arena::default();
        let state = |n: usize| -> Vec<u8> {
            let length = if n < 3000 { 3000 } else { (n * 7919) % 5000 };
            (0..length).map(|i| (n * 31 + i) as u8).collect()
        };
        for n in 0..9000 {
            arena.push(&state(n));
        }
        assert_eq!(arena.len(), 9000);
        for n in 0..9000 {
            assert_eq!(arena.get(n), state(n), "state {n}");
        }
    }

    #[test]
    fn empty_states() {
        let mut arena = Arena::default();
        arena.push(&[]);
        arena.push(&[1]);
        assert_eq!((arena.get(0), arena.get(1)), (&[][..], &[1][..]));
    }
}
