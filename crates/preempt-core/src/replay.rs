//! Re-runs a list of steps one by one and describes what happened.
//!
//! The independent check behind every counterexample: a trace is shown only if each of its steps
//! is enabled where it is taken, on a system other than the one that found it.

use crate::{
    Change, Enabled, FaultKind, Outcome, Position, ProcessId, Step, Stop, Switch, SwitchCount,
    System, Trace, TraceStep, Value,
};

/// The steps do not form an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayError {
    /// Index of the step that cannot be taken.
    pub at: usize,
    /// Why.
    pub message: String,
    /// The step was abandoned for this reason: the steps may form an execution all the same.
    pub stopped: Option<Stop>,
}

impl ReplayError {
    fn new(at: usize, message: impl Into<String>) -> Self {
        ReplayError { at, message: message.into(), stopped: None }
    }

    fn stopped(at: usize, reason: Stop) -> Self {
        ReplayError { stopped: Some(reason), ..ReplayError::new(at, reason.to_string()) }
    }
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "step {} cannot be replayed: {}", self.at + 1, self.message)
    }
}

impl std::error::Error for ReplayError {}

/// Runs `steps` from the initial state. Returns the trace, the last state and how the last step
/// went; a step that breaks ends the replay there.
pub fn replay<S: System + ?Sized>(
    system: &S,
    steps: &[Step],
) -> Result<(Trace, Vec<u8>, Outcome), ReplayError> {
    replay_until(system, steps, &|| None)
}

/// As [`replay`]; gives up, for the reason given, when `over` gives one. It is asked every few hundred steps.
pub fn replay_until<S: System + ?Sized>(
    system: &S,
    steps: &[Step],
    over: &dyn Fn() -> Option<Stop>,
) -> Result<(Trace, Vec<u8>, Outcome), ReplayError> {
    let mut state = Vec::new();
    let mut outcome = system.initial(&mut state);
    let mut trace = Trace { initial: system.variables(&state), ..Trace::default() };
    // Those of the present state, where the step before asked for them.
    let mut variables = None;
    let mut enabled = Enabled::new();
    let mut last = None;
    for (at, &step) in steps.iter().enumerate() {
        look_at_clock(at, over)?;
        check_step(system, (at, step), outcome, &mut state, &mut enabled)?;
        let switch = system.switch(last, &enabled, &step);
        // A broken step leaves no state to ask: the processes stand where they stood before it.
        let rest = (at + 1 == steps.len()).then(|| positions(system, &state));
        let before = state.clone();
        outcome = system.apply(&mut state, step);
        not_stopped(system, at, outcome)?;
        let mut described = describe_step(system, &before, step, switch);
        if matches!(outcome, Outcome::Broken(_)) {
            trace.rest = rest.unwrap_or_default();
        } else {
            described.changes = changes_by_step(system, &before, &state, &mut variables);
        }
        trace.steps.push(described);
        last = step.last_mover(last);
    }
    trace.raw = steps.to_vec();
    if !matches!(outcome, Outcome::Broken(_)) {
        trace.rest = positions(system, &state);
    }
    Ok((trace, state, outcome))
}

/// Runs `steps` as [`replay_until`] does, but describes nothing.
pub fn follow<S: System + ?Sized>(
    system: &S,
    steps: &[Step],
    over: &dyn Fn() -> Option<Stop>,
) -> Result<(Vec<u8>, Outcome), ReplayError> {
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    let mut outcome = system.initial(&mut state);
    for (at, &step) in steps.iter().enumerate() {
        look_at_clock(at, over)?;
        check_step(system, (at, step), outcome, &mut state, &mut enabled)?;
        outcome = system.apply(&mut state, step);
        not_stopped(system, at, outcome)?;
    }
    Ok((state, outcome))
}

/// What each of these steps prints; runs them as [`replay_until`] does.
pub fn outputs<S: System + ?Sized>(
    system: &S,
    steps: &[Step],
    over: &dyn Fn() -> Option<Stop>,
) -> Result<Vec<String>, ReplayError> {
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    let mut outcome = system.initial(&mut state);
    let mut printed = Vec::with_capacity(steps.len());
    for (at, &step) in steps.iter().enumerate() {
        look_at_clock(at, over)?;
        check_step(system, (at, step), outcome, &mut state, &mut enabled)?;
        printed.push(system.output(&state, step));
        outcome = system.apply(&mut state, step);
        not_stopped(system, at, outcome)?;
    }
    Ok(printed)
}

