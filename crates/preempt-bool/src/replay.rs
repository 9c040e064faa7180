//! A plain interpreter that runs a counterexample step by step before it is shown.
//!
//! It shares the flow graphs with the engines and nothing else: states are ordinary values, every
//! step is checked to be possible, and the last one must arrive at a target.

use crate::explicit::Machine;
use crate::flow::{Expr, Mark, Operation, Owner, Program, Targets, VariableId};
use preempt_core::{Change, Step, Switch, System, Trace, TraceStep, Value};

/// What a step does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Gives uninitialised variables their values, before the process has done anything.
    Start(Vec<(VariableId, u64)>),
    /// Takes an edge of a function. The values are those assigned; or those passed, then those of
    /// the callee's other locals; or those returned. What is missing may be anything possible.
    Edge(usize, usize, Vec<Option<u64>>),
}

/// One step of one process, with the values it chooses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Move {
    /// 0 is `init`, then the threads.
    pub(crate) process: usize,
    pub(crate) action: Action,
}

/// A run of one thread between two context switches.
#[derive(Clone, PartialEq, Debug)]
pub struct Context {
    /// The thread, counted from 0.
    pub thread: usize,
    /// Its name.
    pub name: String,
    /// The steps of the trace it covers.
    pub steps: std::ops::Range<usize>,
    /// The shared variables where it starts.
    pub shared: Vec<(String, Value)>,
    /// The call stack where it ends: functions with the lines they are at, outermost first.
    pub stack: Vec<(String, u32)>,
}

/// A counterexample that was run.
#[derive(Clone, Debug)]
pub(crate) struct Replayed {
    pub(crate) trace: Trace,
    pub(crate) contexts: Vec<Context>,
    /// Function and mark of the target that is reached.
    pub(crate) mark: (usize, usize),
    pub(crate) moves: Vec<Move>,
}

pub(crate) struct Frame {
    pub(crate) function: usize,
    pub(crate) node: usize,
    /// The call edge a frame waits at.
    pub(crate) waits: Option<usize>,
    pub(crate) locals: Vec<u64>,
}

pub(crate) struct Interpreter<'p> {
    program: &'p Program,
    /// Values of shared variables, by variable.
    pub(crate) shared: Vec<u64>,
    /// Per process, values of thread variables, by variable.
    pub(crate) private: Vec<Vec<u64>>,
    pub(crate) stacks: Vec<Vec<Frame>>,
    /// Whether each process has done anything.
    moved: Vec<bool>,
}

/// Runs the moves; the error says which one is impossible.
pub(crate) fn replay(
    program: &Program,
    targets: &Targets,
    moves: &[Move],
) -> Result<Replayed, String> {
    let mut run = Interpreter::new(program);
    let mut trace = Trace { initial: run.variables(), ..Trace::default() };
    let mut contexts: Vec<Context> = Vec::new();
    let mut last: Option<usize> = None;
    let mut reasons = Vec::new();
    for (at, step) in moves.iter().enumerate() {
        let fail = |why: &str| format!("step {} of {}: {why}", at + 1, moves.len());
        let switch = match last {
            Some(0) | None => Switch::None,
            Some(process) if process == step.process => Switch::None,
            Some(process) if run.can_move(process) => Switch::Preemption,
            Some(_) => Switch::Forced,
        };
        if switch != Switch::None && last.is_some_and(|process| run.in_atomic_section(process)) {
            return Err(fail("an atomic section is interrupted"));
        }
        if last != Some(step.process) && step.process > 0 {
            close(contexts.last_mut(), &run, last, trace.steps.len());
            contexts.push(Context {
                thread: step.process - 1,
                name: program.threads[step.process - 1].name.clone(),
                steps: trace.steps.len()..trace.steps.len(),
                shared: run.shared_values(),
                stack: Vec::new(),
            });
        }
        let before = run.variables();
        let looked_at = run.looked_at(step);
        reasons = run.reasons(step, targets, &looked_at);
        let (line, text) = match &step.action {
            Action::Edge(function, edge, _) => {
                let edge = &program.functions[*function].edges[*edge];
                (edge.line, edge.text.clone())
            }
            Action::Start(_) => (0, "choose the values of uninitialised variables".into()),
        };
        match &step.action {
            Action::Start(values) => run.start(step.process, values).map_err(|e| fail(&e))?,
            Action::Edge(function, edge, values) => {
                run.take(step.process, *function, *edge, values).map_err(|e| fail(&e))?;
            }
        }
        let changes = changes(&before, &run.variables());
        let is_unchanged = |name: &str| !changes.iter().any(|change| change.name == name);
        let unchanged = looked_at.into_iter().filter(|(name, _)| is_unchanged(name)).collect();
        trace.observations.seen.push(unchanged);
        trace.steps.push(TraceStep {
            process: if step.process == 0 {
                "init".into()
            } else {
                program.threads[step.process - 1].name.clone()
            },
            pid: step.process,
            partner: None,
            file: program.file.clone(),
            line,
            text,
            switch,
            changes,
            output: String::new(),
        });
        last = Some(step.process);
    }
    let process = last.ok_or("there are no steps")?;
    close(contexts.last_mut(), &run, last, trace.steps.len());
    let top = run.stacks[process].last().ok_or("the last thread has ended")?;
    let mark = targets.at(top.function, top.node).ok_or("the last step reaches no target")?;
    let mark = (top.function, mark);
    trace.observations.reasons = reasons;
    Ok(Replayed { trace, contexts, mark, moves: moves.to_vec() })
}

