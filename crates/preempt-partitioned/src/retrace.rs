//! The way back from a visit, found again by expanding what was visited just before.
//!
//! No predecessor is remembered. It would take memory for every state, and would mean nothing once a search goes on
//! with other owners. Each owner is asked for a visit of the time before that leads to the goal; that costs at most the
//! search once more, and only when there is something to report.

use super::{Time, ViolationSite};
use preempt_check::engine::{first_way, last_mover};
use preempt_core::{Enabled, ProcessId, Step, System};

/// A visit whose predecessor is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceTarget {
    /// When it was made.
    pub time: Time,
    /// The state.
    pub state: Vec<u8>,
    /// The last mover, where preemptions are counted.
    pub mover: Option<ProcessId>,
}

/// A predecessor, and the steps from it to the goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceSegment {
    /// The predecessor.
    pub from: TraceTarget,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The steps to a violation; `before` asks all owners for a predecessor. `None` if one of them has gone.
pub fn along(
    site: &ViolationSite,
    mut before: impl FnMut(&TraceTarget) -> Option<TraceSegment>,
) -> Option<Vec<Step>> {
    let mut pieces = vec![site.path.clone()];
    let mut goal = TraceTarget { time: site.time, state: site.state.clone(), mover: site.mover };
    while goal.time != Time::default() {
        let way = before(&goal)?;
        pieces.push(way.steps);
        goal = way.from;
    }
    pieces.reverse();
    Some(pieces.concat())
}

/// Steps from a visit to the goal that cost as many preemptions as lie between them, if there are any. `bounded`:
/// the last mover matters as well.
pub(super) fn steps_to(
    system: &dyn System,
    (state, last): (&[u8], Option<ProcessId>),
    goal: &TraceTarget,
    cost: Option<u32>,
    normalize: bool,
) -> Option<Vec<Step>> {
    let mut normal = Enabled::new();
    let takes = |preempts| cost.is_none_or(|cost| cost == u32::from(preempts));
    first_way(system, state, last, takes, |path, arrived| {
        if normalize && !system.is_normalized(arrived) {
            normal.clear();
            system.enabled(arrived, &mut normal);
        }
        let same_mover = cost.is_none() || last_mover(path, last) == goal.mover;
        same_mover && *arrived == goal.state
    })
}
