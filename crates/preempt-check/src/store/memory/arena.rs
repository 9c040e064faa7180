//! The bytes of states, one behind the other.
//!
//! Memory comes in segments, so that growing copies nothing. As a rule all states have the same length,
//! or all but some of the first: then nothing but their bytes is kept, in one slot behind the other, and
//! an address is computed from the number. A few *odd* states of other lengths are kept aside. Once
//! there are too many of these, a state is a record: its number and length, then its bytes. What an index
//! keeps of a state is a [`Mark`], from which both kinds are reached by a single access to memory; a
//! table of marks (4 bytes per record) leads from numbers to records.
//!
//! Invariant: the mark of a state in a slot is its number, and an odd state has an empty slot; so marks
//! stay what they are when another length turns out to be the usual one.

use crate::store::memory::pages;

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

/// So many odd states are kept aside, if their empty slots take no more than a small segment.
const FEW: usize = 512;

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
    /// The length of a slot.
    length: usize,
    /// log2 of the slots per segment.
    shift: u32,
    odd: Odd,
    /// How many states there were when slots were given their length.
    changed_at: usize,
    /// How many states have no record; unlimited until there are too many odd ones.
    plain: usize,
    /// The marks of the records.
    marks: Vec<Mark>,
    /// Bytes of a typical state, to be fetched ahead: the last one's, as the first may well be shorter.
    typical: usize,
}

/// The states that do not fit their slots.
#[derive(Debug, Default)]
struct Odd {
    /// Their numbers, in order, and where their bytes begin.
    list: Vec<(u32, usize)>,
    bytes: Vec<u8>,
    /// A bit for each state, up to the last odd one.
    bits: Vec<u64>,
}

impl Odd {
    fn push(&mut self, number: usize, state: &[u8]) {
        self.list.push((number as u32, self.bytes.len()));
        self.bytes.extend_from_slice(state);
        self.bits.resize(number / 64 + 1, 0);
        self.bits[number / 64] |= 1 << (number % 64);
    }

    #[inline(always)]
    fn contains(&self, number: usize) -> bool {
        self.bits.get(number / 64).is_some_and(|bits| bits >> (number % 64) & 1 != 0)
    }

    #[cold]
    fn get(&self, number: usize) -> &[u8] {
        let at = self.list.partition_point(|(other, _)| (*other as usize) < number);
        let end = self.list.get(at + 1).map_or(self.bytes.len(), |(_, start)| *start);
        &self.bytes[self.list[at].1..end]
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.bits.len() * 8 + self.list.len() * size_of::<(u32, usize)>()
    }
}

