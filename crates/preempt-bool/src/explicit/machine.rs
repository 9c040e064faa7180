//! A Boolean program as a [`System`]: what the explicit-state engines explore.
//!
//! Process 0 runs `init` to its end before any thread moves; its end is no switch (`describe.rs`). Uninitialised variables are chosen by a `start` step when they are
//! read before they are written, and are zero otherwise. Inside an atomic section only its thread
//! is enabled; a thread that blocks there blocks all others.

use super::layout::{Layout, Segment, Top};
use crate::flow::{Choices, Liveness, Operation, Possible, Program, Targets, VariableId};
use preempt_core::{Enabled, Independence, Locality, Outcome, ProcessId, Step, System};
use std::borrow::Cow;

/// The transition that gives a thread or the shared variables their first values; also the
/// position of a thread that has not started.
pub(crate) const START: u32 = u32::MAX;
/// Most values that one step may choose from.
pub(crate) const MAX_CHOICES: u64 = 1 << 20;

pub(super) const STACK_LIMIT: u32 = u32::MAX;
pub(super) const CHOICE_LIMIT: u32 = u32::MAX - 1;
/// The choice of a step that has too many.
const TOO_MANY: u32 = u32::MAX;

/// The program with what is asked, ready to be explored state by state.
pub struct Machine<'p> {
    pub(crate) program: Cow<'p, Program>,
    pub(crate) targets: Targets,
    liveness: Liveness,
    pub(super) layout: Layout,
    /// First transition number of each function.
    pub(super) bases: Vec<u32>,
    /// First fault number of each function.
    mark_bases: Vec<u32>,
    local: Vec<bool>,
    start_shared: Vec<VariableId>,
    /// Per thread, the thread variables that its first function does not set at its start.
    start_private: Vec<Vec<VariableId>>,
    pub(super) max_frames: usize,
    /// What is not read any more stays as it is.
    keeps_values: bool,
}

impl Machine<'static> {
    /// The same as [`Machine::new`], with a program of its own, to be walked through: variables keep the values that are
    /// not read any more, so that there are more states, and each shows what its variables hold.
    pub fn to_walk(program: Program, max_frames: usize) -> Result<Self, crate::Diagnostic> {
        let targets = program.targets(None)?;
        let machine = Self::of_fixed(Cow::Owned(program), targets, max_frames)?;
        Ok(Machine { keeps_values: true, ..machine })
    }
}

impl<'p> Machine<'p> {
    /// Fails when the target label does not exist, or when the program starts any number of threads.
    /// `max_frames` bounds the stack of each thread.
    pub fn new(
        program: &'p Program,
        target: Option<&str>,
        max_frames: usize,
    ) -> Result<Self, crate::Diagnostic> {
        let targets = program.targets(target)?;
        Self::of_fixed(Cow::Borrowed(program), targets, max_frames)
    }

    fn of_fixed(
        program: Cow<'p, Program>,
        targets: Targets,
        max_frames: usize,
    ) -> Result<Self, crate::Diagnostic> {
        match program.instances {
            Some(_) => Err(program.not_fixed()),
            None => Ok(Self::made(program, targets, max_frames)),
        }
    }

    pub(crate) fn with_targets(program: &'p Program, targets: Targets, max_frames: usize) -> Self {
        Self::made(Cow::Borrowed(program), targets, max_frames)
    }

    fn made(program: Cow<'p, Program>, targets: Targets, max_frames: usize) -> Self {
        let (mut bases, mut mark_bases, mut local) = (Vec::new(), Vec::new(), Vec::new());
        let mut marks = 0;
        for (id, function) in program.functions.iter().enumerate() {
            bases.push(local.len() as u32);
            mark_bases.push(marks);
            marks += function.marks.len() as u32;
            local.extend((0..function.edges.len()).map(|e| !program.is_switch_point(id, e)));
        }
        let start_shared = unset_shared(&program);
        let unset = |function: usize| {
            let set = set_first(&program, function);
            program.private.iter().copied().filter(|v| !set[*v]).collect()
        };
        let start_private = program.threads.iter().map(|t| unset(t.function)).collect();
        let (liveness, layout) = (Liveness::new(&program), Layout::new(&program));
        Machine {
            program,
            targets,
            liveness,
            layout,
            bases,
            mark_bases,
            local,
            start_shared,
            start_private,
            max_frames,
            keeps_values: false,
        }
    }

