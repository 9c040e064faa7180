//! Traces in files: written by `--trace FILE`, read by `preempt replay FILE TRACE`.
//!
//! A saved trace holds the execution twice: as people read it, and as the raw steps that a system
//! can take again. Reading checks all that can be checked without the system; whether the steps
//! are an execution is for the replay to find out.

use crate::json::{PositionJson, SCHEMA, StepJson, ValueJson, steps};
use preempt_core::{Claim, Observations, Position, ProcessId, Step, Trace, Value};
use serde::{Deserialize, Serialize};

/// A trace with what is needed to run it again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SavedTrace {
    /// The file that was checked.
    pub file: String,
    /// Options that change what the file means, such as `-D N=3`.
    pub options: Vec<String>,
    /// The property, in words.
    pub property: String,
    /// The kind of violation; empty for an execution that violates nothing.
    pub kind: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// A schedule in an engine's own notation, where raw steps do not exist.
    pub schedule: Option<String>,
    /// The execution.
    pub trace: Trace,
}

/// A file is not a saved trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SavedTraceError {
    /// Why.
    pub message: String,
    /// Line in the file, from 1; 0 when it is about the whole.
    pub line: usize,
    /// Column there, from 1; 0 when it is about the whole.
    pub column: usize,
}

impl std::fmt::Display for SavedTraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "{line}:{}: {}", self.column, self.message),
        }
    }
}

impl std::error::Error for SavedTraceError {}

impl SavedTrace {
    /// The counterexample of a claim; `None` when it has none.
    pub fn of(file: &str, options: &[String], claim: &Claim) -> Option<Self> {
        let violation = claim.violation.as_ref()?;
        Some(SavedTrace {
            file: file.to_string(),
            options: options.to_vec(),
            property: claim.property.clone(),
            kind: violation.kind.name().to_string(),
            message: violation.message.clone(),
            schedule: None,
            // Remarks are made anew when the trace is replayed.
            trace: Trace { observations: Observations::default(), ..violation.trace.clone() },
        })
    }

    /// The content of a trace file.
    pub fn to_json(&self) -> String {
        let file = SavedJson {
            schema: SCHEMA,
            format: FORMAT.into(),
            file: self.file.clone(),
            options: self.options.clone(),
            property: self.property.clone(),
            kind: self.kind.clone(),
            message: self.message.clone(),
            schedule: self.schedule.clone(),
            initial: self
                .trace
                .initial
                .iter()
                .map(|(name, value)| InitialJson { name: name.clone(), value: value.into() })
                .collect(),
            trace: steps(&self.trace).collect(),
            cycle_start: self.trace.cycle_start,
            rest: self.trace.rest.iter().map(PositionJson::from).collect(),
            raw: self.trace.raw.iter().map(RawJson::from).collect(),
        };
        // Plain structs of strings and whole numbers always serialise.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a trace file.
    pub fn from_json(text: &str) -> Result<Self, SavedTraceError> {
        let whole = |message: String| SavedTraceError { message, line: 0, column: 0 };
        let probe: Probe = serde_json::from_str(text).map_err(|e| SavedTraceError {
            message: format!("not a saved trace: {e}"),
            line: e.line(),
            column: e.column(),
        })?;
        if probe.format.as_deref() != Some(FORMAT) {
            return Err(whole(format!("not a saved trace: \"format\" is not \"{FORMAT}\"")));
        }
        if probe.schema != Some(SCHEMA.into()) {
            return Err(whole(format!("this preempt reads saved traces of schema {SCHEMA} only")));
        }
        let file: SavedJson<'_> = serde_json::from_str(text).map_err(|e| SavedTraceError {
            message: format!("broken trace: {e}"),
            line: e.line(),
            column: e.column(),
        })?;
        if file.cycle_start.is_some_and(|s| s >= file.trace.len()) {
            return Err(whole("broken trace: the cycle starts after the last step".into()));
        }
        Ok(SavedTrace {
            file: file.file,
            options: file.options,
            property: file.property,
            kind: file.kind,
            message: file.message,
            schedule: file.schedule,
            trace: Trace {
                initial: file.initial.into_iter().map(|i| (i.name, Value::from(i.value))).collect(),
                steps: file.trace.into_iter().map(Into::into).collect(),
                cycle_start: file.cycle_start,
                raw: file.raw.into_iter().map(Step::from).collect(),
                rest: file.rest.into_iter().map(Position::from).collect(),
                ..Trace::default()
            },
        })
    }
}

const FORMAT: &str = "preempt-trace";

#[derive(Deserialize)]
struct Probe {
    schema: Option<u64>,
    format: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SavedJson<'a> {
    schema: u32,
    format: String,
    file: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    property: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    schedule: Option<String>,
    #[serde(default)]
    initial: Vec<InitialJson<'a>>,
    trace: Vec<StepJson<'a>>,
    cycle_start: Option<usize>,
    #[serde(default)]
    rest: Vec<PositionJson>,
    #[serde(default)]
    raw: Vec<RawJson>,
}

#[derive(Serialize, Deserialize)]
struct InitialJson<'a> {
    name: String,
    value: ValueJson<'a>,
}

#[derive(Serialize, Deserialize)]
struct RawJson {
    process: u16,
    partner: Option<u16>,
    transition: u32,
    partner_transition: u32,
    choice: u32,
}

impl From<&Step> for RawJson {
    fn from(step: &Step) -> Self {
        RawJson {
            process: step.process.0,
            partner: step.partner.map(|p| p.0),
            transition: step.transition,
            partner_transition: step.partner_transition,
            choice: step.choice,
        }
    }
}

impl From<RawJson> for Step {
    fn from(raw: RawJson) -> Self {
        Step {
            process: ProcessId(raw.process),
            partner: raw.partner.map(ProcessId),
            transition: raw.transition,
            partner_transition: raw.partner_transition,
            choice: raw.choice,
        }
    }
}
