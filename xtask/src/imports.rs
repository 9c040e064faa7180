//! Which file of a crate imports which other one, and the circles among them.
//!
//! A file depends on the files that define what it names by a path from `crate`, `super` or `self`. A
//! name that a module merely hands on (`pub use`) is looked up where it comes from, so a facade is
//! no dependency. Declaring a module (`mod`) is none either. Files in a circle cannot be read, tested or
//! moved one at a time.

use std::collections::{BTreeMap, BTreeSet};

/// The source files of one crate, as modules.
pub(crate) struct Modules {
    /// By path (`search::nested`; the root is empty): the name of the file.
    files: BTreeMap<String, String>,
    /// By module: names that are handed on, with the full paths they stand for.
    exports: BTreeMap<String, BTreeMap<String, String>>,
    /// By module: full paths that it names.
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Modules {
    /// Reads the files of a crate: names relative to its `src` folder, and texts.
    pub(crate) fn read<'a>(files: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let mut modules = Modules {
            files: files.clone().map(|(name, _)| (module(name), name.to_owned())).collect(),
            exports: BTreeMap::new(),
            named: BTreeMap::new(),
        };
        for (name, text) in files {
            modules.scan(&module(name), &code(text));
        }
        modules
    }

    fn scan(&mut self, module: &str, text: &str) {
        let mut rest = String::new();
        let mut statements = Vec::new();
        let mut open: Option<(bool, String)> = None;
        for line in text.lines() {
            let trimmed = line.trim();
            match &mut open {
                Some((_, statement)) => statement.push_str(trimmed),
                None => match import(trimmed) {
                    Some((public, path)) => open = Some((public, path.to_owned())),
                    None => {
                        rest.push_str(line);
                        rest.push('\n');
                    }
                },
            }
            if open.as_ref().is_some_and(|(_, statement)| statement.ends_with(';')) {
                statements.extend(open.take());
            }
        }
        for (public, statement) in statements {
            for (path, name) in leaves(statement.trim_end_matches(';')) {
                let Some(path) = self.absolute(module, &path) else { continue };
                match public {
                    true => {
                        let exports = self.exports.entry(module.to_owned()).or_default();
                        exports.insert(name, path);
                    }
                    false => _ = self.named.entry(module.to_owned()).or_default().insert(path),
                }
            }
        }
        for path in paths(&rest) {
            if let Some(path) = self.absolute(module, &path) {
                self.named.entry(module.to_owned()).or_default().insert(path);
            }
        }
    }

    /// A path from the root of the crate; `None` if it leads out of the crate.
    fn absolute(&self, module: &str, path: &str) -> Option<String> {
        let mut at: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
        let mut parts = path.split("::").peekable();
        match *parts.peek()? {
            "crate" => {
                at.clear();
                parts.next();
            }
            "self" => _ = parts.next(),
            "super" => {
                while parts.next_if_eq(&"super").is_some() {
                    at.pop()?;
                }
            }
            // A path relative to this module: one of its own children.
            first => {
                let child = join(module, first);
                if !self.files.contains_key(&child) {
                    return None;
                }
            }
        }
        at.extend(parts);
        Some(at.join("::"))
    }

    /// The module that defines what a path names.
    fn definition(&self, path: &str, depth: usize) -> String {
        let mut module = path;
        while !self.files.contains_key(module) {
            module = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        }
        let name = path[module.len()..].trim_start_matches("::").split("::").next();
        let exports = self.exports.get(module);
        let exported = exports.zip(name).and_then(|(exports, name)| exports.get(name));
        match exported {
            Some(origin) if depth > 0 && origin != path => self.definition(origin, depth - 1),
            _ => module.to_owned(),
        }
    }

    /// By file: the files that it depends on.
    fn dependencies(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut all = BTreeMap::new();
        for (module, file) in &self.files {
            let mut found = BTreeSet::new();
            for path in self.named.get(module).into_iter().flatten() {
                let target = self.definition(path, 8);
                if target != *module {
                    found.insert(self.files[&target].as_str());
                }
            }
            all.insert(file.as_str(), found);
        }
        all
    }

    /// The circles: sets of files that depend on each other, each as large as can be.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let dependencies = self.dependencies();
        let reachable: BTreeMap<&str, BTreeSet<&str>> =
            dependencies.keys().map(|file| (*file, reach(file, &dependencies))).collect();
        let mut circles = Vec::new();
        let mut done = BTreeSet::new();
        for file in dependencies.keys() {
            let back = |other: &&&str| reachable[*other].contains(file);
            let circle: Vec<String> =
                reachable[file].iter().filter(back).map(|other| other.to_string()).collect();
            if circle.len() > 1 && done.insert(circle.clone()) {
                circles.push(circle);
            }
        }
        circles
    }
}

