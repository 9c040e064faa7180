//! Executions as Spin prints them, for scripts that read what `spin -t` and a simulation print.
//!
//! The lines have Spin's form: what `printf` prints, indented by process unless that is turned off, and, as
//! far as asked for, the statements with their process, place and state, the variables that changed,
//! sends and receives. The text of a statement is the model's, where Spin writes its own.

use preempt_core::{Describe, FaultKind, Outcome, ProcessId, Step, System, Value};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{MoveKind, NamedValue};
use std::collections::HashMap;
use std::fmt::Write;
use std::str::FromStr;

/// What is printed, by the letters of Spin's options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    statements: bool,
    globals: bool,
    locals: bool,
    receives: bool,
    sends: bool,
    /// Messages have the form that graphical front ends read.
    for_front_ends: bool,
    /// What `printf` prints is not indented.
    flat: bool,
    /// It is not shown at all.
    silent: bool,
    /// The last state is not shown.
    brief: bool,
    /// The seed of a simulation is shown in the end.
    pub(crate) seed: bool,
}

impl FromStr for Shown {
    type Err = String;

    fn from_str(letters: &str) -> Result<Self, String> {
        let mut shown = Shown::default();
        for letter in letters.chars() {
            match letter {
                'p' => shown.statements = true,
                'g' => shown.globals = true,
                'l' => shown.locals = true,
                'r' => shown.receives = true,
                's' => shown.sends = true,
                'X' => shown.for_front_ends = true,
                'T' => shown.flat = true,
                'b' => shown.silent = true,
                'B' => shown.brief = true,
                'h' => shown.seed = true,
                other => return Err(format!("`{other}` is none of p, g, l, r, s, X, T, b, B, h")),
            }
        }
        Ok(shown)
    }
}

/// An execution being printed.
pub(crate) struct SpinText<'a> {
    system: &'a Interpreter,
    shown: Shown,
    state: Vec<u8>,
    /// Steps so far; a rendezvous is two.
    depth: usize,
    /// What happens before this one is not shown.
    from: usize,
    /// Except what `printf` prints.
    keeps_output: bool,
    created: usize,
    /// The number of each global channel, by its name.
    queues: HashMap<&'a str, u32>,
    text: String,
}

/// Appends formatted text; writing to a string cannot fail.
macro_rules! put {
    ($to:expr, $($argument:tt)*) => { _ = write!($to.text, $($argument)*) };
}

impl<'a> SpinText<'a> {
    /// At the initial state.
    pub(crate) fn new(system: &'a Interpreter, shown: Shown) -> Self {
        let mut state = Vec::new();
        system.initial(&mut state);
        let created = system.process_count(&state);
        let names = system.program().layout.names.iter();
        let queues = names.filter_map(|named| match named.value {
            NamedValue::Channel(index) => Some((named.name.as_str(), index + 1)),
            _ => None,
        });
        let queues = queues.collect();
        let (from, keeps_output, text) = (0, true, String::new());
        SpinText { system, shown, state, depth: 0, from, keeps_output, created, queues, text }
    }

    /// Nothing is shown of what comes before a step, except what `printf` prints, if it is kept.
    pub(crate) fn begin_at(mut self, from: usize, keeps_output: bool) -> Self {
        (self.from, self.keeps_output) = (from, keeps_output);
        self
    }

    /// How many steps were taken, as Spin counts them.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Takes the text that was made so far.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The limit on steps is reached: Spin counts the step that it does not take.
    pub(crate) fn reach_limit(&mut self, limit: usize) {
        self.depth = limit;
        put!(self, "-------------\ndepth-limit (-u{limit} steps) reached\n");
    }

    /// The cycle begins here.
    pub(crate) fn begin_cycle(&mut self) {
        put!(self, "  <<<<<START OF CYCLE>>>>>\n");
    }

