//! Whether footprints keep what they promise, tried in the states that a search meets first.
//!
//! A promise too much would hide violations in silence, so whatever can be tried is: processes change no
//! control point but their own, and theirs as the points say; steps that change no observed object
//! leave all conditions as they were; and two processes whose points do not touch each other come to the same states
//! in both orders.

use crate::Model;
use crate::encoded::{Encoded, Move};
use crate::footprints::Table;
use preempt_core::ProcessId;

/// Looks at one state and its moves.
pub(crate) fn examine<M: Model>(
    encoded: &Encoded<'_, M>,
    table: &Table<M>,
    state: &M::State,
    moves: &[Move<M::State>],
) -> Result<(), String> {
    let model = encoded.model();
    let names = model.processes();
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
        if !table.is_visible(points[mover]) && is_seen(encoded, state, next) {
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
            if apart && !commute(encoded, moves, left, right)? {
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
fn is_seen<M: Model>(encoded: &Encoded<'_, M>, before: &M::State, after: &M::State) -> bool {
    let model = encoded.model();
    let conditions = encoded.properties().iter().flat_map(|property| &property.propositions);
    model.is_within(before) != model.is_within(after)
        || conditions.into_iter().any(|p| (p.holds)(model, before) != (p.holds)(model, after))
}

/// Whether the moves of two processes lead to the same states in both orders.
fn commute<M: Model>(
    encoded: &Encoded<'_, M>,
    moves: &[Move<M::State>],
    left: usize,
    right: usize,
) -> Result<bool, String> {
    let one_way = both(encoded, moves, left, right)?;
    let other_way = both(encoded, moves, right, left)?;
    let covers = |a: &[M::State], b: &[M::State]| a.iter().all(|state| b.contains(state));
    Ok(covers(&one_way, &other_way) && covers(&other_way, &one_way))
}

/// The states after a move of `first` and then one of `second`. Moves that leave the model's limits count for nothing.
fn both<M: Model>(
    encoded: &Encoded<'_, M>,
    moves: &[Move<M::State>],
    first: usize,
    second: usize,
) -> Result<Vec<M::State>, String> {
    let of =
        |process: usize| move |found: &&Move<M::State>| found.process == ProcessId(process as u16);
    let mut states = Vec::new();
    for between in moves.iter().filter(of(first)).filter_map(|found| found.next.as_ref()) {
        for last in encoded.moves_of(between)? {
            if of(second)(&&last) {
                states.extend(last.next);
            }
        }
    }
    Ok(states)
}
