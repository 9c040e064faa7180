//! A declared name: what it stands for, where, and where it is visible.

use std::ops::Range;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Macro,
    Inline,
    Proctype,
    Variable,
    Parameter,
    Constant,
    Structure,
    Field,
    Label,
    Property,
}

impl Class {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Macro => "macro",
            Class::Inline => "inline",
            Class::Proctype => "process type",
            Class::Variable => "variable",
            Class::Parameter => "parameter",
            Class::Constant => "symbolic constant",
            Class::Structure => "structure",
            Class::Field => "field",
            Class::Label => "label",
            Class::Property => "property",
        }
    }
}

/// A declared name.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) class: Class,
    /// Where the name stands in its declaration.
    pub(crate) place: Range<usize>,
    /// The declaration as a whole, for an outline: with its body, if it has one.
    pub(crate) extent: Range<usize>,
    /// Where it is visible.
    pub(crate) scope: Range<usize>,
    /// The declaration in a few words.
    pub(crate) detail: String,
    /// The symbol whose body it stands in.
    pub(crate) parent: Option<usize>,
}

impl Symbol {
    /// Whether the whole text can speak of it; what has no name of its own cannot be spoken of.
    pub(crate) fn scope_is_wide(&self) -> bool {
        self.scope.start == 0 && !self.scope.is_empty()
    }
}
