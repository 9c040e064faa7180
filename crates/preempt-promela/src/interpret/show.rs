//! Steps, variables and faults in words.

use super::Interpreter;
use super::apply::{Truncation, Witness};
use super::channel::{self, Channel};
use super::process::processes;
use crate::ir::{Move, MoveKind, Named, NamedValue, Op, Statement};
use crate::syntax::span::Span;
use preempt_core::{Change, Fault, FaultKind, Step, Stop, Unreached, Value};
use std::collections::HashSet;

impl Interpreter {
    /// Statements that none of the taken transitions contains, in the order of the text.
    pub(super) fn list_unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        let mut reached = HashSet::new();
        for (step, _) in self.program.moves.iter().zip(taken).filter(|(_, taken)| **taken) {
            reached.extend(step.statements.iter().map(|s| (step.proctype, s.span)));
        }
        let mut list = Vec::new();
        for step in &self.program.moves {
            for statement in &step.statements {
                // A jump is no code of its own.
                if !statement.text.is_empty() && reached.insert((step.proctype, statement.span)) {
                    let (file, line) = self.source(statement);
                    let process = self.program.proctypes[usize::from(step.proctype.0)].name.clone();
                    let text = statement.text.clone();
                    list.push((
                        (step.proctype, statement.span.start),
                        Unreached { process, file, line, text },
                    ));
                }
            }
        }
        list.sort_by_key(|(place, _)| *place);
        list.into_iter().map(|(_, unreached)| unreached).collect()
    }

    /// Where a process stands, and what it may do next.
    pub(super) fn position_of(
        &self,
        state: &[u8],
        process: usize,
    ) -> Option<(String, u32, String)> {
        let control = self.state_of(state, process)?;
        let moves: Vec<&Move> = control.moves.iter().map(|id| self.program.move_of(*id)).collect();
        let first = moves.first()?;
        let (file, line) = self.place_of(first);
        if matches!(first.kind, MoveKind::End) {
            return Some((file, line, "-end-".into()));
        }
        let mut texts: Vec<String> = moves.iter().map(|step| text_of(step)).collect();
        texts.dedup();
        Some((file, line, texts.join(" / ")))
    }

    /// What a step prints.
    pub(super) fn printed(&self, state: &[u8], step: Step) -> String {
        let prints = |id: u32| self.move_of(id).is_some_and(prints);
        let partner = step.partner.is_some() && prints(step.partner_transition);
        if !prints(step.transition) && !partner {
            return String::new();
        }
        let mut witness = Witness { printed: Some(String::new()), ..Witness::default() };
        self.take(&mut state.to_vec(), step, &mut witness);
        witness.printed.unwrap_or_default()
    }

    /// The values that taking a step cuts because they do not fit where they go.
    pub fn truncations(&self, state: &[u8], step: Step) -> Vec<Truncation> {
        let mut witness = Witness { truncations: Some(Vec::new()), ..Witness::default() };
        self.take(&mut state.to_vec(), step, &mut witness);
        witness.truncations.unwrap_or_default()
    }

    fn place_of(&self, step: &Move) -> (String, u32) {
        match step.statements.first() {
            Some(statement) => self.source(statement),
            None => (String::new(), 0),
        }
    }

    fn source(&self, statement: &Statement) -> (String, u32) {
        self.place(statement.span)
    }

    /// The file and line a reader would point at.
    pub(super) fn place(&self, span: Span) -> (String, u32) {
        let sources = &self.program.sources;
        let span = sources.use_site(span);
        match sources.files.get(span.file.0 as usize) {
            Some(file) => (file.name.clone(), sources.line_column(span).0),
            None => (String::new(), 0),
        }
    }

    pub(super) fn describe_step(&self, _state: &[u8], step: Step) -> (String, u32, String) {
        let Some(action) = self.move_of(step.transition) else {
            return (String::new(), 0, String::new());
        };
        let (file, line) = self.place_of(action);
        let mut text = text_of(action);
        if step.partner.is_some()
            && let Some(receive) = self.move_of(step.partner_transition)
        {
            text = format!("{text} => {}", text_of(receive));
        }
        (file, line, text)
    }

    pub(super) fn describe_fault(&self, number: u32) -> Fault {
        match self.program.faults.get(number as usize) {
            Some(entry) => {
                let (file, line) = self.place(entry.span);
                Fault { kind: entry.kind, message: entry.message.clone(), file, line }
            }
            None if number == self.given_up().0 => {
                let reason = self.cancellation.requested().unwrap_or(Stop::Interrupted);
                Fault {
                    kind: FaultKind::Stopped(reason),
                    message: format!("{reason} inside a `d_step`"),
                    file: String::new(),
                    line: 0,
                }
            }
            None => Fault {
                kind: FaultKind::Limit,
                message: "too many processes (255)".into(),
                file: String::new(),
                line: 0,
            },
        }
    }

    pub(super) fn list_variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        let program = &self.program;
        let mut list = Vec::new();
        for named in &program.layout.names {
            let value = self.show(state, named, 0, &program.layout.channels);
            list.push((named.name.clone(), value));
        }
        for process in processes(program, state) {
            let proctype = &program.proctypes[process.proctype];
            // Every step of a trace asks for all names.
            let owner = format!("{}({}):", proctype.name, process.id);
            for named in &proctype.frame.names {
                let name = [owner.as_str(), &named.name].concat();
                let value = self.show(state, named, process.base, &proctype.frame.channels);
                list.push((name, value));
            }
        }
        list
    }

    /// The variables that differ; `None` if the processes are not the same.
    pub(super) fn list_changes(&self, before: &[u8], after: &[u8]) -> Option<Vec<Change>> {
        let program = &self.program;
        let alike = processes(program, before)
            .map(|process| process.proctype)
            .eq(processes(program, after).map(|process| process.proctype));
        if !alike {
            return None;
        }
        let mut changes = Vec::new();
        for named in &program.layout.names {
            if let Some((from, to)) =
                self.show_change((before, after), named, 0, &program.layout.channels)
            {
                changes.push(Change { name: named.name.clone(), from, to });
            }
        }
        for process in processes(program, after) {
            let proctype = &program.proctypes[process.proctype];
            let (base, channels) = (process.base, &proctype.frame.channels);
            let frame = base..base + proctype.frame.length as usize;
            // Most processes do nothing in a step. Only what a variable leads to may change elsewhere.
            let looks_elsewhere =
                || proctype.frame.names.iter().any(|n| matches!(n.value, NamedValue::ChannelAt(_)));
            if before.get(frame.clone()) == after.get(frame) && !looks_elsewhere() {
                continue;
            }
            for named in &proctype.frame.names {
                if let Some((from, to)) = self.show_change((before, after), named, base, channels) {
                    let name = format!("{}({}):{}", proctype.name, process.id, named.name);
                    changes.push(Change { name, from, to });
                }
            }
        }
        Some(changes)
    }

    /// A variable before and after, if its values differ.
    fn show_change(
        &self,
        (before, after): (&[u8], &[u8]),
        named: &Named,
        base: usize,
        channels: &[crate::ir::ChannelSlot],
    ) -> Option<(Option<Value>, Option<Value>)> {
        // Most variables are as they were, which is seen without making texts of them.
        let load =
            |place: &crate::ir::Place, state| place.kind.load(state, base + place.offset as usize);
        let is_as_before =
            |channel: channel::Channel<'_>| channel.bytes(before) == channel.bytes(after);
        let same = match &named.value {
            NamedValue::Number(place) => load(place, before) == load(place, after),
            NamedValue::Channel(index) => {
                let slot = channels[*index as usize];
                is_as_before(channel::at(&self.program, slot, base, 0))
            }
            NamedValue::ChannelAt(place) => {
                let id = load(place, before);
                let found = channel::by_id(&self.program, before, id);
                id == load(place, after) && found.is_none_or(is_as_before)
            }
        };
        if same {
            return None;
        }
        let from = self.show(before, named, base, channels);
        let to = self.show(after, named, base, channels);
        (from != to).then_some((Some(from), Some(to)))
    }

    pub(super) fn show(
        &self,
        state: &[u8],
        named: &Named,
        base: usize,
        channels: &[crate::ir::ChannelSlot],
    ) -> Value {
        match &named.value {
            NamedValue::Number(place) => {
                let value = place.kind.load(state, base + place.offset as usize);
                match &named.mtype {
                    Some(set) => Value::Name(self.symbol(value, Some(set))),
                    None => Value::Int(i64::from(value)),
                }
            }
            NamedValue::ChannelAt(place) => {
                let id = place.kind.load(state, base + place.offset as usize);
                match channel::by_id(&self.program, state, id) {
                    Some(channel) => self.queue(state, channel),
                    None => Value::Int(0),
                }
            }
            NamedValue::Channel(index) => {
                let slot = channels[*index as usize];
                self.queue(state, channel::at(&self.program, slot, base, 0))
            }
        }
    }

    pub(super) fn queue(&self, state: &[u8], channel: Channel<'_>) -> Value {
        let message = |slot: usize| {
            let fields = (0..channel.kind.fields.len()).map(|f| {
                let value = channel.field(state, slot, f);
                match &channel.kind.mtypes[f] {
                    Some(set) => self.symbol(value, Some(set)),
                    None => value.to_string(),
                }
            });
            fields.collect::<Vec<_>>().join(",")
        };
        Value::Queue((0..channel.length(state)).map(message).collect())
    }

    /// The name of a symbolic constant of a set (any set if none is given), or its number.
    pub(super) fn symbol(&self, value: i32, set: Option<&Option<String>>) -> String {
        let mtypes = &self.program.mtypes;
        let named = |m: &&crate::model::Mtype| i32::from(m.value) == value;
        let found = match set {
            Some(set) => mtypes.iter().filter(|m| m.kind == *set).find(named),
            None => mtypes
                .iter()
                .filter(|m| m.kind.is_none())
                .find(named)
                .or_else(|| mtypes.iter().find(named)),
        };
        found.map_or_else(|| value.to_string(), |m| m.name.clone())
    }

    /// The text that a `printf` prints.
    pub(super) fn format(&self, format: u32, values: &[i32]) -> String {
        let mut out = String::new();
        let mut values = values.iter().copied();
        let mut chars = self.program.formats[format as usize].chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let kind = chars.next();
            if kind == Some('%') {
                out.push('%');
                continue;
            }
            let value = values.next().unwrap_or(0);
            match kind {
                Some('d' | 'i') => out.push_str(&value.to_string()),
                Some('c') => out.push(char::from(value as u8)),
                Some('e') => out.push_str(&self.symbol(value, None)),
                Some('o') => out.push_str(&format!("{value:o}")),
                Some('u') => out.push_str(&(value as u32).to_string()),
                Some('x') => out.push_str(&format!("{value:x}")),
                Some(other) => {
                    out.push('%');
                    out.push(other);
                }
                None => out.push('%'),
            }
        }
        out
    }
}

/// Whether a move can print at all.
fn prints(step: &Move) -> bool {
    let print = |op: &Op| matches!(op, Op::Print { .. } | Op::PrintName { .. } | Op::Fragment(_));
    let inside = match &step.kind {
        MoveKind::Compound { blocks, .. } => {
            blocks.iter().flat_map(|b| &b.options).any(|o| o.ops.iter().any(print))
        }
        _ => false,
    };
    inside || step.ops.iter().any(print)
}

/// The statements of a move, the chained ones after the first.
pub(super) fn text_of(step: &Move) -> String {
    let texts: Vec<&str> =
        step.statements.iter().map(|s| s.text.as_str()).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { "goto".into() } else { texts.join("; ") }
}