fn look_at_clock(at: usize, over: &dyn Fn() -> Option<Stop>) -> Result<(), ReplayError> {
    let reason = if at % 256 == 0 { over() } else { None };
    reason.map_or(Ok(()), |reason| Err(ReplayError::stopped(at, reason)))
}

/// The step is enabled where the one before it led to.
fn check_step<S: System + ?Sized>(
    system: &S,
    (at, step): (usize, Step),
    outcome: Outcome,
    state: &mut Vec<u8>,
    enabled: &mut Enabled,
) -> Result<(), ReplayError> {
    if let Outcome::Broken(_) = outcome {
        return Err(ReplayError::new(at, "the step before it has no successor"));
    }
    enabled.clear();
    system.enabled(state, enabled);
    match enabled.steps().contains(&step) {
        true => Ok(()),
        false => Err(ReplayError::new(at, format!("{step:?} is not enabled"))),
    }
}

/// The step was not abandoned.
fn not_stopped<S: System + ?Sized>(
    system: &S,
    at: usize,
    outcome: Outcome,
) -> Result<(), ReplayError> {
    if let Outcome::Broken(fault) = outcome {
        if let FaultKind::Stopped(reason) = system.fault(fault).kind {
            return Err(ReplayError::stopped(at, reason));
        }
    }
    Ok(())
}

/// What the steps of an execution cost. Takes them as [`replay`] does, but describes nothing.
pub fn cost<S: System + ?Sized>(system: &S, steps: &[Step]) -> Result<SwitchCount, ReplayError> {
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    let mut outcome = system.initial(&mut state);
    let (mut count, mut last) = (SwitchCount::default(), None);
    for (at, &step) in steps.iter().enumerate() {
        enabled.clear();
        if !matches!(outcome, Outcome::Broken(_)) {
            system.enabled(&mut state, &mut enabled);
        }
        if !enabled.steps().contains(&step) {
            return Err(ReplayError::new(at, format!("{step:?} is not enabled")));
        }
        count.add(system.switch(last, &enabled, &step));
        outcome = system.apply(&mut state, step);
        last = step.last_mover(last);
    }
    Ok(count)
}

/// A step taken from `before`, as a trace shows it; what it changed is left out.
pub fn describe_step<S: System + ?Sized>(
    system: &S,
    before: &[u8],
    step: Step,
    switch: Switch,
) -> TraceStep {
    let (file, line, text) = system.describe(before, step);
    TraceStep {
        process: system.process_name(before, step.process),
        pid: step.process.index(),
        partner: step.partner.map(|p| p.index()),
        file,
        line,
        text,
        switch,
        changes: Vec::new(),
        output: system.output(before, step),
    }
}

/// The position of every process of `state`, as far as the system knows it.
fn positions<S: System + ?Sized>(system: &S, state: &[u8]) -> Vec<Position> {
    (0..system.process_count(state))
        .filter_map(|pid| {
            let id = ProcessId(u16::try_from(pid).ok()?);
            let (file, line, text) = system.position(state, id)?;
            Some(Position { process: system.process_name(state, id), pid, file, line, text })
        })
        .collect()
}

/// What a step changed; `variables` are those of the state before, if they are known.
fn changes_by_step<S: System + ?Sized>(
    system: &S,
    before: &[u8],
    after: &[u8],
    variables: &mut Option<Vec<(String, Value)>>,
) -> Vec<Change> {
    let known = variables.take();
    if let Some(changes) = system.changed_variables(before, after) {
        debug_assert_eq!(
            changes,
            changes_between(&system.variables(before), &system.variables(after))
        );
        return changes;
    }
    let old = known.unwrap_or_else(|| system.variables(before));
    let new = system.variables(after);
    let changes = changes_between(&old, &new);
    *variables = Some(new);
    changes
}

/// The variables that differ, appear or disappear.
pub fn changes_between(before: &[(String, Value)], after: &[(String, Value)]) -> Vec<Change> {
    fn find<'a>(list: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
        list.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
    let mut changes = Vec::new();
    // Lists of neighbouring states almost always have the same names at the same places.
    let mut aligned = before.len() == after.len();
    for (at, (name, to)) in after.iter().enumerate() {
        let from = match before.get(at) {
            Some((old, value)) if old == name => Some(value),
            _ => {
                aligned = false;
                find(before, name)
            }
        };
        if from != Some(to) {
            changes.push(Change { name: name.clone(), from: from.cloned(), to: Some(to.clone()) });
        }
    }
    for (name, from) in before.iter().filter(|_| !aligned) {
        if find(after, name).is_none() {
            changes.push(Change { name: name.clone(), from: Some(from.clone()), to: None });
        }
    }
    changes
}
