//! How executions are searched. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{
    CARD, DEEPENS, EVERY_STEP, FILES, FINITE_ONLY, JSON_IS_ALONE, PROMELA_ONLY, SPREAD,
    SWARM_CHOOSES, WALKS, options,
};
use crate::arguments::values::{Backend, Compat, Part, SearchOrder, Switch, parse_part};
use preempt_run::parse_threads;
use preempt_verify::promela;
use preempt_verify::{Compatibility, Reduction, Request, Search};

options! {
    /// How executions are searched.
    #[command(next_help_heading = "Search")]
    pub(crate) struct SearchArguments {
        /// Partial-order reduction
        #[arg(long, value_enum, value_name = "on|off")]
        por: Option<Switch> {
            samples: [["--por", "off"]],
            permissions: [["--por", "on"]],
            refused: [
                |r| r.in_files() && r.wants_reduction() && (r.bounded() || r.infinite()) => EVERY_STEP,
                |r| r.spreads() && r.wants_reduction() && (r.bounded() || r.infinite()) => EVERY_STEP,
                |r| r.boolean() && !r.has("bound")
                    => "needs --bound where the input is a Boolean program: no other search of Boolean programs is reduced",
                |r| r.wants_reduction() && r.finite() && r.has("swarm") => SWARM_CHOOSES,
                |r| r.wants_reduction() && r.samples() => WALKS,
                |r| r.wants_reduction() && r.searches(SearchOrder::Idfs) => DEEPENS,
                |r| r.has("gpu") && r.wants_reduction() => CARD,
            ],
        }
        /// Behave like this tool where it is wrong or different, for study
        #[arg(long, value_enum, value_name = "spin")]
        compat: Option<Compat> {
            samples: [["--compat", "spin"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.in_files() => FILES,
                |r| r.spreads() => SPREAD,
                |r| r.has("gpu") => CARD,
            ],
        }
        /// Order of exploration
        #[arg(long, value_enum, default_value = "auto")]
        search: SearchOrder {
            samples: [["--search", "bfs"], ["--search", "idfs"], ["--search", "random"], ["--search", "restarts"]],
            permissions: [["--search", "dfs"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.in_files() && !r.searches(SearchOrder::Bfs) => FILES,
                |r| r.spreads() && !r.searches(SearchOrder::Bfs) => SPREAD,
                |r| r.infinite_in_another_order() => FINITE_ONLY,
                |r| r.has("swarm") => SWARM_CHOOSES,
                |r| r.bounded() && (r.samples() || r.searches(SearchOrder::Idfs))
                    => "idfs and random searches cannot be combined with a bound on preemptions",
                |r| r.bounded() && r.searches(SearchOrder::Bfs) && r.needs_stack()
                    => "bfs cannot be combined with the other options, which need a depth-first search",
                |r| r.has("compat") && !matches!( r.search, SearchOrder::Auto | SearchOrder::Dfs | SearchOrder::Bfs )
                    => "idfs and random searches cannot be combined with --compat spin",
                |r| r.has("compat") && r.has("bound") && r.searches(SearchOrder::Bfs)
                    => "bfs cannot be combined with --compat spin under a bound: Spin searches depth-first there",
                |r| r.has("gpu") && !r.searches(SearchOrder::Auto) && !r.searches(SearchOrder::Bfs)
                    => CARD,
            ],
        }
        /// Seed of the random choices
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64 {
            samples: [["--seed", "5"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.has("swarm") && !r.samples()
                    => "needs a random search (--search random or restarts) or --swarm",
            ],
        }
        /// Different bounds, orders and seeds in parallel; the first violation wins
        #[arg(long)]
        swarm: bool {
            samples: [["--swarm"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.in_files() => FILES,
                |r| r.spreads() => SPREAD,
                |r| r.infinite() => FINITE_ONLY,
                |r| r.has("compat") => "cannot be combined with --compat spin",
                |r| r.has("gpu") => CARD,
            ],
        }
        /// With --swarm: the I-th of N jobs, each with its own searches; see `preempt merge`
        #[arg(long, value_name = "I/N", value_parser = parse_part)]
        part: Option<Part> {
            samples: [["--part", "2/3"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| !r.has("swarm") => "needs --swarm: it says which of its searches are made",
            ],
        }
        /// Stop at the first violation found, without looking for the simplest counterexample
        #[arg(long)]
        first: bool {
            permissions: [["--first"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// Stop after N violations (0 = count all)
        #[arg(long, value_name = "N", default_value_t = 1)]
        max_errors: u64 {
            permissions: [["--max-errors", "0"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("swarm") => "cannot be combined with --swarm: the first violation wins",
            ],
        }
        /// Cut executions after N steps
        #[arg(long, value_name = "N")]
        depth: Option<u64> {
            samples: [["--depth", "4"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.finite() && r.bounded() && !r.has("compat") && !r.needs_stack()
                    => "needs --search dfs under a bound: other searches do not track depth",
            ],
        }
        /// Number of threads, or `auto` for as many as the machine runs at once [default: `auto` where the answer is the same
        /// with one, else 1]
        #[arg(long, value_name = "N", value_parser = parse_threads)]
        threads: Option<usize> {
            permissions: [["--threads", "2"]],
        }
        /// Before each search, print one line on how it is made: store, frontier, executor, reduction, and why
        #[arg(long)]
        explain_plan: bool {
            samples: [["--explain-plan"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.in_files() || r.spreads() || r.has("gpu")
                    => "cannot be combined with --disk, --checkpoint, --processes, --hosts or --gpu: there is one way to search there",
                |r| r.prints_json => JSON_IS_ALONE,
            ],
        }
        /// Explore wide levels on the graphics card, every interleaving of them
        #[arg(long)]
        gpu: bool {
            samples: [["--gpu"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.infinite()
                    => "is for what finite executions show: this property is about infinite ones, which are explored on the processor",
            ],
        }
        /// How steps are executed
        #[arg(long, value_enum, default_value = "native")]
        backend: Backend {
            permissions: [["--backend", "interp"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("gpu") => CARD,
            ],
        }
    }
}

/// The first depth of iterative depth bounding, and by how much it grows.
const DEPTH_STEP: u64 = 20;

/// How many seeds a swarm uses.
const SEARCHES_OF_A_SWARM: u64 = 32;

impl SearchArguments {
    /// What these options ask of a search.
    pub(crate) fn ask(&self, request: &mut Request) {
        request.search = match self.search {
            SearchOrder::Auto => Search::Auto,
            SearchOrder::Dfs => Search::Depth,
            SearchOrder::Bfs => Search::Breadth,
            SearchOrder::Idfs => Search::IterativeDepth { step: DEPTH_STEP },
            SearchOrder::Sample(sampler) => Search::Sample { sampler, seed: self.seed },
        };
        request.reduction = self.reduction(self.gpu);
        request.always_reduce = self.por == Some(Switch::On);
        request.compatibility = match self.compat {
            Some(Compat::Spin) => Compatibility::Spin,
            None => Compatibility::None,
        };
        // Each part of a swarm has seeds of its own.
        request.swarm = self.swarm.then(|| {
            let before = self.part.map_or(0, |part| u64::from(part.number) - 1);
            self.seed.wrapping_add(before.wrapping_mul(SEARCHES_OF_A_SWARM))
        });
        request.first = self.first;
        request.max_errors = self.max_errors;
        request.depth = self.depth;
        request.threads = self.threads.unwrap_or(0);
        request.explain_plan = self.explain_plan;
    }

    /// Which interleavings may be skipped; a card skips none.
    pub(crate) fn reduction(&self, on_card: bool) -> Reduction {
        match (self.por, self.compat) {
            (Some(Switch::Off), _) => Reduction::None,
            _ if on_card => Reduction::None,
            (_, Some(Compat::Spin)) => Reduction::Spin,
            _ => Reduction::Full,
        }
    }

    /// What executes the steps.
    pub(crate) fn backend(&self) -> promela::Backend {
        match self.backend {
            Backend::Native => promela::Backend::Native,
            Backend::Interp => promela::Backend::Interpreter,
        }
    }
}
