//! What nested depth-first search keeps of a state: its colour, and whether it is accepting.
//!
//! Colours as in Schwoon and Esparza: *cyan* is on the path of the first search, *blue* finished, *red*
//! cannot reach a cycle that was not reported; *white* was not visited yet. Bits from [`FREE`] on are for
//! each search to use.

pub(crate) const WHITE: u8 = 0;
pub(crate) const CYAN: u8 = 1;
pub(crate) const BLUE: u8 = 2;
pub(crate) const RED: u8 = 3;
/// The bits of the colour.
pub(crate) const COLOUR: u8 = 3;
/// An accepting state on the path.
pub(crate) const ACCEPTING: u8 = 4;
/// The first bit with no meaning yet.
pub(crate) const FREE: u32 = 3;
