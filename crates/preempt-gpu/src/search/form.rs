//! How the states of a search lie in a card's memory: whole, or folded into roots and nodes.

use preempt_native::card::CardCode;

/// When states are folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Folds {
    #[cfg_attr(not(test), allow(dead_code))]
    Never,
    /// If more of them have room then.
    IfItPays,
    #[cfg_attr(not(test), allow(dead_code))]
    Always,
}

/// How the states of a search lie.
pub(super) enum Form<'d> {
    /// Whole; they can be folded by the kernels that this makes.
    Whole(Folds, &'d dyn Fn() -> Option<CardCode>),
    /// Whole for good.
    Kept,
    /// As roots and nodes.
    Folded(Folded),
}

/// Where the nodes of folded states lie.
#[derive(Clone, Copy)]
pub(super) struct Folded {
    pub(super) nodes: u64,
    pub(super) staging: Region,
}

/// A part of the card's memory.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) at: u64,
    pub(super) bytes: u64,
}
