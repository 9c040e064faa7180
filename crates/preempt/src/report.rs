//! What an exploration found, as data and as text.

use crate::failure::Failure;
use crate::quantities::{plural, preemptions, stale_choices};
use crate::repeat;
use preempt_core::{counted, grouped};
use preempt_explore::Terminal;
use rustc_hash::FxHashMap;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// What an exploration concluded.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one per check")]
pub enum Outcome {
    /// No execution fails.
    Holds,
    /// No execution with at most this many preemptions fails; any failure needs at least one more.
    HoldsWithinBound(u32),
    /// Some execution fails.
    Failed(Failure),
    /// No failure was found, but not everything that was requested was explored.
    Inconclusive(Reason),
}

/// Why an exploration is inconclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Time was up.
    Time,
    /// The limit on executions was reached.
    Executions,
    /// The limit on states was reached.
    States,
    /// Executions were sampled.
    Sampling,
    /// A single schedule was run, and it did not fail.
    Replay,
    /// Threads share something that preempt does not see.
    Unseen,
    /// The test does nothing that preempt sees.
    Nothing,
    /// Data that was made outside the test body is changed in it, here, so that executions begin differently.
    Outside(&'static Location<'static>),
}

impl Reason {
    /// Whether nothing that was explored is a proof.
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Reason::Unseen | Reason::Nothing | Reason::Outside(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Reason::Outside(site) => {
                return write!(
                    f,
                    "data that was made outside the test body is changed at {site}, so every execution finds what the \
                     last one has left; make it inside the body, or use preempt::statics!"
                );
            }
            Reason::Time => "time was up",
            Reason::Executions => "the limit on executions was reached",
            Reason::States => "the limit on states was reached",
            Reason::Sampling => "executions were sampled",
            Reason::Replay => "one schedule was replayed and did not fail",
            Reason::Unseen => "threads share something that preempt does not see",
            Reason::Nothing => {
                "the test does nothing that preempt sees; are its threads, locks and atomics std's? Import \
                 preempt::thread and preempt::sync in place of std::thread and std::sync"
            }
        };
        f.write_str(text)
    }
}

/// What was covered up to one bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bound {
    /// Most stale choices: reads of older values and the like, see [`Memory`](crate::Memory).
    pub stale: u32,
    /// Most preemptions.
    pub preemptions: u32,
    /// Whether that is for executions with exactly so many stale choices only: all with fewer were explored,
    /// whatever their preemptions.
    pub all_fewer: bool,
    /// Partial orders with at most that many of each, or with fewer stale choices.
    pub partial_orders: u64,
    /// Executions so far.
    pub executions: u64,
    /// States so far.
    pub states: u64,
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub outcome: Outcome,
    /// Executions of the test body.
    pub executions: u64,
    /// Distinct complete happens-before graphs: under weak memory, consistent graphs of what is read from
    /// where, and of the order of stores to each atomic.
    pub partial_orders: u64,
    /// States visited, most of them without running the test.
    pub states: u64,
    /// What was covered, bound by bound.
    pub per_bound: Vec<Bound>,
    /// If there were too many threads for any bound on preemptions: all executions were explored in which
    /// the thread that is next in turn is passed over at most this many times.
    pub delays: Option<u32>,
    /// Executions made by sampling.
    pub samples: u64,
    /// Whether everything with fewer stale choices than the failure was explored.
    pub(crate) fewer_stale: bool,
    /// Which execution failed first, if executions followed in search of a simpler failure.
    pub first_failure: Option<u64>,
    /// After sampling: an estimate of the share of behaviour not seen yet.
    pub unseen: Option<f64>,
    /// How long it took.
    pub time: Duration,
    /// Lines worth knowing.
    pub notes: Vec<String>,
    /// What was left out although it is within the bounds.
    pub unexplored: Vec<&'static str>,
    pub(crate) graphs: FxHashMap<u128, (u32, Terminal)>,
}

impl Report {
    pub(crate) fn failed(failure: Failure, time: Duration) -> Self {
        Report {
            outcome: Outcome::Failed(failure),
            executions: 0,
            partial_orders: 0,
            states: 0,
            per_bound: Vec::new(),
            delays: None,
            samples: 0,
            fewer_stale: false,
            first_failure: None,
            unseen: None,
            time,
            notes: Vec::new(),
            unexplored: Vec::new(),
            graphs: FxHashMap::default(),
        }
    }

    /// The failure, if there is one.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Whether no failure was found.
    pub fn passed(&self) -> bool {
        self.failure().is_none()
    }

    /// Every complete graph, as (hash, fewest preemptions seen, how it ends); for comparing
    /// strategies.
    #[doc(hidden)]
    pub fn graphs(&self) -> Vec<(u128, u32, &'static str)> {
        let mut list: Vec<_> = self
            .graphs
            .iter()
            .map(|(&hash, &(preemptions, terminal))| {
                let end = match terminal {
                    Terminal::Complete => "complete",
                    Terminal::Deadlock => "deadlock",
                    Terminal::Livelock => "livelock",
                    Terminal::Panic => "panic",
                };
                (hash, preemptions, end)
            })
            .collect();
        list.sort_unstable();
        list
    }

