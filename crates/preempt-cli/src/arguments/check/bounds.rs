//! How many preemptions executions may have. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{SWARM_CHOOSES, options};
use crate::arguments::values::{Method, SearchOrder};
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
            ],
        }
    }
}

impl BoundArguments {
    /// What these options ask of a search.
    pub(crate) fn ask(&self, request: &mut Request) {
        request.preemptions = match (self.bound, self.iterate) {
            (Some(bound), _) => Preemptions::AtMost(bound),
            (None, Some(last)) => Preemptions::Iterate { last },
            (None, None) => Preemptions::Any,
        };
    }

    /// The bound of the report.
    pub(crate) fn reported(&self) -> Option<u32> {
        self.bound.or(self.iterate.flatten())
    }
}
