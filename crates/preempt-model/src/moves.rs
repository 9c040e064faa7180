//! What can happen in a state of a model.

use crate::Model;
use preempt_core::ProcessId;

/// A possible action: the process that acts, its number, and the state that it leads to; `None` outside the model's
/// limits.
pub(crate) struct Move<S> {
    pub(crate) process: ProcessId,
    pub(crate) number: u32,
    pub(crate) next: Option<S>,
}

/// The possible moves of a state of a model with `processes` processes, in the order of its actions; those that
/// leave the model's limits only `with_cuts`.
pub(crate) fn of<M: Model>(
    model: &M,
    processes: usize,
    state: &M::State,
    with_cuts: bool,
) -> Result<Vec<Move<M::State>>, String> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    let mut moves = Vec::with_capacity(actions.len());
    for (action, number) in actions.iter().zip(0..) {
        let Some(next) = model.next(state, action) else { continue };
        let next = Some(next).filter(|next| model.is_within(next));
        if next.is_none() && !with_cuts {
            continue;
        }
        let process = model.process(action);
        if process >= processes {
            return Err(format!(
                "{} is an action of process {process}, but there are {processes} processes",
                model.describe(action),
            ));
        }
        moves.push(Move { process: ProcessId(process as u16), number, next });
    }
    Ok(moves)
}
