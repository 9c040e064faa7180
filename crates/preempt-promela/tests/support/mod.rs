//! Parsing as the tests need it.

use std::path::{Path, PathBuf};

use preempt_promela::syntax::{ParseOptions, Parsed, parse};

/// Parses text that includes nothing.
#[allow(dead_code)]
pub(crate) fn parse_text(text: &str) -> Parsed {
    parse_bytes(text.as_bytes().to_vec())
}

/// Parses bytes that include nothing.
#[allow(dead_code)]
pub(crate) fn parse_bytes(text: Vec<u8>) -> Parsed {
    let loader = |_: &str, _: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    parse("model.pml", text, &ParseOptions { defines: Vec::new(), loader: &loader })
}

/// Parses a file with its includes.
#[allow(dead_code)]
pub(crate) fn parse_file(path: &Path) -> Parsed {
    let loader = |including: &str, path: &str| {
        std::fs::read(Path::new(including).parent().unwrap_or(Path::new("")).join(path))
    };
    let text = std::fs::read(path).expect("the file can be read");
    let name = path.to_str().expect("a plain path");
    parse(name, text, &ParseOptions { defines: Vec::new(), loader: &loader })
}

/// All `.pml` files below a folder, sorted.
#[allow(dead_code)]
pub(crate) fn models_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(models_below(&path));
        } else if path.extension().is_some_and(|e| e == "pml") {
            found.push(path);
        }
    }
    found.sort();
    found
}
