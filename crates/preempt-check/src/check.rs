//! The front door: what to check, how, and the answer.

use crate::budget::{available_memory_beside, threads_that_fit};
use crate::coverage::{field_bits, in_bits, lossy_in_parallel, misses, omissions, weaken};
use crate::plan::{Executor, Frontier, Plan, is_bounded, plan};
use crate::property::{Product, Property};
use crate::search::{
    Job, breadth_first, depth_first, iterative_depth, longest_of_a_few, parallel,
    parallel_adaptive, simplify, swarm,
};
use crate::store::concurrent::ConcurrentStore;
use crate::store::concurrent::bitstate::SharedBitstate;
use crate::store::concurrent::compact::SharedCompact;
use crate::store::concurrent::exact::SharedExact;
use crate::store::concurrent::tree::SharedTree;
use crate::store::{Adaptive, Compact, Exact, Store, Tree, note_tree};
use crate::{
    Answer, Budget, Compatibility, Covered, Finding, Options, Phase, Progress, Reduction,
    RemoteSearch, Search, Storage, conclude, time_to_show,
};
use preempt_core::{Stop, System};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A check of one system, to be configured and run.
///
/// A lock-free stack of nodes 1 and 2, and a thread that pops by compare-and-swap while another
/// pops both nodes and pushes the first one back (the ABA problem; `examples/lock_free_stack.rs`
/// has the whole story):
///
/// ```
/// use preempt_check::Check;
/// use preempt_core::{
///     Describe, Enabled, Independence, Outcome, ProcessId, Step, System, Verdict,
/// };
///
/// struct Stack;
///
/// // The state: what lies where.
/// const TOP: usize = 0; // the node on top, 0 if there is none
/// const TAKEN: usize = 1; // whether thread 1 owns node 2
/// const SEEN: usize = 2; // what thread 0 saw on top,
/// const BELOW: usize = 3; // and below it
/// const AT: usize = 4; // where the two threads are
/// const NEXT: usize = 6; // what lies below node 1
///
/// impl System for Stack {
///     fn initial(&self, state: &mut Vec<u8>) -> Outcome {
///         state.extend([1, 0, 0, 0, 0, 0, 2]);
///         Outcome::Done
///     }
///     fn process_count(&self, _state: &[u8]) -> usize {
///         2
///     }
///     fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
///         for (thread, steps) in [2, 3].into_iter().enumerate() {
///             if state[AT + thread] < steps {
///                 enabled.push(Step::new(ProcessId(thread as u16), state[AT + thread].into()));
///             }
///         }
///     }
///     fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
///         state[AT + step.process.index()] += 1;
///         match (step.process.index(), step.transition) {
///             (0, 0) => {
///                 state[SEEN] = state[TOP];
///                 state[BELOW] = if state[TOP] == 1 { state[NEXT] } else { 0 };
///             }
///             // Compare and swap.
///             (0, _) if state[TOP] == state[SEEN] => {
///                 state[TOP] = state[BELOW];
///                 if state[TOP] == 2 && state[TAKEN] == 1 {
///                     return Outcome::Violated(0);
///                 }
///             }
///             (0, _) => {}
///             (_, 0) => state[TOP] = if state[TOP] == 1 { state[NEXT] } else { 0 },
///             (_, 1) => {
///                 state[TAKEN] = u8::from(state[TOP] == 2);
///                 state[TOP] = 0;
///             }
///             _ => {
///                 state[NEXT] = state[TOP];
///                 state[TOP] = 1;
///             }
///         }
///         Outcome::Done
///     }
/// }
/// impl Independence for Stack {}
/// impl Describe for Stack {}
///
/// let answer = Check::new(&Stack).run();
/// assert_eq!(answer.verdict(), Verdict::Violated);
/// let trace = &answer.claim.violation.expect("a violation has a trace").trace;
/// assert_eq!(trace.cost().preemptions, 1);
/// ```
pub struct Check<'a> {
    system: &'a dyn System,
    options: Options,
    interrupt: Option<&'a AtomicBool>,
    listener: Option<&'a mut (dyn FnMut(&Progress) + Send)>,
    elsewhere: Option<&'a dyn RemoteSearch>,
    product: Option<&'a Product<'a, dyn System + 'a, dyn Property + 'a>>,
}

impl<'a> Check<'a> {
    /// A check with default options: assertions and deadlocks, all executions.
    pub fn new<S: System + ?Sized>(system: &'a S) -> Self {
        let system = system.as_system();
        let options = Options::default();
        Check { system, options, interrupt: None, listener: None, elsewhere: None, product: None }
    }

