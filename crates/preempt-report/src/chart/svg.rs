//! The chart as a scalable picture that follows the reader's light or dark preference.

use super::Chart;
use crate::{Cast, Message, fit, xml};
use preempt_core::Trace;
use std::fmt::Write;

const ROW: usize = 34;
const TOP: usize = 58;
const COLUMN: usize = 240;
const SIDE: usize = 90;

/// Draws the chart as one SVG document.
pub fn svg(trace: &Trace) -> String {
    let chart = Chart::of(trace);
    let cast = Cast::of(trace);
    let width = SIDE * 2 + COLUMN * cast.len().saturating_sub(1).max(1);
    let bottom = TOP + ROW * chart.steps.len().max(1) + 16;
    let mut out = String::new();
    let mut put = |text: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = out.write_fmt(text);
        out.push('\n');
    };
    put(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="message sequence chart">"#,
        height = bottom + 12
    ));
    put(format_args!("<style>{STYLE}</style>"));
    put(format_args!(
        r#"<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z"/></marker></defs>"#
    ));
    put(format_args!(r#"<rect class="paper" width="100%" height="100%"/>"#));
    let x = |pid: usize| SIDE + COLUMN * cast.lane(pid).unwrap_or(0);
    let y = |step: usize| TOP + ROW * chart.row(step) + ROW / 2;
    for member in cast.members() {
        let at = x(member.pid);
        let name = xml::escape(&fit::cut_middle(&member.label, 16, "…"));
        put(format_args!(
            r#"<line class="life" x1="{at}" y1="44" x2="{at}" y2="{bottom}"/><rect class="name" x="{}" y="14" width="140" height="30" rx="6"/><text class="who" x="{at}" y="34">{name}</text>"#,
            at - 70
        ));
    }
    for &step in &chart.steps {
        put(format_args!(r#"<text class="number" x="10" y="{}">{}</text>"#, y(step) + 4, step + 1));
    }
    for message in &chart.messages {
        put(format_args!("{}", arrow(message, x, y)));
    }
    if chart.messages.is_empty() {
        put(format_args!(r#"<text class="number" x="10" y="{}">no messages</text>"#, TOP + 20));
    }
    put(format_args!("</svg>"));
    out
}

/// A message, with the columns of processes and the rows of steps.
fn arrow(message: &Message, x: impl Fn(usize) -> usize, y: impl Fn(usize) -> usize) -> String {
    let label = xml::escape(&fit::cut(&message.label(), 24, "…"));
    match (message.sent, message.received) {
        (Some(from), Some(to)) if from.pid == to.pid => {
            let (x, y1, y2) = (x(from.pid), y(from.step), y(to.step));
            format!(
                r#"<path class="arrow" d="M{x} {y1}C{c} {y1} {c} {y2} {x} {y2}" marker-end="url(#head)"/><text class="what own" x="{}" y="{}">{label}</text>"#,
                x + 10,
                y1 - 6,
                c = x + 60
            )
        }
        (Some(from), Some(to)) => {
            let (x1, y1, x2, y2) = (x(from.pid), y(from.step), x(to.pid), y(to.step));
            let class = if from.step == to.step { "arrow" } else { "arrow buffered" };
            // Along the arrow and nearer to the sender: crossing messages keep their labels apart.
            let (dx, dy) = (x2 as f64 - x1 as f64, y2 as f64 - y1 as f64);
            let (lx, ly) = (x1 as f64 + dx / 3.0, y1 as f64 + dy / 3.0);
            let slope = (dy / dx).atan().to_degrees();
            format!(
                r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" marker-end="url(#head)"/><text class="what" transform="translate({lx:.1} {ly:.1}) rotate({slope:.1})" y="-6">{label}</text>"#
            )
        }
        (Some(from), None) => {
            let (x, y) = (x(from.pid), y(from.step));
            format!(
                r#"<line class="arrow buffered" x1="{x}" y1="{y}" x2="{}" y2="{y}"/><circle class="lost" cx="{}" cy="{y}" r="4"/><text class="what own" x="{}" y="{}">{label} (never received)</text>"#,
                x + 50,
                x + 54,
                x + 6,
                y - 6
            )
        }
        (None, Some(to)) => {
            let (x, y) = (x(to.pid), y(to.step));
            format!(
                r#"<line class="arrow buffered" x1="{}" y1="{y}" x2="{x}" y2="{y}" marker-end="url(#head)"/><text class="what own" x="{}" y="{}">{label}</text>"#,
                x - 50,
                x - 50,
                y - 6
            )
        }
        (None, None) => String::new(),
    }
}

// Plain colours first: not every program that shows pictures knows variables. Where there is a dark preference and
// it is known, they are replaced.
const STYLE: &str = "svg{font:13px ui-monospace,monospace}\
.paper{fill:#ffffff}.life{stroke:#8791a3;stroke-dasharray:2 4}.name{fill:#eef1f6;stroke:#8791a3}\
.who{text-anchor:middle;fill:#1c2330;font-weight:600}.number{fill:#8791a3;font-size:11px}\
.arrow{stroke:#1c2330;stroke-width:1.4;fill:none}.buffered{stroke-dasharray:6 4}marker path{fill:#1c2330}\
.what{fill:#1c2330;text-anchor:middle;paint-order:stroke;stroke:#ffffff;stroke-width:4px}.own{text-anchor:start}\
.lost{fill:none;stroke:#1c2330}\
@media(prefers-color-scheme:dark){.paper{fill:#12151b}.name{fill:#222834}.who{fill:#e6e9ef}.arrow{stroke:#e6e9ef}\
marker path{fill:#e6e9ef}.what{fill:#e6e9ef;stroke:#12151b}.lost{stroke:#e6e9ef}}";
