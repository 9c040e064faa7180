//! Writes the moves of a process type.

use super::element::{Action, Graph, Id, Kind, SequenceId};
use super::safety::Need;
use super::table::{Code, Table, Transition, chained_elements};
use super::{LowerError, Lowering, POLLED_RENDEZVOUS};
use crate::ir::Promise;
use crate::ir::{
    Block, BlockGuard, BlockOption, Condition, ControlState, Expr, Move, MoveId, MoveKind, Op, Pc,
    Place, Proctype, ProctypeIndex, Safety, Statement,
};
use crate::model::{self, ExprKind};
use crate::syntax::span::Span;
use crate::syntax::{Diagnostic, codes};
use preempt_core::FaultKind;
use std::collections::HashMap;

/// Adds a process type and its moves to the program.
pub(super) fn proctype(
    lowering: &mut Lowering<'_>,
    index: usize,
    graph: &Graph,
    table: &Table,
) -> Result<(), LowerError> {
    let declaration = &lowering.model.proctypes[index];
    let numbers = table.reachable();
    let mut states = Vec::new();
    for number in &numbers {
        let row = &table.rows[*number as usize];
        let mut moves = Vec::new();
        for transition in row {
            let id = lowering.move_id();
            let emitted = emit_move(lowering, index, graph, table, *number, transition)?;
            lowering.program.moves.push(emitted);
            moves.push(id);
        }
        let at = *number as usize;
        let safety = safety(lowering, index, row, &moves)?;
        let span = row.first().map_or(graph.at(at - 1).span, |t| graph.at(t.element).span);
        states.push(ControlState {
            moves,
            is_end: table.is_end[at],
            is_accept: table.is_accept[at],
            is_progress: table.is_progress[at],
            is_observed: graph.at(at - 1).status & super::element::OBSERVED != 0,
            number: *number as u16,
            safety,
            span,
        });
    }
    let provided = match &declaration.provided {
        Some(e) => Some(lowering.value(e, Some(index))?),
        None => None,
    };
    let (initial_frame, on_start) = lowering.initial_frame(index)?;
    let mut parameters: Vec<Place> = Vec::new();
    for local in 0..declaration.parameter_count {
        parameters.extend(lowering.scalars_of(index, local));
    }
    let pcs = &lowering.pcs[index];
    let labels = lowering.labels[index]
        .iter()
        .filter_map(|(name, number)| Some((name.clone(), Pc(*pcs.get(number)?))))
        .collect();
    let entry = Pc(pcs.get(&table.entry).copied().unwrap_or(0));
    let promises = promises(lowering, index)?;
    let deterministic = declaration.deterministic.then(|| {
        let message = format!("`{}` is a D_proctype and has a choice here", declaration.name);
        lowering.fault(FaultKind::Runtime, message, declaration.span)
    });
    lowering.program.proctypes.push(Proctype {
        name: declaration.name.clone(),
        frame: lowering.storage.frames[index].clone(),
        parameters,
        initial_frame,
        on_start,
        entry,
        states,
        provided,
        priority: declaration.priority.unwrap_or(1).clamp(1, 255) as u8,
        first_number: lowering.first_numbers[index],
        labels,
        promises,
        deterministic,
    });
    Ok(())
}

/// What `xr` and `xs` in the body promise.
fn promises(lowering: &mut Lowering<'_>, index: usize) -> Result<Vec<Promise>, LowerError> {
    let mut promises = Vec::new();
    for (process, place, receive) in lowering.facts.promises.clone() {
        if process != index {
            continue;
        }
        let name = lowering.model.sources.text(place.span);
        let message = if receive {
            format!("another process receives from `{name}`, declared `xr`")
        } else {
            format!("another process sends to `{name}`, declared `xs`")
        };
        let fault = lowering.fault(FaultKind::Exclusivity, message, place.span);
        for channel in lowering.channels_of(&place, Some(index))?.unwrap_or_default() {
            promises.push(Promise { channel, receive, fault });
        }
    }
    Ok(promises)
}

