//! Strongly connected components: which states of a graph lie on an accepting cycle.
//!
//! Tarjan's algorithm, without recursion. States are added one after the other, each with its edges.

/// An explicit graph: the edges of state `i` end at `ends[i]`.
#[derive(Default)]
pub(crate) struct Graph {
    targets: Vec<u32>,
    ends: Vec<usize>,
    accepting: Vec<bool>,
}

impl Graph {
    /// Adds an edge of the state that is being added.
    pub(crate) fn add_edge(&mut self, to: u32) {
        self.targets.push(to);
    }

    /// Adds the state whose edges were added since the last one.
    pub(crate) fn end_state(&mut self, accepting: bool) {
        self.ends.push(self.targets.len());
        self.accepting.push(accepting);
    }

    /// Memory in use, without that of the states' own.
    pub(crate) fn bytes(&self) -> usize {
        self.targets.capacity() * 4
    }

    fn edges(&self, state: usize) -> std::ops::Range<usize> {
        let start = if state == 0 { 0 } else { self.ends[state - 1] };
        start..self.ends[state]
    }

    /// The states of components that have a cycle and an accepting state (Tarjan's algorithm).
    pub(crate) fn cyclic(&self) -> Vec<bool> {
        const NEW: u32 = u32::MAX;
        let count = self.ends.len();
        let mut order = vec![NEW; count];
        let mut low = vec![0; count];
        let mut open = vec![false; count];
        let mut result = vec![false; count];
        let (mut stack, mut next) = (Vec::new(), 0);
        let mut path: Vec<(usize, usize)> = Vec::new();
        for root in 0..count {
            if order[root] != NEW {
                continue;
            }
            path.push((root, self.edges(root).start));
            while let Some((state, edge)) = path.last_mut() {
                let state = *state;
                if order[state] == NEW {
                    (order[state], low[state], open[state]) = (next, next, true);
                    stack.push(state);
                    next += 1;
                }
                if *edge < self.ends[state] {
                    let to = self.targets[*edge] as usize;
                    *edge += 1;
                    if order[to] == NEW {
                        path.push((to, self.edges(to).start));
                    } else if open[to] {
                        low[state] = low[state].min(order[to]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    low[*parent] = low[*parent].min(low[state]);
                }
                if low[state] == order[state] {
                    let first = stack.iter().rposition(|s| *s == state).unwrap_or(0);
                    let members = stack.split_off(first);
                    let itself = |s: usize| self.targets[self.edges(s)].contains(&(s as u32));
                    let cycle = members.len() > 1 || itself(state);
                    let accepts = members.iter().any(|s| self.accepting[*s]);
                    for member in members {
                        open[member] = false;
                        result[member] = cycle && accepts;
                    }
                }
            }
        }
        result
    }
}
