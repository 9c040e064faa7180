//! How states are kept, and what a search may use. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{
    CARD, DEEPENS, FILES, PROMELA_ONLY, SPREAD, SWARM_CHOOSES, options,
};
use crate::arguments::values::{SearchOrder, StoreKind, parse_size};
use preempt_run::parse_time;
use preempt_verify::{Request, Storage};
use std::path::PathBuf;
use std::time::Duration;

options! {
    /// How states are kept, and what a search may use.
    #[command(next_help_heading = "Memory and time")]
    pub(crate) struct LimitArguments {
        /// With --gpu: memory limit on the card, e.g. 16G
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        gpu_memory: Option<u64> {
            samples: [["--gpu-memory", "1G"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.has("gpu") => "needs --gpu",
            ],
        }
        /// How states are stored
        #[arg(long, value_enum)]
        store: Option<StoreKind> {
            permissions: [["--store", "exact"], ["--store", "tree"], ["--store", "compact"], ["--store", "bitstate"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.in_files() => FILES,
                |r| r.spreads() => SPREAD,
                |r| r.has("gpu") && !r.stores(StoreKind::Exact) => CARD,
                |r| r.has("swarm") => SWARM_CHOOSES,
                |r| r.searches(SearchOrder::Idfs) => DEEPENS,
                |r| r.has("compat") && r.has("bound") && r.stores(StoreKind::Bitstate) && !r.infinite()
                    => "bitstate cannot be combined with --compat spin under a bound: Spin's rules look states up again",
            ],
        }
        /// With --store bitstate: the table has 2^N bits
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=43))]
        bits: Option<u32> {
            permissions: [["--bits", "16"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.stores(StoreKind::Bitstate)
                    => "needs --store bitstate: no other store is a table of bits",
            ],
        }
        /// With --store bitstate: number of hash functions
        #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=16))]
        hashes: u32 {
            permissions: [["--hashes", "2"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.stores(StoreKind::Bitstate)
                    => "needs --store bitstate: no other store sets several bits per state",
            ],
        }
        /// Memory limit, e.g. 512M or 8G
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        memory: Option<u64> {
            permissions: [["--memory", "32M"]],
        }
        /// Time limit, e.g. 90s, 10m or 1h
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        time: Option<Duration> {
            permissions: [["--time", "1h"]],
        }
        /// Keep the states in files in this folder, for more states than memory can hold
        #[arg(long, value_name = "DIR")]
        disk: Option<PathBuf> {
            samples: [["--disk", "{folder}/disk"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("checkpoint") => "and --checkpoint cannot be combined: choose one",
                |r| r.spreads()
                    => "cannot be combined with --processes or --hosts, whose states are in memory",
                |r| r.has("gpu") => CARD,
            ],
        }
        /// Save the search in this folder from time to time, for `preempt resume`
        #[arg(long, value_name = "DIR")]
        checkpoint: Option<PathBuf> {
            samples: [["--checkpoint", "{folder}/saved"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("gpu") => CARD,
            ],
        }
        /// With --checkpoint: how often
        #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10m")]
        every: Duration {
            permissions: [["--every", "1h"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.has("checkpoint") => "needs --checkpoint: it says how often",
            ],
        }
    }
}

impl LimitArguments {
    /// What these options ask of a search.
    pub(crate) fn ask(&self, request: &mut Request) {
        request.storage = match self.store {
            None => Storage::Auto,
            Some(StoreKind::Exact) => Storage::Exact,
            Some(StoreKind::Tree) => Storage::Tree,
            Some(StoreKind::Compact) => Storage::Compact,
            Some(StoreKind::Bitstate) => Storage::Bitstate { bits: self.bits, hashes: self.hashes },
        };
        request.memory = self.memory;
    }
}
