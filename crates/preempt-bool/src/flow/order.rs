//! Where control goes from each statement of a tree: which statements run, which run again, and
//! what local variables are still read behind one.
//!
//! Statements are numbered in the order of the text, as `each_statement` visits them.

use crate::syntax::ast::{Expr, ExprKind, Name, Statement, StatementKind};
use std::collections::{HashMap, HashSet};

pub(super) struct Order<'a> {
    pub(super) statements: Vec<&'a Statement>,
    successors: Vec<Vec<usize>>,
    /// Where threads start that a statement starts.
    spawned: Vec<Vec<usize>>,
    jumps: Vec<Jump<'a>>,
}

struct Jump<'a> {
    from: usize,
    label: &'a str,
    /// By a new thread.
    spawns: bool,
}

impl<'a> Order<'a> {
    pub(super) fn new(body: &'a [Statement]) -> Self {
        let mut order = Order {
            statements: Vec::new(),
            successors: Vec::new(),
            spawned: Vec::new(),
            jumps: Vec::new(),
        };
        order.block(body, Vec::new());
        let mut labels: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, statement) in order.statements.iter().enumerate() {
            for label in &statement.labels {
                labels.entry(&label.text).or_default().push(at);
            }
        }
        for Jump { from, label, spawns } in std::mem::take(&mut order.jumps) {
            let list = if spawns { &mut order.spawned } else { &mut order.successors };
            list[from].extend(labels.get(label).into_iter().flatten());
        }
        order
    }

    /// Adds statements behind those in `before`; returns those that lead out at the end.
    fn block(&mut self, body: &'a [Statement], mut before: Vec<usize>) -> Vec<usize> {
        for statement in body {
            let at = self.statements.len();
            self.statements.push(statement);
            self.successors.push(Vec::new());
            self.spawned.push(Vec::new());
            before.drain(..).for_each(|earlier| self.successors[earlier].push(at));
            before = match &statement.kind {
                StatementKind::If { then, otherwise, .. } => {
                    let mut ends = self.block(then, vec![at]);
                    ends.extend(self.block(otherwise, vec![at]));
                    ends
                }
                StatementKind::While { body, .. } => {
                    for end in self.block(body, vec![at]) {
                        self.successors[end].push(at);
                    }
                    vec![at]
                }
                StatementKind::Goto(labels) => {
                    self.jump(at, labels, false);
                    Vec::new()
                }
                StatementKind::StartThread(inner) => {
                    for started in Order::new(std::slice::from_ref(&**inner)).statements {
                        if let StatementKind::Goto(labels) = &started.kind {
                            self.jump(at, labels, true);
                        }
                    }
                    vec![at]
                }
                StatementKind::Return(_) | StatementKind::EndThread => Vec::new(),
                _ => vec![at],
            };
        }
        before
    }

    fn jump(&mut self, from: usize, labels: &'a [Name], spawns: bool) {
        let to = labels.iter().map(|label| Jump { from, label: &label.text, spawns });
        self.jumps.extend(to);
    }

    fn reachable_from(&self, starts: &[usize]) -> Vec<bool> {
        let mut seen = vec![false; self.statements.len()];
        let mut work = starts.to_vec();
        while let Some(at) = work.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                work.extend(&self.successors[at]);
            }
        }
        seen
    }

    /// Whether each statement can run at all.
    pub(super) fn runs(&self) -> Vec<bool> {
        self.reachable_from(if self.statements.is_empty() { &[] } else { &[0] })
    }

    /// Whether a statement may run again after it has run.
    pub(super) fn repeats(&self, at: usize) -> bool {
        self.reachable_from(&self.successors[at])[at]
    }

    /// The names that may be read, before they are written, by an execution that starts at the
    /// first statement, or by a thread that it starts.
    pub(super) fn read_first(&self) -> HashSet<&'a str> {
        let mut live: Vec<HashSet<&'a str>> = vec![HashSet::new(); self.statements.len()];
        let mut again = true;
        while again {
            again = false;
            for at in (0..self.statements.len()).rev() {
                let mut names = HashSet::new();
                for next in self.successors[at].iter().chain(&self.spawned[at]) {
                    names.extend(&live[*next]);
                }
                let written = written(&self.statements[at].kind);
                names.retain(|name| !written.contains(name));
                reads(&self.statements[at].kind, &mut |name| {
                    names.insert(name);
                });
                again |= names.len() > live[at].len();
                live[at] = names;
            }
        }
        live.into_iter().next().unwrap_or_default()
    }
}

fn written(kind: &StatementKind) -> HashSet<&str> {
    match kind {
        StatementKind::Assign { lhs, .. } | StatementKind::Call { lhs, .. } => {
            lhs.iter().map(|name| name.text.as_str()).collect()
        }
        StatementKind::Dead(names) => names.iter().map(|name| name.text.as_str()).collect(),
        _ => HashSet::new(),
    }
}

/// What a statement reads itself; blocks inside it are statements of their own.
fn reads<'a>(kind: &'a StatementKind, visit: &mut dyn FnMut(&'a str)) {
    let mut all = |list: &'a [Expr]| list.iter().for_each(|e| names_in(e, visit));
    match kind {
        StatementKind::Assign { rhs, constrain, .. } => {
            all(rhs);
            constrain.iter().for_each(|e| names_in(e, visit));
        }
        StatementKind::Call { args, .. } => all(args),
        StatementKind::Return(values) => all(values),
        StatementKind::If { condition, .. } | StatementKind::While { condition, .. } => {
            names_in(condition, visit);
        }
        StatementKind::Assume(e) | StatementKind::Assert(e) | StatementKind::AbortIf(e) => {
            names_in(e, visit);
        }
        // Whatever the new thread may read.
        StatementKind::StartThread(inner) => {
            let order = Order::new(std::slice::from_ref(&**inner));
            for statement in order.statements {
                reads(&statement.kind, visit);
            }
        }
        StatementKind::Skip
        | StatementKind::Comment(_)
        | StatementKind::Goto(_)
        | StatementKind::Dead(_)
        | StatementKind::EndThread
        | StatementKind::AtomicBegin
        | StatementKind::AtomicEnd => {}
    }
}

pub(super) fn names_in<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a str)) {
    match &expr.kind {
        ExprKind::Variable(name) | ExprKind::Next(name) => visit(name),
        ExprKind::Not(a) => names_in(a, visit),
        ExprKind::Binary(_, a, b) | ExprKind::Choose(a, b) => {
            names_in(a, visit);
            names_in(b, visit);
        }
        ExprKind::Bool(_) | ExprKind::Int(_) | ExprKind::Nondet => {}
    }
}