    /// What was covered, as text: for each number of stale choices the largest number of preemptions,
    /// unless a larger number of stale choices covers it.
    fn boxes(&self) -> Option<String> {
        if let Some(row) = self.per_bound.iter().rfind(|row| row.all_fewer) {
            return Some(self.lexicographic(row));
        }
        let mut boxes: Vec<&Bound> = Vec::new();
        for row in &self.per_bound {
            boxes.retain(|b| !(b.stale <= row.stale && b.preemptions <= row.preemptions));
            if !boxes.iter().any(|b| row.stale <= b.stale && row.preemptions <= b.preemptions) {
                boxes.push(row);
            }
        }
        boxes.sort_by_key(|row| row.stale);
        let weak = self.per_bound.iter().any(|row| row.stale > 0);
        let words = |(index, row): (usize, &&Bound)| {
            let orders = if index == 0 { " partial orders" } else { "" };
            let bound = match (row.stale, weak) {
                (0, false) => preemptions(row.preemptions),
                (0, true) => format!("{} and no stale choice", preemptions(row.preemptions)),
                (stale, _) => {
                    format!("{} and {}", stale_choices(stale), preemptions(row.preemptions))
                }
            };
            format!("all {}{orders} with at most {bound}", grouped(row.partial_orders))
        };
        let list: Vec<String> = boxes.iter().enumerate().map(words).collect();
        (!list.is_empty()).then(|| list.join(", and "))
    }

    /// The same where everything with fewer stale choices than in this row was explored.
    fn lexicographic(&self, row: &Bound) -> String {
        let fewer = self.per_bound.iter().filter(|other| other.stale < row.stale);
        let fewer = fewer.map(|other| other.partial_orders).max().unwrap_or(0);
        let most = match row.stale {
            1 => "without a stale choice".to_string(),
            stale => format!("with at most {}", stale_choices(stale - 1)),
        };
        format!(
            "all {} partial orders {most}, and all {} with {} and at most {}",
            grouped(fewer),
            grouped(row.partial_orders - fewer.min(row.partial_orders)),
            stale_choices(row.stale),
            preemptions(row.preemptions)
        )
    }

    /// What was covered, and what was left out, in a sentence.
    pub(crate) fn covered(&self) -> String {
        let mut text = self.covered_in_bounds();
        if !self.unexplored.is_empty() && self.failure().is_none() {
            text.push_str(&format!(" ({})", self.unexplored.join("; ")));
        }
        text
    }

    fn covered_in_bounds(&self) -> String {
        let weak = self.per_bound.iter().any(|row| row.stale > 0);
        match (&self.outcome, self.boxes()) {
            (Outcome::Holds, _) => {
                let orders = counted(self.partial_orders, "partial order");
                format!("no execution fails; {orders}, all explored")
            }
            (Outcome::HoldsWithinBound(_), Some(boxes)) if weak => {
                format!("{boxes}; any failure needs more")
            }
            (Outcome::HoldsWithinBound(bound), Some(boxes)) => {
                format!("{boxes}; any failure needs at least {}", bound + 1)
            }
            (Outcome::Inconclusive(reason), Some(boxes)) => {
                format!("inconclusive, {reason}; {boxes} were explored")
            }
            (Outcome::Inconclusive(reason), None) if self.delays.is_some() => format!(
                "inconclusive, {reason}; all executions with at most {} were explored",
                plural(self.delays.unwrap_or(0).into(), "delay", "delays")
            ),
            (Outcome::Inconclusive(reason), None) => {
                let orders = counted(self.partial_orders, "partial order");
                format!("inconclusive, {reason}; {orders} seen")
            }
            (Outcome::Failed(failure), _) => format!("failed: {}", failure.message),
            (Outcome::HoldsWithinBound(bound), None) => {
                format!("any failure needs at least {}", preemptions(bound + 1))
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        let rate = if seconds > 0.0 { self.executions as f64 / seconds } else { 0.0 };
        write!(
            f,
            "{} ({}, {}, {}/s, {:.2} s)",
            self.covered(),
            counted(self.executions, "execution"),
            counted(self.states, "state"),
            grouped(rate as u64),
            seconds
        )?;
        if self.samples > 0 {
            write!(f, "\n  {} executions were samples", grouped(self.samples))?;
            if let Some(unseen) = self.unseen {
                write!(f, "; the next one would show something new with probability {unseen:.3}")?;
            }
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}

impl Failure {
    /// The whole report: what, where, lanes, how to repeat.
    pub(crate) fn full(&self, report: &Report, name: Option<&str>) -> String {
        let mut text = self.to_string();
        let seconds = report.time.as_secs_f64();
        let first = report.first_failure.unwrap_or(report.executions);
        text.push_str(&format!("\nfound after {}", plural(first, "execution", "executions")));
        if first < report.executions {
            let all = grouped(report.executions);
            text.push_str(&format!(" ({all} with the search for a simpler failure)"));
        }
        text.push_str(&format!(" in {seconds:.2} s"));
        let last = report.per_bound.last();
        let simpler = |row: &&Bound| (row.stale, row.preemptions) < (self.stale, self.preemptions);
        if let Some(row) = last.filter(simpler) {
            let stale = match (self.stale, row.stale) {
                (0, _) => String::new(),
                (_, 0) => " and no stale choice".into(),
                (_, stale) => format!(" and {}", stale_choices(stale)),
            };
            let fewer = if row.all_fewer { ", or with fewer stale choices," } else { "" };
            text.push_str(&format!(
                "; of the {} with at most {}{stale}{fewer} none fails",
                plural(row.partial_orders, "partial order", "partial orders"),
                preemptions(row.preemptions)
            ));
        }
        text.push('\n');
        if !self.schedule.is_empty() {
            let command = repeat::command(name);
            text.push_str(&format!("repeat with: PREEMPT_REPLAY='{}' {command}\n", self.schedule));
        }
        for note in &report.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        if !self.trace.steps.is_empty() {
            text.push_str(
                "note: only what goes through preempt::sync, preempt::thread and preempt::cell is seen; \
                 std::sync and std::thread are not\n",
            );
        }
        text
    }
}
