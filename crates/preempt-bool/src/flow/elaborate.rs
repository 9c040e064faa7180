//! Removes sugar: what is left is a program with a fixed number of threads, `init`, assignments,
//! calls, conditions and jumps.
//!
//! * `start_thread` becomes a flag (and copies of the arguments) that the new thread waits for;
//! * `atomic_begin` and `atomic_end` set a flag of the thread;
//! * `enforce e` becomes a constraint on every assignment and a condition on entry and after calls;
//! * initial values of declarations move into `init`, those of thread variables into the threads.

use crate::diagnostic::{Diagnostic, Lines};
use crate::syntax::Dialect;
use crate::syntax::ast::*;
use std::collections::HashSet;

/// The name of the flag of atomic sections.
pub(super) const ATOMIC_FLAG: &str = "in_atomic_section";

/// A program without sugar, and the functions its threads run.
pub(super) struct Elaborated {
    pub(super) module: Module,
    pub(super) threads: Vec<(String, String)>,
}

pub(super) fn elaborate(
    module: Module,
    dialect: Dialect,
    lines: &Lines,
) -> Result<Elaborated, Vec<Diagnostic>> {
    let mut work = Elaboration {
        taken: HashSet::new(),
        module,
        lines,
        errors: Vec::new(),
        threads: Vec::new(),
        init: Vec::new(),
    };
    work.collect_names();
    work.find_threads(dialect);
    work.start_threads();
    work.mark_atomic_sections();
    work.move_initial_values();
    work.simplify();
    if work.errors.is_empty() {
        Ok(Elaborated { module: work.module, threads: work.threads })
    } else {
        Err(work.errors)
    }
}

struct Elaboration<'a> {
    taken: HashSet<String>,
    module: Module,
    lines: &'a Lines,
    errors: Vec<Diagnostic>,
    threads: Vec<(String, String)>,
    /// What `init` does first.
    init: Vec<Statement>,
}