fn emit_move(
    lowering: &mut Lowering<'_>,
    index: usize,
    graph: &Graph,
    table: &Table,
    source: u32,
    transition: &Transition,
) -> Result<Move, LowerError> {
    let id = transition.element;
    let element = graph.at(id);
    let mut ops = Vec::new();
    let mut statements = vec![Statement { span: element.span, text: element.text.clone() }];
    let mut joined = Vec::new();
    let one = lowering.constant(1);
    let kind = match (transition.code, &element.kind) {
        (Code::Else, _) => MoveKind::Else,
        (Code::Skip | Code::Pointer, _) => MoveKind::Plain { guard: one },
        (Code::Element, Kind::Stop) => MoveKind::End,
        (Code::Element, Kind::DStep) => {
            let blocks = d_step(lowering, index, graph, id)?;
            let endless = has_loop(&blocks)
                .then(|| lowering.fault(FaultKind::Runtime, "`d_step` never ends", element.span));
            MoveKind::Compound { blocks, endless }
        }
        (Code::Element, Kind::Basic(action)) => {
            let kind = action_kind(lowering, index, action, element.span, &mut ops)?;
            reset_dead(lowering, index, table, id, &mut ops);
            kind
        }
        (Code::Element, _) => MoveKind::Plain { guard: one },
    };
    if let (Code::Element, Some(end)) = (transition.code, table.merges.end_of(id)) {
        for next in chained_elements(graph, &table.merges, id, end) {
            let element = graph.at(next);
            if let Kind::Basic(action) = &element.kind {
                joined.push(lowering.first_numbers[index] + next as u32);
                action_kind(lowering, index, action, element.span, &mut ops)?;
                reset_dead(lowering, index, table, next, &mut ops);
            }
            if !element.text.is_empty() {
                statements.push(Statement { span: element.span, text: element.text.clone() });
            }
        }
    }
    let pc = |number: u32| Pc(lowering.pcs[index].get(&number).copied().unwrap_or(0));
    Ok(Move {
        proctype: ProctypeIndex(index as u8),
        source: pc(source),
        kind,
        ops,
        target: pc(transition.target),
        keeps_control: transition.keeps_control,
        escape: transition.escape as u16,
        statements,
        number: lowering.first_numbers[index] + id as u32,
        joined,
    })
}

fn reset_dead(lowering: &mut Lowering<'_>, index: usize, table: &Table, id: Id, ops: &mut Vec<Op>) {
    for local in table.dead.get(&id).into_iter().flatten() {
        if let Some(place) = lowering.local_place(index, *local) {
            let value = lowering.constant(0);
            ops.push(Op::Store { place, value });
        }
    }
}

/// When a statement is enabled; what it does goes to `ops`.
fn action_kind(
    lowering: &mut Lowering<'_>,
    index: usize,
    action: &Action,
    span: Span,
    ops: &mut Vec<Op>,
) -> Result<MoveKind, LowerError> {
    let process = Some(index);
    let mut guard = lowering.constant(1);
    match action {
        Action::Condition(e) => {
            // The number of a process that is started is not 0.
            guard = match e.kind {
                ExprKind::Run { .. } => lowering.constant(1),
                _ => lowering.value(e, process)?,
            };
            start_processes(lowering, index, e, ops)?;
        }
        Action::Assign(place, value) => assign(lowering, index, place, value, span, ops)?,
        Action::Nothing => {}
        Action::Send { channel, sorted, values } => {
            return send(lowering, process, channel, *sorted, values, span);
        }
        Action::Receive { channel, random, copy, arguments } => {
            let (random, copy) = (*random, *copy);
            let channel = lowering.channel(channel, process)?;
            let pattern = lowering.pattern(arguments, process)?;
            lowering.program.pattern_spans.insert(pattern.start, span);
            let message = match copy {
                true => POLLED_RENDEZVOUS,
                false => "not as many fields are received as the channel has",
            };
            let misfit = lowering.fault(FaultKind::Runtime, message, span);
            return Ok(MoveKind::Receive { channel, random, copy, pattern, misfit });
        }
        Action::Assert(e) => {
            let condition = lowering.value(e, process)?;
            let message = format!("assertion violated: {}", lowering.model.sources.text(e.span));
            let fault = lowering.fault(FaultKind::Assertion, message, span);
            ops.push(Op::Assert { condition, fault });
        }
        Action::Printf { format, arguments } => {
            let arguments = lowering.values(arguments, process)?;
            let arguments = lowering.arguments(arguments);
            lowering.program.formats.push(unescape(format));
            let format = lowering.program.formats.len() as u32 - 1;
            ops.push(Op::Print { format, arguments });
        }
        Action::Printm(e) => {
            let value = lowering.value(e, process)?;
            ops.push(Op::PrintName { value });
        }
        Action::Code(fragment) => {
            let fragment = lowering.fragment(*fragment, span);
            ops.push(Op::Fragment(fragment));
        }
        Action::OwnPriority(value) => {
            let pid = lowering.expr(Expr::Pid);
            let value = lowering.value(value, process)?;
            let fault = lowering.fault(FaultKind::Runtime, "priority out of range", span);
            ops.push(Op::SetPriority { pid, value, fault });
        }
        Action::SetPriority(pid, value) => {
            let pid = lowering.value(pid, process)?;
            let value = lowering.value(value, process)?;
            let fault = lowering.fault(FaultKind::Runtime, "priority out of range", span);
            ops.push(Op::SetPriority { pid, value, fault });
        }
    }
    Ok(MoveKind::Plain { guard })
}

