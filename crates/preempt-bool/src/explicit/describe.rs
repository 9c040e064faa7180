//! How the states and steps of a Boolean program's machine are shown to people.
//!
//! Invariant: what counts as a switch is what the replay of a counterexample (`replay.rs`) counts.

use super::layout::Top;
use super::machine::{CHOICE_LIMIT, Machine, STACK_LIMIT, START};
use crate::flow::{Mark, Program, VariableId};
use preempt_core::{
    Describe, Enabled, Fault, FaultKind, ProcessId, Step, Stop, Switch, System, Unreached, Value,
    classify,
};
use std::collections::HashMap;

impl Describe for Machine<'_> {
    fn fault(&self, number: u32) -> Fault {
        let file = self.program.file.clone();
        if number == STACK_LIMIT {
            let message = format!("a stack grew beyond {} frames", self.max_frames);
            return Fault { kind: FaultKind::Cut(Stop::Depth), message, file, line: 0 };
        }
        if number == CHOICE_LIMIT {
            let message = "a step has too many outcomes to list them one by one".into();
            return Fault { kind: FaultKind::Cut(Stop::Memory), message, file, line: 0 };
        }
        let (function, mark) = self.mark_of(number);
        let (mark, line) = self.program.mark(function, mark);
        let message = match mark {
            Mark::Label(label) => format!("the label {label} is reached"),
            Mark::Assertion(text) => format!("assertion violated: {text}"),
        };
        Fault { kind: FaultKind::Assertion, message, file, line }
    }

    fn process_name(&self, _state: &[u8], process: ProcessId) -> String {
        self.name_of(process.index())
    }

    fn describe(&self, _state: &[u8], step: Step) -> (String, u32, String) {
        let file = self.program.file.clone();
        match self.edge_of(step.transition) {
            Some((function, edge)) => {
                let edge = &self.program.functions[function].edges[edge];
                (file, edge.line, edge.text.clone())
            }
            None => (file, 0, "choose the values of uninitialised variables".into()),
        }
    }

    /// The threads begin when `init` has ended: that is no switch.
    fn switch(&self, last: Option<ProcessId>, enabled: &Enabled, step: &Step) -> Switch {
        classify(last.filter(|process| process.index() > 0), enabled, step)
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        let file = self.program.file.clone();
        let Some(top) = self.layout.top(state, self.layout.segment(state, process.index())) else {
            return Some((file, 0, "-end-".into()));
        };
        let function = &self.program.functions[top.function];
        if top.position == START {
            let line = function.out.iter().flatten().map(|edge| function.edges[*edge].line).min();
            return Some((file, line.unwrap_or(0), "begins".into()));
        }
        let edges =
            || function.out[top.position as usize].iter().map(|edge| &function.edges[*edge]);
        let mut texts: Vec<&str> = edges().map(|edge| edge.text.as_str()).collect();
        texts.dedup();
        Some((file, edges().map(|edge| edge.line).next()?, texts.join(" / ")))
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        let program = &*self.program;
        let nowhere = Top { function: 0, position: 0, start: 0, private: 0 };
        let value = |top: &Top, v: VariableId| {
            let value = self.layout.get(state, top, v);
            show(program, v, value)
        };
        let mut list: Vec<(String, Value)> = program
            .shared
            .iter()
            .map(|v| (program.variables[*v].name.clone(), value(&nowhere, *v)))
            .collect();
        for process in 1..self.process_count(state) {
            let Some(top) = self.layout.top(state, self.layout.segment(state, process)) else {
                continue;
            };
            let frame = program.functions[top.function].frame();
            for v in program.private.iter().copied().chain(frame) {
                let name = format!("{}.{}", self.name_of(process), program.variables[v].name);
                list.push((name, value(&top, v)));
            }
        }
        list
    }

    /// The two edges of a condition are one statement, and so are the copies of a statement in functions that were
    /// made of others.
    fn unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        let mut statements: Vec<(Unreached, bool)> = Vec::new();
        let mut known: HashMap<(u32, &str), usize> = HashMap::new();
        for (function, base) in self.program.functions.iter().zip(&self.bases) {
            for out in function.out.iter().filter(|out| !out.is_empty()) {
                let edge = &function.edges[out[0]];
                // What has no line is not written in the program.
                if edge.line == 0 {
                    continue;
                }
                let is_taken = |e: &usize| taken.get(*base as usize + e) == Some(&true);
                let at = *known.entry((edge.line, &edge.text)).or_insert(statements.len());
                if at == statements.len() {
                    let (process, file) = (function.name.clone(), self.program.file.clone());
                    let (line, text) = (edge.line, edge.text.clone());
                    statements.push((Unreached { process, file, line, text }, false));
                }
                statements[at].1 |= out.iter().any(is_taken);
            }
        }
        let unreached = statements.into_iter().filter(|(_, is_reached)| !is_reached);
        unreached.map(|(statement, _)| statement).collect()
    }
}

/// A value as it is shown.
pub(crate) fn show(program: &Program, variable: VariableId, value: u64) -> Value {
    if program.variables[variable].is_bool {
        Value::Name(if value == 0 { "F" } else { "T" }.into())
    } else {
        Value::Int(value as i64)
    }
}
