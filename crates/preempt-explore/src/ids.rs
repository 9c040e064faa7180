//! Threads and objects of the program under test, as small numbers. What they stand for is in `identity.rs`.

/// A thread of the program under test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

/// A shared object of the program under test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u32);

impl ThreadId {
    /// The thread that runs the body of the test.
    pub const MAIN: ThreadId = ThreadId(0);

    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ObjectId {
    /// No object.
    pub const NONE: ObjectId = ObjectId(u32::MAX);

    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
