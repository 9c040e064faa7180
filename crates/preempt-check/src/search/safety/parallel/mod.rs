//! Exhaustive search by several threads, with any store that they can share.
//!
//! Each thread takes the newest chunk of waiting states from its own queue (`queues.rs`), whose bytes are still near (a sixth
//! less time than with the oldest), or the oldest from another's when it has none, expands it (`worker.rs`), and queues the
//! new states it finds: in no particular order, but every state once, so that without reduction states and transitions are
//! the same at any number of threads.
//!
//! With reduction (`reduced.rs`), a selection is enough if it leads to a state that is expanded later than the one that was
//! reduced (`unexpanded.rs`), so no step waits for ever. Then threads take chunks level by level,
//! more or less, as breadth-first search would: more of what a step leads to is still waiting.
//!
//! When an exact store gets too large, all threads leave; the states are moved into a tree (`compress.rs`), and the search goes
//! on where it was.

mod compress;
mod found;
mod leftover;
mod queues;
mod reduced;
mod team;
mod unexpanded;
mod worker;

use crate::platform::sync::atomic::Ordering;
use crate::search::shared::halt::Halt;
use crate::search::shared::statistics::Counters;
use crate::search::shared::trace::LOST;
use crate::search::shared::workers::{Fewer, with_as_many_as_possible};
use crate::store::concurrent::ConcurrentStore;
use crate::store::concurrent::Place;
use crate::store::concurrent::exact::SharedExact;
use crate::{Budget, Finding, Options};
use preempt_core::{Contention, Stop, System};
use team::{Part, Team, ViolationSite};
use worker::Worker;

/// Searches all executions with `options.threads` threads over the store that `make` makes for so many; also gives the
/// store back.
pub(crate) fn parallel<S: System + ?Sized, T: ConcurrentStore>(
    system: &S,
    make: impl Fn(usize) -> T,
    options: &Options,
    budget: &mut Budget,
) -> (Finding, Option<T>) {
    let mut store = None;
    let finding = with_as_many_as_possible(options.threads, |threads| {
        let mut team = Team::new(system, options, make(threads), threads);
        let mut so_far = SoFar::new(system, options);
        if let Some((root, local)) = team.begin(&mut so_far.counters) {
            let end = run(&mut team, Some(local), budget)?;
            so_far.absorb_last(end);
            so_far.trace(&team, root);
        }
        let finding = so_far.finish(&team);
        store = Some(team.store);
        Ok(finding)
    });
    (finding, store)
}

/// As [`parallel`], with states in full as long as half of the memory is enough for that, and then in a tree. Also says how
/// many bytes the store took in the end, and how many states there were when it changed.
pub(crate) fn parallel_adaptive<S: System + ?Sized>(
    system: &S,
    options: &Options,
    budget: &mut Budget,
) -> (Finding, usize, Option<usize>) {
    let limit = budget.memory_limit();
    let (mut bytes, mut switched_at) = (0, None);
    let finding = with_as_many_as_possible(options.threads, |threads| {
        let store = SharedExact::new(limit / 2, threads);
        let mut team = Team::new(system, options, store, threads);
        let mut so_far = SoFar::new(system, options);
        let Some((root, local)) = team.begin(&mut so_far.counters) else {
            return Ok(so_far.finish(&team));
        };
        let end = run(&mut team, Some(local), budget)?;
        let is_full = end.is_full;
        let locals = so_far.absorb(end.parts);
        if is_full {
            let states = team.store.len();
            match compress::to_tree(&team.store, locals, limit, threads, budget) {
                Ok(tree) => {
                    switched_at = Some(states);
                    let root = team.store.parent(root);
                    if let Some((at, _)) = &mut so_far.site {
                        *at = team.store.parent(*at);
                    }
                    let mut team = team.over(tree);
                    let end = run(&mut team, None, budget)?;
                    so_far.absorb_last(end);
                    so_far.trace(&team, root);
                    bytes = team.store.bytes();
                    return Ok(so_far.finish(&team));
                }
                // The states do not compress: the store goes on to its full limit.
                Err(compress::Refused::TooLarge) => {
                    team.store.set_limit(limit);
                    let end = run(&mut team, None, budget)?;
                    so_far.absorb_last(end);
                }
                Err(compress::Refused::Stopped(stop)) => so_far.counters.stop = Some(stop),
            }
        }
        so_far.trace(&team, root);
        bytes = team.store.bytes();
        Ok(so_far.finish(&team))
    });
    (finding, bytes, switched_at)
}

