//! Names of objects for reports: the binding or field in whose line an object was made.
//!
//! Looked up in the source when a failure is reported; where that is not possible, the kind and a number
//! have to do.

use preempt_explore::Site;
use std::path::{Path, PathBuf};

/// The name that the source gives to what is made at this place.
pub(crate) fn binding(site: Site) -> Option<String> {
    in_line(site, binding_in)
}

/// The static that is used at this place.
pub(crate) fn name_of_static(site: Site) -> Option<String> {
    in_line(site, static_in)
}

/// What is found in the line of this place, at its column.
fn in_line(site: Site, find: fn(&str, usize) -> Option<String>) -> Option<String> {
    let text =
        candidates(site.file()).iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    let line = text.lines().nth(site.line().checked_sub(1)? as usize)?;
    find(line, site.column().checked_sub(1)? as usize)
}

/// Where a file may be: the compiler names it relative to the workspace, while a test runs in the
/// folder of its package.
pub(crate) fn candidates(file: &str) -> Vec<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().take(6).map(|folder| folder.join(Path::new(file))).collect()
}

/// The last `let name =`, `name:` or `static name:` before the column, and where in it: `pair.1`, `list[2]`.
fn binding_in(line: &str, column: usize) -> Option<String> {
    let before: String = line.chars().take(column).collect();
    let after: String = line.chars().skip(column).collect();
    let before = before.trim_start();
    if let Some(rest) = before.strip_prefix("let ") {
        let (pattern, value) = rest.split_once('=')?;
        let (pattern, _) = pattern.rsplit_once(':').unwrap_or((pattern, ""));
        let pattern = pattern.trim();
        let path = path_in(value, &after);
        if let Some(names) = pattern.strip_prefix('(').and_then(|names| names.strip_suffix(')')) {
            // Each name of a pattern stands for one part of the tuple.
            let (first, path) = path.split_first()?;
            let Part::Field(index) = first else { return None };
            let name = names.split(',').nth(*index)?;
            return whole_identifier(without_mut(name)).map(|name| named(name, path));
        }
        return whole_identifier(without_mut(pattern)).map(|name| named(name, &path));
    }
    // A field of a struct that is being made: the last `name:` with a single colon.
    let is_single = |at: usize| !before[at + 1..].starts_with(':') && !before[..at].ends_with(':');
    let (at, _) = before.rmatch_indices(':').find(|&(at, _)| is_single(at))?;
    let head = &before[..at];
    let start = head.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let name = whole_identifier(&head[start..])?;
    Some(named(name, &path_in(&before[at + 1..], &after)))
}

/// The name in capitals, with fields, of what a method is called on at the column, or that begins there.
fn static_in(line: &str, column: usize) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '[' | ']');
    let before: String = line.chars().take(column).collect();
    let after: String = line.chars().skip(column).collect();
    let path = match before.strip_suffix('.') {
        Some(receiver) => {
            let rest = receiver.trim_end_matches(is_part);
            &receiver[rest.len()..]
        }
        None => &after[..after.find(|c: char| !is_part(c) || c == '.').unwrap_or(after.len())],
    };
    let path = path.rsplit("::").next().unwrap_or_default();
    let name = path.split(['.', '[']).next().unwrap_or_default();
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let capitals =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_capital);
    capitals.then(|| path.to_string())
}

/// A part of a tuple or of an array.
#[derive(Clone, Copy)]
enum Part {
    Field(usize),
    Element(usize),
}

fn named(name: &str, path: &[Part]) -> String {
    path.iter().fold(name.to_string(), |name, part| match part {
        Part::Field(index) => format!("{name}.{index}"),
        Part::Element(index) => format!("{name}[{index}]"),
    })
}

/// Which parts of tuples and arrays are being made between two pieces of text.
fn path_in(before: &str, after: &str) -> Vec<Part> {
    // What is open, and how many commas it has so far.
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut previous = ' ';
    for c in before.chars() {
        let called = previous.is_alphanumeric() || matches!(previous, '_' | '>' | '!');
        match c {
            '(' if called => open.push(('f', 0)),
            '(' | '[' | '{' => open.push((c, 0)),
            ')' | ']' | '}' => drop(open.pop()),
            ',' => open.iter_mut().rev().take(1).for_each(|(_, commas)| *commas += 1),
            _ => {}
        }
        if !c.is_whitespace() {
            previous = c;
        }
    }
    // Parentheses around a single value make no tuple.
    let mut followed = vec![false; open.len()];
    let (mut depth, mut closed) = (0, 0);
    for c in after.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ')' | ']' | '}' => closed += 1,
            ',' if depth == 0 && closed < open.len() => followed[open.len() - 1 - closed] = true,
            _ => {}
        }
    }
    let part = |(&(kind, commas), followed): (&(char, usize), bool)| match kind {
        '(' if commas > 0 || followed => Some(Part::Field(commas)),
        '[' => Some(Part::Element(commas)),
        _ => None,
    };
    open.iter().zip(followed).filter_map(part).collect()
}

fn without_mut(pattern: &str) -> &str {
    let pattern = pattern.trim();
    pattern.strip_prefix("mut ").unwrap_or(pattern).trim()
}

fn whole_identifier(text: &str) -> Option<&str> {
    identifier(text).filter(|name| name.len() == text.len())
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
    fn statics_are_named_where_they_are_used() {
        let name = |line: &str, used: &str| static_in(line, line.find(used).unwrap());
        let some = |name: &str| Some(name.to_string());
        assert_eq!(
            name("    let enough = *ACCOUNT.lock().unwrap() >= 1;", "lock"),
            some("ACCOUNT")
        );
        assert_eq!(name("BUS.0.lock().unwrap().send(1)", "lock"), some("BUS.0"));
        assert_eq!(name("BUS.0.lock().unwrap().send(1)", "BUS"), some("BUS"));
        assert_eq!(name("f(&crate::state::TABLE_2[1].load(SeqCst))", "load"), some("TABLE_2[1]"));
        assert_eq!(name("self.lock.lock().unwrap()", "lock()"), None);
        assert_eq!(name("Self::MOST.min(n).load(SeqCst)", "load"), None);
        assert_eq!(name("guard.load(SeqCst)", "load"), None);
        assert_eq!(name("        .load(SeqCst)", "load"), None);
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
        let pair = "let (a, mut b) = (Mutex::new(0), RwLock::new([Once::new(), Barrier::new(1)]));";
        assert_eq!(name(pair, "Mutex"), some("a"));
        assert_eq!(name(pair, "RwLock"), some("b"));
        assert_eq!(name(pair, "Barrier"), some("b[1]"));
        let shared = "let shared = Arc::new((Mutex::new(f(1, 2)), Condvar::new(), (Once::new())));";
        assert_eq!(name(shared, "Arc"), some("shared"));
        assert_eq!(name(shared, "Mutex"), some("shared.0"));
        assert_eq!(name(shared, "Condvar"), some("shared.1"));
        assert_eq!(name(shared, "Once"), some("shared.2"));
        let list = "Shared { list: [AtomicBool::new(true), AtomicU8::new(1)], one: Once::new() }";
        assert_eq!(name(list, "AtomicU8"), some("list[1]"));
        assert_eq!(name(list, "Once"), some("one"));
        assert_eq!(name("let (a, b) = pair(Mutex::new(0), Mutex::new(0));", "Mutex"), None);
        assert_eq!(name("let Some(a) = Some(Mutex::new(0));", "Mutex"), None);
        assert_eq!(name("std::sync::Arc::new(Mutex::new(0))", "Mutex"), None);
        assert_eq!(name("", ""), None);
    }
}
