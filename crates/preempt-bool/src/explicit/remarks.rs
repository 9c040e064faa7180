//! What is known of a step besides its changes, and why a thread waits.

use super::layout::Segment;
use super::machine::{Machine, START};
use crate::flow::{FunctionId, Operation, Owner, VariableId};
use crate::replay;
use preempt_core::{ProcessId, Step, System, Value, Waiting};

impl Machine<'_> {
    /// The variables that a step reads, with their values.
    pub fn seen(&self, state: &[u8], step: Step) -> Vec<(String, Value)> {
        match self.edge_of(step.transition) {
            Some((function, edge)) => self.values_read(state, step.process, function, edge),
            None => Vec::new(),
        }
    }

    /// Why an assertion fails, if this step leads to where it has failed.
    pub fn reasons(&self, state: &[u8], step: Step) -> Vec<String> {
        let process = step.process.index();
        let top = self.layout.top(state, self.layout.segment(state, process));
        let (Some((function, edge)), Some(top)) = (self.edge_of(step.transition), top) else {
            return Vec::new();
        };
        let get = |v| self.layout.get(state, &top, v);
        let values = self.values_read(state, step.process, function, edge);
        let place = (process, function, edge);
        replay::reasons(&self.program, &self.targets, place, &get, &values)
    }

    /// Why a thread that cannot move waits, and for which; `None` if it does not wait.
    pub fn waiting(&self, state: &[u8], process: ProcessId) -> Option<Waiting> {
        if !self.init_is_over(state) || process.index() == 0 {
            return None;
        }
        let top = self.layout.top(state, self.layout.segment(state, process.index()))?;
        let threads = 1..self.process_count(state);
        let holder = threads.clone().find(|other| self.in_atomic_section(state, *other));
        if let Some(holder) = holder.filter(|holder| *holder != process.index()) {
            let reason = format!("{} is inside an atomic section", self.name_of(holder));
            let (reasons, waits_for) = (vec![reason], vec![holder]);
            return Some(Waiting { pid: process.index(), reasons, waits_for });
        }
        if top.position == START {
            return None;
        }
        let function = &self.program.functions[top.function];
        let (mut reasons, mut read): (Vec<String>, Vec<VariableId>) = Default::default();
        for &edge in &function.out[top.position as usize] {
            let values = self.values_read(state, process, top.function, edge);
            let edge = &function.edges[edge];
            edge.operation.each_read(&mut |v| read.push(v));
            let (text, is) = match edge.operation {
                Operation::Assume(_) => (edge.text.trim_start_matches("assume"), "is false"),
                _ => (edge.text.as_str(), "has no possible outcome"),
            };
            let at = process.index();
            reasons.push(replay::condition_in_words(&self.program, at, text, is, &values));
        }
        let others = threads.filter(|other| *other != process.index());
        let waits_for = others.filter(|other| self.may_write(state, *other, &read)).collect();
        // Where an assertion has failed there is no way on.
        let waits = !reasons.is_empty();
        waits.then_some(Waiting { pid: process.index(), reasons, waits_for })
    }

    fn values_read(
        &self,
        state: &[u8],
        process: ProcessId,
        function: FunctionId,
        edge: usize,
    ) -> Vec<(String, Value)> {
        let Some(top) = self.layout.top(state, self.layout.segment(state, process.index())) else {
            return Vec::new();
        };
        let mut read: Vec<VariableId> = Vec::new();
        self.program.functions[function].edges[edge].operation.each_read(&mut |v| {
            if !read.contains(&v) && self.program.atomic != Some(v) {
                read.push(v);
            }
        });
        let shown = |v: VariableId| {
            let variable = &self.program.variables[v];
            let name = match (variable.owner, process.index()) {
                (Owner::Shared, _) | (_, 0) => variable.name.clone(),
                (_, thread) => format!("{}.{}", self.name_of(thread), variable.name),
            };
            (name, super::show(&self.program, v, self.layout.get(state, &top, v)))
        };
        read.into_iter().map(shown).collect()
    }

    /// Whether the code that a thread may still run assigns one of these shared variables.
    fn may_write(&self, state: &[u8], process: usize, variables: &[VariableId]) -> bool {
        let mut functions: Vec<FunctionId> = Vec::new();
        let mut segment = self.layout.segment(state, process);
        while let Some(top) = self.layout.top(state, segment) {
            functions.push(top.function);
            functions.extend(self.program.calls_from(top.function));
            segment = Segment { private: top.private, end: top.start };
        }
        let mut writes = false;
        for edge in functions.iter().flat_map(|f| &self.program.functions[*f].edges) {
            edge.operation.each_write(&mut |v| {
                writes |= self.program.is_shared(v) && variables.contains(&v);
            });
        }
        writes
    }
}
