//! Bounds and methods for Boolean programs. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{BOOLEAN_ONLY, options};
use crate::arguments::values::Method;

options! {
    /// Bounds and methods for Boolean programs.
    #[command(next_help_heading = "Boolean programs")]
    pub(crate) struct BooleanArguments {
        /// At most K context switches of any kind
        #[arg(long, value_name = "K")]
        switches: Option<u32> {
            permissions: [["--switches", "1"]],
            refused: [
                |r| !r.boolean() => BOOLEAN_ONLY,
                |r| matches!(r.iterate, Some(Some(_)))
                    => "and the number behind --iterate limit the same: give one",
            ],
        }
        /// At most R rounds: in each, every thread may run once, in order
        #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
        rounds: Option<u32> {
            permissions: [["--rounds", "1"]],
            refused: [
                |r| !r.boolean() => BOOLEAN_ONLY,
                |r| r.has("switches") || r.has("iterate")
                    => "takes the place of --switches and --iterate: choose one",
                |r| matches!(r.method, Some(Method::Lazy | Method::Eager))
                    => "needs --method direct or explicit: the translations do not support rounds",
            ],
        }
        /// Method that solves it
        #[arg(long, value_enum)]
        method: Option<Method> {
            permissions: [["--method", "direct"], ["--method", "explicit"], ["--method", "lazy"], ["--method", "eager"]],
            refused: [|r| !r.boolean() => BOOLEAN_ONLY],
        }
        /// The label that must not be reached
        #[arg(long, value_name = "LABEL")]
        target: Option<String> {
            permissions: [["--target", "T1"]],
            refused: [|r| !r.boolean() => BOOLEAN_ONLY],
        }
        /// Dialect of Boolean programs
        #[arg(long, value_name = "slam|boppo|bopp")]
        dialect: Option<String> {
            permissions: [["--dialect", "boppo"]],
            refused: [|r| !r.boolean() => BOOLEAN_ONLY],
        }
    }
}
