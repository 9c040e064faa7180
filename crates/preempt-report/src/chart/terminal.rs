//! The chart for a terminal: solid arrows for handshakes, dashed ones into buffers.

use super::Chart;
use crate::look::Tone;
use crate::{Cast, Event, Look, Message, fit};
use preempt_core::Trace;

const NARROWEST_COLUMN: usize = 14;

/// Draws the chart; a plain list where the width does not allow lifelines.
pub fn terminal(trace: &Trace, look: &Look) -> String {
    let chart = Chart::of(trace);
    if chart.messages.is_empty() {
        return "(no messages)\n".into();
    }
    let cast = Cast::of(trace);
    let gutter = trace.steps.len().to_string().len() + 2;
    let column = look.width.saturating_sub(gutter) / cast.len().max(1);
    if column < NARROWEST_COLUMN {
        return list(&chart, &cast, look);
    }
    let canvas = Canvas { column: column.min(40), gutter, cast: &cast, look };
    let mut out = canvas.header();
    for (index, &step) in chart.steps.iter().enumerate() {
        for message in chart.at(index) {
            let sent = message.sent.filter(|e| e.step == step);
            let received = message.received.filter(|e| e.step == step);
            let text = match (sent, received) {
                (Some(from), Some(to)) => canvas.arrow(from.pid, to.pid, &message.label(), true),
                (Some(from), None) => match message.received {
                    Some(to) => canvas.arrow(from.pid, to.pid, &message.label(), false),
                    None => {
                        canvas.mark(from.pid, &[format!("{} (never received)", message.label())])
                    }
                },
                (None, Some(to)) => canvas.mark(to.pid, &arrivals(message)),
                (None, None) => continue,
            };
            out.push_str(&canvas.line(&(step + 1).to_string(), &text));
        }
        if trace.cycle_start.is_some_and(|s| chart.row(s) == index + 1 && s > step) {
            out.push_str(&canvas.line("", look.glyph("╭── cycle", "+-- cycle")));
        }
    }
    out
}

/// What to say where a message arrives, the longest first.
fn arrivals(message: &Message) -> [String; 3] {
    let Message { channel, text, .. } = message;
    match message.sent {
        Some(Event { step, .. }) => [
            format!("{channel}?{text} (sent at {})", step + 1),
            format!("?{text} (sent at {})", step + 1),
            format!("?{text} ({})", step + 1),
        ],
        None => [
            format!("{channel}?{text} (there from the start)"),
            format!("{channel}?{text}"),
            format!("?{text}"),
        ],
    }
}

fn list(chart: &Chart, cast: &Cast, look: &Look) -> String {
    let mut out = String::new();
    for message in &chart.messages {
        let end = |event: Option<Event>| match event {
            Some(event) => format!("{} at {}", cast.label(event.pid), event.step + 1),
            None => "no process".into(),
        };
        let text =
            format!("{} -> {}: {}", end(message.sent), end(message.received), message.label());
        for line in fit::wrap(&fit::clean(&text), look.width, 2) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

struct Canvas<'a> {
    column: usize,
    gutter: usize,
    cast: &'a Cast,
    look: &'a Look,
}

impl Canvas<'_> {
    fn header(&self) -> String {
        let mut names = String::new();
        for member in self.cast.members() {
            let name = fit::cut(&fit::clean(&member.label), self.column - 1, ".");
            names.push_str(&fit::pad(&name, self.column));
        }
        let line = format!("{}{}", " ".repeat(self.gutter), names.trim_end());
        format!("{}\n", self.look.paint(Tone::Strong, &line))
    }

    fn line(&self, number: &str, text: &str) -> String {
        let lead = format!("{number:>width$}  ", width = self.gutter - 2);
        format!("{}{}\n", self.look.paint(Tone::Faint, &lead), text.trim_end())
    }

    /// Lifelines with an arrow from one to another.
    fn arrow(&self, from: usize, to: usize, label: &str, solid: bool) -> String {
        let (from, to) = (self.lane(from), self.lane(to));
        if from == to {
            return self.mark_lane(from, label);
        }
        let (left, right) = (from.min(to), from.max(to));
        let dash = match solid {
            true => self.look.glyph("─", "-"),
            false => self.look.glyph("┄", "."),
        };
        let span = (right - left) * self.column - 1;
        let label = fit::cut(&fit::clean(label), span.saturating_sub(5), ".");
        let fill = span.saturating_sub(fit::width(&label) + 4);
        let (before, after) = (dash.repeat(1 + fill / 2), dash.repeat(fill - fill / 2));
        let shaft = if from < to {
            format!("{before} {label} {after}{}", self.look.glyph("▶", ">"))
        } else {
            format!("{}{after} {label} {before}", self.look.glyph("◀", "<"))
        };
        let mut out = String::new();
        for lane in 0..=left {
            out.push_str(self.bar());
            if lane < left {
                out.push_str(&" ".repeat(self.column - 1));
            }
        }
        out.push_str(&shaft);
        self.bars_from(&mut out, right);
        out
    }

    /// Lifelines with the first text that fits beside one of them.
    fn mark(&self, pid: usize, texts: &[String]) -> String {
        let lane = self.lane(pid);
        let room = self.look.width.saturating_sub(self.gutter + lane * self.column + 2);
        let fits = texts.iter().find(|text| fit::width(text) <= room);
        self.mark_lane(lane, fits.or(texts.last()).map_or("", |text| text))
    }

    fn mark_lane(&self, lane: usize, text: &str) -> String {
        let mut out = String::new();
        for _ in 0..lane {
            out.push_str(&fit::pad(self.bar(), self.column));
        }
        let room = self.look.width.saturating_sub(self.gutter + lane * self.column);
        let text = format!("{} {}", self.look.glyph("●", "*"), fit::clean(text));
        let text = fit::cut(&text, room, ".");
        // A long text runs over the lifelines to its right.
        let next = lane + 1 + fit::width(&text) / self.column;
        out.push_str(&text);
        if next < self.cast.len() {
            out = fit::pad(&out, next * self.column);
            self.bars_from(&mut out, next);
        }
        out
    }

    fn bars_from(&self, out: &mut String, lane: usize) {
        for _ in lane..self.cast.len() {
            out.push_str(&fit::pad(self.bar(), self.column));
        }
    }

    fn bar(&self) -> &'static str {
        self.look.glyph("│", "|")
    }

    fn lane(&self, pid: usize) -> usize {
        self.cast.lane(pid).unwrap_or(0)
    }
}
