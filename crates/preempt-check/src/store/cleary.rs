//! A set of pairs of numbers in two to three bytes each, which grows without a pause.
//!
//! The pairs are the roots of a [tree](super::ClearyTree). They lie in a table of [`Quotients`]: a pair takes as many bits as its
//! two numbers need, less what its place in the table says. With 10⁷ roots of 16 and 18 bits that is 13 or 14 bits of the 34.
//!
//! **Growth.** A table that gets crowded, or whose keys become too wide, gets a successor. With each insertion the keys of one
//! bucket are moved, in the order of buckets, so that it is known of every key which of the tables it is in: the first one in
//! which its own bucket was not moved yet. As both tables are in the order of the permuted keys, the new one fills from its
//! beginning while the memory of the old one is given back from its beginning: at no time are there two whole tables. (Only
//! when keys become wider all of them get other places. That happens about once per doubling of the numbers.)
//!
//! Invariant: a key is in no table but the one that [`Cleary::place`] says.

use super::packed::bits_of;
use super::quotients::{FIELDS, Home, Quotients};
use super::{Inserted, StateId, StoreFull};

/// A pair of numbers as `left << 32 | right`, and the class of states it is the root of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Root {
    pub(super) pair: u64,
    pub(super) class: u32,
}

/// A set of roots.
#[derive(Debug)]
pub(super) struct Cleary {
    /// The oldest first. Keys go from the first to those behind it.
    tables: Vec<Table>,
    count: usize,
    /// With so many keys it is time for a larger table.
    grow_at: usize,
    /// Whether each key has its number beside it.
    numbered: bool,
    /// Whether some keys of the bucket that is moved next are in two tables.
    is_torn: bool,
    /// How many keys were moved so far, and how often everything was because keys were not spread evenly.
    #[cfg(test)]
    moves: usize,
    #[cfg(test)]
    rebuilds: usize,
}

#[derive(Debug)]
struct Table {
    shape: Shape,
    quotients: Quotients,
    /// The keys of so many buckets were moved.
    moved: usize,
    /// So many bytes at the beginning were given back.
    released: usize,
}

/// How many bits the parts of a key have, and how keys are spread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Shape {
    seed: u64,
    class: u32,
    left: u32,
    right: u32,
}

const FIRST_BUCKETS: usize = 16;
/// Tables of so many buckets are moved in one go: at first numbers become wider with every few keys.
const SMALL: usize = 32;
/// Bits for further classes, when there is a new one.
const CLASSES: u32 = 3;
/// A new table has buckets for so many keys each.
const FULL: usize = 52;
/// One insertion in so many looks whether there is memory left.
const SELDOM: usize = 256;
/// Memory is given back in pieces of at least so many bytes.
const PIECE: usize = 4 << 20;

impl Shape {
    /// The bits of keys.
    fn bits(self) -> u32 {
        self.class + self.left + self.right
    }

    /// A key as one number, if it fits.
    #[inline(always)]
    fn pack(self, root: Root) -> Option<u64> {
        let (left, right) = (root.pair >> 32, root.pair & u64::from(u32::MAX));
        let class = u64::from(root.class);
        let fits = left >> self.left | right >> self.right | class >> self.class == 0;
        fits.then(|| (class << self.left | left) << self.right | right)
    }

    fn unpack(self, key: u64) -> Root {
        let low = |value: u64, bits: u32| value & ((1 << bits) - 1);
        let left = key >> self.right;
        let pair = low(left, self.left) << 32 | low(key, self.right);
        Root { pair, class: (left >> self.left) as u32 }
    }

    /// One in which this root fits, too.
    fn with(self, root: Root) -> Self {
        Shape {
            seed: self.seed,
            class: match bits_of(root.class.into()) {
                bits if bits <= self.class => self.class,
                // Where states have several lengths, more of them follow soon.
                bits => bits + CLASSES,
            },
            left: self.left.max(bits_of(root.pair >> 32)),
            right: self.right.max(bits_of(root.pair & u64::from(u32::MAX))),
        }
    }
}

