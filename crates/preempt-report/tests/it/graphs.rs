//! State graphs.

use insta::assert_snapshot;
use preempt_report::graph::{GraphEdge, GraphError, GraphState, MOST_STATES, StateGraph};

fn state(label: &str) -> GraphState {
    GraphState { label: label.into(), ..GraphState::default() }
}

fn edge(from: usize, to: usize, label: &str) -> GraphEdge {
    GraphEdge { from, to, label: label.into(), on_trace: false }
}

/// The lost update: two processes read and write one counter.
pub(crate) fn lost_update() -> StateGraph {
    let mut states: Vec<GraphState> = [
        "x=0\nP read, Q read",
        "x=0\nP write, Q read",
        "x=0\nP read, Q write",
        "x=1\nP end, Q read",
        "x=0\nP write, Q write",
        "x=1\nP read, Q end",
        "x=2\nP end, Q write",
        "x=1\nP end, Q end",
    ]
    .map(state)
    .into();
    states[0].initial = true;
    states[6].accepting = true;
    states[7].error = true;
    let mut edges = vec![
        edge(0, 1, "P: t = x"),
        edge(0, 2, "Q: t = x"),
        edge(1, 3, "P: x = t + 1"),
        edge(1, 4, "Q: t = x"),
        edge(2, 4, "P: t = x"),
        edge(2, 5, "Q: x = t + 1"),
        edge(3, 6, "Q: both"),
        edge(4, 7, "P, Q: x = t + 1"),
        edge(5, 6, "P: both"),
        edge(7, 7, "\"stutter\""),
        edge(6, 0, "again"),
    ];
    edges[0].on_trace = true;
    edges[3].on_trace = true;
    edges[7].on_trace = true;
    StateGraph::new(states, edges).unwrap()
}

#[test]
fn dot() {
    assert_snapshot!(lost_update().dot());
}

#[test]
fn svg_draws_every_state_and_edge_inside_the_picture() {
    let svg = lost_update().svg();
    assert_eq!(svg.matches("class=\"state").count(), 8 + 1);
    assert_eq!(svg.matches("<path class=\"edge").count(), 11 + 1);
    assert!(!svg.contains("NaN"));
    if let Some(folder) = crate::page::output_folder() {
        std::fs::write(folder.join("graph.svg"), svg).unwrap();
    }
}

#[test]
fn a_big_graph_is_refused_and_a_full_one_drawn() {
    let states = |n: usize| (0..n).map(|i| state(&i.to_string())).collect::<Vec<_>>();
    assert_eq!(
        StateGraph::new(states(MOST_STATES + 1), Vec::new()),
        Err(GraphError::TooLarge(MOST_STATES + 1))
    );
    assert_eq!(StateGraph::new(states(1), vec![edge(0, 1, "")]), Err(GraphError::MissingState(1)));
    let edges = (0..MOST_STATES).map(|i| edge(i, (i * 7 + 1) % MOST_STATES, "go")).collect();
    let svg = StateGraph::new(states(MOST_STATES), edges).unwrap().svg();
    assert_eq!(svg.matches("class=\"state").count(), MOST_STATES);
}

#[test]
fn an_empty_graph_is_a_picture_too() {
    assert!(StateGraph::new(Vec::new(), Vec::new()).unwrap().svg().ends_with("</svg>\n"));
}

/// Nothing swings out of the picture, and programs that know no variables see colours.
#[test]
fn svg_is_not_clipped_and_has_plain_colours() {
    // Edges back go around all boxes.
    let states = (0..4).map(|n| state(&format!("state {n}"))).collect();
    let edges = vec![
        edge(0, 1, "a"),
        edge(1, 2, "b"),
        edge(2, 3, "c"),
        edge(3, 0, "back to the start"),
        edge(3, 3, "stays"),
    ];
    for svg in [StateGraph::new(states, edges).unwrap().svg(), lost_update().svg()] {
        let attribute = |name: &str| {
            let (_, rest) = svg.split_once(&format!(" {name}=\"")).unwrap();
            rest.split('"').next().unwrap().to_string()
        };
        let size: Vec<f64> = attribute("viewBox").split(' ').map(|n| n.parse().unwrap()).collect();
        for path in svg.split("<path class=\"edge").skip(1) {
            let (_, rest) = path.split_once(" d=\"").unwrap();
            let numbers = rest.split('"').next().unwrap().replace(['M', 'C', 'L'], " ");
            let numbers: Vec<f64> =
                numbers.split_whitespace().map(|n| n.parse().unwrap()).collect();
            for point in numbers.chunks(2) {
                assert!((0.0..=size[2]).contains(&point[0]), "{point:?} in {size:?}");
                assert!((0.0..=size[3]).contains(&point[1]), "{point:?} in {size:?}");
            }
        }
        assert!(!svg.contains("var("));
        assert!(svg.contains(".state{fill:#f4f6fa"));
    }
}
