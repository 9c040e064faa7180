//! Which local variables can be set to 0 after a statement, because no path reads them before it
//! writes them again.
//!
//! Only scalars: not arrays, structures or channels. After a write the variable is reset at once;
//! after a last read only if the statement is a condition or a receive. These are Spin's rules
//! (its options -o1 and -o2 turn the resets off), and they decide which states are equal.

use super::element::{Action, Graph, Id, Kind, SequenceId, constant};
use super::usage::walk_expr;
use crate::model::{Base, Expr, ExprKind, Place, ReceiveArgument, Selector, Type, Variable};
use std::collections::HashMap;

/// A way from one element to another, and the statement that is executed on it.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) to: u32,
    /// The element; none for the way into an escape.
    pub(super) step: Option<Id>,
    reads: Vec<u32>,
    writes: Vec<u32>,
}

/// The control flow between elements, by their numbers. Number 0 is "nowhere".
#[derive(Default)]
pub(super) struct Flow {
    /// The numbers in the order in which they were met.
    pub(super) order: Vec<u32>,
    /// The ways out, in the order in which they were found.
    pub(super) edges: HashMap<u32, Vec<Edge>>,
    /// How many ways lead in.
    pub(super) entries: HashMap<u32, u32>,
}

impl Flow {
    pub(super) fn of(graph: &Graph, locals: &[Variable]) -> Flow {
        let mut flow = Flow::default();
        let mut done = vec![false; graph.elements.len()];
        flow.sequence(graph, graph.body, locals, &mut done);
        flow
    }

    fn sequence(
        &mut self,
        graph: &Graph,
        sequence: SequenceId,
        locals: &[Variable],
        done: &mut [bool],
    ) {
        for id in graph.chain(sequence) {
            if std::mem::replace(&mut done[id], true) {
                continue;
            }
            let element = graph.at(id);
            match (&element.kind, element.inner) {
                (Kind::Unless, _) => self.sequence(graph, element.options[0], locals, done),
                (Kind::If | Kind::Do, _) => {
                    for option in &element.options {
                        let first = graph.start_of(graph.sequences[*option].first);
                        if !graph.is_dead_option(first) {
                            self.edge(graph, id, Some(first), Some(id), locals);
                        }
                    }
                    for option in &element.options {
                        self.sequence(graph, *option, locals, done);
                    }
                }
                (_, Some(inner)) => {
                    let first = graph.start_of(graph.sequences[inner].first);
                    self.edge(graph, id, Some(first), Some(id), locals);
                    self.sequence(graph, inner, locals, done);
                }
                (kind, None) => {
                    self.edge(graph, id, graph.successor(id), Some(id), locals);
                    if !matches!(kind, Kind::Goto(_) | Kind::Join) {
                        for escape in &element.escapes {
                            let first = graph.start_of(graph.sequences[*escape].first);
                            self.edge(graph, id, Some(first), None, locals);
                            self.sequence(graph, *escape, locals, done);
                        }
                    }
                }
            }
        }
    }

    fn edge(
        &mut self,
        graph: &Graph,
        from: Id,
        to: Option<Id>,
        step: Option<Id>,
        locals: &[Variable],
    ) {
        let from = Graph::number(from);
        let to = to.map_or(0, Graph::number);
        self.meet(from);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        if let Some(step) = step
            && let Kind::Basic(action) = &graph.at(step).kind
        {
            uses(action, locals, &mut reads, &mut writes);
        }
        self.edges.entry(from).or_default().push(Edge { to, step, reads, writes });
        self.meet(to);
        *self.entries.entry(to).or_default() += 1;
    }

    fn meet(&mut self, number: u32) {
        if let std::collections::hash_map::Entry::Vacant(entry) = self.edges.entry(number) {
            entry.insert(Vec::new());
            self.order.push(number);
        }
    }

