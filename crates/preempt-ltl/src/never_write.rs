//! Automata as Promela never claims, laid out as Spin prints them.

use crate::automaton::{Automaton, Edge};
use crate::guard::show;
use crate::label::Cube;
use std::fmt::Write;

/// Writes a never claim that Spin reads; `title` goes into a comment.
///
/// Accepting states have labels that begin with `accept`. Several initial states
/// become one that offers what they all offer.
pub fn write_never(automaton: &Automaton, names: &[String], title: &str) -> String {
    let title = title.replace("*/", "* /").replace('\n', " ");
    let mut out = format!("never {{    /* {title} */\n");
    let initial = match automaton.initial() {
        [] => {
            out.push_str("T0_init:\n\tfalse;\n}\n");
            return out;
        }
        [initial] => Some(*initial),
        _ => None,
    };
    let name = |state: u32| {
        if Some(state) == initial {
            let prefix = if automaton.accepting(state) { "accept" } else { "T0" };
            format!("{prefix}_init")
        } else if is_all(automaton, state) {
            format!("accept_all{}", suffix(automaton, state))
        } else if automaton.accepting(state) {
            format!("accept_S{state}")
        } else {
            format!("T0_S{state}")
        }
    };
    let mut block = |label: &str, edges: &[Edge], skip: bool| {
        let _ = writeln!(out, "{label}:");
        if skip {
            let _ = writeln!(out, "\tdo\n\t:: (1)\n\tod;");
            return;
        }
        let _ = writeln!(out, "\tdo");
        for group in edges.chunk_by(|a, b| a.target == b.target) {
            let cubes: Vec<Cube> = group.iter().map(|e| e.label).collect();
            let literal = |p: u32, value: bool| {
                let fallback = format!("p{p}");
                let name = names.get(p as usize).unwrap_or(&fallback);
                if value { format!("({name})") } else { format!("!({name})") }
            };
            let guard = show(&cubes, literal, [" && ", " || ", "1", "("]);
            let _ = writeln!(out, "\t:: ({guard}) -> goto {}", name(group[0].target));
        }
        if edges.is_empty() {
            let _ = writeln!(out, "\t:: (0) -> goto {label}");
        }
        let _ = writeln!(out, "\tod;");
    };
    if initial.is_none() {
        let mut edges: Vec<Edge> =
            automaton.initial().iter().flat_map(|s| automaton.edges(*s)).copied().collect();
        edges.sort_unstable();
        edges.dedup();
        block("T0_init", &edges, false);
    }
    let rest = (0..automaton.len() as u32).filter(|s| Some(*s) != initial);
    for state in initial.into_iter().chain(rest) {
        let all = is_all(automaton, state);
        block(&name(state), automaton.edges(state), all);
    }
    out.push_str("}\n");
    out
}

/// Accepts every word: one accepting loop that is always open.
fn is_all(automaton: &Automaton, state: u32) -> bool {
    let forever = Edge { target: state, label: Cube::TRUE };
    automaton.accepting(state) && automaton.edges(state) == [forever]
}

/// Distinguishes several such states, which only hand-made automata have.
fn suffix(automaton: &Automaton, state: u32) -> String {
    let earlier = (0..state).filter(|s| is_all(automaton, *s)).count();
    if earlier == 0 { String::new() } else { format!("_{earlier}") }
}
