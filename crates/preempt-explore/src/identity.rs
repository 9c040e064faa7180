//! Names of threads and objects that mean the same in every execution.
//!
//! A thread is the n-th one its parent spawned, an object the n-th one its creator made. Neither
//! addresses nor a global counter may enter: they differ between executions that are the same
//! partial order, and then one graph would be counted twice.
//!
//! Names are interned to small numbers, once per exploration, so that a state can be a flat
//! vector. Workers that explore in parallel share the table.

use crate::cuts::{Cut, Cuts};
use crate::ids::{ObjectId, ThreadId};
use crate::loops::{Conduct, Loops, Was};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
struct Interned {
    numbers: FxHashMap<(u32, u32), u32>,
}

impl Interned {
    fn number(&mut self, creator: u32, index: u32, first: u32) -> u32 {
        let next = self.numbers.len() as u32 + first;
        *self.numbers.entry((creator, index)).or_insert(next)
    }
}

#[derive(Default)]
struct Shared {
    threads: Interned,
    objects: Interned,
    loops: Arc<Loops>,
}

/// The interned names, with a private copy per worker so that the shared table is rarely locked.
#[derive(Clone, Default)]
pub struct Names {
    shared: Arc<Mutex<Shared>>,
    cuts: Arc<Cuts>,
    threads: Vec<Vec<u32>>,
    objects: Vec<Vec<u32>>,
}

impl Names {
    /// What is known about loops that yield.
    pub(crate) fn loops(&self) -> Arc<Loops> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).loops.clone()
    }

    /// Notes how a loop behaves. Executions that have begun do not know it yet.
    pub(crate) fn set_loop(&self, key: u64, when: Vec<Was>, conduct: Conduct) {
        if matches!(conduct, Conduct::GivesUp(_)) {
            self.note_cut(Cut::Rounds);
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut shared.loops).insert(key, when, conduct);
    }

    /// Notes that something is not explored.
    pub(crate) fn note_cut(&self, cut: Cut) {
        self.cuts.note(cut);
    }

    /// Whether something was not explored, in any execution with these names.
    pub fn has_cut(&self, cut: Cut) -> bool {
        self.cuts.contains(cut)
    }

    /// How many threads and objects have names.
    pub fn count(&self) -> usize {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.threads.numbers.len() + shared.objects.numbers.len()
    }

    /// The `index`-th thread spawned by `parent`.
    pub fn thread(&mut self, parent: ThreadId, index: u32) -> ThreadId {
        let known = row(&mut self.threads, parent);
        while known.len() <= index as usize {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            known.push(shared.threads.number(parent.0, known.len() as u32, 1));
        }
        ThreadId(known[index as usize])
    }

    /// The `index`-th object created by `creator`.
    pub fn object(&mut self, creator: ThreadId, index: u32) -> ObjectId {
        let known = row(&mut self.objects, creator);
        while known.len() <= index as usize {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            known.push(shared.objects.number(creator.0, known.len() as u32, 0));
        }
        ObjectId(known[index as usize])
    }
}

fn row(table: &mut Vec<Vec<u32>>, thread: ThreadId) -> &mut Vec<u32> {
    if table.len() <= thread.index() {
        table.resize_with(thread.index() + 1, Vec::new);
    }
    &mut table[thread.index()]
}
