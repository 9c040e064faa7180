//! Promela models: from a file to a model, and what is wrong with it.

pub(crate) mod check;
pub(crate) mod drawing;
mod embedded;
#[cfg(feature = "serve")]
mod origin;
mod trails;

#[cfg(any(feature = "serve", feature = "lsp"))]
pub(crate) use embedded::attach;
#[cfg(feature = "serve")]
pub(crate) use origin::origin;

use crate::arguments::ModelArguments;
use crate::failure::Failure;
use crate::{output, terminal};
use preempt_promela::model::Model;
use preempt_promela::syntax::diagnostic::Diagnostic;
use preempt_promela::syntax::span::SourceMap;
use preempt_promela::syntax::{ParseOptions, parse, render};
use preempt_report::Source;
use preempt_verify::Error;
use std::io::Read;
use std::path::Path;

/// Reads a model; diagnostics go to standard error.
pub(crate) fn load(arguments: &ModelArguments, quiet: bool) -> Result<Model, Failure> {
    load_with(arguments, None, quiet)
}

/// Reads a model, and a never claim from another file, which takes the place of all its claims and formulas.
pub(crate) fn load_with(
    arguments: &ModelArguments,
    claim: Option<&Path>,
    quiet: bool,
) -> Result<Model, Failure> {
    let path = &arguments.file;
    let mut text = read(path).map_err(|error| Failure::io("read", path, &error))?;
    let claim = match claim {
        Some(claim) => {
            let whole = std::path::absolute(claim).and_then(|whole| read(&whole).map(|_| whole));
            let whole = whole.map_err(|error| Failure::io("read", claim, &error))?;
            text.extend(format!("\n#include \"{}\"\n", whole.display()).into_bytes());
            Some(whole)
        }
        None => None,
    };
    let loader = |including: &str, name: &str| {
        let folder = Path::new(including).parent().unwrap_or(Path::new(""));
        read(&folder.join(name))
    };
    let options = ParseOptions { defines: defines(&arguments.define), loader: &loader };
    let parsed = parse(&path.to_string_lossy(), text, &options);
    let shown: Vec<_> =
        parsed.diagnostics.iter().filter(|d| d.is_error() || !quiet).cloned().collect();
    show_diagnostics(&shown, &parsed.sources);
    let mut model = parsed.model.ok_or(Failure::Reported)?;
    if let Some(claim) = claim {
        let Model { claims, sources, formulas, .. } = &mut model;
        claims.retain(|found| Path::new(&sources.file(found.span).name) == claim);
        formulas.clear();
        if claims.is_empty() {
            let message = format!("{} contains no never claim", claim.display());
            return Err(Failure::Input(message));
        }
    }
    embedded::compile(&mut model, arguments)?;
    Ok(model)
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

/// Shows why there is no answer.
pub(crate) fn failed(error: Error) -> Failure {
    match error {
        Error::Promela(refusal) => {
            show_diagnostics(&refusal.diagnostics, &refusal.sources);
            Failure::Reported
        }
        Error::Bug(message) => Failure::Bug(message),
        other => Failure::Input(other.to_string()),
    }
}

/// `-D NAME` means `-D NAME=1`, as for a C preprocessor.
pub(crate) fn defines(list: &[String]) -> Vec<(String, String)> {
    list.iter()
        .map(|define| match define.split_once('=') {
            Some((name, value)) => (name.trim().to_string(), value.to_string()),
            None => (define.clone(), "1".to_string()),
        })
        .collect()
}

/// The sources of a model, for the HTML page.
pub(crate) fn sources(model: &Model) -> Vec<Source> {
    let files = model.sources.files.iter();
    files.map(|file| Source { file: file.name.clone(), text: file.text.clone() }).collect()
}
