//! The roots of a [tree](crate::store::Tree), one for each state: all that a state costs, as equal parts below them are shared.
//!
//! A list of all roots in the order of their numbers, and an index over it: nine or ten bytes each.

use crate::store::tree::packed::{Packed, Pairs};
use crate::store::tree::pairs::{self, Keys};
use crate::store::{Inserted, StateId, StoreFull};

/// Without so much memory no further root is accepted.
const LEAST_ROOM: usize = 1 << 12;

/// Roots with an index, and all in a list.
#[derive(Debug)]
pub(in crate::store) struct Roots {
    pairs: Pairs,
    /// The class of each, once there is more than one.
    classes: Option<Packed>,
}

impl Roots {
    pub(in crate::store) fn new() -> Self {
        Roots { pairs: Pairs::new(), classes: None }
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

    /// How many there are.
    pub(in crate::store) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Memory in use, in bytes.
    #[inline(always)]
    pub(in crate::store) fn bytes(&self) -> usize {
        self.pairs.bytes() + self.classes.as_ref().map_or(0, Packed::bytes)
    }

    /// There will be roots of more than one class.
    pub(in crate::store) fn have_classes(&mut self) {
        if self.classes.is_none() {
            self.classes = Some(Packed::zeroes(self.pairs.len()));
        }
    }

    /// Asks the processor to fetch what the insertion of a root reads first. All classes hash alike: a rehash knows only the
    /// keys, and classes are few.
    #[inline(always)]
    pub(in crate::store) fn prefetch(&self, pair: u64, _class: usize) {
        self.pairs.prefetch(pairs::hash(pair));
    }

    /// Asks the processor to fetch what it reads next.
    #[inline(always)]
    pub(in crate::store) fn prefetch_next(&self, pair: u64) {
        self.pairs.prefetch_key(pairs::hash(pair));
    }

    /// Looks for a root.
    pub(in crate::store) fn find(&self, pair: u64, class: usize) -> Option<StateId> {
        self.look(pairs::hash(pair), pair, class).ok().map(StateId)
    }

    /// Inserts a root. `limit` is how many bytes the set may take in all.
    #[inline(always)]
    pub(in crate::store) fn insert(
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

    /// The pair and the class of a root.
    #[inline(always)]
    pub(in crate::store) fn get(&self, number: StateId) -> (u64, usize) {
        let class = self.classes.as_ref().map_or(0, |classes| classes.get(number.index()) as usize);
        (self.pairs.key(number.0), class)
    }
}
