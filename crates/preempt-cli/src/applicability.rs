//! Which options of `check` go together, and with which input: what an option is refused for stands at the option
//! (`arguments/combination.rs`), and here it is looked up.

#[cfg(test)]
mod tests;

use crate::arguments::{CheckArguments, Subject};
use crate::failure::Failure;

/// Refuses what cannot be honoured for this subject.
pub(crate) fn check(arguments: &CheckArguments, subject: Subject) -> Result<(), Failure> {
    check_all(arguments, &[subject])
}

/// Refuses what none of these can honour: of several properties of a model one is enough.
pub(crate) fn check_all(arguments: &CheckArguments, subjects: &[Subject]) -> Result<(), Failure> {
    let given = &arguments.given;
    for option in given.options().filter(|_| !given.translated) {
        let objections = subjects.iter().map(|subject| objection(arguments, *subject, option));
        let objections: Option<Vec<String>> = objections.collect();
        if let Some(first) = objections.and_then(|all| all.into_iter().next()) {
            return Err(Failure::Input(first));
        }
    }
    Ok(())
}

/// What to say about options that this subject cannot honour, but another one of the same command can.
pub(crate) fn notes(arguments: &CheckArguments, subject: Subject) -> Vec<String> {
    let options = arguments.given.options();
    options.filter_map(|option| objection(arguments, subject, option)).collect()
}

/// The first condition that speaks against the option, as a sentence.
fn objection(arguments: &CheckArguments, subject: Subject, option: &str) -> Option<String> {
    let combination = arguments.about(subject);
    let facts = CheckArguments::options().find(|facts| facts.field == option)?;
    let refusal = facts.refused.iter().find(|refusal| (refusal.when)(&combination))?;
    Some(format!("{} {}", flag(option), refusal.because))
}

/// The option as it is typed.
fn flag(field: &str) -> String {
    match field {
        "define" => "-D".into(),
        _ => format!("--{}", field.replace('_', "-")),
    }
}
