//! The C of a model: compiled before the model runs, and announced.

use crate::arguments::ModelArguments;
use crate::failure::Failure;
use crate::output;
use preempt_embedded::Compiler;
#[cfg(any(feature = "serve", feature = "lsp"))]
use preempt_promela::model::Attach;
use preempt_promela::model::Model;
use std::path::{Path, PathBuf};
#[cfg(any(feature = "serve", feature = "lsp"))]
use std::sync::Arc;

/// Compiles the C of a model, if it contains any.
pub(crate) fn compile(model: &mut Model, arguments: &ModelArguments) -> Result<(), Failure> {
    if model.embedded.is_empty() {
        return Ok(());
    }
    let compiler = compiler(&arguments.file, &arguments.define);
    output::complain(&format!(
        "{}: the model contains C, which `{}` compiles and preempt runs",
        arguments.file.display(),
        compiler.program
    ));
    preempt_embedded::attach(model, &compiler)
        .map_err(|trouble| Failure::Input(trouble.to_string()))
}

/// For programs that compile no C unasked: how they do it if models are trusted.
#[cfg(any(feature = "serve", feature = "lsp"))]
pub(crate) fn attach(trust: bool, define: Vec<String>) -> Option<Attach> {
    trust.then(|| -> Attach {
        Arc::new(move |model: &mut Model, file: &Path| {
            preempt_embedded::attach(model, &compiler(file, &define))
                .map_err(|trouble| trouble.to_string())
        })
    })
}

/// The system's compiler, for the model in this file.
fn compiler(file: &Path, define: &[String]) -> Compiler {
    let named = std::env::var("PREEMPT_C_COMPILER").ok().filter(|name| !name.is_empty());
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    Compiler {
        program: named.unwrap_or_else(|| "cc".into()),
        folders: vec![folder.map_or_else(|| PathBuf::from("."), Path::to_path_buf)],
        defines: super::defines(define),
        cache: cache(),
    }
}

/// A folder of the user's own; without one nothing is kept.
fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("preempt").join("embedded-c"))
}
