//! Promela models: from a resolved model to an interpreter, and what is asked of it.
//!
//! [`select`] says which properties a model has, [`Checker::check`] checks one of them, and [`automaton`] is what then runs beside the
//! model.

mod along;
mod automaton;
mod bad_prefix;
mod check;
mod claim;
mod completion;
mod each_violation;
mod formula;
mod literals;
mod observe;
mod questions;
mod selection;
mod truncations;
mod vacuity;
mod watch;

pub use automaton::{automaton, in_finite_executions};
pub use check::{Checked, Checker, steps_beside};
pub use formula::{Violating, violating};
pub use observe::{Seen, seen, waiting};
pub use selection::{Property, Selection, select};
pub use truncations::{Truncations, along as truncations_along};
pub use watch::Watch;

use crate::error::Refusal;
use crate::{Control, Error, watchdog};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{Expr, LowerOptions, lower};
use preempt_promela::model::Model;
use preempt_promela::syntax::{ParseOptions, parse};

/// How steps are executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Backend {
    /// As machine code.
    #[default]
    Native,
    /// By the reference interpreter.
    Interpreter,
}

/// How a model is brought into its intermediate form, and what its ends are.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Merge statements that no other process can observe into one step.
    pub merge: bool,
    /// Set local variables that will not be read any more to 0.
    pub reset_dead: bool,
    /// Leave global variables that are never read out of the state.
    pub hide_unread: bool,
    /// Count an end as valid only if all channels are empty.
    pub empty_channels: bool,
    /// How steps are executed.
    pub backend: Backend,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            merge: true,
            reset_dead: true,
            hide_unread: true,
            empty_channels: false,
            backend: Backend::Native,
        }
    }
}

/// Reads a model from one text, which includes no other file.
pub fn read(name: &str, text: &str) -> Result<Model, Error> {
    let loader = |_: &str, _: &str| {
        Err(std::io::Error::new(std::io::ErrorKind::NotFound, "there are no other files here"))
    };
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let parsed = parse(name, text.as_bytes().to_vec(), &options);
    let (diagnostics, sources) = (parsed.diagnostics, parsed.sources);
    parsed.model.ok_or_else(|| Error::Promela(Box::new(Refusal { diagnostics, sources })))
}

/// What runs beside a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beside {
    /// Nothing.
    Nothing,
    /// A claim, which `_nr_pr` counts, as in Spin.
    Claim,
    /// The search for cycles without progress: the last proposition says where there is none. For Spin that
    /// is a claim, too.
    NonProgress,
}

/// Makes a model runnable. `reduced`: a reduction will rely on what the model promises (`xr`, `xs`);
/// `as_spin`: it takes for safe what Spin does.
pub(crate) fn interpreter(
    model: &Model,
    settings: &Settings,
    beside: Beside,
    (reduced, as_spin): (bool, bool),
    control: &Control<'_>,
) -> Result<Interpreter, Error> {
    let options = LowerOptions {
        merge: settings.merge,
        reset_dead: settings.reset_dead,
        hide_unread: settings.hide_unread,
        count_claim: beside != Beside::Nothing,
        safe_as_spin: as_spin,
    };
    let mut program =
        lower(model, options).map_err(|error| Refusal::of(error.diagnostic(), model))?;
    if as_spin && program.notices_every_step() {
        // Spin then compiles its verifier without reduction.
        program.take_nothing_for_safe();
    }
    if beside == Beside::NonProgress {
        let stalled = program.add_expr(Expr::NonProgress);
        program.add_proposition(stalled);
    }
    let has_long_steps = program.has_loops_in_steps();
    let interpreter = Interpreter::new(program)
        .check_promises(reduced)
        .end_with_empty_channels(settings.empty_channels);
    Ok(match has_long_steps {
        true => interpreter.cancel_by(watchdog::watched(control)),
        false => interpreter,
    })
}

/// Makes a model runnable as a search without reduction runs it.
pub fn plain(
    model: &Model,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Interpreter, Error> {
    interpreter(model, settings, Beside::Nothing, (false, false), control)
}

/// Makes a model runnable as a search for this property without reduction runs it.
pub fn beside(
    model: &Model,
    settings: &Settings,
    property: Property,
    control: &Control<'_>,
) -> Result<Interpreter, Error> {
    interpreter(model, settings, property.beside(), (false, false), control)
}

/// Makes a model runnable to be followed step by step: all variables are kept, with the values they
/// have. The steps are the same as in a search.
pub fn observed(
    model: &Model,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Interpreter, Error> {
    plain(model, &Settings { hide_unread: false, reset_dead: false, ..*settings }, control)
}