    /// Takes all options at once.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Uses this many threads; 0 leaves it to the check, see [`Options::threads`].
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Uses at most this much memory, in bytes.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.options.memory = Some(bytes);
        self
    }

    /// Takes at most this long.
    pub fn time(mut self, limit: Duration) -> Self {
        self.options.time = Some(limit);
        self
    }

    /// Ends with a partial answer when the flag is set.
    pub fn interrupt(mut self, flag: &'a AtomicBool) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Tells `listener` about ten times a second how far the search is, and at once when a
    /// counterexample was found ([`Phase::Simplify`]).
    pub fn progress(mut self, listener: &'a mut (dyn FnMut(&Progress) + Send)) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Has the search made elsewhere: on several machines, in files.
    pub fn elsewhere(mut self, elsewhere: Option<&'a dyn RemoteSearch>) -> Self {
        self.elsewhere = elsewhere;
        self
    }

    /// Says of what parts the system is made, which a search elsewhere may use.
    pub fn beside(mut self, product: &'a Product<'a, dyn System + 'a, dyn Property + 'a>) -> Self {
        self.product = Some(product);
        self
    }

    /// Searches, and says what was found.
    pub fn run(self) -> Answer {
        let (system, property) = (self.system, self.options.property.clone());
        conclude(system, &property, self.find())
    }

    /// Searches, and gives what was found, to be [concluded](crate::conclude) by the caller.
    pub fn find(self) -> Finding {
        let system = self.system;
        let searches: Searches<'_> = (
            &|plan, options, budget| search(plan, Job { system, options, budget }),
            &|options, finding, budget| simplify(system, options, finding, budget),
        );
        self.find_by(searches)
    }

    /// As [`Check::find`], with the usual searches compiled for the type of `system`, which must be the
    /// one that the check was made with. It pays where a step takes less time than a few indirect
    /// calls; every such type makes the program larger and slower to build.
    pub fn find_compiled_for<S: System + ?Sized>(self, system: &S) -> Finding {
        let plain = self.system;
        let searches: Searches<'_> = (
            &|plan, options, budget| match is_usual(plan) {
                true => Job { system, options, budget }.usual(plan),
                false => search(plan, Job { system: plain, options, budget }),
            },
            &|options, finding, budget| simplify(system, options, finding, budget),
        );
        self.find_by(searches)
    }

    /// How the check is made, if it is made here.
    pub fn plan(&self) -> Plan {
        let mut options = self.options.clone();
        options.threads = options.threads.min(clamp_threads(usize::MAX));
        self.make_plan(&mut options)
    }

    /// Chooses, and changes in the options what cannot be had as it was asked for.
    fn make_plan(&self, options: &mut Options) -> Plan {
        let longest = match options.storage {
            // Within a bound no state beyond it is looked at.
            Storage::Auto if is_bounded(options) => initial_length(self.system),
            Storage::Auto => longest_of_a_few(self.system),
            _ => 0,
        };
        if longest >= LONG_STATE {
            options.storage = Storage::Tree;
        }
        let is_masked = !self.system.unmatched().is_empty();
        if is_masked && options.search == Search::Auto && !is_bounded(options) {
            options.search = Search::Depth;
        }
        let mut plan = plan(options, usual_threads());
        if is_masked && plan.frontier != Frontier::Stack {
            plan.notes.push(TOLD_APART.into());
        }
        if longest >= LONG_STATE {
            plan.notes.push(format!("states of {longest} bytes are kept compressed (tree)"));
        }
        plan
    }

    fn find_by(mut self, (search, simplify): Searches<'_>) -> Finding {
        let system = self.system;
        let wanted = self.options.threads;
        let useful = clamp_threads(usize::MAX);
        self.options.threads = wanted.min(useful);
        let available = available_memory_beside(threads_in_order(&self.options)) / 16 * 15;
        let memory = self.options.memory.unwrap_or(available);
        let mut budget = Budget::unlimited().memory(memory.min(available));
        if let Some(time) = self.options.time {
            budget = budget.time(time);
        }
        if let Some(states) = self.options.states {
            budget = budget.states(states);
        }
        if let Some(flag) = self.interrupt {
            budget = budget.interrupt(flag);
        }
        if let Some(listener) = self.listener.take() {
            budget = budget.listener(listener);
        }
        let mut finding = match self.elsewhere {
            Some(elsewhere) => match self.product {
                Some(product) => elsewhere.safety_beside(product, &self.options, &mut budget),
                None => elsewhere.safety(system, &self.options, &mut budget),
            },
            None => {
                let mut options = self.options.clone();
                let plan = self.make_plan(&mut options);
                let mut finding = search(&plan, &options, &mut budget);
                if finding.reduction_useless {
                    let mut unreduced = Options { reduction: Reduction::None, ..options.clone() };
                    let plan = self.make_plan(&mut unreduced);
                    finding = search(&plan, &unreduced, &mut budget);
                    finding.notes.push(REDUCTION_USELESS.into());
                }
                finding.notes.splice(0..0, plan.notes);
                self.options = options;
                finding
            }
        };
        let simplifies = self.elsewhere.is_none_or(|elsewhere| elsewhere.simplifies());
        if finding.counterexample.is_some() {
            budget.announce(Phase::Simplify);
        }
        let as_found = self.options.first || !simplifies;
        if !as_found && self.options.compatibility == Compatibility::None {
            let limit = budget.elapsed().max(SIMPLEST_AT_LEAST);
            let show = time_to_show(system, &finding, &budget);
            simplify(&self.options, &mut finding, &mut budget.simplify(limit).reserve(show));
        }
        if memory > available {
            finding.notes.push(format!(
                "the memory limit was lowered to the {} MiB that are available",
                available >> 20
            ));
        }
        if wanted > useful {
            finding.notes.push(format!(
                "{useful} of {wanted} threads were used: more would not help on this machine"
            ));
        }
        finding
    }
}