fn assign(lhs: Vec<Name>, rhs: Vec<Expr>) -> StatementKind {
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

    fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        name
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

    /// Each place that starts a thread becomes a thread that waits for its flag.
    fn start_threads(&mut self) {
        let mut at = 0;
        // Functions made for `start_thread goto` may start threads themselves: the list grows.
        while at < self.module.functions.len() && at < 2000 {
            let mut function = self.module.functions[at].clone();
            let mut starts = Vec::new();
            let mut position = 0;
            replace_starts(&mut function.body, false, &mut position, &mut starts);
            if !starts.is_empty() {
                let once = self.runs_once(&function);
                let jumps = backward_jumps(&function);
                for start in &mut starts {
                    let looped = start.looped
                        || jumps.iter().any(|(to, from)| (*to..=*from).contains(&start.position));
                    if looped || !once {
                        let message = "this may start more than one thread";
                        let error = self.lines.error("B0014", &start.span, message).note(
                            "the number of threads must be fixed: start each thread at one place \
                             that runs once",
                        );
                        self.errors.push(error);
                    }
                    self.make_thread(start, &function);
                }
                let mut position = 0;
                put_starts(&mut function.body, &mut position, &starts);
                self.module.functions[at] = function;
            }
            at += 1;
        }
    }

    /// Whether a function runs at most once: a thread of its own, or called from one such place.
    fn runs_once(&self, function: &FunctionDef) -> bool {
        let mut name = function.name.text.clone();
        for _ in 0..=self.module.functions.len() {
            let as_thread = self.threads.iter().filter(|(_, f)| *f == name).count();
            let mut callers = Vec::new();
            for caller in &self.module.functions {
                let looped = !backward_jumps(caller).is_empty();
                let mut in_loop = HashSet::new();
                caller.each_statement(&mut |s| {
                    if let StatementKind::While { body, .. } = &s.kind {
                        let probe = FunctionDef::made("", body.clone());
                        probe.each_statement(&mut |s| {
                            in_loop.insert(s.span.clone());
                        });
                    }
                });
                caller.each_statement(&mut |s| {
                    if let StatementKind::Call { function, .. } = &s.kind
                        && function.text == name
                    {
                        callers
                            .push((caller.name.text.clone(), looped || in_loop.contains(&s.span)));
                    }
                });
            }
            match (as_thread, callers.as_slice()) {
                (0, []) | (1, []) => return true,
                (0, [(caller, false)]) => name = caller.clone(),
                _ => return false,
            }
        }
        false
    }

    fn make_thread(&mut self, start: &mut Start, parent: &FunctionDef) {
        let (callee, args) = match &start.what {
            StatementKind::StartThread { function, args } => (function.clone(), args.clone()),
            StatementKind::StartThreadAt(label) => match self.split_at(parent, label) {
                Some(name) => {
                    let frame = frame_of(parent);
                    let args = frame.iter().map(|(n, _)| Expr::variable(&n.text)).collect();
                    (Name { text: name, span: label.span.clone() }, args)
                }
                None => return,
            },
            _ => return,
        };
        let Some(target) = self.module.functions.iter().find(|f| f.name.text == callee.text) else {
            let message = format!("there is no function `{}`", callee.text);
            self.errors.push(self.lines.error("B0007", &callee.span, message));
            return;
        };
        if target.params.len() != args.len() {
            let message = format!(
                "`{}` takes {} arguments, here are {}",
                callee.text,
                target.params.len(),
                args.len()
            );
            self.errors.push(self.lines.error("B0008", &start.span, message));
            return;
        }
        let params = target.params.clone();
        let flag = self.fresh(&format!("started_{}", plain(&callee.text)));
        self.module.globals.push(Declaration::made(Type::Bool, [flag.clone()]));
        let mut lhs = vec![Name::made(&flag)];
        let mut rhs = vec![Expr::truth(true)];
        let mut passed = Vec::new();
        self.init.push(Statement::made(assign(vec![Name::made(&flag)], vec![Expr::truth(false)])));
        for ((param, ty), arg) in params.iter().zip(args) {
            let slot = self.fresh(&format!("{flag}_{}", plain(&param.text)));
            self.module.globals.push(Declaration::made(*ty, [slot.clone()]));
            self.init.push(Statement::made(assign(vec![Name::made(&slot)], vec![Expr::number(0)])));
            lhs.push(Name::made(&slot));
            rhs.push(arg);
            passed.push(Expr::variable(&slot));
        }
        let thread = self.fresh(&format!("run_{}", plain(&callee.text)));
        let at = start.span.clone();
        let wait = Statement {
            labels: Vec::new(),
            kind: StatementKind::Assume(Expr::variable(&flag)),
            span: at.clone(),
        };
        let call = Statement {
            labels: Vec::new(),
            kind: StatementKind::Call { lhs: Vec::new(), function: callee.clone(), args: passed },
            span: at.clone(),
        };
        let mut wrapper = FunctionDef::made(&thread, vec![wait, call]);
        wrapper.end = at;
        self.module.functions.push(wrapper);
        self.threads.push((callee.text.clone(), thread));
        start.replacement = Some(assign(lhs, rhs));
    }

    /// A function that runs what stands behind `label`, with the locals as parameters.
    fn split_at(&mut self, parent: &FunctionDef, label: &Name) -> Option<String> {
        let has = |s: &Statement, name: &str| s.labels.iter().any(|l| l.text == name);
        let Some(at) = parent.body.iter().position(|s| has(s, &label.text)) else {
            let message = format!(
                "a thread can only start at a label outside `if` and `while`; `{}` is not one",
                label.text
            );
            self.errors.push(self.lines.error("B0010", &label.span, message));
            return None;
        };
        let name = self.fresh(&format!("{}_at_{}", plain(&parent.name.text), plain(&label.text)));
        let mut part = FunctionDef::made(&name, parent.body[at..].to_vec());
        let mut inside = HashSet::new();
        let mut wanted = Vec::new();
        part.each_statement(&mut |s| {
            inside.extend(s.labels.iter().map(|l| l.text.clone()));
            if let StatementKind::Goto(targets) = &s.kind {
                wanted.extend(targets.iter().cloned());
            }
        });
        for jump in wanted.iter().filter(|jump| !inside.contains(&jump.text)) {
            let message =
                format!("a thread that starts at `{}` cannot jump back before it", label.text);
            self.errors.push(self.lines.error("B0010", &jump.span, message));
        }
        part.params = frame_of(parent);
        part.returns = parent.returns.clone();
        part.end = parent.end.clone();
        self.module.functions.push(part);
        Some(name)
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
        let mut declaration = Declaration::made(Type::Bool, [ATOMIC_FLAG.to_string()]);
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
        for function in &mut self.module.functions {
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
            simplify_block(&mut body, enforce.as_ref());
            function.body = body;
        }
    }
}

