//! What stores that do not keep states know of them: from where each was reached, and part of its hash.
//!
//! A trace is found along the links to predecessors: from one state to the next by whichever step leads to a state with that
//! part of a hash.

use super::super::StoreFull;
use super::Place;
use super::segments::{SEGMENT, SEGMENT_BITS, Segments};
use crate::platform::LINK_BLOCK as BLOCK;
use crate::platform::sync::atomic::{AtomicUsize, Ordering};
use preempt_core::Contention;

/// Places are 32 bits, and one of them stands for none.
const LINKS: usize = (1 << 32) - SEGMENT;

/// A word per state: the place of its predecessor, and a tag.
#[derive(Debug)]
pub(super) struct Links {
    words: Segments,
    /// Links handed out to threads.
    given: AtomicUsize,
}

/// The links that a thread may use.
#[derive(Debug, Default)]
pub(super) struct LocalLinks {
    next: usize,
    end: usize,
}

impl Links {
    pub(super) fn new() -> Self {
        Links { words: Segments::new(LINKS), given: AtomicUsize::new(0) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.given.load(Ordering::Relaxed) * 8
    }

    /// Whether the thread has a link left, or may have one within this many bytes for all.
    pub(super) fn reserve(
        &self,
        local: &mut LocalLinks,
        contention: &mut Contention,
        room: usize,
    ) -> Result<(), StoreFull> {
        if local.next < local.end {
            return Ok(());
        }
        if self.bytes() + BLOCK * 8 > room {
            return Err(StoreFull);
        }
        contention.shared_bytes += 8;
        let first = self.given.fetch_add(BLOCK, Ordering::Relaxed);
        self.words.take(first >> SEGMENT_BITS).ok_or(StoreFull)?;
        (local.next, local.end) = (first, first + BLOCK);
        Ok(())
    }

    /// Uses the link that was [reserved](Links::reserve).
    #[inline(always)]
    pub(super) fn add(&self, local: &mut LocalLinks, parent: Place, hash: u64) -> Place {
        let at = local.next;
        local.next += 1;
        let word = self.words.word(at);
        word.store(u64::from(tag(hash)) << 32 | u64::from(parent), Ordering::Relaxed);
        at as Place
    }

    pub(super) fn parent(&self, place: Place) -> Place {
        self.words.load(place as usize) as u32
    }

    /// Whether a state with this hash can be the one at `place`.
    pub(super) fn agrees(&self, place: Place, hash: u64) -> bool {
        (self.words.load(place as usize) >> 32) as u32 == tag(hash)
    }
}

/// Places in tables are chosen by the upper half of a hash: the lower half says more.
fn tag(hash: u64) -> u32 {
    hash as u32
}