impl Cleary {
    /// An empty set. In a numbered one it is known of each key as which it was inserted.
    pub(super) fn new(numbered: bool) -> Self {
        Cleary::with_room(numbered, 0, &mut std::iter::empty())
    }

    /// An empty set with room for these roots, of which there are `count`.
    pub(super) fn with_room(
        numbered: bool,
        count: usize,
        roots: &mut dyn Iterator<Item = Root>,
    ) -> Self {
        let shape = roots.fold(Shape::default(), Shape::with);
        let table = Table::new(shape, FIRST_BUCKETS.max(count / FULL + 1), numbered);
        let grow_at = table.quotients.grow_at();
        Cleary {
            tables: vec![table],
            count: 0,
            grow_at,
            numbered,
            is_torn: false,
            #[cfg(test)]
            moves: 0,
            #[cfg(test)]
            rebuilds: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let old = self.tables.iter().rev().skip(1);
        let old: usize = old.map(|table| table.quotients.bytes() - table.released).sum();
        old + self.newest_bytes()
    }

    /// Of the newest table the part that was written to.
    fn newest_bytes(&self) -> usize {
        let Some(newest) = self.tables.last() else { return 0 };
        let all = newest.quotients.bytes();
        match &self.tables[..] {
            [old, _] if old.shape == newest.shape => {
                let (from, to) = (old.quotients.buckets(), newest.quotients.buckets());
                let begun = (old.moved as u128 * to as u128).div_ceil(from.max(1) as u128);
                (newest.quotients.bytes_up_to(begun as usize) + PIECE).min(all)
            }
            _ => all,
        }
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, root: Root) {
        if let Some((table, home)) = self.place(root) {
            self.tables[table].quotients.prefetch(home);
        }
    }

    /// The table that a root belongs to, and where in it; `None` if it fits into none.
    #[inline(always)]
    fn place(&self, root: Root) -> Option<(usize, Home)> {
        for (at, table) in self.tables.iter().enumerate() {
            if let Some(key) = table.shape.pack(root) {
                let home = table.quotients.home(key);
                if home.bucket >= table.moved {
                    return Some((at, home));
                }
            }
        }
        None
    }

    /// Looks for a root: its number, [`StateId::UNKNOWN`] in a set without.
    pub(super) fn find(&self, root: Root) -> Option<StateId> {
        let (table, home) = self.place(root)?;
        let field = self.tables[table].quotients.find(home)?;
        Some(self.number(table, field))
    }

    #[inline(always)]
    fn number(&self, table: usize, field: usize) -> StateId {
        match self.numbered {
            true => StateId(self.tables[table].quotients.number(field) as u32),
            false => StateId::UNKNOWN,
        }
    }

    /// Inserts a root. `room` is how many bytes the set may still grow by.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        root: Root,
        room: impl Fn(&Self) -> usize,
    ) -> Result<Inserted, StoreFull> {
        let Some((table, home)) = self.place(root) else {
            return self.insert_wider(root, room(self));
        };
        if let Some(field) = self.tables[table].quotients.find(home) {
            return Ok(Inserted { id: self.number(table, field), new: false });
        }
        if self.count < self.grow_at
            && self.tables.len() == 1
            && (!self.count.is_multiple_of(SELDOM) || room(self) > 0)
            && let Some(inserted) = self.put(table, home)
        {
            return Ok(inserted);
        }
        self.insert_and_move(root, room(self))
    }

    /// Puts in a key that is not there, if there is room for it in its neighbourhood.
    #[inline(always)]
    fn put(&mut self, table: usize, home: Home) -> Option<Inserted> {
        let number = if self.numbered { self.count as u64 } else { 0 };
        let quotients = &mut self.tables[table].quotients;
        if !quotients.takes(number) || !quotients.put(home, number) {
            return None;
        }
        let id = StateId(self.count as u32);
        self.count += 1;
        Some(Inserted { id, new: true })
    }

