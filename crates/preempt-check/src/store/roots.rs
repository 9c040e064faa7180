//! The roots of a [tree](super::Tree): one for each state.
//!
//! They are all that a state costs, as equal parts below them are shared, and there are two ways to keep them.
//! [`NumberedRoots`] have a list of all roots in the order of their numbers and an index over it: nine or ten bytes, and
//! states can be asked for by number. [`ClearyRoots`] are a set: two or three bytes, but a state can be asked for by number only
//! while it waits to be expanded, and a known state is only known, unless its number is stored with it.

use super::cleary::{Cleary, Root};
use super::packed::Packed;
use super::pairs::{self, Pairs};
use super::{Inserted, StateId, StoreFull};
use std::collections::VecDeque;

/// A set of roots, numbered in the order of their insertion.
pub trait Roots: std::fmt::Debug + Send + Sync {
    #[doc(hidden)]
    fn len(&self) -> usize;

    /// Memory in use, in bytes.
    #[doc(hidden)]
    fn bytes(&self) -> usize;

    /// There will be roots of more than one class.
    #[doc(hidden)]
    fn have_classes(&mut self) {}

    /// Asks the processor to fetch what the insertion of a root reads first.
    #[doc(hidden)]
    fn prefetch(&self, pair: u64, class: usize);

    /// Asks the processor to fetch what it reads next.
    #[doc(hidden)]
    fn prefetch_next(&self, _pair: u64) {}

    /// Looks for a root.
    #[doc(hidden)]
    fn find(&self, pair: u64, class: usize) -> Option<StateId>;

    /// Inserts a root. `limit` is how many bytes the set may take in all.
    #[doc(hidden)]
    fn insert(
        &mut self,
        pair: u64,
        class: usize,
        limit: impl Fn() -> usize,
    ) -> Result<Inserted, StoreFull>;

    /// The pair and the class of a root, if they can be told.
    #[doc(hidden)]
    fn get(&self, number: StateId) -> Option<(u64, usize)>;

    /// Roots with lower numbers will not be asked for any more.
    #[doc(hidden)]
    fn release(&mut self, _before: StateId) {}

    /// Moves everything to its final place, if a root can be asked for by its field then: until the next insertion.
    #[doc(hidden)]
    fn settle(&mut self) -> bool {
        false
    }

    /// Fields of a settled set are numbered below this.
    #[doc(hidden)]
    fn fields(&self) -> usize {
        0
    }

    /// The field of a root in a settled set.
    #[doc(hidden)]
    fn field(&self, _pair: u64, _class: usize) -> Option<usize> {
        None
    }

    /// The pair and the class in a field of a settled set.
    #[doc(hidden)]
    fn in_field(&self, _field: usize) -> Option<(u64, usize)> {
        None
    }
}

/// Without so much memory no further root is accepted.
const LEAST_ROOM: usize = 1 << 12;

/// Roots with an index, and all in a list.
#[derive(Debug)]
pub struct NumberedRoots {
    pairs: Pairs,
    /// The class of each, once there is more than one.
    classes: Option<Packed>,
}

impl NumberedRoots {
    pub(super) fn new() -> Self {
        NumberedRoots { pairs: Pairs::new(), classes: None }
    }

    /// The same roots as a set in less memory; those from `waiting` on can still be asked for.
    pub(super) fn compress(self, numbered: bool, waiting: StateId) -> ClearyRoots {
        let NumberedRoots { pairs, classes } = self;
        // The index goes first: its memory is more than the new set takes.
        let pairs = pairs.into_keys();
        let class = |at: usize| classes.as_ref().map_or(0, |classes| classes.get(at));
        let root = |at: usize| Root { pair: pairs.get(at), class: class(at) as u32 };
        let all = pairs.len();
        let mut roots = ClearyRoots::new(numbered);
        roots.set = Cleary::with_room(numbered, all, &mut (0..all).map(root));
        roots.forget_all_before(waiting);
        for at in 0..all {
            let inserted = roots.set.insert(root(at), |_| usize::MAX);
            inserted.expect("roots that fit into 64 bits are accepted by a set without a limit");
            roots.remember(at, root(at));
        }
        roots
    }

    #[inline(always)]
    fn look(&self, hash: u64, pair: u64, class: usize) -> Result<u32, usize> {
        match &self.classes {
            None => self.pairs.find(hash, pair, |_| true),
            Some(classes) => {
                self.pairs.find(hash, pair, |number| classes.get(number) as usize == class)
            }
        }
    }
}

impl Roots for NumberedRoots {
    fn len(&self) -> usize {
        self.pairs.len()
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.pairs.bytes() + self.classes.as_ref().map_or(0, Packed::bytes)
    }

    fn have_classes(&mut self) {
        if self.classes.is_none() {
            self.classes = Some(Packed::zeroes(self.pairs.len()));
        }
    }

    /// All classes hash alike: a rehash knows only the keys, and classes are few.
    #[inline(always)]
    fn prefetch(&self, pair: u64, _class: usize) {
        self.pairs.prefetch(pairs::hash(pair));
    }

    #[inline(always)]
    fn prefetch_next(&self, pair: u64) {
        self.pairs.prefetch_key(pairs::hash(pair));
    }

