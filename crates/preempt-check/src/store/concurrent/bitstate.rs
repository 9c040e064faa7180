//! Bitstate hashing for several threads: a few bits of one large field stand for a state.
//!
//! As [`Bitstate`](super::super::Bitstate): all bits of a state lie in one cache line. A thread looks at the words of the
//! line in their order; the first with a bit missing *decides*. It sets the bits of the words behind first, that of the
//! deciding one last, and the state is new if this set a bit there.
//!
//! Invariant: of several threads with the same state one is told that it is new. Bits are never cleared, so while the
//! deciding word lacks a bit all of them take it to decide, and one of them sets that bit; a thread that looks later finds all set.
//! (A different state that sets just these bits at the same moment makes a state known that is not, as a collision does.)

use super::super::{Inserted, Pending, StateId, StoreFull, hash};
use super::links::{Links, LocalLinks};
use super::segments::atomic_words;
use super::{ConcurrentStore, Place, forget};
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::platform::sync::{Mutex, PoisonError};
use crate::store::lossy::bitstate::bits_of;
use crate::store::memory::pages;
use preempt_core::Contention;

/// Words of a line.
const LINE: usize = 8;
/// The fill of a line is looked at for one in so many new states of a thread.
const SAMPLE: usize = 8;

/// A lossy store of fixed size for several threads.
#[derive(Debug)]
pub(crate) struct SharedBitstate {
    words: Vec<AtomicU64>,
    /// Words before the first whole line.
    skipped: usize,
    lines: usize,
    hashes: u32,
    links: Links,
    states: AtomicUsize,
    expected_misses: Mutex<f64>,
    limit: usize,
}

/// What a thread needs for itself.
#[derive(Debug)]
pub(crate) struct Local {
    links: LocalLinks,
    count: usize,
    contention: Contention,
}

impl SharedBitstate {
    /// A field of 2^`bits` bits (at least 512), of which each state sets `hashes` (1 to 16); with its links the store
    /// takes at most `limit` bytes.
    pub(crate) fn new(bits: u32, hashes: u32, limit: usize) -> Self {
        let lines = 1_usize << (bits.clamp(9, 48) - 9);
        let words = atomic_words((lines + 1) * LINE);
        let skipped = words.as_ptr().align_offset(64).min(LINE);
        SharedBitstate {
            words,
            skipped,
            lines,
            hashes: hashes.clamp(1, 16),
            links: Links::new(),
            states: AtomicUsize::new(0),
            expected_misses: Mutex::new(0.0),
            limit,
        }
    }

    /// How many states are expected to have been missed, not counting those that only they lead to.
    pub(crate) fn expected_misses(&self) -> f64 {
        *self.expected_misses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of the states met that is expected to have been stored.
    pub(crate) fn expected_coverage(&self) -> f64 {
        let stored = self.len() as f64;
        stored / (stored + self.expected_misses()).max(1.0)
    }

    #[inline(always)]
    fn line(&self, hash: u64) -> &[AtomicU64] {
        let line = ((u128::from(hash) * self.lines as u128) >> 64) as usize;
        let start = self.skipped + line * LINE;
        &self.words[start..start + LINE]
    }

    /// Sets the bits of a state; says whether it is new, and how many bits of its line were set before.
    fn set(&self, contention: &mut Contention, hash: u64) -> Option<u32> {
        let line = self.line(hash);
        let mut wanted = [0_u64; LINE];
        bits_of(hash, self.hashes, |word, bit| wanted[word] |= bit);
        let seen: [u64; LINE] = std::array::from_fn(|at| line[at].load(Ordering::Acquire));
        let lacks = |at: usize| wanted[at] & !seen[at] != 0;
        let decides = (0..LINE).find(|at| lacks(*at))?;
        let set = |at: usize| line[at].fetch_or(wanted[at], Ordering::AcqRel);
        for at in (decides + 1..LINE).filter(|at| lacks(*at)) {
            contention.shared_bytes += 8;
            set(at);
        }
        contention.shared_bytes += 8;
        if set(decides) & wanted[decides] == wanted[decides] {
            contention.failed_swaps += 1;
            return None;
        }
        Some(seen.iter().map(|word| word.count_ones()).sum())
    }
}

impl ConcurrentStore for SharedBitstate {
    type Local = Local;

    fn local(&self, _thread: usize) -> Local {
        Local { links: LocalLinks::default(), count: 0, contention: Contention::default() }
    }

    fn keeps_states(&self) -> bool {
        false
    }

    fn insert(
        &self,
        local: &mut Local,
        bytes: &[u8],
        batch: &mut [Pending],
        parents: &[Place],
    ) -> Result<(), StoreFull> {
        forget(batch);
        for pending in &mut *batch {
            pending.hash = hash(&bytes[pending.start..pending.end]);
            pages::fetch(self.line(pending.hash).as_ptr());
        }
        let room = self.limit.saturating_sub(self.words.len() * 8);
        let (mut new, mut misses) = (0, 0.0);
        let mut result = Ok(());
        for (pending, parent) in batch.iter_mut().zip(parents) {
            result = self.links.reserve(&mut local.links, &mut local.contention, room);
            if result.is_err() {
                break;
            }
            if let Some(before) = self.set(&mut local.contention, pending.hash) {
                let place = self.links.add(&mut local.links, *parent, pending.hash);
                pending.inserted = Inserted { id: StateId(place), new: true };
                if local.count.is_multiple_of(SAMPLE) {
                    let miss = (f64::from(before) / 512.0).powi(self.hashes as i32);
                    misses += miss * SAMPLE as f64;
                }
                local.count += 1;
                new += 1;
            }
        }
        if new > 0 {
            local.contention.shared_bytes += 16;
            local.contention.locks += 1;
            self.states.fetch_add(new, Ordering::Relaxed);
            *self.expected_misses.lock().unwrap_or_else(PoisonError::into_inner) += misses;
        }
        result
    }

    fn load(&self, _local: &mut Local, _place: Place, _out: &mut Vec<u8>) {}

    fn parent(&self, place: Place) -> Place {
        self.links.parent(place)
    }

    fn agrees(&self, place: Place, state: &[u8]) -> bool {
        self.links.agrees(place, hash(state))
    }

    fn len(&self) -> usize {
        self.states.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> usize {
        self.words.len() * 8 + self.links.bytes()
    }

    fn contention(local: &Local) -> Contention {
        local.contention
    }
}
