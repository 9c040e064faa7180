//! Searches for infinite executions: acceptance cycles, non-progress cycles, LTL.

use crate::confirm::{confirm, confirm_circle};
use crate::engine::Engine;
use crate::question::Question;
use crate::{Error, Event, assertions, endless};
use preempt_check::property::{Endless, Fair, Product, Property, Watched, WithinBound};
use preempt_check::search::compressed_if_full;
use preempt_check::search::concurrent::nested_concurrent;
use preempt_check::search::lasso::{preemptions_to_everywhere, shorten_cycle};
use preempt_check::search::nested::{NestedOptions, Scheme, nested};
#[cfg(feature = "promela")]
use preempt_check::search::nested_shared::{Pilot, pilot};
use preempt_check::store::{Compact, Exact, Store, Tree};
use preempt_check::{
    Budget, Finding, Plan, Preemptions, Reduction, Storage, available_memory, clamp_threads,
    conclude_until, plan_infinite, time_to_show,
};
use preempt_core::{
    BoundRow, Claim, Label, Locality, ProcessId, Step, System, Verdict, ViolationKind,
};
use std::time::Duration;

/// How infinite executions are reduced within a bound.
const LOCAL_ONLY: &str = "reduction: a process takes its strictly local steps before another one moves (a property observes the others)";

/// Why several threads were of no use after all.
const NO_VALUES: &str =
    "one thread was used: several look for infinite executions where all expressions have values";

/// The least time that the search for a shorter counterexample gets.
const SHORTEN: Duration = Duration::from_secs(10);

/// Runs the property beside the system; what is found is confirmed on `reference`, another
/// implementation of the same.
pub(crate) fn check(
    engine: Engine<'_>,
    reference: &dyn System,
    property: &dyn Property,
    question: Question<'_>,
) -> Result<Claim, Error> {
    let product = Product::new(engine.system(), property, question.stutter);
    let question = &question;
    let plan = plan(question);
    if question.request.explain_plan {
        question.control.announce(Event::Plan(&plan));
    }
    let mut finding = match question.request.fair {
        true => {
            let system = &Watched::new(&product, Fair);
            Job { system, shared: None, question, plan: &plan }.run()
        }
        false => {
            let search = |threads, budget: &mut Budget, options| {
                engine.nested_shared((property, question.stutter), threads, budget, options)
            };
            let can_share =
                question.request.elsewhere.is_none() && can_share(property, question.scheme);
            let shared: Option<SharedSearch<'_>> = can_share.then_some(&search);
            Job { system: &product, shared, question, plan: &plan }.run()
        }
    };
    finding.cut |= product.is_cut();
    match assertions::complete(engine, reference, question, &mut finding)? {
        Some(violated) => Ok(violated),
        None => answer(reference, property, question, finding),
    }
}

/// How infinite executions are searched.
fn plan(question: &Question<'_>) -> Plan {
    let request = question.request;
    let mut options = request.options(question.property.clone(), true);
    options.threads = clamp_threads(request.threads);
    if question.scheme == Scheme::Full {
        options.reduction = Reduction::None;
    }
    plan_infinite(&mut options)
}

/// The search whose product states share their system states, by so many threads; `None` when it cannot tell.
type SharedSearch<'a> = &'a dyn Fn(usize, &mut Budget, NestedOptions) -> Option<Finding>;

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

/// So many product states show whether a reduction is worth it.
#[cfg(feature = "promela")]
const PILOT: u64 = 1 << 13;

/// One of so many states at least must be narrowed by a reduction.
#[cfg(feature = "promela")]
const LEAST_NARROWED: f64 = 1.0 / 256.0;

/// How much more product states of each system state are made up for, for each part of these that is narrowed.
#[cfg(feature = "promela")]
const NARROWING: f64 = 8.0;

