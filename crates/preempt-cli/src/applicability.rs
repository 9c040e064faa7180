//! Which options of `check` go together, and with which input: one table.
//!
//! Every option that is given is either honoured or refused with one sentence and exit code 2. What
//! decides is the kind of input, the property that is checked, and the other options; the rows are
//! about options only and know no engine. An option that is a mere permission (`--threads`, `--memory`,
//! `--time`) or asks for what is the case anyway (`--no-deadlock` where ends are not looked at) is
//! never refused; where threads cannot be used, the report says so.
//!
//! Invariant: no option is ignored in silence. `tests.rs` walks all pairs of options.

#[cfg(test)]
mod tests;

use crate::arguments::{CheckArguments, Method, SearchOrder, StoreKind, Switch};
use crate::failure::Failure;

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// A Boolean program.
    Boolean,
    /// A Promela model; its properties are not known yet.
    Promela,
    /// A Promela model: assertions and ends.
    Finite,
    /// A Promela model: whether a never claim can be completed.
    Completion,
    /// A Promela model: infinite executions.
    Infinite,
}

/// A command line with what it is about.
struct Request<'a> {
    arguments: &'a CheckArguments,
    subject: Subject,
}

impl Request<'_> {
    fn has(&self, field: &str) -> bool {
        self.arguments.given.has(field)
    }

    fn boolean(&self) -> bool {
        self.subject == Subject::Boolean
    }

    fn infinite(&self) -> bool {
        self.subject == Subject::Infinite
    }

    fn finite(&self) -> bool {
        matches!(self.subject, Subject::Finite | Subject::Completion)
    }

    fn bounded(&self) -> bool {
        self.has("bound") || self.has("iterate")
    }

    fn search(&self, order: SearchOrder) -> bool {
        self.arguments.search == order
    }

    /// Whether executions are drawn at random.
    fn samples(&self) -> bool {
        matches!(self.arguments.search, SearchOrder::Sample(_))
    }

    fn store(&self, store: StoreKind) -> bool {
        self.arguments.store == Some(store)
    }

    fn wants_reduction(&self) -> bool {
        self.arguments.por == Some(Switch::On)
    }

    /// Whether states belong to many processes.
    fn spreads(&self) -> bool {
        self.has("processes") || self.has("hosts")
    }

    /// Whether the search is in files, or written down.
    fn in_files(&self) -> bool {
        self.has("disk") || self.has("checkpoint")
    }

    /// Whether JSON takes the place of the report on standard output.
    fn prints_json(&self) -> bool {
        matches!(self.arguments.json, Some(None))
    }
}

/// Whether this program can spread a search.
const CLUSTER: bool = cfg!(feature = "cluster");
const NO_CLUSTER: &str = "is not part of this build: rebuild with `--features cluster`";

