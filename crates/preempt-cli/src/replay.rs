//! `preempt replay`: a saved trace, executed again and judged by what happens now.
//!
//! The steps are taken one by one; then the execution that they make is checked for the property that
//! the trace was saved for. Exit code 1: it violates the property, 0: it does not, 2: the steps are no
//! execution of the model.

use crate::arguments::{self, CheckArguments, Command, ModelArguments, ReplayArguments};
use crate::failure::Failure;
use crate::output::{complain, print, print_exactly, write};
use crate::promela;
use crate::request::{interruptible, settings};
use crate::simulate;
use crate::spin_text::SpinText;
use crate::terminal;
use preempt_core::{
    Claim, Outcome, ProcessId, ReplayError, Step, Trace, TraceStep, Verdict, ViolationKind, replay,
};
use preempt_promela::interpret::Interpreter;
use preempt_promela::interpret::trail::{has_claim, is_merged, is_trail};
use preempt_report::{Page, SavedTrace, lanes, page};
use preempt_verify::promela::{observed, steps_beside, truncations_along};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// What a trail file of Spin says about the check that wrote it; its steps are read later.
fn trail_of_spin(text: &str) -> SavedTrace {
    // A cycle is a matter of the model's claim, also where the trail leaves out its moves.
    let has_cycle = text.lines().any(|line| line.starts_with("-1:"));
    let kind = if has_claim(text) || has_cycle { "trail" } else { "" };
    SavedTrace { property: "a trail of Spin".into(), kind: kind.into(), ..SavedTrace::default() }
}

/// Runs `preempt replay`.
pub(crate) fn run(arguments: &ReplayArguments) -> Result<ExitCode, Failure> {
    let path = &arguments.trace;
    let text = std::fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))?;
    let mut saved = match is_trail(&text) {
        true => trail_of_spin(&text),
        false => SavedTrace::from_json(&text)
            .map_err(|error| Failure::Input(format!("{}:{error}", path.display())))?,
    };
    if let Some(schedule) = &saved.schedule {
        return crate::run::replay(arguments, &saved, schedule);
    }
    let mut check = as_saved(path, &arguments.model, &saved)?;
    check.model.no_merge |= is_trail(&text) && !is_merged(&text);
    let mut model = promela::load(&check.model, true)?;
    let interpreter =
        observed(&model, &settings(&check), &interruptible()).map_err(promela::failed)?;
    if is_trail(&text) {
        read_trail(&interpreter, path, &text, &mut saved.trace)?;
    }
    let mut steps = own_steps(&saved);
    let saved_steps = steps.len();
    let beside = promela::check::follow_beside(&model, &check, &saved.trace.raw)?;
    if beside.is_some() && (arguments.interactive || arguments.spin.is_some()) {
        return Err(Failure::Input(format!(
            "{}: C in the never claim takes part in this execution; `preempt replay` shows it without --interactive, and not as Spin does",
            path.display()
        )));
    }
    let is_beside = beside.is_some();
    let followed = beside.unwrap_or_else(|| follow(&interpreter, &mut steps));
    let mut trace = followed.map_err(|error| {
        let model = check.model.file.display();
        let why = in_words(&saved, &error);
        Failure::Input(format!("{} is not an execution of {model} any more: {why}", path.display()))
    })?;
    if arguments.interactive {
        let model = (&model, &settings(&check));
        return simulate::at_the_keyboard(model, &interpreter, steps, 1, arguments.plain);
    }
    let cycle = cycle_start(&saved).filter(|_| steps.len() == saved_steps);
    if let Some(shown) = arguments.spin {
        let text = SpinText::new(&interpreter, shown).begin_at(arguments.from, false);
        return Ok(show_as_spin(text, &steps, cycle, arguments.steps));
    }
    if !is_beside {
        for truncation in truncations_along(&interpreter, &steps, &|| false) {
            complain(&truncation);
        }
    }
    trace.cycle_start = match is_beside {
        true => saved.trace.cycle_start,
        false => cycle,
    };
    let promises = saved.kind == ViolationKind::Exclusivity.name();
    let execution = (steps.as_slice(), cycle);
    let mut claim = promela::check::check_execution(&mut model, &check, execution, promises)?;
    let sentence = judgement(&saved, &claim, saved_steps);
    if arguments.json {
        print_exactly(&(as_found(saved, &trace, &claim).to_json() + "\n"));
    } else {
        print(&lanes::render(&trace, None, &terminal::look()));
        print(&format!("{sentence}\n"));
    }
    let code = ExitCode::from(claim.verdict.exit_code());
    if let Some(path) = &arguments.html {
        show_whole(&mut claim, &trace, sentence);
        let sources = promela::sources(&model);
        let title = check.model.file.to_string_lossy();
        let drawing = promela::drawing::along(&model, &check, &trace, &interruptible());
        let (drawing, trace) = (drawing.as_ref(), Some(&trace));
        let shown = Page { title: &title, claim: &claim, trace, sources: &sources, drawing };
        write(path, &page(&shown))?;
    }
    Ok(code)
}