fn simplify_block(body: &mut Vec<Statement>, enforce: Option<&Expr>) {
    let mut at = 0;
    while at < body.len() {
        let span = body[at].span.clone();
        let kind = std::mem::replace(&mut body[at].kind, StatementKind::Skip);
        let mut after = None;
        body[at].kind = match kind {
            StatementKind::Assign { lhs, rhs, constrain } => {
                let rhs = rhs.into_iter().map(without_choice).collect();
                let enforced = enforce.map(|e| next_values(e, &lhs));
                let constrain = match (constrain.map(without_choice), enforced) {
                    (Some(a), Some(b)) => Some(Expr::binary(Operator::And, a, b)),
                    (a, b) => a.or(b),
                };
                StatementKind::Assign { lhs, rhs, constrain }
            }
            StatementKind::Dead(names) => {
                let rhs = names.iter().map(|_| Expr::any()).collect();
                let constrain = enforce.map(|e| next_values(e, &names));
                StatementKind::Assign { lhs: names, rhs, constrain }
            }
            StatementKind::Call { lhs, function, args } => {
                after = enforce.map(|e| StatementKind::Assume(e.clone()));
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
                assign(vec![Name::made(ATOMIC_FLAG)], vec![Expr::truth(true)])
            }
            StatementKind::AtomicEnd => {
                assign(vec![Name::made(ATOMIC_FLAG)], vec![Expr::truth(false)])
            }
            StatementKind::If { condition, mut then, mut otherwise } => {
                simplify_block(&mut then, enforce);
                simplify_block(&mut otherwise, enforce);
                StatementKind::If { condition: without_choice(condition), then, otherwise }
            }
            StatementKind::While { condition, mut body } => {
                simplify_block(&mut body, enforce);
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

/// One `start_thread`, found at `position` in the order of the text.
struct Start {
    position: usize,
    looped: bool,
    span: Span,
    what: StatementKind,
    replacement: Option<StatementKind>,
}

fn replace_starts(
    body: &mut [Statement],
    looped: bool,
    position: &mut usize,
    out: &mut Vec<Start>,
) {
    for statement in body {
        *position += 1;
        let span = statement.span.clone();
        match &mut statement.kind {
            StatementKind::StartThread { .. } | StatementKind::StartThreadAt(_) => {
                let what = statement.kind.clone();
                out.push(Start { position: *position, looped, span, what, replacement: None });
            }
            StatementKind::If { then, otherwise, .. } => {
                replace_starts(then, looped, position, out);
                replace_starts(otherwise, looped, position, out);
            }
            StatementKind::While { body, .. } => replace_starts(body, true, position, out),
            _ => {}
        }
    }
}

fn put_starts(body: &mut [Statement], position: &mut usize, starts: &[Start]) {
    for statement in body {
        *position += 1;
        if let Some(start) = starts.iter().find(|s| s.position == *position) {
            statement.kind = start.replacement.clone().unwrap_or(StatementKind::Skip);
        }
        match &mut statement.kind {
            StatementKind::If { then, otherwise, .. } => {
                put_starts(then, position, starts);
                put_starts(otherwise, position, starts);
            }
            StatementKind::While { body, .. } => put_starts(body, position, starts),
            _ => {}
        }
    }
}

/// Jumps to an earlier statement: positions of the label and of the jump.
fn backward_jumps(function: &FunctionDef) -> Vec<(usize, usize)> {
    let mut labels = Vec::new();
    let mut jumps = Vec::new();
    let mut position = 0;
    function.each_statement(&mut |s| {
        position += 1;
        labels.extend(s.labels.iter().map(|l| (l.text.clone(), position)));
        if let StatementKind::Goto(targets) = &s.kind {
            jumps.extend(targets.iter().map(|t| (t.text.clone(), position)));
        }
    });
    jumps
        .iter()
        .filter_map(|(name, from)| {
            let to = labels.iter().find(|(label, _)| label == name)?.1;
            (to <= *from).then_some((to, *from))
        })
        .collect()
}

fn frame_of(function: &FunctionDef) -> Vec<(Name, Type)> {
    let mut frame = function.params.clone();
    for declaration in &function.locals {
        frame.extend(declaration.names.iter().map(|(name, _)| (name.clone(), declaration.ty)));
    }
    frame
}

/// A name without the characters that only a dialect or braces allow.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
