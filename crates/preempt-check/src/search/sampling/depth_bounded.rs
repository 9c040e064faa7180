//! Depth-first search, a little deeper in every round.
//!
//! Paper: [MQ07] section 4, iterative depth bounding
//!
//! Each round explores all executions of up to its depth; states met on a shorter way are explored
//! again, or the round would miss what lies just above its limit. Ends when a round cuts nothing off.

use crate::search::bounded::least_preemptions::Visit;
use crate::search::bounded::stack::{Label, Stack};
use crate::search::bounded::visited::{Arrival, Key, Marked, Visited};
use crate::search::bounded::walk::{Rule, walk};
use crate::store::{Exact, StoreFull};
use crate::{Budget, Finding, Options};
use preempt_core::{Enabled, ProcessId, Stop, System};

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
        let visited = ByDepth { visited: Marked::new(&mut store), depths: Vec::new() };
        let mut finding = walk(system, visited, &mut Everything, &round, budget);
        explored += finding.statistics.transitions;
        let cut = finding.stop == Some(Stop::Depth) && finding.counterexample.is_none();
        if !cut || depth >= most {
            finding.statistics.count_arrivals(explored);
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
}

/// Visits that are judged by their depth: one at a smaller depth than all before is made again.
struct ByDepth<V> {
    visited: V,
    /// The least depth of each state.
    depths: Vec<u64>,
}

impl<V: Visited> Visited for ByDepth<V> {
    fn arrive(
        &mut self,
        state: &[u8],
        depth: u64,
        count: u32,
        mover: Option<ProcessId>,
    ) -> Result<Arrival, StoreFull> {
        let mut arrival = self.visited.arrive(state, depth, count, mover)?;
        let at = arrival.key.index();
        if at >= self.depths.len() {
            self.depths.resize(at + 1, u64::MAX);
        }
        if depth < self.depths[at] {
            self.depths[at] = depth;
            arrival.visit = Visit::First;
        }
        Ok(arrival)
    }

    fn set_free(&mut self, key: Key) {
        self.visited.set_free(key);
    }

    /// What others ran from the state was run at greater depths.
    fn has_mover(&self, _key: Key, _process: ProcessId) -> bool {
        false
    }

    fn enter(&mut self, key: Key) -> bool {
        self.visited.enter(key)
    }

    fn leave(&mut self, key: Key) {
        self.visited.leave(key);
    }

    fn len(&self) -> u64 {
        self.visited.len()
    }

    fn bytes(&self) -> usize {
        self.visited.bytes() + self.depths.capacity() * 8
    }
}
