//! What a step touches, the knowledge that partial-order reduction rests on.
//!
//! Shared things (variables, ends of channels, …) are *objects*, numbered by the system. Two
//! steps of different processes commute, and neither enables or disables the other, when no
//! object is written by one and read or written by the other.

/// A set of objects, as a bit set.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ObjectSet {
    words: Vec<u64>,
}

impl ObjectSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object; says whether it was new.
    pub fn insert(&mut self, object: usize) -> bool {
        let (word, bit) = (object / 64, 1 << (object % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Whether the object is in the set.
    pub fn contains(&self, object: usize) -> bool {
        self.words.get(object / 64).is_some_and(|w| w & (1 << (object % 64)) != 0)
    }

    /// Whether the two sets have an object in common.
    pub fn intersects(&self, other: &ObjectSet) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Whether all objects of `other` are in the set.
    pub fn contains_all(&self, other: &ObjectSet) -> bool {
        let mine = self.words.iter().chain(std::iter::repeat(&0));
        other.words.iter().zip(mine).all(|(theirs, mine)| theirs & !mine == 0)
    }

    /// Adds all objects of `other`; says whether any was new.
    pub fn union_with(&mut self, other: &ObjectSet) -> bool {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        let mut grew = false;
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            grew |= b & !*a != 0;
            *a |= b;
        }
        grew
    }

    /// No object at all.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    /// The objects, in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, word)| {
            (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| i * 64 + bit)
        })
    }
}

impl Extend<usize> for ObjectSet {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, objects: I) {
        for object in objects {
            self.insert(object);
        }
    }
}

impl FromIterator<usize> for ObjectSet {
    fn from_iter<I: IntoIterator<Item = usize>>(objects: I) -> Self {
        let mut set = ObjectSet::new();
        set.extend(objects);
        set
    }
}

/// What a step, or all that a process may still do, reads and writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Objects whose value decides whether the step is enabled or what it does.
    pub reads: ObjectSet,
    /// Objects that the step may change.
    pub writes: ObjectSet,
}

impl Footprint {
    /// Whether the two can be swapped, and no process can tell.
    pub fn commutes_with(&self, other: &Footprint) -> bool {
        !self.writes.intersects(&other.writes)
            && !self.writes.intersects(&other.reads)
            && !self.reads.intersects(&other.writes)
    }

    /// Touches nothing shared.
    pub fn is_local(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty()
    }

    /// Adds what `other` touches; says whether anything was new.
    pub fn absorb(&mut self, other: &Footprint) -> bool {
        let reads = self.reads.union_with(&other.reads);
        self.writes.union_with(&other.writes) || reads
    }
}

/// How far the present steps of a process stay out of the others' way, judged per state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Locality {
    /// Some step touches what others may touch.
    Shared,
    /// Every step commutes with all that others can do until one of these is taken, though it
    /// may enable others (a send by a channel's only sender, say).
    Safe,
    /// Every step touches data of its own process only, and cannot enable or disable a step of another.
    Local,
}
