//! `preempt slice`: what of a Promela model no assertion, claim or formula depends on.

use crate::arguments::NamesArguments;
use crate::failure::Failure;
use crate::languages;
use crate::meant;
use crate::output::print_exactly;
use crate::promela;
use preempt_core::FaultKind;
use preempt_promela::ir::{LowerOptions, Program, Redundant, lower, redundant};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

/// Runs `preempt slice`.
pub(crate) fn run(arguments: &NamesArguments) -> Result<ExitCode, Failure> {
    meant::a_model(&arguments.model.file)?;
    languages::with_executions("slice", &arguments.model)?;
    let model = promela::load_with(&arguments.model, arguments.claim_file.as_deref(), true)?;
    let program = lower(&model, LowerOptions::plain()).map_err(|error| {
        let diagnostic = error.diagnostic();
        Failure::Input(format!("{}: {}", diagnostic.code, diagnostic.message))
    })?;
    let asserts = program.faults.iter().any(|fault| fault.kind == FaultKind::Assertion);
    let text = match redundant(&program) {
        _ if !asserts && program.claims.is_empty() && program.formulas.is_empty() => {
            "there is no assertion, claim or formula that anything could matter to\n".into()
        }
        Err(why) => format!("everything matters: {why}\n"),
        Ok(found) if found == Redundant::default() => {
            "nothing is redundant: assertions, claims or formulas depend on everything\n".into()
        }
        Ok(found) => table(&program, &found),
    };
    print_exactly(&text);
    Ok(ExitCode::SUCCESS)
}

fn table(program: &Program, found: &Redundant) -> String {
    let mut text = String::from(
        "no assertion, claim or formula depends on (invalid end states and run-time errors are not looked at):\n",
    );
    let mut rows = BTreeMap::new();
    for id in &found.moves {
        let action = program.move_of(*id);
        for statement in &action.statements {
            let place = program.sources.use_site(statement.span);
            let line = program.sources.line_column(place).0;
            let file = program.sources.file(place).name.clone();
            rows.insert((action.proctype.0, file, line, place.start), &statement.text);
        }
    }
    let mut last = None;
    for ((proctype, file, line, _), statement) in rows {
        if last.replace(proctype) != Some(proctype) {
            let _ =
                writeln!(text, "statements of {}", program.proctypes[usize::from(proctype)].name);
        }
        let _ = writeln!(text, "    {file}:{line}  {statement}");
    }
    // The elements of an array and the fields of a structure go by the name of the whole.
    let whole = |name: &str| name.split(['[', '.']).next().unwrap_or(name).to_string();
    let mut names: Vec<String> = found.globals.iter().map(|name| whole(name)).collect();
    names.extend(found.locals.iter().map(|(proctype, name)| {
        format!("{} of {}", whole(name), program.proctypes[*proctype].name)
    }));
    names.dedup();
    if !names.is_empty() {
        let _ = writeln!(text, "variables\n    {}", names.join(", "));
    }
    text
}
