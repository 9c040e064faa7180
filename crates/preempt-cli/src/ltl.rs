//! `preempt ltl`: formulas as automata.

use crate::arguments::LtlArguments;
use crate::failure::Failure;
use crate::output::{print, write};
use preempt_ltl::{
    Invariance, formula_invariance, normal_form, parse, translate, write_dot, write_hoa,
    write_never,
};
use std::process::ExitCode;

/// Runs `preempt ltl`.
pub(crate) fn run(arguments: &LtlArguments) -> Result<ExitCode, Failure> {
    let wrong = |error: preempt_ltl::Error| {
        Failure::Input(format!("{error}\n  in the formula: {}", arguments.formula))
    };
    let parsed = parse(&arguments.formula).map_err(wrong)?;
    let invariance = formula_invariance(&parsed.formula).map_err(wrong)?;
    if arguments.stutter {
        print(&match &invariance {
            Invariance::Invariant => "stutter invariant\n".to_string(),
            Invariance::Sensitive(word) => format!(
                "not stutter invariant: of the executions that differ from this one in repetitions only, some satisfy it and some do not\n  {}\n",
                word.display(&parsed.names)
            ),
            Invariance::Unknown => "not known to be stutter invariant\n".to_string(),
        });
        return Ok(ExitCode::SUCCESS);
    }
    let mut automaton = translate(&parsed.formula).map_err(wrong)?;
    if arguments.normal_form {
        if invariance != Invariance::Invariant {
            return Err(Failure::Input(
                "only a stutter invariant formula has an SI normal form (see --stutter)".into(),
            ));
        }
        automaton = normal_form(&automaton).map_err(wrong)?;
    }
    let title = parsed.formula.display(&parsed.names).to_string();
    if let Some(path) = &arguments.certificate {
        write(path, &write_hoa(&automaton, &parsed.names, &title))?;
    }
    let text = if arguments.hoa {
        write_hoa(&automaton, &parsed.names, &title)
    } else if arguments.dot {
        write_dot(&automaton, &parsed.names, &title)
    } else if arguments.never {
        write_never(&automaton, &parsed.names, &title)
    } else {
        format!(
            "{title}\n{} states, {} edges{}{}\n\n{}",
            automaton.len(),
            automaton.edge_count(),
            if automaton.is_deterministic() { ", deterministic" } else { "" },
            match invariance {
                Invariance::Invariant => ", stutter invariant",
                _ => "",
            },
            write_never(&automaton, &parsed.names, &title)
        )
    };
    print(&text);
    Ok(ExitCode::SUCCESS)
}
