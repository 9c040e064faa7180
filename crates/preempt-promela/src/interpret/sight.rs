//! Which variables a step looks at, with the values it finds there.
//!
//! For readers only: a step that reads `0` and changes nothing has a part in what goes wrong, and a list of
//! changes does not show it. Operands that are not evaluated (`a && b` with a false `a`) are not looked at.
//! Values that a step stores count as well, so that storing what was there already can be seen.

use super::Interpreter;
use super::apply::{Execution, Witness};
use super::channel;
use super::evaluate::View;
use super::process::{Process, processes};
use super::sights::{Sights, distinct};
use crate::ir::{
    ArgumentRange, BinaryOp, ChannelRef, Expr, ExprId, Index, Named, NamedValue, Pattern, Place,
    ValueKind,
};
use preempt_core::{Step, Value};

/// Something in a state.
enum Sight {
    Cell(ValueKind, usize),
    Channel(u32),
}

impl Interpreter {
    /// What taking a step looks at.
    pub fn sights(&self, state: &[u8], step: Step) -> Sights {
        let mut witness = Witness { sights: Some(Sights::default()), ..Witness::default() };
        self.take(&mut state.to_vec(), step, &mut witness);
        witness.sights.unwrap_or_default()
    }

    /// What evaluating an expression outside of all processes looks at.
    pub fn sights_of(&self, state: &[u8], expression: ExprId) -> Vec<(String, Value)> {
        self.seen_by(&View::outside(&self.program, state), expression)
    }

    /// What evaluating an expression looks at.
    pub(super) fn seen_by(&self, view: &View<'_>, expression: ExprId) -> Vec<(String, Value)> {
        let mut list = Vec::new();
        view.look(expression, &mut |sight| list.extend(self.name_sight(view.state, &sight)));
        distinct(list)
    }

    /// A name and a value; `None` for what has no name.
    fn name_sight(&self, state: &[u8], sight: &Sight) -> Option<(String, Value)> {
        match sight {
            Sight::Cell(kind, at) => self.name_cell(state, *kind, *at),
            Sight::Channel(id) => {
                let channel = channel::by_id(&self.program, state, *id as i32)?;
                // What a rendezvous channel holds is no news.
                let name = (!channel.is_rendezvous()).then(|| self.channel_name(state, *id))?;
                Some((name, self.queue(state, channel)))
            }
        }
    }

    fn name_cell(&self, state: &[u8], kind: ValueKind, at: usize) -> Option<(String, Value)> {
        let program = &self.program;
        let find = |names: &[Named], base: usize| {
            let is_here = |place: &Place| base + place.offset as usize == at && place.kind == kind;
            let found = names
                .iter()
                .find(|named| matches!(&named.value, NamedValue::Number(place) if is_here(place)));
            found.cloned()
        };
        if at < program.layout.globals_end as usize {
            let named = find(&program.layout.names, 0)?;
            let value = self.show(state, &named, 0, &program.layout.channels);
            return Some((named.name, value));
        }
        let owner = processes(program, state).take_while(|process| process.base <= at).last()?;
        let proctype = &program.proctypes[owner.proctype];
        let named = find(&proctype.frame.names, owner.base)?;
        let value = self.show(state, &named, owner.base, &proctype.frame.channels);
        Some((format!("{}({}):{}", proctype.name, owner.id, named.name), value))
    }

    /// What a channel is called where it is declared.
    pub(super) fn channel_name(&self, state: &[u8], id: u32) -> String {
        let program = &self.program;
        let called = |names: &[Named], wanted: usize| {
            let is_it = |named: &&Named| matches!(named.value, NamedValue::Channel(index) if index as usize == wanted);
            names.iter().find(is_it).map(|named| named.name.clone())
        };
        let number = (id as usize).saturating_sub(1);
        let globals = program.layout.channels.len();
        if number < globals {
            // A global channel variable may have been given another channel.
            let initial = || {
                program.layout.names.iter().find(|named| {
                matches!(&named.value, NamedValue::ChannelAt(place) if place.kind.load(state, place.offset as usize) == id as i32)
            })
            };
            return called(&program.layout.names, number)
                .or_else(|| initial().map(|named| named.name.clone()))
                .unwrap_or_else(|| format!("channel {id}"));
        }
        let mut rest = number - globals;
        for process in processes(program, state) {
            let proctype = &program.proctypes[process.proctype];
            let own = proctype.frame.channels.len();
            if rest < own {
                let name = called(&proctype.frame.names, rest).or_else(|| {
                    let holds = |named: &&Named| matches!(&named.value, NamedValue::ChannelAt(place)
                        if place.kind.load(state, process.base + place.offset as usize) == id as i32);
                    let named = proctype.frame.names.iter().find(holds);
                    named.map(|named| named.name.clone())
                });
                let owner = format!("{}({})", proctype.name, process.id);
                return match name {
                    Some(name) => format!("{owner}:{name}"),
                    None => format!("a channel of {owner}"),
                };
            }
            rest -= own;
        }
        format!("channel {id}")
    }
}

