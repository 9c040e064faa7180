//! Which states were sent lately, so that they are not sent again.
//!
//! A state is often reached several times in short order. Its owner would only say that it knows it already. The
//! filter remembers some thousand states with all their bytes, so that it never takes one for another.

/// Slots: enough for what one level reaches in a short while, few enough for the processor's cache.
const SLOTS: usize = 1 << 13;

/// What was sent lately.
#[derive(Debug)]
pub(super) struct Sent {
    slots: Vec<Vec<u8>>,
}

impl Sent {
    pub(super) fn new() -> Self {
        Sent { slots: vec![Vec::new(); SLOTS] }
    }

    /// Whether the state was sent lately with this mark; if not, it is remembered.
    #[inline]
    pub(super) fn was(&mut self, hash: u64, mark: u16, state: &[u8]) -> bool {
        let slot = &mut self.slots[(hash >> 40) as usize % SLOTS];
        let [low, high] = mark.to_le_bytes();
        if let [rest @ .., a, b] = &slot[..]
            && (*a, *b) == (low, high)
            && rest == state
        {
            return true;
        }
        slot.clear();
        slot.extend_from_slice(state);
        slot.extend([low, high]);
        false
    }

    pub(super) fn bytes(&self) -> usize {
        SLOTS * size_of::<Vec<u8>>() + self.slots.iter().map(Vec::capacity).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_bytes_and_mark_are_held_back() {
        let mut sent = Sent::new();
        assert!(!sent.was(1 << 50, 0, b"abc"));
        assert!(sent.was(1 << 50, 0, b"abc"));
        assert!(!sent.was(1 << 50, 1, b"abc"), "another last mover");
        assert!(!sent.was(1 << 50, 1, b"abd"), "a collision");
        assert!(!sent.was(1 << 50, 1, b"abc"), "displaced");
    }
}
