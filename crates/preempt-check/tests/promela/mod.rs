//! Promela models for the tests of searches.

#![allow(dead_code)] // Each test binary uses its own part.

use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};
use std::path::{Path, PathBuf};

/// A model from a file, with these macros defined.
pub(crate) fn load(path: &Path, defines: &[(&str, &str)], options: LowerOptions) -> Interpreter {
    try_load(path, defines, options).unwrap_or_else(|| panic!("{path:?} is no model"))
}

/// A model from a file, if it is one.
pub(crate) fn try_load(
    path: &Path,
    defines: &[(&str, &str)],
    options: LowerOptions,
) -> Option<Interpreter> {
    let loader = |including: &str, path: &str| {
        std::fs::read(Path::new(including).parent().unwrap_or(Path::new("")).join(path))
    };
    let defines = defines.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let text = std::fs::read(path).ok()?;
    let parsed = parse(path.to_str()?, text, &ParseOptions { defines, loader: &loader });
    Some(Interpreter::new(lower(&parsed.model?, options).ok()?))
}

/// A model from its text.
pub(crate) fn text(text: &str) -> Interpreter {
    try_text(text).unwrap_or_else(|| panic!("a model: {text}"))
}

/// A model from its text, if it is one.
pub(crate) fn try_text(text: &str) -> Option<Interpreter> {
    let loader = |_: &str, _: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let parsed = parse("model.pml", text.as_bytes().to_vec(), &options);
    Some(Interpreter::new(lower(&parsed.model?, LowerOptions::default()).ok()?))
}

/// One of our own models.
pub(crate) fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name)
}

/// One of Debian's examples; `None` where the package is not installed.
pub(crate) fn debian(name: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/share/doc/spin/examples/Examples").join(name);
    path.exists().then_some(path)
}