/// Ends the context of a process before this step.
fn close(context: Option<&mut Context>, run: &Interpreter<'_>, process: Option<usize>, end: usize) {
    if let (Some(context), Some(process)) = (context, process) {
        context.steps.end = end;
        context.stack = run.stack(process);
    }
}

/// An execution of the explicit engine with what each step changes and looks at, and why the last one fails. The machine
/// itself forgets values that are not read any more. None where the execution does not end at a target.
pub fn observed(machine: &Machine<'_>, steps: &[Step]) -> Option<Trace> {
    let moves = moves_of(machine, steps);
    replay(&machine.program, &machine.targets, &moves).ok().map(|replayed| replayed.trace)
}

/// Turns the steps of the explicit engine into moves by running them on its machine.
pub(crate) fn moves_of(machine: &Machine<'_>, steps: &[Step]) -> Vec<Move> {
    let mut state = Vec::new();
    machine.initial(&mut state);
    let mut moves = Vec::new();
    for step in steps {
        let values = machine.values(&state, *step);
        let process = step.process.index();
        let action = match machine.edge_of(step.transition) {
            Some((function, edge)) => {
                Action::Edge(function, edge, values.into_iter().map(Some).collect())
            }
            None => Action::Start(machine.started_by(process).into_iter().zip(values).collect()),
        };
        moves.push(Move { process, action });
        machine.apply(&mut state, *step);
    }
    moves
}

