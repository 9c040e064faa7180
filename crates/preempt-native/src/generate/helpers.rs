//! The functions that machine code calls, and the signatures of those it consists of.

use super::code::Parameter;
use super::cranelift::Helper;
use crate::execute::{promises, rendezvous, sequence, shape, undo_log};
use Parameter::{Address, Number};

/// In the order of [`HelperId`](super::scope::HelperId).
pub(crate) const HELPERS: [Helper; 13] = [
    helper("locate", shape::locate as *const u8, &[Address, Address, Number], Address),
    helper(
        "frame_of",
        shape::frame_of as *const u8,
        &[Address, Address, Number, Number, Number],
        Number,
    ),
    helper("remove", shape::remove as *const u8, &[Address, Number, Number, Number], Number),
    helper("make_room", shape::make_room as *const u8, &[Address, Number, Number, Number], Number),
    helper("first_own", shape::first_own as *const u8, &[Address, Address, Number], Number),
    helper("create", shape::create as *const u8, &[Address, Address, Number], Number),
    helper("length_of", shape::length_of as *const u8, &[Address, Address], Number),
    helper(
        "offer",
        rendezvous::offer as *const u8,
        &[Address, Address, Address, Number, Number, Number, Number],
        Number,
    ),
    helper(
        "note_messages",
        undo_log::note_messages as *const u8,
        &[Address, Address, Address, Number],
        Number,
    ),
    helper("record", undo_log::record as *const u8, &[Address, Address], Address),
    helper(
        "record_copy",
        undo_log::record_copy as *const u8,
        &[Address, Address, Address, Number],
        Address,
    ),
    helper(
        "run_sequence",
        sequence::run_sequence as *const u8,
        &[Address, Address, Address, Number, Number, Number],
        Number,
    ),
    helper(
        "broken_promise",
        promises::broken_promise as *const u8,
        &[Address, Address, Address, Number, Number, Number],
        Number,
    ),
];

const fn helper(
    name: &'static str,
    address: *const u8,
    parameters: &'static [Parameter],
    result: Parameter,
) -> Helper {
    Helper { name, address, parameters, result }
}

/// Parameters of [`ListMoves`](crate::execute::workspace::ListMoves).
pub(crate) const LIST: [Parameter; 5] = [Address, Address, Number, Number, Address];
/// Parameters of [`TakeMove`](crate::execute::workspace::TakeMove).
pub(crate) const TAKE: [Parameter; 5] = [Address, Address, Number, Number, Address];
/// Parameters of [`ListReplies`](crate::execute::workspace::ListReplies).
pub(crate) const REPLIES: [Parameter; 6] = [Address, Address, Number, Number, Address, Number];
