//! Searches by many processes, on one machine or several. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{CARD, CLUSTER, NO_CLUSTER, PROMELA_ONLY, options};
use std::path::PathBuf;

options! {
    /// Searches by many processes, on one machine or several.
    #[command(next_help_heading = "Many machines")]
    pub(crate) struct MachineArguments {
        /// Start N processes on this machine, which share the states
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
        processes: Option<u16> {
            samples: [["--processes", "1"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |_| !CLUSTER => NO_CLUSTER,
                |r| r.has("hosts") => "and --hosts are two ways to spread a search: choose one",
                |r| r.has("gpu") => CARD,
            ],
        }
        /// Share the states with the processes at these addresses, one host:port per line
        #[arg(long, value_name = "FILE")]
        hosts: Option<PathBuf> {
            samples: [["--hosts", "{folder}/hosts.txt"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |_| !CLUSTER => NO_CLUSTER,
                |r| !r.has("process") => "needs --process: the number of this process",
                |r| r.has("gpu") => CARD,
            ],
        }
        /// With --hosts: the number of this process, from 0; process 0 reports
        #[arg(long, value_name = "I")]
        process: Option<usize> {
            samples: [["--process", "0"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.has("hosts") => "needs --hosts: the addresses of all processes",
            ],
        }
        /// With --hosts: a file with the secret that all processes share (or set PREEMPT_SECRET)
        #[arg(long, value_name = "FILE")]
        secret: Option<PathBuf> {
            samples: [["--secret", "{folder}/secret"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.has("hosts")
                    => "needs --hosts: only processes on several machines share a secret",
            ],
        }
    }
}
