//! From a resolved model to the intermediate form, control state for control state as Spin 6.5.2
//! does it, because the states of the control graph decide which states of the model are counted.
//!
//! Per process: [`element`] lays the statements out as a graph of elements, [`dataflow`] finds
//! variables that can be reset and [`merge`] chains of steps that become one, [`table`] turns
//! the rest into transitions per control state, [`emit`] writes the moves.

mod automaton;
mod body;
mod dataflow;
mod element;
mod embedded;
mod emit;
mod expression;
mod initial;
mod jumps;
mod locality;
mod merge;
mod owned;
mod safety;
mod storage;
mod table;
mod usage;

use super::{Expr, ExprId, FaultEntry, FaultId, Layout, MoveId, Pattern, ProctypeIndex, Program};
use crate::model::{Base, Model, Type, Variable, Visibility};
use crate::syntax::span::Span;
use crate::syntax::{Diagnostic, codes};
use preempt_core::FaultKind;
use std::collections::{HashMap, HashSet};

/// What is wrong with `c?[…]` and `c?<…>` on a channel without slots.
const POLLED_RENDEZVOUS: &str = "a rendezvous channel is polled, which never holds a message";

/// Which of Spin's translation steps to take. All of them change the number of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowerOptions {
    /// Join steps that cannot be told apart (Spin's -o3 turns it off).
    pub merge: bool,
    /// Set local variables to 0 where their value cannot matter any more (-o1, -o2).
    pub reset_dead: bool,
    /// Leave globals that are never read out of the state (-o2).
    pub hide_unread: bool,
    /// Let `_nr_pr` count the claim, as Spin does in a search with a claim.
    pub count_claim: bool,
    /// Take for safe what Spin takes for safe, also where others notice it.
    pub safe_as_spin: bool,
}

impl Default for LowerOptions {
    fn default() -> Self {
        LowerOptions {
            merge: true,
            reset_dead: true,
            hide_unread: true,
            count_claim: false,
            safe_as_spin: false,
        }
    }
}

impl LowerOptions {
    /// No optional step at all: every statement is a step, every variable is in the state.
    pub fn plain() -> Self {
        LowerOptions {
            merge: false,
            reset_dead: false,
            hide_unread: false,
            ..LowerOptions::default()
        }
    }
}

/// Why a model cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowerError(Box<Diagnostic>);

impl LowerError {
    /// Something that cannot be represented.
    fn new(message: impl Into<String>, span: Span) -> LowerError {
        Diagnostic::error(codes::UNTRANSLATABLE, span, message).into()
    }

    /// The same as a diagnostic, with its code.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::clone(&self.0)
    }
}

impl From<Diagnostic> for LowerError {
    fn from(diagnostic: Diagnostic) -> LowerError {
        LowerError(Box::new(diagnostic))
    }
}

impl std::fmt::Display for LowerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for LowerError {}

/// Translates a model.
pub fn lower(model: &Model, options: LowerOptions) -> Result<Program, LowerError> {
    embedded::demand_library(model)?;
    let (mut program, counted) = unrestricted(model, options)?;
    if !options.safe_as_spin {
        locality::restrict_noticed(&mut program, counted);
        locality::restrict_interrupting(&mut program);
    }
    locality::restrict(&mut program);
    Ok(program)
}

/// Whether a model can be [lowered](lower), without what is only found out for reductions: a fifth of the work.
pub fn can_be_lowered(model: &Model, options: LowerOptions) -> Result<(), LowerError> {
    unrestricted(model, options).map(|_| ())
}

