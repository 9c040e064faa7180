//! A checked program as flow graphs: one graph per function, a statement per edge.
//!
//! This is what all engines work on. An edge is one indivisible step; a thread may be interrupted
//! at every node. Conditions are two edges, a failing assertion is an edge to a node of its own.

mod calls;
mod domain;
mod elaborate;
mod expression;
mod liveness;
mod lower;
mod order;
mod slots;
mod solve;
mod threads;
mod values;

use crate::diagnostic::{Diagnostic, Lines};
use crate::syntax::ast::{Module, Span, StatementKind};
use crate::syntax::{Dialect, parse_module};
use std::sync::Arc;

pub(crate) use domain::Domain;
pub(crate) use expression::{Expr, Possible};
pub(crate) use liveness::Liveness;
pub(crate) use lower::{Place, Watched, watched};
pub(crate) use solve::Choices;

pub(crate) type VariableId = usize;
pub(crate) type FunctionId = usize;
pub(crate) type NodeId = usize;

/// What a variable belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Owner {
    /// All threads.
    Shared,
    /// Each thread has its own copy.
    Thread,
    /// Each activation of the function has its own copy.
    Function(FunctionId),
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) width: u8,
    pub(crate) is_bool: bool,
    pub(crate) owner: Owner,
    /// Variables with the same number were declared together.
    pub(crate) group: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Goes on where the condition can be true.
    Assume(Expr),
    Assign {
        lhs: Vec<VariableId>,
        rhs: Vec<Expr>,
        constrain: Option<Expr>,
    },
    Call {
        function: FunctionId,
        args: Vec<Expr>,
        lhs: Vec<VariableId>,
    },
    /// Ends the activation; as many values as the function returns.
    Return(Vec<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) from: NodeId,
    /// Where it goes on; meaningless for a return.
    pub(crate) to: NodeId,
    pub(crate) operation: Operation,
    pub(crate) line: u32,
    pub(crate) text: String,
}

/// Why a node is a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    Label(String),
    Assertion(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) params: Vec<VariableId>,
    pub(crate) locals: Vec<VariableId>,
    pub(crate) returns: Vec<u8>,
    pub(crate) entry: NodeId,
    pub(crate) edges: Vec<Edge>,
    /// The edges that leave each node.
    pub(crate) out: Vec<Vec<usize>>,
    /// Labels and failed assertions, with their lines.
    pub(crate) marks: Vec<(NodeId, Mark, u32)>,
}

impl Function {
    /// Parameters, then other local variables.
    pub(crate) fn frame(&self) -> impl Iterator<Item = VariableId> + '_ {
        self.params.iter().chain(&self.locals).copied()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) name: String,
    pub(crate) function: FunctionId,
}

/// A program that can be checked.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) file: String,
    pub(crate) variables: Vec<Variable>,
    pub(crate) shared: Vec<VariableId>,
    pub(crate) private: Vec<VariableId>,
    /// The flag that is set inside atomic sections, if there are any.
    pub(crate) atomic: Option<VariableId>,
    pub(crate) functions: Vec<Function>,
    pub(crate) init: Option<FunctionId>,
    pub(crate) threads: Vec<Thread>,
    /// Per function, whether it may call itself, directly or not.
    pub(crate) recursive: Vec<bool>,
    /// The same program as a tree, without sugar; what the translations start from.
    pub(crate) module: Module,
    /// Some `start_thread` may run more than once, so the number of threads is not fixed; so many
    /// of these threads were made.
    pub(crate) instances: Option<usize>,
    /// What more of these threads can be made from.
    source: Option<Arc<Source>>,
    /// It stands for a pushdown system, which has configurations instead of labels.
    pub(crate) is_pushdown: bool,
}

/// A program as it was read.
#[derive(Debug)]
struct Source {
    module: Module,
    dialect: Dialect,
    lines: Lines,
}

/// How many threads are made at first for the `start_thread`s that may run more than once.
const FIRST_INSTANCES: usize = 2;