    /// The locals to reset after each element.
    pub(super) fn dead_after(&self, graph: &Graph) -> HashMap<Id, Vec<u32>> {
        let mut dead: HashMap<Id, Vec<u32>> = HashMap::new();
        for number in &self.order {
            for edge in &self.edges[number] {
                let Some(step) = edge.step else { continue };
                let Kind::Basic(action) = &graph.at(step).kind else { continue };
                let mut add = |variable: u32| {
                    let list = dead.entry(step).or_default();
                    if !list.contains(&variable) {
                        list.push(variable);
                    }
                };
                if matches!(action, Action::Condition(_) | Action::Receive { .. }) {
                    for variable in &edge.reads {
                        if self.is_dead(edge.to, *variable) {
                            add(*variable);
                        }
                    }
                }
                let stores_zero =
                    matches!(action, Action::Assign(_, value) if constant(value) == Some(0));
                if !stores_zero {
                    for variable in &edge.writes {
                        if self.is_dead(edge.to, *variable) {
                            add(*variable);
                        }
                    }
                }
            }
        }
        dead
    }

    /// No path from here reads the variable before it writes it.
    fn is_dead(&self, from: u32, variable: u32) -> bool {
        let mut seen = std::collections::HashSet::new();
        self.search(from, variable, &mut seen)
    }

    fn search(&self, from: u32, variable: u32, seen: &mut std::collections::HashSet<u32>) -> bool {
        if from == 0 || !seen.insert(from) {
            return true;
        }
        let Some(edges) = self.edges.get(&from) else { return true };
        for edge in edges.iter().rev() {
            if edge.reads.contains(&variable) {
                return false;
            }
            if edge.writes.contains(&variable) {
                return true;
            }
            if !self.search(edge.to, variable, seen) {
                return false;
            }
        }
        true
    }
}

/// The local scalars that a statement reads and writes.
fn uses(action: &Action, locals: &[Variable], reads: &mut Vec<u32>, writes: &mut Vec<u32>) {
    let mut read = |expr: &Expr| read_expr(expr, locals, reads);
    match action {
        Action::Condition(e) | Action::Assert(e) | Action::Printm(e) => read(e),
        Action::Assign(place, value) => {
            read(value);
            write_place(place, locals, &mut read, writes);
        }
        Action::Nothing | Action::Code(_) => {}
        Action::Send { channel, values, .. } => {
            read_indices(channel, &mut read);
            values.iter().for_each(&mut read);
        }
        Action::Receive { channel, arguments, .. } => {
            read_indices(channel, &mut read);
            for argument in arguments {
                match argument {
                    ReceiveArgument::Store(place) => {
                        write_place(place, locals, &mut read, writes);
                    }
                    ReceiveArgument::Match(e) => read(e),
                    ReceiveArgument::Ignore => {}
                }
            }
        }
        Action::Printf { arguments, .. } => arguments.iter().for_each(&mut read),
        Action::OwnPriority(value) => read(value),
        Action::SetPriority(pid, value) => {
            read(pid);
            read(value);
        }
    }
}

fn write_place(
    place: &Place,
    locals: &[Variable],
    read: &mut dyn FnMut(&Expr),
    writes: &mut Vec<u32>,
) {
    if let Some(local) = scalar_local(place, locals) {
        writes.push(local);
    }
    read_indices(place, read);
}

fn read_indices(place: &Place, read: &mut dyn FnMut(&Expr)) {
    for selector in &place.path {
        if let Selector::Index(e, _) = selector {
            read(e);
        }
    }
}

fn read_expr(expr: &Expr, locals: &[Variable], reads: &mut Vec<u32>) {
    walk_expr(expr, &mut |e| {
        if let ExprKind::Read(place) = &e.kind
            && let Some(local) = scalar_local(place, locals)
        {
            reads.push(local);
        }
    });
}

fn scalar_local(place: &Place, locals: &[Variable]) -> Option<u32> {
    let Base::Local(id) = place.base else { return None };
    let variable = locals.get(id.0 as usize)?;
    let scalar = variable.array.is_none() && !matches!(variable.ty, Type::Chan | Type::Struct(_));
    (scalar && place.path.is_empty()).then_some(id.0)
}