    /// Whether a fault number means that a step has too many outcomes.
    pub(crate) fn is_choice_limit(number: u32) -> bool {
        number == CHOICE_LIMIT
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn init_is_over(&self, state: &[u8]) -> bool {
        self.layout.top(state, self.layout.segment(state, 0)).is_none()
    }

    pub(crate) fn has_atomic_sections(&self) -> bool {
        self.program.atomic.is_some()
    }

    /// Whether an interruption right behind this transition can make a difference.
    pub(crate) fn may_matter(&self, transition: u32, after: &[u8]) -> bool {
        let Some((function, edge)) = self.edge_of(transition) else { return false };
        if (1..self.process_count(after)).any(|p| self.in_atomic_section(after, p)) {
            return false;
        }
        // What a return assigns is known by its caller only: assume the worst.
        let edge = &self.program.functions[function].edges[edge].operation;
        !self.local[transition as usize]
            || matches!(edge, Operation::Return(values) if !values.is_empty())
    }

    /// The function and edge of a transition; `None` for `start`.
    pub(crate) fn edge_of(&self, transition: u32) -> Option<(usize, usize)> {
        if transition == START {
            return None;
        }
        let function = self.bases.partition_point(|b| *b <= transition) - 1;
        // Functions without edges share a base with their neighbour; every function has a return.
        Some((function, (transition - self.bases[function]) as usize))
    }

    /// The function and mark behind a fault number.
    pub(crate) fn mark_of(&self, number: u32) -> (usize, usize) {
        let mut function = self.mark_bases.len() - 1;
        while self.mark_bases[function] > number {
            function -= 1;
        }
        (function, (number - self.mark_bases[function]) as usize)
    }

    /// Adds the steps of one process.
    pub(crate) fn steps_of(&self, state: &[u8], process: usize, enabled: &mut Enabled) {
        let segment = self.layout.segment(state, process);
        let Some(top) = self.layout.top(state, segment) else { return };
        if top.position == START {
            let count = count(self.start_values(process, &top).iter().copied());
            self.push_choices(process, START, count, enabled);
            return;
        }
        let function = &self.program.functions[top.function];
        for &e in &function.out[top.position as usize] {
            let transition = self.bases[top.function] + e as u32;
            let operation = &function.edges[e].operation;
            match operation {
                Operation::Assume(condition) => {
                    let get = |v| self.layout.get(state, &top, v);
                    if condition.truths(&get, &get).1 {
                        self.push_choices(process, transition, 1, enabled);
                    }
                }
                Operation::Assign { lhs, rhs, constrain: Some(condition) } => {
                    let get = |v| self.layout.get(state, &top, v);
                    let possible: Vec<Possible> =
                        rhs.iter().map(|e| e.possible(&get, &get)).collect();
                    let choices = Choices { lhs, possible: &possible, condition, current: &get };
                    match choices.numbers(MAX_CHOICES as usize) {
                        Some(numbers) => {
                            numbers
                                .iter()
                                .for_each(|n| enabled.push(step(process, transition, *n)));
                        }
                        None => enabled.push(step(process, transition, TOO_MANY)),
                    }
                }
                _ => {
                    let count = self.choice_count(state, &top, operation);
                    self.push_choices(process, transition, count, enabled);
                }
            }
        }
    }

    fn push_choices(&self, process: usize, transition: u32, count: u64, enabled: &mut Enabled) {
        if count > MAX_CHOICES {
            enabled.push(step(process, transition, TOO_MANY));
            return;
        }
        for choice in 0..count {
            enabled.push(step(process, transition, choice as u32));
        }
    }

    /// What a starting process chooses: the shared variables for `init`, else the live variables
    /// of the first frame and the thread variables.
    fn start_values(&self, process: usize, top: &Top) -> Vec<Possible> {
        self.start_variables(process, top)
            .iter()
            .map(|v| Possible::All(self.program.variables[*v].width))
            .collect()
    }

    fn start_variables(&self, process: usize, top: &Top) -> Vec<VariableId> {
        let function = &self.program.functions[top.function];
        let live = self.liveness.at(top.function, function.entry);
        let frame = function.frame().zip(live).filter(|(_, live)| **live).map(|(v, _)| v);
        if process == 0 {
            let frame = frame.filter(|_| self.program.init.is_some());
            return self.start_shared.iter().copied().chain(frame).collect();
        }
        self.start_private[process - 1].iter().copied().chain(frame).collect()
    }

    fn choice_count(&self, state: &[u8], top: &Top, operation: &Operation) -> u64 {
        let mut total = 1u64;
        self.each_possible(state, top, operation, &mut |_, possible| {
            total = total.saturating_mul(possible.count());
        });
        total
    }

    /// The values an operation writes, in order: assigned, passed and of new locals, returned.
    fn each_possible(
        &self,
        state: &[u8],
        top: &Top,
        operation: &Operation,
        visit: &mut dyn FnMut(usize, Possible),
    ) {
        let get = |v| self.layout.get(state, top, v);
        match operation {
            Operation::Assume(_) => {}
            Operation::Assign { rhs, .. } => {
                rhs.iter().enumerate().for_each(|(i, e)| visit(i, e.possible(&get, &get)));
            }
            Operation::Call { function, args, .. } => {
                args.iter().enumerate().for_each(|(i, e)| visit(i, e.possible(&get, &get)));
                let callee = &self.program.functions[*function];
                let live = self.liveness.at(*function, callee.entry);
                for (i, v) in callee.locals.iter().enumerate() {
                    let i = i + args.len();
                    let width = self.program.variables[*v].width;
                    visit(i, if live[i] { Possible::All(width) } else { Possible::One(0) });
                }
            }
            Operation::Return(values) => {
                values.iter().enumerate().for_each(|(i, e)| visit(i, e.possible(&get, &get)));
            }
        }
    }

    /// The values that a choice stands for: the first value varies fastest.
    fn chosen(&self, state: &[u8], top: &Top, operation: &Operation, choice: u64) -> Vec<u64> {
        let mut rest = choice;
        let mut values = Vec::new();
        self.each_possible(state, top, operation, &mut |_, possible| {
            let count = possible.count().max(1);
            values.push(possible.nth(rest % count));
            rest /= count;
        });
        values
    }

    /// The values of a step, as the replaying interpreter wants them.
    pub(crate) fn values(&self, state: &[u8], step: Step) -> Vec<u64> {
        let process = step.process.index();
        let Some(top) = self.layout.top(state, self.layout.segment(state, process)) else {
            return Vec::new();
        };
        let Some((function, edge)) = self.edge_of(step.transition) else {
            return self.start_chosen(process, &top, u64::from(step.choice));
        };
        let operation = &self.program.functions[function].edges[edge].operation;
        self.chosen(state, &top, operation, u64::from(step.choice))
    }

    fn start_chosen(&self, process: usize, top: &Top, choice: u64) -> Vec<u64> {
        let mut rest = choice;
        self.start_values(process, top)
            .iter()
            .map(|possible| {
                let value = possible.nth(rest % possible.count());
                rest /= possible.count();
                value
            })
            .collect()
    }

    /// The variables that a `start` step of a process gives values to.
    pub(crate) fn started_by(&self, process: usize) -> Vec<VariableId> {
        let function = match process {
            0 => match self.program.init {
                Some(init) => init,
                None => return self.start_shared.clone(),
            },
            _ => self.program.threads[process - 1].function,
        };
        let top = Top { function, position: START, start: 0, private: 0 };
        self.start_variables(process, &top)
    }

    /// Sets what is not live at the node to zero and reports whether the node is a target.
    fn arrive(&self, state: &mut [u8], top: &Top, node: usize) -> Outcome {
        self.layout.set_position(state, top, node as u32);
        let function = &self.program.functions[top.function];
        for (v, live) in function.frame().zip(self.liveness.at(top.function, node)) {
            if !live && !self.keeps_values {
                self.layout.set(state, top, v, 0);
            }
        }
        match self.targets.at(top.function, node) {
            Some(mark) => Outcome::Violated(self.mark_bases[top.function] + mark as u32),
            None => Outcome::Done,
        }
    }

    fn begin(&self, state: &mut Vec<u8>, process: usize, function: Option<usize>) {
        let private = state.len() + 2;
        state.extend((self.layout.private_bytes as u16).to_le_bytes());
        state.extend(std::iter::repeat_n(0, self.layout.private_bytes));
        let segment = Segment { private, end: state.len() };
        let Some(function) = function else { return };
        let top = self.layout.push(state, segment, function, START);
        if self.start_variables(process, &top).is_empty() {
            self.arrive(state, &top, self.program.functions[function].entry);
        }
    }

    fn enter(
        &self,
        state: &mut Vec<u8>,
        process: usize,
        top: &Top,
        edge: usize,
        values: &[u64],
    ) -> Outcome {
        let Operation::Call { function, lhs, .. } =
            &self.program.functions[top.function].edges[edge].operation
        else {
            return Outcome::Done;
        };
        let segment = self.layout.segment(state, process);
        let frames = self.frame_count(state, segment);
        let bytes = segment.end - segment.private + self.layout.frame_bytes[*function];
        if frames >= self.max_frames || bytes > usize::from(u16::MAX) {
            return Outcome::Broken(STACK_LIMIT);
        }
        // What the caller does not need afterwards is forgotten while it waits.
        let caller = &self.program.functions[top.function];
        let live = self.liveness.at(top.function, caller.edges[edge].to);
        for (v, live) in caller.frame().zip(live) {
            if (!live || lhs.contains(&v)) && !self.keeps_values {
                self.layout.set(state, top, v, 0);
            }
        }
        self.layout.set_position(state, top, edge as u32);
        let entry = self.program.functions[*function].entry;
        let new = self.layout.push(state, segment, *function, entry as u32);
        for (v, value) in self.program.functions[*function].frame().zip(values) {
            self.layout.set(state, &new, v, *value);
        }
        self.arrive(state, &new, entry)
    }

    fn leave(&self, state: &mut Vec<u8>, top: &Top, values: &[u64]) -> Outcome {
        let segment = self.layout.pop(state, top);
        let Some(caller) = self.layout.top(state, segment) else { return Outcome::Done };
        let edge = &self.program.functions[caller.function].edges[caller.position as usize];
        if let Operation::Call { lhs, .. } = &edge.operation {
            for (v, value) in lhs.iter().zip(values) {
                self.layout.set(state, &caller, *v, *value);
            }
        }
        self.arrive(state, &caller, edge.to)
    }

    fn frame_count(&self, state: &[u8], mut segment: Segment) -> usize {
        let mut count = 0;
        while let Some(top) = self.layout.top(state, segment) {
            segment.end = top.start;
            count += 1;
        }
        count
    }

    /// Also a thread that has ended inside a section never leaves it.
    pub(super) fn in_atomic_section(&self, state: &[u8], process: usize) -> bool {
        let Some(flag) = self.program.atomic else { return false };
        let private = self.layout.segment(state, process).private;
        let nowhere = Top { function: 0, position: 0, start: 0, private };
        self.layout.get(state, &nowhere, flag) != 0
    }

    pub(super) fn name_of(&self, process: usize) -> String {
        match process {
            0 => "init".into(),
            _ => self.program.threads[process - 1].name.clone(),
        }
    }
}

fn step(process: usize, transition: u32, choice: u32) -> Step {
    Step { choice, ..Step::new(ProcessId(process as u16), transition) }
}

fn count(possible: impl Iterator<Item = Possible>) -> u64 {
    possible.fold(1u64, |total, p| total.saturating_mul(p.count()))
}

/// Shared variables that something may read before anything has written them.
pub(crate) fn unset_shared(program: &Program) -> Vec<VariableId> {
    let mut read = vec![false; program.variables.len()];
    for edge in program.functions.iter().flat_map(|f| &f.edges) {
        edge.operation.each_read(&mut |v| read[v] = true);
    }
    let set = program.init.map(|init| set_first(program, init)).unwrap_or_default();
    let is_set = |v: VariableId| set.get(v).copied().unwrap_or(false);
    program.shared.iter().copied().filter(|v| read[*v] && !is_set(*v)).collect()
}

/// What a function writes before it reads it, along the straight line at its start.
fn set_first(program: &Program, function: usize) -> Vec<bool> {
    let function = &program.functions[function];
    let mut set = vec![false; program.variables.len()];
    let mut seen = vec![false; program.variables.len()];
    let mut node = function.entry;
    for _ in 0..function.edges.len() {
        let [only] = function.out[node].as_slice() else { break };
        let edge = &function.edges[*only];
        if matches!(edge.operation, Operation::Call { .. } | Operation::Return(_)) {
            break;
        }
        edge.operation.each_read(&mut |v| seen[v] = true);
        edge.operation.each_write(&mut |v| set[v] |= !seen[v]);
        node = edge.to;
    }
    set
}

impl System for Machine<'_> {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(self.layout.shared_bytes, 0);
        // Without `init`, unset shared variables still have to be chosen: the first function
        // lends its frame, and the start step ends process 0 at once.
        let chooser = self.program.init.or((!self.start_shared.is_empty()).then_some(0));
        self.begin(state, 0, chooser);
        for (i, thread) in self.program.threads.iter().enumerate() {
            self.begin(state, i + 1, Some(thread.function));
        }
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.program.threads.len() + 1
    }

    /// The choice of first values is no statement: its number lies beyond.
    fn transition_count(&self) -> usize {
        self.local.len()
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        if !self.init_is_over(state) {
            self.steps_of(state, 0, enabled);
            return;
        }
        let threads = 1..self.process_count(state);
        if let Some(holder) = threads.clone().find(|p| self.in_atomic_section(state, *p)) {
            self.steps_of(state, holder, enabled);
            return;
        }
        for process in threads {
            self.steps_of(state, process, enabled);
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        if step.choice == TOO_MANY {
            return Outcome::Broken(CHOICE_LIMIT);
        }
        let process = step.process.index();
        let segment = self.layout.segment(state, process);
        let Some(top) = self.layout.top(state, segment) else { return Outcome::Done };
        let Some((function, e)) = self.edge_of(step.transition) else {
            let values = self.start_chosen(process, &top, u64::from(step.choice));
            for (v, value) in self.start_variables(process, &top).iter().zip(values) {
                self.layout.set(state, &top, *v, value);
            }
            if process == 0 && self.program.init.is_none() {
                self.layout.pop(state, &top);
                return Outcome::Done;
            }
            return self.arrive(state, &top, self.program.functions[top.function].entry);
        };
        let edge = &self.program.functions[function].edges[e];
        let values = self.chosen(state, &top, &edge.operation, u64::from(step.choice));
        match &edge.operation {
            Operation::Assume(_) => self.arrive(state, &top, edge.to),
            Operation::Assign { lhs, .. } => {
                for (v, value) in lhs.iter().zip(&values) {
                    self.layout.set(state, &top, *v, *value);
                }
                self.arrive(state, &top, edge.to)
            }
            Operation::Call { .. } => self.enter(state, process, &top, e, &values),
            Operation::Return(_) => self.leave(state, &top, &values),
        }
    }
}

impl Independence for Machine<'_> {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        let segment = self.layout.segment(state, process.index());
        let Some(top) = self.layout.top(state, segment) else { return Locality::Local };
        if process.0 == 0 || self.program.atomic.is_some() {
            return Locality::Shared;
        }
        if top.position == START {
            return Locality::Local;
        }
        let function = &self.program.functions[top.function];
        let base = self.bases[top.function] as usize;
        let edges = &function.out[top.position as usize];
        let quiet = edges.iter().all(|e| {
            let returns = matches!(function.edges[*e].operation, Operation::Return(_));
            self.local[base + e] && !(returns && self.returns_into_shared(state, &top))
        });
        if quiet { Locality::Local } else { Locality::Shared }
    }

    fn is_visible(&self, _state: &[u8], _process: ProcessId) -> bool {
        false
    }
}

impl Machine<'_> {
    fn returns_into_shared(&self, state: &[u8], top: &Top) -> bool {
        let below = Segment { private: top.private, end: top.start };
        let Some(caller) = self.layout.top(state, below) else { return false };
        !self.local[self.bases[caller.function] as usize + caller.position as usize]
    }
}
