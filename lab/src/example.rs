//! The models of the tables: ours, and those that come with Spin where it is installed.

use crate::tool;
use std::path::Path;

/// A model that HF measured and that is public.
pub(crate) struct Example {
    /// The paper's name for it.
    pub(crate) name: &'static str,
    file: &'static str,
    /// What the paper's version of the model needs on our command line.
    pub(crate) arguments: &'static str,
    /// The same for Spin.
    pub(crate) spin: &'static str,
}

const DEBIAN: &str = "/usr/share/doc/spin/examples/Examples";

/// In the order of the paper's Table 1.
pub(crate) const EXAMPLES: [Example; 5] = [
    Example { name: "snoopy", file: "snoopy.pml", arguments: "--no-claim", spin: "" },
    Example { name: "dtp", file: "dtp.pml", arguments: "--no-claim", spin: "" },
    Example { name: "worst-case", file: "models/worst_case.pml", arguments: "", spin: "" },
    // Without merging and dead-variable resets the state counts are those of the paper, plus one.
    Example {
        name: "pftp",
        file: "LTL/pftp.pml",
        arguments: "--no-claim --no-merge --no-reset",
        spin: "-o1 -o3",
    },
    Example { name: "cambridge", file: "cambridge.pml", arguments: "--no-claim", spin: "" },
];

impl Example {
    /// Where the model is, if it is there.
    pub(crate) fn file(&self) -> Option<String> {
        let ours = tool::root().join(self.file);
        let path = if ours.is_file() { ours } else { Path::new(DEBIAN).join(self.file) };
        path.is_file().then(|| path.display().to_string())
    }
}

/// What to say where Spin's examples are missing.
pub(crate) const MISSING: &str = "not installed (Debian's package `spin` has it)";
