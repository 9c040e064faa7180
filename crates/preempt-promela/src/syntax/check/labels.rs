//! Labels of a body. A label of an inline belongs to one use of it, so one name may occur
//! several times; the second and further ones get a name of their own in the model.

use std::collections::HashMap;

use super::super::ast::{Label, Stmt, StmtKind};
use super::super::codes;
use super::super::diagnostic::{Diagnostic, Findings};
use super::super::span::Span;
use crate::model;

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    inline_use: u32,
    /// Unique in the body.
    model_name: String,
    span: Span,
    used: bool,
}

/// The labels of one body.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    entries: Vec<Entry>,
    /// Entries by name.
    index: HashMap<String, Vec<usize>>,
}

impl Labels {
    /// Collects the labels of a tree and reports repeated ones.
    pub(super) fn of_body(statements: &[Stmt], findings: &mut Findings) -> Labels {
        let mut labels = Labels::default();
        labels.collect(statements, findings);
        labels
    }

    /// Collects the labels of a finished model.
    pub(super) fn of_model(statements: &[model::Stmt]) -> Labels {
        let mut labels = Labels::default();
        labels.collect_model(statements);
        labels
    }

    /// The model's name of the label that a `goto` means.
    pub(super) fn resolve(&mut self, label: &Label) -> Option<String> {
        let candidates = self.index.get(&*label.ident.name)?;
        let exact = candidates.iter().find(|i| self.entries[**i].inline_use == label.inline_use);
        let chosen = *exact.or(candidates.first())?;
        self.entries[chosen].used = true;
        Some(self.entries[chosen].model_name.clone())
    }

    /// Whether a label of that name exists, for a reference from outside.
    pub(super) fn refer(&mut self, name: &str) -> bool {
        let Some(candidates) = self.index.get(name) else { return false };
        for i in candidates {
            self.entries[*i].used = true;
        }
        true
    }

    /// The model's name of the label defined here.
    pub(super) fn defined(&self, label: &Label) -> String {
        let entry = self.index.get(&*label.ident.name).and_then(|candidates| {
            candidates.iter().find(|i| self.entries[**i].inline_use == label.inline_use)
        });
        entry.map_or_else(|| label.ident.name.to_string(), |i| self.entries[*i].model_name.clone())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }

    /// Labels that are never referred to and have no meaning for Spin, outside of inlines.
    pub(super) fn unused(&self) -> Vec<(String, Span)> {
        let special =
            |n: &str| n.starts_with("end") || n.starts_with("accept") || n.starts_with("progress");
        self.entries
            .iter()
            .filter(|e| !e.used && e.inline_use == 0 && !special(&e.name))
            .map(|e| (e.name.clone(), e.span))
            .collect()
    }

    fn add(&mut self, name: &str, inline_use: u32, span: Span) -> Option<Span> {
        let list = self.index.entry(name.to_string()).or_default();
        if let Some(old) = list.iter().find(|i| self.entries[**i].inline_use == inline_use) {
            return Some(self.entries[*old].span);
        }
        let model_name =
            if list.is_empty() { name.to_string() } else { format!("{name}#{}", list.len() + 1) };
        list.push(self.entries.len());
        self.entries.push(Entry {
            name: name.to_string(),
            inline_use,
            model_name,
            span,
            used: false,
        });
        None
    }

    fn collect(&mut self, statements: &[Stmt], findings: &mut Findings) {
        for statement in statements {
            for label in &statement.labels {
                let name = &label.ident.name;
                if let Some(first) = self.add(name, label.inline_use, label.ident.span) {
                    findings.push(
                        Diagnostic::error(
                            codes::DUPLICATE_LABEL,
                            label.ident.span,
                            format!("label `{name}` is defined twice in one body"),
                        )
                        .label(first, "first here"),
                    );
                }
            }
            match &statement.kind {
                StmtKind::If(branches) | StmtKind::Do(branches) => {
                    for branch in branches {
                        self.collect(&branch.body, findings);
                    }
                }
                StmtKind::Atomic(body)
                | StmtKind::DStep(body)
                | StmtKind::Block(body)
                | StmtKind::ForRange { body, .. }
                | StmtKind::ForIn { body, .. } => self.collect(body, findings),
                StmtKind::Unless(main, escape) => {
                    self.collect(std::slice::from_ref(main), findings);
                    self.collect(std::slice::from_ref(escape), findings);
                }
                _ => {}
            }
        }
    }

    fn collect_model(&mut self, statements: &[model::Stmt]) {
        use model::StmtKind as Kind;
        for statement in statements {
            for label in &statement.labels {
                self.add(&label.name, 0, label.span);
            }
            match &statement.kind {
                Kind::If(branches) | Kind::Do(branches) => {
                    for branch in branches {
                        self.collect_model(&branch.body);
                    }
                }
                Kind::Atomic(body)
                | Kind::DStep(body)
                | Kind::Block(body)
                | Kind::ForRange { body, .. }
                | Kind::ForArray { body, .. }
                | Kind::ForChannel { body, .. } => self.collect_model(body),
                Kind::Unless { main, escape } => {
                    self.collect_model(std::slice::from_ref(main));
                    self.collect_model(std::slice::from_ref(escape));
                }
                _ => {}
            }
        }
    }
}
