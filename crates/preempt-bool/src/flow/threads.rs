//! Threads that the program starts: `start_thread`, and Boppo's `ASYNC_n:`.
//!
//! A place that runs at most once becomes one thread that waits for a flag; the arguments travel in
//! shared variables. A place that may run again shares *slots* with all others of its kind: it
//! either fills the next free slot or drops the thread, which then never runs, and the thread of a
//! slot runs what was put there. With n slots, all executions are covered in which at most n of
//! these threads run at all; with k context switches at most k of them do, because the thread that
//! starts the first of them runs before it. So k slots are exact for k switches.
//!
//! What `start_thread` runs, if it is no call, is a function made for it: the statement, and behind
//! it the whole body around it, so that the new thread may jump wherever the statement may.

use super::elaborate::{Elaboration, assign, plain};
use super::order::{Order, names_in};
use super::slots::Place;
use crate::syntax::ast::*;
use std::collections::HashMap;

/// One place that starts a thread.
struct Site {
    /// In the order of the text.
    position: usize,
    span: Span,
    started: Statement,
    replacement: StatementKind,
}

/// A place that runs a function, by a call or as a new thread.
struct Caller {
    function: String,
    /// The place may run again after it has run.
    repeats: bool,
}

impl Elaboration<'_> {
    pub(super) fn start_threads(&mut self) {
        let mut parts = Parts::default();
        let mut at = 0;
        // Functions made for parts may start threads themselves: the list grows.
        while at < self.module.functions.len() {
            let function = self.module.functions[at].clone();
            let order = Order::new(&function.body);
            let runs = order.runs();
            let mut sites = Vec::new();
            for (position, statement) in order.statements.iter().enumerate() {
                let StatementKind::StartThread(started) = &statement.kind else { continue };
                let mut site = Site {
                    position,
                    span: statement.span.clone(),
                    started: (**started).clone(),
                    replacement: StatementKind::Skip,
                };
                if runs[position] {
                    let once = !order.repeats(position) && self.runs_once(&function.name.text);
                    self.start(&mut site, &function, once, &mut parts);
                }
                sites.push(site);
            }
            if !sites.is_empty() {
                put(&mut self.module.functions[at].body, &mut 0, &sites);
            }
            at += 1;
        }
        self.run_slots();
    }

    /// Whether a function runs at most once: a thread of its own, or run from one such place.
    fn runs_once(&self, function: &str) -> bool {
        let mut name = function.to_string();
        for _ in 0..=self.module.functions.len() {
            let as_thread = self.threads.iter().filter(|(_, f)| *f == name).count();
            match (as_thread, self.callers(&name).as_slice()) {
                (0 | 1, []) => return true,
                (0, [Caller { function, repeats: false }]) => name = function.clone(),
                _ => return false,
            }
        }
        false
    }

    fn callers(&self, name: &str) -> Vec<Caller> {
        let calls = |statement: &Statement| match &statement.kind {
            StatementKind::Call { function, .. } => function.text == name,
            _ => false,
        };
        let mut callers = Vec::new();
        for caller in &self.module.functions {
            let order = Order::new(&caller.body);
            let runs = order.runs();
            for (at, statement) in order.statements.iter().enumerate().filter(|(at, _)| runs[*at]) {
                let found = match &statement.kind {
                    StatementKind::StartThread(inner) => {
                        let inside = Order::new(std::slice::from_ref(&**inner));
                        inside.statements.iter().any(|s| calls(s))
                    }
                    _ => calls(statement),
                };
                if found {
                    let (function, repeats) = (caller.name.text.clone(), order.repeats(at));
                    callers.push(Caller { function, repeats });
                }
            }
        }
        // What slots run is called by functions that are made last.
        for place in self.slots.places.iter().filter(|place| place.callee.text == name) {
            callers.push(Caller { function: place.callee.text.clone(), repeats: true });
        }
        callers
    }

    /// Decides what becomes of a place: `once` if it runs at most once.
    fn start(&mut self, site: &mut Site, around: &FunctionDef, once: bool, parts: &mut Parts) {
        let (callee, args) = match &site.started.kind {
            StatementKind::Call { lhs, function, args } if lhs.is_empty() => {
                (function.clone(), args.clone())
            }
            _ => self.part(site, around, parts),
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
            self.errors.push(self.lines.error("B0008", &site.span, message));
            return;
        }
        let params = target.params.clone();
        if once {
            self.start_once(site, &callee, &params, args);
        } else {
            self.start_often(site, &callee, &params, &args);
        }
    }

    /// A shared variable that is zero before the threads run.
    fn shared(&mut self, wanted: &str, ty: Type) -> String {
        let name = self.fresh(wanted);
        self.module.globals.push(Declaration::made(ty, [name.clone()]));
        let zero = match ty {
            Type::Bool => Expr::truth(false),
            Type::Int(_) => Expr::number(0),
        };
        self.init.push(Statement::made(assign(vec![Name::made(&name)], vec![zero])));
        name
    }

    fn start_once(
        &mut self,
        site: &mut Site,
        callee: &Name,
        params: &[(Name, Type)],
        args: Vec<Expr>,
    ) {
        let flag = self.shared(&format!("started_{}", plain(&callee.text)), Type::Bool);
        let mut lhs = vec![Name::made(&flag)];
        let mut rhs = vec![Expr::truth(true)];
        let mut passed = Vec::new();
        for ((param, ty), arg) in params.iter().zip(args) {
            let variable = self.shared(&format!("{flag}_{}", plain(&param.text)), *ty);
            lhs.push(Name::made(&variable));
            rhs.push(arg);
            passed.push(Expr::variable(&variable));
        }
        let thread = self.fresh(&format!("run_{}", plain(&callee.text)));
        let at = site.span.clone();
        let statement =
            |kind: StatementKind| Statement { labels: Vec::new(), kind, span: at.clone() };
        let wait = statement(StatementKind::Assume(Expr::variable(&flag)));
        let mut call = statement(call(callee, passed));
        if matches!(site.started.kind, StatementKind::Call { .. }) {
            call.labels = site.started.labels.clone();
        }
        let mut wrapper = FunctionDef::made(&thread, vec![wait, call]);
        wrapper.end = at.clone();
        self.module.functions.push(wrapper);
        self.threads.push((callee.text.clone(), thread));
        site.replacement = assign(lhs, rhs);
    }

    /// Fills the next free slot, or drops the thread.
    fn start_often(
        &mut self,
        site: &mut Site,
        callee: &Name,
        params: &[(Name, Type)],
        args: &[Expr],
    ) {
        self.threads_are_unbounded = true;
        let bits = |value: usize| Type::Int((usize::BITS - value.leading_zeros()).max(1) as u8);
        let count = match self.slots.count.clone() {
            Some(count) => count,
            None => self.shared("started_threads", bits(self.instances)),
        };
        self.slots.count = Some(count.clone());
        while self.slots.filled_by.len() < self.instances {
            let wanted = format!("slot_{}", self.slots.filled_by.len() + 1);
            // Wide enough for every place of a large program.
            let name = self.shared(&wanted, Type::Int(16));
            self.slots.filled_by.push(name);
        }
        let place = self.slots.places.len() as u64 + 1;
        let mut variables = Vec::new();
        let mut choice = vec![Statement::made(StatementKind::Skip)];
        for slot in 0..self.instances {
            let filled_by = self.slots.filled_by[slot].clone();
            let mut lhs = vec![Name::made(&count), Name::made(&filled_by)];
            let mut rhs = vec![Expr::number(slot as u64 + 1), Expr::number(place)];
            let mut passed = Vec::new();
            for ((param, ty), arg) in params.iter().zip(args) {
                let name = self.shared(&format!("{filled_by}_{}", plain(&param.text)), *ty);
                lhs.push(Name::made(&name));
                rhs.push(arg.clone());
                passed.push(name);
            }
            variables.push(passed);
            let is_next =
                Expr::binary(Operator::Equal, Expr::variable(&count), Expr::number(slot as u64));
            let kind = StatementKind::Assign { lhs, rhs, constrain: Some(is_next) };
            let fill = Statement { labels: Vec::new(), kind, span: site.span.clone() };
            let kind =
                StatementKind::If { condition: Expr::any(), then: vec![fill], otherwise: choice };
            choice = vec![Statement { labels: Vec::new(), kind, span: site.span.clone() }];
        }
        let labels = match site.started.kind {
            StatementKind::Call { .. } => site.started.labels.clone(),
            _ => Vec::new(),
        };
        self.slots.places.push(Place { callee: callee.clone(), labels, variables });
        if let Some(choice) = choice.pop() {
            site.replacement = choice.kind;
        }
    }

    /// The threads that run what was put into the slots.
    fn run_slots(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        let width = (usize::BITS - slots.places.len().leading_zeros()).clamp(1, 16) as u8;
        for declaration in &mut self.module.globals {
            if declaration.names.iter().any(|(name, _)| slots.filled_by.contains(&name.text)) {
                declaration.ty = Type::Int(width);
            }
        }
        for (slot, filled_by) in slots.filled_by.iter().enumerate() {
            let labels: Vec<Name> = (1..=slots.places.len())
                .map(|place| Name::made(format!("{{place {place}}}")))
                .collect();
            let mut body = vec![Statement::made(StatementKind::Goto(labels.clone()))];
            for (at, place) in slots.places.iter().enumerate() {
                let here = Expr::binary(
                    Operator::Equal,
                    Expr::variable(filled_by),
                    Expr::number(at as u64 + 1),
                );
                let mut wait = Statement::made(StatementKind::Assume(here));
                wait.labels = vec![labels[at].clone()];
                let args = place.variables[slot].iter().map(|name| Expr::variable(name)).collect();
                body.push(wait);
                let mut run = Statement::made(call(&place.callee, args));
                run.labels = place.labels.clone();
                body.push(run);
                body.push(Statement::made(StatementKind::Return(Vec::new())));
            }
            let name = self.fresh(&format!("run_slot_{}", slot + 1));
            self.module.functions.push(FunctionDef::made(&name, body));
            let shown = match slots.places.as_slice() {
                [only] => format!("{}_{}", only.callee.text, slot + 1),
                _ => format!("started_{}", slot + 1),
            };
            self.threads.push((shown, name));
        }
    }

    /// The function that runs what a place starts, and what is passed to it.
    fn part(&mut self, site: &Site, around: &FunctionDef, parts: &mut Parts) -> (Name, Vec<Expr>) {
        let root = parts.roots.get(&around.name.text).cloned().unwrap_or_else(|| around.clone());
        let key = match &site.started.kind {
            StatementKind::Goto(labels) => {
                labels.iter().map(|l| l.text.as_str()).collect::<Vec<_>>().join(",")
            }
            _ => format!("{:?}", site.started.span),
        };
        let labels: Vec<&str> = site.started.labels.iter().map(|l| l.text.as_str()).collect();
        let key = (root.name.text.clone(), format!("{key} {}", labels.join(" ")));
        let span = site.started.span.clone();
        if let Some((made, params)) = parts.made.get(&key) {
            return (Name { text: made.clone(), span }, variables(params));
        }
        let behind = match &site.started.kind {
            StatementKind::Goto(labels) => labels.first().map(|label| plain(&label.text)),
            _ => None,
        };
        let behind = behind.map_or("part".into(), |label| format!("at_{label}"));
        let name = self.fresh(&format!("{}_{behind}", plain(&root.name.text)));
        let mut body =
            vec![site.started.clone(), Statement::made(StatementKind::Return(Vec::new()))];
        body.extend(root.body.iter().cloned());
        let mut part = FunctionDef::made(&name, body);
        part.returns = root.returns.clone();
        part.end = root.end.clone();
        part.enforce = root.enforce.clone();
        let mut needed = Order::new(&part.body).read_first();
        part.enforce.iter().for_each(|e| {
            names_in(e, &mut |name| {
                needed.insert(name);
            });
        });
        let mut params = Vec::new();
        let mut locals = Vec::new();
        for (name, ty) in frame_of(&root) {
            if needed.contains(name.text.as_str()) {
                params.push((name, ty));
            } else {
                locals.push(Declaration::made(ty, [name.text]));
            }
        }
        part.params = params.clone();
        part.locals = locals;
        parts.roots.insert(name.clone(), root);
        self.module.functions.push(part);
        let args = variables(&params);
        parts.made.insert(key, (name.clone(), params));
        (Name { text: name, span }, args)
    }
}