/// The program before anything is known about what steps have to do with each other, and whether processes are
/// counted.
fn unrestricted(model: &Model, options: LowerOptions) -> Result<(Program, bool), LowerError> {
    let mut lowering = Lowering::new(model, options);
    let mut bodies = Vec::new();
    for (index, proctype) in model.proctypes.iter().enumerate() {
        bodies.push(body::build(&lowering, Some(index), &proctype.body, proctype.end_span)?);
    }
    let mut claims = Vec::new();
    for claim in &model.claims {
        if let Some(local) = claim.locals.first() {
            return Err(LowerError::new(
                "a never claim cannot have variables of its own",
                local.span,
            ));
        }
        claims.push(body::build(&lowering, None, &claim.body, claim.end_span)?);
    }
    let trace = match &model.trace {
        Some(trace) => Some(body::build(&lowering, None, &trace.body, trace.end_span)?),
        None => None,
    };
    lowering.first_numbers = first_numbers(model, &bodies, &claims, trace.as_ref());
    let most = bodies.iter().map(element::Graph::len).max().unwrap_or(0);
    if let Some(large) = bodies.iter().position(|b| b.len() > usize::from(u16::MAX)) {
        let message = "this process type has more than 65535 statements";
        return Err(LowerError::new(message, model.proctypes[large].span));
    }
    if let Some(extra) = model.proctypes.get(255) {
        let message = "a model has at most 255 process types";
        return Err(LowerError::new(message, extra.span));
    }
    lowering.program.layout.pc_width = if most > 255 { 2 } else { 1 };
    lowering.program.layout.length_width = if lowering.facts.largest_channel > 255 { 2 } else { 1 };
    for (proctype, graph) in model.proctypes.iter().zip(&bodies) {
        let mut locals = proctype.locals.clone();
        locals.extend((0..graph.counters).map(|_| loop_counter(proctype.span)));
        lowering.locals.push(locals);
        lowering.late.push(graph.late.clone());
    }
    lowering.allocate()?;
    lowering.note_shared_locals();
    lowering.mark_observed(&mut bodies);
    let mut tables = Vec::new();
    for graph in &mut bodies {
        tables.push(table::build(&lowering, graph)?);
    }
    lowering.program.merges_statements &= !tables.iter().any(|table| table.merges.shortened);
    lowering.number_states(&tables);
    for (index, (graph, table)) in bodies.iter().zip(&tables).enumerate() {
        emit::proctype(&mut lowering, index, graph, table)?;
    }
    let numbers = claim_numbers(model, &bodies, &claims, trace.as_ref());
    for ((claim, graph), first) in model.claims.iter().zip(&mut claims).zip(numbers) {
        automaton::claim(&mut lowering, claim, graph, first)?;
    }
    if let (Some(trace), Some(graph)) = (&model.trace, trace) {
        automaton::trace(&mut lowering, trace, graph)?;
    }
    lowering.collect_formulas()?;
    lowering.initial_globals()?;
    let counted = lowering.facts.counts_processes;
    Ok((lowering.finish(), counted))
}

/// The number, in Spin's trails, of the first statement of each process type: statements are counted in
/// the order of the text.
fn first_numbers(
    model: &Model,
    bodies: &[element::Graph],
    claims: &[element::Graph],
    trace: Option<&element::Graph>,
) -> Vec<u32> {
    let others = model.claims.iter().map(|claim| claim.span).zip(claims);
    let others: Vec<(Span, &element::Graph)> =
        others.chain(model.trace.iter().map(|trace| trace.span).zip(trace)).collect();
    let mut earlier = 0;
    let mut numbers = Vec::new();
    for (proctype, graph) in model.proctypes.iter().zip(bodies) {
        let stands_before =
            |span: Span| span.file == proctype.span.file && span.start < proctype.span.start;
        let between = others.iter().filter(|(span, _)| stands_before(*span));
        let between: usize = between.map(|(_, graph)| graph.elements.len()).sum();
        numbers.push((earlier + between) as u32);
        earlier += graph.elements.len();
    }
    numbers
}

/// The same of each claim.
fn claim_numbers(
    model: &Model,
    bodies: &[element::Graph],
    claims: &[element::Graph],
    trace: Option<&element::Graph>,
) -> Vec<u32> {
    let processes = model.proctypes.iter().map(|proctype| proctype.span).zip(bodies);
    let claimed = model.claims.iter().map(|claim| claim.span).zip(claims);
    let all: Vec<(Span, &element::Graph)> = processes
        .chain(claimed)
        .chain(model.trace.iter().map(|trace| trace.span).zip(trace))
        .collect();
    let before = |claim: Span| {
        let earlier =
            all.iter().filter(|(span, _)| span.file == claim.file && span.start < claim.start);
        earlier.map(|(_, graph)| graph.elements.len() as u32).sum()
    };
    model.claims.iter().map(|claim| before(claim.span)).collect()
}

/// What is known while translating.
struct Lowering<'m> {
    model: &'m Model,
    options: LowerOptions,
    program: Program,
    /// Facts about the whole model: what is read, which features occur.
    facts: usage::Facts,
    /// Where the variables are.
    storage: storage::Storage,
    /// Which control state an element (by its number) of a process type became.
    pcs: Vec<HashMap<u32, u16>>,
    /// Label names of a process type and the numbers of their elements.
    labels: Vec<Vec<(String, u32)>>,
    constants: HashMap<i32, ExprId>,
    /// The locals of each process type, counters of loops included.
    locals: Vec<Vec<Variable>>,
    /// Locals that are initialised by a step of the body.
    late: Vec<Vec<u32>>,
    /// Per process type, see [`first_numbers`].
    first_numbers: Vec<u32>,
}

/// A local that the model does not name.
fn loop_counter(span: Span) -> Variable {
    Variable {
        name: "(loop)".into(),
        ty: Type::Byte,
        array: None,
        init: None,
        visibility: Visibility::Plain,
        nested: true,
        span,
    }
}

