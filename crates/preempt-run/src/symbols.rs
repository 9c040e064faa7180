//! From addresses to lines of source and names of variables.

use crate::found::Module;
use object::{Object, ObjectSymbol};
use std::path::{Path, PathBuf};

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// The file, as the compiler was given it where that is known.
    pub file: String,
    /// The line, from 1; 0 when unknown.
    pub line: u32,
}

struct Part {
    base: u64,
    lines: Option<addr2line::Loader>,
    /// Address relative to the base, size, name; in order.
    symbols: Vec<(u64, u64, String)>,
    end: u64,
}

/// The debug information of a process.
pub struct Symbols {
    parts: Vec<Part>,
}

impl Symbols {
    /// Reads what the program and its own libraries say about themselves.
    pub fn read(program: &Path, modules: &[Module]) -> Self {
        let ours = |module: &&Module| {
            let system = ["/lib", "/usr/lib"].iter().any(|start| module.path.starts_with(start));
            !system && !module.path.contains("vdso") && !module.path.contains(crate::runtime::NAME)
        };
        let parts = modules
            .iter()
            .filter(ours)
            .map(|module| {
                let file = match module.path.is_empty() {
                    true => program.to_path_buf(),
                    false => PathBuf::from(&module.path),
                };
                part(&file, module.base)
            })
            .collect();
        Symbols { parts }
    }

    /// Where a call that returns to `pc` is written.
    pub fn line(&self, pc: u64) -> Option<Line> {
        let part = self.part(pc)?;
        let location = part.lines.as_ref()?.find_location(pc - part.base - 1).ok()??;
        let (file, line) = (location.file?, location.line?);
        Some(Line { file: shorten(file), line })
    }

    /// The function or variable at an address, with an offset where it is not the beginning.
    pub fn name(&self, address: u64) -> Option<String> {
        let part = self.part(address)?;
        let relative = address - part.base;
        let at = part.symbols.partition_point(|(start, ..)| *start <= relative);
        let (start, size, name) = part.symbols.get(at.checked_sub(1)?)?;
        match relative - start {
            0 => Some(demangle(name)),
            offset if offset < *size => Some(format!("{}+{offset}", demangle(name))),
            _ => None,
        }
    }

    fn part(&self, address: u64) -> Option<&Part> {
        self.parts.iter().find(|part| (part.base..part.end).contains(&address))
    }
}

fn part(file: &Path, base: u64) -> Part {
    let bytes = std::fs::read(file).unwrap_or_default();
    let mut symbols = Vec::new();
    let mut end = 0;
    if let Ok(object) = object::File::parse(&*bytes) {
        for symbol in object.symbols().filter(|symbol| symbol.is_definition()) {
            if let Ok(name) = symbol.name()
                && symbol.address() != 0
                && !name.is_empty()
            {
                symbols.push((symbol.address(), symbol.size(), name.to_string()));
            }
        }
        use object::ObjectSegment;
        end =
            object.segments().map(|segment| segment.address() + segment.size()).max().unwrap_or(0);
    }
    symbols.sort();
    Part { base, lines: addr2line::Loader::new(file).ok(), symbols, end: base + end }
}

/// Relative to the current folder where that is shorter.
fn shorten(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = Path::new(file);
    let path = path.strip_prefix(&here).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

/// The name as it is written in the source. Names of C stay as they are: read as mangled ones, `f` would be
/// `float`.
fn demangle(name: &str) -> String {
    match name.starts_with("_Z") || name.starts_with("_R") {
        true => addr2line::demangle_auto(name.into(), None).into_owned(),
        false => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_c_are_not_taken_for_types() {
        for name in ["f", "m", "i", "x", "main", "_start", "queue_push"] {
            assert_eq!(demangle(name), name);
        }
        assert_eq!(demangle("_ZN5Queue4pushEi"), "Queue::push(int)");
    }
}