    /// Takes a step. False if it has no successor.
    pub(crate) fn step(&mut self, step: Step) -> bool {
        let before = self.state.clone();
        let start = self.text.len();
        let output = self.system.output(&before, step);
        let outcome = self.system.apply(&mut self.state, step);
        if !output.is_empty() && !self.shown.silent {
            let indent = if self.shown.flat { 0 } else { 6 + 4 * step.process.index() };
            put!(self, "{:indent$}{output}", "");
        }
        let kept = if self.keeps_output { self.text.len() } else { start };
        let partner = step.partner.map(|partner| (partner, step.partner_transition));
        let halves = [Some((step.process, step.transition)), partner];
        for (process, transition) in halves.into_iter().flatten() {
            self.depth += 1;
            let half = Step { process, transition, partner: None, ..step };
            let described = self.system.describe(&before, half);
            self.message(&before, half, partner.is_some(), &described);
            if process == step.process
                && let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            {
                self.fault(fault);
            }
            self.statement(&before, half, &described);
        }
        if !self.is_end(step.transition) {
            self.changes(&before);
        }
        if self.depth < self.from {
            self.text.truncate(kept);
        }
        let (had, has) =
            (self.system.process_count(&before), self.system.process_count(&self.state));
        self.created += has.saturating_sub(had);
        !matches!(outcome, Outcome::Broken(_))
    }

    fn is_end(&self, transition: u32) -> bool {
        let moves = &self.system.program().moves;
        moves.get(transition as usize).is_some_and(|m| matches!(m.kind, MoveKind::End))
    }

    fn fault(&mut self, number: u32) {
        let fault = self.system.fault(number);
        if fault.kind == FaultKind::Assertion {
            put!(self, "spin: {}:{}, Error: assertion violated\n", fault.file, fault.line);
            let text = fault.message.trim_start_matches("assertion violated: ");
            let text = match text.starts_with('(') {
                true => text.to_string(),
                false => format!("({text})"),
            };
            put!(self, "spin: text of failed assertion: assert{text}\n");
        } else {
            put!(self, "spin: {}:{}, Error: {}\n", fault.file, fault.line, fault.message);
        }
    }

    /// The line of one process.
    fn statement(&mut self, before: &[u8], half: Step, described: &(String, u32, String)) {
        let Step { process, transition, .. } = half;
        let (file, line, text) = described;
        if !self.shown.statements {
            return;
        }
        let depth = self.depth;
        if self.is_end(transition) {
            put!(self, "{depth:3}: proc {process} terminates\n");
            return;
        }
        let Some((proctype, _)) = self.system.control_state(before, process) else { return };
        // Spin's number of the statement that the move starts with.
        let taken = self.system.program().moves.get(transition as usize);
        let number = taken.map_or(0, |taken| 1 + taken.number - proctype.first_number);
        put!(
            self,
            "{depth:3}:\tproc {:2} ({}:1) {file}:{line} (state {number})\t[{text}]\n",
            process.index(),
            proctype.name
        );
    }

    /// A send or receive.
    fn message(
        &mut self,
        before: &[u8],
        half: Step,
        meets: bool,
        (file, line, text): &(String, u32, String),
    ) {
        let Some(taken) = self.system.program().moves.get(half.transition as usize) else { return };
        let (sends, mark) = match taken.kind {
            MoveKind::Send { .. } => (true, '!'),
            MoveKind::Receive { .. } => (false, '?'),
            _ => return,
        };
        if !(if sends { self.shown.sends } else { self.shown.receives }) {
            return;
        }
        let (channel, written) = text.split_once(mark).unwrap_or((text, ""));
        let channel = channel.trim();
        let message = self.passed(before, channel, sends).unwrap_or_else(|| {
            written.trim_start_matches(mark).split(';').next().unwrap_or("").trim().to_string()
        });
        let (verb, arrow) = match (sends, meets) {
            (true, true) => ("Sent", "->"),
            (true, false) => ("Send", "->"),
            (false, _) => ("Recv", "<-"),
        };
        let name = self.system.control_state(before, half.process).map_or("", |(p, _)| &p.name);
        if self.shown.for_front_ends {
            let values = if self.shown.statements { "values: " } else { "" };
            let queue = self.queues.get(channel).copied().unwrap_or(0);
            let (depth, process) = (self.depth, half.process.index());
            put!(
                self,
                "{depth:3}:\tproc {process:2} ({name}:1) {file}:{line} (state -)\t[{values}{queue}{mark}{message}]\n"
            );
            return;
        }
        let queue = self.queues.get(channel).map_or(String::new(), |id| format!(" {id}"));
        put!(
            self,
            "{:3}:\tproc {:2} ({name}:1) {file}:{line} {verb} {message}\t{arrow} queue{queue} ({channel})\n",
            self.depth,
            half.process.index()
        );
    }

