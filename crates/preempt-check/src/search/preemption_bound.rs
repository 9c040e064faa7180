//! Searches with a bound on preemptions: which of them, over which store, the [plan](crate::Plan) says; how they reduce is chosen here,
//! by a look at the system.

use crate::plan::Frontier;
use crate::reduce::{Learned, Signalled};
use crate::search::bounded::as_spin::{Build, depth_first_as_spin};
use crate::search::bounded::depth_first::depth_first;
use crate::search::bounded::reduced::depth_first_reduced;
use crate::search::bounded::simplest::simplest;
use crate::search::bounded::visited::{Marked, Replicated, Visited};
use crate::search::iterative::conclusion::Conclusion;
use crate::search::iterative::lossy_parallel::iterative_lossy_parallel;
use crate::search::iterative::one_thread::iterative;
use crate::search::iterative::parallel::iterative_parallel;
use crate::search::iterative::phases::last_bound;
use crate::search::iterative::reduced::{
    Order, Reduced, SHARDS, iterative_reduced, iterative_reduced_parallel, pilot,
};
use crate::search::iterative::visit_memory::{Bits, LossyStore, Numbered};
use crate::search::job::Job;
use crate::search::shared::compressed::compressed_if_full;
use crate::search::shared::halt::Halt;
use crate::store::concurrent::exact::SharedExact;
use crate::store::concurrent::tree::SharedTree;
use crate::store::{Adaptive, Exact, Store, Tree};
use crate::{Compatibility, Finding, Options, Preemptions, Reduction, Storage};
use preempt_core::{Stop, System, cost};

/// How the search for a lossy store reduces, one count after the other.
const LOSSY: Rule = Rule::Local("bounds are tried one by one with a lossy store");

impl<S: System + ?Sized> Job<'_, '_, S> {
    /// Searches the executions that `options.preemptions` allows, in another order than [by buckets](Job::by_buckets) over an exact
    /// store.
    pub(crate) fn with_counts<T: Store>(&mut self, store: &mut T, frontier: Frontier) -> Finding {
        let Job { system, options, budget } = self.reborrow();
        // Without a bound a search as deep as the counters reach: more preemptions than states.
        let bound = last_bound(options);
        let in_bits = matches!(options.storage, Storage::Bitstate { .. });
        let finding = match frontier {
            Frontier::SpinStack => {
                let build = Build { safety: options.compatibility == Compatibility::Spin };
                return depth_first_as_spin(system, store, bound, build, options, budget);
            }
            Frontier::Buckets => {
                let reduce = options.reduction != Reduction::None;
                let mut finding = match in_bits {
                    true => iterative(system, Bits::new(store), options, reduce, budget),
                    false => {
                        let visited = Numbered::<_, false>::new(store);
                        iterative(system, visited, options, reduce, budget)
                    }
                };
                finding.notes.extend(reduce.then(|| LOSSY.note()));
                return finding;
            }
            _ if in_bits => self.with_stack(Replicated::new(store, bound), bound),
            _ => self.with_stack(Marked::new(store), bound),
        };
        self.keep_to_the_bound(bound, finding)
    }

    /// The search for lossy stores by several threads, one count of preemptions after the other; also gives the stores back.
    pub(crate) fn lossy_by_buckets<T: LossyStore>(
        &mut self,
        make: impl Fn() -> Vec<T>,
    ) -> (Finding, Vec<T>) {
        let Job { system, options, budget } = self.reborrow();
        let reduce = options.reduction != Reduction::None;
        let (mut finding, stores) = iterative_lossy_parallel(system, make, options, reduce, budget);
        finding.notes.extend(reduce.then(|| LOSSY.note()));
        (finding, stores)
    }

    /// The search for an exact store, one count of preemptions after the other: the usual one.
    pub(crate) fn by_buckets<T: Store>(&mut self, store: &mut T) -> Finding {
        match self.options.reduction {
            Reduction::None => self.exactly(store, false),
            Reduction::Full | Reduction::Spin => self.reduced(store),
        }
    }