/// A row: the option is refused where the condition is true.
struct Row {
    /// The field of the option.
    option: &'static str,
    refused: fn(&Request<'_>) -> bool,
    /// What to say behind the option's name.
    because: &'static str,
}

const fn row(
    option: &'static str,
    refused: fn(&Request<'_>) -> bool,
    because: &'static str,
) -> Row {
    Row { option, refused, because }
}

const PROMELA_ONLY: &str = "is for Promela models, not for Boolean programs";
const BOOLEAN_ONLY: &str = "is for Boolean programs (.bp), not for Promela models";
const FINITE_ONLY: &str = "cannot be combined with properties of infinite executions, which a nested depth-first search checks";
const SWARM_CHOOSES: &str =
    "cannot be combined with --swarm, which makes that choice for each search";
const WALKS: &str = "cannot be combined with a search that draws executions at random";
const DEEPENS: &str =
    "cannot be combined with --search idfs, which explores every interleaving with an exact store";

const FILES: &str = "cannot be combined with --disk or --checkpoint, which explore breadth-first and keep states exactly";
const EVERY_STEP: &str = "cannot be combined with a bound or infinite executions where states are in files or belong to many processes: every step is taken there";
const SPREAD: &str = "cannot be combined with --processes or --hosts, which explore breadth-first and keep states exactly";

const CARD: &str = "cannot be combined with --gpu: a card explores every interleaving breadth-first, and keeps states exactly";

/// The table.
const TABLE: &[Row] = &[
    // By the kind of input.
    row("define", |r| r.boolean(), PROMELA_ONLY),
    row("no_merge", |r| r.boolean(), PROMELA_ONLY),
    row("no_reset", |r| r.boolean(), PROMELA_ONLY),
    row("no_hide", |r| r.boolean(), PROMELA_ONLY),
    row("trails", |r| r.boolean(), PROMELA_ONLY),
    row("compat", |r| r.boolean(), PROMELA_ONLY),
    row("search", |r| r.boolean(), PROMELA_ONLY),
    row("seed", |r| r.boolean(), PROMELA_ONLY),
    row("swarm", |r| r.boolean(), PROMELA_ONLY),
    row("first", |r| r.boolean(), PROMELA_ONLY),
    row("max_errors", |r| r.boolean(), PROMELA_ONLY),
    row("depth", |r| r.boolean(), PROMELA_ONLY),
    row("backend", |r| r.boolean(), PROMELA_ONLY),
    row("store", |r| r.boolean(), PROMELA_ONLY),
    row("bits", |r| r.boolean(), PROMELA_ONLY),
    row("hashes", |r| r.boolean(), PROMELA_ONLY),
    row("ltl", |r| r.boolean(), PROMELA_ONLY),
    row("formula", |r| r.boolean(), PROMELA_ONLY),
    row("claim", |r| r.boolean(), PROMELA_ONLY),
    row("claim_file", |r| r.boolean(), PROMELA_ONLY),
    row("no_claim", |r| r.boolean(), PROMELA_ONLY),
    row("acceptance", |r| r.boolean(), PROMELA_ONLY),
    row("no_acceptance", |r| r.boolean(), PROMELA_ONLY),
    row("non_progress", |r| r.boolean(), PROMELA_ONLY),
    row("fair", |r| r.boolean(), PROMELA_ONLY),
    row("no_deadlock", |r| r.boolean(), PROMELA_ONLY),
    row("empty_channels", |r| r.boolean(), PROMELA_ONLY),
    row("no_assert", |r| r.boolean(), PROMELA_ONLY),
    row("graph", |r| r.boolean(), PROMELA_ONLY),
    row("report", |r| r.boolean(), PROMELA_ONLY),
    row("switches", |r| !r.boolean(), BOOLEAN_ONLY),
    row("rounds", |r| !r.boolean(), BOOLEAN_ONLY),
    row("method", |r| !r.boolean(), BOOLEAN_ONLY),
    row("target", |r| !r.boolean(), BOOLEAN_ONLY),
    row("dialect", |r| !r.boolean(), BOOLEAN_ONLY),
    row("explain_plan", |r| r.boolean(), PROMELA_ONLY),
    row(
        "explain_plan",
        |r| r.in_files() || r.spreads() || r.has("gpu"),
        "cannot be combined with --disk, --checkpoint, --processes, --hosts or --gpu: there is one way to search there",
    ),
    // States in files.
    row("disk", |r| r.boolean(), PROMELA_ONLY),
    row("checkpoint", |r| r.boolean(), PROMELA_ONLY),
    row("every", |r| r.boolean(), PROMELA_ONLY),
    row("every", |r| !r.has("checkpoint"), "needs --checkpoint: it says how often"),
    row("disk", |r| r.has("checkpoint"), "and --checkpoint cannot be combined: choose one"),
    row(
        "disk",
        |r| r.spreads(),
        "cannot be combined with --processes or --hosts, whose states are in memory",
    ),
    row("search", |r| r.in_files() && !r.search(SearchOrder::Bfs), FILES),
    row("store", |r| r.in_files(), FILES),
    row(
        "por",
        |r| r.in_files() && r.wants_reduction() && (r.bounded() || r.infinite()),
        EVERY_STEP,
    ),
    row("compat", |r| r.in_files(), FILES),
    row("swarm", |r| r.in_files(), FILES),
    row("part", |r| r.boolean(), PROMELA_ONLY),
    row("part", |r| !r.has("swarm"), "needs --swarm: it says which of its searches are made"),
    // States that belong to many processes.
    row("processes", |r| r.boolean(), PROMELA_ONLY),
    row("hosts", |r| r.boolean(), PROMELA_ONLY),
    row("process", |r| r.boolean(), PROMELA_ONLY),
    row("secret", |r| r.boolean(), PROMELA_ONLY),
    row("processes", |_| !CLUSTER, NO_CLUSTER),
    row("hosts", |_| !CLUSTER, NO_CLUSTER),
    row("processes", |r| r.has("hosts"), "and --hosts are two ways to spread a search: choose one"),
    row("hosts", |r| !r.has("process"), "needs --process: the number of this process"),
    row("process", |r| !r.has("hosts"), "needs --hosts: the addresses of all processes"),
    row(
        "secret",
        |r| !r.has("hosts"),
        "needs --hosts: only processes on several machines share a secret",
    ),
    row("search", |r| r.spreads() && !r.search(SearchOrder::Bfs), SPREAD),
    row("store", |r| r.spreads(), SPREAD),
    row("por", |r| r.spreads() && r.wants_reduction() && (r.bounded() || r.infinite()), EVERY_STEP),
    row("compat", |r| r.spreads(), SPREAD),
    row("swarm", |r| r.spreads(), SPREAD),
    // Bounds of Boolean programs.
    row(
        "por",
        |r| r.boolean() && !r.has("bound"),
        "needs --bound where the input is a Boolean program: no other search of Boolean programs is reduced",
    ),
    row(
        "bound",
        |r| r.has("switches") || r.has("rounds"),
        "counts preemptions: it cannot be combined with --switches or --rounds",
    ),
    row(
        "bound",
        |r| r.boolean() && !matches!(r.arguments.method, None | Some(Method::Explicit)),
        "lists states one by one: it can be combined with --method explicit only",
    ),
    row(
        "rounds",
        |r| r.has("switches") || r.has("iterate"),
        "takes the place of --switches and --iterate: choose one",
    ),
    row(
        "rounds",
        |r| matches!(r.arguments.method, Some(Method::Lazy | Method::Eager)),
        "needs --method direct or explicit: the translations do not support rounds",
    ),
    row(
        "switches",
        |r| matches!(r.arguments.iterate, Some(Some(_))),
        "and the number behind --iterate limit the same: give one",
    ),
    // Bounds of Promela models.
    row("bound", |r| r.has("iterate"), "and --iterate are two ways to bound: choose one"),
    row(
        "iterate",
        |r| r.search(SearchOrder::Dfs),
        "cannot be combined with --search dfs, which searches a single bound: use --bound",
    ),
    row(
        "iterate",
        |r| r.has("compat"),
        "cannot be combined with --compat spin: Spin searches a single bound, use --bound",
    ),
    // The order of exploration.
    row("search", |r| r.infinite_in_another_order(), FINITE_ONLY),
    row("search", |r| r.has("swarm"), SWARM_CHOOSES),
    row(
        "search",
        |r| r.bounded() && (r.samples() || r.search(SearchOrder::Idfs)),
        "idfs and random searches cannot be combined with a bound on preemptions",
    ),
    row(
        "search",
        |r| r.bounded() && r.search(SearchOrder::Bfs) && r.needs_stack(),
        "bfs cannot be combined with the other options, which need a depth-first search",
    ),
    row(
        "search",
        |r| {
            r.has("compat")
                && !matches!(
                    r.arguments.search,
                    SearchOrder::Auto | SearchOrder::Dfs | SearchOrder::Bfs
                )
        },
        "idfs and random searches cannot be combined with --compat spin",
    ),
    row(
        "search",
        |r| r.has("compat") && r.has("bound") && r.search(SearchOrder::Bfs),
        "bfs cannot be combined with --compat spin under a bound: Spin searches depth-first there",
    ),
    row(
        "seed",
        |r| !r.has("swarm") && !r.samples(),
        "needs a random search (--search random or restarts) or --swarm",
    ),
    row("swarm", |r| r.infinite(), FINITE_ONLY),
    row("swarm", |r| r.has("compat"), "cannot be combined with --compat spin"),
    row("por", |r| r.wants_reduction() && r.finite() && r.has("swarm"), SWARM_CHOOSES),
    row("por", |r| r.wants_reduction() && r.samples(), WALKS),
    row("por", |r| r.wants_reduction() && r.search(SearchOrder::Idfs), DEEPENS),
    row("bound", |r| r.has("swarm"), SWARM_CHOOSES),
    row("iterate", |r| r.has("swarm"), SWARM_CHOOSES),
    row(
        "max_errors",
        |r| r.has("swarm"),
        "cannot be combined with --swarm: the first violation wins",
    ),
    row(
        "depth",
        |r| r.finite() && r.bounded() && !r.has("compat") && !r.needs_stack(),
        "needs --search dfs under a bound: other searches do not track depth",
    ),
    // A card.
    row("gpu", |r| r.boolean(), PROMELA_ONLY),
    row(
        "gpu",
        |r| matches!(r.subject, Subject::Infinite | Subject::Completion),
        "is for assertions, invalid end states and run-time errors: never claims and infinite executions are explored on the processor",
    ),
    row("gpu_memory", |r| r.boolean(), PROMELA_ONLY),
    row("gpu_memory", |r| !r.has("gpu"), "needs --gpu"),
    row("bound", |r| r.has("gpu"), CARD),
    row("iterate", |r| r.has("gpu"), CARD),
    row("swarm", |r| r.has("gpu"), CARD),
    row("compat", |r| r.has("gpu"), CARD),
    row("backend", |r| r.has("gpu"), CARD),
    row("por", |r| r.has("gpu") && r.wants_reduction(), CARD),
    row(
        "search",
        |r| r.has("gpu") && !r.search(SearchOrder::Auto) && !r.search(SearchOrder::Bfs),
        CARD,
    ),
    row("store", |r| r.has("gpu") && !r.store(StoreKind::Exact), CARD),
    row("disk", |r| r.has("gpu"), CARD),
    row("checkpoint", |r| r.has("gpu"), CARD),
    row("processes", |r| r.has("gpu"), CARD),
    row("hosts", |r| r.has("gpu"), CARD),
    // Stores.
    row("store", |r| r.has("swarm"), SWARM_CHOOSES),
    row("store", |r| r.search(SearchOrder::Idfs), DEEPENS),
    row(
        "store",
        |r| r.has("compat") && r.has("bound") && r.store(StoreKind::Bitstate) && !r.infinite(),
        "bitstate cannot be combined with --compat spin under a bound: Spin's rules look states up again",
    ),
    row(
        "bits",
        |r| !r.store(StoreKind::Bitstate),
        "needs --store bitstate: no other store is a table of bits",
    ),
    row(
        "hashes",
        |r| !r.store(StoreKind::Bitstate),
        "needs --store bitstate: no other store sets several bits per state",
    ),
    // Properties.
    row(
        "ltl",
        |r| r.has("formula") || r.has("claim") || r.has("no_claim") || r.has("non_progress"),
        "cannot be combined with another property: choose one of --ltl, --formula, --claim, --no-claim, --non-progress",
    ),
    row(
        "formula",
        |r| r.has("claim") || r.has("no_claim") || r.has("non_progress"),
        "cannot be combined with another property: choose one of --ltl, --formula, --claim, --no-claim, --non-progress",
    ),
    row(
        "claim",
        |r| r.has("no_claim") || r.has("non_progress"),
        "cannot be combined with another property: choose one of --ltl, --formula, --claim, --no-claim, --non-progress",
    ),
    row(
        "claim_file",
        |r| {
            ["ltl", "formula", "claim", "no_claim", "non_progress"].iter().any(|other| r.has(other))
        },
        "cannot be combined with another property: choose one of --ltl, --formula, --claim, --no-claim, --non-progress",
    ),
    row(
        "acceptance",
        |r| r.has("non_progress"),
        "and --non-progress are two properties: choose one",
    ),
    row("no_acceptance", |r| r.has("acceptance"), "and --acceptance contradict each other"),
    row(
        "no_acceptance",
        |r| r.infinite(),
        "is about never claims: this property is one of infinite executions",
    ),
    row(
        "fair",
        |r| r.finite(),
        "is about infinite executions: it needs --acceptance, --non-progress or a temporal formula",
    ),
    row("empty_channels", |r| r.has("no_deadlock"), "and --no-deadlock contradict each other"),
    row(
        "empty_channels",
        |r| matches!(r.subject, Subject::Infinite | Subject::Completion),
        "is about end states, which this property does not check",
    ),
    // Output.
    row(
        "report",
        |r| r.prints_json(),
        "cannot be combined with --json on standard output: give --json a file",
    ),
    row(
        "explain_plan",
        |r| r.prints_json(),
        "cannot be combined with --json on standard output: give --json a file",
    ),
    row("quiet", |r| r.has("report"), "and --report are two forms of the report: choose one"),
];

impl Request<'_> {
    /// Infinite executions are looked for depth-first.
    fn infinite_in_another_order(&self) -> bool {
        self.infinite() && !matches!(self.arguments.search, SearchOrder::Auto | SearchOrder::Dfs)
    }

    /// Whether a search with a bound has to be depth-first.
    fn needs_stack(&self) -> bool {
        let lossy = self.store(StoreKind::Compact) || self.store(StoreKind::Bitstate);
        self.search(SearchOrder::Dfs) || (lossy && self.has("bound"))
    }
}

/// Refuses what cannot be honoured for this subject.
pub(crate) fn check(arguments: &CheckArguments, subject: Subject) -> Result<(), Failure> {
    check_all(arguments, &[subject])
}

/// Refuses what none of these can honour: of several properties of a model one is enough.
pub(crate) fn check_all(arguments: &CheckArguments, subjects: &[Subject]) -> Result<(), Failure> {
    for option in arguments.given.options() {
        let objections = subjects.iter().map(|subject| objection(arguments, *subject, option));
        let objections: Option<Vec<String>> = objections.collect();
        if let Some(first) = objections.and_then(|all| all.into_iter().next()) {
            return Err(Failure::Input(first));
        }
    }
    Ok(())
}

/// What to say about options that this subject cannot honour, but another one of the same command can.
pub(crate) fn notes(arguments: &CheckArguments, subject: Subject) -> Vec<String> {
    let options = arguments.given.options();
    options.filter_map(|option| objection(arguments, subject, option)).collect()
}

/// The first row that speaks against the option, as a sentence.
fn objection(arguments: &CheckArguments, subject: Subject, option: &str) -> Option<String> {
    let request = Request { arguments, subject };
    let row = TABLE.iter().find(|row| row.option == option && (row.refused)(&request))?;
    Some(format!("{} {}", flag(row.option), row.because))
}

/// The option as it is typed.
fn flag(field: &str) -> String {
    match field {
        "define" => "-D".into(),
        _ => format!("--{}", field.replace('_', "-")),
    }
}
