//! The user's drawing of a state, beside a model: what it shows along a counterexample, for the page.

use crate::arguments::CheckArguments;
use crate::output::complain;
use crate::request;
use preempt_core::{Describe, Enabled, ProcessId, Step, System, Trace, Value};
use preempt_promela::model::Model;
use preempt_report::Drawn;
use preempt_report::drawing::{Drawing, beside};
use preempt_verify::Control;
use preempt_verify::promela::{Watch, observed};
use std::collections::HashMap;
use std::path::Path;

/// More values are not drawn: the page would become very large, and they take time behind the time limit.
const MOST_VALUES: usize = 500_000;

/// What the drawing beside the model shows in the states of an execution; none if there is no drawing. What is wrong
/// with one is reported, and does not keep the page from being written.
pub(crate) fn along(
    model: &Model,
    arguments: &CheckArguments,
    trace: &Trace,
    control: &Control<'_>,
) -> Option<Drawn> {
    let path = beside(&arguments.model.file);
    let drawing = read(&path)?;
    if trace.raw.len() != trace.steps.len()
        || trace.raw.len() * drawing.expressions.len() > MOST_VALUES
    {
        complain(&format!("warning: {}: not drawn, for the execution is too long", path.display()));
        return None;
    }
    let settings = request::settings(arguments);
    let interpreter = observed(model, &settings, control).ok()?;
    let compiled: Vec<Result<Watch, String>> = drawing
        .expressions
        .iter()
        .map(|(text, _)| Watch::new(model, &settings, &interpreter, text))
        .collect();
    let mut known = vec![false; compiled.len()];
    let mut values_in = |state: &[u8]| -> Vec<Option<Value>> {
        let variables: HashMap<String, Value> = interpreter.variables(state).into_iter().collect();
        let each = drawing.expressions.iter().zip(&compiled).zip(&mut known);
        each.map(|(((text, _), compiled), known)| {
            let value = variables.get(text).cloned();
            *known |= value.is_some() || compiled.is_ok();
            value.or_else(|| compiled.as_ref().ok()?.value(state).map(Value::Int))
        })
        .collect()
    };
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    interpreter.initial(&mut state);
    let mut values = Vec::with_capacity(trace.raw.len() + 1);
    for raw in &trace.raw {
        enabled.clear();
        interpreter.enabled(&mut state, &mut enabled);
        values.push(values_in(&state));
        if raw.process == ProcessId::PROPERTY {
            continue;
        }
        let step = Step { choice: 0, ..*raw };
        if !enabled.steps().contains(&step) {
            return None;
        }
        interpreter.apply(&mut state, step);
    }
    values.push(values_in(&state));
    for (((text, line), compiled), _) in
        drawing.expressions.iter().zip(&compiled).zip(&known).filter(|(_, known)| !**known)
    {
        let problem = compiled.as_ref().err().map_or("", String::as_str);
        complain(&format!("warning: {}, line {line}: `{text}`: {problem}", path.display()));
    }
    Some(Drawn { scene: drawing.scene, values })
}

/// Reads a drawing, if there is one; a warning says what is wrong with it.
pub(crate) fn read(path: &Path) -> Option<Drawing> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            complain(&format!("warning: {}: not drawn: {error}", path.display()));
            return None;
        }
    };
    match Drawing::read(&text) {
        Ok(drawing) => Some(drawing),
        Err(error) => {
            let (file, line) = (path.display(), error.line);
            complain(&format!("warning: {file}, line {line}: not drawn: {}", error.message));
            None
        }
    }
}