/// Whether a search of the SI normal form with reduction may be expected to store no more than one of the automaton
/// as it is without. The normal form has more states, because each remembers a letter, so reduction has to make up for
/// that. A small search is made both ways and the outcomes are compared. Of a large one the beginnings are: how many product
/// states there are for each state of the system, and how many of these reduction makes a difference to. Few are enough:
/// in a protocol one of 150 made five times fewer states.
#[cfg(feature = "promela")]
pub(crate) fn reduction_pays(
    engine: Engine<'_>,
    normal: &dyn Property,
    plain: &dyn Property,
    question: &Question<'_>,
) -> bool {
    let request = question.request;
    let exact = matches!(request.storage, Storage::Auto | Storage::Exact);
    if request.fair || request.is_bounded() || !exact || request.elsewhere.is_some() {
        return true;
    }
    let plan = plan(question);
    let pilot_search = |property: &dyn Property, scheme, most| {
        let product = Product::new(engine.system(), property, question.stutter);
        let job = Job { system: &product, shared: None, question, plan: &plan };
        job.with_budget(job.memory(), scheme, |budget, options| {
            pilot(engine.system(), property, question.stutter, budget, options, most)
        })
    };
    let Some(reduced) = pilot_search(normal, question.scheme, PILOT) else { return true };
    if reduced.is_violated {
        return true;
    }
    let Some(full) = pilot_search(plain, Scheme::Full, reduced.states) else { return true };
    if full.is_violated || reduced.is_whole {
        let is_smaller = full.is_whole && full.states < reduced.states;
        return !full.is_violated && !is_smaller;
    }
    let narrowed = reduced.narrowed as f64 / reduced.expanded.max(1) as f64;
    let of_each = |pilot: Pilot| pilot.states as f64 / pilot.expanded.max(1) as f64;
    narrowed >= LEAST_NARROWED && of_each(reduced) <= of_each(full) * (1.0 + NARROWING * narrowed)
}

/// As [`check`], where a state expression may have no value: in SI normal form every letter leads
/// elsewhere, so that whether a missing value matters does not show in the automaton's moves. `None` when
/// one is missing somewhere, or the search that would notice is no option.
#[cfg(feature = "promela")]
pub(crate) fn check_if_evaluable(
    engine: Engine<'_>,
    reference: &dyn System,
    normal: &dyn Property,
    question: Question<'_>,
) -> Result<Option<Claim>, Error> {
    let request = question.request;
    let exact = matches!(request.storage, Storage::Auto | Storage::Exact);
    if request.fair || request.is_bounded() || !exact {
        return Ok(None);
    }
    let product = Product::new(engine.system(), normal, question.stutter);
    let question = &question;
    let plan = plan(question);
    let job = Job { system: &product, shared: None, question, plan: &plan };
    let memory = job.memory();
    let threads = plan.threads();
    let found = job.with_budget(memory, question.scheme, |budget, options| {
        engine.nested_shared((normal, question.stutter), threads, budget, options)
    });
    let Some(mut finding) = found else { return Ok(None) };
    job.note_threads(&mut finding);
    job.shorten(&product, &mut finding);
    match assertions::complete(engine, reference, question, &mut finding)? {
        Some(violated) => Ok(Some(violated)),
        None => answer(reference, normal, question, finding).map(Some),
    }
}

/// A system to be searched for accepting cycles.
struct Job<'a> {
    system: &'a dyn System,
    shared: Option<SharedSearch<'a>>,
    question: &'a Question<'a>,
    plan: &'a Plan,
}

/// The automaton's state after a step, for the reports of a search.
fn target(step: Step) -> u32 {
    Product::<dyn System, dyn Property>::target(step)
}