/// What all runs of a search have counted.
struct SoFar {
    counters: Counters,
    contention: Contention,
    /// Where the first error was.
    site: Option<ViolationSite>,
}

impl SoFar {
    fn new<S: System + ?Sized>(system: &S, options: &Options) -> Self {
        SoFar {
            counters: Counters::new(system, options),
            contention: Contention::default(),
            site: None,
        }
    }

    fn absorb<L>(&mut self, parts: Vec<Part<L>>) -> Vec<L> {
        let absorb = |part: Part<L>| {
            if self.counters.first.is_none() {
                self.site = part.site;
            }
            self.counters.absorb(part.counters);
            self.contention.add(part.contention);
            part.local
        };
        parts.into_iter().map(absorb).collect()
    }

    /// As [`Self::absorb`], where a full store ends the search.
    fn absorb_last<L>(&mut self, end: RunEnd<L>) {
        self.absorb(end.parts);
        if end.is_full {
            self.counters.stop = Some(Stop::Memory);
        }
    }

    /// Finds the way to the first error.
    fn trace<S: System + ?Sized, T: ConcurrentStore>(&mut self, team: &Team<S, T>, root: Place) {
        let (Some((place, path)), Some(found)) = (&self.site, &mut self.counters.first) else {
            return;
        };
        match team.trace(root, *place, path) {
            Some(steps) => found.steps = steps,
            None => {
                self.counters.first = None;
                self.counters.stop = Some(Stop::LossyStore);
            }
        }
    }

    fn finish<S: System + ?Sized, T: ConcurrentStore>(mut self, team: &Team<S, T>) -> Finding {
        let enough = team.options.max_errors;
        if enough != 0 {
            self.counters.errors = self.counters.errors.min(enough);
        }
        let lost = self.site.is_some() && self.counters.first.is_none();
        let reduction_useless =
            team.reduction_useless.load(Ordering::Relaxed) && !self.counters.is_enough();
        let mut finding = self.counters.finish(team.system, team.store.len() as u64);
        finding.reduction_useless = reduction_useless;
        finding.statistics.contention = Some(self.contention);
        if lost {
            finding.notes.push(LOST.to_owned());
        }
        finding
    }
}

/// How a run ended.
struct RunEnd<L> {
    parts: Vec<Part<L>>,
    /// The store could take no more, and nothing else ended the search.
    is_full: bool,
}

/// Has all threads explore what is queued, until nothing is left or something ends it.
fn run<S: System + ?Sized, T: ConcurrentStore>(
    team: &mut Team<'_, S, T>,
    first: Option<T::Local>,
    budget: &mut Budget,
) -> Result<RunEnd<T::Local>, Fewer> {
    *team.full.get_mut() = false;
    let team = &*team;
    let first = first.unwrap_or_else(|| team.store.local(0));
    let others = (1..team.workers.threads()).map(|number| team.store.local(number));
    let locals = std::iter::once(first).chain(others).enumerate();
    let mut workers: Vec<_> =
        locals.map(|(number, local)| Worker::new(team, number, local)).collect();
    let end = team.workers.run(&mut workers, budget);
    let mut parts: Vec<_> = workers.into_iter().map(Worker::finish).collect();
    let mut is_full = team.full.load(Ordering::Relaxed);
    match end {
        Err(Halt::Fewer(threads)) => return Err(Fewer(threads)),
        Err(Halt::Stop(stop)) if !is_full => {
            parts.iter_mut().take(1).for_each(|part| part.counters.stop = Some(stop));
        }
        _ => {}
    }
    let enough = team.options.max_errors;
    let is_enough = enough != 0 && team.errors.load(Ordering::Relaxed) >= enough;
    is_full &= !is_enough && parts.iter().all(|part| part.counters.stop.is_none());
    Ok(RunEnd { parts, is_full })
}