impl<'p> Interpreter<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        let count = program.variables.len();
        let mut stacks = vec![program.init.map(|f| frame(program, f)).into_iter().collect()];
        stacks.extend(program.threads.iter().map(|t| vec![frame(program, t.function)]));
        let private = vec![vec![0; count]; stacks.len()];
        let moved = vec![false; stacks.len()];
        Interpreter { program, shared: vec![0; count], private, stacks, moved }
    }

    fn get(&self, process: usize, variable: VariableId) -> u64 {
        match self.program.variables[variable].owner {
            Owner::Shared => self.shared[variable],
            Owner::Thread => self.private[process][variable],
            Owner::Function(function) => {
                let place = self.program.functions[function].frame().position(|v| v == variable);
                match (self.stacks[process].last(), place) {
                    (Some(top), Some(place)) if top.function == function => top.locals[place],
                    _ => 0,
                }
            }
        }
    }

    fn set(&mut self, process: usize, variable: VariableId, value: u64) {
        match self.program.variables[variable].owner {
            Owner::Shared => self.shared[variable] = value,
            Owner::Thread => self.private[process][variable] = value,
            Owner::Function(function) => {
                let place = self.program.functions[function].frame().position(|v| v == variable);
                if let (Some(top), Some(place)) = (self.stacks[process].last_mut(), place) {
                    top.locals[place] = value;
                }
            }
        }
    }

    pub(crate) fn start(
        &mut self,
        process: usize,
        values: &[(VariableId, u64)],
    ) -> Result<(), String> {
        if std::mem::replace(&mut self.moved[process], true) {
            return Err("initial values come after the first step".into());
        }
        for (v, value) in values {
            if process > 0 && self.program.is_shared(*v) {
                return Err("a thread chooses the start value of a shared variable".into());
            }
            self.set(process, *v, *value);
        }
        Ok(())
    }

    /// The given values, completed and checked against what the expressions can be.
    fn chosen(
        &self,
        process: usize,
        expressions: &[Expr],
        values: &[Option<u64>],
    ) -> Option<Vec<u64>> {
        let get = |v| self.get(process, v);
        let choose = |(i, e): (usize, &Expr)| {
            let possible = e.possible(&get, &get);
            let value = values.get(i).copied().flatten().unwrap_or_else(|| possible.nth(0));
            possible.contains(value).then_some(value)
        };
        expressions.iter().enumerate().map(choose).collect()
    }

    fn holds(&self, process: usize, expr: &Expr) -> bool {
        let get = |v| self.get(process, v);
        expr.truths(&get, &get).1
    }

    pub(crate) fn take(
        &mut self,
        process: usize,
        function: usize,
        edge: usize,
        values: &[Option<u64>],
    ) -> Result<(), String> {
        self.moved[process] = true;
        if process > 0 && !self.stacks[0].is_empty() {
            return Err("a thread runs before init has ended".into());
        }
        let program = self.program;
        let edge_id = edge;
        let edge = &program.functions[function].edges[edge];
        let top = self.stacks[process].last().ok_or("the thread has ended")?;
        if top.function != function || top.node != edge.from {
            let here = &program.functions[top.function].name;
            return Err(format!("`{}` is not where the thread is (in {here})", edge.text));
        }
        match &edge.operation {
            Operation::Assume(condition) => {
                if !self.holds(process, condition) {
                    return Err(format!("`{}` is blocked", edge.text));
                }
                self.go(process, edge.to);
            }
            Operation::Assign { lhs, rhs, constrain } => {
                let Some(values) = self.chosen(process, rhs, values) else {
                    return Err(format!("`{}` cannot assign {values:?}", edge.text));
                };
                if let Some(condition) = constrain {
                    let get = |v| self.get(process, v);
                    let next = |v| match lhs.iter().position(|l| *l == v) {
                        Some(i) => values[i],
                        None => self.get(process, v),
                    };
                    if !condition.truths(&get, &next).1 {
                        return Err(format!("`{}` violates its constraint", edge.text));
                    }
                }
                for (v, value) in lhs.iter().zip(&values) {
                    self.set(process, *v, *value);
                }
                self.go(process, edge.to);
            }
            Operation::Call { function: callee, args, .. } => {
                let Some(passed) = self.chosen(process, args, values) else {
                    return Err(format!("`{}` cannot pass {values:?}", edge.text));
                };
                let mut new = frame(program, *callee);
                for (i, slot) in new.locals.iter_mut().enumerate() {
                    let free = values.get(i).copied().flatten().unwrap_or(0);
                    *slot = passed.get(i).copied().unwrap_or(free);
                }
                if let Some(top) = self.stacks[process].last_mut() {
                    top.waits = Some(edge_id);
                }
                self.stacks[process].push(new);
            }
            Operation::Return(results) => {
                let Some(returned) = self.chosen(process, results, values) else {
                    return Err(format!("`{}` cannot return {values:?}", edge.text));
                };
                self.stacks[process].pop();
                let Some(caller) = self.stacks[process].last_mut() else { return Ok(()) };
                let waits = caller.waits.take().ok_or("no call waits for this return")?;
                let call = &program.functions[caller.function].edges[waits];
                if let Operation::Call { lhs, .. } = &call.operation {
                    for (v, value) in lhs.iter().zip(&returned) {
                        self.set(process, *v, *value);
                    }
                }
                self.go(process, call.to);
            }
        }
        Ok(())
    }

    fn go(&mut self, process: usize, node: usize) {
        if let Some(top) = self.stacks[process].last_mut() {
            top.node = node;
        }
    }

    /// Whether the thread has a step where it is.
    fn can_move(&self, process: usize) -> bool {
        let Some(top) = self.stacks[process].last() else { return false };
        let function = &self.program.functions[top.function];
        function.out[top.node].iter().any(|e| match &function.edges[*e].operation {
            Operation::Assume(condition) => self.holds(process, condition),
            // A constraint that no choice meets would be blocked as well; telling would take a
            // search, and only the word "preemption" depends on it.
            _ => true,
        })
    }

    fn in_atomic_section(&self, process: usize) -> bool {
        self.program.atomic.is_some_and(|flag| self.private[process][flag] != 0)
    }

    /// The variables that a step reads, with their values.
    fn looked_at(&self, step: &Move) -> Vec<(String, Value)> {
        let Action::Edge(function, edge, _) = step.action else { return Vec::new() };
        let mut seen: Vec<VariableId> = Vec::new();
        let operation = &self.program.functions[function].edges[edge].operation;
        operation.each_read(&mut |v| {
            if !seen.contains(&v) && self.program.atomic != Some(v) {
                seen.push(v);
            }
        });
        let shown = |v: VariableId| {
            let name = self.name(step.process, v);
            (name, crate::explicit::show(self.program, v, self.get(step.process, v)))
        };
        seen.into_iter().map(shown).collect()
    }

    fn name(&self, process: usize, variable: VariableId) -> String {
        let name = &self.program.variables[variable].name;
        match (self.program.variables[variable].owner, process.checked_sub(1)) {
            (Owner::Shared, _) | (_, None) => name.clone(),
            (_, Some(thread)) => format!("{}.{name}", self.program.threads[thread].name),
        }
    }

    /// Why an assertion fails, if this step leads to where it has failed.
    fn reasons(&self, step: &Move, targets: &Targets, values: &[(String, Value)]) -> Vec<String> {
        let Action::Edge(function, edge, _) = step.action else { return Vec::new() };
        let get = |v| self.get(step.process, v);
        reasons(self.program, targets, (step.process, function, edge), &get, values)
    }

    fn shared_values(&self) -> Vec<(String, Value)> {
        let shown = |v: &VariableId| {
            let name = self.program.variables[*v].name.clone();
            (name, crate::explicit::show(self.program, *v, self.shared[*v]))
        };
        self.program.shared.iter().map(shown).collect()
    }

    fn variables(&self) -> Vec<(String, Value)> {
        let mut list = self.shared_values();
        for (i, thread) in self.program.threads.iter().enumerate() {
            let Some(top) = self.stacks[i + 1].last() else { continue };
            let frame = self.program.functions[top.function].frame();
            for v in self.program.private.iter().copied().chain(frame) {
                let name = format!("{}.{}", thread.name, self.program.variables[v].name);
                list.push((name, crate::explicit::show(self.program, v, self.get(i + 1, v))));
            }
        }
        list
    }

    fn stack(&self, process: usize) -> Vec<(String, u32)> {
        let line = |frame: &Frame| {
            let function = &self.program.functions[frame.function];
            let edge = frame.waits.or_else(|| function.out[frame.node].first().copied());
            edge.map_or(0, |e| function.edges[e].line)
        };
        self.stacks[process]
            .iter()
            .map(|f| (self.program.functions[f.function].name.clone(), line(f)))
            .collect()
    }
}

