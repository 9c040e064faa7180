//! What is shown and written. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{JSON_IS_ALONE, PROMELA_ONLY, options};
use crate::arguments::values::ReportForm;
use std::path::PathBuf;

options! {
    /// What is shown and written.
    #[command(next_help_heading = "Output")]
    pub(crate) struct OutputArguments {
        /// Save the counterexample for `preempt replay`
        #[arg(long, value_name = "FILE")]
        trace: Option<PathBuf> {
            samples: [["--trace", "{folder}/out.trace"]],
        }
        /// Write down why the answer is right, for `preempt check-certificate`
        #[arg(long, value_name = "FILE")]
        certificate: Option<PathBuf> {
            samples: [["--certificate", "{folder}/out.cert"]],
        }
        /// Save every violating execution that a depth-first search meets, as trails of Spin: PREFIX1.trail, PREFIX2.trail, …
        #[arg(long, value_name = "PREFIX")]
        trails: Option<PathBuf> {
            samples: [["--trails", "{folder}/out"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// Write the state graph, at most 300 states (.dot or .svg)
        #[arg(long, value_name = "FILE")]
        graph: Option<PathBuf> {
            samples: [["--graph", "{folder}/out.dot"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// Print the report as JSON, or write it to FILE
        #[arg(long, value_name = "FILE", num_args = 0..=1)]
        json: Option<Option<PathBuf>> {
            samples: [["--json", "{folder}/out.json"]],
        }
        /// Format of the report on standard output
        #[arg(long, value_enum, value_name = "plain|spin", default_value = "plain")]
        report: ReportForm {
            samples: [["--report", "spin"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.prints_json => JSON_IS_ALONE,
            ],
        }
        /// Print only the verdict
        #[arg(short, long)]
        quiet: bool {
            samples: [["--quiet"]],
            refused: [
                |r| r.has("report") => "and --report are two forms of the report: choose one",
            ],
        }
    }
}
