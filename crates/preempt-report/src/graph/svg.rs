//! The laid-out graph as SVG: boxes, curves, and words that do not depend on colour.

use super::layout::Places;
use super::{GraphEdge, StateGraph};
use crate::{fit, xml};
use std::fmt::Write;

pub(super) fn draw(graph: &StateGraph, places: &Places) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w:.0} {h:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" role=\"img\" aria-label=\"state graph\">\n<style>{STYLE}</style>\n<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L10 5L0 10z\"/></marker></defs>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        w = places.width,
        h = places.height
    );
    for edge in &graph.edges {
        edge_path(&mut out, edge, places);
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

fn edge_path(out: &mut String, edge: &GraphEdge, places: &Places) {
    let ((x1, y1), (w1, h1)) = (places.centre[edge.from], places.size[edge.from]);
    let ((x2, y2), (w2, h2)) = (places.centre[edge.to], places.size[edge.to]);
    let (path, label) = if edge.from == edge.to {
        let (right, up, down) = (x1 + w1 / 2.0, y1 - h1 / 4.0, y1 + h1 / 4.0);
        let far = right + 34.0;
        let path =
            format!("M{right:.1} {up:.1}C{far:.1} {up:.1} {far:.1} {down:.1} {right:.1} {down:.1}");
        (path, (far, y1 - 8.0))
    } else if y2 > y1 + 1.0 {
        let (top, bottom) = (y1 + h1 / 2.0, y2 - h2 / 2.0);
        let pull = ((bottom - top) / 2.0).max(12.0);
        let path = format!(
            "M{x1:.1} {top:.1}C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {bottom:.1}",
            top + pull,
            bottom - pull
        );
        (path, ((x1 + x2) / 2.0, (top + bottom) / 2.0 + 3.0))
    } else {
        // Back or sideways: from the right edge to the right edge, bending out.
        let (right1, right2) = (x1 + w1 / 2.0, x2 + w2 / 2.0);
        let far = right1.max(right2) + 30.0 + (y1 - y2).abs() / 8.0;
        let path =
            format!("M{right1:.1} {y1:.1}C{far:.1} {y1:.1} {far:.1} {y2:.1} {right2:.1} {y2:.1}");
        (path, (far - 10.0, (y1 + y2) / 2.0))
    };
    let class = if edge.on_trace { "edge trace" } else { "edge" };
    let text = xml::escape(&fit::cut(&fit::clean(&edge.label), 28, "…"));
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#head)\"/><text class=\"on\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
        label.0, label.1
    );
}

const STYLE: &str = "svg{font:12px ui-monospace,monospace;--ink:#1c2330;--soft:#8791a3;--paper:#fff;--box:#f4f6fa;--bad:#b3261e}\
@media(prefers-color-scheme:dark){svg{--ink:#e6e9ef;--soft:#8f9aad;--paper:#12151b;--box:#1d222c;--bad:#ff8a80}}\
.paper{fill:var(--paper)}.state{fill:var(--box);stroke:var(--ink)}.error{stroke:var(--bad);stroke-width:2.5}\
.in{fill:var(--ink);text-anchor:middle}.on{fill:var(--ink);font-size:10.5px;text-anchor:middle;paint-order:stroke;stroke:var(--paper);stroke-width:4px}\
.edge{fill:none;stroke:var(--soft);stroke-width:1.2}.trace{stroke:var(--ink);stroke-width:2.6}marker path{fill:var(--ink)}\
.mark{fill:var(--bad);font-size:16px;font-weight:700}";