    /// Inserts a root that is not there while keys are moved, or when that must begin.
    #[cold]
    #[inline(never)]
    fn insert_and_move(&mut self, root: Root, room: usize) -> Result<Inserted, StoreFull> {
        if self.count >= u32::MAX as usize || room == 0 {
            return Err(StoreFull);
        }
        if let [only] = &self.tables[..]
            && self.count >= self.grow_at
        {
            let (shape, buckets) = (only.shape, only.quotients.buckets());
            // Without room for a larger table this one is filled to the last.
            let _ = self.begin(shape, buckets + (buckets / 4).max(FIRST_BUCKETS), room);
        }
        self.move_bucket(room)?;
        loop {
            let Some((table, home)) = self.place(root) else { return Err(StoreFull) };
            match self.put(table, home) {
                Some(inserted) => return Ok(inserted),
                None => self.rebuild(room)?,
            }
        }
    }

    /// Inserts a root that is too wide for all tables.
    #[cold]
    fn insert_wider(&mut self, root: Root, room: usize) -> Result<Inserted, StoreFull> {
        let Some(newest) = self.tables.last() else { return Err(StoreFull) };
        let shape = newest.shape.with(root);
        let buckets = newest.quotients.buckets().max(self.count / FULL + 1).max(FIRST_BUCKETS);
        let before = self.bytes();
        if self.begin(shape, buckets, room).is_err() {
            // Old tables that are on the way to be left may be in the way of a new one.
            self.settle()?;
            self.begin(shape, buckets, room + before.saturating_sub(self.bytes()))?;
        }
        self.insert_and_move(root, room)
    }

    /// Begins to move to a table of this shape.
    fn begin(&mut self, shape: Shape, buckets: usize, room: usize) -> Result<(), StoreFull> {
        let Some(newest) = self.tables.last() else { return Err(StoreFull) };
        // Of the old one is given back what the new one takes, a piece later.
        let is_replaced = self.tables.len() == 1 && shape == newest.shape;
        let given_back = if is_replaced { newest.quotients.bytes() } else { 0 };
        let room = room.max(room.saturating_add(given_back).saturating_sub(2 * PIECE));
        let table = Table::within(shape, buckets, self.numbered, room)?;
        self.grow_at = table.quotients.grow_at();
        let is_small = newest.quotients.buckets() <= SMALL;
        self.tables.push(table);
        if is_small { self.settle() } else { Ok(()) }
    }

    /// Moves the keys of one bucket of the oldest table, if there are several.
    fn move_bucket(&mut self, room: usize) -> Result<(), StoreFull> {
        let [oldest, newer @ ..] = &mut self.tables[..] else { return Ok(()) };
        if newer.is_empty() {
            return Ok(());
        }
        let (mut all, is_torn) = (true, self.is_torn);
        oldest.each_of_bucket(oldest.moved, |key| {
            all &= add(newer, key, is_torn);
            #[cfg(test)]
            {
                self.moves += 1;
            }
        });
        self.is_torn = !all;
        if !all {
            // What was moved of this bucket is still looked for in the old table, so that nothing has changed.
            return self.rebuild(room);
        }
        oldest.moved += 1;
        if oldest.moved == oldest.quotients.buckets() {
            self.tables.remove(0);
        } else if oldest.quotients.bytes_up_to(oldest.moved) >= oldest.released + PIECE {
            oldest.released = oldest.quotients.release(oldest.moved, oldest.released);
        }
        Ok(())
    }

    /// Moves everything to a table that spreads keys differently. For keys that are not spread evenly, which nobody has met: this
    /// takes its time.
    #[cold]
    fn rebuild(&mut self, room: usize) -> Result<(), StoreFull> {
        let Some(newest) = self.tables.last() else { return Err(StoreFull) };
        let (mut shape, mut buckets) = (newest.shape, newest.quotients.buckets());
        #[cfg(test)]
        {
            self.rebuilds += 1;
        }
        loop {
            shape.seed += 1;
            buckets += buckets / 4;
            let mut larger = [Table::within(shape, buckets, self.numbered, room)?];
            let mut all = true;
            for table in &self.tables {
                for bucket in table.moved..table.quotients.buckets() {
                    table.each_of_bucket(bucket, |key| all &= add(&mut larger, key, true));
                }
            }
            if all {
                self.tables = Vec::from(larger);
                self.grow_at = self.tables[0].quotients.grow_at();
                self.is_torn = false;
                return Ok(());
            }
        }
    }

