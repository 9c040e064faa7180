//! Removes sugar: what is left is a program with a fixed number of threads, `init`, assignments,
//! calls, conditions and jumps.
//!
//! * `start_thread` becomes a flag that the new thread waits for ([`super::threads`]);
//! * `_` on the left of an assignment takes a value that is never read;
//! * `atomic_begin` and `atomic_end` set a flag of the thread;
//! * `enforce e` becomes a constraint on every assignment and a condition on entry and after calls;
//! * initial values of declarations move into `init`, those of thread variables into the threads.

use super::slots::Slots;
use crate::diagnostic::{Diagnostic, Lines};
use crate::syntax::Dialect;
use crate::syntax::ast::*;
use std::collections::{HashMap, HashSet};

/// A program without sugar, and the functions its threads run.
pub(super) struct Elaborated {
    pub(super) module: Module,
    pub(super) threads: Vec<(String, String)>,
    /// The flag of atomic sections, if there are any.
    pub(super) atomic: Option<String>,
    /// Some `start_thread` may run more than once; so many of these threads were made.
    pub(super) instances: Option<usize>,
}

/// `instances` says how many threads are made for the `start_thread`s that may run more than once.
pub(super) fn elaborate(
    module: Module,
    dialect: Dialect,
    instances: usize,
    lines: &Lines,
) -> Result<Elaborated, Vec<Diagnostic>> {
    let mut work = Elaboration {
        taken: HashSet::new(),
        module,
        lines,
        errors: Vec::new(),
        threads: Vec::new(),
        init: Vec::new(),
        atomic: None,
        slots: Slots::default(),
        instances,
        threads_are_unbounded: false,
    };
    work.collect_names();
    work.find_threads(dialect);
    work.start_threads();
    work.mark_atomic_sections();
    work.move_initial_values();
    work.simplify();
    if work.errors.is_empty() {
        let instances = work.threads_are_unbounded.then_some(work.instances);
        let Elaboration { module, threads, atomic, .. } = work;
        Ok(Elaborated { module, threads, atomic, instances })
    } else {
        Err(work.errors)
    }
}

pub(super) struct Elaboration<'a> {
    taken: HashSet<String>,
    pub(super) module: Module,
    pub(super) lines: &'a Lines,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) threads: Vec<(String, String)>,
    /// What `init` does first.
    pub(super) init: Vec<Statement>,
    atomic: Option<String>,
    pub(super) slots: Slots,
    pub(super) instances: usize,
    pub(super) threads_are_unbounded: bool,
}

/// A name that nothing has yet.
fn fresh(taken: &mut HashSet<String>, wanted: &str) -> String {
    let mut name = wanted.to_string();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{wanted}_{number}");
        number += 1;
    }
    name
}

pub(super) fn assign(lhs: Vec<Name>, rhs: Vec<Expr>) -> StatementKind {
    StatementKind::Assign { lhs, rhs, constrain: None }
}