impl Job<'_> {
    fn run(&self) -> Finding {
        match self.question.request.preemptions {
            Preemptions::AtMost(bound) => {
                let mut finding = self.within(bound);
                finding.statistics.per_bound = vec![row(bound, &finding)];
                finding
            }
            Preemptions::Iterate { last, .. } => self.iterate(last),
            Preemptions::Any => self.search(self.system, self.shared),
        }
    }

    /// With reduction, strictly local steps are taken alone, which loses nothing; what is found so is looked for
    /// again without, as it need not be within the bound.
    fn within(&self, bound: u32) -> Finding {
        let most = u16::try_from(bound).unwrap_or(u16::MAX);
        let mut scheme = self.question.scheme;
        if let Scheme::SourceState(_) = scheme {
            let watched = Watched::new(self.system, WithinBound::passing_over_local(most));
            let mut finding = self.find(&watched, Scheme::SourceState(Locality::Local), None);
            if finding.counterexample.is_none() {
                finding.bound = Some(bound);
                finding.notes.push(LOCAL_ONLY.into());
                return finding;
            }
            scheme = Scheme::Full;
        }
        let watched = Watched::new(self.system, WithinBound::new(most));
        let mut finding = self.find(&watched, scheme, None);
        self.shorten(&watched, &mut finding);
        finding.bound = Some(bound);
        finding
    }

    /// One bound after the other. The search without a bound comes first: if it finds nothing, no
    /// bound will.
    fn iterate(&self, last: Option<u32>) -> Finding {
        let mut unbounded = self.search(self.system, self.shared);
        if unbounded.counterexample.is_none() && unbounded.stop.is_none() {
            return unbounded;
        }
        let enough = unbounded.counterexample.is_some().then(|| self.enough()).flatten();
        let mut rows = Vec::new();
        for bound in 0..=last.unwrap_or(u32::from(u16::MAX)) {
            let mut finding = self.within(bound);
            rows.push(row(bound, &finding));
            let late = self.question.control.is_late();
            if late && finding.counterexample.is_none() && finding.stop.is_none() {
                finding
                    .notes
                    .push("higher bounds were not explored: the time limit was reached".into());
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
        if self.question.request.elsewhere.is_some() {
            // It takes a search of everything, here.
            return None;
        }
        preemptions_to_everywhere(self.system, &mut self.question.control.budget())
    }

    fn search(&self, system: &dyn System, shared: Option<SharedSearch<'_>>) -> Finding {
        let mut finding = self.find(system, self.question.scheme, shared);
        self.shorten(system, &mut finding);
        finding
    }

    /// As [`Self::search`], with some reduction, and with the first counterexample.
    fn find(
        &self,
        system: &dyn System,
        scheme: Scheme,
        shared: Option<SharedSearch<'_>>,
    ) -> Finding {
        let memory = self.memory();
        if let Some(elsewhere) = &self.question.request.elsewhere {
            return self.with_budget(memory, scheme, |budget, options| {
                elsewhere.cycles(system, options, budget)
            });
        }
        self.search_here(system, scheme, shared, memory)
    }

    /// The same in this process, as was planned.
    fn search_here(
        &self,
        system: &dyn System,
        scheme: Scheme,
        shared: Option<SharedSearch<'_>>,
        memory: usize,
    ) -> Finding {
        let mut finding = match self.plan.threads() {
            1 => self.find_alone(system, scheme, shared, memory),
            threads => self.find_together(system, scheme, shared, (memory, threads)),
        };
        finding.notes.extend_from_slice(&self.plan.notes);
        self.note_threads(&mut finding);
        finding
    }

    /// The same by so many threads.
    fn find_together(
        &self,
        system: &dyn System,
        scheme: Scheme,
        shared: Option<SharedSearch<'_>>,
        (memory, threads): (usize, usize),
    ) -> Finding {
        let storage = self.plan.store;
        let by_threads = |storage| {
            self.with_budget(memory, scheme, |budget, options| {
                nested_concurrent(system, threads, storage, budget, options)
            })
        };
        let sharing = shared.filter(|_| storage != Storage::Tree);
        let mut found = sharing.and_then(|search| {
            self.with_budget(memory, scheme, |budget, options| search(threads, budget, options))
        });
        if let Some(whole) = found.take_if(|_| storage == Storage::Auto) {
            found = Some(compressed_if_full(whole, || by_threads(Storage::Tree)));
        }
        // Where product states share their system states reduction leaves more out: one thread of the other search is no worse.
        if found.is_none() && (sharing.is_none() || scheme == Scheme::Full) {
            found = by_threads(storage);
        }
        found.unwrap_or_else(|| {
            let mut finding = self.find_alone(system, scheme, None, memory);
            finding.notes.push(NO_VALUES.into());
            finding
        })
    }

    /// Says if fewer threads were used than the user wanted.
    fn note_threads(&self, finding: &mut Finding) {
        let (threads, wanted) =
            (clamp_threads(self.question.request.threads), self.question.request.threads);
        if threads < wanted {
            finding.notes.push(format!(
                "{threads} of {wanted} threads were used: more would not help on this machine"
            ));
        }
    }

    /// The same by one thread.
    fn find_alone(
        &self,
        system: &dyn System,
        scheme: Scheme,
        shared: Option<SharedSearch<'_>>,
        memory: usize,
    ) -> Finding {
        match self.plan.store {
            Storage::Tree => self.nested(system, scheme, &mut Tree::new(memory)),
            Storage::Compact => {
                let mut store = Compact::new(memory, true);
                let mut finding = self.nested(system, scheme, &mut store);
                finding.coverage = Some(format!(
                    "about {:.1e} states are expected to be confused with others",
                    store.expected_omissions()
                ));
                finding
            }
            _ => {
                let found = shared.and_then(|search| {
                    self.with_budget(memory, scheme, |budget, options| search(1, budget, options))
                });
                found.unwrap_or_else(|| self.nested(system, scheme, &mut Exact::new(memory)))
            }
        }
    }

    fn memory(&self) -> usize {
        let wanted = self.question.request.memory;
        wanted.map_or_else(|| available_memory() / 8 * 7, |m| m as usize)
    }

    /// Looks for a simpler counterexample.
    fn shorten(&self, system: &dyn System, finding: &mut Finding) {
        let control = self.question.control;
        let elsewhere = &self.question.request.elsewhere;
        let simplifies = elsewhere.as_ref().is_none_or(|elsewhere| elsewhere.simplifies());
        if !self.question.request.first
            && simplifies
            && let Some(found) = &finding.counterexample
        {
            control.announce(Event::Found);
            let limit = SHORTEN.max(Duration::from_secs_f64(finding.statistics.seconds));
            let memory = self.memory() / 2;
            let shorter = control.watch(|listener| {
                let mut budget = control.budget().memory(memory).listener(listener);
                let show = time_to_show(system, finding, &budget);
                shorten_cycle(system, found, &mut budget.simplify(limit).reserve(show))
            });
            if let Some(shorter) = shorter {
                finding.counterexample = Some(shorter);
            }
        }
    }

    fn nested<T: Store>(&self, system: &dyn System, scheme: Scheme, store: &mut T) -> Finding {
        let memory = self.question.request.memory.map_or(usize::MAX, |m| m as usize);
        self.with_budget(memory, scheme, |budget, options| {
            nested(system, store, budget, options, target)
        })
    }

    /// Runs a search within what the user allows.
    fn with_budget<R>(
        &self,
        memory: usize,
        scheme: Scheme,
        search: impl FnOnce(&mut Budget, NestedOptions) -> R,
    ) -> R {
        let (request, control) = (self.question.request, self.question.control);
        let options = NestedOptions {
            scheme,
            kind: self.question.kind,
            assertions: request.assertions,
            deadlocks: false,
            max_errors: request.max_errors,
            depth: request.depth,
        };
        control.watch(|listener| {
            let mut budget = control.budget().memory(memory).listener(listener);
            search(&mut budget, options)
        })
    }
}

fn row(bound: u32, finding: &Finding) -> BoundRow {
    let numbers = &finding.statistics;
    let (states, transitions, errors) = (numbers.states, numbers.transitions, numbers.errors);
    BoundRow { stale: None, bound, states, transitions, errors }
}

fn answer(
    reference: &dyn System,
    property: &dyn Property,
    question: &Question<'_>,
    mut finding: Finding,
) -> Result<Claim, Error> {
    let plain = Product::new(reference, property, question.stutter);
    let never = || false;
    let none = Endless::new(reference, Vec::new(), &never);
    let endless = question.endless.map_or(&none, |sequences| sequences.reference);
    let with_endless = Product::new(endless, property, question.stutter);
    let mut stays = false;
    let showing = question.control.showing();
    let over = || showing.is_over();
    if let Some(found) = &mut finding.counterexample {
        stays = found.steps.iter().any(|step| Endless::is_stay(*step));
        if let Some(start) = found.cycle_start {
            let ends = found.steps[start..].iter().all(|step| step.process == ProcessId::PROPERTY);
            found.message = match (ends, stays) {
                (true, _) => {
                    format!(
                        "{}: it ends, and then stays in its last state for ever",
                        question.cycle
                    )
                }
                (_, true) => {
                    format!("{}: it stays inside an indivisible sequence for ever", question.cycle)
                }
                _ => question.cycle.clone(),
            };
        }
        match stays {
            true => confirm(&with_endless, found, &over)?,
            false => confirm(&plain, found, &over)?,
        }
        let label = match question.kind {
            ViolationKind::NonProgressCycle => Some(Label::Progress),
            _ => property.counts_labels().then_some(Label::Accept),
        };
        if let Some(unfolded) = with_endless.unfold(found, label) {
            confirm_circle(&plain, &unfolded, &over)?;
            *found = unfolded;
            stays = false;
        }
    }
    endless::weaken(question.endless, &mut finding);
    finding.statistics.unreduced |= question.unreduced;
    finding.notes.splice(0..0, question.notes.iter().cloned());
    let mut claim = match stays {
        true => {
            let answer = conclude_until(&with_endless, &question.property, finding, &over);
            endless::shown(answer.claim)
        }
        false => conclude_until(&plain, &question.property, finding, &over).claim,
    };
    if let Verdict::HoldsWithinBound(bound) = claim.verdict {
        claim.notes.push(format!(
            "for infinite executions the bound counts all preemptions of the execution: those with more than {bound} in all, among them every one that preempts again and again, were not explored"
        ));
    }
    Ok(claim)
}
