//! What both translations share: names, copies of the shared variables, and the control code that
//! is put behind every statement at which an interruption can make a difference.
//!
//! Paper: [LMP09] Fig. 3.
//! Differs from the paper: control code only where shared data is touched; arguments that read
//! shared data are evaluated before the call, in a step of their own; results for shared variables
//! arrive in a local one, because a call that was cut short returns anything; a thread that ends
//! is stopped by its caller (`assume(terminate)`), so that its function may also call itself.

use crate::flow::Program;
use crate::syntax::ast::*;
use std::collections::{HashMap, HashSet};

pub(super) struct Translation<'p> {
    pub(super) program: &'p Program,
    pub(super) switches: usize,
    taken: HashSet<String>,
    /// Shared variables with their types, in the program's order.
    pub(super) shared: Vec<(String, Type)>,
    /// `copies[i][v]`: variable v at switch i + 1.
    pub(super) copies: Vec<Vec<String>>,
    pub(super) private: Vec<(String, Type)>,
    atomic: Option<String>,
    pub(super) terminate: String,
    pub(super) context_switch: String,
    pub(super) init: Option<String>,
    /// The functions that run before the threads.
    pub(super) plain: Vec<String>,
    pub(super) cx: String,
    /// The thread that runs in each context, counted from 1; 0 is none.
    pub(super) schedule: Vec<String>,
    /// The functions of the program by their names.
    ids: HashMap<String, usize>,
    /// New names of functions whose names mean something to the sequential program.
    renamed: HashMap<String, String>,
    /// Inserted where the target is reached, if the translation needs it.
    pub(super) at_target: Vec<Statement>,
    /// Labels that get another name.
    pub(super) renamed_labels: HashMap<String, String>,
}

pub(super) fn stmt(kind: StatementKind) -> Statement {
    Statement::made(kind)
}

pub(super) fn set(names: &[String], values: Vec<Expr>) -> Statement {
    let lhs = names.iter().map(Name::made).collect();
    stmt(StatementKind::Assign { lhs, rhs: values, constrain: None })
}

pub(super) fn note(text: impl Into<String>) -> Statement {
    stmt(StatementKind::Comment(text.into()))
}

pub(super) fn assume(condition: Expr) -> Statement {
    stmt(StatementKind::Assume(condition))
}

pub(super) fn call(function: &str) -> Statement {
    let function = Name::made(function);
    stmt(StatementKind::Call { lhs: Vec::new(), function, args: Vec::new() })
}

/// `if … elsif … else … fi`.
pub(super) fn cases(
    list: Vec<(Expr, Vec<Statement>)>,
    otherwise: Vec<Statement>,
) -> Vec<Statement> {
    list.into_iter().rev().fold(otherwise, |otherwise, (condition, then)| {
        vec![stmt(StatementKind::If { condition, then, otherwise })]
    })
}

pub(super) fn equal(name: &str, value: Expr) -> Expr {
    Expr::binary(Operator::Equal, Expr::variable(name), value)
}

pub(super) fn is(name: &str, value: usize) -> Expr {
    equal(name, Expr::number(value as u64))
}

pub(super) fn zero(ty: Type) -> Expr {
    match ty {
        Type::Bool => Expr::truth(false),
        Type::Int(_) => Expr::number(0),
    }
}

fn ty(program: &Program, v: usize) -> Type {
    let variable = &program.variables[v];
    if variable.is_bool { Type::Bool } else { Type::Int(variable.width) }
}

/// As many bits as the value needs.
pub(super) fn bits_for(value: usize) -> u8 {
    (usize::BITS - value.leading_zeros()).max(1) as u8
}

