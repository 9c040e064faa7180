//! Where the columns are: lanes side by side, or rails when there are too many for the width.

use crate::look::Tone;
use crate::{Cast, Look, fit};
use preempt_core::Trace;

/// Between the values of a change.
pub(super) const ARROW: &str = "->";

/// Narrower lanes than this are not worth reading.
const NARROWEST_LANE: usize = 16;
const NARROWEST_CHANGES: usize = 14;

/// Columns of a drawing.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Width of the step number.
    pub(super) number: usize,
    /// Whether there is room for the bracket of a cycle.
    pub(super) has_cycle: bool,
    lanes: usize,
    /// Width of one lane, gap included; `None` draws rails.
    lane: Option<usize>,
    changes: usize,
    body: usize,
}

/// What a step writes into its lane.
pub(super) struct Entry<'a> {
    pub(super) lane: usize,
    /// The lane of the process that takes part, and what it does.
    pub(super) partner: Option<(usize, &'a str)>,
    pub(super) name: &'a str,
    pub(super) cell: &'a [String],
}

impl Layout {
    /// Columns for `cast` when the longest number is `steps`, without knowing what will come.
    pub(super) fn new(cast: &Cast, look: &Look, steps: usize, has_cycle: bool) -> Self {
        let body = Self::body(look, steps, has_cycle);
        Self::divide(cast, steps, has_cycle, body, body / 3, usize::MAX)
    }

    /// Columns for a trace that is known as a whole: no wider than its content.
    pub(super) fn for_trace(trace: &Trace, cast: &Cast, look: &Look) -> Self {
        let has_cycle = trace.cycle_start.is_some();
        let steps = trace.steps.len();
        let body = Self::body(look, steps, has_cycle);
        let (mut changes, mut beside) = (0, 0);
        let mut lane = 0;
        for (at, step) in trace.steps.iter().enumerate() {
            let room = |texts: &[String]| texts.iter().map(|t| fit::width(t) + 2).sum::<usize>();
            let text = room(&crate::change_words(&step.changes, &step.process, ARROW));
            changes = changes.max(text);
            beside = beside.max(text + room(&crate::remarks(trace, at)));
            let statement = match step.partner {
                Some(_) => crate::message::halves(&step.text).0,
                None => &step.text,
            };
            lane = lane.max(fit::width(statement) + 7);
        }
        for member in cast.members() {
            lane = lane.max(fit::width(&member.label) + 2);
        }
        // What else is known of a step gets what the lanes leave.
        let least = changes.min(body / 3);
        let left = body.saturating_sub(lane * cast.len());
        let beside = beside.min(body / 3).min(left).max(least);
        Self::divide(cast, steps, has_cycle, body, beside, lane)
    }

    fn body(look: &Look, steps: usize, has_cycle: bool) -> usize {
        let number = steps.max(1).to_string().len();
        look.width.saturating_sub(number + 2 + 2 * usize::from(has_cycle)).max(24)
    }

    fn divide(
        cast: &Cast,
        steps: usize,
        has_cycle: bool,
        body: usize,
        changes: usize,
        widest_lane: usize,
    ) -> Self {
        let lanes = cast.len().max(1);
        let changes = changes.max(NARROWEST_CHANGES);
        let room = body.saturating_sub(changes) / lanes;
        let lane = (room >= NARROWEST_LANE).then(|| room.min(widest_lane.max(NARROWEST_LANE)));
        // What the lanes do not need, the changes get.
        let changes = match lane {
            Some(lane) => body - lane * lanes,
            None => changes,
        };
        Layout { number: steps.max(1).to_string().len(), has_cycle, lanes, lane, changes, body }
    }

    /// Whether the lanes are too narrow to hold statements.
    pub(super) fn is_rails(&self) -> bool {
        self.lane.is_none()
    }

    /// Rails shown; a hundred processes would leave no room for the statement.
    fn rails(&self) -> usize {
        if self.lanes * 2 > self.body / 3 { 0 } else { self.lanes }
    }

    /// Names over the lanes.
    pub(super) fn header(&self, cast: &Cast, look: &Look) -> String {
        let lead = " ".repeat(self.number + 2 + 2 * usize::from(self.has_cycle));
        let mut out = lead.clone();
        match self.lane {
            Some(lane) => {
                let mut rule = lead;
                for (index, member) in cast.members().iter().enumerate() {
                    let name = fit::clean(&member.label);
                    let name = fit::cut_middle(&name, lane - 2, look.glyph("…", ".."));
                    out.push_str(&look.paint(Tone::Lane(index), &name));
                    // Padding follows only where another name does.
                    if index + 1 < cast.len() {
                        out.push_str(&" ".repeat(lane - fit::width(&name)));
                    }
                    rule.push_str(&look.glyph("─", "-").repeat(lane - 2));
                    rule.push_str("  ");
                }
                let rule = look.paint(Tone::Faint, rule.trim_end());
                format!("{out}\n{rule}\n")
            }
            None => {
                let names: Vec<String> = cast.members().into_iter().map(|m| m.label).collect();
                let text = format!("lanes: {}", names.join(", "));
                let mut out = String::new();
                for line in fit::wrap(&fit::clean(&text), look.width, 2) {
                    out.push_str(&look.paint(Tone::Strong, &line));
                    out.push('\n');
                }
                out
            }
        }
    }

