//! What to check of a Boolean program, and how.

use crate::limits::Limits;

/// How to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Method {
    /// Translate to Lazy_k and solve the sequential program. Paper: \[LMP09\] section 5.
    Lazy,
    /// Translate to Eager_k and solve the sequential program. Paper: \[LMP09\] section 4.
    Eager,
    /// A symbolic fixpoint over what each thread can do between given boundaries, context by
    /// context, without translation.
    Direct,
    /// States one by one, stacks included.
    Explicit,
}

impl Method {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Lazy => "lazy",
            Method::Eager => "eager",
            Method::Direct => "direct",
            Method::Explicit => "explicit",
        }
    }
}

/// How many context switches to allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Switches {
    /// At most this many.
    AtMost(u32),
    /// None, one, two, … until violated, proven for every number, or this many are done.
    Iterate(u32),
    /// Any number, in at most this many rounds: in a round every thread may run once, in the order
    /// of the program. The translations know no rounds; the direct engine answers for them.
    Rounds(u32),
}

impl Switches {
    /// Switches, or rounds after the first.
    pub(crate) fn most(self) -> u32 {
        match self {
            Switches::AtMost(most) | Switches::Iterate(most) => most,
            Switches::Rounds(rounds) => rounds.saturating_sub(1),
        }
    }

    pub(crate) fn counts_rounds(self) -> bool {
        matches!(self, Switches::Rounds(_))
    }
}

/// The question.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How; `None` chooses.
    pub method: Option<Method>,
    /// How many context switches.
    pub switches: Switches,
    /// The label to reach; `None` means `Target` and `SLIC_ERROR`. Assertions always count.
    pub target: Option<&'a str>,
    /// Go on to the full fixpoint after a violation was found, as the paper's tables do.
    pub full: bool,
    /// Write down why the answer is right.
    pub certificate: bool,
    /// Most frames on a stack that explicit search follows.
    pub max_frames: usize,
    /// What may be used.
    pub limits: Limits<'a>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            method: None,
            switches: Switches::Iterate(8),
            target: None,
            full: false,
            certificate: false,
            max_frames: 64,
            limits: Limits::default(),
        }
    }
}