fn reach<'a>(from: &str, dependencies: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = dependencies[from].iter().copied().collect();
    while let Some(file) = open.pop() {
        let Some((file, next)) = dependencies.get_key_value(file) else { continue };
        if reached.insert(*file) {
            open.extend(next);
        }
    }
    reached
}

/// The module that a file is: `search/mod.rs` and `search.rs` are `search`.
fn module(file: &str) -> String {
    let path = file.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    match path {
        "lib" | "main" => String::new(),
        path => path.replace('/', "::"),
    }
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// The text without comments and without the tests at its end. Declaring a file of tests ends nothing.
fn code(text: &str) -> String {
    let mut starts = text.match_indices("#[cfg(test)]\nmod ").map(|(start, _)| start);
    let is_inline = |start: &usize| {
        let line = text[*start..].lines().nth(1).unwrap_or_default();
        line.ends_with('{') || line.ends_with('}')
    };
    let end = starts.find(is_inline).unwrap_or(text.len());
    let lines = text[..end].lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The path of an import, and whether it is handed on.
fn import(line: &str) -> Option<(bool, &str)> {
    if let Some(path) = line.strip_prefix("use ") {
        return Some((false, path));
    }
    let (visibility, path) = line.split_once(" use ")?;
    visibility.starts_with("pub").then_some((true, path))
}

/// The paths of a tree of imports, each with the name that it gets.
fn leaves(tree: &str) -> Vec<(String, String)> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let (path, name) = match tree.split_once(" as ") {
            Some((path, name)) => (path.trim(), name.trim()),
            None => (tree, tree.rsplit("::").next().unwrap_or(tree)),
        };
        return vec![(path.to_owned(), name.to_owned())];
    };
    let prefix = &tree[..open];
    let inner = tree[open + 1..].strip_suffix('}').unwrap_or(&tree[open + 1..]);
    let mut all = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner[start..at].trim();
                start = (at + 1).min(inner.len());
                match part {
                    "" => {}
                    "self" => all.extend(leaves(prefix.trim_end_matches("::"))),
                    _ => all.extend(leaves(&format!("{prefix}{part}"))),
                }
            }
            _ => {}
        }
    }
    all
}

/// Paths in the middle of code.
fn paths(text: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = text.split(|letter| !is_part(letter));
    let ours = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    ours.map(|word| word.trim_end_matches(':').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        Modules::read(files.iter().copied()).circles()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "use crate::b::{\n    B,\n    Other,\n};\nstruct A;\n"),
            ("b.rs", "use crate::c;\n"),
            ("c.rs", "fn f() { super::a::A; }\n"),
        ];
        assert_eq!(circles(&files), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn what_is_handed_on_is_looked_up_where_it_comes_from() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B as C;\n"),
            ("a.rs", "pub struct A;\n"),
            ("b.rs", "use crate::A;\n"),
        ];
        assert_eq!(circles(&files), [] as [Vec<String>; 0]);
        let back = [files[0], ("a.rs", "use crate::C;\n"), files[2]];
        assert_eq!(circles(&back), [["a.rs", "b.rs"]]);
    }

    /// What comes behind it is seen, such as what a root hands on.
    #[test]
    fn a_file_of_tests_that_is_declared_early_ends_nothing() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod tests;\npub use a::A;\npub use b::B;\n"),
            ("a.rs", "use crate::B;\nstruct A;\n"),
            ("b.rs", "use crate::A;\nstruct B;\n"),
            ("tests.rs", "use crate::A;\n"),
        ];
        assert_eq!(circles(&files), [["a.rs", "b.rs"]]);
    }

    #[test]
    fn a_parent_that_uses_what_it_declares_is_none_that_its_children_may_use() {
        let files = [
            ("lib.rs", "mod a;\n"),
            ("a/mod.rs", "mod b;\nuse b::B;\nstruct A;\n"),
            ("a/b.rs", "use super::A;\n#[cfg(test)]\nmod tests { use crate::x; }\n"),
        ];
        assert_eq!(circles(&files), [["a/b.rs", "a/mod.rs"]]);
    }
}
