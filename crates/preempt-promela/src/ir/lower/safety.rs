//! Which statements touch only their own process's data, and under which conditions a control state
//! is safe for partial-order reduction. Spin's rules.

use super::element::{Action, Graph, IN_D_STEP, Id, Kind, SequenceId};
use super::usage::{EXCLUSIVE_RECEIVE, EXCLUSIVE_SEND, Facts, WATCHED, walk_expr};
use super::{Lowering, Owner, element};
use crate::embedded::FragmentId;
use crate::model::{
    Base, ChannelTest, Expr, ExprKind, Initializer, Model, Place, ReceiveArgument, Selector, Type,
    Variable,
};

/// Decides whether statements refer to global data.
#[derive(Clone, Copy)]
pub(super) struct Globals<'a> {
    pub(super) model: &'a Model,
    pub(super) facts: &'a Facts,
    pub(super) process: Option<usize>,
    /// A provided clause makes every statement global; merging does not look at that.
    pub(super) provided: bool,
    /// Counts what Spin overlooks: the index of a local array, what C may touch, and all initial values but the last of a
    /// process type that is started. Merging overlooks it once in a chain to have Spin's states, reduction must not.
    pub(super) strict: bool,
    /// Per process type, the variables that a statement of the body initialises.
    late: &'a [Vec<u32>],
}

impl<'a> Globals<'a> {
    pub(super) fn new(lowering: &'a Lowering<'_>, process: Option<usize>) -> Self {
        Globals {
            model: lowering.model,
            facts: &lowering.facts,
            process,
            provided: false,
            strict: false,
            late: &lowering.late,
        }
    }

    pub(super) fn element(&self, graph: &Graph, id: Id) -> bool {
        if self.provided {
            return true;
        }
        let element = graph.at(id);
        match (&element.kind, element.inner) {
            (Kind::Basic(action), _) => self.action(action),
            (Kind::Else, _) => self.is_bad_else(graph, id),
            (_, Some(inner)) => self.sequence(graph, inner),
            _ => false,
        }
    }

    /// Whether anything inside an atomic sequence is global, or may leave it by a jump.
    pub(super) fn sequence(&self, graph: &Graph, sequence: SequenceId) -> bool {
        let chain = graph.chain(sequence);
        chain.iter().any(|id| {
            let element = graph.at(*id);
            element.status & element::OBSERVED != 0
                || self.element(graph, *id)
                || (matches!(element.kind, Kind::Goto(_))
                    && element.status & IN_D_STEP == 0
                    && !contains(graph, sequence, final_target(graph, *id)))
                || element.options.iter().any(|option| self.sequence(graph, *option))
        })
    }

    /// `else` next to an option that starts with a channel operation.
    fn is_bad_else(&self, graph: &Graph, id: Id) -> bool {
        graph.elements.iter().any(|selection| {
            let first = |o: &SequenceId| graph.sequences[*o].first;
            matches!(selection.kind, Kind::If | Kind::Do)
                && selection.options.iter().any(|o| first(o) == id)
                && selection.options.iter().any(|o| match &graph.at(first(o)).kind {
                    Kind::Basic(Action::Send { .. } | Action::Receive { .. }) => true,
                    Kind::Basic(Action::Condition(e)) => tests_channel(e),
                    _ => false,
                })
        })
    }

    pub(super) fn action(&self, action: &Action) -> bool {
        match action {
            Action::Condition(e) | Action::Assert(e) | Action::Printm(e) => self.expr(e),
            Action::Assign(place, value) => self.place(place) || self.expr(value),
            Action::Nothing => false,
            Action::Send { channel, values, .. } => {
                values.iter().any(|e| self.expr(e)) || !self.promised(channel, EXCLUSIVE_SEND)
            }
            Action::Receive { channel, arguments, .. } => {
                self.any_argument(arguments) || !self.promised(channel, EXCLUSIVE_RECEIVE)
            }
            Action::Printf { arguments, .. } => arguments.iter().any(|e| self.expr(e)),
            Action::Code(fragment) => self.code(*fragment),
            Action::SetPriority(..) => true,
            Action::OwnPriority(e) => self.expr(e),
        }
    }

    /// Whether a statement has to do with what other processes can change or see, also where Spin takes it for local: it
    /// starts a process, or uses a channel that only the model's promises make its own.
    pub(super) fn is_shared(&self, graph: &Graph, id: Id) -> bool {
        let mut found = Globals { strict: true, ..*self }.element(graph, id);
        let mut look = |e: &Expr| {
            walk_expr(e, &mut |e| {
                found |= matches!(
                    e.kind,
                    ExprKind::Run { .. }
                        | ExprKind::Len(_)
                        | ExprKind::ChannelTest(..)
                        | ExprKind::Poll { .. }
                );
            });
        };
        match &graph.at(id).kind {
            Kind::Basic(Action::Send { .. } | Action::Receive { .. }) => found = true,
            Kind::Basic(
                Action::Condition(e)
                | Action::Assert(e)
                | Action::Printm(e)
                | Action::Assign(_, e)
                | Action::OwnPriority(e),
            ) => look(e),
            Kind::Basic(Action::Printf { arguments, .. }) => arguments.iter().for_each(look),
            _ => {}
        }
        found
    }