impl Elaboration<'_> {
    fn collect_names(&mut self) {
        for function in &self.module.functions {
            self.taken.insert(function.name.text.clone());
            self.taken.extend(function.params.iter().map(|(n, _)| n.text.clone()));
            for declaration in &function.locals {
                self.taken.extend(declaration.names.iter().map(|(n, _)| n.text.clone()));
            }
        }
        for declaration in &self.module.globals {
            self.taken.extend(declaration.names.iter().map(|(n, _)| n.text.clone()));
        }
    }

    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        fresh(&mut self.taken, wanted)
    }

    fn find_threads(&mut self, dialect: Dialect) {
        let main = self.module.functions.iter().any(|f| f.name.text == "main");
        for function in &mut self.module.functions {
            let name = &function.name.text;
            // `thread1`, `thread_2`, … are the threads of a program without `main`.
            let by_name = dialect == Dialect::Slam && !main && {
                let rest = name.strip_prefix("thread_").or_else(|| name.strip_prefix("thread"));
                rest.is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()))
            };
            let count = match function.thread.take() {
                Some(count) => count,
                None if by_name => 1,
                None => continue,
            };
            for number in 1..=count {
                let shown = if count == 1 { name.clone() } else { format!("{name}_{number}") };
                self.threads.push((shown, name.clone()));
            }
        }
        if self.threads.is_empty() && main {
            self.threads.push(("main".into(), "main".into()));
        }
        if self.threads.is_empty() {
            let message = "nothing to run: there is no thread and no function `main`";
            let error = self.lines.error("B0013", &(0..0), message);
            self.errors.push(error.note("write `thread name() begin … end`"));
        } else if self.threads.len() > 1
            && !self.module.functions.iter().any(|f| f.name.text == "init")
            && self
                .module
                .globals
                .iter()
                .any(|d| !d.private && d.names.iter().any(|n| n.1.is_none()))
        {
            let message =
                "a concurrent program needs a function `init` that sets its shared variables";
            let note = "write `void init() begin … end`, or give each declaration a value";
            let error = self.lines.error("B0012", &(0..0), message);
            self.errors.push(error.note(note));
        }
        for (_, name) in &self.threads {
            let Some(f) = self.module.functions.iter().find(|f| f.name.text == *name) else {
                continue;
            };
            if !f.params.is_empty() {
                let message = format!("`{name}` runs as a thread, so it cannot have parameters");
                self.errors.push(self.lines.error("B0018", &f.name.span, message));
            }
        }
        self.errors.dedup();
    }

    fn mark_atomic_sections(&mut self) {
        let mut used = false;
        for function in &self.module.functions {
            function.each_statement(&mut |s| {
                used |= matches!(s.kind, StatementKind::AtomicBegin | StatementKind::AtomicEnd);
            });
        }
        if !used {
            return;
        }
        let flag = self.fresh("in_atomic_section");
        self.atomic = Some(flag.clone());
        let mut declaration = Declaration::made(Type::Bool, [flag]);
        declaration.private = true;
        declaration.names[0].1 = Some(Expr::truth(false));
        self.module.globals.push(declaration);
    }

    fn move_initial_values(&mut self) {
        let mut start = Vec::new();
        for declaration in &mut self.module.globals {
            for (name, value) in &mut declaration.names {
                let Some(value) = value.take() else { continue };
                let span = name.span.clone();
                let kind = assign(vec![name.clone()], vec![value]);
                let statement = Statement { labels: Vec::new(), kind, span };
                if declaration.private { start.push(statement) } else { self.init.push(statement) }
            }
        }
        if !self.init.is_empty() {
            let first = std::mem::take(&mut self.init);
            match self.module.functions.iter_mut().find(|f| f.name.text == "init") {
                Some(init) => {
                    init.body.splice(0..0, first);
                }
                None => self.module.functions.push(FunctionDef::made("init", first)),
            }
        }
        if start.is_empty() {
            return;
        }
        // A thread's function may call itself; the values are set before its first activation.
        let mut wrapped: Vec<(String, String)> = Vec::new();
        for at in 0..self.threads.len() {
            let function = self.threads[at].1.clone();
            let wrapper = match wrapped.iter().find(|(inner, _)| *inner == function) {
                Some((_, wrapper)) => wrapper.clone(),
                None => {
                    let wrapper = self.fresh(&format!("begin_{}", plain(&function)));
                    let mut body = start.clone();
                    body.push(Statement::made(StatementKind::Call {
                        lhs: Vec::new(),
                        function: Name::made(&function),
                        args: Vec::new(),
                    }));
                    self.module.functions.push(FunctionDef::made(&wrapper, body));
                    wrapped.push((function, wrapper.clone()));
                    wrapper
                }
            };
            self.threads[at].1 = wrapper;
        }
    }

    fn simplify(&mut self) {
        let functions = &self.module.functions;
        let returns = functions.iter().map(|f| (f.name.text.clone(), f.returns.clone())).collect();
        let mut ignored: HashMap<(usize, Type), String> = HashMap::new();
        for at in 0..self.module.functions.len() {
            let function = &mut self.module.functions[at];
            let enforce = function.enforce.take();
            let mut body = std::mem::take(&mut function.body);
            let mut first = Vec::new();
            for (name, value) in function.locals.iter_mut().flat_map(|d| &mut d.names) {
                if let Some(value) = value.take() {
                    let kind = assign(vec![name.clone()], vec![value]);
                    first.push(Statement { labels: Vec::new(), kind, span: name.span.clone() });
                }
            }
            body.splice(0..0, first);
            if let Some(condition) = &enforce {
                let kind = StatementKind::Assume(condition.clone());
                let span = condition.span.clone();
                body.insert(0, Statement { labels: Vec::new(), kind, span });
            }
            let underscore = !self.taken.contains("_");
            let mut used = Vec::new();
            let mut ignore = |place: usize, ty: Type| {
                let wanted = format!("ignored_{place}");
                let fresh = || fresh(&mut self.taken, &wanted);
                let name = ignored.entry((place, ty)).or_insert_with(fresh).clone();
                if !used.contains(&(name.clone(), ty)) {
                    used.push((name.clone(), ty));
                }
                Name::made(name)
            };
            Simplify {
                enforce: enforce.as_ref(),
                atomic: self.atomic.as_deref().unwrap_or_default(),
                returns: &returns,
                underscore,
                ignore: &mut ignore,
            }
            .block(&mut body);
            let function = &mut self.module.functions[at];
            function.body = body;
            function.locals.extend(used.into_iter().map(|(n, ty)| Declaration::made(ty, [n])));
        }
    }
}

/// Removes what is left of the sugar inside one function.
struct Simplify<'a> {
    enforce: Option<&'a Expr>,
    atomic: &'a str,
    /// What each function returns.
    returns: &'a HashMap<String, Vec<Type>>,
    /// `_` is no variable.
    underscore: bool,
    /// A variable for a result that is not wanted, by its place and type.
    ignore: &'a mut dyn FnMut(usize, Type) -> Name,
}

