//! Text lanes: a column per process, time downwards.
//!
//! Every step shows its number, source line and statement in the lane of its process, and beside it
//! what it changed. A preemption is an arrow from the lane that could have gone on to the lane that
//! runs instead; a cycle is bracketed at the left. Where the columns would get too narrow the lanes
//! become rails (one mark per process) and the statement moves to the right of them.
//!
//! [`render`] draws a whole trace. [`Lanes`] draws step by step, for a simulator.

mod cell;
mod layout;

use crate::look::Tone;
use crate::message::halves;
use crate::{Cast, Look, change_words, fit, moment, remarks, waits};
use cell::net_changes;
use layout::{ARROW, Entry, Layout};
use preempt_core::{ProcessId, Switch, SwitchCount, Trace, TraceStep, Violation, counted, grouped};

/// Draws a whole trace, with the failure at its end.
pub fn render(trace: &Trace, violation: Option<&Violation>, look: &Look) -> String {
    // The counts are those of the whole execution, as everywhere else.
    let (whole, trace) = (trace.cost(), &*trace.decisive());
    let mut lanes = Lanes::new(Cast::of(trace).processes_only(), look);
    lanes.remarks = (0..trace.steps.len()).map(|at| remarks(trace, at)).collect();
    lanes.layout = Layout::for_trace(trace, &lanes.cast, look);
    let mut out = start_values(trace, look);
    if trace.steps.is_empty() {
        out.push_str("(no steps: the initial state)\n");
    } else {
        out.push_str(&lanes.header());
    }
    let hidden = hidden_steps(trace.steps.len(), look);
    // The start of a cycle is never hidden inside a run.
    let mut cuts = [Some(hidden.start), Some(hidden.end), trace.cycle_start];
    cuts.sort_unstable();
    let mut at = 0;
    for mut run in trace.steps.chunk_by(|a, b| a.partner.unwrap_or(a.pid) == b.pid) {
        while !run.is_empty() {
            let cut = cuts.iter().flatten().find(|cut| at < **cut && **cut < at + run.len());
            let (part, rest) = run.split_at(cut.map_or(run.len(), |cut| cut - at));
            if trace.cycle_start == Some(at) {
                out.push_str(&lanes.cycle_start());
            }
            if at == hidden.start && !hidden.is_empty() {
                out.push_str(&lanes.gap(&trace.steps[hidden.clone()]));
            }
            if !hidden.contains(&at) {
                out.push_str(&lanes.run(part));
            }
            at += part.len();
            run = rest;
        }
    }
    out.push_str(&lanes.cycle_end());
    if let Some(violation) = violation {
        out.push_str(&lanes.failure(trace, whole, violation));
    }
    out.push_str(&lanes.resting(trace));
    out
}

/// Draws lanes one step at a time.
#[derive(Clone, Debug)]
pub struct Lanes {
    look: Look,
    cast: Cast,
    layout: Layout,
    last: Option<usize>,
    shown: usize,
    preemptions: u32,
    in_cycle: bool,
    /// Of each step, beside what it changes.
    remarks: Vec<Vec<String>>,
}

impl Lanes {
    /// Lanes for processes known from the start; others may join later.
    pub fn new(cast: Cast, look: &Look) -> Self {
        let layout = Layout::new(&cast, look, 99_999, false);
        Lanes {
            look: *look,
            cast,
            layout,
            last: None,
            shown: 0,
            preemptions: 0,
            in_cycle: false,
            remarks: Vec::new(),
        }
    }

    /// The same for an execution of which the first steps are not drawn.
    pub fn starting_after(mut self, steps: usize) -> Self {
        self.shown = steps;
        self
    }

    /// The names of the processes over their lanes.
    pub fn header(&self) -> String {
        self.layout.header(&self.cast, &self.look)
    }

    /// One more step. A process that was not known gets a lane, under a new header.
    pub fn step(&mut self, step: &TraceStep) -> String {
        if step.pid == ProcessId::PROPERTY.index() {
            return self.interlude(step);
        }
        let mut out = self.admit(step);
        out.push_str(&self.arrow(step));
        let shown = match step.partner {
            Some(_) if !self.layout.is_rails() => halves(&step.text).0,
            _ => &step.text,
        };
        let mut text = match step.line {
            0 => fit::clean(shown),
            line => format!("{line} {}", fit::clean(shown)),
        };
        if let Some(partner) = step.partner.filter(|_| self.layout.is_rails()) {
            text.push_str(&format!(" {} {}", self.look.glyph("⇒", "=>"), self.cast.label(partner)));
        }
        let mut cell = vec![text];
        if !step.output.is_empty() {
            cell.extend(
                step.output
                    .lines()
                    .map(|line| format!("{} {}", self.look.glyph("»", ">>"), fit::clean(line))),
            );
        }
        self.shown += 1;
        let number = self.shown.to_string();
        let mut beside = change_words(&step.changes, &step.process, ARROW);
        beside.extend(self.remarks.get(self.shown - 1).into_iter().flatten().cloned());
        out.push_str(&self.row(step, &number, &cell, &beside));
        self.last = Some(step.partner.unwrap_or(step.pid));
        out
    }

