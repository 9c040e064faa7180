//! Resolves names, checks types and turns statements into flow graphs.

mod expression;
mod graph;
mod watched;

use super::elaborate::Elaborated;
use super::{
    Expr, Function, FunctionId, Mark, NodeId, Operation, Owner, Program, Thread, Variable,
    VariableId, line_of,
};
use crate::diagnostic::{Diagnostic, Lines};
use crate::syntax::ast::{self, Module, Name, Span, StatementKind, Type};
use crate::syntax::print;
use graph::Graph;
use std::collections::HashMap;

pub(crate) use watched::{Place, Watched, watched};

pub(super) fn lower(
    elaborated: Elaborated,
    file: &str,
    lines: &Lines,
) -> Result<Program, Vec<Diagnostic>> {
    let Elaborated { module, threads, atomic, instances } = elaborated;
    let mut lowering = Lowering {
        lines,
        module: &module,
        errors: Vec::new(),
        variables: Vec::new(),
        types: Vec::new(),
        globals: HashMap::new(),
        functions: HashMap::new(),
        groups: 0,
    };
    let (mut shared, mut private) = (Vec::new(), Vec::new());
    for declaration in &module.globals {
        let owner = if declaration.private { Owner::Thread } else { Owner::Shared };
        for (name, _) in &declaration.names {
            let id = lowering.declare(name, declaration.ty, owner);
            if lowering.globals.insert(name.text.clone(), id).is_some() {
                lowering.twice("variable", name);
            }
            if declaration.private { private.push(id) } else { shared.push(id) }
        }
        lowering.groups += 1;
    }
    for (id, function) in module.functions.iter().enumerate() {
        if lowering.functions.insert(&function.name.text, id).is_some() {
            lowering.twice("function", &function.name);
        }
        // What `main` returns is not used.
        let special = ["init", "main"].contains(&function.name.text.as_str());
        let returns = function.name.text == "init" && !function.returns.is_empty();
        if special && (!function.params.is_empty() || returns) {
            let nothing = if returns { "takes and returns nothing" } else { "takes no parameters" };
            let message = format!("`{}` {nothing}", function.name.text);
            lowering.error("B0018", &function.name.span, message);
        }
    }
    let functions: Vec<Function> =
        (0..module.functions.len()).map(|id| lowering.function(id)).collect();
    let find = |name: &str| lowering.functions.get(name).copied();
    let threads = threads
        .into_iter()
        .filter_map(|(name, function)| Some(Thread { name, function: find(&function)? }))
        .collect();
    let init = find("init");
    let atomic = atomic.and_then(|flag| lowering.globals.get(&flag).copied());
    let (variables, errors) = (lowering.variables, lowering.errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let file = file.to_string();
    Ok(Program {
        file,
        variables,
        shared,
        private,
        atomic,
        recursive: super::calls::recursive(&functions),
        functions,
        init,
        threads,
        module,
        instances,
        source: None,
        is_pushdown: false,
    })
}

struct Lowering<'a> {
    lines: &'a Lines,
    module: &'a Module,
    errors: Vec<Diagnostic>,
    variables: Vec<Variable>,
    types: Vec<Type>,
    globals: HashMap<String, VariableId>,
    functions: HashMap<&'a str, FunctionId>,
    groups: usize,
}

impl<'a> Lowering<'a> {
    fn error(&mut self, code: &'static str, span: &Span, message: impl Into<String>) {
        if self.errors.len() < 20 {
            self.errors.push(self.lines.error(code, span, message));
        }
    }

    fn twice(&mut self, what: &str, name: &Name) {
        self.error("B0005", &name.span, format!("the {what} `{}` is declared twice", name.text));
    }

    fn declare(&mut self, name: &Name, ty: Type, owner: Owner) -> VariableId {
        self.variables.push(Variable {
            name: name.text.clone(),
            width: ty.width(),
            is_bool: ty == Type::Bool,
            owner,
            group: self.groups,
        });
        self.types.push(ty);
        self.variables.len() - 1
    }