/// Gives a trace the steps of a trail of Spin.
fn read_trail(
    interpreter: &Interpreter,
    path: &Path,
    text: &str,
    trace: &mut Trace,
) -> Result<(), Failure> {
    let trail = interpreter.read_trail(text);
    let trail = trail.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    (trace.raw, trace.cycle_start) = match trail.claim_moves.is_empty() {
        true => (trail.steps, trail.cycle_start),
        false => steps_beside(&trail),
    };
    Ok(())
}

/// What was saved, with what the execution is now, and what it violates.
fn as_found(saved: SavedTrace, trace: &Trace, claim: &Claim) -> SavedTrace {
    let found = claim.violation.as_ref();
    SavedTrace {
        trace: trace.clone(),
        kind: found.map_or(String::new(), |found| found.kind.name().into()),
        message: found.map_or(String::new(), |found| found.message.clone()),
        ..saved
    }
}

/// Shows an execution as `spin -t` does.
fn show_as_spin(
    mut text: SpinText<'_>,
    steps: &[Step],
    cycle: Option<usize>,
    limit: Option<usize>,
) -> ExitCode {
    for (at, step) in steps.iter().enumerate() {
        if let Some(limit) = limit.filter(|limit| text.depth() + 1 >= *limit) {
            text.reach_limit(limit);
            break;
        }
        if cycle == Some(at) {
            text.begin_cycle();
        }
        if !text.step(*step) {
            break;
        }
    }
    text.close(true);
    print_exactly(&text.take());
    // Spin ends like this, whatever the execution shows.
    ExitCode::SUCCESS
}

/// Takes the steps one by one. A step that fails ends the execution: what was saved behind it is cut
/// off.
fn follow(system: &Interpreter, steps: &mut Vec<Step>) -> Result<Trace, ReplayError> {
    let error = match replay(system, steps) {
        Ok((trace, ..)) => return Ok(trace),
        Err(error) => error,
    };
    match replay(system, &steps[..error.at]) {
        Ok((trace, _, Outcome::Broken(_))) => {
            steps.truncate(error.at);
            Ok(trace)
        }
        _ => Err(error),
    }
}

/// Why a saved trace cannot be followed: the step that cannot be taken, as it was saved.
fn in_words(saved: &SavedTrace, error: &ReplayError) -> String {
    let is_own = |step: &&TraceStep| step.pid != ProcessId::PROPERTY.index();
    match saved.trace.steps.iter().filter(is_own).nth(error.at) {
        Some(step) if error.stopped.is_none() => format!(
            "step {}, `{}` of {} at line {}, cannot be taken",
            error.at + 1,
            step.text,
            step.process,
            step.line
        ),
        _ => error.to_string(),
    }
}

/// What a saved trace violates now, in a sentence; in an inner error, what it does not violate, or why it is no
/// execution of the model.
pub(crate) fn certified(file: &Path, model: &Path) -> Result<Result<String, String>, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::io("read", file, &error))?;
    let saved = SavedTrace::from_json(&text)
        .map_err(|error| Failure::Input(format!("{}:{error}", file.display())))?;
    if saved.schedule.is_some() {
        let message = "is an execution of a program: `preempt replay` repeats it";
        return Err(Failure::Input(format!("{} {message}", file.display())));
    }
    let model = ModelArguments {
        file: model.into(),
        define: Vec::new(),
        no_merge: false,
        no_reset: false,
        no_hide: false,
    };
    let check = as_saved(file, &model, &saved)?;
    let mut model = promela::load(&check.model, true)?;
    let interpreter =
        observed(&model, &settings(&check), &interruptible()).map_err(promela::failed)?;
    let mut steps = own_steps(&saved);
    let count = steps.len();
    let beside = promela::check::follow_beside(&model, &check, &saved.trace.raw)?;
    let followed = beside.unwrap_or_else(|| follow(&interpreter, &mut steps));
    if let Err(error) = followed {
        let why = in_words(&saved, &error);
        return Ok(Err(format!("its steps are no execution of the model: {why}")));
    }
    let cycle_start = cycle_start(&saved).filter(|_| steps.len() == count);
    let promises = saved.kind == ViolationKind::Exclusivity.name();
    let execution = (steps.as_slice(), cycle_start);
    let claim = promela::check::check_execution(&mut model, &check, execution, promises)?;
    Ok(match &claim.violation {
        Some(found) if found.kind.name() == saved.kind && found.message == saved.message => Ok(
            format!("an execution of {} steps violates the model: {}", steps.len(), found.message),
        ),
        Some(found) => Err(format!("its steps violate something else: {}", found.message)),
        None => Err("its steps violate nothing".into()),
    })
}

