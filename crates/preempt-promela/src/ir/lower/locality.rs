//! Which control states have moves that nobody else can notice in any way.
//!
//! Spin's rules for what is safe look at the data that a move touches. Four things change with moves that
//! touch no data: `_last` and what `enabled` and `pc_value` tell with every move, `_nr_pr` where a process
//! begins or ends, and who gets which `_pid` where several start processes. Where somebody looks at these, such moves are not safe; Spin overlooks that, and misses
//! violations.
//!
//! A move on local data commutes with everything. Searches that count preemptions ask for more:
//! that it enables nobody either, because then a process that was blocked, and could be left for
//! free, no longer is. Three ways to enable somebody by a local move: arriving where a rendezvous is
//! received (the sender can move then), being the last who could move (a `timeout` becomes true), and
//! making room for processes of lower priority. An indivisible sequence is local only if all of it
//! is.

use crate::ir::{
    BlockGuard, Expr, ExprId, Move, MoveId, MoveKind, Op, ProctypeIndex, Program, Safety,
};

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

/// Takes the promise of safety back where a move is noticed that touches no data. `counted`: somebody
/// looks at `_nr_pr`.
pub(super) fn restrict_noticed(program: &mut Program, counted: bool) {
    if program.notices_every_step() {
        return program.take_nothing_for_safe();
    }
    if !(counted || several_create(program) && numbers_matter(program)) {
        return;
    }
    let changes_count: Vec<bool> = program.moves.iter().map(changes_count).collect();
    for state in program.proctypes.iter_mut().flat_map(|proctype| &mut proctype.states) {
        if state.moves.iter().any(|id| changes_count[id.0 as usize]) {
            state.safety = Safety::Unsafe;
        }
    }
}

/// The process types that a move starts, once for each `run`.
fn started(step: &Move) -> impl Iterator<Item = ProctypeIndex> + '_ {
    let blocks = match &step.kind {
        MoveKind::Compound { blocks, .. } => blocks.as_slice(),
        _ => &[],
    };
    let inside = blocks.iter().flat_map(|block| &block.options).flat_map(|option| &option.ops);
    step.ops.iter().chain(inside).filter_map(|op| match op {
        Op::Run { proctype, .. } => Some(*proctype),
        _ => None,
    })
}

/// Whether more than one process may start others: their order then decides who gets which number.
fn several_create(program: &Program) -> bool {
    let creates = |proctype: &ProctypeIndex| {
        program
            .moves
            .iter()
            .any(|step| step.proctype == *proctype && started(step).next().is_some())
    };
    let at_once = program.start.iter().filter(|proctype| creates(proctype)).count();
    at_once > 1 || program.moves.iter().flat_map(started).any(|proctype| creates(&proctype))
}

/// Whether somebody looks at the number of a process.
fn numbers_matter(program: &Program) -> bool {
    let is_number = |e: ExprId| matches!(program.expr(e), Expr::ProcessCount);
    let stored = |op: &Op| matches!(op, Op::Store { value, .. } if is_number(*value));
    program.exprs.iter().any(|e| matches!(e, Expr::Pid))
        || program.moves.iter().flat_map(|step| &step.ops).any(stored)
}

/// Whether the move begins or ends a process.
fn changes_count(step: &Move) -> bool {
    matches!(step.kind, MoveKind::End) || started(step).next().is_some()
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
        MoveKind::Compound { blocks, .. } => blocks.first().is_some_and(|block| {
            block.options.iter().any(|option| matches!(option.kind, BlockGuard::Receive { .. }))
        }),
        _ => false,
    }
}