    /// Searches bucket by bucket; with `reduce` strictly local steps are taken alone.
    fn exactly<T: Store>(&mut self, store: &mut T, reduce: bool) -> Finding {
        let Job { system, options, budget } = self.reborrow();
        if options.threads < 2 {
            let visited = Numbered::<_, true>::new(store);
            return iterative(system, visited, options, reduce, budget);
        }
        let limit = budget.memory_limit();
        let mut search = |is_compressed| match is_compressed {
            true => {
                let make = |threads| SharedTree::with_records(limit, threads);
                iterative_parallel(system, make, options, reduce, budget)
            }
            false => {
                let make = |threads| SharedExact::with_records(limit, threads);
                iterative_parallel(system, make, options, reduce, budget)
            }
        };
        match options.storage {
            Storage::Auto => compressed_if_full(search(false), || Some(search(true))),
            storage => search(storage == Storage::Tree),
        }
    }

    /// Chooses a rule by a short search with each. An error is a limit that was reached.
    fn choose(&mut self, bound: u32) -> Result<Rule, Stop> {
        let Job { system, options, budget } = self.reborrow();
        if let Some(why) = only_local(options, bound) {
            return Ok(Rule::Local(why));
        }
        let unknown = Signalled::Learned(Learned::default());
        let deep = pilot(system, (Order::Deep, DEEP), options, unknown, budget)?;
        if !deep.ran_ahead {
            return Ok(Rule::Local("all other steps can enable another process"));
        }
        for states in LOOKS {
            let mut look =
                |signalled| pilot(system, (Order::Layers, states), options, signalled, budget);
            let local = look(Signalled::Nothing)?;
            let anything = look(Signalled::Anything)?.percent_of(&local);
            if anything <= FEWER {
                return Ok(Rule::Ahead(Signalled::Anything));
            }
            let learned = look(deep.signalled.clone())?;
            if learned.percent_of(&local) <= FEWER {
                return Ok(Rule::Ahead(learned.signalled));
            }
            if anything >= MORE {
                break;
            }
        }
        Ok(Rule::Local("a pilot search reached fewer states so"))
    }

    /// Searches with processes that run ahead, or with strictly local steps alone, whichever explores less.
    fn reduced<T: Store>(&mut self, store: &mut T) -> Finding {
        let rule = match self.choose(last_bound(self.options)) {
            Ok(rule) => rule,
            Err(stop) => {
                let nothing =
                    Conclusion::nothing(self.system, self.options, Some(Halt::Stop(stop)));
                return nothing.finding(self.system, self.budget);
            }
        };
        let note = rule.note();
        let mut finding = match rule {
            Rule::Local(_) => self.exactly(store, true),
            Rule::Ahead(signalled) => self.ahead(store, &signalled),
        };
        finding.notes.push(note);
        finding
    }

    /// Searches with processes that run ahead.
    fn ahead<T: Store>(&mut self, store: &mut T, signalled: &Signalled) -> Finding {
        let (system, options) = (self.system, self.options);
        let budget = &mut *self.budget;
        let limit = budget.memory_limit();
        let part = limit / SHARDS;
        let found = match options.storage {
            _ if options.threads < 2 => {
                iterative_reduced(system, store, options, signalled, budget)
            }
            Storage::Tree => {
                iterative_reduced_parallel(system, || Tree::new(part), options, signalled, budget)
            }
            Storage::Auto => {
                let make = || Adaptive::new(part);
                iterative_reduced_parallel(system, make, options, signalled, budget)
            }
            _ => {
                iterative_reduced_parallel(system, || Exact::new(part), options, signalled, budget)
            }
        };
        let finding = match found {
            Reduced::Decided(finding) => return *finding,
            Reduced::Undecided(finding) => finding,
        };
        // Within a bound one execution is enough; rows must have all their errors.
        let max_errors = match options.preemptions {
            Preemptions::AtMost(_) => 1,
            _ => options.max_errors,
        };
        let again = Options { max_errors, ..options.clone() };
        let limit = limit.saturating_sub(store.bytes());
        let mut again = Job { options: &again, ..self.reborrow() };
        let exact = match options.storage {
            Storage::Tree => again.exactly(&mut Tree::new(limit), true),
            _ => again.exactly(&mut Adaptive::new(limit), true),
        };
        decided(*finding, exact, options)
    }