    /// A step of no process, across all lanes: only time passes.
    fn interlude(&mut self, step: &TraceStep) -> String {
        self.shown += 1;
        let text = fit::clean(&step.text);
        let room = self.look.width.saturating_sub(self.layout.number + 4);
        let text = self.look.paint(Tone::Faint, &fit::cut(&text, room, "..."));
        format!("{}{text}\n", self.margin(&self.shown.to_string()))
    }

    /// Steps of one process in a row, shortened if the look asks for it.
    fn run(&mut self, run: &[TraceStep]) -> String {
        let longest = self.look.collapse.map_or(usize::MAX, |n| n.max(3));
        if run.len() <= longest {
            return run.iter().map(|step| self.step(step)).collect();
        }
        let (head, rest) = run.split_at(longest - 2);
        let (hidden, tail) = rest.split_at(rest.len() - 1);
        let mut out: String = head.iter().map(|step| self.step(step)).collect();
        let text = format!("{} {} more steps", self.look.glyph("⋮", ":"), hidden.len());
        self.shown += hidden.len();
        let beside = change_words(&net_changes(hidden), &hidden[0].process, ARROW);
        out.push_str(&self.row(&hidden[0], "", &[text], &beside));
        self.last = hidden.last().map(|s| s.partner.unwrap_or(s.pid));
        out.push_str(&self.step(&tail[0]));
        out
    }

    /// A line in the place of steps that are not shown.
    fn gap(&mut self, hidden: &[TraceStep]) -> String {
        let preemptions = hidden.iter().filter(|step| step.switch == Switch::Preemption).count();
        self.shown += hidden.len();
        self.preemptions += preemptions as u32;
        self.last = hidden.last().map(|step| step.partner.unwrap_or(step.pid));
        let text = format!(
            "{} {} more steps with {}: --html, --json or a replay of --trace shows them all",
            self.look.glyph("⋮", ":"),
            grouped(hidden.len() as u64),
            counted(preemptions, "preemption")
        );
        let room = self.look.width.saturating_sub(self.layout.number + 4);
        let text = self.look.paint(Tone::Faint, &fit::cut(&text, room, "..."));
        format!("{}{text}\n", self.margin(""))
    }

    fn admit(&mut self, step: &TraceStep) -> String {
        let mut new = self.cast.add(step.pid, &step.process);
        if let Some(partner) = step.partner.filter(|&p| self.cast.lane(p).is_none()) {
            new |= self.cast.add(partner, "");
        }
        if !new {
            return String::new();
        }
        self.layout = Layout::new(&self.cast, &self.look, 99_999, self.in_cycle);
        self.header()
    }

    /// The switch that leads to this step, when it is worth a row of its own.
    fn arrow(&mut self, step: &TraceStep) -> String {
        if step.switch != Switch::Preemption {
            return String::new();
        }
        // Before the first step only the first process can have run.
        let last = self.last.unwrap_or(0);
        self.preemptions += 1;
        let from = self.cast.lane(last).unwrap_or(0);
        let to = self.cast.lane(step.pid).unwrap_or(0);
        let label = format!("preemption {}", self.preemptions);
        let names = format!("{} could go on", self.cast.label(last));
        let text = self.layout.arrow(from, to, &label, &names, &self.look);
        format!("{}{}\n", self.margin(""), self.look.paint(Tone::Warning, &text))
    }

    fn row(&self, step: &TraceStep, number: &str, cell: &[String], beside: &[String]) -> String {
        let lane = self.cast.lane(step.pid).unwrap_or(0);
        let receives = halves(&step.text).1.unwrap_or("receives");
        let partner = step.partner.and_then(|p| self.cast.lane(p)).map(|p| (p, receives));
        let name = self.cast.label(step.pid);
        let entry = Entry { lane, partner, name: &name, cell };
        let rows = self.layout.row(&entry, beside, &self.look);
        let mut out = String::new();
        for (index, row) in rows.iter().enumerate() {
            out.push_str(&self.margin(if index == 0 { number } else { "" }));
            out.push_str(row.trim_end());
            out.push('\n');
        }
        out
    }

    /// The bracket of a cycle and the number of the step.
    fn margin(&self, number: &str) -> String {
        let bracket = match (self.layout.has_cycle, self.in_cycle) {
            (false, _) => "",
            (true, false) => "  ",
            (true, true) => self.look.glyph("│ ", "| "),
        };
        let number = format!("{number:>width$}  ", width = self.layout.number);
        format!(
            "{}{}",
            self.look.paint(Tone::Strong, bracket),
            self.look.paint(Tone::Faint, &number)
        )
    }

