//! Searches for infinite executions: acceptance cycles, non-progress cycles, LTL.

use super::assertions;
use super::endless::{self, Sequences};
use super::verify::{verify, verify_circle};
use crate::arguments::CheckArguments;
use crate::deadline;
use crate::failure::Failure;
use crate::terminal::{INTERRUPTED, ProgressLine};
use preempt_check::property::{Endless, Fair, Product, Property, Stutter, Watched, WithinBound};
use preempt_check::search::lasso::{preemptions_to_everywhere, shorten_cycle};
use preempt_check::search::nested::{NestedOptions, Scheme, nested};
use preempt_check::search::nested_shared::nested_shared;
use preempt_check::store::{Compact, Exact, Store, Tree};
use preempt_check::{Budget, Finding, Storage, available_memory, conclude};
use preempt_core::{BoundRow, Claim, Label, ProcessId, Step, System, Verdict, ViolationKind};
use preempt_promela::interpret::Interpreter;
use std::time::{Duration, Instant};

/// What to look for.
#[derive(Clone)]
pub(super) struct Question<'a> {
    /// In words.
    pub(super) property: String,
    /// What it means that there is a cycle.
    pub(super) cycle: String,
    /// What a cycle is called.
    pub(super) kind: ViolationKind,
    /// Whether an execution that ends is repeated at its last state.
    pub(super) stutter: Stutter,
    /// Reduction.
    pub(super) scheme: Scheme,
    /// Lines for the report.
    pub(super) notes: Vec<String>,
    pub(super) arguments: &'a CheckArguments,
    /// If indivisible sequences of the system may never end.
    pub(super) endless: Option<Sequences<'a>>,
}

impl Question<'_> {
    /// Every step is to be explored, and the user is told why.
    pub(super) fn reduce_not(&mut self, reason: &str) {
        if let Scheme::SourceState(_) = self.scheme {
            self.scheme = Scheme::Full;
            self.notes.push(format!("no partial-order reduction: {reason}"));
        }
    }
}

/// The least time that the search for a shorter counterexample gets.
const SHORTEN: Duration = Duration::from_secs(10);

/// Runs the property beside the system; what is found is confirmed on the reference interpreter.
pub(super) fn check<S: System + ?Sized>(
    system: &S,
    reference: &Interpreter,
    property: &dyn Property,
    question: Question<'_>,
) -> Result<Claim, Failure> {
    let product = Product::new(system, property, question.stutter);
    let target = Product::<S, dyn Property>::target;
    let deadline = question.arguments.deadline();
    let mut finding = match question.arguments.fair {
        true => {
            let fair: &dyn System = &Watched::new(&product, Fair);
            let shared = None;
            Job { system: fair, plain: fair, shared, question: &question, target, deadline }.run()
        }
        false => {
            let search = |budget: &mut Budget, options| {
                nested_shared(system, property, question.stutter, budget, options)
            };
            let shared: Option<SharedSearch<'_>> =
                can_share(property, question.scheme).then_some(&search);
            let (system, plain) = (&product, &product as &dyn System);
            Job { system, plain, shared, question: &question, target, deadline }.run()
        }
    };
    finding.cut |= product.is_cut();
    let left = time_left(deadline);
    match assertions::complete(system, reference, &question, &mut finding, left)? {
        Some(violated) => Ok(violated),
        None => answer(reference, property, question, finding),
    }
}

fn time_left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
}

/// The search whose product states share their system states; `None` when it cannot tell.
type SharedSearch<'a> = &'a dyn Fn(&mut Budget, NestedOptions) -> Option<Finding>;

/// Whether the search whose product states share their system states is an option: it reduces only
/// where the automaton is in SI normal form.
fn can_share(property: &dyn Property, scheme: Scheme) -> bool {
    let reader = property.reader();
    match scheme {
        Scheme::Full => reader.is_some(),
        Scheme::SourceState(_) => reader.is_some_and(|reader| reader.is_normal_form()),
        Scheme::IntermediateState => false,
    }
}

