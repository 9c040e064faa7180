//! The order of the forward search: levels of stale choices, and buckets of preemptions within them.
//!
//! In the beginning bucket by bucket, each without a stale choice and then with one: what goes wrong because an ordering is
//! too weak or a fence is missing usually needs one stale choice and few preemptions, and takes a fraction of the executions
//! that finishing the first level would. A failure without a stale choice is easier to understand, though, so when one
//! with a stale choice was found, the first level is continued for a while.
//!
//! Then level by level, and bucket by bucket within a level. If there is a limit of time, a level hands over
//! when half of what was left is used up: the next one explores what branches off from the buckets that
//! are complete. When all have had their turn, the first one goes on where it stopped. So the first
//! level, which is what sequential consistency allows, gets most of the time, and the others get some. A level
//! goes on after all below it are finished is finished before those above it go on.

use super::Forward;
use super::levels::{Branch, Level};
use super::node::Pending;
use crate::{Ending, Halt, Move, Program, Session, Terminal, ThreadId};
use std::time::Instant;

/// Executions during which the first two levels take turns. What was visited by turns is compared with more costs later
/// on, so a search that ends soon takes longer if this is more.
const BEGINNING: u64 = 200;

impl Forward {
    /// The level to be explored next: the one with the fewest stale choices that has something left and
    /// time. `None` if all within the limits is explored.
    pub(super) fn next_level<P>(&mut self, session: &Session<'_, P>) -> Option<usize> {
        self.turn_to(0);
        std::mem::swap(&mut self.level, &mut self.levels[0]);
        let found = (0..2).find_map(|_| {
            let found = self.ready_level(session);
            if found.is_none() {
                for level in &mut self.levels {
                    level.is_paused = false;
                    level.share = None;
                }
            }
            found
        });
        if found == Some(self.levels.len()) {
            self.levels.push(Level::default());
        }
        std::mem::swap(&mut self.level, &mut self.levels[0]);
        found
    }

    /// The level that goes on next, of those that can.
    fn ready_level<P>(&self, session: &Session<'_, P>) -> Option<usize> {
        let mut ready = (0..=self.levels.len()).filter(|&stale| self.is_ready(session, stale));
        let first = ready.next()?;
        let bound = |stale: usize| self.levels.get(stale).map_or(0, |level| level.bound);
        let second = ready.next().filter(|&second| first == 0 && second == 1);
        let is_beginning = session.statistics.executions < BEGINNING && self.pool.is_none();
        Some(second.filter(|&second| is_beginning && bound(second) < bound(first)).unwrap_or(first))
    }

