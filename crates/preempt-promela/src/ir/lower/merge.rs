//! Which steps are joined to one, as Spin's statement merging does.
//!
//! A step may be taken together with the one before it when it cannot block, is the only way on,
//! no expression can refer to the point between, and it touches only data of its own process (or
//! lies inside an atomic block). A condition, receive or buffered send may start such a chain.
//!
//! Spin takes some statements for private that are not: those that read an index of a local array from shared data, or
//! start a process. **Invariant:** a chain has at most one of them, or part of one atomic block, so that its other statements
//! can be thought to happen at the same moment; Spin joins several, and misses what can happen in between.

use super::dataflow::{Edge, Flow};
use super::element::{ATOMIC, Action, GLOBAL, Graph, Id, Kind, LAST_OF_ATOMIC, OBSERVED};
use super::safety::Globals;
use super::usage::walk_expr;
use crate::model::ExprKind;
use std::collections::{HashMap, HashSet};

/// The result: for the elements concerned, the number of the element where the chain ends.
#[derive(Default)]
pub(super) struct Merges {
    /// The element is part of a chain that ends there.
    pub(super) chained: HashMap<Id, u32>,
    /// The element starts a chain that ends there.
    pub(super) starts: HashMap<Id, u32>,
    /// The element could be chained, but what follows could not.
    pub(super) single: HashMap<Id, u32>,
    /// Some chain is shorter than Spin's.
    pub(super) shortened: bool,
}

impl Merges {
    /// With `as_spin` chains are as long as Spin's.
    pub(super) fn find(graph: &Graph, flow: &Flow, globals: &Globals<'_>, as_spin: bool) -> Merges {
        let mut search = Search {
            graph,
            flow,
            globals,
            as_spin,
            merges: Merges::default(),
            stack: vec![],
            sharing: HashSet::new(),
        };
        search.chains();
        search.chain_starts();
        search.merges
    }

    /// Where the chain that `id` starts or continues ends.
    pub(super) fn end_of(&self, id: Id) -> Option<u32> {
        self.starts.get(&id).or_else(|| self.chained.get(&id)).copied()
    }
}

struct Search<'a> {
    graph: &'a Graph,
    flow: &'a Flow,
    globals: &'a Globals<'a>,
    as_spin: bool,
    merges: Merges,
    stack: Vec<(u32, usize)>,
    /// The elements from which a chain runs that has a statement that is not private.
    sharing: HashSet<Id>,
}