/// Why an assertion fails, if a process that takes an edge of a function comes to where it has failed. `values` are those
/// that the edge reads.
pub(crate) fn reasons(
    program: &Program,
    targets: &Targets,
    (process, function, edge): (usize, usize, usize),
    get: &dyn Fn(VariableId) -> u64,
    values: &[(String, Value)],
) -> Vec<String> {
    let code = &program.functions[function];
    let edge = &code.edges[edge];
    let Operation::Assume(negated) = &edge.operation else { return Vec::new() };
    let mark = targets.at(function, edge.to).map(|mark| &code.marks[mark].1);
    let Some(Mark::Assertion(text)) = mark else { return Vec::new() };
    let may = if negated.truths(get, get).0 { "may be false" } else { "is false" };
    vec![condition_in_words(
        program,
        process,
        text.trim().trim_start_matches("assert"),
        may,
        values,
    )]
}

/// A condition that `is` so for a process, with the values that it reads: `x = y is false: x is T, y is F`.
pub(crate) fn condition_in_words(
    program: &Program,
    process: usize,
    condition: &str,
    is: &str,
    values: &[(String, Value)],
) -> String {
    let condition = condition.trim().trim_end_matches(';');
    let inner = condition.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let is_whole = |text: &&str| {
        let mut open = 0_i32;
        text.chars().all(|c| {
            open += i32::from(c == '(') - i32::from(c == ')');
            open >= 0
        })
    };
    let condition = inner.filter(is_whole).unwrap_or(condition).trim();
    let thread = process.checked_sub(1).map(|at| program.threads[at].name.as_str());
    let prefix = format!("{}.", thread.unwrap_or_default());
    let short = |name: &str| name.strip_prefix(&prefix).unwrap_or(name).to_string();
    let values = values.iter().map(|(name, value)| format!("{} is {value}", short(name)));
    let values: Vec<String> = values.collect();
    match values.is_empty() {
        true => format!("{condition} {is}"),
        false => format!("{condition} {is}: {}", values.join(", ")),
    }
}

fn frame(program: &Program, function: usize) -> Frame {
    let locals = vec![0; program.functions[function].frame().count()];
    Frame { function, node: program.functions[function].entry, waits: None, locals }
}

fn changes(before: &[(String, Value)], after: &[(String, Value)]) -> Vec<Change> {
    let find = |list: &[(String, Value)], name: &str| {
        list.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())
    };
    let mut changes = Vec::new();
    for (name, to) in after {
        let from = find(before, name);
        if from.as_ref() != Some(to) {
            changes.push(Change { name: name.clone(), from, to: Some(to.clone()) });
        }
    }
    changes
}