fn assign(
    lowering: &mut Lowering<'_>,
    index: usize,
    place: &model::Place,
    value: &model::Expr,
    span: Span,
    ops: &mut Vec<Op>,
) -> Result<(), LowerError> {
    let process = Some(index);
    let runs = start_processes(lowering, index, value, ops)?;
    let mut value = lowering.value(value, process)?;
    if runs {
        // The new process exists by now: its id is the count less one.
        let one = lowering.constant(1);
        value = lowering.expr(Expr::Binary(crate::ir::BinaryOp::Subtract, value, one));
    }
    match lowering.store_place(place, process)? {
        Ok(place) => {
            lowering.program.value_spans.entry(value).or_insert(span);
            ops.push(Op::Store { place, value });
        }
        Err(indices) => {
            ops.extend(indices.into_iter().map(|value| Op::Evaluate { value }));
            ops.push(Op::Evaluate { value });
        }
    }
    Ok(())
}

fn send(
    lowering: &mut Lowering<'_>,
    process: Option<usize>,
    channel: &model::Place,
    sorted: bool,
    values: &[model::Expr],
    span: Span,
) -> Result<MoveKind, LowerError> {
    let most = lowering.program.layout.channel_types.iter().map(|ty| ty.fields.len()).max();
    if values.len() > most.unwrap_or(0) {
        let message = "no channel of the model has messages of so many fields";
        return Err(Diagnostic::error(codes::MESSAGE_LENGTH, span, message).into());
    }
    let channel = lowering.channel(channel, process)?;
    let values = lowering.values(values, process)?;
    let values = lowering.passed(values, span);
    let message = "the message has not as many fields as its channel";
    let misfit = lowering.fault(FaultKind::Runtime, message, span);
    Ok(MoveKind::Send { channel, sorted, values, misfit })
}

/// Adds the processes that an expression starts; says whether there are any.
fn start_processes(
    lowering: &mut Lowering<'_>,
    index: usize,
    e: &model::Expr,
    ops: &mut Vec<Op>,
) -> Result<bool, LowerError> {
    let mut runs = Vec::new();
    super::usage::walk_expr(e, &mut |part| {
        if let ExprKind::Run { proctype, arguments, priority } = &part.kind {
            runs.push((*proctype, arguments.clone(), *priority, part.span));
        }
    });
    let any = !runs.is_empty();
    for (proctype, arguments, priority, span) in runs {
        let arguments = lowering.values(&arguments, Some(index))?;
        let arguments = lowering.passed(arguments, span);
        let fault = lowering.fault(FaultKind::Limit, "too many processes (255)", span);
        let priority = priority.unwrap_or(1).clamp(1, 255) as u8;
        let proctype = ProctypeIndex(proctype.0 as u8);
        ops.push(Op::Run { proctype, arguments, priority, fault });
    }
    Ok(any)
}

/// The blocks of a `d_step`.
fn d_step(
    lowering: &mut Lowering<'_>,
    index: usize,
    graph: &Graph,
    id: Id,
) -> Result<Vec<Block>, LowerError> {
    let Some(inner) = graph.at(id).inner else { return Ok(Vec::new()) };
    let outside = graph.at(id).next;
    let mut blocks = Vec::new();
    let mut known = HashMap::new();
    let mut queue = vec![graph.sequences[inner].first];
    // Blocks are numbered as they are first mentioned; 0 is the start.
    let mut place = |id: Option<Id>, queue: &mut Vec<Id>| -> Option<u32> {
        let id = follow(graph, id?, outside)?;
        let next = known.len() as u32;
        Some(*known.entry(id).or_insert_with(|| {
            queue.push(id);
            next
        }))
    };
    let start = queue.pop();
    place(start, &mut queue);
    let mut at = 0;
    while at < queue.len() {
        let id = queue[at];
        at += 1;
        let element = graph.at(id);
        let mut options = Vec::new();
        let mut starts = Vec::new();
        match element.kind {
            Kind::If | Kind::Do => first_statements(graph, &element.options, &mut starts),
            _ => starts.push(id),
        }
        for start in starts {
            let statement = graph.at(start);
            let next = match statement.kind {
                Kind::Goto(_) => Some(graph.target(start)),
                _ => statement.next,
            };
            let mut ops = Vec::new();
            let one = lowering.constant(1);
            let kind = match &statement.kind {
                Kind::Else if start == id && at == 1 => BlockGuard::Else,
                Kind::Basic(action) => {
                    match action_kind(lowering, index, action, statement.span, &mut ops)? {
                        MoveKind::Send { channel, sorted, values, misfit } => {
                            BlockGuard::Send { channel, sorted, values, misfit }
                        }
                        MoveKind::Receive { channel, random, copy, pattern, misfit } => {
                            BlockGuard::Receive { channel, random, copy, pattern, misfit }
                        }
                        MoveKind::Plain { guard } => BlockGuard::Condition(guard),
                        _ => BlockGuard::Condition(one),
                    }
                }
                _ => BlockGuard::Condition(one),
            };
            let next = place(next, &mut queue);
            options.push(BlockOption { kind, ops, next });
        }
        let blocked = lowering.fault(FaultKind::Runtime, "`d_step` blocks inside", element.span);
        blocks.push(Block { options, blocked });
    }
    Ok(blocks)
}

