//! The C of a model: compiled before the model runs, and announced.

use crate::arguments::ModelArguments;
use crate::failure::Failure;
use crate::output;
use preempt_embedded::{Compiler, attach};
use preempt_promela::model::Model;
use std::path::{Path, PathBuf};

/// Compiles the C of a model, if it contains any.
pub(crate) fn compile(model: &mut Model, arguments: &ModelArguments) -> Result<(), Failure> {
    if model.embedded.is_empty() {
        return Ok(());
    }
    let named = std::env::var("PREEMPT_C_COMPILER").ok().filter(|name| !name.is_empty());
    let program = named.unwrap_or_else(|| "cc".into());
    output::complain(&format!(
        "{}: the model contains C, which `{program}` compiles and preempt runs",
        arguments.file.display()
    ));
    let folder = arguments.file.parent().filter(|folder| *folder != Path::new(""));
    let compiler = Compiler {
        program,
        folders: vec![folder.map_or_else(|| PathBuf::from("."), Path::to_path_buf)],
        defines: super::defines(&arguments.define),
        cache: cache(),
    };
    attach(model, &compiler).map_err(|trouble| Failure::Input(trouble.to_string()))
}

/// A folder of the user's own; without one nothing is kept.
fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("preempt").join("embedded-c"))
}
