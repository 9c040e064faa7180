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
    let mut nodes: Vec<Node> = Vec::new();
    let mut edges: Vec<(usize, usize, String)> = Vec::new();
    let mut drawn: HashSet<(usize, usize, String)> = HashSet::new();
    // States by bytes, and nodes by what they are merged by.
    let (mut known, mut merged) = (HashMap::new(), HashMap::<String, usize>::new());
    let mut queue: Vec<(Vec<u8>, usize, usize, Vec<u32>)> = Vec::new();
    let mut full = false;
    let here = walk.state();
    let mut number_of = |state: &[u8], level: usize, choices: &[u32], nodes: &mut Vec<Node>| {
        // Another label may be one that is drawn already; without merging every state has its own.
        if nodes.len() >= MOST_STATES && what.merge.is_empty() {
            return None;
        }
        let label = label(system, here, state, what.merge, level == 0);
        if !what.merge.is_empty()
            && let Some(&node) = merged.get(&label)
        {
            nodes[node].marked |= what.marked.contains(state);
            return Some(node);
        }
        if nodes.len() >= MOST_STATES {
            return None;
        }
        merged.insert(label.clone(), nodes.len());
        nodes.push(Node {
            label,
            level,
            error: false,
            marked: what.marked.contains(state),
            transient: system.is_transient(state),
            choices: choices.to_vec(),
        });
        Some(nodes.len() - 1)
    };
    if let Some(first) = number_of(here, 0, &[], &mut nodes) {
        known.insert(here.to_vec(), first);
        queue.push((here.to_vec(), first, 0, Vec::new()));
    }
    let (mut at, mut enabled) = (0, Enabled::new());
    let (begun, mut told, mut bytes) = (Instant::now(), Instant::now(), 0);
    let limits = &what.limits;
    while at < queue.len() && bytes < MOST_BYTES {
        if begun.elapsed() > limits.time || limits.cancel.load(Ordering::Relaxed) {
            break;
        }
        if told.elapsed() > TELL_EVERY {
            told = Instant::now();
            (limits.progress)(at, nodes.len());
        }
        let (mut state, from, level, choices) = std::mem::take(&mut queue[at]);
        at += 1;
        enabled.clear();
        if walk.broken().is_none() {
            system.enabled(&mut state, &mut enabled);
        }
        nodes[from].error |= enabled.is_empty() && !system.is_valid_end(&state);
        if level >= what.levels {
            continue;
        }
        for (choice, step) in enabled.steps().iter().enumerate() {
            let mut next = state.clone();
            let outcome = system.apply(&mut next, *step);
            if let Outcome::Broken(_) = outcome {
                nodes[from].error = true;
                continue;
            }
            system.enabled(&mut next, &mut Enabled::new());
            let to = match known.get(&next) {
                Some(&to) => to,
                None => {
                    let way: Vec<u32> = choices.iter().copied().chain([choice as u32]).collect();
                    let Some(to) = number_of(&next, level + 1, &way, &mut nodes) else {
                        full = true;
                        continue;
                    };
                    bytes += 2 * next.len() + 4 * way.len();
                    known.insert(next.clone(), to);
                    queue.push((next, to, level + 1, way));
                    to
                }
            };
            nodes[to].error |= matches!(outcome, Outcome::Violated(_));
            let is_loop = from == to && !what.merge.is_empty();
            let (_, _, text) = system.describe(&state, *step);
            let text = format!("{}: {text}", system.process_name(&state, step.process));
            if !is_loop && drawn.insert((from, to, text.clone())) {
                edges.push((from, to, text));
            }
        }
    }
    full |= at < queue.len();
    let mut picture = draw(&walk.choices()[what.kept..], nodes, edges, full);
    picture["looked_at"] = json!(at);
    picture["cancelled"] = json!(limits.cancel.load(Ordering::Relaxed));
    picture
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