impl Default for Arena {
    fn default() -> Self {
        Arena {
            segments: Vec::new(),
            used: 0,
            past: 0,
            count: 0,
            length: 0,
            shift: SEGMENT.ilog2(),
            odd: Odd::default(),
            changed_at: 0,
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
        self.past + self.used + self.odd.memory() + self.marks.len() * 4
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
        let mark = match self.plain == usize::MAX {
            true if state.len() == self.length => self.push_plain(state),
            true => self.push_odd(state),
            false => self.push_record(state),
        };
        self.count += 1;
        mark
    }

    /// Appends a state that does not fit a slot.
    #[cold]
    fn push_odd(&mut self, state: &[u8]) -> Mark {
        let (odd, in_use) = (self.odd.list.len(), self.past + self.used);
        // Where lengths go up and down, changing back and forth would take longer than it saves.
        let is_time = self.count >= 2 * self.changed_at;
        if odd * 2 >= self.count && is_time && in_use < SMALL {
            self.change_length(state.len());
            return self.push_plain(state);
        }
        if odd < FEW && odd * self.length < SMALL {
            return self.push_aside(state);
        }
        self.plain = self.count;
        self.used = self.used.next_multiple_of(UNIT);
        self.push_record(state)
    }

    fn push_aside(&mut self, state: &[u8]) -> Mark {
        self.odd.push(self.count, state);
        self.begin_slot();
        self.take(self.length);
        self.count as Mark
    }

    /// Gives slots another length. Nothing but the first segment is in use.
    fn change_length(&mut self, length: usize) {
        let small = Arena {
            length,
            shift: (SEGMENT / length.max(1)).ilog2(),
            typical: length,
            changed_at: self.count,
            ..Arena::default()
        };
        let old = std::mem::replace(self, small);
        for number in 0..old.count {
            let state = old.get(number);
            match state.len() == length {
                true => self.push_plain(state),
                false => self.push_aside(state),
            };
            self.count += 1;
        }
    }

    #[inline(always)]
    fn begin_slot(&mut self) {
        if self.segments.is_empty() || self.count.trailing_zeros() >= self.shift {
            self.begin_segment();
        }
    }

    #[inline(always)]
    fn push_plain(&mut self, state: &[u8]) -> Mark {
        self.begin_slot();
        pages::copy(self.take(state.len()), state);
        self.count as Mark
    }

    #[inline(always)]
    fn push_record(&mut self, state: &[u8]) -> Mark {
        if self.used + HEADER + state.len() > SEGMENT {
            self.begin_segment();
        }
        let place = (self.segments.len() - 1) * SEGMENT + self.used;
        let header = (state.len() as u64) << 32 | self.count as u64;
        let (head, rest) = self.take(HEADER + state.len()).split_at_mut(HEADER);
        head.copy_from_slice(&header.to_le_bytes());
        pages::copy(rest, state);
        self.used = self.used.next_multiple_of(UNIT);
        self.typical = HEADER + state.len();
        let mark = (self.plain + place / UNIT) as Mark;
        pages::push(&mut self.marks, mark);
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

    /// The next so many bytes of the last segment, which has begun.
    #[inline(always)]
    fn take(&mut self, length: usize) -> &mut [u8] {
        let segment = self.segments.last_mut().map_or(&mut [][..], |segment| {
            if self.used + length > segment.len() {
                Arena::grow(segment, self.used + length);
            }
            segment
        });
        let start = self.used;
        self.used += length;
        &mut segment[start..self.used]
    }

    /// The bytes of the state with this number.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> &[u8] {
        assert!(number < self.count, "no such state");
        if number < self.plain {
            self.slot_at(number)
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
            (mark as u32, self.slot_at(mark))
        } else {
            self.record_at(mark - self.plain)
        }
    }

    #[inline(always)]
    fn slot_at(&self, number: usize) -> &[u8] {
        debug_assert!(number < self.count);
        if self.odd.contains(number) {
            return self.odd.get(number);
        }
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
        // SAFETY: marks come from `push`, which has put a record there: a header that says its
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
            for line in 1..=(self.typical / LINE).min(MOST_LINES) {
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

    /// A few states of other lengths at the beginning, in between, and longer ones; then so many that
    /// there are records.
    #[test]
    fn odd_states() {
        let mut arena = Arena::default();
        let state = |n: usize| -> Vec<u8> {
            let length = match n {
                0..40 => n % 9 * 10,
                40..30_000 if n.is_multiple_of(977) => n % 500,
                40..30_000 => 100,
                _ => 100 + n % 3,
            };
            (0..length).map(|i| (n * 31 + i) as u8).collect()
        };
        let mut marks = Vec::new();
        for n in 0..60_000 {
            marks.push(arena.push(&state(n)));
            assert_eq!(arena.get(n / 2), state(n / 2), "state {} of {n}", n / 2);
        }
        assert_eq!(arena.length, 100, "the usual length");
        assert!((30_000..50_000).contains(&arena.plain), "{}", arena.plain);
        for (n, mark) in marks.into_iter().enumerate() {
            assert_eq!(arena.get(n), state(n), "state {n}");
            assert_eq!(arena.at(mark), (n as u32, &state(n)[..]), "state {n}");
            assert_eq!(arena.mark_of(n), mark, "state {n}");
        }
    }

    /// Where no length is the usual one, there are soon records.
    #[test]
    fn lengths_that_go_up_and_down() {
        let mut arena = Arena::default();
        let state = |n: usize| vec![n as u8; 20 + n % 7 * 4];
        for n in 0..10_000 {
            arena.push(&state(n));
        }
        assert!(arena.plain < 1200, "{}", arena.plain);
        assert!((0..10_000).all(|n| arena.get(n) == state(n)));
    }

    #[test]
    fn empty_states() {
        let mut arena = Arena::default();
        arena.push(&[]);
        arena.push(&[1]);
        assert_eq!((arena.get(0), arena.get(1)), (&[][..], &[1][..]));
    }
}
