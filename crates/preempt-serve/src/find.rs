//! Going on by itself: to the nearest state with a property, at random, or one process alone.
//!
//! All of it is limited, by states, steps and time: the page waits for the answer.

use crate::subject::Evaluate;
use crate::walk::Walk;
use preempt_core::{Enabled, Outcome, ProcessId, System};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long the page waits.
const PATIENCE: Duration = Duration::from_secs(3);

/// How many bytes of states are kept in a search.
const MOST_BYTES: usize = 256 << 20;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Where it should.
    Condition,
    /// In front of a line with a breakpoint.
    Breakpoint,
    /// With a violated assertion or a runtime error.
    Fault,
    /// No step is possible; of one process alone: it cannot go on.
    NoStep,
    /// There is no such state, all were looked at.
    Nowhere,
    /// A limit was reached.
    Limit,
}

impl End {
    pub(crate) fn name(self) -> &'static str {
        match self {
            End::Condition => "condition",
            End::Breakpoint => "breakpoint",
            End::Fault => "fault",
            End::NoStep => "no_step",
            End::Nowhere => "nowhere",
            End::Limit => "limit",
        }
    }
}

/// Where to stop.
pub(crate) struct Goal {
    /// Where this is not 0.
    pub(crate) condition: Option<Evaluate>,
    /// Where a process stands before one of these lines.
    pub(crate) lines: Vec<(String, u32)>,
}

impl Goal {
    /// Whether to stop in a state, and why.
    fn reached(&self, system: &dyn System, state: &[u8]) -> Option<End> {
        if self.condition.as_ref().is_some_and(|holds| holds(state).is_some_and(|v| v != 0)) {
            return Some(End::Condition);
        }
        if self.lines.is_empty() {
            return None;
        }
        let stands = |pid: usize| {
            let id = ProcessId(u16::try_from(pid).ok()?);
            let (file, line, _) = system.position(state, id)?;
            self.lines.iter().any(|(f, l)| *l == line && *f == file).then_some(End::Breakpoint)
        };
        (0..system.process_count(state)).find_map(stands)
    }

    /// Whether a step is one to stop in front of.
    fn is_before(&self, system: &dyn System, state: &[u8], step: preempt_core::Step) -> bool {
        !self.lines.is_empty() && {
            let (file, line, _) = system.describe(state, step);
            self.lines.iter().any(|(f, l)| *l == line && *f == file)
        }
    }
}

/// Goes to a state that satisfies the goal and that as few steps as possible lead to. Leaves the walk where
/// it is if there is none.
pub(crate) fn nearest(
    system: &dyn System,
    walk: &mut Walk,
    goal: &Goal,
    most_states: usize,
) -> (End, usize) {
    let deadline = Instant::now() + PATIENCE;
    let mut numbers: HashMap<Vec<u8>, ()> = HashMap::from([(walk.state().to_vec(), ())]);
    // Of each state: its bytes, the state before it, the choice that led to it.
    let mut states: Vec<(Vec<u8>, usize, u32)> = vec![(walk.state().to_vec(), 0, 0)];
    let (mut enabled, mut bytes, mut at) = (Enabled::new(), 0, 0);
    while at < states.len() {
        if states.len() > most_states || bytes > MOST_BYTES || Instant::now() >= deadline {
            return (End::Limit, states.len());
        }
        let mut state = states[at].0.clone();
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        for (choice, step) in enabled.steps().iter().enumerate() {
            let mut next = state.clone();
            if let Outcome::Broken(_) = system.apply(&mut next, *step) {
                continue;
            }
            // Ends an interrupted sequence, so that equal states have equal bytes.
            system.enabled(&mut next, &mut Enabled::new());
            if numbers.contains_key(&next) {
                continue;
            }
            numbers.insert(next.clone(), ());
            bytes += 2 * next.len();
            let found = match system.is_transient(&next) {
                true => None,
                false => goal.reached(system, &next),
            };
            states.push((next, at, choice as u32));
            if let Some(end) = found {
                let seen = states.len();
                let mut choices = Vec::new();
                let mut from = seen - 1;
                while from != 0 {
                    choices.push(states[from].2);
                    from = states[from].1;
                }
                choices.iter().rev().all(|choice| walk.take(system, *choice));
                return (end, seen);
            }
        }
        at += 1;
    }
    (End::Nowhere, states.len())
}

/// Takes steps, all at random or those of one process, until the goal is reached.
pub(crate) fn run(
    system: &dyn System,
    walk: &mut Walk,
    goal: &Goal,
    only: Option<usize>,
    most_steps: usize,
    seed: u64,
) -> End {
    let deadline = Instant::now() + PATIENCE;
    let mut random = seed ^ 0x9E37_79B9_7F4A_7C15;
    for taken in 0..most_steps {
        if taken % 64 == 0 && Instant::now() >= deadline {
            return End::Limit;
        }
        let mine = |step: &preempt_core::Step| only.is_none_or(|pid| step.process.index() == pid);
        let steps = walk.enabled().steps().iter().enumerate();
        let possible: Vec<usize> = steps.filter(|(_, step)| mine(step)).map(|(at, _)| at).collect();
        if possible.is_empty() {
            return End::NoStep;
        }
        if taken > 0 {
            let before =
                |at: &usize| goal.is_before(system, walk.state(), walk.enabled().steps()[*at]);
            if possible.iter().any(before) {
                return End::Breakpoint;
            }
        }
        // splitmix64: small, and the same everywhere for the same seed.
        random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (random ^ (random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let choice = match only {
            Some(_) => possible[0],
            None => possible[((mixed ^ (mixed >> 31)) % possible.len() as u64) as usize],
        };
        walk.take(system, choice as u32);
        if walk.last_fault().is_some() {
            return End::Fault;
        }
        if !system.is_transient(walk.state())
            && goal.condition.as_ref().is_some_and(|c| c(walk.state()).is_some_and(|v| v != 0))
        {
            return End::Condition;
        }
    }
    End::Limit
}