/// Reads and checks a program.
///
/// `file` is only used in messages. Warnings come with the program, errors instead of it.
pub fn parse(
    source: &str,
    file: &str,
    dialect: Dialect,
) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    let lines = Lines::new(file, source);
    let (module, warnings) = parse_module(source, dialect, &lines)?;
    let kept = starts_threads(&module).then(|| module.clone());
    let elaborated = elaborate::elaborate(module, dialect, FIRST_INSTANCES, &lines)?;
    let mut program = lower::lower(elaborated, file, &lines)?;
    match program.thread_variable_in_init() {
        Some((line, name)) => {
            let message =
                format!("`init` uses the thread variable `{name}`, which it does not have");
            let note = "every thread has its own: give it a value where the thread starts, or at \
                        its declaration";
            Err(vec![lines.error("B0020", &lines.start_of(line), message).note(note)])
        }
        None => {
            if let (Some(module), true) = (kept, program.instances.is_some()) {
                program.source = Some(Arc::new(Source { module, dialect, lines }));
            }
            Ok((program, warnings))
        }
    }
}

fn starts_threads(module: &Module) -> bool {
    let mut starts = false;
    for function in &module.functions {
        function.each_statement(&mut |s| {
            starts |= matches!(s.kind, StatementKind::StartThread(_));
        });
    }
    starts
}

impl Program {
    /// Checks a tree that a translation made.
    pub(crate) fn from_module(module: Module) -> Result<Program, Vec<Diagnostic>> {
        Self::from_tree(module, "", &Lines::new("", ""))
    }

    /// Checks a tree that was made from another language.
    pub(crate) fn from_tree(
        module: Module,
        file: &str,
        lines: &Lines,
    ) -> Result<Program, Vec<Diagnostic>> {
        let elaborated = elaborate::elaborate(module, Dialect::Slam, 0, lines)?;
        Ok(Program { is_pushdown: true, ..lower::lower(elaborated, file, lines)? })
    }

    /// The same program with enough threads for all executions of at most so many switches, if the
    /// number of threads is not fixed.
    pub(crate) fn with_threads_for(&self, switches: usize) -> Result<Option<Program>, Diagnostic> {
        let (Some(made), Some(source)) = (self.instances, &self.source) else { return Ok(None) };
        if made == switches {
            return Ok(None);
        }
        let again = || {
            let Source { module, dialect, lines } = &**source;
            let elaborated = elaborate::elaborate(module.clone(), *dialect, switches, lines)?;
            lower::lower(elaborated, &self.file, lines)
        };
        match again() {
            Ok(program) => Ok(Some(Program { source: Some(source.clone()), ..program })),
            Err(errors) => Err(errors.into_iter().next().unwrap_or_else(|| self.not_fixed())),
        }
    }

    /// Why a question has no answer for a program that starts threads without end.
    pub(crate) fn not_fixed(&self) -> Diagnostic {
        let message = "the number of threads is not fixed: a `start_thread` may run more than once";
        let note = "ask for a number of context switches (--switches, --iterate): with k switches \
                    at most k + 1 threads run";
        Lines::new(&self.file, "").error("B0014", &(0..0), message).note(note)
    }

    /// Where `init`, or what it calls, uses a variable of the threads.
    fn thread_variable_in_init(&self) -> Option<(u32, &str)> {
        let init = self.init?;
        let mut functions = self.calls_from(init);
        functions.push(init);
        for edge in functions.iter().flat_map(|f| &self.functions[*f].edges) {
            let mut used = None;
            let mut visit = |v: VariableId| {
                let hidden = self.atomic == Some(v);
                if self.variables[v].owner == Owner::Thread && !hidden {
                    used = Some(v);
                }
            };
            edge.operation.each_read(&mut visit);
            edge.operation.each_write(&mut visit);
            if let Some(v) = used {
                return Some((edge.line, &self.variables[v].name));
            }
        }
        None
    }

    /// How many threads run.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Whether some function may call itself, directly or not.
    pub fn is_recursive(&self) -> bool {
        self.recursive.contains(&true)
    }

