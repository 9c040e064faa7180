//! What nested depth-first search keeps of a state: its colour, and whether it is accepting.
//!
//! Colours as in Schwoon and Esparza: *cyan* is on the path of the first search, *blue* finished, *red*
//! cannot reach a cycle that was not reported; *white* was not visited yet. Bits from [`FREE`] on are for
//! each search to use.

pub(super) const WHITE: u8 = 0;
pub(super) const CYAN: u8 = 1;
pub(super) const BLUE: u8 = 2;
pub(super) const RED: u8 = 3;
/// The bits of the colour.
pub(super) const COLOUR: u8 = 3;
/// An accepting state on the path.
pub(super) const ACCEPTING: u8 = 4;
/// The first bit with no meaning yet.
pub(super) const FREE: u32 = 3;