impl Search<'_> {
    /// Every way out of every element, last found first.
    fn all_edges(&self) -> Vec<(u32, usize)> {
        let mut all = Vec::new();
        for number in self.flow.order.iter().rev() {
            let count = self.flow.edges[number].len();
            all.extend((0..count).rev().map(|at| (*number, at)));
        }
        all
    }

    fn edge(&self, (number, at): (u32, usize)) -> &Edge {
        &self.flow.edges[&number][at]
    }

    /// The only way out of an element, if there is just one.
    fn only_way(&self, number: u32) -> Option<(u32, usize)> {
        match self.flow.edges.get(&number)?.len() {
            1 => Some((number, 0)),
            _ => None,
        }
    }

    fn chains(&mut self) {
        for at in self.all_edges() {
            let edge = self.edge(at);
            let Some(step) = edge.step else { continue };
            let to = edge.to;
            if self.merges.chained.contains_key(&step)
                || self.is_blocking(step)
                || !self.is_eligible(at)
            {
                continue;
            }
            match self.only_way(to) {
                Some(next) if self.is_eligible(next) => {
                    self.chain(at);
                }
                _ => {
                    self.merges.single.insert(step, to);
                }
            }
        }
    }

    /// Extends a chain as far as possible; returns where it ends.
    fn chain(&mut self, at: (u32, usize)) -> Option<u32> {
        let edge = self.edge(at);
        let (step, to) = (edge.step?, edge.to);
        if let Some(end) = self.merges.chained.get(&step) {
            return Some(*end);
        }
        if !self.is_eligible(at) || self.stack.contains(&at) {
            return None;
        }
        self.stack.push(at);
        // Spin asks the last found way out; more than one is never eligible.
        let next = self.flow.edges.get(&to).and_then(|e| e.len().checked_sub(1));
        let rest =
            next.and_then(|last| Some((self.chain((to, last))?, self.edge((to, last)).step?)));
        let rest_shares = rest.is_some_and(|(_, first)| self.sharing.contains(&first));
        let is_cut = rest_shares && self.ends_at_shared(step);
        let end = rest.filter(|_| !is_cut).map_or(to, |(end, _)| end);
        if self.is_shared(step) || rest_shares {
            self.sharing.insert(step);
        }
        self.merges.shortened |= is_cut;
        self.merges.chained.insert(step, end);
        self.stack.pop();
        Some(end)
    }

    fn chain_starts(&mut self) {
        for at in self.all_edges() {
            let edge = self.edge(at);
            let Some(step) = edge.step else { continue };
            if self.merges.chained.contains_key(&step) || !self.can_start(at, step) {
                continue;
            }
            let following = self.flow.edges.get(&edge.to).and_then(|e| e.last());
            let Some(next) = following.and_then(|e| e.step) else { continue };
            let end = self.merges.chained.get(&next).or_else(|| self.merges.single.get(&next));
            let Some(end) = end.copied() else { continue };
            let single = self.merges.single.contains_key(&next) && self.is_shared(next);
            if self.ends_at_shared(step) && (single || self.sharing.contains(&next)) {
                self.merges.shortened = true;
                continue;
            }
            self.merges.starts.insert(step, end);
        }
    }

    fn is_blocking(&self, id: Id) -> bool {
        matches!(
            &self.graph.at(id).kind,
            Kind::Basic(Action::Condition(_) | Action::Send { .. } | Action::Receive { .. })
        )
    }

    fn is_eligible(&self, at: (u32, usize)) -> bool {
        let edge = self.edge(at);
        let Some(id) = edge.step else { return false };
        let element = self.graph.at(id);
        let simple = match &element.kind {
            // The exit of a loop carries the label that `break` jumps to.
            Kind::Goto(_) | Kind::Join => true,
            Kind::Basic(Action::SetPriority(..) | Action::Code(_)) => false,
            Kind::Basic(_) => !self.is_blocking(id),
            _ => false,
        };
        simple
            && self.flow.edges[&at.0].len() == 1
            && element.escapes.is_empty()
            && element.labels.is_empty()
            && element.status & OBSERVED == 0
            && self.is_private(id)
    }

    /// Inside an atomic block, or without a reference to global data.
    fn is_private(&self, id: Id) -> bool {
        let status = self.graph.at(id).status;
        status & (ATOMIC | LAST_OF_ATOMIC) != 0
            || (status & GLOBAL == 0 && !self.globals.element(self.graph, id))
    }

    /// Whether the statement counts among those of which a chain has one at most. An atomic block counts as one of them,
    /// whatever it contains.
    fn is_shared(&self, id: Id) -> bool {
        let is_inside = self.graph.at(id).status & (ATOMIC | LAST_OF_ATOMIC) != 0;
        !self.as_spin && (is_inside || self.globals.is_shared(self.graph, id))
    }

    /// Whether no other such statement may follow: what follows inside of an atomic block belongs to the same one.
    fn ends_at_shared(&self, id: Id) -> bool {
        self.graph.at(id).status & ATOMIC == 0 && self.is_shared(id)
    }

    fn can_start(&self, at: (u32, usize), id: Id) -> bool {
        let element = self.graph.at(id);
        let kind = match &element.kind {
            Kind::Basic(Action::Condition(e)) => {
                let mut runs = false;
                walk_expr(e, &mut |e| runs |= matches!(e.kind, ExprKind::Run { .. }));
                !runs
            }
            Kind::Basic(Action::Receive { .. }) => true,
            // A rendezvous send hands control over, so nothing may follow it at once.
            Kind::Basic(Action::Send { .. }) => !self.globals.facts.uses_rendezvous,
            _ => false,
        };
        kind && self.flow.edges[&at.0].len() == 1
            && element.escapes.is_empty()
            && element.status & OBSERVED == 0
            && self.is_private(id)
    }
}