/// How to look for a violation, and for a simpler one.
type Searches<'a> = (
    &'a dyn Fn(&Plan, &Options, &mut Budget) -> Finding,
    &'a dyn Fn(&Options, &mut Finding, &mut Budget),
);

/// How many of so many threads are of use on this machine, and can be had.
pub fn clamp_threads(threads: usize) -> usize {
    threads.clamp(1, useful_threads().min(threads_that_fit().unwrap_or(usize::MAX)).max(1))
}

/// How many threads a search may use that is the same at any number of them. Where the address space is limited, several are used
/// on request only.
fn threads_in_order(options: &Options) -> usize {
    if options.threads == 0 { usual_threads() } else { options.threads }
}

/// How many threads are used by searches that are the same at any number of them, if none was asked for.
fn usual_threads() -> usize {
    match threads_that_fit() {
        Some(_) => 1,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// More threads than this only wait for each other. A few more than the machine runs at once do no harm.
fn useful_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (2 * cores).max(AT_LEAST_USEFUL)
}

/// So many threads are had on any machine.
const AT_LEAST_USEFUL: usize = 16;

/// States of so many bytes are compressed from the start: most of them is the same in all, and in full a few million would
/// fill any memory.
const LONG_STATE: usize = 1 << 12;

/// How long the first state is.
fn initial_length(system: &dyn System) -> usize {
    let mut state = Vec::new();
    system.initial(&mut state);
    state.len()
}

/// Said of a search that takes states from its store, and so has to keep and compare all of them.
const TOLD_APART: &str = "states that differ only in UnMatched memory were told apart: only a depth-first search does not";

/// Said of a reduction that left nothing out.
const REDUCTION_USELESS: &str = "reduction was switched off: in the first tens of thousands of states it left out almost nothing";

/// How long the search for the simplest counterexample may take at least; at most it takes as long as
/// the search that found one.
const SIMPLEST_AT_LEAST: Duration = Duration::from_secs(10);

/// Whether a search is one of those that most checks are made by. Others are compiled once, for
/// systems of any type: each takes seconds to compile.
fn is_usual(plan: &Plan) -> bool {
    match plan.frontier {
        Frontier::Stack | Frontier::Levels | Frontier::Chunks => {
            !matches!(plan.store, Storage::Exact | Storage::Compact)
        }
        Frontier::Buckets => plan.store == Storage::Auto,
        _ => false,
    }
}

/// A search that is made here, within a budget, as part of another one; [`Check`] is what to use otherwise.
pub fn search_here(system: &dyn System, options: &Options, budget: &mut Budget) -> Finding {
    let mut options = options.clone();
    let plan = Check::new(system).options(options.clone()).make_plan(&mut options);
    let mut finding = search(&plan, Job { system, options: &options, budget });
    finding.notes.splice(0..0, plan.notes);
    finding
}

/// Every search.
fn search(plan: &Plan, mut job: Job<'_, '_, dyn System + '_>) -> Finding {
    let limit = job.budget.memory_limit();
    match (plan.frontier, plan.store) {
        (Frontier::Swarm(seed), _) => swarm(job.system, seed, job.options, job.budget),
        (Frontier::GrowingStack(step), _) => {
            iterative_depth(job.system, step, job.options, job.budget)
        }
        (Frontier::Chunks, _) => job.in_parallel(),
        (_, Storage::Auto) => adaptive(limit, |store| job.over(store, plan)),
        (_, Storage::Exact) => job.over(&mut Exact::new(limit), plan),
        (_, Storage::Tree) => job.over(&mut Tree::new(limit), plan),
        (Frontier::Buckets, Storage::Compact | Storage::Bitstate { .. })
            if plan.executor != Executor::OneThread =>
        {
            lossy_in_parallel(&mut job)
        }
        (_, Storage::Compact) => {
            let numbered = job.options.reduction != Reduction::None || is_bounded(job.options);
            let mut store = Compact::new(limit, numbered);
            let mut finding = job.over(&mut store, plan);
            finding.coverage = Some(omissions(store.expected_omissions()));
            weaken(finding)
        }
        (_, Storage::Bitstate { bits, hashes }) => {
            in_bits((bits, hashes), limit, job.options, |store| job.over(store, plan))
        }
    }
}

/// A search with a store that adapts to the memory there is.
fn adaptive(limit: usize, search: impl FnOnce(&mut Adaptive) -> Finding) -> Finding {
    let mut store = Adaptive::new(limit);
    let mut finding = search(&mut store);
    finding.notes.extend(store.switched_at().map(note_tree));
    finding
}

impl Job<'_, '_, dyn System + '_> {
    /// A search over some store by one thread, or by several that keep to its order or have stores of their own.
    fn over<T: Store>(&mut self, store: &mut T, plan: &Plan) -> Finding {
        match plan.frontier {
            Frontier::Samples(sampler, seed) => {
                (sampler.run)(self.system, store, seed, self.options, self.budget)
            }
            Frontier::Buckets if store.is_exact() => self.by_buckets(store),
            Frontier::Buckets | Frontier::CountedStack | Frontier::SpinStack => {
                self.with_counts(store, plan.frontier)
            }
            _ => self.unbounded(store, plan),
        }
    }
}

