//! Which states of a property automaton are possible in a state of the system that was not visited yet.
//!
//! Threads that expand states ahead of a search should not leave what the search is going to see: behind a state where the
//! automaton has no move the system may go on for ever. So with each state that waits goes a set of automaton states that
//! is known to be possible there. It need not be all of them. Sets are numbered as they are met, as in a subset construction.
//!
//! Invariant: whatever is in a set is possible: the search visits the system's state with it, unless it ends before.

use crate::platform::sync::{Mutex, PoisonError};
use crate::property::Property;
use std::collections::HashMap;

/// The number of a set.
pub(super) type Subset = u32;
/// The empty one.
pub(super) const NOTHING: Subset = 0;
/// From so many on, new sets are represented by one of their members.
const MOST: usize = 1 << 12;

/// All sets, for all threads.
pub(super) struct Possible<'a> {
    property: &'a dyn Property,
    sets: Mutex<Sets>,
}

#[derive(Default)]
struct Sets {
    members: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, Subset>,
}

impl Sets {
    fn number(&mut self, mut set: Vec<u32>) -> Subset {
        if set.is_empty() {
            return NOTHING;
        }
        set.sort_unstable();
        set.dedup();
        if let Some(&known) = self.numbers.get(&set) {
            return known;
        }
        if self.members.len() >= MOST && set.len() > 1 {
            set.truncate(1);
            return self.number(set);
        }
        self.members.push(set.clone());
        let number = self.members.len() as Subset;
        self.numbers.insert(set, number);
        number
    }
}

impl<'a> Possible<'a> {
    pub(super) fn new(property: &'a dyn Property) -> Self {
        Possible { property, sets: Mutex::default() }
    }

    /// A thread's own view of it.
    pub(super) fn local(&self) -> Known<'_> {
        Known { all: self, single: HashMap::new(), next: HashMap::new() }
    }
}

/// What one thread has asked for already.
pub(super) struct Known<'a> {
    all: &'a Possible<'a>,
    single: HashMap<u32, Subset>,
    next: HashMap<(Subset, u32), Subset>,
}

impl Known<'_> {
    /// The set of one state, by the automaton's own name.
    pub(super) fn single(&mut self, name: u32) -> Subset {
        let all = self.all;
        *self.single.entry(name).or_insert_with(|| {
            all.sets.lock().unwrap_or_else(PoisonError::into_inner).number(vec![name])
        })
    }

    /// What is possible after a letter was read.
    #[inline]
    pub(super) fn after(&mut self, set: Subset, letter: u32) -> Subset {
        match (set, self.next.get(&(set, letter))) {
            (NOTHING, _) => NOTHING,
            (_, Some(&known)) => known,
            _ => self.ask(set, letter),
        }
    }

    #[cold]
    fn ask(&mut self, set: Subset, letter: u32) -> Subset {
        let Some(reader) = self.all.property.reader() else { return NOTHING };
        let mut sets = self.all.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Vec::new();
        for &state in &sets.members[set as usize - 1] {
            reader.read(state, u64::from(letter), &mut |to| next.push(to));
        }
        let number = sets.number(next);
        self.next.insert((set, letter), number);
        number
    }
}
