//! The graph of one function while it grows: nodes, edges, labels.

use crate::flow::{Edge, Mark, NodeId, Operation, VariableId};
use crate::syntax::ast::Type;
use std::collections::HashMap;

/// The graph of one function while it grows.
pub(super) struct Graph {
    pub(super) scope: HashMap<String, VariableId>,
    /// Where each label stands, in the order of the text.
    pub(super) labels: HashMap<String, Vec<NodeId>>,
    /// How many of a label's places have been met.
    pub(super) met: HashMap<String, usize>,
    pub(super) returns: Vec<Type>,
    pub(super) edges: Vec<Edge>,
    pub(super) node_count: usize,
    pub(super) marks: Vec<(NodeId, Mark, u32)>,
}

impl Graph {
    pub(super) fn node(&mut self) -> NodeId {
        self.node_count += 1;
        self.node_count - 1
    }

    /// The node of a label that is met, in the order of the text, for the first or another time.
    pub(super) fn next_labelled(&mut self, label: &str) -> NodeId {
        let at = self.met.entry(label.to_string()).or_default();
        *at += 1;
        self.labels[label][*at - 1]
    }

    pub(super) fn edge(
        &mut self,
        from: NodeId,
        to: NodeId,
        operation: Operation,
        line: u32,
        text: String,
    ) {
        self.edges.push(Edge { from, to, operation, line, text });
    }

    /// Adds an edge to a new node, which it returns.
    pub(super) fn step(
        &mut self,
        from: NodeId,
        operation: Operation,
        line: u32,
        text: String,
    ) -> NodeId {
        let to = self.node();
        self.edge(from, to, operation, line, text);
        to
    }

    /// Removes the edges that only join two places (their text is empty) by making them one, and
    /// numbers the nodes anew. A joined node has no other edge, so nothing becomes reachable.
    pub(super) fn merge_joined(&mut self, entry: NodeId) -> NodeId {
        let mut same: Vec<Option<NodeId>> = vec![None; self.node_count];
        for edge in &self.edges {
            if edge.text.is_empty() {
                same[edge.from] = Some(edge.to);
            }
        }
        let last = |mut node: NodeId| {
            let mut steps = 0;
            while let Some(next) = same[node]
                && steps <= self.node_count
            {
                node = next;
                steps += 1;
            }
            node
        };
        let mut number = vec![usize::MAX; self.node_count];
        let mut count = 0;
        for node in 0..self.node_count {
            let kept = last(node);
            if number[kept] == usize::MAX {
                number[kept] = count;
                count += 1;
            }
            number[node] = number[kept];
        }
        self.edges.retain(|edge| !edge.text.is_empty());
        for edge in &mut self.edges {
            edge.from = number[edge.from];
            edge.to = number[edge.to];
        }
        self.marks.iter_mut().for_each(|(node, ..)| *node = number[*node]);
        self.node_count = count;
        number[entry]
    }
}
