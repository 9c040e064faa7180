//! From the tree to a resolved [`Model`]: names, scopes, types, constants.
//!
//! Units are checked in order of the text, as Spin reads them: a name must be declared before it is
//! used. Never claims and formulas wait until everything is declared. Wrong parts are reported and
//! left out; the model is only handed on when nothing was wrong.

mod constant;
mod declare;
mod embedded;
mod expression;
mod formula;
mod labels;
mod place;
mod scope;
mod statement;
mod suspicious;
mod types;

pub use constant::evaluate_in;

use std::collections::HashMap;
use std::sync::Arc;

use super::ast;
use super::codes;
use super::diagnostic::{Diagnostic, Findings};
use super::span::Span;
use super::suggest;
use crate::model::{self, GlobalId, Model, ProctypeId, TypedefId};
use labels::Labels;
use scope::{Body, Usage};

/// Checks all units. The result is only meaningful when no error was found.
pub(crate) fn check(units: Vec<ast::Unit>, findings: &mut Findings) -> Model {
    let mut checker = Checker::new(Model::default(), findings);
    checker.units(units);
    if checker.model.embedded.is_empty() {
        checker.warn_about_globals();
    }
    checker.warn_about_labels();
    checker.model
}

/// Checks a formula that stands apart from the model.
pub(crate) fn check_formula(
    formula: &ast::Expr,
    model: &Model,
    findings: &mut Findings,
) -> Option<model::Formula> {
    let mut checker = Checker::new(model.clone(), findings);
    checker.index_model();
    checker.is_apart = true;
    checker.formula(formula)
}

/// A part of the model that was wrong and reported.
pub(crate) struct Wrong;

type Checked<T> = Result<T, Wrong>;

struct Checker<'a> {
    model: Model,
    findings: &'a mut Findings,
    mtypes: HashMap<Arc<str>, u32>,
    typedefs: HashMap<Arc<str>, TypedefId>,
    globals: HashMap<Arc<str>, GlobalId>,
    proctypes: HashMap<Arc<str>, ProctypeId>,
    /// Process types whose declaration has begun: ids below this.
    proctypes_seen: u32,
    /// Labels of the process types, by id.
    labels: Vec<Labels>,
    /// How the globals are used, by id.
    usage: Vec<Usage>,
    /// Parameters of the process types, by id, flattened; known before the bodies are.
    signatures: Vec<Option<Vec<model::Type>>>,
    /// The process type whose body is being checked.
    current: Option<ProctypeId>,
    /// Scopes and variables of the body being checked.
    body: Body,
    /// Checking a never claim or a formula: `np_` may be asked.
    in_claim: bool,
    /// Checking a `trace`: `_` may be sent.
    in_trace: bool,
    /// Checking a formula: locals get a special message.
    in_formula: bool,
    /// Checking a formula that does not stand in the model, whose C is compiled already.
    is_apart: bool,
}

impl<'a> Checker<'a> {
    fn new(model: Model, findings: &'a mut Findings) -> Self {
        Checker {
            model,
            findings,
            mtypes: HashMap::new(),
            typedefs: HashMap::new(),
            globals: HashMap::new(),
            proctypes: HashMap::new(),
            proctypes_seen: 0,
            labels: Vec::new(),
            usage: Vec::new(),
            signatures: Vec::new(),
            current: None,
            body: Body::default(),
            in_claim: false,
            in_trace: false,
            in_formula: false,
            is_apart: false,
        }
    }

