//! Whether footprints keep what they promise, tried in the states that a search meets first.
//!
//! A promise too much would hide violations in silence, so whatever can be tried is: processes change no
//! control point but their own, and theirs as the points say; steps that change no observed object
//! leave all conditions as they were; and two processes whose points do not touch each other come to the same states
//! in both orders.

use crate::footprints::Table;
use crate::moves::{self, Move};
use crate::{Model, Property};
use preempt_core::ProcessId;

/// What is tried.
pub(crate) struct Tried<'a, M: Model> {
    pub(crate) model: &'a M,
    pub(crate) processes: &'a [String],
    pub(crate) table: &'a Table<M, M::State>,
    pub(crate) properties: &'a [Property<M>],
}

impl<M: Model> Tried<'_, M> {
    /// Looks at one state and its moves.
    pub(crate) fn examine(&self, state: &M::State, moves: &[Move<M::State>]) -> Result<(), String> {
        let Tried { model, processes: names, table, .. } = self;
        let mut points = Vec::with_capacity(names.len());
        for process in 0..names.len() {
            points.push(table.point(model, state, process)?);
        }
        for Move { process: mover, next, .. } in moves {
            let mover = mover.index();
            let Some(next) = next else { continue };
            for (process, before) in points.iter().enumerate() {
                let after = table.point(model, next, process)?;
                if process != mover && after != *before {
                    return Err(format!(
                        "an action of {} moves {} from control point {before} to {after}",
                        names[mover], names[process]
                    ));
                }
                if process == mover && !table.leads_to(*before, after) {
                    return Err(format!(
                        "{} goes from control point {before} to {after}, which its footprint does not name",
                        names[mover]
                    ));
                }
            }
            if !table.is_visible(points[mover]) && self.is_seen(state, next) {
                return Err(format!(
                    "an action of {} at control point {} changes what a property or a limit reads, but its footprint \
                     writes nothing observed",
                    names[mover], points[mover]
                ));
            }
        }
        for left in 0..names.len() {
            for right in left + 1..names.len() {
                let apart = table.present(points[left]).commutes_with(table.present(points[right]));
                if apart && !self.commute(moves, left, right)? {
                    return Err(format!(
                        "the footprints of {} at control point {} and of {} at {} do not touch each other, but the \
                         order of their actions makes a difference",
                        names[left], points[left], names[right], points[right]
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether a condition or the model's limits tell two states apart.
    fn is_seen(&self, before: &M::State, after: &M::State) -> bool {
        let model = self.model;
        let mut conditions = self.properties.iter().flat_map(|property| &property.propositions);
        model.is_within(before) != model.is_within(after)
            || conditions.any(|p| (p.holds)(model, before) != (p.holds)(model, after))
    }

    /// Whether the moves of two processes lead to the same states in both orders.
    fn commute(&self, moves: &[Move<M::State>], left: usize, right: usize) -> Result<bool, String> {
        let one_way = self.both(moves, left, right)?;
        let other_way = self.both(moves, right, left)?;
        let covers = |a: &[M::State], b: &[M::State]| a.iter().all(|state| b.contains(state));
        Ok(covers(&one_way, &other_way) && covers(&other_way, &one_way))
    }

    /// The states after a move of `first` and then one of `second`, within the model's limits.
    fn both(
        &self,
        moves: &[Move<M::State>],
        first: usize,
        second: usize,
    ) -> Result<Vec<M::State>, String> {
        let is_of =
            |found: &Move<M::State>, process: usize| found.process == ProcessId(process as u16);
        let mut states = Vec::new();
        for between in moves.iter().filter(|found| is_of(found, first)) {
            let Some(between) = &between.next else { continue };
            for last in moves::of(self.model, self.processes.len(), between, false)? {
                if is_of(&last, second) {
                    states.extend(last.next);
                }
            }
        }
        Ok(states)
    }
}
