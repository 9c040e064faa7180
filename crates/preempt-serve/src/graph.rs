//! The reachable graph around a state, level by level, and automata: both laid out, ready to be drawn.

use crate::path;
use crate::subject::automata::Automaton;
use crate::walk::{Walk, changes};
use preempt_core::{Enabled, Outcome, ProcessId, System};
use preempt_report::graph::{GraphEdge, GraphState, MOST_STATES, StateGraph};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of states that are kept for a graph that is merged.
const MOST_BYTES: usize = 256 << 20;

/// How long states are looked for unless it is said; what is not there by then is said to be missing.
pub(crate) const USUAL_TIME: Duration = Duration::from_millis(300);

/// How often it is said how far it is.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// How long it may take.
pub(crate) struct Limits<'a> {
    pub(crate) time: Duration,
    /// Ends it with what there is.
    pub(crate) cancel: &'a AtomicBool,
    /// Is told how many states were looked at, and how many are drawn.
    pub(crate) progress: &'a dyn Fn(usize, usize),
}

/// Differences that are written into a state.
const MOST_LINES: usize = 5;

/// What is drawn around the present state.
pub(crate) struct Around<'a> {
    /// How many steps away.
    pub(crate) levels: usize,
    /// States that agree in these variables are drawn as one; none: every state is drawn.
    pub(crate) merge: &'a [String],
    /// The states of a counterexample.
    pub(crate) marked: &'a HashSet<Vec<u8>>,
    /// The paths of states leave out so many steps of the walk.
    pub(crate) kept: usize,
    pub(crate) limits: Limits<'a>,
}

struct Node {
    label: String,
    level: usize,
    error: bool,
    marked: bool,
    transient: bool,
    /// How to get here from the present state.
    choices: Vec<u32>,
}

/// The graph around the end of a walk.
pub(crate) fn around(system: &dyn System, walk: &Walk, what: &Around<'_>) -> Value {
    let mut found = Found::new(system, walk, what);
    found.arrive(walk.state().to_vec(), 0, &[], None);
    let (begun, mut told) = (Instant::now(), Instant::now());
    let (mut at, limits) = (0, &what.limits);
    while at < found.queue.len() && found.bytes < MOST_BYTES {
        if begun.elapsed() > limits.time || limits.cancel.load(Ordering::Relaxed) {
            break;
        }
        if told.elapsed() > TELL_EVERY {
            told = Instant::now();
            (limits.progress)(at, found.nodes.len());
        }
        let item = std::mem::take(&mut found.queue[at]);
        at += 1;
        found.expand(item);
    }
    let full = found.full || at < found.queue.len();
    let mut picture = draw(&walk.choices()[what.kept..], found.nodes, found.edges, full);
    picture["looked_at"] = json!(at);
    picture["cancelled"] = json!(limits.cancel.load(Ordering::Relaxed));
    picture
}

/// A state that is still to be expanded: its bytes, its node, how far it is, and the choices that lead to it.
#[derive(Default)]
struct Item {
    state: Vec<u8>,
    node: usize,
    level: usize,
    choices: Vec<u32>,
}

/// The graph as far as it was explored.
struct Found<'a> {
    system: &'a dyn System,
    walk: &'a Walk,
    what: &'a Around<'a>,
    nodes: Vec<Node>,
    edges: Vec<(usize, usize, String)>,
    drawn: HashSet<(usize, usize, String)>,
    /// Nodes by the bytes of states.
    known: HashMap<Vec<u8>, usize>,
    /// Nodes by what states are merged by.
    merged: HashMap<String, usize>,
    queue: Vec<Item>,
    bytes: usize,
    /// There was no room for some state.
    full: bool,
    enabled: Enabled,
}

impl<'a> Found<'a> {
    fn new(system: &'a dyn System, walk: &'a Walk, what: &'a Around<'a>) -> Self {
        Found {
            system,
            walk,
            what,
            nodes: Vec::new(),
            edges: Vec::new(),
            drawn: HashSet::new(),
            known: HashMap::new(),
            merged: HashMap::new(),
            queue: Vec::new(),
            bytes: 0,
            full: false,
            enabled: Enabled::new(),
        }
    }

