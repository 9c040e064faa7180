//! Layered drawing of a state graph, after Sugiyama: layers by distance from the start, order
//! within a layer by the average place of the neighbours, a few sweeps up and down. A layer that is too wide to
//! be looked at has several rows.
//!
//! Libraries made for this were measured beside it, on the 300 states next to the first of models with 20, 40, 80 and 200
//! processes of one step each, and on 9,261 states of three processes; time, crossings of edges, and edges that pass
//! behind boxes (one layer in one row for all three, which is what the libraries do; rust-sugiyama gives no routes, so its edges
//! are straight lines here, and dagre ranked by longest paths):
//!
//! | processes | here | rust-sugiyama 0.4 | dagre 0.1 (Rust) |
//! |---|---|---|---|
//! | 20 | 0.3 ms, 22,906, 0 | 114 ms, 22,670, 5,037 | 397 ms, 21,766, 1,911 |
//! | 40 | 0.2 ms, 28,847, 0 | 59 ms, 28,921, 4,850 | 209 ms, 32,601, 2,000 |
//! | 80 | 0.2 ms, 18,087, 0 | 45 ms, 17,108, 5,087 | 171 ms, 21,126, 2,320 |
//! | 200 | 0.2 ms, 2,401, 0 | 4 ms, 2,401, 2,390 | 193 ms, 1,911, 563 |
//! | 9,261 states | 60 ms | not in 100 s | not in 35 s |
//!
//! They find no better orders, and draw 20 processes 29,000 pixels wide and 300 high. Rows (3,000 by 1,500 pixels for the
//! same graph) cost about twice the crossings, and edges behind boxes; a picture that fits on a screen is worth it.

use super::StateGraph;
use std::collections::VecDeque;

/// Where everything goes, in pixels.
pub(super) struct Places {
    /// Centre of every state.
    pub(super) centre: Vec<(f64, f64)>,
    /// Size of every box.
    pub(super) size: Vec<(f64, f64)>,
    /// Size of the drawing.
    pub(super) width: f64,
    pub(super) height: f64,
}

const GAP: f64 = 60.0;
const LAYER_GAP: f64 = 86.0;
/// Between the rows of one layer.
const ROW_GAP: f64 = 34.0;
/// A wider layer has several rows.
const WIDEST: f64 = 3000.0;
const MARGIN: f64 = 40.0;
const LETTER: f64 = 7.3;
const LINE: f64 = 15.0;
const SWEEPS: usize = 12;

pub(super) fn place(graph: &StateGraph) -> Places {
    let size: Vec<(f64, f64)> = graph
        .states
        .iter()
        .map(|state| {
            let columns = state.label.lines().map(crate::fit::width).max().unwrap_or(0);
            let lines = state.label.lines().count().max(1);
            (columns as f64 * LETTER + 20.0, lines as f64 * LINE + 12.0)
        })
        .collect();
    let mut layers = layers(graph);
    order(graph, &mut layers);
    let mut centre = vec![(0.0, 0.0); graph.states.len()];
    let span = |layer: &[usize]| {
        layer.iter().map(|&s| size[s].0).sum::<f64>() + GAP * layer.len().saturating_sub(1) as f64
    };
    // Rows of about the same width, each with the gap below it.
    let rows: Vec<(&[usize], f64)> = layers
        .iter()
        .flat_map(|layer| {
            let count = (span(layer) / WIDEST).ceil().max(1.0) as usize;
            let rows = layer.chunks(layer.len().div_ceil(count).max(1));
            let last = rows.len().saturating_sub(1);
            rows.enumerate()
                .map(move |(at, row)| (row, if at == last { LAYER_GAP } else { ROW_GAP }))
        })
        .collect();
    let widest = rows.iter().map(|(row, _)| span(row)).fold(0.0, f64::max);
    let mut top = MARGIN;
    for (row, gap) in rows {
        let tallest = row.iter().map(|&s| size[s].1).fold(0.0, f64::max);
        let mut left = MARGIN + (widest - span(row)) / 2.0;
        for &state in row {
            centre[state] = (left + size[state].0 / 2.0, top + tallest / 2.0);
            left += size[state].0 + GAP;
        }
        top += tallest + gap;
    }
    // Edges that go back up swing out to the right.
    let width = widest + 2.0 * MARGIN + 60.0;
    Places { centre, size, width, height: (top - LAYER_GAP + MARGIN).max(2.0 * MARGIN) }
}

/// Breadth-first from the initial states; what they do not reach starts anew at the top.
fn layers(graph: &StateGraph) -> Vec<Vec<usize>> {
    let count = graph.states.len();
    let mut next = vec![Vec::new(); count];
    for edge in &graph.edges {
        next[edge.from].push(edge.to);
    }
    let mut depth = vec![usize::MAX; count];
    let starts = (0..count).filter(|&s| graph.states[s].initial).chain(0..count);
    for start in starts.collect::<Vec<_>>() {
        if depth[start] != usize::MAX {
            continue;
        }
        depth[start] = 0;
        let mut queue = VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            for &to in &next[state] {
                if depth[to] == usize::MAX {
                    depth[to] = depth[state] + 1;
                    queue.push_back(to);
                }
            }
        }
    }
    let mut layers = vec![Vec::new(); depth.iter().max().map_or(0, |d| d + 1)];
    for (state, &d) in depth.iter().enumerate() {
        layers[d].push(state);
    }
    layers
}

fn order(graph: &StateGraph, layers: &mut [Vec<usize>]) {
    let count = graph.states.len();
    let mut neighbours = vec![Vec::new(); count];
    for edge in &graph.edges {
        neighbours[edge.from].push(edge.to);
        neighbours[edge.to].push(edge.from);
    }
    let mut layer_of = vec![0; count];
    let mut place = vec![0.0; count];
    let mark = |layer: &[usize], place: &mut [f64]| {
        for (at, &state) in layer.iter().enumerate() {
            place[state] = (at as f64 + 0.5) / layer.len() as f64;
        }
    };
    for (depth, layer) in layers.iter().enumerate() {
        mark(layer, &mut place);
        layer.iter().for_each(|&s| layer_of[s] = depth);
    }
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        for step in 1..layers.len() {
            let depth = if down { step } else { layers.len() - 1 - step };
            let fixed = if down { depth - 1 } else { depth + 1 };
            let weight = |state: usize| {
                let near: Vec<f64> = neighbours[state]
                    .iter()
                    .filter(|&&n| layer_of[n] == fixed)
                    .map(|&n| place[n])
                    .collect();
                match near.len() {
                    0 => place[state],
                    n => near.iter().sum::<f64>() / n as f64,
                }
            };
            let mut keyed: Vec<(f64, usize)> =
                layers[depth].iter().map(|&s| (weight(s), s)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[depth] = keyed.into_iter().map(|(_, s)| s).collect();
            mark(&layers[depth], &mut place);
        }
    }
}
