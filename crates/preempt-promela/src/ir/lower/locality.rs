//! Which control states have moves that nobody else can notice in any way.
//!
//! A move on local data commutes with everything. Searches that count preemptions ask for more:
//! that it enables nobody either, because then a process that was blocked, and could be left for
//! free, no longer is. Three ways to enable somebody by a local move: arriving where a rendezvous is
//! received (the sender can move then), being the last who could move (a `timeout` becomes true), and
//! making room for processes of lower priority. An indivisible sequence is local only if all of it
//! is.

use crate::ir::{BlockGuard, Move, MoveId, MoveKind, Program, Safety};

/// Takes the promise of strict locality back where it does not hold.
pub(super) fn restrict(program: &mut Program) {
    let never = program.uses_timeout || program.layout.has_priorities;
    for proctype in 0..program.proctypes.len() {
        let states = &program.proctypes[proctype].states;
        let local: Vec<bool> = (0..states.len())
            .map(|at| !never && is_local(program, proctype, at, &mut vec![false; states.len()]))
            .collect();
        for (state, is_local) in program.proctypes[proctype].states.iter_mut().zip(local) {
            if let Safety::Safe { local, .. } = &mut state.safety {
                *local &= is_local;
            }
        }
    }
}

/// Whether all moves from a control state, and all that follow them indivisibly, are local.
fn is_local(program: &Program, proctype: usize, at: usize, seen: &mut [bool]) -> bool {
    if std::mem::replace(&mut seen[at], true) {
        return true;
    }
    let states = &program.proctypes[proctype].states;
    matches!(states[at].safety, Safety::Safe { local: true, .. })
        && states[at].moves.iter().all(|id| {
            let step = program.move_of(*id);
            let target = usize::from(step.target.0);
            !receives(program, &states[target].moves)
                && (!step.keeps_control || is_local(program, proctype, target, seen))
        })
}

/// Whether one of the moves could answer a rendezvous.
fn receives(program: &Program, moves: &[MoveId]) -> bool {
    program.uses_rendezvous && moves.iter().any(|id| is_receive(program.move_of(*id)))
}

fn is_receive(step: &Move) -> bool {
    match &step.kind {
        MoveKind::Receive { .. } => true,
        MoveKind::Compound { blocks } => blocks.first().is_some_and(|block| {
            block.options.iter().any(|option| matches!(option.kind, BlockGuard::Receive { .. }))
        }),
        _ => false,
    }
}
