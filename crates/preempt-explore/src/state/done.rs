//! What a visible operation did.

/// How the release side of an operation changes the version of its object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Publish {
    Nothing,
    /// A thread that reads from here on reads from this thread only.
    Replace,
    /// A thread that reads from here on reads from this thread and its predecessors.
    Append,
    /// A reader of a read-write lock lets go.
    Reader,
}

/// What an operation did.
pub(crate) struct Done {
    pub(crate) result: u64,
    /// Absorbed by the history.
    pub(crate) observed: u64,
    pub(super) publish: Publish,
    /// Whether others can find something else than before.
    pub(crate) changed: bool,
}