/// As [`check`], where a state expression may have no value: in SI normal form every letter leads
/// elsewhere, so that whether a missing value matters does not show in the automaton's moves. `None` when
/// one is missing somewhere, or the search that would notice is no option.
pub(super) fn check_if_evaluable<S: System + ?Sized>(
    system: &S,
    reference: &Interpreter,
    normal: &dyn Property,
    question: Question<'_>,
) -> Result<Option<Claim>, Failure> {
    let arguments = question.arguments;
    let exact = matches!(super::safety::storage(arguments), Storage::Auto | Storage::Exact);
    if arguments.fair || arguments.bound.is_some() || arguments.iterate.is_some() || !exact {
        return Ok(None);
    }
    let product = Product::new(system, normal, question.stutter);
    let deadline = arguments.deadline();
    let target = Product::<S, dyn Property>::target;
    let (system_part, plain) = (&product, &product as &dyn System);
    let job =
        Job { system: system_part, plain, shared: None, question: &question, target, deadline };
    let memory = job.memory();
    let found = job.with_budget(memory, |budget, options| {
        nested_shared(system, normal, question.stutter, budget, options)
    });
    let Some(mut finding) = found else { return Ok(None) };
    job.shorten(plain, &mut finding);
    let left = time_left(deadline);
    match assertions::complete(system, reference, &question, &mut finding, left)? {
        Some(violated) => Ok(Some(violated)),
        None => answer(reference, normal, question, finding).map(Some),
    }
}

/// A system to be searched for accepting cycles. Only the plain search is compiled for each kind of
/// system: it is the one whose speed matters most.
struct Job<'a, S: ?Sized> {
    system: &'a S,
    plain: &'a dyn System,
    shared: Option<SharedSearch<'a>>,
    question: &'a Question<'a>,
    target: fn(Step) -> u32,
    /// All searches together end by then.
    deadline: Option<Instant>,
}

impl<S: System + ?Sized> Job<'_, S> {
    fn run(&self) -> Finding {
        let arguments = self.question.arguments;
        match (arguments.bound, arguments.iterate) {
            (Some(bound), _) => {
                let mut finding = self.within(bound);
                finding.statistics.per_bound = vec![row(bound, &finding)];
                finding
            }
            (None, Some(last)) => self.iterate(last),
            (None, None) => self.search(self.system, self.plain, self.shared),
        }
    }

    fn within(&self, bound: u32) -> Finding {
        let watch = WithinBound(u16::try_from(bound).unwrap_or(u16::MAX));
        let watched: &dyn System = &Watched::new(self.plain, watch);
        let mut finding = self.search(watched, watched, None);
        finding.bound = Some(bound);
        finding
    }

    /// One bound after the other. The search without a bound comes first: if it finds nothing, no
    /// bound will.
    fn iterate(&self, last: Option<u32>) -> Finding {
        let mut unbounded = self.search(self.system, self.plain, self.shared);
        if unbounded.counterexample.is_none() && unbounded.stop.is_none() {
            return unbounded;
        }
        let enough = unbounded.counterexample.is_some().then(|| self.enough()).flatten();
        let mut rows = Vec::new();
        for bound in 0..=last.unwrap_or(u32::from(u16::MAX)) {
            let mut finding = self.within(bound);
            rows.push(row(bound, &finding));
            let late = self.time_left() == Some(Duration::ZERO);
            if late && finding.counterexample.is_none() && finding.stop.is_none() {
                finding.notes.push("higher bounds were not explored: the time is over".into());
            }
            let over = late || finding.counterexample.is_some() || finding.stop.is_some();
            if over || Some(bound) == last {
                finding.statistics.per_bound = rows;
                return finding;
            }
            if enough.is_some_and(|enough| bound >= enough) {
                unbounded.notes.push("every violation preempts again and again, for ever".into());
                break;
            }
        }
        unbounded.statistics.per_bound = rows;
        unbounded
    }

    /// The bound that everything can be reached within.
    fn enough(&self) -> Option<u32> {
        let mut budget = Budget::unlimited().interrupt(&INTERRUPTED);
        if let Some(left) = self.time_left() {
            budget = budget.time(left);
        }
        preemptions_to_everywhere(self.plain, &mut budget)
    }

    fn time_left(&self) -> Option<Duration> {
        time_left(self.deadline)
    }

    fn search<W: System + ?Sized>(
        &self,
        system: &W,
        plain: &dyn System,
        shared: Option<SharedSearch<'_>>,
    ) -> Finding {
        let arguments = self.question.arguments;
        let memory = self.memory();
        let mut finding = match super::safety::storage(arguments) {
            Storage::Tree => self.nested(system, &mut Tree::new(memory)),
            Storage::Compact => {
                let mut store = Compact::new(memory, true);
                let mut finding = self.nested(system, &mut store);
                finding.coverage = Some(format!(
                    "about {:.1e} states are expected to have been taken for others",
                    store.expected_omissions()
                ));
                finding
            }
            storage => {
                let found = shared.and_then(|search| self.with_budget(memory, search));
                let mut finding =
                    found.unwrap_or_else(|| self.nested(system, &mut Exact::new(memory)));
                if matches!(storage, Storage::Bitstate { .. }) {
                    finding.notes.push(
                        "states were stored exactly: bitstate hashing is not used for cycles"
                            .into(),
                    );
                }
                finding
            }
        };
        self.shorten(plain, &mut finding);
        finding
    }

    fn memory(&self) -> usize {
        let wanted = self.question.arguments.memory;
        wanted.map_or_else(|| available_memory() / 8 * 7, |m| m as usize)
    }

    /// Looks for a simpler counterexample.
    fn shorten(&self, plain: &dyn System, finding: &mut Finding) {
        if !self.question.arguments.first
            && let Some(found) = &finding.counterexample
        {
            deadline::found();
            let arguments = self.question.arguments;
            let limit = SHORTEN.max(Duration::from_secs_f64(finding.statistics.seconds));
            let memory = self.memory() / 2;
            let mut line = ProgressLine::new(arguments.quiet);
            let mut listener = |progress: &preempt_check::Progress| line.show(progress);
            let mut budget = Budget::unlimited().memory(memory).interrupt(&INTERRUPTED);
            if let Some(left) = self.time_left() {
                budget = budget.time(left);
            }
            let mut budget = budget.listener(&mut listener);
            let shorter = shorten_cycle(plain, found, &mut budget.simplify(limit));
            line.clear();
            if let Some(shorter) = shorter {
                finding.counterexample = Some(shorter);
            }
        }
    }

    fn nested<W: System + ?Sized, T: Store>(&self, system: &W, store: &mut T) -> Finding {
        let memory = self.question.arguments.memory.map_or(usize::MAX, |m| m as usize);
        self.with_budget(memory, |budget, options| {
            nested(system, store, budget, options, self.target)
        })
    }

    /// Runs a search within what the user allows.
    fn with_budget<R>(
        &self,
        memory: usize,
        search: impl FnOnce(&mut Budget, NestedOptions) -> R,
    ) -> R {
        let arguments = self.question.arguments;
        let options = NestedOptions {
            scheme: self.question.scheme,
            kind: self.question.kind,
            assertions: !arguments.no_assert,
            deadlocks: false,
            max_errors: arguments.max_errors,
            depth: arguments.depth,
        };
        let mut line = ProgressLine::new(arguments.quiet);
        let mut listener = |progress: &preempt_check::Progress| line.show(progress);
        let mut budget = Budget::unlimited().memory(memory).interrupt(&INTERRUPTED);
        if let Some(left) = self.time_left() {
            budget = budget.time(left);
        }
        let mut budget = budget.listener(&mut listener);
        let found = search(&mut budget, options);
        line.clear();
        found
    }
}

