//! What a procedure may change, and what it needs to know.

use super::code::{Code, CodeOperation};
use crate::flow::{Owner, VariableId};

/// What a procedure does to variables that outlive it.
#[derive(Clone, Debug, Default)]
pub(super) struct Effect {
    /// Written by it or what it calls.
    pub(super) changed: Vec<VariableId>,
    /// Read or written.
    pub(super) touched: Vec<VariableId>,
    /// Parameters it assigns to.
    pub(super) changed_params: Vec<VariableId>,
    pub(super) kept_params: Vec<VariableId>,
}

pub(super) fn effects(code: &Code) -> Vec<Effect> {
    let count = code.variables.len();
    let mut changed = vec![vec![false; count]; code.procedures.len()];
    let mut touched = changed.clone();
    let mut calls = vec![Vec::new(); code.procedures.len()];
    for (p, procedure) in code.procedures.iter().enumerate() {
        for edge in &procedure.edges {
            let mut read = |e: &crate::flow::Expr| e.each_variable(&mut |v| touched[p][v] = true);
            let written = match &edge.operation {
                CodeOperation::Step { guard, lhs, rhs, constrain, .. } => {
                    guard.iter().chain(rhs).chain(constrain).for_each(&mut read);
                    lhs.as_slice()
                }
                CodeOperation::Call { procedure, args, lhs } => {
                    args.iter().for_each(&mut read);
                    calls[p].push(*procedure);
                    lhs.as_slice()
                }
                CodeOperation::Return(values) => {
                    values.iter().for_each(&mut read);
                    &[]
                }
            };
            for v in written {
                changed[p][*v] = true;
                touched[p][*v] = true;
            }
        }
    }
    for row in &mut touched {
        code.carried.iter().for_each(|v| row[*v] = true);
    }
    let own_changed = changed.clone();
    let mut again = true;
    while again {
        again = false;
        for p in 0..calls.len() {
            for &q in &calls[p] {
                for v in (0..count).filter(|v| is_global(code, *v)) {
                    for table in [&mut changed, &mut touched] {
                        if table[q][v] && !table[p][v] {
                            table[p][v] = true;
                            again = true;
                        }
                    }
                }
            }
        }
    }
    let globals = |row: &[bool]| -> Vec<VariableId> {
        (0..count).filter(|v| row[*v] && is_global(code, *v)).collect()
    };
    code.procedures
        .iter()
        .enumerate()
        .map(|(p, procedure)| {
            let (changed_params, kept_params) =
                procedure.params.iter().partition(|v| own_changed[p][**v]);
            Effect {
                changed: globals(&changed[p]),
                touched: globals(&touched[p]),
                changed_params,
                kept_params,
            }
        })
        .collect()
}

pub(super) fn is_global(code: &Code, variable: VariableId) -> bool {
    !matches!(code.variables[variable].owner, Owner::Function(_))
}

/// Smaller for procedures that others call, so that summaries are complete early.
pub(super) fn callees_first(code: &Code) -> Vec<usize> {
    let mut order = vec![usize::MAX; code.procedures.len()];
    let mut next = 0;
    for start in 0..code.procedures.len() {
        let mut stack = vec![(start, false)];
        let mut open = vec![false; code.procedures.len()];
        while let Some((p, done)) = stack.pop() {
            if done {
                if order[p] == usize::MAX {
                    order[p] = next;
                    next += 1;
                }
                continue;
            }
            if order[p] != usize::MAX || std::mem::replace(&mut open[p], true) {
                continue;
            }
            stack.push((p, true));
            for edge in &code.procedures[p].edges {
                if let CodeOperation::Call { procedure, .. } = edge.operation {
                    stack.push((procedure, false));
                }
            }
        }
    }
    order
}
