//! Promela models: from a file to an interpreter, and what is asked of it.

mod along;
mod assertions;
pub(crate) mod check;
mod claim;
mod cycles;
mod endless;
mod literals;
mod safety;
mod truncations;
mod verify;

pub(crate) use truncations::{Truncations, along as truncations_along};

use crate::arguments::ModelArguments;
use crate::failure::Failure;
use crate::{output, terminal};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{Expr, LowerOptions, lower};
use preempt_promela::model::{Ltl, Model};
use preempt_promela::syntax::diagnostic::Diagnostic;
use preempt_promela::syntax::span::SourceMap;
use preempt_promela::syntax::{ParseOptions, parse, parse_formula, render};
use preempt_report::Source;
use std::io::Read;
use std::path::Path;

/// Reads a model; diagnostics go to standard error.
pub(crate) fn load(arguments: &ModelArguments, quiet: bool) -> Result<Model, Failure> {
    let path = &arguments.file;
    let text = read(path).map_err(|error| Failure::io("read", path, &error))?;
    let loader = |including: &str, name: &str| {
        let folder = Path::new(including).parent().unwrap_or(Path::new(""));
        read(&folder.join(name))
    };
    let options = ParseOptions { defines: defines(&arguments.define), loader: &loader };
    let parsed = parse(&path.to_string_lossy(), text, &options);
    let shown: Vec<_> =
        parsed.diagnostics.iter().filter(|d| d.is_error() || !quiet).cloned().collect();
    show_diagnostics(&shown, &parsed.sources);
    parsed.model.ok_or(Failure::Reported)
}

/// Larger files are no models; `/dev/zero` would never end.
const LARGEST_FILE: u64 = 64 << 20;

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST_FILE {
        let message = format!("it is larger than {} MiB", LARGEST_FILE >> 20);
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

fn show_diagnostics(diagnostics: &[Diagnostic], sources: &SourceMap) {
    if !diagnostics.is_empty() {
        let text = render::render_all(diagnostics, sources, terminal::colour_on_stderr());
        output::complain(text.trim_end());
        // Errors come first: the first code is the one that most readers will want explained.
        if let Some(error) = diagnostics.first().filter(|d| d.is_error()) {
            output::complain(&format!("\nsee `preempt explain {}`", error.code));
        }
    }
}

/// Tells why a model that was read cannot be checked.
pub(crate) fn refused(diagnostic: Diagnostic, model: &Model) -> Failure {
    show_diagnostics(&[diagnostic], &model.sources);
    Failure::Reported
}

/// `-D NAME` means `-D NAME=1`, as for a C preprocessor.
fn defines(list: &[String]) -> Vec<(String, String)> {
    list.iter()
        .map(|define| match define.split_once('=') {
            Some((name, value)) => (name.trim().to_string(), value.to_string()),
            None => (define.clone(), "1".to_string()),
        })
        .collect()
}

/// Adds a formula from the command line to the model's own.
pub(crate) fn add_formula(model: &mut Model, text: &str) -> Result<(), Failure> {
    match parse_formula(text, model) {
        Ok(formula) => {
            model.formulas.push(Ltl {
                name: None,
                formula,
                text: text.to_string(),
                span: Default::default(),
            });
            Ok(())
        }
        Err(errors) => {
            show_diagnostics(&errors.diagnostics, &errors.sources);
            Err(Failure::Reported)
        }
    }
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
    arguments: &ModelArguments,
    beside: Beside,
    reduced: bool,
    as_spin: bool,
) -> Result<Interpreter, Failure> {
    let options = LowerOptions {
        merge: !arguments.no_merge,
        reset_dead: !arguments.no_reset,
        hide_unread: !arguments.no_hide,
        count_claim: beside != Beside::Nothing,
        safe_as_spin: as_spin,
    };
    let mut program = lower(model, options).map_err(|error| refused(error.diagnostic(), model))?;
    if as_spin && program.notices_every_step() {
        // Spin then compiles its verifier without reduction.
        program.take_nothing_for_safe();
    }
    if beside == Beside::NonProgress {
        let stalled = program.add_expr(Expr::NonProgress);
        program.add_proposition(stalled);
    }
    let has_long_steps = program.has_loops_in_steps();
    let interpreter = Interpreter::new(program).check_promises(reduced);
    Ok(match has_long_steps {
        true => interpreter.cancel_by(crate::cancel::watched()),
        false => interpreter,
    })
}

/// Makes a model runnable for a reader who follows it: all variables are kept, with the values they
/// have. The steps are the same as in a search.
pub(crate) fn observed(model: &Model, arguments: &ModelArguments) -> Result<Interpreter, Failure> {
    let arguments = ModelArguments { no_hide: true, no_reset: true, ..arguments.clone() };
    interpreter(model, &arguments, Beside::Nothing, false, false)
}

/// The sources of a model, for the HTML page.
pub(crate) fn sources(model: &Model) -> Vec<Source> {
    let files = model.sources.files.iter();
    files.map(|file| Source { file: file.name.clone(), text: file.text.clone() }).collect()
}