    /// C may touch anything, unless it is about simple variables of its own process alone. Spin looks for `now.` and for calls.
    fn code(&self, fragment: FragmentId) -> bool {
        let fragment = &self.model.embedded.fragments[fragment.0 as usize];
        let text = &fragment.text.text;
        match self.strict {
            true => {
                !self.is_private(text)
                    || fragment.guard.as_ref().is_some_and(|guard| !self.is_private(guard))
            }
            false => text.contains("now.") || text.contains('('),
        }
    }

    /// Whether C uses nothing but numbers and simple variables of the executing process (`Pname->x`).
    fn is_private(&self, text: &str) -> bool {
        let Some(process) = self.process else { return false };
        let proctype = &self.model.proctypes[process];
        let own = format!("P{}", proctype.name.trim_matches(':'));
        let is_simple = |name: &str| {
            let mut known = proctype.locals.iter().filter(|local| local.name == name);
            let simple = |v: &Variable| v.array.is_none() && !matches!(v.ty, Type::Struct(_));
            name == "_pid" || known.next().is_some_and(simple)
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut rest = text;
        while let Some(start) = rest.find(is_word) {
            let (between, from) = rest.split_at(start);
            let (word, behind) = from.split_at(from.find(|c| !is_word(c)).unwrap_or(from.len()));
            let is_private = match between.trim_end().ends_with("->") {
                true => is_simple(word),
                false => word == own || word.starts_with(|c: char| c.is_ascii_digit()),
            };
            if !is_private {
                return false;
            }
            rest = behind;
        }
        !text.replace("&&", "").contains(['&', '[', '"', '\'', '#'])
    }

    fn any_argument(&self, arguments: &[ReceiveArgument]) -> bool {
        arguments.iter().any(|argument| match argument {
            ReceiveArgument::Store(place) => self.place(place),
            ReceiveArgument::Match(e) => self.expr(e),
            ReceiveArgument::Ignore => false,
        })
    }

    fn promised(&self, channel: &Place, flags: u8) -> bool {
        let Some(owner) = Owner::of(channel.base, self.process) else { return false };
        let known = self.facts.exclusive.get(&owner).copied().unwrap_or(0);
        known & (flags | WATCHED) == flags
    }

    fn place(&self, place: &Place) -> bool {
        let index = |s: &Selector| matches!(s, Selector::Index(e, _) if self.expr(e));
        if self.strict && place.path.iter().any(index) {
            return true;
        }
        match place.base {
            Base::Global(id) => !self.facts.users.is_owned(self.model, id.0),
            Base::Local(_) | Base::Scratch => false,
        }
    }

    pub(super) fn expr(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Mtype(_) | ExprKind::Pid | ExprKind::Priority => false,
            ExprKind::Read(place) => self.place(place),
            ExprKind::Unary(_, a) => self.expr(a),
            ExprKind::Binary(_, a, b) => self.expr(a) || self.expr(b),
            ExprKind::Conditional(a, b, c) => self.expr(a) || self.expr(b) || self.expr(c),
            ExprKind::Len(channel) => !self.promised(channel, EXCLUSIVE_RECEIVE | EXCLUSIVE_SEND),
            ExprKind::ChannelTest(test, channel) => {
                let flag = match test {
                    ChannelTest::NotEmpty | ChannelTest::Full => EXCLUSIVE_RECEIVE,
                    ChannelTest::NotFull | ChannelTest::Empty => EXCLUSIVE_SEND,
                };
                !self.promised(channel, flag)
            }
            ExprKind::Poll { channel, arguments, .. } => {
                self.any_argument(arguments)
                    || !self.promised(channel, EXCLUSIVE_RECEIVE | EXCLUSIVE_SEND)
            }
            ExprKind::Run { proctype, .. } => self.has_global_initialisers(proctype.0 as usize),
            ExprKind::Code(fragment) => self.code(*fragment),
            ExprKind::Enabled(_)
            | ExprKind::PcValue(_)
            | ExprKind::GetPriority(_)
            | ExprKind::Timeout
            | ExprKind::NonProgress
            | ExprKind::ProcessCount
            | ExprKind::Last
            | ExprKind::RemoteLabel { .. }
            | ExprKind::RemoteVariable { .. } => true,
        }
    }

    /// The initialisers of a process may read globals, so starting it is not a local matter. Spin goes by the last one of
    /// the text, also if it is executed where it stands.
    fn has_global_initialisers(&self, index: usize) -> bool {
        let proctype = &self.model.proctypes[index];
        let locals = proctype.locals.iter().enumerate().skip(proctype.parameter_count);
        let mut given = locals.filter_map(|(at, v)| Some((at as u32, v.init.as_ref()?)));
        match self.strict {
            true => {
                let late = self.late.get(index).map_or(&[][..], |late| late);
                given.any(|(at, init)| !late.contains(&at) && may_be_global(init))
            }
            false => given.next_back().is_some_and(|(_, init)| may_be_global(init)),
        }
    }
}