impl Simplify<'_> {
    fn block(&mut self, body: &mut Vec<Statement>) {
        let mut at = 0;
        while at < body.len() {
            let span = body[at].span.clone();
            let kind = std::mem::replace(&mut body[at].kind, StatementKind::Skip);
            let mut after = None;
            body[at].kind = match kind {
                StatementKind::Assign { lhs, rhs, constrain } => {
                    self.assignment(lhs, rhs, constrain)
                }
                StatementKind::Dead(names) => {
                    let rhs = names.iter().map(|_| Expr::any()).collect();
                    self.assignment(names, rhs, None)
                }
                StatementKind::Call { mut lhs, function, args } => {
                    let types = self.returns.get(&function.text);
                    for (place, name) in lhs.iter_mut().enumerate() {
                        let ty = types.and_then(|types| types.get(place)).copied();
                        if self.underscore && name.text == "_" {
                            *name = (self.ignore)(place, ty.unwrap_or(Type::Bool));
                        }
                    }
                    after = self.enforce.map(|e| StatementKind::Assume(e.clone()));
                    let args = args.into_iter().map(without_choice).collect();
                    StatementKind::Call { lhs, function, args }
                }
                StatementKind::Return(values) => {
                    StatementKind::Return(values.into_iter().map(without_choice).collect())
                }
                StatementKind::Assume(e) => StatementKind::Assume(without_choice(e)),
                StatementKind::Assert(e) => StatementKind::Assert(without_choice(e)),
                StatementKind::AbortIf(e) => StatementKind::Assume(without_choice(e).not()),
                StatementKind::EndThread => StatementKind::Assume(Expr::truth(false)),
                StatementKind::AtomicBegin => {
                    assign(vec![Name::made(self.atomic)], vec![Expr::truth(true)])
                }
                StatementKind::AtomicEnd => {
                    assign(vec![Name::made(self.atomic)], vec![Expr::truth(false)])
                }
                StatementKind::If { condition, mut then, mut otherwise } => {
                    self.block(&mut then);
                    self.block(&mut otherwise);
                    StatementKind::If { condition: without_choice(condition), then, otherwise }
                }
                StatementKind::While { condition, mut body } => {
                    self.block(&mut body);
                    StatementKind::While { condition: without_choice(condition), body }
                }
                other => other,
            };
            at += 1;
            if let Some(kind) = after {
                body.insert(at, Statement { labels: Vec::new(), kind, span });
                at += 1;
            }
        }
    }

    fn assignment(&self, lhs: Vec<Name>, rhs: Vec<Expr>, constrain: Option<Expr>) -> StatementKind {
        let mut rhs: Vec<Expr> = rhs.into_iter().map(without_choice).collect();
        let mut lhs = lhs;
        if self.underscore && lhs.len() == rhs.len() && lhs.iter().any(|name| name.text == "_") {
            let pairs = lhs.into_iter().zip(rhs).filter(|(name, _)| name.text != "_");
            (lhs, rhs) = pairs.unzip();
        }
        let enforced = self.enforce.map(|e| next_values(e, &lhs));
        let constrain = match (constrain.map(without_choice), enforced) {
            (Some(a), Some(b)) => Some(Expr::binary(Operator::And, a, b)),
            (a, b) => a.or(b),
        };
        if lhs.is_empty() {
            return StatementKind::Assume(constrain.unwrap_or_else(|| Expr::truth(true)));
        }
        StatementKind::Assign { lhs, rhs, constrain }
    }
}

/// `schoose[p, n]` as `p | (!n & *)`.
fn without_choice(expr: Expr) -> Expr {
    let span = expr.span.clone();
    let kind = match expr.kind {
        ExprKind::Choose(positive, negative) => {
            let positive = without_choice(*positive);
            let free = Expr::binary(Operator::And, without_choice(*negative).not(), Expr::any());
            Expr::binary(Operator::Or, positive, free).kind
        }
        ExprKind::Not(inner) => ExprKind::Not(Box::new(without_choice(*inner))),
        ExprKind::Binary(operator, left, right) => ExprKind::Binary(
            operator,
            Box::new(without_choice(*left)),
            Box::new(without_choice(*right)),
        ),
        other => other,
    };
    Expr { kind, span }
}

/// The expression about the values after assigning `changed`.
fn next_values(expr: &Expr, changed: &[Name]) -> Expr {
    let kind = match &expr.kind {
        ExprKind::Variable(name) if changed.iter().any(|c| c.text == *name) => {
            ExprKind::Next(name.clone())
        }
        ExprKind::Not(inner) => ExprKind::Not(Box::new(next_values(inner, changed))),
        ExprKind::Binary(operator, a, b) => ExprKind::Binary(
            *operator,
            Box::new(next_values(a, changed)),
            Box::new(next_values(b, changed)),
        ),
        ExprKind::Choose(a, b) => {
            return next_values(
                &without_choice(Expr {
                    kind: ExprKind::Choose(a.clone(), b.clone()),
                    span: expr.span.clone(),
                }),
                changed,
            );
        }
        other => other.clone(),
    };
    Expr { kind, span: expr.span.clone() }
}

/// A name without the characters that only a dialect or braces allow.
pub(super) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
