//! Never claims and trace automata.
//!
//! They go through the same element graph and transition table as processes, so that their states
//! are Spin's. A claim's atomic sequences are folded into one transition each: the model does not
//! move in between, so all their conditions speak of the same state, unless C changed it before.

use super::element::{Action, Element, Graph, Kind};
use super::table::{self, Code, Table, chained_elements};
use super::usage::each_proposition;
use super::{LowerError, Lowering};
use crate::ir::{
    Automaton, AutomatonMove, AutomatonState, BinaryOp, ChannelRef, ClaimAction, Expr, ExprId,
    FaultId, FormulaUse, Pattern, PatternRange, Statement, TraceMove, TraceProgram, TraceState,
};
use crate::model::{Claim, ExprKind, Model, ReceiveArgument, TraceAutomaton};
use crate::syntax::span::Span;
use preempt_core::FaultKind;
use std::collections::HashMap;

/// Adds a never claim to the program.
pub(super) fn claim(
    lowering: &mut Lowering<'_>,
    claim: &Claim,
    graph: &mut Graph,
    numbers_from: u32,
) -> Result<(), LowerError> {
    let table = table::build(lowering, graph)?;
    let numbers = table.reachable();
    let index: HashMap<u32, u32> =
        numbers.iter().enumerate().map(|(at, number)| (*number, at as u32)).collect();
    let mut states = Vec::new();
    for number in &numbers {
        let mut paths = Vec::new();
        follow(lowering, graph, &table, *number, Path::default(), &mut paths)?;
        let transitions = paths
            .into_iter()
            .filter_map(|(path, target)| {
                let target = index.get(&target).copied().unwrap_or(0);
                transition(lowering, path, target, numbers_from)
            })
            .collect();
        let at = *number as usize;
        states.push(AutomatonState {
            transitions,
            is_accept: table.is_accept[at],
            is_progress: table.is_progress[at],
            is_end: table.is_end[at],
            span: graph.at(at - 1).span,
        });
    }
    let entry = index.get(&table.entry).copied().unwrap_or(0);
    let place = place_of(lowering.model, claim.span);
    lowering.program.claims.push(Automaton { name: claim.name.clone(), states, entry, place });
    Ok(())
}

/// How many process types and claims stand before a place in the text.
fn place_of(model: &Model, span: Span) -> u32 {
    let types = model.proctypes.iter().map(|proctype| proctype.span);
    let all = types.chain(model.claims.iter().map(|claim| claim.span));
    all.filter(|other| other.file == span.file && other.start < span.start).count() as u32
}

/// The transition that a path is, if it has a statement.
fn transition(
    lowering: &mut Lowering<'_>,
    path: Path,
    target: u32,
    numbers_from: u32,
) -> Option<AutomatonMove> {
    let statement = path.statement?;
    let proposition = match (path.is_else, path.condition) {
        (true, None) => None,
        (_, condition) => {
            let condition = condition.unwrap_or_else(|| lowering.constant(1));
            Some(lowering.program.add_proposition(condition) as u32)
        }
    };
    let asserts = path
        .asserts
        .into_iter()
        .map(|(e, fault)| (lowering.program.add_proposition(e) as u32, fault))
        .collect();
    let numbers = path.elements.iter().map(|id| numbers_from + *id as u32).collect();
    Some(AutomatonMove { proposition, asserts, actions: path.actions, target, statement, numbers })
}

/// What is gathered along one way through an atomic sequence of a claim.
#[derive(Clone, Default)]
struct Path {
    condition: Option<ExprId>,
    is_else: bool,
    asserts: Vec<(ExprId, FaultId)>,
    actions: Vec<ClaimAction>,
    statement: Option<Statement>,
    /// Its elements.
    elements: Vec<usize>,
}

fn follow(
    lowering: &mut Lowering<'_>,
    graph: &Graph,
    table: &Table,
    number: u32,
    path: Path,
    paths: &mut Vec<(Path, u32)>,
) -> Result<(), LowerError> {
    for transition in &table.rows[number as usize] {
        let element = graph.at(transition.element);
        if matches!(element.kind, Kind::Stop) {
            continue;
        }
        let mut path = path.clone();
        if path.statement.is_none() {
            path.statement = Some(Statement { span: element.span, text: element.text.clone() });
        }
        path.elements.push(transition.element);
        match transition.code {
            Code::Else => path.is_else = true,
            Code::Skip | Code::Pointer => {}
            Code::Element => {
                let mut ids = vec![transition.element];
                if let Some(end) = table.merges.end_of(transition.element) {
                    ids.extend(chained_elements(graph, &table.merges, transition.element, end));
                }
                for id in ids {
                    gather(lowering, graph, id, &mut path)?;
                }
            }
        }
        if transition.keeps_control && path.elements.len() <= 64 && transition.target != 0 {
            follow(lowering, graph, table, transition.target, path, paths)?;
        } else {
            paths.push((path, transition.target));
        }
    }
    Ok(())
}

