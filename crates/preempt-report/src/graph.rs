//! State graphs small enough to look at: DOT for other tools, SVG of our own.

mod layout;
mod svg;

use crate::fit;
use std::fmt;
use std::fmt::Write;

/// More states than this are a picture of nothing.
pub const MOST_STATES: usize = 300;

/// One state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GraphState {
    /// What to write in it: values, control points.
    pub label: String,
    /// Whether executions start here.
    pub initial: bool,
    /// Whether an accept label or the claim accepts here.
    pub accepting: bool,
    /// Whether the property is violated here.
    pub error: bool,
}

/// One step between two states.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GraphEdge {
    /// Index of the state before.
    pub from: usize,
    /// Index of the state after.
    pub to: usize,
    /// The process and its statement.
    pub label: String,
    /// Whether the counterexample takes it.
    pub on_trace: bool,
}

/// A graph of at most [`MOST_STATES`] states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateGraph {
    states: Vec<GraphState>,
    edges: Vec<GraphEdge>,
}

/// Where everything of a graph goes, in pixels, for callers that draw it themselves.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// Size of the drawing.
    pub width: f64,
    /// Size of the drawing.
    pub height: f64,
    /// By state: left, top, width and height of its box.
    pub boxes: Vec<[f64; 4]>,
    /// By edge: the four points of a cubic curve.
    pub curves: Vec<[(f64, f64); 4]>,
    /// By edge: the centre of its label.
    pub labels: Vec<(f64, f64)>,
}

/// A graph that cannot be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphError {
    /// Too many states.
    TooLarge(usize),
    /// An edge names a state that does not exist.
    MissingState(usize),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::TooLarge(states) => {
                write!(f, "{states} states are too many to draw (at most {MOST_STATES})")
            }
            GraphError::MissingState(state) => {
                write!(f, "an edge refers to state {state}, which does not exist")
            }
        }
    }
}

impl std::error::Error for GraphError {}

impl StateGraph {
    /// A graph, if it can be drawn.
    pub fn new(states: Vec<GraphState>, edges: Vec<GraphEdge>) -> Result<Self, GraphError> {
        if states.len() > MOST_STATES {
            return Err(GraphError::TooLarge(states.len()));
        }
        match edges.iter().flat_map(|e| [e.from, e.to]).find(|&s| s >= states.len()) {
            Some(state) => Err(GraphError::MissingState(state)),
            None => Ok(StateGraph { states, edges }),
        }
    }

    /// The graph in the language of Graphviz.
    pub fn dot(&self) -> String {
        let mut out = String::from(
            "digraph states {\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=monospace, fontsize=10];\n  edge [fontname=monospace, fontsize=9];\n",
        );
        for (index, state) in self.states.iter().enumerate() {
            let mut attributes = format!("label=\"{}\"", quote(&state.label));
            if state.accepting {
                attributes.push_str(", peripheries=2");
            }
            if state.error {
                attributes.push_str(", color=red, penwidth=2");
            }
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  s{index} [{attributes}];");
            if state.initial {
                let _ = writeln!(out, "  start{index} [shape=point];\n  start{index} -> s{index};");
            }
        }
        for edge in &self.edges {
            let bold = if edge.on_trace { ", penwidth=2.5" } else { "" };
            let _ = writeln!(
                out,
                "  s{} -> s{} [label=\"{}\"{bold}];",
                edge.from,
                edge.to,
                quote(&edge.label)
            );
        }
        out.push_str("}\n");
        out
    }

    /// Where everything goes.
    pub fn picture(&self) -> Picture {
        svg::picture(self, &layout::place(self))
    }

    /// The graph as one SVG document.
    pub fn svg(&self) -> String {
        svg::draw(self, &layout::place(self))
    }
}

fn quote(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| fit::clean(line).replace('\\', "\\\\").replace('"', "\\\""))
        .collect();
    lines.join("\\n")
}
