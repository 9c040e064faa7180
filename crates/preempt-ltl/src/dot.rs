//! Automata as Graphviz drawings.

use crate::automaton::Automaton;
use crate::guard::show;
use crate::label::Cube;
use std::fmt::Write;

/// Writes a `digraph`; accepting states have a double border.
pub fn write_dot(automaton: &Automaton, names: &[String], title: &str) -> String {
    let escape = |s: &str| s.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = String::from("digraph automaton {\n");
    let _ = writeln!(out, "  label=\"{}\"; labelloc=t; rankdir=LR;", escape(title));
    out.push_str("  node [shape=circle];\n");
    for state in 0..automaton.len() as u32 {
        if automaton.accepting(state) {
            let _ = writeln!(out, "  {state} [shape=doublecircle];");
        }
    }
    for (number, state) in automaton.initial().iter().enumerate() {
        let _ = writeln!(out, "  start{number} [shape=point, label=\"\"];");
        let _ = writeln!(out, "  start{number} -> {state};");
    }
    let literal = |p: u32, value: bool| {
        let name = names.get(p as usize).cloned().unwrap_or_else(|| format!("p{p}"));
        let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        match (value, plain) {
            (true, true) => name,
            (false, true) => format!("!{name}"),
            (true, false) => format!("({name})"),
            (false, false) => format!("!({name})"),
        }
    };
    for state in 0..automaton.len() as u32 {
        for group in automaton.edges(state).chunk_by(|a, b| a.target == b.target) {
            let cubes: Vec<Cube> = group.iter().map(|e| e.label).collect();
            let label = show(&cubes, literal, [" && ", " || ", "true", "("]);
            let target = group[0].target;
            let _ = writeln!(out, "  {state} -> {target} [label=\"{}\"];", escape(&label));
        }
    }
    out.push_str("}\n");
    out
}
