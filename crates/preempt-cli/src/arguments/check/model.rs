//! The model and how it is read, for all commands that take one. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{PROMELA_ONLY, options};
use preempt_verify::promela::Settings;
use std::path::PathBuf;

options! {
    /// The model and how it is read, for all commands that take one.
    pub(crate) struct ModelArguments {
        /// The model (.pml), Boolean program (.bp) or pushdown system (.pds)
        #[arg()]
        file: PathBuf {}
        /// Define a macro, as for a C preprocessor
        #[arg(short = 'D', value_name = "NAME[=VALUE]")]
        define: Vec<String> {
            samples: [["-D", "N=3"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// No statement merging (Spin's -o3)
        #[arg(long, help_heading = "Promela")]
        no_merge: bool {
            permissions: [["--no-merge"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// No dead-variable resets (Spin's -o1)
        #[arg(long, help_heading = "Promela")]
        no_reset: bool {
            permissions: [["--no-reset"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// Keep global variables that are never read in the state (Spin's -o2)
        #[arg(long, help_heading = "Promela")]
        no_hide: bool {
            samples: [["--no-hide"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
    }
}

impl ModelArguments {
    /// How the model is made runnable.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            merge: !self.no_merge,
            reset_dead: !self.no_reset,
            hide_unread: !self.no_hide,
            ..Settings::default()
        }
    }
}