    /// After a search that found a failure with stale choices while the first level stands between two buckets: continues that
    /// level for a while, in search of a failure without.
    pub(super) fn simplest<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        result: Result<(), Halt>,
    ) -> Result<(), Halt> {
        /// Executions to look for it at least, and what part of those so far.
        const LEAST: u64 = 64;
        const PART: u64 = 4;
        let stale = session.statistics.failure.as_ref().map_or(0, |found| found.stale);
        let between = self.stale > 0 && !self.levels[0].is_open && self.pool.is_none();
        // Workers take one level after the other, unless time is limited.
        let in_order = self.pool.is_some() && session.limits.deadline.is_none();
        session.statistics.fewer_stale = stale == 0 || in_order;
        if result != Err(Halt::Failure) || stale == 0 || !between {
            return result;
        }
        let found = session.statistics.failure.take();
        let executions = session.statistics.executions;
        let limit = session.limits.executions;
        session.limits.executions = limit.min(executions + LEAST.max(executions / PART));
        self.turn_to(0);
        let mut result = Ok(());
        while result.is_ok() && self.can_continue_first(session) {
            result = self.explore_bucket(session);
        }
        session.limits.executions = limit;
        let others = self.levels.iter().take(stale as usize).skip(1);
        session.statistics.fewer_stale = result.is_ok() && others.into_iter().all(|l| l.exhausted);
        // What the search relied on does not matter for a failure, but the rules do.
        if result == Err(Halt::Restart) && session.run.ending == Some(Ending::Restart) {
            return result;
        }
        session.statistics.failure = session.statistics.failure.take().or(found);
        Err(Halt::Failure)
    }

    fn can_continue_first<P>(&mut self, session: &Session<'_, P>) -> bool {
        std::mem::swap(&mut self.level, &mut self.levels[0]);
        let ready = self.is_ready(session, 0);
        std::mem::swap(&mut self.level, &mut self.levels[0]);
        ready
    }

    /// Whether the next bucket of a level can be explored: what it branches off from is complete.
    fn is_ready<P>(&self, session: &Session<'_, P>, stale: usize) -> bool {
        let below = stale.checked_sub(1).map(|below| &self.levels[below]);
        let Some(level) = self.levels.get(stale) else {
            // A new level.
            return below.is_some_and(|b| b.has_branches_from(0) && b.is_base_of(0));
        };
        let over = session.limits.bound.is_some_and(|bound| level.bound > bound);
        let left = !level.is_empty() || below.is_some_and(|b| b.has_branches_from(level.bound));
        let based = below.is_none_or(|b| b.is_base_of(level.bound));
        left && based && !over && !level.is_paused
    }

    /// Makes a level the one that is explored.
    pub(super) fn turn_to(&mut self, stale: usize) {
        if stale != self.stale {
            std::mem::swap(&mut self.level, &mut self.levels[self.stale]);
            std::mem::swap(&mut self.level, &mut self.levels[stale]);
            self.stale = stale;
        }
    }

    /// Explores a bucket of the level, or a part of it if its share of the time is over.
    pub(super) fn explore_bucket<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
    ) -> Result<(), Halt> {
        let bound = self.level.bound;
        if session.run.rules.weak && self.level.share.is_none() {
            let now = Instant::now();
            let end = session.limits.first_deadline.or(session.limits.deadline);
            self.level.share = end.map(|end| now + end.duration_since(now) / 2);
        }
        // Beyond the bound there may be executions with fewer stale choices.
        self.level.is_lexicographic = self.stale > 0
            && !self.beyond
            && self.levels[..self.stale].iter().all(|level| level.exhausted);
        if !self.level.is_open {
            self.level.is_open = true;
            self.level.preempted = std::mem::take(&mut self.level.edges).into_iter();
            let below = self.stale.checked_sub(1).map(|below| &mut self.levels[below]);
            let branches = below.and_then(|below| below.stale.get_mut(bound as usize));
            self.level.branches = branches.map(std::mem::take).unwrap_or_default().into_iter();
            let preempted = self.level.preempted.as_slice().to_vec();
            let branches = self.level.branches.as_slice().to_vec();
            self.expect(preempted.into_iter().chain(branches.iter().map(|branch| branch.node)));
        }
        loop {
            self.drain(session, bound)?;
            if self.level.is_paused {
                return Ok(());
            }
            if let Some(node) = self.level.preempted.next() {
                self.preempt(session, node, bound)?;
            } else if let Some(branch) = self.level.branches.next() {
                self.branch(session, branch, bound)?;
            } else {
                break;
            }
        }
        self.level.is_open = false;
        self.level.bound = bound + 1;
        self.level.complete = bound + 1;
        self.find_exhausted();
        self.close_row(session, bound);
        Ok(())
    }

    /// Finds out which levels have nothing left. A level may have had nothing left of its own while the one
    /// below it, which had handed over, could still branch into it.
    fn find_exhausted(&mut self) {
        std::mem::swap(&mut self.level, &mut self.levels[self.stale]);
        let mut based = true;
        for level in &mut self.levels {
            level.exhausted = based && level.is_empty();
            based = level.exhausted && !level.has_branches_from(0);
        }
        std::mem::swap(&mut self.level, &mut self.levels[self.stale]);
    }

    /// Notes what was covered.
    fn close_row<P: Program>(&mut self, session: &mut Session<'_, P>, bound: u32) {
        session.statistics.states = self.nodes.len() as u64;
        if self.levels.len() == 1 {
            session.statistics.row(bound);
            self.correct_row(session);
        } else {
            let all_fewer = self.level.is_lexicographic;
            let graphs = self.graphs_within(session, bound, all_fewer);
            session.statistics.box_row(self.stale as u32, bound, all_fewer, graphs);
        }
        let mut levels = self
            .levels
            .iter()
            .enumerate()
            .map(|(i, l)| if i == self.stale { &self.level } else { l });
        let finished = levels.all(|level| level.exhausted && !level.has_branches_from(0));
        session.statistics.exhausted = finished && !self.beyond && !self.beyond_stale;
    }

    /// Number of complete graphs with at most as many stale choices as this level and at most `bound`
    /// preemptions. Those with fewer stale choices count whatever their preemptions if `all_fewer`.
    fn graphs_within<P>(&self, session: &Session<'_, P>, bound: u32, all_fewer: bool) -> u64 {
        let levels = || self.levels[..self.stale].iter().chain([&self.level]);
        let reached = |hash: &u128| {
            levels().any(|level| level.terminals.get(hash).is_some_and(|&cost| cost <= bound))
        };
        let statistics = &session.statistics;
        let within = |(hash, (cost, _)): &(&u128, &(u32, Terminal))| {
            let first = !statistics.stale.contains_key(*hash) && *cost <= bound;
            let fewer = all_fewer && statistics.stale_of(**hash) < self.stale as u32;
            fewer || first || reached(hash)
        };
        statistics.graphs.iter().filter(within).count() as u64
    }

    /// Leaves the stale choices of a state to the next level, and notes what is left out. `last` if that thread goes on, so that
    /// those of others are preemptions as well.
    pub(super) fn note_stale<P>(
        &mut self,
        session: &Session<'_, P>,
        Pending { state, node, first }: &Pending,
        moves: &[Move],
        cost: u32,
        last: Option<ThreadId>,
    ) {
        session.run.note_timeouts(moves, state);
        let is_last = session.limits.stale == Some(self.stale as u32);
        if !state.rules.weak || is_last && self.beyond_stale {
            return;
        }
        let mut free = false;
        let mut preempting = false;
        for thread in state.thread_ids() {
            let preempts = last.is_some_and(|last| last != thread);
            let known = if preempts { preempting || !first } else { free };
            let has = |thread| match is_last {
                // What is beyond the limit is never looked at again.
                true => state.has_stale_move(thread),
                false => state.may_have_stale_move(thread),
            };
            if !known && has(thread) {
                *(if preempts { &mut preempting } else { &mut free }) = true;
            }
        }
        if is_last {
            self.beyond_stale |= free || preempting;
            return;
        }
        if free {
            self.level.branch(*node, cost, false);
        }
        if preempting && session.limits.bound == Some(cost) {
            self.beyond = true;
        } else if preempting {
            self.level.branch(*node, cost, true);
        }
    }

    /// Makes the stale choices of a node of the level below.
    fn branch<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        Branch { node, preempts }: Branch,
        cost: u32,
    ) -> Result<(), Halt> {
        let state = self.materialise(session, node)?;
        let last = self.nodes[node as usize].step.thread;
        let mut moves = std::mem::take(&mut self.moves);
        moves.clear();
        let goes_on = state.can_go_on(last);
        for thread in state.thread_ids() {
            let free = !goes_on || thread == last;
            if free != preempts {
                state.possible_stale_moves(thread, &mut moves);
            }
        }
        // What is known is consistent.
        self.enter_again(session, (node, state), moves, cost, |this, state, step| {
            !this.is_covered(state.graph_after(step), step.thread, cost)
                && state.is_consistent_after(step)
        })
    }
}
