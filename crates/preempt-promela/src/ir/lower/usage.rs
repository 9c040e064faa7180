//! What the whole model does: what is read, which channels stay what they are, which features occur.
//!
//! "Read" is Spin's notion, because it decides what is left out of the state: `x++` does not read
//! `x`, `printf` does not read anything, a receive reads the variables it stores to. A variable that is
//! declared `hidden` is left out when nothing depends on its value, received into or not.

use super::Owner;
use super::owned::Users;
use crate::model::{
    Base, Branch, Expr, ExprKind, Formula, Initializer, Model, Place, ReceiveArgument, Selector,
    Stmt, StmtKind, Type, Variable,
};
use std::collections::{HashMap, HashSet};

/// `xr`: only this process type receives.
pub(super) const EXCLUSIVE_RECEIVE: u8 = 1;
/// `xs`: only this process type sends.
pub(super) const EXCLUSIVE_SEND: u8 = 2;
/// A claim looks at the channel, so no promise holds.
pub(super) const WATCHED: u8 = 4;

#[derive(Default)]
pub(super) struct Facts {
    /// Globals that are read in Spin's sense.
    pub(super) read: HashSet<u32>,
    /// Globals whose value matters: of those that are read, the ones not only received into.
    pub(super) used: HashSet<u32>,
    /// Variables that are assigned after their initialisation.
    pub(super) assigned: HashSet<Owner>,
    /// Labels that expressions refer to: process type and name.
    pub(super) observed_labels: HashSet<(usize, String)>,
    /// Promises about channel variables.
    pub(super) exclusive: HashMap<Owner, u8>,
    /// The same promises as they stand in the text: process type, channel, receiving side.
    pub(super) promises: Vec<(usize, Place, bool)>,
    pub(super) uses_remote_variables: bool,
    pub(super) uses_timeout: bool,
    pub(super) uses_unless: bool,
    pub(super) uses_rendezvous: bool,
    /// The most slots that a channel has.
    pub(super) largest_channel: u32,
    pub(super) uses_last: bool,
    /// Some expression looks at `_nr_pr`.
    pub(super) counts_processes: bool,
    pub(super) uses_priorities: bool,
    /// What each process type uses, to judge promises about variables.
    pub(super) users: Users,
}

impl Facts {
    pub(super) fn collect(model: &Model) -> Facts {
        let mut facts = Facts::default();
        for global in &model.globals {
            facts.variable(global, None);
        }
        for typedef in &model.typedefs {
            for field in &typedef.fields {
                facts.variable(field, None);
            }
        }
        for (index, proctype) in model.proctypes.iter().enumerate() {
            for local in &proctype.locals {
                facts.variable(local, Some(index));
            }
            if let Some(provided) = &proctype.provided {
                facts.expr(provided, Some(index));
            }
            facts.uses_priorities |= proctype.priority.is_some();
            facts.body(&proctype.body, Some(index));
        }
        let timeouts_of_processes = facts.uses_timeout;
        for claim in &model.claims {
            facts.body(&claim.body, None);
            facts.watch(&claim.body);
        }
        for ltl in &model.formulas {
            facts.formula(&ltl.formula);
        }
        facts.uses_timeout = timeouts_of_processes;
        // C sees `now._nr_pr`.
        facts.counts_processes |= !model.embedded.is_empty();
        facts
    }

    fn variable(&mut self, variable: &Variable, process: Option<usize>) {
        // Initial values are computed by the process that starts another.
        let process = process.map(|_| Users::SOME_OTHER);
        match &variable.init {
            Some(Initializer::Expr(e)) => self.expr(e, process),
            Some(Initializer::List(list)) => list.iter().for_each(|e| self.expr(e, process)),
            Some(Initializer::Channel(channel)) => {
                self.uses_rendezvous |= channel.capacity == 0;
                self.largest_channel = self.largest_channel.max(channel.capacity);
            }
            None => {}
        }
    }

    fn body(&mut self, body: &[Stmt], process: Option<usize>) {
        body.iter().for_each(|s| self.stmt(s, process));
    }

    fn branches(&mut self, branches: &[Branch], process: Option<usize>) {
        branches.iter().for_each(|b| self.body(&b.body, process));
    }

