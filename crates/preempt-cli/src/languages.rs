//! The languages that `preempt check` reads: one table, by the ending of a file's name.
//!
//! What commands do with a file follows from its row. A language is a row here, a file that its functions come from, and the
//! crate that reads it.

#[cfg(feature = "serve")]
use crate::arguments::ServeArguments;
use crate::arguments::{CheckArguments, ModelArguments};
use crate::failure::Failure;
use crate::{boolean, promela, replay};
use std::path::Path;
use std::process::ExitCode;

/// What a certificate proves, or why it proves nothing.
pub(crate) type Proof = Result<String, String>;

/// Checks a certificate about a file, until it is interrupted.
type Certify = fn(&Path, &Path, &dyn Fn() -> bool) -> Result<Proof, Failure>;

/// Opens a file for the browser.
#[cfg(feature = "serve")]
type Open = fn(&Path, &ServeArguments) -> Result<Box<dyn preempt_serve::Origin>, Failure>;

/// A language of models.
pub(crate) struct Language {
    /// What a file of it is called.
    kind: &'static str,
    /// The endings of names; a file with none of any language is a Promela model.
    endings: &'static [&'static str],
    /// Whether single executions can be simulated and replayed.
    has_executions: bool,
    /// Checks a file, reports, and gives the exit code.
    pub(crate) check: fn(&CheckArguments) -> Result<ExitCode, Failure>,
    /// Checks a certificate about a file.
    pub(crate) certify: Certify,
    /// Opens a file for the browser.
    #[cfg(feature = "serve")]
    pub(crate) origin: Open,
    /// Indents a text by its nesting.
    #[cfg(feature = "lsp")]
    pub(crate) format: fn(&str) -> String,
}

/// The languages; the first one reads what no other claims.
static LANGUAGES: [Language; 2] = [
    Language {
        kind: "Promela model",
        endings: &["pml"],
        has_executions: true,
        check: promela::check::run,
        certify: |certificate, model, _| replay::certified(certificate, model),
        #[cfg(feature = "serve")]
        origin: promela::origin,
        #[cfg(feature = "lsp")]
        format: preempt_lsp::format,
    },
    Language {
        kind: "Boolean program",
        endings: &["bp", "pds"],
        has_executions: false,
        check: boolean::run,
        certify: boolean::certified,
        #[cfg(feature = "serve")]
        origin: boolean::origin,
        #[cfg(feature = "lsp")]
        format: preempt_lsp::format_boolean,
    },
];

fn with_ending(path: &Path) -> Option<&'static Language> {
    let ending = path.extension()?.to_str()?;
    LANGUAGES.iter().find(|language| language.endings.contains(&ending))
}

/// The language of a file.
pub(crate) fn of(path: &Path) -> &'static Language {
    with_ending(path).unwrap_or(&LANGUAGES[0])
}

/// Whether a word of a command line can only be a model.
pub(crate) fn is_model(path: &Path) -> bool {
    with_ending(path).is_some()
}

/// Refuses a file whose executions a command cannot go through.
pub(crate) fn with_executions(command: &str, model: &ModelArguments) -> Result<(), Failure> {
    let language = of(&model.file);
    match language.has_executions {
        true => Ok(()),
        false => Err(Failure::Input(format!(
            "`{command}` runs Promela models; {} is a {}",
            model.file.display(),
            language.kind
        ))),
    }
}