    fn with_stack<V: Visited>(&mut self, visited: V, bound: u32) -> Finding {
        let Job { system, options, budget } = self.reborrow();
        if options.reduction == Reduction::None {
            return depth_first(system, visited, bound, options, budget);
        }
        let why = match options.storage {
            Storage::Bitstate { .. } => Some("a bitstate table stores no last movers"),
            _ => only_local(options, bound),
        };
        let rule = why.map_or(Rule::Ahead(Signalled::Anything), Rule::Local);
        let ahead = why.is_none();
        let mut finding = depth_first_reduced(system, visited, bound, ahead, options, budget);
        finding.notes.push(rule.note());
        finding
    }

    /// Processes that run ahead let executions beyond the bound through. A violation that only those have is none within the
    /// bound: the exact search decides.
    fn keep_to_the_bound(&mut self, bound: u32, mut finding: Finding) -> Finding {
        let Some(found) = &finding.counterexample else { return finding };
        let needs = cost(self.system, &found.steps).map_or(0, |cost| cost.preemptions);
        if needs <= bound {
            return finding;
        }
        let exact = simplest(self.system, self.options, Some(bound), self.budget);
        match (exact.counterexample, exact.proven) {
            (Some(simpler), proven) => {
                finding.counterexample = Some(simpler);
                finding.simplest = proven;
            }
            (None, true) => {
                finding.counterexample = None;
                finding.bound = Some(bound);
                finding.statistics.errors = 0;
                finding
                    .notes
                    .push(format!("a violation with {needs} preemptions was met beyond the bound"));
            }
            (None, false) => {
                finding.notes.push(format!(
                    "the violation found has {needs} preemptions; whether one has at most {bound} was not decided"
                ));
            }
        }
        finding
    }
}

/// How a search within a bound reduces, and why so.
enum Rule {
    /// By strictly local steps alone.
    Local(&'static str),
    /// By processes that run ahead, where last movers may owe their turn to these signals.
    Ahead(Signalled),
}

impl Rule {
    /// For the report.
    fn note(&self) -> String {
        match self {
            Rule::Local(why) => format!(
                "reduction: a process takes its strictly local steps before another one moves ({why})"
            ),
            Rule::Ahead(Signalled::Anything) => {
                "reduction: processes run ahead; leaving one that waits for anything they could signal is no preemption"
                    .into()
            }
            Rule::Ahead(_) => {
                "reduction: processes run ahead; leaving one that waits for what they did signal is no preemption"
                    .into()
            }
        }
    }
}

/// Why only strictly local steps may be taken alone, if so.
fn only_local(options: &Options, bound: u32) -> Option<&'static str> {
    if options.observed {
        // What a property observes is not reordered by more.
        Some("a property observes the others")
    } else if bound == 0 {
        // Nearly every last mover may owe its turn to another process, and fewer states are reached so.
        Some("without preemptions that reaches fewer states")
    } else {
        None
    }
}

/// How many states a pilot looks at to see whether a process runs ahead, and what is signalled then.
const DEEP: u64 = 600;
/// How many states pilots look at by each rule, to compare the rules: more and more while they are hardly apart.
pub(crate) const LOOKS: [u64; 3] = [500, 1000, 2000];

/// For each hundred states that strictly local steps reach, running ahead may reach so many at most, because a state takes longer with
/// it.
const FEWER: u64 = 80;
/// Where running ahead reaches so many or more, a longer look would not change the choice.
const MORE: u64 = 115;

/// A search whose violations may need more preemptions than the bound, decided by one that counts exactly.
fn decided(reduced: Finding, exact: Finding, options: &Options) -> Finding {
    let violated = exact.counterexample.is_some();
    match options.preemptions {
        // What was searched covers the bound; the exact search only found an execution within it.
        Preemptions::AtMost(_) if violated => {
            Finding { counterexample: exact.counterexample, ..reduced }
        }
        // Rows are those of the exact search.
        _ => exact,
    }
}
