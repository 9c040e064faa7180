//! The bytes of states, one behind the other.
//!
//! Memory comes in segments, so that growing copies nothing. While all states have the same length
//! nothing but their bytes is kept, and an address is computed from the number. From the first other
//! length on a state is a record: its number and length, then its bytes. What an index keeps of a
//! state is a [`Mark`], from which both kinds are reached by a single access to memory; a table of
//! marks (4 bytes per record) leads from numbers to records.

use super::pages;

/// Segments are this large, and no state may be larger. What is not used is address space only.
const SEGMENT: usize = 1 << 26;
/// What the first segment starts with: many searches are small, and memory that was used before
/// must be cleared.
const SMALLEST: usize = 1 << 14;
/// Where it becomes a segment like the others.
const SMALL: usize = 1 << 18;
/// Records begin at multiples of this.
const UNIT: usize = 8;
/// Number and length of a record.
const HEADER: usize = 8;

/// Bytes that are fetched together, and how many such of a state are fetched ahead.
const LINE: usize = 64;
const MOST_LINES: usize = 4;

/// Where a state is: the number of one without a record, or beyond these the place of a record.
pub(crate) type Mark = u32;
/// Marks stay below this.
const MARKS: usize = u32::MAX as usize - 1;

/// An append-only list of byte strings.
#[derive(Debug)]
pub(crate) struct Arena {
    segments: Vec<Vec<u8>>,
    /// Bytes used of the last segment.
    used: usize,
    /// Bytes used of the segments before.
    past: usize,
    count: usize,
    length: usize,
    /// log2 of the states per segment, while lengths are equal.
    shift: u32,
    /// How many states have no record; unlimited until another length occurs.
    plain: usize,
    /// The marks of the records.
    marks: Vec<Mark>,
    /// Bytes of a typical state, to be fetched ahead: the last one's, as the first may well be shorter.
    typical: usize,
}

impl Default for Arena {
    fn default() -> Self {
        Arena {
            segments: Vec::new(),
            used: 0,
            past: 0,
            count: 0,
            length: 0,
            shift: 0,
            plain: usize::MAX,
            marks: Vec::new(),
            typical: 0,
        }
    }
}

impl Arena {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Memory taken. The rest of a segment is address space that was never touched.
    pub(crate) fn bytes(&self) -> usize {
        self.past + self.used + self.marks.len() * 4
    }

    /// Whether another state of this length can be kept.
    pub(crate) fn accepts(&self, length: usize) -> bool {
        let marks = match self.marks.is_empty() {
            true => self.count + self.segments.len() * (SEGMENT / UNIT),
            false => self.plain + self.segments.len() * (SEGMENT / UNIT),
        };
        length < SEGMENT - HEADER && marks + SEGMENT / UNIT < MARKS
    }

    /// Appends a state that the arena [accepts](Arena::accepts).
    #[inline]
    pub(crate) fn push(&mut self, state: &[u8]) -> Mark {
        if self.plain == usize::MAX && (self.count == 0 || state.len() != self.length) {
            self.change(state.len());
        }
        let mark =
            if self.plain == usize::MAX { self.push_plain(state) } else { self.push_record(state) };
        self.count += 1;
        mark
    }

    /// The first state, or the first of another length.
    #[cold]
    fn change(&mut self, length: usize) {
        if self.count == 0 {
            self.length = length;
            self.shift = (SEGMENT / length.max(1)).ilog2();
            self.typical = length;
        } else {
            self.plain = self.count;
            self.used = self.used.next_multiple_of(UNIT);
        }
    }

    #[inline(always)]
    fn push_plain(&mut self, state: &[u8]) -> Mark {
        if self.segments.is_empty() || self.count.trailing_zeros() >= self.shift {
            self.begin_segment();
        }
        self.append(&[], state);
        self.count as Mark
    }

    #[inline(always)]
    fn push_record(&mut self, state: &[u8]) -> Mark {
        if self.used + HEADER + state.len() > SEGMENT {
            self.begin_segment();
        }
        let place = (self.segments.len() - 1) * SEGMENT + self.used;
        let header = (state.len() as u64) << 32 | self.count as u64;
        self.append(&header.to_le_bytes(), state);
        self.used = self.used.next_multiple_of(UNIT);
        self.typical = HEADER + state.len();
        let mark = (self.plain + place / UNIT) as Mark;
        self.marks.push(mark);
        mark
    }

