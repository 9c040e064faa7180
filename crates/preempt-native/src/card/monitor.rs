//! A property that runs beside the model on a card: an automaton as a table, and what the kernel does with it.
//!
//! The last byte of a state is the automaton's. What it reads of a state is a *letter*, a bit for each proposition. The table has
//! a list for each of its states and letters: how many mistakes there are, where the automaton moves alone, and where it moves
//! together with the model. The kernel takes all steps of the model once for each of the latter; where nothing can move, the
//! state repeats for ever and the automaton moves alone.
//!
//! **Invariant:** states and steps are those of the product on the processor (`preempt-check/src/property/product.rs`). Inside
//! an indivisible sequence the automaton rests.

use super::layout::{Counter, counter};
use crate::generate::ptx::{Callee, call_text};
use std::fmt::Write;

/// An automaton as a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Monitor {
    /// The propositions that it reads, by number in the program; the first one is the lowest bit of a letter.
    pub propositions: Vec<usize>,
    /// By state and letter (`state << propositions | letter`) what it does.
    pub moves: Vec<MonitorMoves>,
}

/// What an automaton does in one of its states when it reads a letter.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct MonitorMoves {
    /// How many of its own steps are mistakes.
    pub mistakes: u8,
    /// Where its own steps lead.
    pub alone: Vec<u8>,
    /// Where it goes when the model takes a step.
    pub targets: Vec<u8>,
}

impl MonitorMoves {
    pub(super) fn bytes(&self) -> impl Iterator<Item = u8> {
        let head = [self.mistakes, self.alone.len() as u8, self.targets.len() as u8];
        head.into_iter().chain(self.alone.iter().chain(&self.targets).copied())
    }
}

/// What the kernel knows of a monitor.
pub(super) struct Observed<'a> {
    /// Where the table begins.
    pub(super) table: u32,
    /// The functions that evaluate the propositions.
    pub(super) propositions: &'a [Callee],
    pub(super) stride: u32,
}

pub(super) const REGISTERS: &str =
    "\t.reg .b64 list;\n\t.reg .b32 own, letter, left, targets, mistakes;\n\t.reg .pred held;\n";

/// Where the automaton has no move, the steps of the model are looked at only to see whether there are any.
pub(super) const BEFORE_HEADERS: &str = "\t@held mov.b32 found, 0;\n";

/// Where the automaton has a move, it moves alone in a state that repeats for ever.
pub(super) const BEFORE_REPEATING: &str = "\t@held bra $ITEM_END;\n";

/// Where preemptions are counted: no process can go on if the automaton has no move.
pub(super) const IS_HELD: &str = "\t@held bra $DECIDED;\n";

/// Begins with the automaton's own steps; each of them is inserted by what follows.
pub(super) fn own_moves() -> String {
    format!(
        "\tsetp.eq.s32 test, mistakes, 0;\n\t@test bra $NO_MISTAKE;\n\
         \tcvt.u64.u32 wide, mistakes;\n\tadd.s64 errors, errors, wide;\n\tatom.global.min.u64 wide, [counters+{}], number;\n\
         $NO_MISTAKE:\n$ALONE:\n\tsetp.eq.s32 test, left, 0;\n\t@test bra $MOVE;\n\
         \tld.global.u8 own, [list+0];\n\tadd.s64 list, list, 1;\n\tsub.s32 left, left, 1;\n",
        counter(Counter::Erroneous),
    )
}

/// Notes that the automaton has no move where the model has one.
pub(super) fn note_cut() -> String {
    format!(
        "\tmov.b32 narrow, 0;\n\t@held mov.b32 narrow, all;\n\tsetp.eq.s32 test, narrow, 0;\n\t@test bra $NOT_CUT;\n\
         \tmov.b64 wide, 1;\n\tst.global.b64 [counters+{}], wide;\n$NOT_CUT:\n",
        counter(Counter::Cut)
    )
}

impl Observed<'_> {
    /// Reads the letter, and what the automaton does.
    pub(super) fn letter(&self) -> String {
        let mut text = format!(
            "\tld.u8 own, [current+{}];\n\tshl.b32 letter, own, {};\n",
            self.stride - 1,
            self.propositions.len()
        );
        for (bit, proposition) in self.propositions.iter().enumerate() {
            text.push_str(&call_text(proposition, &["current".into()], "found"));
            let _ = writeln!(
                text,
                "\tsetp.gt.u32 test, found, 1;\n\t@test bra $ASK;\n\tshl.b32 found, found, {bit};\n\tor.b32 letter, letter, found;"
            );
        }
        let _ = writeln!(
            text,
            "\tmul.wide.u32 wide, letter, 4;\n\tadd.s64 place, table, wide;\n\tld.global.b32 narrow, [place+{}];\n\
             \tcvt.u64.u32 wide, narrow;\n\tadd.s64 list, table, wide;\n\
             \tld.global.u8 mistakes, [list+0];\n\tld.global.u8 left, [list+1];\n\tld.global.u8 targets, [list+2];\n\
             \tadd.s64 list, list, 3;\n\tsetp.eq.s32 held, targets, 0;",
            self.table,
        );
        text
    }

    /// Goes on to the next of the automaton's own steps, and behind these to the first one that it takes together with the model.
    pub(super) fn next_move(&self) -> String {
        "\tbra $ALONE;\n$MOVE:\n\t@held bra $ITEM;\n\
         \tld.global.u8 own, [list+0];\n\tadd.s64 list, list, 1;\n\tsub.s32 targets, targets, 1;\n"
            .into()
    }

    /// Behind the steps that the model takes with one move of the automaton: has it take them once more if there is another.
    pub(super) fn further_moves(&self) -> String {
        "$MOVE_END:\n\t@held bra $OVER;\n\tsetp.eq.s32 test, targets, 0;\n\t@test bra $OVER;\n\
         \tmov.b32 depth, 0;\n\tmov.b32 inner, 0;\n\tmov.b32 timeout, 0;\n"
            .into()
    }
}