impl Execution<'_, '_> {
    /// Notes what an expression looks at, if that is to be shown.
    pub(super) fn look(&mut self, me: Process, expression: ExprId) {
        if self.witness.sights.is_some() {
            let seen = self.interpreter.seen_by(&self.view(me), expression);
            self.keep(seen);
        }
    }

    /// The same of a list of expressions.
    pub(super) fn look_all(&mut self, me: Process, range: ArgumentRange) {
        if self.witness.sights.is_some() {
            for expression in &self.interpreter.program.arguments[range.indices()] {
                self.look(me, *expression);
            }
        }
    }

    /// Notes what has just been stored.
    pub(super) fn look_at(&mut self, kind: ValueKind, at: usize) {
        if self.witness.sights.is_some() {
            let seen = self.interpreter.name_sight(self.state, &Sight::Cell(kind, at));
            self.keep(seen.into_iter().collect());
        }
    }

    /// Notes what made an assertion fail.
    pub(super) fn look_why(&mut self, me: Process, condition: ExprId) {
        if self.witness.sights.is_some() {
            let seen = self.interpreter.seen_by(&self.view(me), condition);
            if let Some(sights) = &mut self.witness.sights {
                sights.failing = Some(seen);
            }
        }
    }

    fn keep(&mut self, seen: Vec<(String, Value)>) {
        if let Some(sights) = &mut self.witness.sights {
            sights.add(seen);
        }
    }
}

impl View<'_> {
    /// Calls `see` with everything that evaluating an expression looks at.
    fn look(&self, id: ExprId, see: &mut dyn FnMut(Sight)) {
        match self.program.expr(id) {
            Expr::Load(place) => {
                self.look_indices(&place.indices, see);
                if let Ok(at) = self.address(place) {
                    see(Sight::Cell(place.kind, at));
                }
            }
            Expr::Unary(_, a)
            | Expr::Enabled(a)
            | Expr::PcValue(a)
            | Expr::PriorityOf(a)
            | Expr::At { pid: Some(a), .. } => self.look(*a, see),
            Expr::Binary(op, a, b) => {
                self.look(*a, see);
                let decided = match op {
                    BinaryOp::And => self.value(*a) == Ok(0),
                    BinaryOp::Or => self.value(*a).is_ok_and(|value| value != 0),
                    _ => false,
                };
                if !decided {
                    self.look(*b, see);
                }
            }
            Expr::Divide { dividend, divisor, .. } => {
                self.look(*dividend, see);
                self.look(*divisor, see);
            }
            Expr::Conditional(c, a, b) => {
                self.look(*c, see);
                let chosen = if self.value(*c).is_ok_and(|value| value != 0) { a } else { b };
                self.look(*chosen, see);
            }
            Expr::Bounded(index) => self.look(index.value, see),
            Expr::Length(channel) | Expr::ChannelTest(_, channel) => {
                self.look_channel(channel, see);
            }
            Expr::Poll { channel, pattern, .. } => {
                self.look_channel(channel, see);
                for part in &self.program.patterns[pattern.indices()] {
                    if let Pattern::Match(e) = part {
                        self.look(*e, see);
                    }
                }
            }
            Expr::RemoteLoad { proctype, pid, place } => {
                if let Some(pid) = pid {
                    self.look(*pid, see);
                }
                self.look_indices(&place.indices, see);
                let owner = self.remote(usize::from(proctype.0), *pid);
                if let (Ok(Some(owner)), Ok(offset)) = (owner, self.offset(place)) {
                    see(Sight::Cell(place.kind, owner.base + offset));
                }
            }
            Expr::Const(_)
            | Expr::Timeout
            | Expr::NonProgress
            | Expr::Fragment(_)
            | Expr::Pid
            | Expr::ProcessCount
            | Expr::LastMover
            | Expr::At { pid: None, .. } => {}
        }
    }

    fn look_indices(&self, indices: &[Index], see: &mut dyn FnMut(Sight)) {
        indices.iter().for_each(|index| self.look(index.value, see));
    }

    fn look_channel(&self, channel: &ChannelRef, see: &mut dyn FnMut(Sight)) {
        if let Ok(channel) = self.channel(channel) {
            see(Sight::Channel(channel.id));
        }
    }
}