fn may_be_global(init: &Initializer) -> bool {
    match init {
        Initializer::Expr(e) => match &e.kind {
            ExprKind::Const(_) | ExprKind::Mtype(_) => false,
            ExprKind::Read(place) => !matches!(place.base, Base::Local(_)),
            _ => true,
        },
        Initializer::List(_) | Initializer::Channel(_) => true,
    }
}

/// A test of a channel's fill level inside a condition.
fn tests_channel(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::ChannelTest(..) => true,
        ExprKind::Unary(_, a) => tests_channel(a),
        ExprKind::Binary(_, a, b) => tests_channel(a) || tests_channel(b),
        _ => false,
    }
}

/// Where a jump ends up after all jumps behind it.
fn final_target(graph: &Graph, mut id: Id) -> Id {
    for _ in 0..33 {
        let element = graph.at(id);
        id = match (&element.kind, element.next) {
            (Kind::Goto(_), _) => graph.target(id),
            (Kind::Exit, Some(next)) => graph.resolve(next, element.status, None),
            _ => return id,
        };
    }
    id
}

fn contains(graph: &Graph, sequence: SequenceId, id: Id) -> bool {
    let mut seen = vec![false; graph.elements.len()];
    reaches(graph, graph.sequences[sequence].first, id, &mut seen)
}

fn reaches(graph: &Graph, mut at: Id, id: Id, seen: &mut [bool]) -> bool {
    loop {
        if at == id {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            for option in &graph.at(at).options {
                if reaches(graph, graph.sequences[*option].first, id, seen) {
                    return true;
                }
            }
        } else {
            return false;
        }
        match graph.at(at).next {
            Some(next) => at = next,
            None => return false,
        }
    }
}

/// What a statement needs of the state at hand to be safe. At most two per statement.
#[derive(Clone, Debug)]
pub(super) enum Need {
    NotFull(Place),
    NotEmpty(Place),
    Empty(Place),
    Full(Place),
    Youngest,
    /// Makes the whole selection unsafe.
    Mixed,
    /// Never safe.
    Timeout,
}

fn same(a: &Need, b: &Need) -> bool {
    let key = |p: &Place| (p.base, field_path(p));
    match (a, b) {
        (Need::NotFull(x), Need::NotFull(y))
        | (Need::NotEmpty(x), Need::NotEmpty(y))
        | (Need::Empty(x), Need::Empty(y))
        | (Need::Full(x), Need::Full(y)) => key(x) == key(y),
        (Need::Youngest, Need::Youngest)
        | (Need::Mixed, Need::Mixed)
        | (Need::Timeout, Need::Timeout) => true,
        _ => false,
    }
}

fn field_path(place: &Place) -> Vec<u32> {
    place
        .path
        .iter()
        .filter_map(|s| match s {
            Selector::Field(_, field) => Some(*field),
            Selector::Index(..) => None,
        })
        .collect()
}

/// Adds a need unless it is there already.
pub(super) fn add_need(needs: &mut Vec<Need>, need: Need) {
    if !needs.iter().any(|n| same(n, &need)) {
        needs.push(need);
    }
}

/// The needs of one element.
pub(super) fn needs_of(graph: &Graph, id: Id) -> Vec<Need> {
    match &graph.at(id).kind {
        Kind::Stop => vec![Need::Youngest],
        Kind::Basic(Action::Send { channel, .. }) => vec![Need::NotFull(channel.clone())],
        Kind::Basic(Action::Receive { channel, .. }) => vec![Need::NotEmpty(channel.clone())],
        Kind::Basic(Action::Condition(e)) => {
            let mut needs = Vec::new();
            condition_needs(e, &mut needs);
            if needs.len() > 2 { vec![Need::Mixed] } else { needs }
        }
        _ => Vec::new(),
    }
}

fn condition_needs(e: &Expr, needs: &mut Vec<Need>) {
    match &e.kind {
        ExprKind::ChannelTest(test, channel) => needs.push(match test {
            ChannelTest::Full => Need::Full(channel.clone()),
            ChannelTest::Empty => Need::Empty(channel.clone()),
            ChannelTest::NotFull => Need::NotFull(channel.clone()),
            ChannelTest::NotEmpty => Need::NotEmpty(channel.clone()),
        }),
        ExprKind::Timeout => needs.push(Need::Timeout),
        ExprKind::Unary(_, a) => condition_needs(a, needs),
        ExprKind::Binary(_, a, b) => {
            condition_needs(a, needs);
            condition_needs(b, needs);
        }
        ExprKind::Conditional(a, b, c) => {
            condition_needs(a, needs);
            condition_needs(b, needs);
            condition_needs(c, needs);
        }
        _ => {}
    }
}
