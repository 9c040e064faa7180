//! Depth-first search, a little deeper in every round.
//!
//! Paper: [MQ07] section 4, iterative depth bounding
//!
//! Each round explores all executions of up to its depth; states met on a shorter way are explored
//! again, or the round would miss what lies just above its limit. Ends when a round cuts nothing off.

use crate::search::bounded::shorten::Shortening;
use crate::search::bounded::stack::{Frame, Label, Stack};
use crate::search::bounded::visited::{Marked, Visited};
use crate::search::bounded::walk::{Rule, walk};
use crate::store::Exact;
use crate::{Budget, Finding, Options};
use preempt_core::{Enabled, Stop, System};

/// Searches to depth `step`, twice `step`, and so on, up to `options.depth`.
pub(crate) fn iterative_depth<S: System + ?Sized>(
    system: &S,
    step: u64,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let step = step.max(1);
    let most = options.depth.unwrap_or(u64::MAX);
    let mut depth = step.min(most);
    let mut explored = 0;
    loop {
        let mut store = Exact::new(budget.memory_limit());
        let round = Options { depth: Some(depth), ..options.clone() };
        let visited = Shortening::new(Marked::new(&mut store));
        let mut finding = walk(system, visited, &mut Everything, &round, budget);
        explored += finding.statistics.transitions;
        let cut = finding.stop == Some(Stop::Depth) && finding.counterexample.is_none();
        if !cut || depth >= most {
            finding.statistics.transitions = explored;
            return finding;
        }
        depth = depth.saturating_add(step).min(most);
    }
}

/// All steps of every state, with no count.
struct Everything;

impl<S: System + ?Sized> Rule<S> for Everything {
    fn enter<V: Visited>(&mut self, _: &S, visited: &mut V, stack: &mut Stack, enabled: &Enabled) {
        if let Some(frame) = stack.frame() {
            visited.set_free(frame.key);
        }
        stack.plan(enabled.steps(), 0, Label::Moves);
    }

    fn wants_resume(&self, _frame: &Frame) -> bool {
        false
    }

    fn resume<V: Visited>(&mut self, _: &S, _: &mut V, _: &mut Stack, _: &Enabled) -> bool {
        false
    }
}
