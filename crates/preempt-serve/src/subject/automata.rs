//! The automata of a Promela model: its process types, never claims and formulas.
//!
//! A process type is in the control states of its processes. A claim, or the automaton that looks for
//! violations of a formula, may be in several states at once: all that it can have come to by reading the
//! states of the path, the present one included. None left means that nothing can be violated any more.

use preempt_core::{Describe, ProcessId, System};
use preempt_ltl::{Cube, Edge as LtlEdge};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{Automaton as Claim, MoveKind, Pc, Proctype, Program};
use preempt_promela::model::Model;
use preempt_promela::syntax::span::Span;
use preempt_verify::promela::{Property, Violating, violating};
use std::collections::BTreeSet;

/// An automaton to be drawn.
pub struct Automaton {
    /// Its name.
    pub name: String,
    /// `process type`, `never claim` or `formula`.
    pub kind: &'static str,
    /// Its states.
    pub states: Vec<State>,
    /// Its transitions.
    pub edges: Vec<Edge>,
}

/// A state of an automaton.
#[derive(Default)]
pub struct State {
    /// What to write in it.
    pub label: String,
    /// Whether it starts here.
    pub initial: bool,
    /// Whether it accepts here.
    pub accepting: bool,
    /// What is here now: processes, or a word for a claim.
    pub here: Vec<String>,
    /// The process ids behind `here`.
    pub pids: Vec<usize>,
}

/// A transition of an automaton.
pub struct Edge {
    /// Where it starts.
    pub from: usize,
    /// Where it leads.
    pub to: usize,
    /// The statement or condition.
    pub label: String,
}

/// All automata of a model; `states` are those of the path.
pub(super) fn of(model: &Model, interpreter: &Interpreter, states: &[Vec<u8>]) -> Vec<Automaton> {
    let program = interpreter.program();
    let present = states.last().map(Vec::as_slice);
    let mut list: Vec<Automaton> = (0..program.proctypes.len())
        .map(|index| process_type(interpreter, &program.proctypes[index], index, present))
        .collect();
    // Within an indivisible sequence the claim does not move.
    let read: Vec<&[u8]> =
        states.iter().map(Vec::as_slice).filter(|state| !interpreter.is_transient(state)).collect();
    for claim in &program.claims {
        list.push(never_claim(interpreter, claim, &read));
    }
    for index in 0..model.formulas.len() {
        let name = Property::formula_name(model, index);
        if let Ok(found) = violating(model, program, index) {
            list.push(formula(interpreter, name, &found, &read));
        }
    }
    list
}

fn process_type(
    interpreter: &Interpreter,
    proctype: &Proctype,
    index: usize,
    present: Option<&[u8]>,
) -> Automaton {
    let program = interpreter.program();
    let moves = || program.moves.iter().filter(|m| usize::from(m.proctype.0) == index);
    // Only what the moves connect.
    let mut used = BTreeSet::from([proctype.entry.0]);
    for step in moves() {
        used.insert(step.source.0);
        if !matches!(step.kind, MoveKind::End) {
            used.insert(step.target.0);
        }
    }
    let numbers: Vec<u16> = used.into_iter().collect();
    let number = |pc: Pc| numbers.iter().position(|known| *known == pc.0).unwrap_or(0);
    let mut states: Vec<State> = numbers
        .iter()
        .map(|pc| {
            let labels = proctype.labels.iter().filter(|(_, at)| at.0 == *pc);
            let names: Vec<&str> = labels.map(|(name, _)| name.as_str()).collect();
            let control = proctype.states.get(usize::from(*pc));
            let line = control.map_or(0, |control| line(program, control.span));
            let mut label = match line {
                0 => names.join(", "),
                line if names.is_empty() => line.to_string(),
                line => format!("{line}: {}", names.join(", ")),
            };
            if control.is_some_and(|control| control.is_end) {
                label.push_str(" end");
            }
            State {
                label: label.trim().to_string(),
                initial: *pc == proctype.entry.0,
                accepting: control.is_some_and(|control| control.is_accept),
                ..State::default()
            }
        })
        .collect();
    for (pid, state) in present
        .iter()
        .flat_map(|state| (0..interpreter.process_count(state)).map(move |pid| (pid, *state)))
    {
        let Ok(id) = u16::try_from(pid).map(ProcessId) else { continue };
        if let Some((found, pc)) = interpreter.control_state(state, id)
            && std::ptr::eq(found, proctype)
        {
            let here = &mut states[number(pc)];
            here.here.push(interpreter.process_name(state, id));
            here.pids.push(pid);
        }
    }
    let edges = moves().filter(|step| !matches!(step.kind, MoveKind::End)).map(|step| {
        let texts: Vec<&str> =
            step.statements.iter().map(|s| s.text.as_str()).filter(|t| !t.is_empty()).collect();
        let label = if texts.is_empty() { "goto".into() } else { texts.join("; ") };
        Edge { from: number(step.source), to: number(step.target), label }
    });
    let name = proctype.name.replace(":init:", "init");
    Automaton { name, kind: "process type", edges: edges.collect(), states }
}

