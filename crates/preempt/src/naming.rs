//! Names of objects for reports: the binding or field in whose line an object was made.
//!
//! Looked up in the source when a failure is reported; where that is not possible, the kind and a number
//! have to do.

use preempt_explore::Site;
use std::path::{Path, PathBuf};

/// The name that the source gives to what is made at this place.
pub(crate) fn binding(site: Site) -> Option<String> {
    let text =
        candidates(site.file()).iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    let line = text.lines().nth(site.line().checked_sub(1)? as usize)?;
    binding_in(line, site.column().checked_sub(1)? as usize)
}

/// Where a file may be: the compiler names it relative to the workspace, while a test runs in the
/// folder of its package.
pub(crate) fn candidates(file: &str) -> Vec<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().take(6).map(|folder| folder.join(Path::new(file))).collect()
}

/// The last `let name =`, `name:` or `static name:` before the column.
fn binding_in(line: &str, column: usize) -> Option<String> {
    let before: String = line.chars().take(column).collect();
    let before = before.trim_start();
    if let Some(rest) = before.strip_prefix("let ") {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("mut ").unwrap_or(rest);
        let name = identifier(rest)?;
        let after = rest[name.len()..].trim_start();
        return (after.starts_with('=') || after.starts_with(':')).then(|| name.to_string());
    }
    // A field of a struct that is being made: the last `name:` with a single colon.
    let is_single = |at: usize| !before[at + 1..].starts_with(':') && !before[..at].ends_with(':');
    let (at, _) = before.rmatch_indices(':').find(|&(at, _)| is_single(at))?;
    let head = &before[..at];
    let start = head.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    identifier(&head[start..]).filter(|name| start + name.len() == head.len()).map(str::to_string)
}

fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let name = &text[..end];
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(line: &str, made: &str) -> Option<String> {
        binding_in(line, line.find(made).expect("part of the line"))
    }

    #[test]
    fn names_are_bindings_and_fields() {
        let some = |name: &str| Some(name.to_string());
        assert_eq!(
            name("    let counter = Arc::new(AtomicUsize::new(0));", "AtomicUsize"),
            some("counter")
        );
        assert_eq!(
            name("let mut flag: Arc<AtomicBool> = AtomicBool::new(true);", "AtomicBool::"),
            some("flag")
        );
        assert_eq!(
            name("Shared { head: AtomicPtr::new(p), tail: AtomicPtr::new(p) }", "AtomicPtr"),
            some("head")
        );
        assert_eq!(
            name("Shared { head: a(), tail: AtomicPtr::new(p) }", "AtomicPtr"),
            some("tail")
        );
        assert_eq!(
            name("static HITS: AtomicUsize = AtomicUsize::new(0);", "= Atomic"),
            some("HITS")
        );
        assert_eq!(name("let (a, b) = (Mutex::new(0), Mutex::new(0));", "Mutex"), None);
        assert_eq!(name("std::sync::Arc::new(Mutex::new(0))", "Mutex"), None);
        assert_eq!(name("", ""), None);
    }
}