impl<'p> Translation<'p> {
    pub(super) fn new(program: &'p Program, switches: usize) -> Self {
        let mut taken: HashSet<String> = program.variables.iter().map(|v| v.name.clone()).collect();
        taken.extend(program.functions.iter().map(|f| f.name.clone()));
        taken.insert("main".into());
        let typed = |list: &[usize]| -> Vec<(String, Type)> {
            list.iter().map(|v| (program.variables[*v].name.clone(), ty(program, *v))).collect()
        };
        let mut this = Translation {
            program,
            switches,
            taken,
            shared: typed(&program.shared),
            copies: Vec::new(),
            private: typed(&program.private),
            atomic: program.atomic.map(|v| program.variables[v].name.clone()),
            terminate: String::new(),
            context_switch: String::new(),
            init: None,
            plain: Vec::new(),
            cx: String::new(),
            schedule: Vec::new(),
            ids: program.functions.iter().map(|f| f.name.clone()).zip(0..).collect(),
            renamed: HashMap::new(),
            at_target: Vec::new(),
            renamed_labels: HashMap::new(),
        };
        for special in ["main", "init"] {
            let new = this.fresh(&format!("old_{special}"));
            this.renamed.insert(special.into(), new);
        }
        this.terminate = this.fresh("terminate");
        this.context_switch = this.fresh("contextSwitch");
        this.cx = this.fresh("cx");
        this.init = program.init.map(|_| this.fresh("initialise"));
        this.schedule = (0..=switches).map(|i| this.fresh(&format!("t_{i}"))).collect();
        for i in 1..=switches {
            let names: Vec<String> = this.shared.iter().map(|(n, _)| n.clone()).collect();
            let copies = names.iter().map(|n| this.fresh(&copy_name(n, i))).collect();
            this.copies.push(copies);
        }
        this
    }

    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        while !self.taken.insert(name.clone()) {
            name = match name.strip_suffix('}') {
                Some(inner) => format!("{inner} '}}"),
                None => name + "_",
            };
        }
        name
    }

    /// The name of a function of the threads: their `main` makes room for the new one, and their
    /// `init`, which a thread may call, must not run first.
    fn name_of<'n>(&'n self, function: &'n str) -> &'n str {
        self.renamed.get(function).map_or(function, String::as_str)
    }

    pub(super) fn shared_names(&self) -> Vec<String> {
        self.shared.iter().map(|(n, _)| n.clone()).collect()
    }

    /// The shared variables have the values they have at switch `i`.
    pub(super) fn matches(&self, i: usize) -> Expr {
        let pairs = self.shared.iter().zip(&self.copies[i - 1]);
        Expr::all(pairs.map(|((name, _), copy)| equal(name, Expr::variable(copy))))
    }

    /// Extra variables to assign, then the shared variables from the copies of switch `i`.
    pub(super) fn load(&self, i: usize, extra: &[(&str, Expr)]) -> Statement {
        let mut names: Vec<String> = extra.iter().map(|(n, _)| n.to_string()).collect();
        let mut values: Vec<Expr> = extra.iter().map(|(_, e)| e.clone()).collect();
        names.extend(self.shared_names());
        values.extend(self.copies[i - 1].iter().map(|c| Expr::variable(c)));
        set(&names, values)
    }

    pub(super) fn clear(&self, list: &[(String, Type)]) -> Vec<Statement> {
        if list.is_empty() {
            return Vec::new();
        }
        let names: Vec<String> = list.iter().map(|(n, _)| n.clone()).collect();
        vec![set(&names, list.iter().map(|(_, ty)| zero(*ty)).collect())]
    }

    /// The variables of the thread that is about to start, which may have any value.
    pub(super) fn forget_private(&self) -> Vec<Statement> {
        if self.private.is_empty() {
            return Vec::new();
        }
        let names: Vec<String> = self.private.iter().map(|(n, _)| n.clone()).collect();
        vec![set(&names, names.iter().map(|_| Expr::any()).collect())]
    }

    /// Calls the function of thread `t_c`, and goes on only if it was cut at a switch.
    pub(super) fn run_thread(&self, thread: usize) -> Vec<Statement> {
        let function = &self.program.functions[self.program.threads[thread].function].name;
        vec![call(self.name_of(function)), assume(Expr::variable(&self.terminate))]
    }

    /// One declaration per shared variable, with its copies: they are compared with each other.
    pub(super) fn shared_declarations(&self) -> Vec<Declaration> {
        let mut list = Vec::new();
        for (v, (name, ty)) in self.shared.iter().enumerate() {
            let copies = self.copies.iter().map(|c| c[v].clone());
            list.push(Declaration::made(*ty, std::iter::once(name.clone()).chain(copies)));
        }
        if let Some(first) = list.first_mut() {
            first.comment = "shared variables, each with its values at the switches".into();
        }
        for (name, ty) in &self.private {
            list.push(Declaration::made(*ty, [name.clone()]));
        }
        list
    }

    /// Of identical threads, one may only run after the one before it has.
    pub(super) fn in_order(&self, context: usize) -> Vec<Expr> {
        let mut conditions = Vec::new();
        for thread in 0..self.program.threads.len() {
            let class = self.program.class_of(thread);
            let before = (class..thread).rev().find(|t| self.program.class_of(*t) == class);
            let Some(before) = before else { continue };
            let earlier = (0..context).map(|i| is(&self.schedule[i], before + 1));
            let ran = earlier
                .reduce(|a, b| Expr::binary(Operator::Or, a, b))
                .unwrap_or_else(|| Expr::truth(false));
            let not_this = is(&self.schedule[context], thread + 1).not();
            conditions.push(Expr::binary(Operator::Or, not_this, ran));
        }
        conditions
    }

    /// The functions of the threads with control code, and those of `init` without.
    pub(super) fn functions(&mut self) -> Vec<FunctionDef> {
        let program = self.program;
        let mut threaded = vec![false; program.functions.len()];
        for thread in &program.threads {
            threaded[thread.function] = true;
            program.calls_from(thread.function).into_iter().for_each(|f| threaded[f] = true);
        }
        let mut list = Vec::new();
        for (id, _) in threaded.iter().enumerate().filter(|(_, is)| **is) {
            list.push(self.function(id));
        }
        let Some(init) = program.init else { return list };
        let mut plain = vec![init];
        plain.extend(program.calls_from(init));
        plain.sort_unstable();
        plain.dedup();
        let mut names = HashMap::new();
        for id in &plain {
            let name = &program.functions[*id].name;
            let new = match &self.init {
                Some(new) if *id == init => new.clone(),
                _ => self.fresh(&format!("{name}_plain")),
            };
            names.insert(name.clone(), new);
        }
        self.plain = names.values().cloned().collect();
        for id in plain {
            let mut copy = program.module.functions[id].clone();
            copy.name = Name::made(&names[&copy.name.text]);
            rename_calls(&mut copy.body, &names);
            list.push(copy);
        }
        list
    }

    fn function(&mut self, id: usize) -> FunctionDef {
        let mut function = self.program.module.functions[id].clone();
        let mut scope = Scope { id, temporaries: Vec::new() };
        let body = std::mem::take(&mut function.body);
        function.body = self.block(&body, &mut scope);
        function.locals.extend(scope.temporaries);
        function.name = Name::made(self.name_of(&function.name.text));
        function
    }

    fn control(&self) -> Statement {
        let mut condition = Expr::any();
        if let Some(flag) = &self.atomic {
            condition = Expr::binary(Operator::And, Expr::variable(flag).not(), condition);
        }
        let then = vec![call(&self.context_switch), self.unwind()];
        stmt(StatementKind::If { condition, then, otherwise: Vec::new() })
    }

    /// `if (terminate) then return; fi`.
    fn unwind(&self) -> Statement {
        let condition = Expr::variable(&self.terminate);
        let then = vec![stmt(StatementKind::Return(Vec::new()))];
        stmt(StatementKind::If { condition, then, otherwise: Vec::new() })
    }

    fn block(&mut self, body: &[Statement], scope: &mut Scope) -> Vec<Statement> {
        let mut out = Vec::new();
        for statement in body {
            let at = out.len();
            self.statement(&statement.kind, scope, &mut out);
            let is_target =
                statement.labels.iter().any(|l| self.renamed_labels.contains_key(&l.text));
            if is_target && !self.at_target.is_empty() {
                out.splice(at..at, self.at_target.clone());
            }
            if out.len() == at {
                out.push(stmt(StatementKind::Skip));
            }
            out[at].labels = statement.labels.iter().map(|l| self.label(l)).collect();
        }
        out
    }

    fn label(&self, label: &Name) -> Name {
        match self.renamed_labels.get(&label.text) {
            Some(new) => Name::made(new),
            None => label.clone(),
        }
    }

    fn reads_shared(&self, expr: &Expr, scope: &Scope) -> bool {
        match &expr.kind {
            ExprKind::Variable(name) | ExprKind::Next(name) => self.is_shared(name, scope),
            ExprKind::Not(a) => self.reads_shared(a, scope),
            ExprKind::Binary(_, a, b) | ExprKind::Choose(a, b) => {
                self.reads_shared(a, scope) || self.reads_shared(b, scope)
            }
            ExprKind::Bool(_) | ExprKind::Int(_) | ExprKind::Nondet => false,
        }
    }

    /// Local variables hide shared ones of the same name.
    fn is_shared(&self, name: &str, scope: &Scope) -> bool {
        let function = &self.program.functions[scope.id];
        !function.frame().any(|v| self.program.variables[v].name == name)
            && self.shared.iter().any(|(n, _)| n == name)
    }

    fn statement(&mut self, kind: &StatementKind, scope: &mut Scope, out: &mut Vec<Statement>) {
        match kind {
            StatementKind::Assign { lhs, rhs, constrain } => {
                let reads = rhs.iter().chain(constrain).any(|e| self.reads_shared(e, scope));
                let writes = lhs.iter().any(|n| {
                    self.is_shared(&n.text, scope) || self.atomic.as_ref() == Some(&n.text)
                });
                out.push(stmt(kind.clone()));
                if reads || writes {
                    out.push(self.control());
                }
            }
            StatementKind::Assume(e) => {
                out.push(stmt(kind.clone()));
                if self.reads_shared(e, scope) {
                    out.push(self.control());
                }
            }
            StatementKind::Assert(e) => {
                if self.at_target.is_empty() {
                    out.push(stmt(kind.clone()));
                } else {
                    let mut otherwise = self.at_target.clone();
                    otherwise.push(assume(Expr::truth(false)));
                    let then = vec![stmt(StatementKind::Skip)];
                    out.push(stmt(StatementKind::If { condition: e.clone(), then, otherwise }));
                }
                if self.reads_shared(e, scope) {
                    out.push(self.control());
                }
            }
            StatementKind::If { condition, then, otherwise } => {
                let shared = self.reads_shared(condition, scope);
                let [then, otherwise] = [then, otherwise].map(|body| {
                    let mut block = if shared { vec![self.control()] } else { Vec::new() };
                    block.extend(self.block(body, scope));
                    block
                });
                let condition = condition.clone();
                out.push(stmt(StatementKind::If { condition, then, otherwise }));
            }
            StatementKind::While { condition, body } => {
                let shared = self.reads_shared(condition, scope);
                let mut block = if shared { vec![self.control()] } else { Vec::new() };
                block.extend(self.block(body, scope));
                let condition = condition.clone();
                out.push(stmt(StatementKind::While { condition, body: block }));
                if shared {
                    out.push(self.control());
                }
            }
            StatementKind::Call { lhs, function, args } => {
                self.call(lhs, function, args, scope, out);
            }
            StatementKind::Goto(labels) => {
                let labels = labels.iter().map(|l| self.label(l)).collect();
                out.push(stmt(StatementKind::Goto(labels)));
            }
            other => out.push(stmt(other.clone())),
        }
    }

    fn call(
        &mut self,
        lhs: &[Name],
        function: &Name,
        args: &[Expr],
        scope: &mut Scope,
        out: &mut Vec<Statement>,
    ) {
        let program = self.program;
        let Some(callee) = self.ids.get(&function.text) else { return };
        let callee = &program.module.functions[*callee];
        let mut passed = args.to_vec();
        if args.iter().any(|e| self.reads_shared(e, scope)) {
            let mut names = Vec::new();
            for (_, ty) in &callee.params {
                names.push(self.temporary(*ty, "argument", scope));
            }
            out.push(set(&names, args.to_vec()));
            out.push(self.control());
            passed = names.iter().map(|n| Expr::variable(n)).collect();
        }
        let to_shared = lhs.iter().any(|n| self.is_shared(&n.text, scope));
        let mut received = lhs.to_vec();
        if to_shared {
            received = Vec::new();
            for ty in &callee.returns {
                received.push(Name::made(self.temporary(*ty, "result", scope)));
            }
        }
        let function = Name::made(self.name_of(&function.text));
        let kind = StatementKind::Call { lhs: received.clone(), function, args: passed };
        out.push(stmt(kind));
        out.push(self.unwind());
        if to_shared {
            let names: Vec<String> = lhs.iter().map(|n| n.text.clone()).collect();
            out.push(set(&names, received.iter().map(|n| Expr::variable(&n.text)).collect()));
        }
        if !callee.returns.is_empty() {
            out.push(self.control());
        }
    }

    fn temporary(&mut self, ty: Type, name: &str, scope: &mut Scope) -> String {
        let name = self.fresh(name);
        scope.temporaries.push(Declaration::made(ty, [name.clone()]));
        name
    }
}

struct Scope {
    id: usize,
    temporaries: Vec<Declaration>,
}

/// `x` at switch 2 is `x_2`; a name in braces keeps its braces.
fn copy_name(name: &str, i: usize) -> String {
    match name.strip_suffix('}') {
        Some(inner) => format!("{inner} @{i}}}"),
        None => format!("{name}_{i}"),
    }
}

fn rename_calls(body: &mut [Statement], names: &HashMap<String, String>) {
    for statement in body {
        match &mut statement.kind {
            StatementKind::Call { function, .. } => {
                if let Some(new) = names.get(&function.text) {
                    function.text = new.clone();
                }
            }
            StatementKind::If { then, otherwise, .. } => {
                rename_calls(then, names);
                rename_calls(otherwise, names);
            }
            StatementKind::While { body, .. } => rename_calls(body, names),
            _ => {}
        }
    }
}
