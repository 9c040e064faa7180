//! The rule by which ample sets are chosen.

/// Which product state decides the ample set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// The one after the property has moved, as in Spin.
    V0,
    /// The one before.
    V1,
}
