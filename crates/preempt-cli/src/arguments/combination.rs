//! Which options of `check` go together, and with which input: what belongs to one option.
//!
//! An option is one entry of [`options!`], in the file of its group (`check/`). From it come parsing, help, man page, completions,
//! and the answer to what the option goes together with:
//!
//! - `samples`: the words by which tests give it. Each must make a difference to some answer, beside every other option;
//! - `permissions`: samples that need not: they permit something, or ask for what is the case anyway;
//! - `refused`: conditions under which it is refused, each with the words behind the option's name.
//!
//! Every option that is given is either honoured or refused with one sentence and exit code 2. What decides is the kind of
//! input, the property that is checked, and the other options; the conditions are about options only and know no engine. An
//! option that is a mere permission (`--threads`, `--memory`, `--time`) or asks for what is the case anyway
//! (`--no-deadlock` where ends are not looked at) is never refused; where threads cannot be used, the report says so.
//!
//! **Invariant:** no option is ignored in silence. `applicability/tests.rs` walks all pairs of options.

use super::given::Given;
use super::values::{Method, SearchOrder, StoreKind, Switch};

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// A Boolean program.
    Boolean,
    /// A Promela model; its properties are not known yet.
    Promela,
    /// A Promela model: assertions and ends.
    Finite,
    /// A Promela model: whether a never claim can be completed.
    Completion,
    /// A Promela model: infinite executions.
    Infinite,
}

/// The options that were given, with what they are about.
pub(crate) struct Combination<'a> {
    pub(crate) given: &'a Given,
    pub(crate) subject: Subject,
    pub(crate) iterate: Option<Option<u32>>,
    pub(crate) search: SearchOrder,
    pub(crate) por: Option<Switch>,
    pub(crate) store: Option<StoreKind>,
    pub(crate) method: Option<Method>,
    /// Whether JSON takes the place of the report on standard output.
    pub(crate) prints_json: bool,
}

impl Combination<'_> {
    pub(crate) fn has(&self, field: &str) -> bool {
        self.given.has(field)
    }

    pub(crate) fn boolean(&self) -> bool {
        self.subject == Subject::Boolean
    }

    pub(crate) fn infinite(&self) -> bool {
        self.subject == Subject::Infinite
    }

    pub(crate) fn finite(&self) -> bool {
        matches!(self.subject, Subject::Finite | Subject::Completion)
    }

    pub(crate) fn bounded(&self) -> bool {
        self.has("bound") || self.has("iterate")
    }

    pub(crate) fn searches(&self, order: SearchOrder) -> bool {
        self.search == order
    }

    /// Whether executions are drawn at random.
    pub(crate) fn samples(&self) -> bool {
        matches!(self.search, SearchOrder::Sample(_))
    }

    pub(crate) fn stores(&self, store: StoreKind) -> bool {
        self.store == Some(store)
    }

    pub(crate) fn wants_reduction(&self) -> bool {
        self.por == Some(Switch::On)
    }

    /// Whether states belong to many processes.
    pub(crate) fn spreads(&self) -> bool {
        self.has("processes") || self.has("hosts")
    }

    /// Whether the search is in files, or written down.
    pub(crate) fn in_files(&self) -> bool {
        self.has("disk") || self.has("checkpoint")
    }

    /// Whether infinite executions are looked for other than depth-first.
    pub(crate) fn infinite_in_another_order(&self) -> bool {
        self.infinite() && !matches!(self.search, SearchOrder::Auto | SearchOrder::Dfs)
    }

    /// Whether a search with a bound has to be depth-first.
    pub(crate) fn needs_stack(&self) -> bool {
        let lossy = self.stores(StoreKind::Compact) || self.stores(StoreKind::Bitstate);
        self.searches(SearchOrder::Dfs) || (lossy && self.has("bound"))
    }
}

/// An option is refused where the condition is true.
pub(crate) struct Refusal {
    pub(crate) when: fn(&Combination<'_>) -> bool,
    /// What to say behind the option's name.
    pub(crate) because: &'static str,
}

/// Words on a command line.
#[cfg(test)]
pub(crate) type Words = &'static [&'static str];

/// What is known of an option besides how it is parsed.
pub(crate) struct OptionFacts {
    /// The field of the option.
    pub(crate) field: &'static str,
    pub(crate) refused: &'static [Refusal],
    #[cfg(test)]
    pub(crate) samples: &'static [Words],
    #[cfg(test)]
    pub(crate) permissions: &'static [Words],
}

/// Makes a group of options: a struct that clap parses, and the facts of each option.
macro_rules! options {
    (
        $(#[$about:meta])*
        pub(crate) struct $name:ident {
            $(
                $(#[$attribute:meta])*
                $field:ident: $type:ty {
                    $(samples: [$([$($sample:literal),*]),* $(,)?],)?
                    $(permissions: [$([$($permission:literal),*]),* $(,)?],)?
                    $(refused: [$($when:expr => $because:expr),* $(,)?],)?
                }
            )*
        }
    ) => {
        #[derive(clap::Args, Debug, Clone)]
        $(#[$about])*
        pub(crate) struct $name {
            $($(#[$attribute])* pub(crate) $field: $type,)*
        }

        impl $name {
            /// What the options go together with.
            pub(crate) const OPTIONS: &[$crate::arguments::combination::OptionFacts] = &[
                $($crate::arguments::combination::OptionFacts {
                    field: stringify!($field),
                    refused: &[$($($crate::arguments::combination::Refusal {
                        when: $when,
                        because: $because,
                    },)*)?],
                    #[cfg(test)]
                    samples: &[$($(&[$($sample),*]),*)?],
                    #[cfg(test)]
                    permissions: &[$($(&[$($permission),*]),*)?],
                },)*
            ];
        }
    };
}

pub(super) use options;

/// Whether this program can spread a search.
pub(super) const CLUSTER: bool = cfg!(feature = "cluster");
pub(super) const NO_CLUSTER: &str = "is not part of this build: rebuild with `--features cluster`";

// Reasons that several options share.
pub(super) const PROMELA_ONLY: &str = "is for Promela models, not for Boolean programs";
pub(super) const BOOLEAN_ONLY: &str = "is for Boolean programs (.bp), not for Promela models";
pub(super) const FINITE_ONLY: &str = "cannot be combined with properties of infinite executions, which a nested depth-first search checks";
pub(super) const SWARM_CHOOSES: &str =
    "cannot be combined with --swarm, which makes that choice for each search";
pub(super) const WALKS: &str = "cannot be combined with a search that draws executions at random";
pub(super) const DEEPENS: &str =
    "cannot be combined with --search idfs, which explores every interleaving with an exact store";
pub(super) const FILES: &str = "cannot be combined with --disk or --checkpoint, which explore breadth-first and keep states exactly";
pub(super) const EVERY_STEP: &str = "cannot be combined with a bound or infinite executions where states are in files or belong to many processes: every step is taken there";
pub(super) const SPREAD: &str = "cannot be combined with --processes or --hosts, which explore breadth-first and keep states exactly";
pub(super) const CARD: &str = "cannot be combined with --gpu: a card explores every interleaving breadth-first, and keeps states exactly";
pub(super) const CHOOSE_ONE_PROPERTY: &str = "cannot be combined with another property: choose one of --ltl, --formula, --claim, --no-claim, --non-progress";
pub(super) const JSON_IS_ALONE: &str =
    "cannot be combined with --json on standard output: give --json a file";