impl<'m> Lowering<'m> {
    fn new(model: &'m Model, options: LowerOptions) -> Self {
        let facts = usage::Facts::collect(model);
        let mut options = options;
        // Spin: a remote reference to a variable, or a provided clause, would see the difference.
        if facts.uses_remote_variables {
            options.merge = false;
            options.reset_dead = false;
        }
        // C may look at any variable; Spin resets none either.
        if !model.embedded.is_empty() {
            options.reset_dead = false;
            options.hide_unread = false;
        }
        if model.proctypes.iter().any(|p| p.provided.is_some()) {
            options.merge = false;
        }
        Lowering {
            model,
            options,
            program: Program {
                layout: Layout::default(),
                exprs: Vec::new(),
                patterns: Vec::new(),
                arguments: Vec::new(),
                proctypes: Vec::new(),
                moves: Vec::new(),
                faults: Vec::new(),
                formats: Vec::new(),
                start: Vec::new(),
                initial_globals: Vec::new(),
                propositions: Vec::new(),
                claims: Vec::new(),
                formulas: Vec::new(),
                trace: None,
                uses_timeout: facts.uses_timeout,
                merges_statements: options.merge,
                circular_question: None,
                uses_unless: facts.uses_unless,
                uses_rendezvous: facts.uses_rendezvous,
                embedded: None,
                notes: Vec::new(),
                value_spans: HashMap::new(),
                pattern_spans: HashMap::new(),
                sources: model.sources.clone(),
                mtypes: model.mtypes.clone(),
            },
            facts,
            storage: storage::Storage::default(),
            pcs: Vec::new(),
            labels: Vec::new(),
            constants: HashMap::new(),
            locals: Vec::new(),
            late: Vec::new(),
            first_numbers: Vec::new(),
        }
    }

    fn expr(&mut self, expr: Expr) -> ExprId {
        if let Expr::Const(value) = expr {
            if let Some(&id) = self.constants.get(&value) {
                return id;
            }
            let id = self.program.add_expr(expr);
            self.constants.insert(value, id);
            return id;
        }
        self.program.add_expr(expr)
    }

    fn constant(&mut self, value: i32) -> ExprId {
        self.expr(Expr::Const(value))
    }

    fn fault(&mut self, kind: FaultKind, message: impl Into<String>, span: Span) -> FaultId {
        let entry = FaultEntry { kind, message: message.into(), span };
        if let Some(at) = self.program.faults.iter().position(|f| *f == entry) {
            return FaultId(at as u32);
        }
        self.program.faults.push(entry);
        FaultId(self.program.faults.len() as u32 - 1)
    }

    fn patterns(&mut self, patterns: Vec<Pattern>) -> super::PatternRange {
        let start = self.program.patterns.len() as u32;
        self.program.patterns.extend(patterns);
        super::PatternRange { start, end: self.program.patterns.len() as u32 }
    }

    fn arguments(&mut self, arguments: Vec<ExprId>) -> super::ArgumentRange {
        let start = self.program.arguments.len() as u32;
        self.program.arguments.extend(arguments);
        super::ArgumentRange { start, end: self.program.arguments.len() as u32 }
    }

    /// The same for values that are cut to a type where they arrive.
    fn passed(&mut self, arguments: Vec<ExprId>, span: Span) -> super::ArgumentRange {
        for argument in &arguments {
            self.program.value_spans.entry(*argument).or_insert(span);
        }
        self.arguments(arguments)
    }

    /// Marks the elements whose labels other processes or properties look at.
    fn mark_observed(&mut self, bodies: &mut [element::Graph]) {
        let observed: HashSet<(usize, String)> = self.facts.observed_labels.clone();
        for (index, graph) in bodies.iter_mut().enumerate() {
            for (owner, label) in &observed {
                if *owner == index {
                    graph.observe(label);
                }
            }
            self.labels.push(graph.labels());
        }
    }

    /// Gives the reachable elements of every process type their control states.
    fn number_states(&mut self, tables: &[table::Table]) {
        for table in tables {
            let numbers = table.reachable();
            self.pcs.push(
                numbers.iter().enumerate().map(|(pc, number)| (*number, pc as u16)).collect(),
            );
        }
    }

    fn move_id(&self) -> MoveId {
        MoveId(self.program.moves.len() as u32)
    }

    fn finish(mut self) -> Program {
        for (index, proctype) in self.model.proctypes.iter().enumerate() {
            for _ in 0..proctype.active {
                self.program.start.push(ProctypeIndex(index as u8));
            }
        }
        self.program
    }
}

/// A variable of the model: a global, or a local of a process type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Global(u32),
    Local(usize, u32),
}

impl Owner {
    fn of(base: Base, process: Option<usize>) -> Option<Owner> {
        match (base, process) {
            (Base::Global(id), _) => Some(Owner::Global(id.0)),
            (Base::Local(id), Some(process)) => Some(Owner::Local(process, id.0)),
            _ => None,
        }
    }
}
