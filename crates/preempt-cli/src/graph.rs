//! Small state graphs as pictures.

use crate::failure::Failure;
use crate::output;
use preempt_core::{Enabled, Label, Outcome, System};
use preempt_report::graph::{GraphEdge, GraphState, MOST_STATES, StateGraph};
use std::collections::HashMap;
use std::path::Path;

/// Writes the state graph of a system as DOT or SVG, by the name of the file.
pub(crate) fn write<S: System>(system: &S, path: &Path) -> Result<(), Failure> {
    let graph = explore(system)?;
    let svg = path.extension().is_some_and(|extension| extension == "svg");
    output::write(path, &if svg { graph.svg() } else { graph.dot() })
}

fn explore<S: System>(system: &S) -> Result<StateGraph, Failure> {
    let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
    let (mut states, mut edges) = (Vec::new(), Vec::new());
    let mut first = Vec::new();
    system.initial(&mut first);
    let mut enabled = Enabled::new();
    system.enabled(&mut first, &mut enabled);
    numbers.insert(first.clone(), 0);
    let mut todo = vec![first];
    let mut at = 0;
    while at < todo.len() {
        let mut state = todo[at].clone();
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let dead = enabled.is_empty() && !system.is_valid_end(&state);
        states.push(GraphState {
            label: label(system, &state),
            initial: at == 0,
            accepting: system.has_label(&state, Label::Accept),
            error: dead,
        });
        for &step in enabled.steps() {
            let mut next = state.clone();
            if let Outcome::Broken(_) = system.apply(&mut next, step) {
                continue;
            }
            system.enabled(&mut next, &mut Enabled::new());
            let known = numbers.len();
            let to = *numbers.entry(next.clone()).or_insert(known);
            if to == known {
                todo.push(next);
            }
            let (_, _, text) = system.describe(&state, step);
            let process = system.process_name(&state, step.process);
            let label = format!("{process}: {text}");
            edges.push(GraphEdge { from: at, to, label, on_trace: false });
        }
        at += 1;
        if numbers.len() > MOST_STATES {
            return Err(Failure::Input(format!(
                "the state graph has more than {MOST_STATES} states: too many for a picture"
            )));
        }
    }
    StateGraph::new(states, edges).map_err(|error| Failure::Input(error.to_string()))
}

fn label<S: System>(system: &S, state: &[u8]) -> String {
    let variables = system.variables(state);
    let lines: Vec<_> = variables.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    lines.join("\n")
}
