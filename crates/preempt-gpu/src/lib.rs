//! Searches on a graphics card: the same model, the same states, the same counts as on the processor.
//!
//! [`Card`] makes the searches of a check ([`RemoteSearch`]). It begins on the processor, where a small model is finished before
//! a card has woken up; then the states move over. `search.rs` is the search (`search/room.rs` how memory is shared out, `search/folding.rs` how
//! a full card folds states), `bounded.rs` the one by preemptions, `arena.rs` where the states lie, `observed.rs` what a property beside the
//! model becomes, `length.rs` how long states get, `device.rs` what is asked of a card, and `driver.rs` the card.
//! The kernel comes from [`preempt_native::card`], and in tests an evaluator of its text takes the card's place.

mod arena;
mod bounded;
mod device;
mod driver;
#[cfg(test)]
mod evaluate;
mod length;
mod observed;
mod search;
#[cfg(test)]
mod tests;

pub use device::{Device, Trouble};
pub use driver::Driver;

use observed::{Both, Form, Observer};
use preempt_check::RemoteSearch;
use preempt_check::property::{Product, Property, Stutter};
use preempt_check::search::nested::NestedOptions;
use preempt_check::search::{along_states, states_after};
use preempt_check::{Budget, Covered, Finding, Options, Preemptions, search_here};
use preempt_core::{FaultKind, Outcome, Stop, System, grouped};
use preempt_native::card::{CardCode, Searched, card_code};
use preempt_promela::interpret::Interpreter;
use search::{End, Folds, Found, Search, Wanted};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// So many states are explored by the processor before a card is asked.
const FEW: u64 = 100_000;
/// Of so many states the processor looks whether the card has their successors.
const SAMPLES: u64 = 200;
/// Of the card's free memory so much is left alone: driver and threads need some.
const SPARE: u64 = 2 << 30;

/// Which kernels of a model are meant.
#[derive(Clone, Copy, Default, Debug)]
pub struct KernelOptions {
    /// Those of a search by preemptions.
    pub preemptions: bool,
    /// Those of a card that is full, for folded states.
    pub folded: bool,
}

/// The kernels of a model, perhaps with a property beside it, for states as long as the first one. The error is why it has none.
pub fn kernels(
    interpreter: &Interpreter,
    property: Option<&dyn Property>,
    KernelOptions { preemptions, folded }: KernelOptions,
) -> Result<String, String> {
    let mut first = Vec::new();
    interpreter.initial(&mut first);
    let observer = property
        .map(|property| {
            let product: Both<'_> = Product::new(interpreter, property, Stutter::Extend);
            observer_of(interpreter, &product, true)
        })
        .transpose()?;
    let monitor = observer.as_ref().map(|observer| &observer.monitor);
    let searched = Searched { preemptions, monitor, folded };
    let stride = searched.stride_for(first.len());
    card_code(interpreter, stride, searched).map(|code| code.text).map_err(|error| error.0)
}

/// The table of a property, if it can be observed on a card; `asserts`: whether violated assertions count.
fn observer_of(
    interpreter: &Interpreter,
    product: &Both<'_>,
    asserts: bool,
) -> Result<Observer, String> {
    let program = interpreter.program();
    let mut states = program.proctypes.iter().flat_map(|proctype| &proctype.states);
    if product.property().counts_labels() && states.any(|state| state.is_accept) {
        return Err("processes have accept labels besides those of the never claim".into());
    }
    Observer::new(product, asserts)
}

/// A card that makes the searches of a model.
pub struct Card<D> {
    device: Arc<Mutex<D>>,
    interpreter: Interpreter,
    memory: Option<u64>,
    few: u64,
    folds: Folds,
}