    /// The arrow of a preemption from one lane to another.
    pub(super) fn arrow(
        &self,
        from: usize,
        to: usize,
        label: &str,
        reason: &str,
        look: &Look,
    ) -> String {
        let Some(lane) = self.lane else {
            let text = format!("{} {label}: {reason}", look.glyph("──▶", "-->"));
            let text = format!("{}{text}", " ".repeat(self.rails() * 2));
            return fit::cut(&text, self.body, "");
        };
        let (left, right) = (from.min(to) * lane, from.max(to) * lane);
        let dash = look.glyph("─", "-");
        let span = right - left;
        let label = fit::cut(label, span.saturating_sub(4), "");
        let fill = dash.repeat(span.saturating_sub(4 + fit::width(&label)));
        let line = if from < to {
            format!("{}{dash} {label} {fill}{}", look.glyph("╰", "`"), look.glyph("▶", ">"))
        } else {
            format!("{}{fill} {label} {dash}{}", look.glyph("◀", "<"), look.glyph("╯", "'"))
        };
        format!("{}{line}", " ".repeat(left))
    }

    /// The rows of one step.
    pub(super) fn row(&self, entry: &Entry<'_>, changes: &[String], look: &Look) -> Vec<String> {
        let &Entry { lane, partner, name, cell } = entry;
        let lead = match self.lane {
            Some(width) => {
                Lead { before: lane * width, cell: width - 2, total: width * self.lanes }
            }
            None => {
                let before = self.rails() * 2;
                let cell = (self.body - before).saturating_sub(self.changes + 2).max(8);
                Lead { before, cell, total: before + cell + 2 }
            }
        };
        let mut cells = Vec::new();
        for (index, text) in cell.iter().enumerate() {
            let text = match (self.lane, index) {
                (None, 0) => format!("{name} {text}"),
                _ => text.clone(),
            };
            cells.extend(fit::wrap(&text, lead.cell, 2));
        }
        let side = pack(changes, self.body.saturating_sub(lead.total).max(4));
        (0..cells.len().max(side.len()))
            .map(|at| {
                let empty = String::new();
                let text = cells.get(at).unwrap_or(&empty);
                let change = side.get(at).unwrap_or(&empty);
                let mut row = self.before(lane, partner.map(|p| p.0), at == 0, look);
                row.push_str(&look.paint(Tone::Lane(lane), text));
                let mut used = lead.before + fit::width(text);
                if let (0, Some(width), Some((partner, receives))) = (at, self.lane, partner) {
                    let joined = joined(lane < partner, receives, width - 2, look);
                    let (from, end) = (partner * width, partner * width + fit::width(&joined));
                    let joined = look.paint(Tone::Lane(partner), &joined);
                    if from > used {
                        row.push_str(&" ".repeat(from - used));
                        row.push_str(&joined);
                        used = end;
                    } else if end < lead.before {
                        // The receiver stands left of the sender.
                        let sends = look.paint(Tone::Lane(lane), text);
                        let gap = " ".repeat(lead.before - end);
                        row = format!("{}{joined}{gap}{sends}", " ".repeat(from));
                    }
                }
                row.push_str(&" ".repeat(lead.total.saturating_sub(used)));
                row.push_str(&look.paint(Tone::Change, change));
                row
            })
            .collect()
    }

    /// What stands left of the cell: empty lanes, or rails with a mark.
    fn before(&self, lane: usize, partner: Option<usize>, first: bool, look: &Look) -> String {
        if let Some(width) = self.lane {
            return " ".repeat(lane * width);
        }
        let mut out = String::new();
        for rail in 0..self.rails() {
            let (mark, tone) = match (first && rail == lane, first && partner == Some(rail)) {
                (true, _) => (look.glyph("●", "*"), Tone::Lane(rail)),
                (_, true) => (look.glyph("○", "o"), Tone::Lane(rail)),
                _ => (look.glyph("│", "|"), Tone::Faint),
            };
            out.push_str(&look.paint(tone, mark));
            out.push(' ');
        }
        out
    }
}

/// What stands in the lane of the receiver of a rendezvous.
fn joined(rightwards: bool, text: &str, columns: usize, look: &Look) -> String {
    let arrow = match rightwards {
        true => look.glyph("⇒", "=>"),
        false => look.glyph("⇐", "<="),
    };
    fit::cut(&format!("{arrow} {}", fit::clean(text)), columns, "..")
}

struct Lead {
    before: usize,
    cell: usize,
    total: usize,
}

/// Changes side by side as long as they fit, else below each other.
fn pack(changes: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for change in changes {
        match lines.last_mut() {
            Some(last) if fit::width(last) + 2 + fit::width(change) <= columns => {
                last.push_str(", ");
                last.push_str(change);
            }
            _ => lines.extend(fit::wrap(change, columns, 2)),
        }
    }
    lines
}
