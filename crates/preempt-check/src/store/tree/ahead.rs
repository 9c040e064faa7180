//! What threads find out about states before it is their turn to be inserted.
//!
//! While no thread changes a store, any number of threads may read it: load states that wait, and hash successors. The hash of a
//! tree is the root of a state; it is found if all parts of the state are known.
//!
//! Invariant: nothing is ever added here. So what a store becomes follows from the order of insertions alone, whichever
//! thread has looked ahead, and however far.

use crate::store::tree::nodes;
use crate::store::tree::nodes::{AddNodes, push_words, root_key};
use crate::store::tree::parts::Parts;
use crate::store::tree::quads::Quad;
use crate::store::tree::tree_shape::word_count;
use crate::store::tree::unfolded::Unfolded;
use crate::store::{Pending, StateId, StoreFull};

/// Instead of the number of a part that is not known, or has such a part. Numbers stay below it.
const UNKNOWN: u32 = (1 << 31) - 1;
/// Parts that a thread remembers, of each kind.
const RECENT: usize = 1 << 12;
/// States whose parts are looked up together.
const TOGETHER: usize = 96;

/// What a thread keeps that reads a store which others read as well.
#[derive(Default, Debug)]
pub struct Reader {
    /// The state whose successors are being looked for.
    parent: Unfolded,
    quads: Recent<Quad>,
    pairs: Recent<u64>,
    words: Vec<u32>,
    hashes: Vec<u64>,
}

impl Reader {
    /// Memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.quads.bytes() + self.pairs.bytes() + self.words.capacity() * 4
    }

    /// Replaces `out` by a state with this root, of `length` bytes.
    pub(in crate::store) fn load(
        &mut self,
        id: StateId,
        (root, length): (u64, usize),
        parts: &Parts,
        out: &mut Vec<u8>,
    ) {
        self.unfold(id, (root, length), parts);
        self.parent.bytes(out);
    }

    fn unfold(&mut self, id: StateId, (root, length): (u64, usize), parts: &Parts) {
        if self.parent.id != Some(id) {
            self.parent.unfold(id, root, length, parts);
        }
    }

    /// Finds the roots of successors of a state with this root, see [`Unfolded::find_roots`]; says whether all their parts
    /// are known. If not no hash may be used.
    pub(in crate::store) fn find_near(
        &mut self,
        id: StateId,
        (root, length): (u64, usize),
        parts: &Parts,
        (bytes, batch): (&[u8], &mut [Pending]),
    ) -> bool {
        self.unfold(id, (root, length), parts);
        let mut known = Known { parts, quads: &mut self.quads, pairs: &mut self.pairs };
        let found = self.parent.find_roots(bytes, batch, &mut known);
        let is_known = |pending: &Pending| pending.hash & 1 == 0 || is_whole(pending.hash >> 1);
        found.is_ok() && batch.iter().all(is_known)
    }

    /// Finds the roots of states from their bytes. The root of a state whose parts are known goes into its hash, shifted and
    /// made odd; the hash of another becomes 0.
    pub(in crate::store) fn find(&mut self, parts: &Parts, bytes: &[u8], batch: &mut [Pending]) {
        let alike = |a: &Pending, b: &Pending| a.end - a.start == b.end - b.start;
        for some in batch.chunk_by_mut(alike).flat_map(|alike| alike.chunks_mut(TOGETHER)) {
            let stride = some.first().map_or(0, |first| word_count(first.end - first.start));
            self.words.clear();
            for pending in some.iter() {
                push_words(&bytes[pending.start..pending.end], stride, &mut self.words);
            }
            let mut known = Known { parts, quads: &mut self.quads, pairs: &mut self.pairs };
            let (words, hashes) = (&mut self.words, &mut self.hashes);
            let found = nodes::fold(&mut known, words, hashes, stride, some.len());
            for (at, pending) in some.iter_mut().enumerate() {
                let root = root_key(&self.words[at * stride..]);
                let is_known = found.is_ok() && is_whole(root);
                pending.hash = if is_known { root << 1 | 1 } else { 0 };
            }
        }
    }
}

/// Whether both sides of a root are known.
#[inline(always)]
fn is_whole(root: u64) -> bool {
    (root >> 32) as u32 != UNKNOWN && root as u32 != UNKNOWN
}

/// The parts of a tree, none of which are added.
struct Known<'a> {
    parts: &'a Parts,
    quads: &'a mut Recent<Quad>,
    pairs: &'a mut Recent<u64>,
}

impl AddNodes for Known<'_> {
    #[inline(always)]
    fn number_quad(&mut self, hash: u64, quad: Quad) -> Result<u32, StoreFull> {
        Ok(self.quads.number(hash, quad, || self.parts.find_quad(hash, quad)))
    }

    #[inline(always)]
    fn number_pair(&mut self, hash: u64, pair: u64) -> Result<u32, StoreFull> {
        if !is_whole(pair) {
            return Ok(UNKNOWN);
        }
        Ok(self.pairs.number(hash, pair, || self.parts.find_pair(hash, pair)))
    }

    #[inline(always)]
    fn prefetch_quad(&self, hash: u64) {
        self.parts.prefetch_quad(hash);
    }

    #[inline(always)]
    fn prefetch_pair(&self, hash: u64) {
        self.parts.prefetch_pair(hash);
    }
}

/// Parts that were looked up lately, by hash, and their numbers + 1: the parts of states that are explored one after the
/// other are mostly the same.
#[derive(Default, Debug)]
struct Recent<K> {
    parts: Vec<(K, u32)>,
}

impl<K: Copy + PartialEq + Default> Recent<K> {
    fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<(K, u32)>()
    }

    /// The number of a part, which `find` looks for in the tree.
    #[inline(always)]
    fn number(&mut self, hash: u64, part: K, find: impl FnOnce() -> Option<u32>) -> u32 {
        if self.parts.is_empty() {
            self.parts = vec![(K::default(), 0); RECENT];
        }
        let place = &mut self.parts[hash as usize % RECENT];
        if place.0 == part && place.1 != 0 {
            return place.1 - 1;
        }
        let Some(number) = find() else { return UNKNOWN };
        *place = (part, number + 1);
        number
    }
}