impl<D> fmt::Debug for Card<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Card").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl<D: Device> Card<D> {
    /// A card for the model that is run like this, with at most so much of its memory. Several models may share it, one at a time.
    pub fn new(device: Arc<Mutex<D>>, interpreter: Interpreter, memory: Option<u64>) -> Self {
        Card { device, interpreter, memory, few: FEW, folds: Folds::IfItPays }
    }

    /// Searches here while that takes no time, then on the card, and here if the card cannot. The system may be a `product`.
    fn find(
        &self,
        system: &dyn System,
        product: Option<&Both<'_>>,
        options: &Options,
        budget: &mut Budget<'_>,
    ) -> Finding {
        let mut few = budget.part(budget.memory_limit()).states(self.few);
        let finding = search_here(system, options, &mut few);
        let errors = finding.statistics.errors;
        let is_enough = options.max_errors != 0 && errors >= options.max_errors;
        if finding.stop != Some(Stop::Memory) || is_enough {
            return finding;
        }
        match self.search(system, product, options, budget) {
            Ok(finding) => finding,
            Err(reason) => {
                let mut finding = search_here(system, options, budget);
                finding.notes.push(format!("the card was not used: {reason}"));
                finding
            }
        }
    }

    /// Searches on the card; the error is why the processor has to.
    fn search(
        &self,
        system: &dyn System,
        product: Option<&Both<'_>>,
        options: &Options,
        budget: &mut Budget<'_>,
    ) -> Result<Finding, String> {
        let mut first = Vec::new();
        if system.initial(&mut first) != Outcome::Done {
            return Err("the first state has a mistake".into());
        }
        let observer = product
            .map(|product| observer_of(&self.interpreter, product, options.assertions))
            .transpose()?;
        let bound = match options.preemptions {
            Preemptions::Any => None,
            counted => Some(counted.limit().unwrap_or(u32::MAX)),
        };
        let monitor = observer.as_ref().map(|observer| &observer.monitor);
        let searched = Searched { preemptions: bound.is_some(), monitor, folded: false };
        let own = if observer.is_some() { Both::split(&first).0 } else { &first[..] };
        let mut expected = Vec::new();
        self.interpreter.initial(&mut expected);
        if own != expected {
            return Err("an indivisible sequence may go on for ever, which is followed here".into());
        }
        let growth = length::longest(system, &first) - first.len();
        let mut stride = searched.stride_for(own.len() + growth);
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let device = &mut *device;
        let faults = self.interpreter.program().faults.len();
        let wanted = Wanted {
            faults: (0..faults as u32).map(|fault| weight(system, options, fault)).collect(),
            // A property judges executions that end.
            deadlocks: options.deadlocks && observer.is_none(),
            most_errors: options.max_errors,
            depth: options.depth,
            moves: system.transition_count(),
        };
        let begin = Instant::now();
        loop {
            let code = card_code(&self.interpreter, stride, searched).map_err(|error| error.0)?;
            let form = Form { code: &code, observer: observer.as_ref() };
            let free = device.available().map_err(|error| error.0)?.saturating_sub(SPARE);
            let memory = self.memory.map_or(free, |memory| memory.min(free));
            let memory = (memory, budget.memory_limit() as u64);
            let start = form.state(&first).ok_or("the first state is no state")?;
            let folded = || {
                let searched = Searched { folded: true, ..searched };
                card_code(&self.interpreter, stride, searched).ok()
            };
            let folds = (self.folds, &folded as &dyn Fn() -> Option<CardCode>);
            let mut search = Search::new(device, &code, folds, &start, &wanted, memory)
                .map_err(|error| error.0)?;
            let found = search.explore(&code, &wanted, bound, budget).map_err(|error| error.0)?;
            // What comes from a card went through the driver's compiler: nothing is called a proof unasked.
            let is_proof = matches!(found.end, End::Over) && found.errors == 0;
            let is_whole = found.buckets.as_ref().is_none_or(|buckets| buckets.bound.is_none());
            if is_proof && is_whole {
                let successors = |state: &[u8]| states_after(system, state);
                let agrees = search.agrees(form, SAMPLES, successors).map_err(|error| error.0)?;
                if !agrees {
                    return Err("it did not agree with the processor about some states".into());
                }
            }
            drop(search);
            match found.end {
                End::TooLong => stride *= 2,
                End::Asked => return Err("a step needs the interpreter".into()),
                End::Over | End::Limit(_) => {
                    let first_bucket = found.first_bucket_with_errors();
                    let mut finding = conclude(system, options, form, &first, found)
                        .ok_or("a counterexample of the card could not be followed")?;
                    if let Some(bucket) = first_bucket {
                        bounded::find_execution(system, options, bucket, &mut finding, budget)?;
                    }
                    finding.statistics.search_seconds = begin.elapsed().as_secs_f64();
                    return Ok(finding);
                }
            }
        }
    }
}