    fn find(&self, pair: u64, class: usize) -> Option<StateId> {
        self.look(pairs::hash(pair), pair, class).ok().map(StateId)
    }

    #[inline(always)]
    fn insert(
        &mut self,
        pair: u64,
        class: usize,
        limit: impl Fn() -> usize,
    ) -> Result<Inserted, StoreFull> {
        let hash = pairs::hash(pair);
        match self.look(hash, pair, class) {
            Ok(number) => Ok(Inserted { id: StateId(number), new: false }),
            Err(at) => {
                let room = limit().saturating_sub(self.bytes());
                if room < LEAST_ROOM {
                    return Err(StoreFull);
                }
                let number = self.pairs.add(at, hash, pair, room)?;
                if let Some(classes) = &mut self.classes {
                    classes.push(class as u64);
                }
                Ok(Inserted { id: StateId(number), new: true })
            }
        }
    }

    #[inline(always)]
    fn get(&self, number: StateId) -> Option<(u64, usize)> {
        let class = self.classes.as_ref().map_or(0, |classes| classes.get(number.index()) as usize);
        Some((self.pairs.key(number.0), class))
    }
}

/// Roots as a compressed set, and the last of them in a list.
#[derive(Debug)]
pub struct ClearyRoots {
    set: Cleary,
    /// The roots that wait, in pieces of [`PIECE`].
    waiting: VecDeque<Piece>,
    /// The number of the first.
    first: usize,
    /// Roots before this one are not waited for.
    released: usize,
}

/// Roots in the order of their numbers.
#[derive(Default, Debug)]
struct Piece {
    pairs: Packed,
    classes: Packed,
}

/// Waiting roots are forgotten so many at a time.
const PIECE: usize = 1 << 14;

impl ClearyRoots {
    /// An empty set. In a numbered one known roots have their numbers.
    pub(super) fn new(numbered: bool) -> Self {
        ClearyRoots { set: Cleary::new(numbered), waiting: VecDeque::new(), first: 0, released: 0 }
    }

    /// Nothing before this one has been, or will be, remembered.
    fn forget_all_before(&mut self, waiting: StateId) {
        self.released = waiting.index();
        self.first = waiting.index() / PIECE * PIECE;
    }

    #[inline(always)]
    fn remember(&mut self, number: usize, root: Root) {
        let Some(at) = number.checked_sub(self.first) else { return };
        if at / PIECE == self.waiting.len() {
            self.waiting.push_back(Piece::default());
        }
        if let Some(piece) = self.waiting.back_mut() {
            piece.pairs.push(root.pair);
            piece.classes.push(u64::from(root.class));
        }
    }
}

impl Roots for ClearyRoots {
    fn len(&self) -> usize {
        self.set.len()
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.set.bytes() + waiting_bytes(&self.waiting)
    }

    #[inline(always)]
    fn prefetch(&self, pair: u64, class: usize) {
        self.set.prefetch(Root { pair, class: class as u32 });
    }

    fn find(&self, pair: u64, class: usize) -> Option<StateId> {
        self.set.find(Root { pair, class: class as u32 })
    }

    #[inline(always)]
    fn insert(
        &mut self,
        pair: u64,
        class: usize,
        limit: impl Fn() -> usize,
    ) -> Result<Inserted, StoreFull> {
        let root = Root { pair, class: class as u32 };
        let waiting = &self.waiting;
        let room = |set: &Cleary| limit().saturating_sub(set.bytes() + waiting_bytes(waiting));
        let inserted = self.set.insert(root, room)?;
        if inserted.new {
            self.remember(inserted.id.index(), root);
        }
        Ok(inserted)
    }

    #[inline(always)]
    fn get(&self, number: StateId) -> Option<(u64, usize)> {
        let at = number.index().checked_sub(self.first)?;
        let piece = self.waiting.get(at / PIECE)?;
        let at = at % PIECE;
        (at < piece.pairs.len()).then(|| (piece.pairs.get(at), piece.classes.get(at) as usize))
    }

    fn release(&mut self, before: StateId) {
        self.released = self.released.max(before.index());
        while self.first + PIECE <= self.released && self.waiting.len() > 1 {
            self.waiting.pop_front();
            self.first += PIECE;
        }
    }

    fn settle(&mut self) -> bool {
        self.set.settle().is_ok()
    }

    fn fields(&self) -> usize {
        self.set.fields()
    }

    fn field(&self, pair: u64, class: usize) -> Option<usize> {
        self.set.field(Root { pair, class: class as u32 })
    }

    fn in_field(&self, field: usize) -> Option<(u64, usize)> {
        self.set.root(field).map(|root| (root.pair, root.class as usize))
    }
}

#[inline(always)]
fn waiting_bytes(pieces: &VecDeque<Piece>) -> usize {
    let of =
        |at: usize| pieces.get(at).map_or(0, |piece| piece.pairs.bytes() + piece.classes.bytes());
    // All whole ones are about as large as the newest of them.
    let whole = pieces.len().saturating_sub(1);
    whole * of(whole.saturating_sub(1)) + of(whole)
}
