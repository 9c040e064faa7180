//! Finds the way back from a state that a breadth-first search reached.
//!
//! No predecessor is remembered where the store keeps the states: the states of one level have
//! consecutive numbers, so a predecessor is found by expanding the level before. That costs at most
//! the search once more, and only when there is something to report. Lossy stores come with links.

use super::atomic_sequence::{AtomicSequence, Event};
use super::expansion::{Expander, Watch};
use super::frontier::Links;
use super::statistics::Counters;
use crate::store::{StateId, Store};
use crate::{Counterexample, Options};
use preempt_core::{Enabled, ProcessId, Step, Switch, System, classify};

/// Said where the way back was lost: only a lossy store can confuse two states on it.
pub(crate) const LOST: &str = "a violation was found, but no execution that leads to it could be reconstructed from the lossy store";

/// The steps to state `at`, followed by `tail`, where levels begin at the numbers `levels`.
pub(crate) fn through_levels<S: System + ?Sized, T: Store>(
    system: &S,
    store: &T,
    levels: &[usize],
    at: usize,
    tail: &[Step],
) -> Option<Vec<Step>> {
    let mut pieces = vec![tail.to_vec()];
    let (mut target, mut state) = (at, Vec::new());
    let mut wanted = Vec::new();
    for level in (0..levels.partition_point(|first| *first <= at) - 1).rev() {
        store.load(StateId(target as u32), &mut wanted);
        let mut seeker = Seeker { wanted: |bytes: &[u8]| bytes == wanted, found: Vec::new() };
        let mut expander = Expander::default();
        for candidate in levels[level]..levels[level + 1] {
            store.load(StateId(candidate as u32), &mut state);
            expander.clear();
            expander.expand(system, &mut state, &mut seeker).ok()?;
            if let Some((path, _)) = seeker.found.pop() {
                pieces.push(path);
                target = candidate;
                break;
            }
        }
    }
    pieces.reverse();
    Some(pieces.concat())
}

/// The first way by one step, with the indivisible sequence behind it, where `takes` says whether to try a step, by whether it
/// preempts `last`, and `wanted` is asked of the steps and the state where they arrive.
pub fn first_way<S: System + ?Sized>(
    system: &S,
    state: &[u8],
    last: Option<ProcessId>,
    takes: impl Fn(bool) -> bool,
    mut wanted: impl FnMut(&[Step], &mut Vec<u8>) -> bool,
) -> Option<Vec<Step>> {
    let (mut state, mut enabled) = (state.to_vec(), Enabled::new());
    system.enabled(&mut state, &mut enabled);
    let mut sequence = AtomicSequence::default();
    enabled.steps().iter().find_map(|step| {
        let mut found = None;
        if takes(classify(last, &enabled, step) == Switch::Preemption) {
            sequence.run(system, &state, *step, &mut |path, event| {
                if let Event::Arrived(arrived) = event
                    && wanted(path, arrived)
                {
                    found = Some(path.to_vec());
                }
                found.is_none()
            });
        }
        found
    })
}

/// The steps of one expansion from a state to another.
pub(crate) fn between<S: System + ?Sized>(system: &S, from: &mut Vec<u8>, to: &[u8]) -> Vec<Step> {
    let mut seeker = Seeker { wanted: |bytes: &[u8]| bytes == to, found: Vec::new() };
    match Expander::default().expand(system, from, &mut seeker) {
        Ok(_) => seeker.found.pop().map_or(Vec::new(), |(path, _)| path),
        Err(_) => Vec::new(),
    }
}

/// The steps to state `at`, followed by `tail`, along the links to predecessors. `None` if the
/// store confused states on the way.
pub(crate) fn along_links<S: System + ?Sized, T: Store>(
    system: &S,
    links: &Links,
    store: &T,
    at: usize,
    tail: &[Step],
) -> Option<Vec<Step>> {
    let mut sequence = vec![at];
    while let Some(&last) = sequence.last()
        && last != 0
    {
        sequence.push(links.parent(last));
    }
    sequence.pop();
    sequence.reverse();
    let agrees = |at: usize, state: &[u8]| links.agrees(sequence[at], store.hash(state));
    along(system, sequence.len(), agrees, tail)
}

