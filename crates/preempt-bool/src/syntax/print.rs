//! Writes a tree as text that reads back to a tree with the same meaning.
//!
//! Expressions are parenthesised wherever the dialects could disagree, so that the text means the
//! same to every tool.

use super::ast::*;
use std::fmt::Write;

/// The whole program.
pub(crate) fn module(module: &Module) -> String {
    let mut printer = Printer { out: String::new(), indent: 0 };
    for declaration in &module.globals {
        printer.declaration(declaration);
    }
    for function in &module.functions {
        printer.function(function);
    }
    printer.out
}

/// The first line of a statement, without its blocks.
pub(crate) fn head(kind: &StatementKind) -> String {
    match kind {
        StatementKind::Skip => "skip".into(),
        StatementKind::Comment(text) => format!("// {text}"),
        StatementKind::Assign { lhs, rhs, constrain } => {
            let mut text = format!("{} := {}", names(lhs), expressions(rhs));
            if let Some(condition) = constrain {
                let _ = write!(text, " constrain {}", expression(condition));
            }
            text
        }
        StatementKind::Call { lhs, function, args } if lhs.is_empty() => {
            format!("call {}({})", function.text, expressions(args))
        }
        StatementKind::Call { lhs, function, args } => {
            format!("{} := {}({})", names(lhs), function.text, expressions(args))
        }
        StatementKind::Return(values) if values.is_empty() => "return".into(),
        StatementKind::Return(values) => format!("return {}", expressions(values)),
        StatementKind::If { condition, .. } => format!("if ({})", expression(condition)),
        StatementKind::While { condition, .. } => format!("while ({})", expression(condition)),
        StatementKind::Goto(labels) => format!("goto {}", names(labels)),
        StatementKind::Assume(condition) => format!("assume({})", expression(condition)),
        StatementKind::Assert(condition) => format!("assert({})", expression(condition)),
        StatementKind::Dead(variables) => format!("dead {}", names(variables)),
        StatementKind::AbortIf(condition) => format!("abortif {}", expression(condition)),
        StatementKind::StartThread(inner) => format!("start_thread {}", head(&inner.kind)),
        StatementKind::EndThread => "end_thread".into(),
        StatementKind::AtomicBegin => "atomic_begin".into(),
        StatementKind::AtomicEnd => "atomic_end".into(),
    }
}

/// An expression.
pub(crate) fn expression(expr: &Expr) -> String {
    let mut out = String::new();
    write_expression(expr, 0, &mut out);
    out
}

fn names(names: &[Name]) -> String {
    names.iter().map(|n| n.text.as_str()).collect::<Vec<_>>().join(", ")
}

fn expressions(list: &[Expr]) -> String {
    list.iter().map(expression).collect::<Vec<_>>().join(", ")
}

/// `outer` is the binding of the context: 0 none, 1 a chain of the same operator, 2 any other.
fn write_expression(expr: &Expr, outer: u8, out: &mut String) {
    match &expr.kind {
        ExprKind::Bool(value) => out.push(if *value { 'T' } else { 'F' }),
        ExprKind::Int(value) => {
            let _ = write!(out, "{value}");
        }
        ExprKind::Nondet => out.push('*'),
        ExprKind::Variable(name) => out.push_str(name),
        ExprKind::Next(name) => {
            out.push('\'');
            out.push_str(name);
        }
        ExprKind::Not(inner) => {
            out.push('!');
            write_expression(inner, 2, out);
        }
        ExprKind::Choose(positive, negative) => {
            out.push_str("schoose[");
            write_expression(positive, 0, out);
            out.push_str(", ");
            write_expression(negative, 0, out);
            out.push(']');
        }
        ExprKind::Binary(operator, left, right) => {
            let chains = |side: &Expr| {
                matches!(operator, Operator::And | Operator::Or | Operator::Xor)
                    && matches!(&side.kind, ExprKind::Binary(inner, ..) if inner == operator)
            };
            if outer > 1 {
                out.push('(');
            }
            write_expression(left, if chains(left) { 1 } else { 2 }, out);
            out.push_str(match operator {
                Operator::And => " & ",
                Operator::Or => " | ",
                Operator::Xor => " ^ ",
                Operator::Implies => " => ",
                Operator::Equal => " = ",
                Operator::Unequal => " != ",
                Operator::Less => " < ",
                Operator::LessEqual => " <= ",
                Operator::Greater => " > ",
                Operator::GreaterEqual => " >= ",
                Operator::Plus => " + ",
                Operator::Minus => " - ",
            });
            write_expression(right, if chains(right) { 1 } else { 2 }, out);
            if outer > 1 {
                out.push(')');
            }
        }
    }
}

struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn comment(&mut self, comment: &str) {
        for line in comment.lines() {
            self.line(&format!("// {line}"));
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        self.comment(&declaration.comment);
        let mut text = String::new();
        if declaration.private {
            text.push_str("thread_local ");
        }
        text.push_str("decl ");
        text.push_str(&ty(declaration.ty));
        for (i, (name, value)) in declaration.names.iter().enumerate() {
            text.push_str(if i == 0 { " " } else { ", " });
            text.push_str(&name.text);
            if let Some(value) = value {
                let _ = write!(text, " := {}", expression(value));
            }
        }
        text.push(';');
        self.line(&text);
    }

    fn function(&mut self, function: &FunctionDef) {
        self.out.push('\n');
        self.comment(&function.comment);
        let head = match (function.thread, function.returns.as_slice()) {
            (Some(1), _) => "thread ".to_string() + &function.name.text,
            (Some(count), _) => format!("thread {}[{count}]", function.name.text),
            (None, []) => format!("void {}", function.name.text),
            (None, [one]) => format!("{} {}", ty(*one), function.name.text),
            (None, all) if all.iter().all(|t| *t == Type::Bool) => {
                format!("bool<{}> {}", all.len(), function.name.text)
            }
            (None, all) => {
                let types: Vec<_> = all.iter().map(|t| ty(*t)).collect();
                format!("({}) {}", types.join(", "), function.name.text)
            }
        };
        let params: Vec<_> =
            function.params.iter().map(|(name, t)| format!("{} {}", ty(*t), name.text)).collect();
        self.line(&format!("{head}({}) begin", params.join(", ")));
        self.indent += 1;
        for declaration in &function.locals {
            self.declaration(declaration);
        }
        if let Some(condition) = &function.enforce {
            self.line(&format!("enforce {};", expression(condition)));
        }
        self.block(&function.body);
        self.indent -= 1;
        self.line("end");
    }

    fn block(&mut self, body: &[Statement]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        for label in &statement.labels {
            self.indent = self.indent.saturating_sub(1);
            self.line(&format!("{}:", label.text));
            self.indent += 1;
        }
        match &statement.kind {
            StatementKind::Comment(text) => self.comment(text),
            StatementKind::If { condition, then, otherwise } => {
                self.line(&format!("if ({}) then", expression(condition)));
                self.if_rest(then, otherwise);
            }
            StatementKind::While { condition, body } => {
                self.line(&format!("while ({}) do", expression(condition)));
                self.indent += 1;
                self.block(body);
                self.indent -= 1;
                self.line("od;");
            }
            kind => self.line(&format!("{};", head(kind))),
        }
    }

    fn if_rest(&mut self, then: &[Statement], otherwise: &[Statement]) {
        self.indent += 1;
        self.block(then);
        self.indent -= 1;
        match otherwise {
            [] => self.line("fi;"),
            [
                Statement {
                    labels, kind: StatementKind::If { condition, then, otherwise }, ..
                },
            ] if labels.is_empty() => {
                self.line(&format!("elsif ({}) then", expression(condition)));
                self.if_rest(then, otherwise);
            }
            _ => {
                self.line("else");
                self.indent += 1;
                self.block(otherwise);
                self.indent -= 1;
                self.line("fi;");
            }
        }
    }
}

fn ty(ty: Type) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::Int(width) => format!("int<{width}>"),
    }
}