    fn stmt(&mut self, stmt: &Stmt, process: Option<usize>) {
        match &stmt.kind {
            StmtKind::Condition(e) | StmtKind::Assert(e) => self.expr(e, process),
            StmtKind::Assign(place, value) => {
                self.store(place, process);
                self.expr(value, process);
            }
            StmtKind::Increment(place) | StmtKind::Decrement(place) => self.store(place, process),
            StmtKind::Send { channel, values, .. } => {
                self.place(channel, process);
                values.iter().for_each(|e| self.expr(e, process));
            }
            StmtKind::Receive { channel, arguments, .. } => {
                self.place(channel, process);
                self.receive(arguments, process);
            }
            StmtKind::If(branches) => self.branches(branches, process),
            StmtKind::Do(branches) => self.repeated(|facts| facts.branches(branches, process)),
            StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => {
                self.body(body, process);
            }
            StmtKind::Unless { main, escape } => {
                self.uses_unless = true;
                self.stmt(main, process);
                self.stmt(escape, process);
            }
            StmtKind::ForRange { variable, from, to, body } => {
                self.read_and_store(variable, process);
                self.expr(from, process);
                self.expr(to, process);
                self.repeated(|facts| facts.body(body, process));
            }
            StmtKind::ForArray { variable, body, .. } => {
                self.read_and_store(variable, process);
                self.repeated(|facts| facts.body(body, process));
            }
            StmtKind::ForChannel { variables, channel, body } => {
                variables.iter().for_each(|v| self.read_and_store(v, process));
                self.place(channel, process);
                self.repeated(|facts| facts.body(body, process));
            }
            StmtKind::Select { variable, from, to } => {
                self.read_and_store(variable, process);
                self.expr(from, process);
                self.expr(to, process);
            }
            StmtKind::Printf { arguments, .. } => {
                // Not a read for hiding; other facts still count.
                let before = (self.read.clone(), self.used.clone());
                arguments.iter().for_each(|e| self.expr(e, process));
                (self.read, self.used) = before;
            }
            StmtKind::Printm(e) => self.expr(e, process),
            StmtKind::ExclusiveReceive(places) => self.promise(places, EXCLUSIVE_RECEIVE, process),
            StmtKind::ExclusiveSend(places) => self.promise(places, EXCLUSIVE_SEND, process),
            StmtKind::SetPriority(pid, value) => {
                self.uses_priorities = true;
                self.expr(pid, process);
                self.expr(value, process);
            }
            StmtKind::OwnPriority(value) => {
                self.uses_priorities = true;
                self.expr(value, process);
            }
            StmtKind::Goto(_) => self.users.jump(process),
            StmtKind::Code(_) | StmtKind::Break | StmtKind::Else | StmtKind::Declare(_) => {}
        }
    }

    /// What may be executed more than once.
    fn repeated(&mut self, inside: impl FnOnce(&mut Self)) {
        self.users.loops += 1;
        inside(self);
        self.users.loops -= 1;
    }

    fn promise(&mut self, places: &[Place], flag: u8, process: Option<usize>) {
        for place in places {
            if let Some(owner) = Owner::of(place.base, process) {
                *self.exclusive.entry(owner).or_default() |= flag;
            }
            if let Some(process) = process {
                self.promises.push((process, place.clone(), flag == EXCLUSIVE_RECEIVE));
            }
        }
    }

    /// Channels that a claim looks at.
    fn watch(&mut self, body: &[Stmt]) {
        each_expr(body, &mut |expr| self.watch_expr(expr));
    }

    fn watch_expr(&mut self, expr: &Expr) {
        let channel = match &expr.kind {
            ExprKind::Len(channel)
            | ExprKind::ChannelTest(_, channel)
            | ExprKind::Poll { channel, .. } => channel,
            _ => return,
        };
        if let Base::Global(id) = channel.base {
            *self.exclusive.entry(Owner::Global(id.0)).or_default() |= WATCHED;
        }
    }

    fn receive(&mut self, arguments: &[ReceiveArgument], process: Option<usize>) {
        for argument in arguments {
            match argument {
                ReceiveArgument::Store(place) => {
                    self.store(place, process);
                    // What is not kept cannot complain about an index either.
                    let is_indexed =
                        place.path.iter().any(|part| matches!(part, Selector::Index(..)));
                    match place.base {
                        Base::Global(id) if !is_indexed => _ = self.read.insert(id.0),
                        _ => self.place(place, process),
                    }
                }
                ReceiveArgument::Match(e) => self.expr(e, process),
                ReceiveArgument::Ignore => {}
            }
        }
    }

    /// A variable in a poll stands for any value; to Spin it is read, like one that is received into.
    fn polled(&mut self, argument: &ReceiveArgument, process: Option<usize>) {
        if let ReceiveArgument::Store(place) = argument
            && let Base::Global(id) = place.base
        {
            self.users.uses(id.0, process);
            self.read.insert(id.0);
        }
    }

    fn store(&mut self, place: &Place, process: Option<usize>) {
        if let Some(owner) = Owner::of(place.base, process) {
            self.assigned.insert(owner);
        }
        if let Base::Global(id) = place.base {
            self.users.uses(id.0, process);
        }
        self.indices(place, process);
    }

    fn read_and_store(&mut self, place: &Place, process: Option<usize>) {
        self.store(place, process);
        self.place(place, process);
    }

