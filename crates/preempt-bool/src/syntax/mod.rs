//! The text of a Boolean program: tokens, trees, and back to text.

pub(crate) mod ast;
mod expression;
mod lexer;
mod parser;
pub(crate) mod print;

pub(crate) use parser::{parse_expression, parse_module};

/// Which family of tools a file was written for. They share most of the language and disagree on
/// how tightly `=` binds and on what an identifier may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Dialect {
    /// SLAM, Bebop, Moped, Getafix: `a = b & c` is `(a = b) & c`.
    #[default]
    Slam,
    /// SatAbs and Boppo: `a = b & c` is `a = (b & c)`; identifiers may contain `#` and `-`.
    Boppo,
    /// BoPP, CUBA and ijit: as Boppo, with numbers for labels.
    Bopp,
}
