//! The truth about bounds: every (state, last mover, preemptions) triple, one step at a time.
//!
//! Shares no code with the searches. It knows nothing of domination, reduction or indivisible
//! sequences beyond what the system itself says.

#![allow(dead_code)] // Each test binary uses its own part.

use preempt_core::{Enabled, Outcome, System};
use std::collections::{BTreeSet, HashSet, VecDeque};

/// What is true within a bound.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// The states that are not transient: any process may move there.
    pub(crate) reached: BTreeSet<Vec<u8>>,
    /// Fewest preemptions, then fewest steps, of an execution with a violation.
    pub(crate) simplest: Option<(u32, u32)>,
    /// Fewest preemptions of an execution with a failing step.
    pub(crate) assertion: Option<u32>,
    /// Fewest preemptions of an execution to an invalid end.
    pub(crate) invalid_end: Option<u32>,
    /// Whether a preemption beyond the bound was cut off.
    pub(crate) cut: bool,
}

/// Explores everything within `bound`; `None` when there is too much of it.
pub(crate) fn truth<S: System + ?Sized>(system: &S, bound: u32, most: usize) -> Option<Truth> {
    let mut truth = Truth::default();
    let mut initial = Vec::new();
    system.initial(&mut initial);
    let mut seen = HashSet::new();
    let mut queue = VecDeque::from([(initial, None::<u16>, 0u32, 0u32)]);
    let note = |truth: &mut Truth, count: u32, steps: u32| {
        let better = truth.simplest.is_none_or(|best| (count, steps) < best);
        if better {
            truth.simplest = Some((count, steps));
        }
    };
    while let Some((mut state, last, count, steps)) = queue.pop_front() {
        let mut enabled = Enabled::new();
        system.enabled(&mut state, &mut enabled);
        if !seen.insert((state.clone(), last, count)) {
            continue;
        }
        if seen.len() > most {
            return None;
        }
        if !system.is_transient(&state) {
            truth.reached.insert(state.clone());
        }
        let list = enabled.steps();
        if list.is_empty() && !system.is_valid_end(&state) {
            note(&mut truth, count, steps);
            lower(&mut truth.invalid_end, count);
        }
        for step in list {
            let could_go_on = list.iter().any(|s| Some(s.process.0) == last);
            let preempts = could_go_on && Some(step.process.0) != last;
            let count = count + u32::from(preempts);
            if count > bound {
                truth.cut = true;
                continue;
            }
            let mut next = state.clone();
            match system.apply(&mut next, *step) {
                Outcome::Done => {}
                Outcome::Violated(_) => {
                    note(&mut truth, count, steps + 1);
                    lower(&mut truth.assertion, count);
                }
                Outcome::Broken(_) => {
                    note(&mut truth, count, steps + 1);
                    lower(&mut truth.assertion, count);
                    continue;
                }
            }
            let mover = step.partner.unwrap_or(step.process).0;
            queue.push_back((next, Some(mover), count, steps + 1));
        }
    }
    Some(truth)
}

fn lower(least: &mut Option<u32>, count: u32) {
    *least = Some(least.map_or(count, |least| least.min(count)));
}
