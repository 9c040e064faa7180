//! Keeps the text of included files that are no models out of messages.
//!
//! A model may come from anywhere, and an `#include` in it may name any file that the user can read.
//! A message that quotes a line of a password file would carry it into logs and reports. So what is
//! wrong inside a file that does not look like a model is reported at its `#include`, without a word of it.

use super::codes;
use super::diagnostic::Diagnostic;
use super::span::{FileId, SourceMap, Span};

/// Names of files that hold Promela or macros end in one of these.
const ENDINGS: [&str; 10] =
    ["pml", "prom", "promela", "spin", "h", "inc", "def", "defs", "ltl", "prp"];

/// More than this are nested in no model.
const MAXIMAL_DEPTH: usize = 64;

/// Diagnostics without the text of files that are no models.
pub(super) fn conceal(diagnostics: Vec<Diagnostic>, sources: &SourceMap) -> Vec<Diagnostic> {
    let mut shown: Vec<Diagnostic> = Vec::new();
    for mut diagnostic in diagnostics {
        let Some(include) = concealed_by(diagnostic.primary.file, sources) else {
            diagnostic.labels.retain(|(span, _)| concealed_by(span.file, sources).is_none());
            shown.push(diagnostic);
            continue;
        };
        // One is enough: such a file is wrong from its first line on.
        if diagnostic.is_error() && shown.iter().all(|d| d.primary != include) {
            let file = sources.file(diagnostic.primary);
            let (line, _) = sources.line_column(diagnostic.primary);
            let title = codes::find(diagnostic.code).map_or("an error", |code| code.title);
            let message = format!("`{}` does not hold Promela: line {line}: {title}", file.name);
            shown.push(
                Diagnostic::error(diagnostic.code, include, message).note(
                    "its text is not shown, because its name does not end like that of a model",
                ),
            );
        }
    }
    shown
}

/// The `#include` of a file whose text must not be shown, in the file that may be.
fn concealed_by(file: FileId, sources: &SourceMap) -> Option<Span> {
    let (mut file, mut include) = (file, None);
    for _ in 0..MAXIMAL_DEPTH {
        let source = sources.files.get(file.0 as usize)?;
        let Some(included_at) = source.included_at else { break };
        if !looks_like_a_model(&source.name) {
            include = Some(included_at);
        }
        file = included_at.file;
    }
    include
}

fn looks_like_a_model(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, ending)) => {
            !stem.is_empty() && ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_their_names() {
        for name in ["a.pml", "dir/b.h", "../C.PML", "/abs/x.inc"] {
            assert!(looks_like_a_model(name), "{name}");
        }
        for name in ["/etc/passwd", ".h", "id_rsa", "a.pml/x", "dir.h/file", "key.pem"] {
            assert!(!looks_like_a_model(name), "{name}");
        }
    }
}