/// The name of a function, and what is passed to it.
type Made = (String, Vec<(Name, Type)>);

/// The functions made for what is started.
#[derive(Default)]
struct Parts {
    /// By the function around it and what is started: the name, and what is passed.
    made: HashMap<(String, String), Made>,
    /// The function that a part was taken from, as it was written.
    roots: HashMap<String, FunctionDef>,
}

fn variables(params: &[(Name, Type)]) -> Vec<Expr> {
    params.iter().map(|(name, _)| Expr::variable(&name.text)).collect()
}

fn call(function: &Name, args: Vec<Expr>) -> StatementKind {
    StatementKind::Call { lhs: Vec::new(), function: function.clone(), args }
}

fn put(body: &mut [Statement], position: &mut usize, sites: &[Site]) {
    for statement in body {
        let here = *position;
        *position += 1;
        match &mut statement.kind {
            StatementKind::If { then, otherwise, .. } => {
                put(then, position, sites);
                put(otherwise, position, sites);
            }
            StatementKind::While { body, .. } => put(body, position, sites),
            _ => {}
        }
        if let Some(site) = sites.iter().find(|site| site.position == here) {
            statement.kind = site.replacement.clone();
        }
    }
}

fn frame_of(function: &FunctionDef) -> Vec<(Name, Type)> {
    let mut frame = function.params.clone();
    for declaration in &function.locals {
        frame.extend(declaration.names.iter().map(|(name, _)| (name.clone(), declaration.ty)));
    }
    frame
}
