//! Steps at which nothing can branch.
//!
//! They get no state of their own: in the last bucket a thread runs until it cannot go on, and, when only
//! the first failure is wanted, past operations on objects that no other thread uses. A preemption before
//! such an operation can as well happen after it, unless the thread then ends (which lets others join it, so
//! a switch that was forced would be counted) or panics. If another thread turns out to use the object, the
//! search begins again; the program does not have to be run again for that.
//!
//! The same holds of atomics that are handed from thread to thread, if all their writes are kept: where each
//! access happens after all earlier ones that conflict with it, not counting what the atomic itself
//! synchronises, no thread can come in between, and there is one order of these accesses for each order of all
//! the others. That is looked at in every state, imagined or not; if it turns out to be wrong in one of them, the
//! search begins again with the operations on this atomic as ordinary ones. That no race is overlooked is the
//! usual argument for data: the first race of an execution shows itself already where threads are switched
//! at the other operations only.

use super::Forward;
use super::node::path_to;
use crate::{Action, ExecutionState, Halt, Move, Program, Session, Status};

impl Forward {
    /// Whether the thread that moved last goes on in this state whatever the search wants.
    pub(super) fn is_silent<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &ExecutionState,
        node: u32,
        cost: u32,
    ) -> Result<bool, Halt> {
        let thread = self.nodes[node as usize].step.thread;
        let operation = state.thread(thread).operation;
        let branches = matches!(operation.action, Action::NotifyOne | Action::Choose);
        if branches || self.steps.is_some() || !state.can_go_on(thread) {
            return Ok(false);
        }
        if state.rules.weak && session.limits.stale != Some(self.stale as u32) {
            if state.may_have_stale_move(thread) {
                return Ok(false);
            }
        } else if state.rules.weak && !self.beyond_stale {
            self.beyond_stale = state.has_stale_move(thread);
        }
        if session.limits.bound == Some(cost) {
            // A preemption here would be for the next bucket; whether there is one must be known.
            if !self.beyond {
                let mut moves = std::mem::take(&mut self.moves_beyond);
                state.moves(&mut moves);
                let others = moves.iter().any(|m| m.thread != thread);
                self.moves_beyond = moves;
                self.beyond = others && !self.is_passed_over(session, state, node)?;
            }
            return Ok(true);
        }
        self.is_passed_over(session, state, node)
    }

    /// Whether the next operation of the thread that moved last is its own business.
    fn is_passed_over<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &ExecutionState,
        node: u32,
    ) -> Result<bool, Halt> {
        let thread = self.nodes[node as usize].step.thread;
        let operation = state.thread(thread).operation;
        if !self.reduce || operation.urgent || !self.segments.is_local(thread, &operation) {
            return Ok(false);
        }
        // What follows is a function of the thread's history, because only it uses the object.
        let history = state.thread(thread).history;
        if let Some(&known) = self.goes_on.get(&history) {
            return Ok(known);
        }
        let mut after = self.spare.pop().unwrap_or_else(|| ExecutionState::new(state.rules));
        after.clone_from(state);
        let nodes = &self.nodes;
        let step = Move { thread, choice: 0 };
        let path = |out: &mut Vec<Move>| {
            path_to(nodes, node, out);
            out.push(step);
        };
        self.segments.advance(session, &mut after, step, &path)?;
        let next = after.thread(thread);
        let goes_on = next.status == Status::Ready && !next.operation.urgent;
        self.spare.push(after);
        self.goes_on.insert(history, goes_on);
        Ok(goes_on)
    }
}
