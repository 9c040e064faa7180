//! One execution, step by step.

use crate::{Observations, ProcessId, Step, Switch, SwitchCount, Value};
use std::borrow::Cow;

/// A variable that a step changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The variable.
    pub name: String,
    /// Before; `None` when it did not exist.
    pub from: Option<Value>,
    /// After; `None` when it is gone.
    pub to: Option<Value>,
}

/// One step of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// Name of the process.
    pub process: String,
    /// Id of the process.
    pub pid: usize,
    /// Receiver of a rendezvous.
    pub partner: Option<usize>,
    /// Source file.
    pub file: String,
    /// Source line, from 1; 0 when unknown.
    pub line: u32,
    /// The statement.
    pub text: String,
    /// How it relates to the step before.
    pub switch: Switch,
    /// What it changed.
    pub changes: Vec<Change>,
    /// What it printed.
    pub output: String,
}

/// The position of a process after the last step: what it would do next, or where it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// Name of the process.
    pub process: String,
    /// Id of the process.
    pub pid: usize,
    /// Source file.
    pub file: String,
    /// Source line, from 1; 0 when unknown.
    pub line: u32,
    /// The next statement, or a marker such as `-end-`.
    pub text: String,
}

/// Where a step gets the value that it reads, in an execution that is not an interleaving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadsFrom {
    /// The step that reads.
    pub step: usize,
    /// The step that wrote what is read; `None` for the initial value.
    pub from: Option<usize>,
    /// The newest write, if it is another one: the read is stale.
    pub missed: Option<usize>,
}

/// One execution. `cycle_start` is the index of the first step of the part that repeats for ever.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Variables of the initial state.
    pub initial: Vec<(String, Value)>,
    /// The steps.
    pub steps: Vec<TraceStep>,
    /// First step of the cycle, in an infinite execution.
    pub cycle_start: Option<usize>,
    /// The steps as the system took them, for a replay; empty when it cannot be replayed so.
    pub raw: Vec<Step>,
    /// The position of every process at the end; empty when unknown.
    pub rest: Vec<Position>,
    /// Where reads get their values from, by increasing step; empty where each reads the newest value.
    pub reads: Vec<ReadsFrom>,
    /// Remarks for the reader.
    pub observations: Observations,
}

impl Trace {
    /// Preemptions, switches and steps.
    pub fn cost(&self) -> SwitchCount {
        let mut count = SwitchCount::default();
        for step in &self.steps {
            count.add(step.switch);
        }
        count
    }

    /// The part that matters to a reader: up to where every continuation violates the property, or all of it.
    pub fn decisive(&self) -> Cow<'_, Trace> {
        let Some(steps) = self.observations.bad_prefix.filter(|steps| *steps <= self.steps.len())
        else {
            return Cow::Borrowed(self);
        };
        let mut trace = self.clone();
        trace.steps.truncate(steps);
        trace.raw.truncate(steps);
        trace.cycle_start = None;
        // Where the processes stand in between is not known.
        trace.rest.clear();
        trace.reads.retain(|read| read.step < steps);
        trace.observations.seen.truncate(steps);
        for row in &mut trace.observations.propositions {
            row.holds.truncate(steps + 1);
        }
        Cow::Owned(trace)
    }

    /// Number of maximal runs of one process; the moves of a property do not count.
    pub fn blocks(&self) -> usize {
        let moves = self.steps.iter().filter(|step| step.pid != ProcessId::PROPERTY.index());
        let (mut blocks, mut last) = (0, None);
        for step in moves {
            blocks += usize::from(last != Some(step.pid));
            last = Some(step.partner.unwrap_or(step.pid));
        }
        blocks
    }
}