/// The steps from the initial state over `count` states, followed by `tail`, where `agrees` says whether a state can be the one
/// with some number on the way. `None` if the store confused states on the way.
pub(crate) fn along<S: System + ?Sized>(
    system: &S,
    count: usize,
    agrees: impl Fn(usize, &[u8]) -> bool,
    tail: &[Step],
) -> Option<Vec<Step>> {
    let mut initial = Vec::new();
    system.initial(&mut initial);
    // Several states can agree: try one after the other.
    let mut open = vec![(0, Vec::new(), initial)];
    while let Some((depth, steps, mut state)) = open.pop() {
        if depth == count {
            let steps: Vec<Step> = [steps.as_slice(), tail].concat();
            if preempt_core::replay(system, &steps).is_ok() {
                return Some(steps);
            }
            continue;
        }
        let wanted = |bytes: &[u8]| agrees(depth, bytes);
        let mut seeker = Seeker { wanted, found: Vec::new() };
        Expander::default().expand(system, &mut state, &mut seeker).ok()?;
        for (path, bytes) in seeker.found {
            open.push((depth + 1, [steps.as_slice(), &path].concat(), bytes));
        }
    }
    None
}

/// The execution along some states, from `first` on, and what is wrong behind the last. `None` if they are not the states of
/// an execution, or nothing is wrong.
pub fn along_states<S: System + ?Sized>(
    system: &S,
    options: &Options,
    first: &[u8],
    others: &[Vec<u8>],
) -> Option<Counterexample> {
    let mut steps = Vec::new();
    let mut state = first.to_vec();
    for next in others {
        let mut seeker = Seeker { wanted: |bytes: &[u8]| bytes == next, found: Vec::new() };
        Expander::default().expand(system, &mut state, &mut seeker).ok()?;
        let (path, next) = seeker.found.pop()?;
        steps.extend(path);
        state = next;
    }
    let counters = Counters::new(system, options);
    let mut mistake = Mistake { system, counters, found: None };
    let count = Expander::default().expand(system, &mut state, &mut mistake).ok()?;
    match mistake.found {
        Some((path, fault)) => {
            steps.extend(path);
            Some(Counterexample::from_fault(system, steps, fault))
        }
        None if count == 0 && mistake.counters.is_invalid_without_steps(system, &state) => {
            Some(Counterexample::invalid_end(steps))
        }
        None => None,
    }
}

/// The states that one step, with the indivisible sequence behind it, leads to; `None` if memory is short.
pub fn states_after<S: System + ?Sized>(system: &S, state: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut seeker = Seeker { wanted: |_: &[u8]| true, found: Vec::new() };
    Expander::default().expand(system, &mut state.to_vec(), &mut seeker).ok()?;
    Some(seeker.found.into_iter().map(|(_, state)| state).collect())
}

/// Remembers the first fault that counts.
struct Mistake<'a, S: ?Sized> {
    system: &'a S,
    counters: Counters,
    found: Option<(Vec<Step>, u32)>,
}

impl<S: System + ?Sized> Watch for Mistake<'_, S> {
    fn step(&mut self, _step: Step, _transient: bool) {}

    fn fault(&mut self, path: &[Step], fault: u32) {
        if self.found.is_none() && self.counters.reports(self.system, fault) {
            self.found = Some((path.to_vec(), fault));
        }
    }
}

/// Remembers the arrivals that are wanted, and how they were reached.
struct Seeker<F> {
    wanted: F,
    found: Vec<(Vec<Step>, Vec<u8>)>,
}

impl<F: Fn(&[u8]) -> bool> Watch for Seeker<F> {
    fn step(&mut self, _step: Step, _transient: bool) {}

    fn fault(&mut self, _path: &[Step], _fault: u32) {}

    fn arrive(&mut self, path: &[Step], state: &[u8]) {
        if (self.wanted)(state) {
            self.found.push((path.to_vec(), state.to_vec()));
        }
    }
}
