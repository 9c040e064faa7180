//! The objects of a state, cheap to copy however many there are.
//!
//! A search copies states all the time, and a test may make thousands of objects of which it uses a
//! few (a slab with 4,096 shards). The first objects are a plain vector; the others come in
//! blocks that copies of a state share until one of them writes. A state that is never copied keeps all of them in the
//! vector.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// One object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Object {
    /// A number, the holder of a lock, the length of a channel, …
    pub value: u64,
    /// Hash of the history of the last release or write.
    pub(crate) version: u64,
    /// Hash of the histories of readers since (read-write locks), or a snapshot (barriers).
    pub(crate) readers: u64,
    pub(crate) last_write: u64,
    pub(crate) reads: u64,
    pub(crate) changes: u32,
    pub(crate) releases: u32,
}

/// Objects that are copied rather than shared: most tests have no more, and copying so few is
/// cheaper than counting references.
const NEAR: usize = 128;
/// Objects per shared block.
const BLOCK: usize = 64;

/// All objects, by number.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    near: Vec<Object>,
    /// How many are in `near`, at most.
    most_near: usize,
    far: Vec<Arc<[Object; BLOCK]>>,
    /// Number of objects; the last block may have room for more.
    count: usize,
}

impl Default for Objects {
    fn default() -> Self {
        Objects { near: Vec::new(), most_near: NEAR, far: Vec::new(), count: 0 }
    }
}

impl Objects {
    /// No objects yet, and none of them will be shared.
    pub(crate) fn unshared() -> Self {
        Objects { most_near: usize::MAX, ..Objects::default() }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Object> {
        (index < self.count).then(|| &self[index])
    }

    /// Forgets all objects but keeps the memory of the near ones.
    pub(crate) fn clear(&mut self) {
        self.near.clear();
        self.far.clear();
        self.count = 0;
    }

    /// Makes room for at least so many objects, new ones with default values.
    pub(crate) fn grow(&mut self, count: usize) {
        if count <= self.count {
            return;
        }
        self.count = count;
        self.near.resize(count.min(self.most_near), Object::default());
        let blocks = count.saturating_sub(self.most_near).div_ceil(BLOCK);
        while self.far.len() < blocks {
            self.far.push(Arc::new([Object::default(); BLOCK]));
        }
    }

    #[inline(never)]
    fn far_mut(&mut self, index: usize) -> &mut Object {
        let far = index - self.most_near;
        &mut Arc::make_mut(&mut self.far[far / BLOCK])[far % BLOCK]
    }

    #[inline(never)]
    fn far(&self, index: usize) -> &Object {
        let far = index - self.most_near;
        &self.far[far / BLOCK][far % BLOCK]
    }

    /// As the derived `clone_from`, which would allocate.
    pub(crate) fn copy_from(&mut self, source: &Self) {
        self.near.clone_from(&source.near);
        self.most_near = source.most_near;
        self.far.clone_from(&source.far);
        self.count = source.count;
    }
}

impl Index<usize> for Objects {
    type Output = Object;

    #[inline(always)]
    fn index(&self, index: usize) -> &Object {
        if index < self.near.len() { &self.near[index] } else { self.far(index) }
    }
}

impl IndexMut<usize> for Objects {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut Object {
        if index < self.near.len() { &mut self.near[index] } else { self.far_mut(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_do_not_see_each_others_writes() {
        let mut first = Objects::default();
        let many = NEAR + 3 * BLOCK + 5;
        first.grow(many);
        for index in 0..many {
            first[index].value = index as u64;
        }
        let mut second = Objects::default();
        second.copy_from(&first);
        for index in (0..many).step_by(7) {
            second[index].value += 1000;
        }
        assert_eq!(second.count, many);
        for index in 0..many {
            assert_eq!(first[index].value, index as u64);
            let added = if index % 7 == 0 { 1000 } else { 0 };
            assert_eq!(second.get(index).map(|o| o.value), Some(index as u64 + added));
        }
        assert!(first.get(many).is_none());
        second.clear();
        second.grow(NEAR + 1);
        assert!((0..=NEAR).all(|index| second[index].value == 0));
    }
}
