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

impl Done {
    /// Changes the object and learns nothing from it.
    pub(super) const BLIND: Done =
        Done { result: 0, observed: 0, publish: Publish::Append, changed: true };

    /// Reads an object with this version.
    pub(super) fn sees(version: u64, result: u64) -> Done {
        Done { result, observed: version, publish: Publish::Nothing, changed: false }
    }
}
