//! Which functions may call themselves: those on a cycle of the call graph.

use super::{Function, FunctionId, Operation};

/// Tarjan's strongly connected components, without recursion: chains of calls may be long.
pub(super) fn recursive(functions: &[Function]) -> Vec<bool> {
    let callees: Vec<Vec<FunctionId>> = functions.iter().map(callees).collect();
    let mut search = Search {
        callees: &callees,
        number: vec![0; functions.len()],
        low: vec![0; functions.len()],
        open: vec![false; functions.len()],
        stack: Vec::new(),
        count: 0,
        recursive: (0..functions.len()).map(|f| callees[f].contains(&f)).collect(),
    };
    for function in 0..functions.len() {
        if search.number[function] == 0 {
            search.visit(function);
        }
    }
    search.recursive
}

/// The functions that a function calls itself.
fn callees(function: &Function) -> Vec<FunctionId> {
    let called = function.edges.iter().filter_map(|edge| match edge.operation {
        Operation::Call { function, .. } => Some(function),
        _ => None,
    });
    let mut list: Vec<FunctionId> = called.collect();
    list.sort_unstable();
    list.dedup();
    list
}

struct Search<'a> {
    callees: &'a [Vec<FunctionId>],
    /// In the order of discovery, from 1; 0 is not discovered.
    number: Vec<usize>,
    low: Vec<usize>,
    open: Vec<bool>,
    stack: Vec<FunctionId>,
    count: usize,
    recursive: Vec<bool>,
}

impl Search<'_> {
    fn discover(&mut self, function: FunctionId) {
        self.count += 1;
        self.number[function] = self.count;
        self.low[function] = self.count;
        self.open[function] = true;
        self.stack.push(function);
    }

    fn visit(&mut self, root: FunctionId) {
        let mut path = vec![(root, 0)];
        self.discover(root);
        while let Some((function, at)) = path.pop() {
            if let Some(&callee) = self.callees[function].get(at) {
                path.push((function, at + 1));
                if self.number[callee] == 0 {
                    self.discover(callee);
                    path.push((callee, 0));
                } else if self.open[callee] {
                    self.low[function] = self.low[function].min(self.number[callee]);
                }
                continue;
            }
            if let Some((caller, _)) = path.last() {
                self.low[*caller] = self.low[*caller].min(self.low[function]);
            }
            if self.low[function] == self.number[function] {
                self.close(function);
            }
        }
    }

    /// Everything above `first` on the stack calls everything else there.
    fn close(&mut self, first: FunctionId) {
        let start = self.stack.iter().rposition(|f| *f == first).unwrap_or(0);
        let component = self.stack.split_off(start);
        for function in &component {
            self.open[*function] = false;
            self.recursive[*function] |= component.len() > 1;
        }
    }
}
