//! Which propositions of a program say the same, or the opposite.
//!
//! A claim that mentions `!p` twice and `p` once speaks of one thing, not of three. Automata over the
//! fewest propositions are smaller, and more of them are seen to be stutter invariant.

use preempt_promela::ir::{BinaryOp, ChannelRef, Expr, ExprId, Place, Program, UnaryOp};

/// For each proposition the first one that says the same or the opposite, and which of the two.
pub(super) fn literals(program: &Program) -> Vec<(usize, bool)> {
    let mut known: Vec<(String, usize, bool)> = Vec::new();
    let mut result = Vec::new();
    for (index, expression) in program.propositions.iter().enumerate() {
        // What may fail is false then, and so is its negation: it stays as it is.
        let Some((key, sign)) = truth(program, *expression) else {
            result.push((index, true));
            continue;
        };
        match known.iter().find(|(other, ..)| *other == key) {
            Some((_, first, first_sign)) => result.push((*first, sign == *first_sign)),
            None => {
                known.push((key, index, sign));
                result.push((index, true));
            }
        }
    }
    result
}

/// The value of a proposition that has the same in all states.
pub(super) fn constant(program: &Program, index: usize) -> Option<bool> {
    let mut id = program.propositions[index];
    let mut sign = true;
    while let Expr::Unary(UnaryOp::Not, inner) = program.expr(id) {
        (id, sign) = (*inner, !sign);
    }
    match program.expr(id) {
        Expr::Const(number) => Some((*number != 0) == sign),
        _ => None,
    }
}

/// A text that two expressions share only if they are true together, and whether it is meant or its
/// negation; `None` when the evaluation may fail.
fn truth(program: &Program, id: ExprId) -> Option<(String, bool)> {
    match program.expr(id) {
        Expr::Unary(UnaryOp::Not, inner) => {
            let (key, sign) = truth(program, *inner)?;
            Some((key, !sign))
        }
        Expr::Binary(BinaryOp::NotEqual, a, b) => {
            let (a, b) = (value(program, *a)?, value(program, *b)?);
            Some((format!("({:?} {a} {b})", BinaryOp::Equal), false))
        }
        _ => Some((value(program, id)?, true)),
    }
}

fn value(program: &Program, id: ExprId) -> Option<String> {
    let place = |place: &Place| place.indices.is_empty().then(|| format!("{place:?}"));
    let process = |pid: &Option<ExprId>| match pid {
        Some(pid) => value(program, *pid),
        None => Some("first".into()),
    };
    Some(match program.expr(id) {
        Expr::Const(number) => number.to_string(),
        Expr::Load(from) => place(from)?,
        Expr::Unary(operator, a) => format!("({operator:?} {})", value(program, *a)?),
        Expr::Binary(operator, a, b) => {
            format!("({operator:?} {} {})", value(program, *a)?, value(program, *b)?)
        }
        Expr::Length(ChannelRef::Global(channel)) => format!("(length {channel})"),
        Expr::ChannelTest(test, ChannelRef::Global(channel)) => format!("({test:?} {channel})"),
        Expr::At { proctype, pid, pc } => format!("({proctype:?}[{}]@{pc:?})", process(pid)?),
        Expr::RemoteLoad { proctype, pid, place: from } => {
            format!("({proctype:?}[{}]:{})", process(pid)?, place(from)?)
        }
        _ => return None,
    })
}