fn row(bound: u32, finding: &Finding) -> BoundRow {
    let numbers = &finding.statistics;
    let (states, transitions, errors) = (numbers.states, numbers.transitions, numbers.errors);
    BoundRow { bound, states, transitions, errors }
}

fn answer(
    reference: &Interpreter,
    property: &dyn Property,
    question: Question<'_>,
    mut finding: Finding,
) -> Result<Claim, Failure> {
    let plain = Product::new(reference, property, question.stutter);
    let never = || false;
    let none = Endless::new(reference, Vec::new(), &never);
    let endless = question.endless.map_or(&none, |sequences| sequences.reference);
    let with_endless = Product::new(endless, property, question.stutter);
    let mut stays = false;
    if let Some(found) = &mut finding.counterexample {
        stays = found.steps.iter().any(|step| Endless::is_stay(*step));
        if let Some(start) = found.cycle_start {
            let ends = found.steps[start..].iter().all(|step| step.process == ProcessId::PROPERTY);
            found.message = match (ends, stays) {
                (true, _) => {
                    format!("{}: it ends, and its last state repeats for ever", question.cycle)
                }
                (_, true) => {
                    format!("{}: it stays inside an indivisible sequence for ever", question.cycle)
                }
                _ => question.cycle,
            };
        }
        match stays {
            true => verify(&with_endless, found)?,
            false => verify(&plain, found)?,
        }
        let label = match question.kind {
            ViolationKind::NonProgressCycle => Some(Label::Progress),
            _ => property.counts_labels().then_some(Label::Accept),
        };
        if let Some(unfolded) = with_endless.unfold(found, label) {
            verify_circle(&plain, &unfolded)?;
            *found = unfolded;
            stays = false;
        }
    }
    endless::weaken(question.endless, &mut finding);
    finding.notes.splice(0..0, question.notes);
    let mut claim = match stays {
        true => endless::shown(conclude(&with_endless, &question.property, finding).claim),
        false => conclude(&plain, &question.property, finding).claim,
    };
    if let Verdict::HoldsWithinBound(bound) = claim.verdict {
        claim.notes.push(format!(
            "for infinite executions the bound counts all preemptions of the execution: those with more than {bound} in all, among them every one that preempts again and again, were not explored"
        ));
    }
    Ok(claim)
}