    /// The node of a state, so far from the present one, behind these choices and then `choice`; `None` if there is no room for it.
    fn arrive(
        &mut self,
        state: Vec<u8>,
        level: usize,
        before: &[u32],
        choice: Option<u32>,
    ) -> Option<usize> {
        if let Some(&node) = self.known.get(&state) {
            return Some(node);
        }
        let choices: Vec<u32> = before.iter().copied().chain(choice).collect();
        let Some(node) = self.node_of(&state, level, &choices) else {
            self.full = true;
            return None;
        };
        self.bytes += 2 * state.len() + 4 * choices.len();
        self.known.insert(state.clone(), node);
        self.queue.push(Item { state, node, level, choices });
        Some(node)
    }

    /// The node of a new state: one that is drawn already, if they are merged, or a new one.
    fn node_of(&mut self, state: &[u8], level: usize, choices: &[u32]) -> Option<usize> {
        let what = self.what;
        // Another label may be one that is drawn already; without merging every state has its own.
        if self.nodes.len() >= MOST_STATES && what.merge.is_empty() {
            return None;
        }
        let label = label(self.system, self.walk.state(), state, what.merge, level == 0);
        if !what.merge.is_empty()
            && let Some(&node) = self.merged.get(&label)
        {
            self.nodes[node].marked |= what.marked.contains(state);
            return Some(node);
        }
        if self.nodes.len() >= MOST_STATES {
            return None;
        }
        self.merged.insert(label.clone(), self.nodes.len());
        self.nodes.push(Node {
            label,
            level,
            error: false,
            marked: what.marked.contains(state),
            transient: self.system.is_transient(state),
            choices: choices.to_vec(),
        });
        Some(self.nodes.len() - 1)
    }

    /// Draws the steps of a state.
    fn expand(&mut self, item: Item) {
        let (system, from) = (self.system, item.node);
        let mut state = item.state;
        let mut enabled = std::mem::take(&mut self.enabled);
        enabled.clear();
        if self.walk.broken().is_none() {
            system.enabled(&mut state, &mut enabled);
        }
        self.nodes[from].error |= enabled.is_empty() && !system.is_valid_end(&state);
        let steps = if item.level < self.what.levels { enabled.steps() } else { &[] };
        for (choice, step) in steps.iter().enumerate() {
            let mut next = state.clone();
            let outcome = system.apply(&mut next, *step);
            if let Outcome::Broken(_) = outcome {
                self.nodes[from].error = true;
                continue;
            }
            system.enabled(&mut next, &mut Enabled::new());
            let choice = Some(choice as u32);
            let Some(to) = self.arrive(next, item.level + 1, &item.choices, choice) else {
                continue;
            };
            self.nodes[to].error |= matches!(outcome, Outcome::Violated(_));
            let is_loop = from == to && !self.what.merge.is_empty();
            let (_, _, text) = system.describe(&state, *step);
            let text = format!("{}: {text}", system.process_name(&state, step.process));
            if !is_loop && self.drawn.insert((from, to, text.clone())) {
                self.edges.push((from, to, text));
            }
        }
        self.enabled = enabled;
    }
}

/// What is written into a state: the merged variables, or what differs from the present state.
fn label(
    system: &dyn System,
    here: &[u8],
    state: &[u8],
    merge: &[String],
    is_here: bool,
) -> String {
    if !merge.is_empty() {
        let variables = system.variables(state);
        let value = |name: &String| {
            let found = variables.iter().find(|(known, _)| known == name);
            found.map_or_else(|| format!("{name} –"), |(_, value)| format!("{name} = {value}"))
        };
        return merge.iter().map(value).collect::<Vec<_>>().join("\n");
    }
    if is_here {
        return "here".into();
    }
    let mut lines: Vec<String> = changes(system, here, state)
        .iter()
        .map(|change| match &change.to {
            Some(to) => format!("{} = {to}", change.name),
            None => format!("{} gone", change.name),
        })
        .collect();
    let moved = (0..system.process_count(state)).filter_map(|pid| {
        let id = ProcessId(u16::try_from(pid).ok()?);
        let (before, after) = (system.position(here, id), system.position(state, id));
        let (_, line, _) = after.clone()?;
        (before != after).then(|| format!("{} at {line}", system.process_name(state, id)))
    });
    lines.extend(moved);
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES - 1);
        lines.push("…".into());
    }
    lines.join("\n")
}

