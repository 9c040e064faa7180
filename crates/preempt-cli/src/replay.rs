//! `preempt replay`: a saved trace, taken again step by step.

use crate::arguments::ReplayArguments;
use crate::failure::Failure;
use crate::output::{print, write};
use crate::promela;
use crate::simulate::interactive;
use crate::terminal;
use preempt_core::{Claim, ProcessId, Statistics, Step, Stop, Verdict, replay};
use preempt_promela::interpret::Interpreter;
use preempt_promela::interpret::trail::is_trail;
use preempt_report::{Page, SavedTrace, lanes, page};
use std::process::ExitCode;

/// The execution that a trail file of Spin tells.
fn trail_of_spin(interpreter: &Interpreter, text: &str) -> Result<SavedTrace, String> {
    let trail = interpreter.read_trail(text).map_err(|error| error.to_string())?;
    let mut saved =
        SavedTrace { property: "a trail of Spin".into(), ..SavedTrace::default() };
    saved.trace.raw = trail.steps;
    saved.trace.cycle_start = trail.cycle_start;
    Ok(saved)
}

/// Runs `preempt replay`.
pub(crate) fn run(arguments: &ReplayArguments) -> Result<ExitCode, Failure> {
    let path = &arguments.trace;
    let text = std::fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))?;
    let model = promela::load(&arguments.model, true)?;
    let interpreter = promela::observed(&model, &arguments.model)?;
    let saved = match is_trail(&text) {
        true => trail_of_spin(&interpreter, &text),
        false => SavedTrace::from_json(&text).map_err(|error| error.to_string()),
    }
    .map_err(|error| Failure::Input(format!("{}:{error}", path.display())))?;
    let steps: Vec<Step> = saved
        .trace
        .raw
        .iter()
        .filter(|step| step.process != ProcessId::PROPERTY)
        .map(|step| Step { choice: 0, ..*step })
        .collect();
    let (mut trace, _, _) = replay(&interpreter, &steps).map_err(|error| {
        Failure::Input(format!(
            "{} is no execution of {}: {error} (has the model changed?)",
            path.display(),
            arguments.model.file.display()
        ))
    })?;
    if arguments.interactive {
        interactive::run(&interpreter, steps, 1);
        return Ok(ExitCode::SUCCESS);
    }
    for truncation in promela::truncations_along(&interpreter, &steps) {
        eprintln!("{truncation}");
    }
    trace.cycle_start = saved.trace.cycle_start.filter(|start| *start < trace.steps.len());
    if arguments.json {
        let saved = SavedTrace { trace: trace.clone(), ..saved.clone() };
        print(&(saved.to_json() + "\n"));
    } else {
        print(&lanes::render(&trace, None, &terminal::look()));
        print(&format!("{}\n", saved.message));
    }
    if let Some(path) = &arguments.html {
        let claim = Claim {
            property: saved.property.clone(),
            verdict: Verdict::Inconclusive(Stop::Sampling),
            sentence: saved.message.clone(),
            violation: None,
            statistics: Statistics::default(),
            unreached: Vec::new(),
            notes: Vec::new(),
        };
        let sources = promela::sources(&model);
        let title = arguments.model.file.to_string_lossy();
        write(
            path,
            &page(&Page { title: &title, claim: &claim, trace: Some(&trace), sources: &sources }),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
