//! The laid-out graph as SVG: boxes, curves, and words that do not depend on colour.

use super::layout::Places;
use super::{GraphEdge, Picture, StateGraph};
use crate::{fit, xml};
use std::fmt::Write;

pub(super) fn draw(graph: &StateGraph, places: &Places) -> String {
    let size = picture(graph, places);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w:.0} {h:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" role=\"img\" aria-label=\"state graph\">\n<style>{STYLE}</style>\n<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"9\" orient=\"auto\"><path d=\"M0 0L10 5L0 10z\"/></marker></defs>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        w = size.width,
        h = size.height
    );
    let mut labels = Labels::default();
    for edge in &graph.edges {
        edge_path(&mut out, edge, places, &mut labels);
    }
    for (index, state) in graph.states.iter().enumerate() {
        let ((x, y), (w, h)) = (places.centre[index], places.size[index]);
        let (left, top) = (x - w / 2.0, y - h / 2.0);
        let class = if state.error { "state error" } else { "state" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"7\"/>"
        );
        if state.accepting {
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\"/>",
                left + 3.0,
                top + 3.0,
                w - 6.0,
                h - 6.0
            );
        }
        if state.initial {
            let _ = writeln!(
                out,
                "<path class=\"edge\" d=\"M{x:.1} {:.1}L{x:.1} {top:.1}\" marker-end=\"url(#head)\"/>",
                top - 24.0
            );
        }
        if state.error {
            let _ = writeln!(
                out,
                "<text class=\"mark\" x=\"{:.1}\" y=\"{:.1}\">✗</text>",
                left + w - 4.0,
                top + 4.0
            );
        }
        let lines: Vec<&str> = state.label.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            let at = y + 4.5 + (n as f64 - (lines.len() as f64 - 1.0) / 2.0) * 15.0;
            let text = xml::escape(line);
            let _ = writeln!(out, "<text class=\"in\" x=\"{x:.1}\" y=\"{at:.1}\">{text}</text>");
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Where everything goes, for callers that draw it themselves.
pub(super) fn picture(graph: &StateGraph, places: &Places) -> Picture {
    let mut labels = Labels::default();
    let sides = |((x, y), (w, h)): (&(f64, f64), &(f64, f64))| [x - w / 2.0, y - h / 2.0, *w, *h];
    let curves: Vec<_> = graph.edges.iter().map(|edge| curve(edge, places)).collect();
    let texts = graph.edges.iter().map(short_label).zip(graph.edges.iter().zip(&curves));
    let labels: Vec<(f64, f64)> =
        texts.map(|(text, (edge, curve))| label_place(edge, *curve, &text, &mut labels)).collect();
    // Curves swing out, and labels reach beyond curves.
    let reach = curves.iter().flatten().map(|point| point.0);
    let ends = labels
        .iter()
        .zip(&graph.edges)
        .map(|(place, edge)| place.0 + fit::width(&short_label(edge)) as f64 * 3.3);
    Picture {
        width: reach.chain(ends).fold(places.width, f64::max) + 8.0,
        height: curves.iter().flatten().map(|point| point.1).fold(places.height, f64::max),
        boxes: places.centre.iter().zip(&places.size).map(sides).collect(),
        curves,
        labels,
    }
}

fn short_label(edge: &GraphEdge) -> String {
    fit::cut(&fit::clean(&edge.label), 28, "…")
}

fn label_place(
    edge: &GraphEdge,
    [(x1, y1), (x2, y2), (x3, y3), (x4, y4)]: [(f64, f64); 4],
    text: &str,
    labels: &mut Labels,
) -> (f64, f64) {
    let (lx, ly) =
        labels.place(text, |t| (bezier([x1, x2, x3, x4], t), bezier([y1, y2, y3, y4], t)));
    // Beside a loop, not inside the box it belongs to.
    let lx = if edge.from == edge.to { lx + fit::width(text) as f64 * 3.3 } else { lx };
    (lx, ly)
}