fn line(program: &Program, span: Span) -> u32 {
    let span = program.sources.use_site(span);
    match program.sources.files.get(span.file.0 as usize) {
        Some(_) => program.sources.line_column(span).0,
        None => 0,
    }
}

fn never_claim(interpreter: &Interpreter, claim: &Claim, read: &[&[u8]]) -> Automaton {
    let holds =
        |state: &[u8], index: u32| interpreter.proposition(state, index as usize) == Ok(true);
    let mut now = BTreeSet::from([claim.entry]);
    for state in read {
        let mut next = BTreeSet::new();
        for from in now {
            let mut moved = false;
            for step in &claim.states[from as usize].transitions {
                let possible = step.proposition.map_or(!moved, |index| holds(state, index));
                moved |= possible;
                if possible {
                    next.insert(step.target);
                }
            }
        }
        now = next;
    }
    let states = claim.states.iter().enumerate().map(|(at, state)| State {
        label: match (state.is_end, line(interpreter.program(), state.span)) {
            (true, _) => "violated".into(),
            (false, line) => line.to_string(),
        },
        initial: at as u32 == claim.entry,
        accepting: state.is_accept,
        here: if now.contains(&(at as u32)) { vec!["here".into()] } else { Vec::new() },
        pids: Vec::new(),
    });
    let edges = claim.states.iter().enumerate().flat_map(|(from, state)| {
        state.transitions.iter().map(move |step| Edge {
            from,
            to: step.target as usize,
            label: step.statement.text.clone(),
        })
    });
    Automaton {
        name: claim.name.clone().unwrap_or_else(|| "never".into()),
        kind: "never claim",
        states: states.collect(),
        edges: edges.collect(),
    }
}

fn formula(
    interpreter: &Interpreter,
    name: String,
    found: &Violating,
    read: &[&[u8]],
) -> Automaton {
    let Violating { automaton, propositions, names } = found;
    let mut now: BTreeSet<u32> = automaton.initial().iter().copied().collect();
    for state in read {
        let valuation = propositions.iter().enumerate().fold(0, |bits, (at, index)| {
            bits | u64::from(interpreter.proposition(state, *index) == Ok(true)) << at
        });
        now = now.iter().flat_map(|from| automaton.successors(*from, valuation)).collect();
    }
    let states = (0..automaton.len() as u32).map(|at| State {
        label: at.to_string(),
        initial: automaton.initial().contains(&at),
        accepting: automaton.accepting(at),
        here: if now.contains(&at) { vec!["here".into()] } else { Vec::new() },
        pids: Vec::new(),
    });
    let edges = (0..automaton.len() as u32).flat_map(|from| {
        automaton.edges(from).chunk_by(|a, b| a.target == b.target).map(move |group| Edge {
            from: from as usize,
            to: group[0].target as usize,
            label: condition(group, names),
        })
    });
    Automaton { name, kind: "formula", states: states.collect(), edges: edges.collect() }
}

/// The condition of transitions to one target: conjunctions of literals, one of which has to hold.
fn condition(group: &[LtlEdge], names: &[String]) -> String {
    let literals = |cube: Cube| {
        let parts: Vec<String> = names
            .iter()
            .enumerate()
            .filter_map(|(at, name)| match (cube.positive >> at & 1, cube.negative >> at & 1) {
                (1, _) => Some(name.clone()),
                (_, 1) => Some(format!("!({name})")),
                _ => None,
            })
            .collect();
        if parts.is_empty() { "true".to_string() } else { parts.join(" && ") }
    };
    group.iter().map(|edge| literals(edge.label)).collect::<Vec<_>>().join(" || ")
}