    fn function(&mut self, id: FunctionId) -> Function {
        let definition = &self.module.functions[id];
        let mut graph = Graph {
            scope: HashMap::new(),
            labels: HashMap::new(),
            met: HashMap::new(),
            returns: definition.returns.clone(),
            edges: Vec::new(),
            node_count: 0,
            marks: Vec::new(),
        };
        let owner = Owner::Function(id);
        let (mut params, mut locals) = (Vec::new(), Vec::new());
        for (name, ty) in &definition.params {
            params.push(self.declare(name, *ty, owner));
            if graph.scope.insert(name.text.clone(), params[params.len() - 1]).is_some() {
                self.twice("parameter", name);
            }
            self.groups += 1;
        }
        for declaration in &definition.locals {
            for (name, _) in &declaration.names {
                locals.push(self.declare(name, declaration.ty, owner));
                if graph.scope.insert(name.text.clone(), locals[locals.len() - 1]).is_some() {
                    self.twice("variable", name);
                }
            }
            self.groups += 1;
        }
        definition.each_statement(&mut |s| {
            for label in &s.labels {
                let node = graph.node();
                graph.labels.entry(label.text.clone()).or_default().push(node);
            }
        });
        let entry = graph.node();
        let last = self.block(&definition.body, entry, &mut graph);
        let missing = definition.returns.iter().map(|t| Expr::Any { width: t.width() }).collect();
        let line = line_of(self.lines, &definition.end);
        graph.edge(last, last, Operation::Return(missing), line, "end".into());
        let entry = graph.merge_joined(entry);
        let mut out = vec![Vec::new(); graph.node_count];
        for (i, edge) in graph.edges.iter().enumerate() {
            out[edge.from].push(i);
        }
        Function {
            name: definition.name.text.clone(),
            params,
            locals,
            returns: definition.returns.iter().map(|t| t.width()).collect(),
            entry,
            edges: graph.edges,
            out,
            marks: graph.marks,
        }
    }

    /// Adds the statements behind `at`; returns where they end.
    fn block(&mut self, body: &[ast::Statement], mut at: NodeId, graph: &mut Graph) -> NodeId {
        for statement in body {
            let line = line_of(self.lines, &statement.span);
            for label in &statement.labels {
                let node = graph.next_labelled(&label.text);
                let text = format!("{}:", label.text);
                graph.edge(at, node, Operation::Assume(Expr::truth(true)), line, text);
                graph.marks.push((node, Mark::Label(label.text.clone()), line));
                at = node;
            }
            at = self.statement(statement, line, at, graph);
        }
        at
    }

    fn statement(
        &mut self,
        statement: &ast::Statement,
        line: u32,
        at: NodeId,
        graph: &mut Graph,
    ) -> NodeId {
        let text = print::head(&statement.kind);
        let span = &statement.span;
        match &statement.kind {
            StatementKind::Comment(_) => at,
            StatementKind::Assign { lhs, rhs, constrain } => {
                let operation = self.assignment(lhs, rhs, constrain.as_ref(), span, graph);
                graph.step(at, operation, line, text)
            }
            StatementKind::Call { lhs, function, args } => {
                let operation = self.call(lhs, function, args, span, graph);
                graph.step(at, operation, line, text)
            }
            StatementKind::Return(values) => {
                let values = self.returned(values, span, graph);
                graph.edge(at, at, Operation::Return(values), line, text);
                graph.node()
            }
            StatementKind::Assume(condition) => {
                let condition = self.condition(condition, graph);
                graph.step(at, Operation::Assume(condition), line, text)
            }
            StatementKind::Assert(condition) => {
                let condition = self.condition(condition, graph);
                let (to, failed) = (graph.node(), graph.node());
                graph.edge(at, to, Operation::Assume(condition.clone()), line, text.clone());
                let operation = Operation::Assume(condition.not());
                graph.edge(at, failed, operation, line, format!("{text} fails"));
                graph.marks.push((failed, Mark::Assertion(text), line));
                to
            }
            StatementKind::If { condition, then, otherwise } => {
                let condition = self.condition(condition, graph);
                let (yes, no, to) = (graph.node(), graph.node(), graph.node());
                let operation = Operation::Assume(condition.clone());
                graph.edge(at, yes, operation, line, format!("{text} then"));
                let operation = Operation::Assume(condition.not());
                graph.edge(at, no, operation, line, format!("{text} else"));
                for (body, start) in [(then, yes), (otherwise, no)] {
                    let last = self.block(body, start, graph);
                    self.join(last, to, graph);
                }
                to
            }
            StatementKind::While { condition, body } => {
                let condition = self.condition(condition, graph);
                let (head, inside, to) = (graph.node(), graph.node(), graph.node());
                self.join(at, head, graph);
                let operation = Operation::Assume(condition.clone());
                graph.edge(head, inside, operation, line, format!("{text} do"));
                let operation = Operation::Assume(condition.not());
                graph.edge(head, to, operation, line, format!("{text} ends"));
                let last = self.block(body, inside, graph);
                self.join(last, head, graph);
                to
            }
            StatementKind::Goto(labels) => {
                self.goto(labels, line, at, graph);
                graph.node()
            }
            // `skip`; the rest is sugar that elaboration has removed.
            _ => graph.step(at, Operation::Assume(Expr::truth(true)), line, text),
        }
    }