fn gather(
    lowering: &mut Lowering<'_>,
    graph: &Graph,
    id: usize,
    path: &mut Path,
) -> Result<(), LowerError> {
    let element = graph.at(id);
    match &element.kind {
        Kind::Basic(Action::Condition(e)) => {
            let condition = lowering.value(e, None)?;
            if !path.actions.is_empty() {
                let index = lowering.program.add_proposition(condition) as u32;
                path.actions.push(ClaimAction::Require(index));
                return Ok(());
            }
            path.condition = Some(match path.condition {
                Some(before) => lowering.expr(Expr::Binary(BinaryOp::And, before, condition)),
                None => condition,
            });
        }
        Kind::Basic(Action::Assert(e)) => {
            let condition = lowering.value(e, None)?;
            let message = format!("assertion violated: {}", lowering.model.sources.text(e.span));
            let fault = lowering.fault(FaultKind::Assertion, message, element.span);
            if !path.actions.is_empty() {
                let index = lowering.program.add_proposition(condition) as u32;
                path.actions.push(ClaimAction::Assert(index, fault));
                return Ok(());
            }
            path.asserts.push((condition, fault));
        }
        Kind::Basic(Action::Code(fragment)) => {
            let fragment = lowering.fragment(*fragment, element.span);
            path.actions.push(ClaimAction::Code(fragment));
        }
        Kind::Basic(Action::Printf { .. } | Action::Printm(_) | Action::Nothing) => {}
        Kind::Basic(_) | Kind::DStep => {
            return Err(LowerError::new(
                "a never claim can only look at the state, or change it by C",
                element.span,
            ));
        }
        _ => {}
    }
    Ok(())
}

/// Adds the trace automaton to the program.
pub(super) fn trace(
    lowering: &mut Lowering<'_>,
    trace: &TraceAutomaton,
    mut graph: Graph,
) -> Result<(), LowerError> {
    let table = table::build(lowering, &mut graph)?;
    let numbers = table.reachable();
    let index: HashMap<u32, u32> =
        numbers.iter().enumerate().map(|(at, number)| (*number, at as u32)).collect();
    if numbers.len() > 255 {
        return Err(LowerError::new("the trace automaton has too many states", trace.span));
    }
    let mut program = TraceProgram {
        negated: trace.negated,
        states: Vec::new(),
        watched_sends: Vec::new(),
        watched_receives: Vec::new(),
        fault: lowering.fault(
            FaultKind::Assertion,
            if trace.negated {
                "all events of the notrace automaton happened"
            } else {
                "the trace automaton does not allow this event"
            },
            trace.span,
        ),
        entry: index.get(&table.entry).copied().unwrap_or(0) as u8,
        end: None,
    };
    for number in &numbers {
        let mut state = TraceState { is_end: table.is_end[*number as usize], ..Default::default() };
        for transition in &table.rows[*number as usize] {
            let element = graph.at(transition.element);
            let target = index.get(&transition.target).copied().unwrap_or(0) as u8;
            if matches!(element.kind, Kind::Stop) {
                program.end = index.get(number).map(|at| *at as u8);
                continue;
            }
            let (channel, receive, pattern) = event(lowering, element)?;
            let watched =
                if receive { &mut program.watched_receives } else { &mut program.watched_sends };
            if !watched.contains(&channel) {
                watched.push(channel);
            }
            state.transitions.push(TraceMove { channel, receive, pattern, target });
        }
        program.states.push(state);
    }
    lowering.program.trace = Some(program);
    Ok(())
}

/// The channel that an event of the trace is on, whether it is a receive, and what the message must be.
fn event(
    lowering: &mut Lowering<'_>,
    element: &Element,
) -> Result<(u32, bool, PatternRange), LowerError> {
    let (channel, receive, patterns) = match &element.kind {
        Kind::Basic(Action::Send { channel, values, .. }) => {
            let fields = values.iter().map(|value| event_field(lowering, value));
            (channel, false, fields.collect::<Result<Vec<_>, _>>()?)
        }
        Kind::Basic(Action::Receive { channel, arguments, .. }) => {
            let fields = arguments.iter().map(|argument| match argument {
                ReceiveArgument::Match(e) => event_field(lowering, e),
                _ => Ok(Pattern::Ignore),
            });
            (channel, true, fields.collect::<Result<Vec<_>, _>>()?)
        }
        _ => {
            let message = "only sends and receives can stand in a trace";
            return Err(LowerError::new(message, element.span));
        }
    };
    let patterns = lowering.patterns(patterns);
    let ChannelRef::Global(channel) = lowering.channel(channel, None)? else {
        let message = "a trace can only watch global channels that are never assigned";
        return Err(LowerError::new(message, element.span));
    };
    Ok((channel + 1, receive, patterns))
}

/// Constants must match; variables stand for anything.
fn event_field(lowering: &mut Lowering<'_>, e: &crate::model::Expr) -> Result<Pattern, LowerError> {
    if matches!(e.kind, ExprKind::Read(_)) {
        // Also `_` and variables that are kept nowhere, which would lower to constants.
        return Ok(Pattern::Ignore);
    }
    let value = lowering.value(e, None)?;
    Ok(match lowering.program.expr(value) {
        Expr::Const(_) => Pattern::Match(value),
        _ => Pattern::Ignore,
    })
}

impl Lowering<'_> {
    /// The propositions of the model's `ltl` blocks.
    pub(super) fn collect_formulas(&mut self) -> Result<(), LowerError> {
        for ltl in &self.model.formulas {
            let mut expressions = Vec::new();
            each_proposition(&ltl.formula, &mut |e| expressions.push(e.clone()));
            let mut propositions = Vec::new();
            for e in expressions {
                let value = self.value(&e, None)?;
                propositions.push(self.program.add_proposition(value) as u32);
            }
            self.program.formulas.push(FormulaUse { name: ltl.name.clone(), propositions });
        }
        Ok(())
    }
}
