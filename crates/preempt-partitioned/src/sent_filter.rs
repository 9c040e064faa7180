//! Which states were sent lately, so that they are not sent again.
//!
//! A state is often reached several times in short order. Its owner would only say that it knows it already. The
//! filter remembers some thousand states with all their bytes, so that it never takes one for another. Where that hardly
//! ever helps (steps that sleep have seen to most repetitions already) it only tries again from time to time.

/// Slots: enough for what one level reaches in a short while, few enough for the processor's cache.
const SLOTS: usize = 1 << 12;
/// No more bytes than this are kept; longer states than fit are not looked for.
const MOST_BYTES: usize = 1 << 20;
/// So many questions show whether the filter helps.
const TRIAL: u32 = 1 << 14;
/// The filter helps if at least one in so many states was sent before.
const WORTHWHILE: u32 = 12;
/// If it does not pay, so many questions are answered with no without a look.
const PAUSE: u32 = 1 << 19;

/// What was sent lately.
#[derive(Debug)]
pub(super) struct SentFilter {
    /// The hash and the mark of each slot's state.
    keys: Vec<(u64, u16)>,
    /// The bytes of all of them, `length` for each.
    bytes: Vec<u8>,
    length: usize,
    /// Questions and hits since the last decision.
    asked: u32,
    hits: u32,
    /// Questions until the filter is tried again.
    pause: u32,
}

impl SentFilter {
    pub(super) fn new() -> Self {
        SentFilter { keys: Vec::new(), bytes: Vec::new(), length: 0, asked: 0, hits: 0, pause: 0 }
    }

    /// Whether the state was sent lately with this mark; if not, it may be remembered. Its hash is asked for only where the
    /// filter does not rest.
    #[inline]
    pub(super) fn was(&mut self, hash: impl FnOnce() -> u64, mark: u16, state: &[u8]) -> bool {
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        if state.len() != self.length || self.keys.is_empty() {
            return self.begin_anew(state.len());
        }
        self.asked += 1;
        let hash = hash();
        let at = (hash >> 40) as usize % self.keys.len();
        let (key, bytes) = (&mut self.keys[at], &mut self.bytes[at * self.length..][..self.length]);
        if *key == (hash, mark) && bytes == state {
            self.hits += 1;
            return true;
        }
        *key = (hash, mark);
        bytes.copy_from_slice(state);
        if self.asked == TRIAL {
            self.decide();
        }
        false
    }

    /// States have another length from now on. The first one of it is not remembered.
    #[cold]
    fn begin_anew(&mut self, length: usize) -> bool {
        let slots = (MOST_BYTES / length.max(1)).min(SLOTS);
        if slots < 64 {
            self.pause = PAUSE;
            return false;
        }
        // No state has this mark, whatever its bytes are.
        self.keys = vec![(0, u16::MAX); slots];
        self.bytes = vec![0; slots * length];
        self.length = length;
        false
    }

    #[cold]
    fn decide(&mut self) {
        if self.hits < self.asked / WORTHWHILE {
            self.pause = PAUSE;
        }
        (self.asked, self.hits) = (0, 0);
    }

    pub(super) fn bytes(&self) -> usize {
        self.keys.len() * size_of::<(u64, u16)>() + self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_bytes_and_mark_are_held_back() {
        let mut sent = SentFilter::new();
        assert!(!sent.was(|| 1 << 50, 0, b"abc"), "of a new length");
        assert!(!sent.was(|| 1 << 50, 0, b"abc"));
        assert!(sent.was(|| 1 << 50, 0, b"abc"));
        assert!(!sent.was(|| 1 << 50, 1, b"abc"), "another last mover");
        assert!(!sent.was(|| 1 << 50, 1, b"abd"), "a collision");
        assert!(!sent.was(|| 1 << 50, 1, b"abc"), "displaced");
        assert!(!sent.was(|| 1 << 50, 1, b"abcd"), "of another length");
        assert!(!sent.was(|| 1 << 50, 1, b"abc"), "of another length again");
        assert!(!sent.was(|| 0, 0, &[0; 3]), "nothing is there from the beginning");
        assert!(!sent.was(|| 7, 0, &vec![1; MOST_BYTES]), "too long to keep");
    }

    #[test]
    fn a_filter_that_does_not_help_rests_and_tries_again() {
        let mut sent = SentFilter::new();
        let state = |number: u32| number.to_le_bytes();
        for number in 0..2 * TRIAL {
            assert!(!sent.was(|| u64::from(number) << 40, 0, &state(number)));
        }
        assert!(sent.pause > 0);
        assert!(
            !sent.was(|| 1 << 40, 0, &state(1)) && !sent.was(|| 1 << 40, 0, &state(1)),
            "it rests"
        );
        sent.pause = 0;
        assert!(!sent.was(|| 1 << 40, 0, &state(1)));
        assert!(sent.was(|| 1 << 40, 0, &state(1)));
    }
}