    #[cold]
    fn begin_segment(&mut self) {
        let segment = match self.segments.is_empty() {
            true => vec![0; SMALLEST],
            false => pages::zeroed(SEGMENT),
        };
        self.segments.push(segment);
        self.past += self.used;
        self.used = 0;
    }

    /// Makes room in the first segment.
    #[cold]
    fn grow(segment: &mut Vec<u8>, needed: usize) {
        let size = needed.next_power_of_two();
        if size <= SMALL {
            segment.resize(size, 0);
        } else {
            let mut larger = pages::zeroed(SEGMENT);
            larger[..segment.len()].copy_from_slice(segment);
            *segment = larger;
        }
    }

    #[inline(always)]
    fn append(&mut self, header: &[u8], state: &[u8]) {
        if let Some(segment) = self.segments.last_mut() {
            let end = self.used + header.len() + state.len();
            if end > segment.len() {
                Arena::grow(segment, end);
            }
            let (head, rest) = segment[self.used..end].split_at_mut(header.len());
            head.copy_from_slice(header);
            pages::copy(rest, state);
            self.used = end;
        }
    }

    /// The bytes of the state with this number.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &[u8] {
        assert!(number < self.count, "no such state");
        if number < self.plain {
            self.plain_at(number)
        } else {
            self.record_at(self.marks[number - self.plain] as usize - self.plain).1
        }
    }

    /// The mark of the state with this number.
    #[inline]
    pub(crate) fn mark_of(&self, number: usize) -> Mark {
        if number < self.plain { number as Mark } else { self.marks[number - self.plain] }
    }

    /// The number and the bytes of the state with this mark.
    #[inline(always)]
    pub(crate) fn at(&self, mark: Mark) -> (u32, &[u8]) {
        let mark = mark as usize;
        if mark < self.plain {
            (mark as u32, self.plain_at(mark))
        } else {
            self.record_at(mark - self.plain)
        }
    }

    #[inline(always)]
    fn plain_at(&self, number: usize) -> &[u8] {
        debug_assert!(number < self.count);
        let start = (number & ((1 << self.shift) - 1)) * self.length;
        // SAFETY: numbers and marks come from `push`, which has put a state of this length there.
        unsafe {
            let segment = self.segments.get_unchecked(number >> self.shift);
            segment.get_unchecked(start..start + self.length)
        }
    }

    #[inline(always)]
    fn record_at(&self, place: usize) -> (u32, &[u8]) {
        let start = place % (SEGMENT / UNIT) * UNIT + HEADER;
        // SAFETY: marks come from `push`, which has put a record there: a header that tells its
        // length, and so many bytes.
        unsafe {
            let segment = self.segments.get_unchecked(place / (SEGMENT / UNIT));
            let header = segment.as_ptr().add(start - HEADER).cast::<u64>().read_unaligned();
            let header = u64::from_le(header);
            let end = start + (header >> 32) as usize;
            debug_assert!(end <= segment.len());
            (header as u32, segment.get_unchecked(start..end))
        }
    }

    /// Fetches the state with this mark into the cache.
    #[inline(always)]
    pub(crate) fn prefetch(&self, mark: Mark) {
        let mark = mark as usize;
        let (segment, start) = if mark < self.plain {
            (mark >> self.shift, (mark & ((1 << self.shift) - 1)) * self.length)
        } else {
            let place = mark - self.plain;
            (place / (SEGMENT / UNIT), place % (SEGMENT / UNIT) * UNIT)
        };
        if let Some(segment) = self.segments.get(segment) {
            let first = segment.as_ptr().wrapping_add(start);
            pages::fetch(first);
            pages::fetch(first.wrapping_add(self.typical));
            for line in 1..(self.typical / LINE).min(MOST_LINES) {
                pages::fetch(first.wrapping_add(line * LINE));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_and_mixed_lengths() {
        let mut arena = Arena::default();
        let state = |n: usize| -> Vec<u8> {
            let length = if n < 25_000 { 3000 } else { (n * 7919) % 5000 };
            (0..length).map(|i| (n * 31 + i) as u8).collect()
        };
        let marks: Vec<Mark> = (0..60_000).map(|n| arena.push(&state(n))).collect();
        assert_eq!(arena.len(), 60_000);
        assert!(arena.segments.len() > 2);
        for (n, mark) in marks.into_iter().enumerate() {
            assert_eq!(arena.get(n), state(n), "state {n}");
            assert_eq!(arena.at(mark), (n as u32, &state(n)[..]), "state {n}");
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