    /// Moves everything that is on the way.
    pub(super) fn settle(&mut self) -> Result<(), StoreFull> {
        while self.tables.len() > 1 {
            self.move_bucket(usize::MAX)?;
        }
        Ok(())
    }

    /// How many fields there are, once the set [is settled](Self::settle).
    pub(super) fn fields(&self) -> usize {
        self.tables.last().map_or(0, |table| table.quotients.fields())
    }

    /// The field of a root in a settled set.
    pub(super) fn field(&self, root: Root) -> Option<usize> {
        let table = self.tables.last()?;
        table.quotients.find(table.quotients.home(table.shape.pack(root)?))
    }

    /// The root in a field of a settled set.
    pub(super) fn root(&self, field: usize) -> Option<Root> {
        let table = self.tables.last()?;
        table.quotients.key(field).map(|key| table.shape.unpack(key))
    }
}

impl Table {
    fn new(shape: Shape, buckets: usize, numbered: bool) -> Self {
        let number_bits = number_bits(buckets, numbered);
        let quotients = Quotients::new(shape.bits(), shape.seed, buckets, number_bits);
        Table { shape, quotients, moved: 0, released: 0 }
    }

    /// The same, if it takes no more than `room` bytes.
    fn within(
        shape: Shape,
        buckets: usize,
        numbered: bool,
        room: usize,
    ) -> Result<Self, StoreFull> {
        if shape.bits() > u64::BITS {
            return Err(StoreFull);
        }
        let number_bits = number_bits(buckets, numbered);
        let bytes = Quotients::bytes_of(shape.bits(), buckets, number_bits);
        if bytes > room {
            return Err(StoreFull);
        }
        Ok(Table::new(shape, buckets, numbered))
    }

    /// Calls `each` for the keys that belong to a bucket.
    #[inline(always)]
    fn each_of_bucket(&self, bucket: usize, mut each: impl FnMut(Moved<'_>)) {
        self.quotients.each_of_bucket(bucket, |permuted, number| {
            each(Moved { table: self, permuted, number });
        });
    }
}

/// A key that is moved.
#[derive(Clone, Copy)]
struct Moved<'a> {
    /// Where it was.
    table: &'a Table,
    permuted: u64,
    number: u64,
}

impl Moved<'_> {
    /// Where it belongs in a table, if it fits.
    #[inline(always)]
    fn home_in(self, table: &Table) -> Option<Home> {
        if self.table.shape == table.shape {
            return Some(table.quotients.home_of_permuted(self.permuted));
        }
        let key = self.table.quotients.unpermuted(self.permuted);
        Some(table.quotients.home(table.shape.pack(self.table.shape.unpack(key))?))
    }
}

/// Adds a key to the first of these tables where its bucket was not moved. Says whether there was room. Where it may be there
/// already that is looked at first.
#[inline(always)]
fn add(tables: &mut [Table], key: Moved<'_>, may_be_there: bool) -> bool {
    for table in tables {
        let Some(home) = key.home_in(table) else { continue };
        if home.bucket < table.moved {
            continue;
        }
        let is_there = may_be_there && table.quotients.find(home).is_some();
        return is_there || table.quotients.put(home, key.number);
    }
    false
}

/// Bits for the numbers of keys in a table of so many buckets.
fn number_bits(buckets: usize, numbered: bool) -> usize {
    match numbered {
        true => bits_of((buckets as u64 + 16).saturating_mul(FIELDS as u64)) as usize,
        false => 0,
    }
}

#[cfg(test)]
mod tests;
