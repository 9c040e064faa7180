//! Which local variables may still be read, per node: the others can be forgotten.
//!
//! The explicit engine sets forgotten variables to zero, so that states which differ only there
//! are one state.

use super::{FunctionId, Operation, Owner, Program, VariableId};

/// Live local variables and thread variables are not tracked: only those of the frame.
#[derive(Clone, Debug)]
pub(crate) struct Liveness {
    /// Per function and node, whether each variable of the frame is live, in the frame's order.
    live: Vec<Vec<Vec<bool>>>,
}

impl Liveness {
    pub(crate) fn new(program: &Program) -> Self {
        Liveness { live: (0..program.functions.len()).map(|f| of_function(program, f)).collect() }
    }

    /// Whether each variable of the frame is live at the node.
    pub(crate) fn at(&self, function: FunctionId, node: usize) -> &[bool] {
        &self.live[function][node]
    }
}

fn of_function(program: &Program, id: FunctionId) -> Vec<Vec<bool>> {
    let function = &program.functions[id];
    let frame: Vec<VariableId> = function.frame().collect();
    let place = |v: VariableId| match program.variables[v].owner {
        Owner::Function(_) => frame.iter().position(|f| *f == v),
        Owner::Shared | Owner::Thread => None,
    };
    let mut incoming = vec![Vec::new(); function.out.len()];
    let mut facts = Vec::new();
    for (i, edge) in function.edges.iter().enumerate() {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        edge.operation.each_read(&mut |v| reads.extend(place(v)));
        // A constraint may speak of the value before as well, which `each_read` has counted.
        edge.operation.each_write(&mut |v| writes.extend(place(v)));
        facts.push((reads, writes));
        if !matches!(edge.operation, Operation::Return(_)) {
            incoming[edge.to].push(i);
        }
    }
    let mut live = vec![vec![false; frame.len()]; function.out.len()];
    let mut work: Vec<usize> = (0..function.edges.len()).collect();
    while let Some(i) = work.pop() {
        let edge = &function.edges[i];
        let (reads, writes) = &facts[i];
        let mut after = match edge.operation {
            Operation::Return(_) => vec![false; frame.len()],
            _ => live[edge.to].clone(),
        };
        writes.iter().for_each(|w| after[*w] = false);
        reads.iter().for_each(|r| after[*r] = true);
        let mut grew = false;
        for (old, new) in live[edge.from].iter_mut().zip(after) {
            grew |= new && !*old;
            *old |= new;
        }
        if grew {
            work.extend(&incoming[edge.from]);
        }
    }
    live
}