fn draw(before: &[u32], nodes: Vec<Node>, edges: Vec<(usize, usize, String)>, full: bool) -> Value {
    let states = nodes.iter().map(|node| GraphState {
        label: node.label.clone(),
        initial: false,
        accepting: false,
        error: node.error,
    });
    let bundles = bundles(edges.into_iter());
    let drawn = bundles.iter().map(Bundle::edge);
    let Ok(graph) = StateGraph::new(states.collect(), drawn.collect()) else {
        return json!({ "nodes": [], "edges": [], "full": true });
    };
    let picture = graph.picture();
    let node = |(at, node): (usize, &Node)| {
        let choices: Vec<u32> = before.iter().chain(&node.choices).copied().collect();
        json!({
            "label": node.label, "level": node.level, "error": node.error, "marked": node.marked,
            "transient": node.transient, "box": picture.boxes[at], "path": path::write(&choices),
        })
    };
    let edge = |(at, bundle): (usize, &Bundle)| {
        let marked = nodes[bundle.from].marked && nodes[bundle.to].marked;
        json!({
            "from": bundle.from, "to": bundle.to, "labels": bundle.labels, "marked": marked,
            "curve": picture.curves[at], "place": picture.labels[at],
        })
    };
    json!({
        "width": picture.width, "height": picture.height, "full": full,
        "nodes": nodes.iter().enumerate().map(node).collect::<Value>(),
        "edges": bundles.iter().enumerate().map(edge).collect::<Value>(),
    })
}

/// Edges between the same two states, drawn as one.
struct Bundle {
    from: usize,
    to: usize,
    labels: Vec<String>,
}

impl Bundle {
    /// Its longest label decides how much place it takes.
    fn edge(&self) -> GraphEdge {
        let longest = self.labels.iter().max_by_key(|label| label.len());
        let label = longest.cloned().unwrap_or_default();
        GraphEdge { from: self.from, to: self.to, label, on_trace: false }
    }
}

fn bundles(edges: impl Iterator<Item = (usize, usize, String)>) -> Vec<Bundle> {
    let mut places = HashMap::new();
    let mut list: Vec<Bundle> = Vec::new();
    for (from, to, label) in edges {
        let at = *places.entry((from, to)).or_insert_with(|| {
            list.push(Bundle { from, to, labels: Vec::new() });
            list.len() - 1
        });
        if !list[at].labels.contains(&label) {
            list[at].labels.push(label);
        }
    }
    list
}

/// An automaton, laid out.
pub(crate) fn automaton(automaton: &Automaton) -> Value {
    let states = automaton.states.iter().map(|state| GraphState {
        label: state.label.clone(),
        initial: state.initial,
        accepting: state.accepting,
        error: false,
    });
    let bundles = bundles(automaton.edges.iter().map(|e| (e.from, e.to, e.label.clone())));
    let edges = bundles.iter().map(Bundle::edge);
    let about = json!({ "name": automaton.name, "kind": automaton.kind });
    let graph = match StateGraph::new(states.collect(), edges.collect()) {
        Ok(graph) => graph,
        Err(error) => return merge(about, json!({ "problem": error.to_string() })),
    };
    let picture = graph.picture();
    let state = |(at, state): (usize, &crate::subject::automata::State)| {
        json!({
            "label": state.label, "initial": state.initial, "accepting": state.accepting,
            "here": state.here, "pids": state.pids, "box": picture.boxes[at],
        })
    };
    let edge = |(at, bundle): (usize, &Bundle)| {
        json!({
            "from": bundle.from, "to": bundle.to, "labels": bundle.labels,
            "curve": picture.curves[at], "place": picture.labels[at],
        })
    };
    merge(
        about,
        json!({
            "width": picture.width, "height": picture.height,
            "nodes": automaton.states.iter().enumerate().map(state).collect::<Value>(),
            "edges": bundles.iter().enumerate().map(edge).collect::<Value>(),
        }),
    )
}

fn merge(mut a: Value, b: Value) -> Value {
    if let (Some(a), Value::Object(b)) = (a.as_object_mut(), b) {
        a.extend(b);
    }
    a
}