    /// The labels of the program, without repetition.
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for (_, mark, _) in self.functions.iter().flat_map(|f| &f.marks) {
            if let Mark::Label(name) = mark
                && !labels.contains(name)
            {
                labels.push(name.clone());
            }
        }
        labels
    }

    /// The functions that a call of `function` may enter, itself only if it calls itself.
    pub(crate) fn calls_from(&self, function: FunctionId) -> Vec<FunctionId> {
        let mut reached = Vec::new();
        let mut seen = vec![false; self.functions.len()];
        let mut work = vec![function];
        while let Some(caller) = work.pop() {
            for edge in &self.functions[caller].edges {
                if let Operation::Call { function, .. } = edge.operation
                    && !std::mem::replace(&mut seen[function], true)
                {
                    reached.push(function);
                    work.push(function);
                }
            }
        }
        reached
    }

    /// For each thread, the first thread that runs the same code.
    pub(crate) fn class_of(&self, thread: usize) -> usize {
        let function = self.threads[thread].function;
        self.threads.iter().position(|t| t.function == function).unwrap_or(thread)
    }

    /// The nodes to reach: per function, which nodes are targets.
    pub(crate) fn targets(&self, target: Option<&str>) -> Result<Targets, Diagnostic> {
        let wanted: Vec<String> = match target {
            Some(label) => vec![label.to_string()],
            None => vec!["Target".into(), "SLIC_ERROR".into()],
        };
        let mut found_label = false;
        let mut nodes = Vec::new();
        for function in &self.functions {
            let mut is_target = vec![None; function.out.len()];
            for (i, (node, mark, _)) in function.marks.iter().enumerate() {
                let counts = match mark {
                    Mark::Label(name) => wanted.contains(name),
                    Mark::Assertion(_) => true,
                };
                found_label |= counts && matches!(mark, Mark::Label(_));
                if counts && is_target[*node].is_none() {
                    is_target[*node] = Some(i);
                }
            }
            nodes.push(is_target);
        }
        if let Some(label) = target
            && !found_label
        {
            let lines = Lines::new(&self.file, "");
            let labels = self.labels();
            let known = if labels.is_empty() {
                "the program has no labels".to_string()
            } else {
                format!("the labels are {}", labels.join(", "))
            };
            let message = format!("no statement has the label `{label}`");
            return Err(lines.error("B0019", &(0..0), message).note(known));
        }
        Ok(Targets { nodes })
    }

    pub(crate) fn mark(&self, function: FunctionId, index: usize) -> (&Mark, u32) {
        let (_, mark, line) = &self.functions[function].marks[index];
        (mark, *line)
    }

    pub(crate) fn is_shared(&self, variable: VariableId) -> bool {
        self.variables[variable].owner == Owner::Shared
    }

    /// Whether an edge reads or writes a shared variable, or leaves an atomic section: the only
    /// places behind which an interruption can make a difference.
    pub(crate) fn is_switch_point(&self, function: FunctionId, edge: usize) -> bool {
        let edge = &self.functions[function].edges[edge];
        let mut touches = false;
        edge.operation.each_read(&mut |v| touches |= self.is_shared(v));
        edge.operation.each_write(&mut |v| touches |= self.is_shared(v) || self.atomic == Some(v));
        touches
    }
}

impl Operation {
    pub(crate) fn each_read(&self, visit: &mut dyn FnMut(VariableId)) {
        match self {
            Operation::Assume(condition) => condition.each_variable(visit),
            Operation::Assign { rhs, constrain, .. } => {
                rhs.iter().chain(constrain).for_each(|e| e.each_variable(visit));
            }
            Operation::Call { args, .. } => args.iter().for_each(|e| e.each_variable(visit)),
            Operation::Return(values) => values.iter().for_each(|e| e.each_variable(visit)),
        }
    }

    /// What the edge itself assigns; of a call, what receives the results.
    pub(crate) fn each_write(&self, visit: &mut dyn FnMut(VariableId)) {
        match self {
            Operation::Assign { lhs, .. } | Operation::Call { lhs, .. } => {
                lhs.iter().for_each(|v| visit(*v));
            }
            Operation::Assume(_) | Operation::Return(_) => {}
        }
    }
}

/// What is asked: per function and node, the mark that makes the node a target.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    pub(crate) nodes: Vec<Vec<Option<usize>>>,
}

impl Targets {
    /// Nothing can violate anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.iter().flatten().all(Option::is_none)
    }

    pub(crate) fn at(&self, function: FunctionId, node: NodeId) -> Option<usize> {
        self.nodes[function][node]
    }
}

/// The line on which a span starts.
fn line_of(lines: &Lines, span: &Span) -> u32 {
    if *span == (0..0) { 0 } else { lines.line(span.start) }
}