    fn place(&mut self, place: &Place, process: Option<usize>) {
        if let Base::Global(id) = place.base {
            self.read.insert(id.0);
            self.used.insert(id.0);
            self.users.uses(id.0, process);
        }
        self.indices(place, process);
    }

    fn indices(&mut self, place: &Place, process: Option<usize>) {
        for selector in &place.path {
            if let Selector::Index(e, _) = selector {
                self.expr(e, process);
            }
        }
    }

    fn formula(&mut self, formula: &Formula) {
        each_proposition(formula, &mut |e| {
            self.expr(e, None);
            // The formula will be checked as a claim.
            walk_expr(e, &mut |part| self.watch_expr(part));
        });
    }

    fn expr(&mut self, expr: &Expr, process: Option<usize>) {
        walk_expr(expr, &mut |e| match &e.kind {
            ExprKind::Read(place)
            | ExprKind::Len(place)
            | ExprKind::ChannelTest(_, place)
            | ExprKind::Poll { channel: place, .. } => {
                if let Base::Global(id) = place.base {
                    self.read.insert(id.0);
                    self.used.insert(id.0);
                    self.users.uses(id.0, process);
                }
                if let ExprKind::Poll { arguments, .. } = &e.kind {
                    arguments.iter().for_each(|argument| self.polled(argument, process));
                }
            }
            ExprKind::Timeout => self.uses_timeout = true,
            ExprKind::Last => self.uses_last = true,
            ExprKind::ProcessCount => self.counts_processes = true,
            ExprKind::Run { proctype, priority, .. } => {
                self.uses_priorities |= priority.is_some();
                self.users.runs(proctype.0 as usize, process);
            }
            ExprKind::Priority | ExprKind::GetPriority(_) => self.uses_priorities = true,
            ExprKind::RemoteLabel { proctype, label, .. } => {
                self.observed_labels.insert((proctype.0 as usize, label.clone()));
            }
            ExprKind::RemoteVariable { .. } => self.uses_remote_variables = true,
            _ => {}
        });
    }
}

/// Calls `f` for every proposition of a formula.
pub(super) fn each_proposition(formula: &Formula, f: &mut dyn FnMut(&Expr)) {
    match formula {
        Formula::Prop(e) => f(e),
        Formula::Const(_) => {}
        Formula::Not(a) | Formula::Next(a) | Formula::Always(a) | Formula::Eventually(a) => {
            each_proposition(a, f);
        }
        Formula::And(a, b)
        | Formula::Or(a, b)
        | Formula::Implies(a, b)
        | Formula::Equivalent(a, b)
        | Formula::Until(a, b)
        | Formula::WeakUntil(a, b)
        | Formula::Release(a, b) => {
            each_proposition(a, f);
            each_proposition(b, f);
        }
    }
}

/// Calls `f` for an expression and all its parts.
pub(super) fn walk_expr(expr: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(expr);
    match &expr.kind {
        ExprKind::Read(place) | ExprKind::Len(place) | ExprKind::ChannelTest(_, place) => {
            walk_place(place, f);
        }
        ExprKind::Unary(_, a)
        | ExprKind::Enabled(a)
        | ExprKind::PcValue(a)
        | ExprKind::GetPriority(a) => walk_expr(a, f),
        ExprKind::Binary(_, a, b) => {
            walk_expr(a, f);
            walk_expr(b, f);
        }
        ExprKind::Conditional(a, b, c) => {
            walk_expr(a, f);
            walk_expr(b, f);
            walk_expr(c, f);
        }
        ExprKind::Poll { channel, arguments, .. } => {
            walk_place(channel, f);
            for argument in arguments {
                if let ReceiveArgument::Match(e) = argument {
                    walk_expr(e, f);
                }
            }
        }
        ExprKind::Run { arguments, .. } => arguments.iter().for_each(|e| walk_expr(e, f)),
        ExprKind::RemoteLabel { pid: Some(pid), .. } => walk_expr(pid, f),
        ExprKind::RemoteVariable { pid, place, .. } => {
            if let Some(pid) = pid {
                walk_expr(pid, f);
            }
            walk_place(place, f);
        }
        _ => {}
    }
}

fn walk_place(place: &Place, f: &mut dyn FnMut(&Expr)) {
    for selector in &place.path {
        if let Selector::Index(e, _) = selector {
            walk_expr(e, f);
        }
    }
}

/// Calls `f` for every expression that a claim's body evaluates.
fn each_expr(body: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Condition(e) | StmtKind::Assert(e) => walk_expr(e, f),
            StmtKind::If(branches) | StmtKind::Do(branches) => {
                branches.iter().for_each(|b| each_expr(&b.body, f));
            }
            StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => {
                each_expr(body, f);
            }
            _ => {}
        }
    }
}

/// Whether a type is one that Spin may leave out of the state.
pub(super) fn can_hide(ty: &Type) -> bool {
    !matches!(ty, Type::Chan | Type::Struct(_))
}