/// How a fault counts on the card, see [`preempt_native::card::Field::Faults`].
fn weight(system: &dyn System, options: &Options, fault: u32) -> u8 {
    match system.fault(fault).kind {
        FaultKind::Assertion => u8::from(options.assertions),
        FaultKind::Cut(_) | FaultKind::Stopped(_) => 2,
        _ => 1,
    }
}

/// What a search on a card found, in the words of all searches; `None` if its counterexample is none.
fn conclude(
    system: &dyn System,
    options: &Options,
    form: Form<'_>,
    first: &[u8],
    found: Found,
) -> Option<Finding> {
    let stop = match found.end {
        End::Limit(stop) => Some(stop),
        _ => None,
    };
    let counterexample = match &found.way {
        Some(way) => {
            let states = way.get(1..)?.iter().map(|state| form.vector(state));
            let states: Option<Vec<_>> = states.collect();
            Some(along_states(system, options, first, &states?)?)
        }
        None => None,
    };
    let is_enough = options.max_errors != 0 && found.errors >= options.max_errors;
    let complete = stop.is_none() && !is_enough;
    let mut finding = Finding::new(stop.map_or(Covered::Everything, Covered::Part));
    finding.counterexample = counterexample;
    finding.cut = found.cut;
    if let Some([states, bytes, whole]) = found.folded {
        let each = |bytes: u64| bytes as f64 / states.max(1) as f64;
        finding.notes.push(format!(
            "the card was full: {} states are folded, {:.1} bytes each instead of {}",
            grouped(states),
            each(bytes),
            each(whole)
        ));
    }
    if found.moved > 0 {
        let moved = grouped(found.moved);
        finding
            .notes
            .push(format!("the card was full: {moved} states lie in the machine's memory"));
    }
    if let Some(buckets) = found.buckets {
        finding.bound = buckets.bound;
        finding.statistics.per_bound = buckets.rows;
    }
    if complete && finding.bound.is_none() {
        finding.unreached = system.unreached(&found.taken);
    }
    let statistics = &mut finding.statistics;
    statistics.states = found.states;
    statistics.matched = (found.arrivals + 1).saturating_sub(found.states);
    statistics.transitions = statistics.states + statistics.matched;
    statistics.atomic_steps = found.atomic_steps;
    statistics.depth = found.depth;
    statistics.errors = if is_enough { options.max_errors } else { found.errors };
    statistics.complete = complete;
    statistics.state_bytes = first.len() as u64;
    statistics.memory_bytes = found.memory;
    statistics.bytes_per_state = found.memory as f64 / found.states.max(1) as f64;
    Some(finding)
}

impl<D: Device + Send> RemoteSearch for Card<D> {
    fn safety(&self, system: &dyn System, options: &Options, budget: &mut Budget<'_>) -> Finding {
        self.find(system, None, options, budget)
    }

    fn safety_beside(
        &self,
        product: &Product<'_, dyn System + '_, dyn Property + '_>,
        options: &Options,
        budget: &mut Budget<'_>,
    ) -> Finding {
        self.find(product, Some(product), options, budget)
    }

    fn cycles(
        &self,
        _system: &dyn System,
        _options: NestedOptions,
        _budget: &mut Budget<'_>,
    ) -> Finding {
        // Whoever asks for cycles does not ask a card.
        Finding::new(Covered::Part(Stop::Unsupported))
    }

    fn simplifies(&self) -> bool {
        true
    }
}
