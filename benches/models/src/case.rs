//! The models, and how they are adapted when the benchmark runs.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Where a distribution keeps the examples that come with Spin.
const EXAMPLES: &str = "/usr/share/doc/spin/examples/Examples";

/// A model of the benchmark.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    source: Source,
    /// Text to be replaced.
    replace: &'static [(&'static str, &'static str)],
    pub(crate) defines: &'static [&'static str],
    /// log2 of the slots of Spin's hash table: about as many as there are states.
    pub(crate) slots: u32,
    /// The depth that Spin's stack is made for: a larger one costs it time.
    pub(crate) depth: u32,
}

enum Source {
    Example(&'static str),
    Own(&'static str),
}

use Source::{Example, Own};

/// The models that every run measures.
pub(crate) const CASES: [Case; 10] = [
    Case {
        name: "cambridge",
        source: Example("cambridge.pml"),
        replace: &[],
        defines: &[],
        slots: 20,
        depth: 20000,
    },
    Case {
        name: "pftp",
        source: Example("LTL/pftp.pml"),
        replace: &[
            (
                "ltl p1 { ( len(flow_to_ses[1]) > 0 -> flow_to_ses[1]?[white]) U ( flow_to_ses[1]?[red] ) }",
                "",
            ),
            ("ltl p2 { (!(flow_to_ses[1]?[blue])) U (flow_to_ses[1]?[red]) }", ""),
            ("ltl p3 { <> (flow_to_ses[1]?[blue]) }", ""),
        ],
        defines: &[],
        slots: 18,
        depth: 20000,
    },
    Case {
        name: "leader0 N=7",
        source: Example("leader0.pml"),
        replace: &[("#define N\t5", "#define N\t7"), ("#define L\t10", "#define L\t14")],
        defines: &[],
        slots: 20,
        depth: 2000,
    },
    Case {
        name: "petersonN N=4",
        source: Example("LTL/petersonN.pml"),
        replace: &[("#define N\t5", "#define N\t4"), LTL_OFF],
        defines: &[],
        slots: 22,
        depth: 2000000,
    },
    Case {
        name: "sort",
        source: Example("sort.pml"),
        replace: &[],
        defines: &[],
        slots: 18,
        depth: 2000,
    },
    Case {
        name: "snoopy",
        source: Example("snoopy.pml"),
        replace: &[],
        defines: &[],
        slots: 18,
        depth: 20000,
    },
    Case {
        name: "channels",
        source: Own("bench_channels.pml"),
        replace: &[],
        defines: &["SIZE=4"],
        slots: 20,
        depth: 2000,
    },
    Case {
        name: "processes",
        source: Own("bench_processes.pml"),
        replace: &[],
        defines: &["N=7"],
        slots: 20,
        depth: 2000,
    },
    Case {
        name: "atomic",
        source: Own("bench_atomic.pml"),
        replace: &[],
        defines: &[],
        slots: 17,
        depth: 200000,
    },
    Case {
        name: "philosophers N=12",
        source: Own("philosophers_ordered.pml"),
        replace: &[],
        defines: &["N=12"],
        slots: 24,
        depth: 12000000,
    },
];

/// The benchmark is about safety: the formula would only switch statement merging off.
const LTL_OFF: (&str, &str) = ("ltl bounded_bypass { user[1]@again -> <> user[1]@cs }", "");

/// A family of models of growing size, for the table of time against states.
pub(crate) fn growing() -> Vec<(u32, Case)> {
    let defines: [&'static [&'static str]; 6] =
        [&["N=7"], &["N=8"], &["N=9"], &["N=10"], &["N=11"], &["N=12"]];
    let case = |defines| Case {
        name: "philosophers",
        source: Own("philosophers_ordered.pml"),
        replace: &[],
        defines,
        slots: 20,
        depth: 2_000,
    };
    defines.into_iter().zip(7..).map(|(d, n)| (n, case(d))).collect()
}

/// A model whose states are long, with more and more bytes.
pub(crate) fn long() -> Vec<(u32, Case)> {
    let defines: [(u32, &'static [&'static str]); 4] = [
        (100, &["CELLS=100"]),
        (400, &["CELLS=400"]),
        (1600, &["CELLS=1600"]),
        (6400, &["CELLS=6400"]),
    ];
    let case = |defines| Case {
        name: "long",
        source: Own("bench_long.pml"),
        replace: &[],
        defines,
        slots: 20,
        depth: 20_000,
    };
    defines.into_iter().map(|(cells, defines)| (cells, case(defines))).collect()
}

impl Case {
    /// The text of the model.
    pub(crate) fn text(&self, root: &Path) -> Result<String> {
        let path = match self.source {
            Example(name) => Path::new(EXAMPLES).join(name),
            Own(name) => root.join("models").join(name),
        };
        let mut text =
            std::fs::read_to_string(&path).with_context(|| format!("{} is missing", self.name))?;
        for (from, to) in self.replace {
            anyhow::ensure!(text.contains(from), "{}: cannot be adapted", self.name);
            text = text.replace(from, to);
        }
        Ok(text)
    }

    /// Writes the adapted model into a folder.
    pub(crate) fn write(&self, root: &Path, folder: &Path) -> Result<PathBuf> {
        let path = folder.join("model.pml");
        std::fs::write(&path, self.text(root)?)?;
        Ok(path)
    }
}