fn edge_path(out: &mut String, edge: &GraphEdge, places: &Places, labels: &mut Labels) {
    let points = curve(edge, places);
    let [(x1, y1), (x2, y2), (x3, y3), (x4, y4)] = points;
    let text = short_label(edge);
    let (lx, ly) = label_place(edge, points, &text, labels);
    let class = if edge.on_trace { "edge trace" } else { "edge" };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}C{x2:.1} {y2:.1} {x3:.1} {y3:.1} {x4:.1} {y4:.1}\" marker-end=\"url(#head)\"/><text class=\"on\" x=\"{lx:.1}\" y=\"{:.1}\">{}</text>",
        ly + 3.0,
        xml::escape(&text)
    );
}

/// The four points of an edge's curve.
fn curve(edge: &GraphEdge, places: &Places) -> [(f64, f64); 4] {
    let ((x1, y1), (w1, h1)) = (places.centre[edge.from], places.size[edge.from]);
    let ((x2, y2), (w2, h2)) = (places.centre[edge.to], places.size[edge.to]);
    let (right1, right2) = (x1 + w1 / 2.0, x2 + w2 / 2.0);
    if edge.from == edge.to {
        let (up, down, far) = (y1 - h1 / 4.0, y1 + h1 / 4.0, right1 + 34.0);
        return [(right1, up), (far, up), (far, down), (right1, down)];
    }
    if y2 > y1 + 1.0 {
        let (top, bottom) = (y1 + h1 / 2.0, y2 - h2 / 2.0);
        let pull = ((bottom - top) / 2.0).max(12.0);
        return [(x1, top), (x1, top + pull), (x2, bottom - pull), (x2, bottom)];
    }
    // Back or sideways: from the right edge to the right edge, around all boxes between.
    let between = places
        .centre
        .iter()
        .zip(&places.size)
        .filter(|((_, y), _)| (y2 - 1.0..=y1 + 1.0).contains(y))
        .map(|((x, _), (w, _))| x + w / 2.0)
        .fold(right1.max(right2), f64::max);
    let far = (between + 24.0 - (right1 + right2) / 8.0) / 0.75;
    [(right1, y1), (far, y1), (far, y2), (right2, y2)]
}

/// Labels placed so far, to keep the next one off them.
#[derive(Default)]
struct Labels {
    /// Centre and width.
    placed: Vec<(f64, f64, f64)>,
}

impl Labels {
    /// The first free place along the curve; the middle when none is free.
    fn place(&mut self, text: &str, at: impl Fn(f64) -> (f64, f64)) -> (f64, f64) {
        let width = fit::width(text) as f64 * 6.5;
        let free = |(x, y): (f64, f64)| {
            self.placed
                .iter()
                .all(|(px, py, w)| (x - px).abs() > (w + width) / 2.0 || (y - py).abs() > 11.0)
        };
        let tries = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78];
        let (x, y) = tries.map(&at).into_iter().find(|&p| free(p)).unwrap_or_else(|| at(0.5));
        self.placed.push((x, y, width));
        (x, y)
    }
}

/// One coordinate of a cubic curve at `t`.
fn bezier([a, b, c, d]: [f64; 4], t: f64) -> f64 {
    let u = 1.0 - t;
    a * u * u * u + 3.0 * b * u * u * t + 3.0 * c * u * t * t + d * t * t * t
}

// Plain colours first: not every program that shows pictures knows variables. Where there is a dark preference and
// it is known, they are replaced.
const STYLE: &str = "svg{font:12px ui-monospace,monospace}\
.paper{fill:#ffffff}.state{fill:#f4f6fa;stroke:#1c2330}.error{stroke:#b3261e;stroke-width:2.5}\
.in{fill:#1c2330;text-anchor:middle}.on{fill:#1c2330;font-size:10.5px;text-anchor:middle;paint-order:stroke;stroke:#ffffff;stroke-width:4px}\
.edge{fill:none;stroke:#8791a3;stroke-width:1.2}.trace{stroke:#1c2330;stroke-width:2.6}marker path{fill:#1c2330}\
.mark{fill:#b3261e;font-size:16px;font-weight:700}\
@media(prefers-color-scheme:dark){.paper{fill:#12151b}.state{fill:#1d222c;stroke:#e6e9ef}.error{stroke:#ff8a80}\
.in{fill:#e6e9ef}.on{fill:#e6e9ef;stroke:#12151b}.edge{stroke:#8f9aad}.trace{stroke:#e6e9ef}marker path{fill:#e6e9ef}.mark{fill:#ff8a80}}";