    /// The message that a step puts into a channel or takes out of it.
    fn passed(&self, before: &[u8], channel: &str, sends: bool) -> Option<String> {
        let state = if sends { &self.state } else { before };
        let found = self.system.variables(state).into_iter().find(|(name, _)| name == channel)?;
        let Value::Queue(messages) = found.1 else { return None };
        if sends { messages.last().cloned() } else { messages.first().cloned() }
    }

    /// The variables that a step changed.
    fn changes(&mut self, before: &[u8]) {
        if !self.shown.statements || !(self.shown.globals || self.shown.locals) {
            return;
        }
        // The first step that is shown comes with all variables.
        let is_first = self.from > 0 && self.depth == self.from;
        let old = if is_first { Vec::new() } else { self.system.variables(before) };
        let old: HashMap<String, Value> = old.into_iter().collect();
        for (name, value) in self.system.variables(&self.state.clone()) {
            if is_local(&name) {
                let changed = old.get(&name).is_some_and(|old| *old != value);
                if self.shown.locals && (is_first || changed) {
                    put!(self, "\t\t{name} = {value}\n");
                }
            } else if self.shown.globals {
                let changed = old.get(&name) != Some(&value);
                self.global(&name, &value, changed);
            }
        }
    }

    /// Whether a global channel never holds a message; Spin does not show these.
    fn meets_only(&self, name: &str) -> bool {
        let layout = &self.system.program().layout;
        self.queues.get(name).is_some_and(|id| {
            let slot = layout.channels[*id as usize - 1];
            layout.channel_types[slot.channel_type as usize].capacity == 0
        })
    }

    fn global(&mut self, name: &str, value: &Value, shown: bool) {
        match value {
            Value::Queue(_) if self.meets_only(name) => {}
            Value::Queue(messages) => {
                let queue = self.queues.get(name).map_or(String::new(), |id| format!(" {id}"));
                let content: String = messages.iter().map(|m| format!("[{m}]")).collect();
                put!(self, "\t\tqueue{queue} ({name}): {content}\n");
            }
            value if shown => put!(self, "\t\t{name} = {value}\n"),
            _ => {}
        }
    }

    /// How the execution ended: the variables, and where the processes are.
    pub(crate) fn close(&mut self, is_trail: bool) {
        let (depth, state) = (self.depth, self.state.clone());
        if is_trail {
            put!(self, "spin: trail ends after {depth} steps\n");
        }
        if self.shown.brief {
            return;
        }
        let count = self.system.process_count(&state);
        put!(self, "#processes: {count}\n");
        let variables = self.system.variables(&state);
        for (name, value) in variables.iter().filter(|(name, _)| !is_local(name)) {
            self.global(name, value, true);
        }
        for process in (0..count as u16).rev().map(ProcessId) {
            let Some((proctype, pc)) = self.system.control_state(&state, process) else { continue };
            let control = &proctype.states[usize::from(pc.0)];
            let (number, name) = (control.number, proctype.name.clone());
            let end = if control.is_end { " <valid end state>" } else { "" };
            let place = self.system.position(&state, process);
            let (file, line, _) = place.unwrap_or_default();
            put!(
                self,
                "{depth:3}:\tproc {:2} ({name}:1) {file}:{line} (state {number}){end}\n",
                process.index()
            );
            let owner = format!("{name}({process}):");
            let own = variables.iter().filter(|(name, _)| name.starts_with(&owner));
            for (name, value) in own.filter(|_| self.shown.locals) {
                _ = writeln!(self.text, "\t\t{name} = {value}");
            }
        }
        let created = self.created;
        put!(self, "{created} process{} created\n", if created == 1 { "" } else { "es" });
    }
}

fn is_local(name: &str) -> bool {
    name.contains("):")
}