/// Whether a block can be reached from itself.
fn has_loop(blocks: &[Block]) -> bool {
    let after = |at: usize| blocks[at].options.iter().filter_map(|o| o.next.map(|n| n as usize));
    let mut waiting = vec![0; blocks.len()];
    for next in (0..blocks.len()).flat_map(after) {
        waiting[next] += 1;
    }
    // Takes away blocks that nothing leads to; those on a loop, and behind one, stay.
    let mut free: Vec<usize> = (0..blocks.len()).filter(|at| waiting[*at] == 0).collect();
    let mut taken = 0;
    while let Some(at) = free.pop() {
        taken += 1;
        for next in after(at) {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                free.push(next);
            }
        }
    }
    taken < blocks.len()
}

/// The statement that execution inside a `d_step` comes to; `None` when it leaves.
fn follow(graph: &Graph, mut id: Id, outside: Option<Id>) -> Option<Id> {
    for _ in 0..=graph.elements.len() {
        let element = graph.at(id);
        if Some(id) == outside || element.status & super::element::IN_D_STEP == 0 {
            return None;
        }
        id = match (&element.kind, element.inner) {
            (Kind::Goto(_), _) => graph.target(id),
            (Kind::Join | Kind::Exit, _) => element.next?,
            (_, Some(inner)) => graph.sequences[inner].first,
            _ => return Some(id),
        };
    }
    None
}

/// The statements that the options of a selection start with, inner selections taken apart.
fn first_statements(graph: &Graph, options: &[SequenceId], starts: &mut Vec<Id>) {
    for option in options {
        let mut id = graph.sequences[*option].first;
        for _ in 0..=graph.elements.len() {
            let element = graph.at(id);
            match (&element.kind, element.inner, element.next) {
                (Kind::If | Kind::Do, _, _) => {
                    first_statements(graph, &element.options, starts);
                    break;
                }
                (_, Some(inner), _) => id = graph.sequences[inner].first,
                (Kind::Join, _, Some(next)) => id = next,
                _ => {
                    starts.push(id);
                    break;
                }
            }
        }
    }
}

/// What partial-order reduction may assume of a control state.
fn safety(
    lowering: &mut Lowering<'_>,
    index: usize,
    row: &[Transition],
    moves: &[MoveId],
) -> Result<Safety, LowerError> {
    let mut needs = Vec::new();
    for transition in row {
        if transition.global {
            return Ok(Safety::Unsafe);
        }
        for need in &transition.needs {
            super::safety::add_need(&mut needs, need.clone());
        }
    }
    if needs.len() > 6 || row.is_empty() {
        return Ok(Safety::Unsafe);
    }
    let local = needs.is_empty() && !moves.iter().any(|id| touches_others(lowering, *id));
    let mut conditions = Vec::new();
    for need in needs {
        let (place, make): (_, fn(crate::ir::ChannelRef) -> Condition) = match need {
            Need::Youngest => {
                conditions.push(Condition::Youngest);
                continue;
            }
            Need::Mixed | Need::Timeout => return Ok(Safety::Unsafe),
            Need::NotFull(place) => (place, Condition::NotFull),
            Need::NotEmpty(place) => (place, Condition::NotEmpty),
            Need::Empty(place) => (place, Condition::Empty),
            Need::Full(place) => (place, Condition::Full),
        };
        let Some(channels) = lowering.channels_of(&place, Some(index))? else {
            return Ok(Safety::Unsafe);
        };
        for channel in channels {
            // With `unless` around, the channel must be neither empty nor full.
            if lowering.facts.uses_unless {
                match make(channel.clone()) {
                    Condition::NotFull(c) | Condition::NotEmpty(c) => {
                        conditions.push(Condition::NotFull(c.clone()));
                        conditions.push(Condition::NotEmpty(c));
                        continue;
                    }
                    _ => {}
                }
            }
            conditions.push(make(channel));
        }
    }
    Ok(Safety::Safe { conditions, local })
}

/// Starts a process or ends one.
fn touches_others(lowering: &Lowering<'_>, id: MoveId) -> bool {
    let step = lowering.program.move_of(id);
    matches!(step.kind, MoveKind::End) || step.ops.iter().any(|op| matches!(op, Op::Run { .. }))
}

fn unescape(format: &str) -> String {
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            '"' => {}
            other => out.push(other),
        }
    }
    out
}