/// The steps of processes, without those of a property.
fn own_steps(saved: &SavedTrace) -> Vec<Step> {
    let is_own = |step: &&Step| step.process != ProcessId::PROPERTY;
    saved.trace.raw.iter().filter(is_own).map(|step| Step { choice: 0, ..*step }).collect()
}

/// The options of `check` that a saved trace may bring with it: what the file means, which property,
/// what counts as a violation. Nothing else in a file from elsewhere is obeyed.
const FLAGS: [&str; 10] = [
    "--no-merge",
    "--no-reset",
    "--no-hide",
    "--empty-channels",
    "--no-deadlock",
    "--no-assert",
    "--no-claim",
    "--acceptance",
    "--no-acceptance",
    "--non-progress",
];
const WITH_VALUE: [&str; 4] = ["-D", "--ltl", "--formula", "--claim"];

/// The check that the trace was saved by, as far as it matters for one execution. What the command
/// line says about the model takes the place of what was saved.
fn as_saved(
    trace: &Path,
    model: &ModelArguments,
    saved: &SavedTrace,
) -> Result<CheckArguments, Failure> {
    let ModelArguments { file, define, no_merge, no_reset, no_hide } = model;
    let mut words: Vec<OsString> = ["preempt", "check", "--por", "off"].map(Into::into).into();
    let mut options = saved.options.iter();
    while let Some(option) = options.next() {
        let value = WITH_VALUE.contains(&option.as_str()).then(|| options.next()).flatten();
        let replaced = option == "-D" && !define.is_empty();
        match value {
            Some(value) if !replaced => words.push(format!("{option}={value}").into()),
            None if FLAGS.contains(&option.as_str()) => words.push(option.into()),
            _ => {}
        }
    }
    let given = [(no_merge, "--no-merge"), (no_reset, "--no-reset"), (no_hide, "--no-hide")];
    for (_, flag) in given.iter().filter(|(given, _)| **given) {
        if !words.iter().any(|word| word == flag) {
            words.push(flag.into());
        }
    }
    words.extend(define.iter().map(|define| format!("-D{define}").into()));
    // A simulation was made for no property in particular.
    if saved.kind.is_empty() && !words.iter().any(|word| word == "--no-claim") {
        words.push("--no-claim".into());
    }
    words.extend(["--".into(), file.into()]);
    match arguments::parse(words).map(|cli| cli.command) {
        Ok(Command::Check(check)) => Ok(*check),
        _ => Err(Failure::Input(format!(
            "{}: its saved options are not options of `preempt check`",
            trace.display()
        ))),
    }
}

/// Where the cycle begins, counted in steps of processes.
fn cycle_start(saved: &SavedTrace) -> Option<usize> {
    let start = saved.trace.cycle_start?;
    let is_own = |step: &&Step| step.process != ProcessId::PROPERTY;
    let before = saved.trace.raw.iter().take(start).filter(is_own).count();
    let all = saved.trace.raw.iter().filter(is_own).count();
    // What repeats may be the last state of an execution that ends.
    (before < all).then_some(before)
}

/// What happened now, beside what was saved.
fn judgement(saved: &SavedTrace, claim: &Claim, steps: usize) -> String {
    let Some(found) = &claim.violation else {
        let before = match saved.message.is_empty() {
            true => String::new(),
            false => format!(" (when it was saved: {})", saved.message),
        };
        return match claim.verdict {
            Verdict::Inconclusive(stop) => format!("inconclusive: {stop}{before}"),
            _ => format!("the trace runs, and nothing is violated{before}"),
        };
    };
    let own = found.trace.raw.iter().filter(|step| step.process != ProcessId::PROPERTY).count();
    let place = match own < steps && found.trace.cycle_start.is_none() {
        true => format!(", after step {own}"),
        false => String::new(),
    };
    match (found.kind.name() == saved.kind, found.message == saved.message) {
        (true, true) => format!("violated again{place}: {}", found.message),
        _ if saved.message.is_empty() => format!("violated{place}: {}", found.message),
        _ => format!("violated{place}: {} (when it was saved: {})", found.message, saved.message),
    }
}

/// The claim for a page: with the whole trace, all variables, and the sentence of the replay.
fn show_whole(claim: &mut Claim, trace: &Trace, sentence: String) {
    claim.sentence = sentence;
    if let Some(found) = &mut claim.violation {
        found.trace = trace.clone();
    }
}