    /// Fills the tables from a finished model.
    fn index_model(&mut self) {
        for (i, mtype) in self.model.mtypes.iter().enumerate() {
            self.mtypes.insert(mtype.name.as_str().into(), i as u32);
        }
        for (i, variable) in self.model.globals.iter().enumerate() {
            self.globals.insert(variable.name.as_str().into(), GlobalId(i as u32));
            self.usage.push(Usage::default());
        }
        for (i, proctype) in self.model.proctypes.iter().enumerate() {
            self.proctypes.insert(proctype.name.as_str().into(), ProctypeId(i as u32));
            self.labels.push(Labels::of_model(&proctype.body));
            self.signatures.push(None);
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Wrong {
        self.findings.push(diagnostic);
        Wrong
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Wrong {
        self.report(Diagnostic::error(code, span, message))
    }

    fn units(&mut self, units: Vec<ast::Unit>) {
        self.announce_proctypes(&units);
        let mut postponed = Vec::new();
        for unit in units {
            // Nothing outside of a body sees its variables.
            self.body = Body::default();
            match unit {
                ast::Unit::Mtypes(set) => self.mtype_set(set),
                ast::Unit::Typedef(typedef) => self.typedef(typedef),
                ast::Unit::Variables(declaration) => self.global_declaration(declaration),
                ast::Unit::Proctype(proctype) => {
                    let id = ProctypeId(self.proctypes_seen);
                    self.proctypes_seen += 1;
                    self.proctype(id, proctype);
                }
                ast::Unit::Trace { negated, body } => self.trace(negated, body),
                ast::Unit::Code { is_declaration, code, span } => {
                    self.outer_code(is_declaration, &code, span);
                }
                ast::Unit::CState { strings, span } => self.c_state(&strings, span),
                ast::Unit::CTrack { strings, span } => self.c_track(&strings, span),
                later @ (ast::Unit::Claim { .. } | ast::Unit::Ltl { .. }) => postponed.push(later),
            }
        }
        if self.model.proctypes.iter().all(|p| p.active == 0) {
            let span = self.model.proctypes.first().map_or_else(Span::default, |p| p.span);
            let diagnostic = Diagnostic::error(
                codes::NO_PROCESS,
                span,
                "nothing ever runs: there is no `init` and no `active` process type",
            );
            self.report(diagnostic);
        }
        for unit in postponed {
            match unit {
                ast::Unit::Claim { name, body } => self.claim(name, body),
                ast::Unit::Ltl { name, formula, text, span } => {
                    let name = name.map(|n| n.name.to_string());
                    if let Some(formula) = self.formula(&formula) {
                        self.model.formulas.push(model::Ltl { name, formula, text, span });
                    }
                }
                _ => {}
            }
        }
    }

    /// Gives every process type its id, so that a `run` may stand before its declaration.
    fn announce_proctypes(&mut self, units: &[ast::Unit]) {
        let mut spans: Vec<Span> = Vec::new();
        for unit in units {
            let ast::Unit::Proctype(proctype) = unit else { continue };
            let id = ProctypeId(self.model.proctypes.len() as u32);
            let name = &proctype.name;
            if let Some(old) = self.proctypes.get(&name.name)
                && &*name.name != ":init:"
            {
                let first = spans[old.0 as usize];
                self.report(
                    Diagnostic::error(
                        codes::REDECLARED,
                        name.span,
                        format!("process type `{}` is declared twice", name.name),
                    )
                    .label(first, "first declared here"),
                );
            }
            spans.push(name.span);
            self.proctypes.insert(name.name.clone(), id);
            self.labels.push(Labels::of_body(&proctype.body.statements, self.findings));
            self.signatures.push(None);
            self.model.proctypes.push(model::Proctype {
                name: name.name.to_string(),
                active: 0,
                deterministic: proctype.deterministic,
                parameter_count: 0,
                locals: Vec::new(),
                provided: None,
                priority: None,
                body: Vec::new(),
                span: proctype.body.span,
                end_span: proctype.body.end_span,
            });
        }
        // The arguments of a `run` are checked against the number of parameters even when the
        // process type comes later; this needs the structures, which come in order of the text.
        let mut index = 0;
        for unit in units {
            let ast::Unit::Proctype(proctype) = unit else { continue };
            let plain =
                proctype.parameters.iter().all(|d| !matches!(d.ty.base, ast::BaseType::Named(_)));
            if plain {
                let count = proctype.parameters.iter().map(|d| d.variables.len()).sum();
                self.signatures[index] = Some(vec![model::Type::Int; count]);
            }
            index += 1;
        }
    }

    fn proctype(&mut self, id: ProctypeId, proctype: ast::Proctype) {
        let index = id.0 as usize;
        if let Some(global) = self.globals.get(&proctype.name.name) {
            let first = self.model.globals[global.0 as usize].span;
            self.report(
                Diagnostic::error(
                    codes::REDECLARED,
                    proctype.name.span,
                    format!("`{}` already names a variable", proctype.name.name),
                )
                .label(first, "declared here"),
            );
        }
        self.current = Some(id);
        self.body = Body::default();
        self.body.push();
        for declaration in &proctype.parameters {
            for variable in &declaration.variables {
                if variable.size.is_some() {
                    self.error(
                        codes::ARRAY_PARAMETER,
                        variable.name.span,
                        format!("parameter `{}` cannot be an array", variable.name.name),
                    );
                }
            }
            let ids = self.local_declaration(declaration);
            for id in ids {
                let usage = &mut self.body.usage[id.0 as usize];
                (usage.used, usage.stored) = (true, true);
            }
        }
        let parameter_count = self.body.variables.len();
        let mut flat = Vec::new();
        for variable in &self.body.variables[..parameter_count] {
            self.flatten_type(&variable.ty, &mut flat);
        }
        self.signatures[index] = Some(flat);
        let provided = proctype.provided.as_ref().and_then(|e| self.expression(e).ok());
        let priority = proctype
            .priority
            .as_ref()
            .and_then(|e| self.constant_within(e, 0, 255, "a priority").ok());
        let active = match &proctype.active {
            None => 0,
            Some(None) => 1,
            Some(Some(count)) => {
                self.constant_within(count, 0, 255, "the number of active processes").unwrap_or(1)
            }
        };
        let body = self.sequence(&proctype.body.statements);
        // C may use any of them.
        if !self.model.embedded.fragments.iter().any(|f| f.proctype == Some(id.0)) {
            self.warn_about_locals();
        }
        let target = &mut self.model.proctypes[index];
        target.active = active as u32;
        target.parameter_count = parameter_count;
        target.locals = std::mem::take(&mut self.body.variables);
        target.provided = provided;
        target.priority = priority.map(|p| p as u32);
        target.body = body;
        self.current = None;
    }

    fn claim(&mut self, name: Option<ast::Ident>, body: ast::Body) {
        self.body = Body::default();
        self.body.push();
        let labels = Labels::of_body(&body.statements, self.findings);
        self.body.labels = Some(labels);
        self.in_claim = true;
        let statements = self.sequence(&body.statements);
        self.in_claim = false;
        self.warn_about_locals();
        let locals = std::mem::take(&mut self.body.variables);
        self.body = Body::default();
        self.model.claims.push(model::Claim {
            name: name.map(|n| n.name.to_string()),
            locals,
            body: statements,
            span: body.span,
            end_span: body.end_span,
        });
    }

    fn trace(&mut self, negated: bool, body: ast::Body) {
        self.body = Body::default();
        self.body.push();
        self.body.labels = Some(Labels::of_body(&body.statements, self.findings));
        self.in_trace = true;
        let statements = self.sequence(&body.statements);
        self.in_trace = false;
        self.body = Body::default();
        if self.model.trace.is_some() {
            self.error(codes::REDECLARED, body.span, "only one `trace` or `notrace` is allowed");
        }
        self.model.trace = Some(model::TraceAutomaton {
            negated,
            body: statements,
            span: body.span,
            end_span: body.end_span,
        });
    }

    /// An unknown name, with the nearest one that is known here.
    fn unknown_name(&mut self, ident: &ast::Ident) -> Wrong {
        let name = &*ident.name;
        let mut diagnostic =
            Diagnostic::error(codes::UNKNOWN_NAME, ident.span, format!("`{name}` is not declared"));
        for word in ["true", "false"] {
            if name.eq_ignore_ascii_case(word) {
                let hint = format!("the constant is `{word}`");
                self.findings.push(diagnostic.suggest(hint));
                return Wrong;
            }
        }
        if self.in_formula {
            let owners: Vec<String> = self
                .model
                .proctypes
                .iter()
                .filter(|p| p.locals.iter().any(|l| l.name == name))
                .map(|p| p.name.clone())
                .collect();
            if let Some(owner) = owners.first() {
                let diagnostic = Diagnostic::error(
                    codes::LOCAL_IN_FORMULA,
                    ident.span,
                    format!("`{name}` is a local variable of process type `{owner}`; a formula sees only globals"),
                )
                .suggest(format!("write `{owner}[pid]:{name}`, or make it global"));
                return self.report(diagnostic);
            }
        }
        let candidates = self
            .body
            .visible()
            .chain(self.globals.keys().map(|n| &**n))
            .chain(self.mtypes.keys().map(|n| &**n))
            .chain(["_pid", "_nr_pr", "_last", "true", "false", "skip", "timeout", "break"]);
        if let Some(near) = suggest::nearest(name, candidates) {
            diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
        }
        if self.proctypes.contains_key(&ident.name) {
            diagnostic = diagnostic.note(format!("`{name}` is a process type"));
        }
        self.report(diagnostic)
    }
}