impl<S: System + ?Sized> Job<'_, '_, S> {
    /// The [usual](is_usual) searches.
    fn usual(&mut self, plan: &Plan) -> Finding {
        if plan.frontier == Frontier::Chunks {
            return self.in_parallel();
        }
        let limit = self.budget.memory_limit();
        match plan.store {
            Storage::Tree => self.unbounded(&mut Tree::new(limit), plan),
            Storage::Bitstate { bits, hashes } => {
                let options = self.options;
                in_bits((bits, hashes), limit, options, |store| self.unbounded(store, plan))
            }
            _ => adaptive(limit, |store| match plan.frontier {
                Frontier::Buckets => self.by_buckets(store),
                _ => self.unbounded(store, plan),
            }),
        }
    }

    /// A search by several threads in no particular order.
    fn in_parallel(&mut self) -> Finding {
        let limit = self.budget.memory_limit();
        let (mut finding, bytes) = match self.options.storage {
            Storage::Auto => {
                let (mut finding, bytes, switched_at) =
                    parallel_adaptive(self.system, self.options, self.budget);
                finding.notes.extend(switched_at.map(note_tree));
                (finding, bytes)
            }
            Storage::Exact => {
                self.in_parallel_over(|threads| SharedExact::new(limit, threads), |found, _| found)
            }
            Storage::Tree => {
                self.in_parallel_over(|threads| SharedTree::new(limit, threads), |found, _| found)
            }
            Storage::Compact => {
                let make = |threads| SharedCompact::new(limit, threads);
                self.in_parallel_over(make, |mut finding, store| {
                    finding.coverage = Some(omissions(store.expected_omissions()));
                    weaken(finding)
                })
            }
            Storage::Bitstate { bits, hashes } => {
                let Some(bits) = field_bits(bits, limit, self.options) else {
                    return Finding::new(Covered::Part(Stop::Memory));
                };
                let make = |_| SharedBitstate::new(bits, hashes, limit);
                self.in_parallel_over(make, |mut finding, store| {
                    let (coverage, missed) = (store.expected_coverage(), store.expected_misses());
                    finding.coverage = Some(misses(coverage, missed));
                    weaken(finding)
                })
            }
        };
        self.budget.sum_up(&mut finding.statistics, bytes);
        finding
    }

    /// A parallel search over one kind of store, which `conclude` may ask about what it has lost. Also gives how many bytes it
    /// took.
    fn in_parallel_over<T: ConcurrentStore>(
        &mut self,
        make: impl Fn(usize) -> T,
        conclude: impl FnOnce(Finding, &T) -> Finding,
    ) -> (Finding, usize) {
        let (finding, store) = parallel(self.system, make, self.options, self.budget);
        match store {
            Some(store) => (conclude(finding, &store), store.bytes()),
            None => (finding, 0),
        }
    }

    /// A search of all executions, however many preemptions they need.
    fn unbounded<T: Store>(&mut self, store: &mut T, plan: &Plan) -> Finding {
        let Job { system, options, budget } = self.reborrow();
        let mut finding = match plan.frontier {
            Frontier::Stack => depth_first(system, store, options, budget),
            _ => breadth_first(system, store, options, plan.threads(), budget),
        };
        self.budget.sum_up(&mut finding.statistics, store.bytes());
        finding
    }
}
