//! How many preemptions executions may have. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{
    CARD, FILES, FINITE_ONLY, PROMELA_ONLY, SPREAD, SWARM_CHOOSES, options,
};
use crate::arguments::values::{Method, SearchOrder, StoreKind};
use preempt_verify::{Preemptions, Request};

options! {
    /// How many preemptions executions may have.
    #[command(next_help_heading = "Bounds")]
    pub(crate) struct BoundArguments {
        /// At most N preemptions
        #[arg(long, value_name = "N")]
        bound: Option<u32> {
            samples: [["--bound", "1"]],
            refused: [
                |r| r.has("switches") || r.has("rounds")
                    => "counts preemptions: it cannot be combined with --switches or --rounds",
                |r| r.boolean() && !matches!(r.method, None | Some(Method::Explicit))
                    => "lists states one by one: it can be combined with --method explicit only",
                |r| r.has("iterate") => "and --iterate are two ways to bound: choose one",
                |r| r.has("swarm") => SWARM_CHOOSES,
                |r| r.has("gpu") => CARD,
            ],
        }
        /// 0, 1, 2, … preemptions until violated, exhausted or MAX
        #[arg(long, value_name = "MAX", num_args = 0..=1)]
        iterate: Option<Option<u32>> {
            permissions: [["--iterate", "3"]],
            refused: [
                |r| r.searches(SearchOrder::Dfs)
                    => "cannot be combined with --search dfs, which searches a single bound: use --bound",
                |r| r.has("compat")
                    => "cannot be combined with --compat spin: Spin searches a single bound, use --bound",
                |r| r.has("swarm") => SWARM_CHOOSES,
                |r| r.has("gpu") => CARD,
            ],
        }
        /// With --iterate: raise the bound by N + 1 at a time
        #[arg(long, value_name = "N", default_value_t = 0)]
        csb: u32 {
            samples: [["--csb", "1"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.has("iterate") => "needs --iterate: it says by how much a bound grows",
                |r| r.infinite() => FINITE_ONLY,
            ],
        }
        /// Do not count switches away from a process all of whose steps lead back to the current path
        #[arg(long)]
        free_cycles: bool {
            samples: [["--free-cycles"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.in_files() => FILES,
                |r| r.spreads() => SPREAD,
                |r| !r.has("bound") => "needs --bound",
                |r| r.reduces() => "needs --por off: the reduced search counts every switch",
                |r| r.has("compat") => "cannot be combined with --compat spin",
                |r| r.infinite() => FINITE_ONLY,
            ],
        }
        /// Explore a state again when it is reached at a smaller depth
        #[arg(long)]
        shorten: bool {
            samples: [["--shorten"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.in_files() => FILES,
                |r| r.spreads() => SPREAD,
                |r| !r.has("bound") => "needs --bound: without one, the shortest is found anyway",
                |r| r.stores(StoreKind::Bitstate) => "needs a store that recognises states",
                |r| r.infinite() => FINITE_ONLY,
            ],
        }
    }
}

impl BoundArguments {
    /// What these options ask of a search.
    pub(crate) fn ask(&self, request: &mut Request) {
        request.preemptions = match (self.bound, self.iterate) {
            (Some(bound), _) => Preemptions::AtMost(bound),
            (None, Some(last)) => Preemptions::Iterate { last, extra: self.csb },
            (None, None) => Preemptions::Any,
        };
        request.free_cycles = self.free_cycles;
        request.shorten = self.shorten;
    }

    /// The bound of the report.
    pub(crate) fn reported(&self) -> Option<u32> {
        self.bound.or(self.iterate.flatten())
    }
}