    fn cycle_start(&mut self) -> String {
        self.in_cycle = true;
        let line = self.look.glyph("╭── cycle: repeats for ever", "+-- cycle: repeats for ever");
        format!("{}\n", self.look.paint(Tone::Strong, &fit::cut(line, self.look.width, "")))
    }

    fn cycle_end(&mut self) -> String {
        if !std::mem::take(&mut self.in_cycle) {
            return String::new();
        }
        let line = self
            .look
            .glyph("╰── back to the start of the cycle", "+-- back to the start of the cycle");
        format!("{}\n", self.look.paint(Tone::Strong, &fit::cut(line, self.look.width, "")))
    }

    fn failure(&self, trace: &Trace, cost: SwitchCount, violation: &Violation) -> String {
        let text = format!(
            "{} {}",
            self.look.glyph("✗", "!!"),
            fit::clean(&moment::with_place(&violation.message, violation))
        );
        let mut out = String::new();
        for line in fit::wrap(&text, self.look.width, 2) {
            out.push_str(&self.look.paint(Tone::Bad, &line));
            out.push('\n');
        }
        for reason in &trace.observations.reasons {
            for line in fit::wrap(&format!("  {}", fit::clean(reason)), self.look.width, 4) {
                out.push_str(&self.look.paint(Tone::Bad, &line));
                out.push('\n');
            }
        }
        let stale = match violation.stale {
            Some(stale) if stale > 0 => counted(stale, "stale choice") + ", ",
            _ => String::new(),
        };
        let shown = match trace.steps.len() as u32 {
            shown if shown < cost.steps => format!(" (the first {shown} are shown)"),
            _ => String::new(),
        };
        let numbers = format!(
            "  {}{shown}, {stale}{}, {}",
            counted(cost.steps, "step"),
            counted(cost.preemptions, "preemption"),
            if cost.switches == 1 {
                "1 switch".into()
            } else {
                format!("{} switches", cost.switches)
            }
        );
        let simplest = match violation.simplest {
            true => "; no simpler execution fails",
            false => "; a simpler counterexample may exist",
        };
        for line in fit::wrap(&(numbers + simplest), self.look.width, 2) {
            out.push_str(&self.look.paint(Tone::Faint, &line));
            out.push('\n');
        }
        out
    }

    /// Where every process stands at the end.
    fn resting(&self, trace: &Trace) -> String {
        if trace.rest.is_empty() {
            return String::new();
        }
        let names: Vec<String> = trace.rest.iter().map(|p| self.cast.label(p.pid)).collect();
        let column =
            names.iter().map(|n| fit::width(n)).max().unwrap_or(0).min(self.look.width / 3);
        let waits = waits(trace);
        let mut out = format!("{}\n", self.look.paint(Tone::Faint, "at the end:"));
        for (position, name) in trace.rest.iter().zip(&names) {
            let place = match position.line {
                0 => String::new(),
                line => format!("{}:{line}  ", fit::clean(&position.file)),
            };
            let text = format!(
                "  {}  {place}{}",
                fit::pad(&fit::cut_middle(name, column, self.look.glyph("…", "..")), column),
                fit::clean(&position.text)
            );
            out.push_str(fit::cut(&text, self.look.width, "...").trim_end());
            out.push('\n');
            let Some(wait) = waits.iter().find(|wait| wait.pid == position.pid) else { continue };
            let text = format!("  {}  {}", fit::pad("", column), wait.text());
            for line in fit::wrap(&text, self.look.width, column + 4) {
                out.push_str(&self.look.paint(Tone::Faint, &line));
                out.push('\n');
            }
        }
        out
    }
}

/// The steps in the middle that are not shown, so that the drawing stays readable: of what is shown,
/// half is the beginning and half the end.
fn hidden_steps(steps: usize, look: &Look) -> std::ops::Range<usize> {
    match look.most_steps {
        Some(most) if steps > most => most / 2..steps - (most - most / 2),
        _ => 0..0,
    }
}

/// Values at the start of what changes later, so that the lanes can be read without the source.
fn start_values(trace: &Trace, look: &Look) -> String {
    let touched: std::collections::HashSet<&str> =
        trace.steps.iter().flat_map(|s| &s.changes).map(|c| c.name.as_str()).collect();
    let values: Vec<String> = trace
        .initial
        .iter()
        .filter(|(name, value)| {
            let empty = matches!(value, preempt_core::Value::Queue(q) if q.is_empty());
            touched.contains(name.as_str()) && !empty
        })
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if values.is_empty() {
        return String::new();
    }
    let text = fit::clean(&format!("at the start: {}", values.join(", ")));
    let mut out = String::new();
    for line in fit::wrap(&text, look.width, 2) {
        out.push_str(&look.paint(Tone::Faint, &line));
        out.push('\n');
    }
    out
}