    fn goto(&mut self, labels: &[ast::Name], line: u32, at: NodeId, graph: &mut Graph) {
        for ast::Name { text: label, span } in labels {
            match graph.labels.get(label).map(Vec::as_slice) {
                Some(&[to]) => {
                    let operation = Operation::Assume(Expr::truth(true));
                    graph.edge(at, to, operation, line, format!("goto {label}"));
                }
                Some([_, _, ..]) => {
                    let message = format!("this function has several labels `{label}`");
                    self.error("B0011", span, message);
                }
                _ => {
                    let message = format!("this function has no label `{label}`");
                    self.error("B0010", span, message);
                }
            }
        }
    }

    /// Makes `from` the same place as `to`: a step that is removed at the end, marked by an empty text.
    fn join(&mut self, from: NodeId, to: NodeId, graph: &mut Graph) {
        graph.edge(from, to, Operation::Assume(Expr::truth(true)), 0, String::new());
    }

    fn assignment(
        &mut self,
        lhs: &[Name],
        rhs: &[ast::Expr],
        constrain: Option<&ast::Expr>,
        span: &Span,
        graph: &Graph,
    ) -> Operation {
        if lhs.len() != rhs.len() {
            let message = format!("{} variables are assigned {} values", lhs.len(), rhs.len());
            self.error("B0008", span, message);
        }
        let targets = self.receivers(lhs, graph);
        let mut values = Vec::new();
        for (target, value) in targets.iter().zip(rhs) {
            values.push(match target {
                Some(v) => self.expression(value, self.types[*v], false, graph),
                None => Expr::truth(true),
            });
        }
        let constrain =
            constrain.map(|condition| self.expression(condition, Type::Bool, true, graph));
        Operation::Assign { lhs: targets.into_iter().flatten().collect(), rhs: values, constrain }
    }

    fn receivers(&mut self, lhs: &[Name], graph: &Graph) -> Vec<Option<VariableId>> {
        let mut found: Vec<Option<VariableId>> = Vec::new();
        for name in lhs {
            let variable = self.variable(&name.text, &name.span, graph);
            if variable.is_some() && found.contains(&variable) {
                let message = format!("`{}` is assigned twice in one step", name.text);
                self.error("B0017", &name.span, message);
            }
            found.push(variable);
        }
        found
    }

    fn call(
        &mut self,
        lhs: &[Name],
        function: &Name,
        args: &[ast::Expr],
        span: &Span,
        graph: &Graph,
    ) -> Operation {
        let receivers = self.receivers(lhs, graph);
        let Some(id) = self.functions.get(function.text.as_str()).copied() else {
            self.error(
                "B0007",
                &function.span,
                format!("there is no function `{}`", function.text),
            );
            return Operation::Assume(Expr::truth(true));
        };
        let callee = &self.module.functions[id];
        if callee.params.len() != args.len() {
            let message = format!(
                "`{}` takes {} arguments, here are {}",
                function.text,
                callee.params.len(),
                args.len()
            );
            self.error("B0008", span, message);
        }
        if !lhs.is_empty() && callee.returns.len() != lhs.len() {
            let message = format!(
                "`{}` returns {} values, here are {} variables",
                function.text,
                callee.returns.len(),
                lhs.len()
            );
            self.error("B0008", span, message);
        }
        for ((receiver, returned), name) in receivers.iter().zip(&callee.returns).zip(lhs) {
            if let Some(v) = receiver
                && self.types[*v] != *returned
            {
                let message = format!(
                    "`{}` is {}, but `{}` returns {} here",
                    name.text,
                    self.types[*v].in_words(),
                    function.text,
                    returned.in_words()
                );
                self.error("B0009", &name.span, message);
            }
        }
        let args = args
            .iter()
            .zip(&callee.params)
            .map(|(arg, (_, ty))| self.expression(arg, *ty, false, graph))
            .collect();
        Operation::Call { function: id, args, lhs: receivers.into_iter().flatten().collect() }
    }

    /// The returned values; a bare `return` returns anything.
    fn returned(&mut self, values: &[ast::Expr], span: &Span, graph: &Graph) -> Vec<Expr> {
        let types = graph.returns.clone();
        if values.is_empty() {
            return types.iter().map(|t| Expr::Any { width: t.width() }).collect();
        }
        if values.len() != types.len() {
            let message =
                format!("this function returns {} values, here are {}", types.len(), values.len());
            self.error("B0008", span, message);
        }
        values
            .iter()
            .zip(types)
            .map(|(value, ty)| self.expression(value, ty, false, graph))
            .collect()
    }
}
