//! From addresses to lines of source and names of variables.
//!
//! A step is shown at the line that the user wrote: of the calls that led to it, inlined ones too, the
//! innermost that is not in a library (`std::atomic` of C++, core and std of Rust, packages of a registry).

use crate::compile::NO_ASSERTIONS;
use crate::opaque;
use crate::variables::Variables;
use object::{Object, ObjectSymbol};
use preempt_exchange::{Module, Place};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// The file, as the compiler was given it where that is known.
    pub file: String,
    /// The line, from 1; 0 when unknown.
    pub line: u32,
    /// The column, from 1; 0 when unknown.
    pub column: u32,
}

struct Part {
    base: u64,
    lines: Option<addr2line::Loader>,
    /// Address relative to the base, size, name; in order.
    symbols: Vec<(u64, u64, String)>,
    has_no_assertions: bool,
    end: u64,
    file: PathBuf,
    /// What is known of the types of its variables, once it is asked for.
    variables: OnceCell<Option<Variables>>,
}

impl Part {
    /// What lies there in a variable of the user's type, as it is written behind the name.
    fn within_variable(&self, relative: u64) -> Option<String> {
        let read = || {
            let bytes = std::fs::read(&self.file).ok()?;
            Variables::read(&object::File::parse(&*bytes).ok()?).ok()
        };
        self.variables.get_or_init(read).as_ref()?.part(relative)
    }
}

/// A call, perhaps an inlined one.
#[derive(Clone)]
struct Call {
    function: String,
    file: String,
    line: u32,
    column: u32,
}

impl Call {
    fn line(&self) -> Line {
        Line { file: shorten(&self.file), line: self.line, column: self.column }
    }
}

/// The debug information of a process.
pub struct Symbols {
    parts: Vec<Part>,
    /// What cannot be seen, a line each.
    pub(crate) opaque: Vec<String>,
    /// What was looked up.
    known: RefCell<HashMap<u64, Vec<Call>>>,
    /// Lines of the files that were asked for.
    texts: RefCell<HashMap<String, Vec<String>>>,
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
        let opaque = opaque::notes(program, modules);
        Symbols { parts, opaque, known: RefCell::default(), texts: RefCell::default() }
    }

    /// Whether the program or one of its libraries has assertions that are compiled out.
    pub(crate) fn has_no_assertions(&self) -> bool {
        self.parts.iter().any(|part| part.has_no_assertions)
    }

    /// Where a call that returns to `pc` is written.
    pub fn line(&self, pc: u64) -> Option<Line> {
        self.place(pc, &[])
    }

    /// Where the user asked for what the call that returns to `pc` does: `frames` are the return addresses
    /// of the calls that led to it, the innermost first. In a thread of a package, where that package asked for it.
    pub fn place(&self, pc: u64, frames: &[u64]) -> Option<Line> {
        let (mut innermost, mut package) = (None, None);
        for call in self.calls(pc, frames) {
            if !is_library(&call.file) {
                return Some(call.line());
            }
            if !is_of_the_language(&call.file) {
                package.get_or_insert(call.clone());
            }
            innermost.get_or_insert(call);
        }
        package.or(innermost).map(|call| call.line())
    }

    /// Where in a package that is, if it is in none of the user's own files: `name-1.0.0/src/lib.rs:3`.
    pub(crate) fn within_package(&self, pc: u64, frames: &[u64]) -> Option<String> {
        let call = self.calls(pc, frames).find(|call| !is_of_the_language(&call.file))?;
        let file = call.file.split_once("/registry/src/")?.1;
        // The first part is the registry's.
        let file = file.split_once('/')?.1;
        Some(format!("{file}:{}", call.line))
    }

    /// Where code that is not of the language has called what led to `pc`, and the language's functions in between, the innermost
    /// first.
    pub(crate) fn call_outside(&self, pc: u64, frames: &[u64]) -> Option<(Line, Vec<String>)> {
        let mut functions = Vec::new();
        for call in self.calls(pc, frames) {
            if !is_of_the_language(&call.file) {
                return Some((call.line(), functions));
            }
            functions.push(call.function);
        }
        None
    }

    /// The functions of libraries between the user's code and an operation, and whether any code of the
    /// user's has led to it.
    pub(crate) fn libraries(&self, pc: u64, frames: &[u64]) -> (Vec<String>, bool) {
        let mut functions = Vec::new();
        for call in self.calls(pc, frames) {
            if !is_library(&call.file) {
                return (functions, true);
            }
            functions.push(call.function);
        }
        (functions, false)
    }

    /// The function of Rust's std that the user's code or a package has called there, or that is called where a value of theirs is
    /// dropped, if the operation is inside of one.
    pub(crate) fn std_function(&self, pc: u64, frames: &[u64]) -> Option<String> {
        let mut outermost: Option<Call> = None;
        for call in self.calls(pc, frames) {
            if !is_of_the_language(&call.file) {
                let in_std = |call: &Call| call.file.contains("library/std/src/");
                return outermost.filter(in_std).map(|call| call.function);
            }
            if outermost.is_none() || !call.function.contains("drop_in_place") {
                outermost = Some(call);
            }
        }
        None
    }

    /// The calls at these addresses, inlined ones too, the innermost first.
    fn calls(&self, pc: u64, frames: &[u64]) -> impl Iterator<Item = Call> {
        // The innermost frame usually is the place itself.
        let first = (frames.first() != Some(&pc)).then_some(pc);
        first.into_iter().chain(frames.iter().copied()).flat_map(|pc| self.inlined(pc))
    }

    /// The calls that were inlined at an address, the innermost first.
    fn inlined(&self, pc: u64) -> Vec<Call> {
        if let Some(known) = self.known.borrow().get(&pc) {
            return known.clone();
        }
        let calls = self.look_up(pc);
        self.known.borrow_mut().insert(pc, calls.clone());
        calls
    }

    fn look_up(&self, pc: u64) -> Vec<Call> {
        let mut calls = Vec::new();
        let Some(part) = self.part(pc) else { return calls };
        let frames = part.lines.as_ref().map(|lines| lines.find_frames(pc - part.base - 1));
        let Some(Ok(mut frames)) = frames else { return calls };
        while let Ok(Some(frame)) = frames.next() {
            if let Some(location) = frame.location
                && let (Some(file), Some(line)) = (location.file, location.line)
            {
                let function =
                    frame.function.and_then(|f| f.demangle().ok().map(|n| n.into_owned()));
                let function = function.unwrap_or_default();
                let column = location.column.unwrap_or(0);
                calls.push(Call { function, file: file.to_string(), line, column });
            }
        }
        calls
    }

    /// A place that a program has told, whose files are relative to a folder above the one it was started in.
    pub(crate) fn told(&self, place: &Place, folder: Option<&Path>) -> Line {
        let here = std::env::current_dir().unwrap_or_default();
        let mut above = folder.unwrap_or(&here).ancestors().map(|base| base.join(&place.file));
        let file = above.find(|path| path.is_file()).unwrap_or_else(|| place.file.clone().into());
        Line { file: shorten(&file.to_string_lossy()), line: place.line, column: 0 }
    }

    /// The text of a line.
    pub(crate) fn text(&self, line: &Line) -> Option<String> {
        let mut texts = self.texts.borrow_mut();
        let lines = texts.entry(line.file.clone()).or_insert_with(|| {
            let text = std::fs::read_to_string(&line.file).unwrap_or_default();
            text.lines().map(str::to_string).collect()
        });
        lines.get((line.line as usize).checked_sub(1)?).cloned()
    }

    /// The function or variable at an address: the part of it that lies there, or an offset where it is not the beginning.
    pub fn name(&self, address: u64) -> Option<String> {
        let part = self.part(address)?;
        let relative = address - part.base;
        let at = part.symbols.partition_point(|(start, ..)| *start <= relative);
        let (start, size, name) = part.symbols.get(at.checked_sub(1)?)?;
        let offset = relative - start;
        if offset > 0 && offset >= *size {
            return None;
        }
        match (part.within_variable(relative), offset) {
            (Some(within), _) => Some(format!("{}{within}", demangle(name))),
            (None, 0) => Some(demangle(name)),
            (None, offset) => Some(format!("{}+{offset}", demangle(name))),
        }
    }

    fn part(&self, address: u64) -> Option<&Part> {
        self.parts.iter().find(|part| (part.base..part.end).contains(&address))
    }
}

fn part(file: &Path, base: u64) -> Part {
    let bytes = std::fs::read(file).unwrap_or_default();
    let mut symbols = Vec::new();
    let (mut end, mut has_no_assertions) = (0, false);
    if let Ok(object) = object::File::parse(&*bytes) {
        has_no_assertions = object.symbols().any(|symbol| symbol.name() == Ok(NO_ASSERTIONS));
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
    Part {
        base,
        lines: addr2line::Loader::new(file).ok(),
        symbols,
        has_no_assertions,
        end: base + end,
        file: file.to_path_buf(),
        variables: OnceCell::new(),
    }
}

/// Whether a file belongs to a library or to the language, not to what the user works on.
fn is_library(file: &str) -> bool {
    let parts = ["/.cargo/registry/", "/.cargo/git/", "/registry/src/"];
    is_of_the_language(file) || parts.iter().any(|part| file.contains(part))
}

/// Whether a file belongs to what comes with a compiler or with the system.
fn is_of_the_language(file: &str) -> bool {
    let starts = ["/usr/include/", "/usr/lib/", "/usr/share/", "/rustc/", "/rust/deps/"];
    starts.iter().any(|start| file.starts_with(start)) || file.contains("/lib/rustlib/src/")
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
        true => {
            let name = addr2line::demangle_auto(name.into(), None);
            // The steps say what is done with it: a variable that is initialised when a function is called first.
            name.strip_prefix("guard variable for ").unwrap_or(&name).to_string()
        }
        false => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_from_the_user_s_files() {
        for file in [
            "/rustc/59807616e/library/core/src/sync/atomic.rs",
            "/home/a/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/sync/once.rs",
            "/home/a/.cargo/registry/src/index/crossbeam-queue-0.3.0/src/array_queue.rs",
            "/usr/include/c++/12/bits/atomic_base.h",
        ] {
            assert!(is_library(file), "{file}");
        }
        for file in ["/home/a/queue/src/lib.rs", "src/lib.rs", "/rustcode/a.rs", "/usr/src/a.c"] {
            assert!(!is_library(file), "{file}");
        }
    }

    #[test]
    fn names_of_c_are_not_taken_for_types() {
        for name in ["f", "m", "i", "x", "main", "_start", "queue_push"] {
            assert_eq!(demangle(name), name);
        }
        assert_eq!(demangle("_ZN5Queue4pushEi"), "Queue::push(int)");
        assert_eq!(demangle("_ZGVZ6configvE8instance"), "config()::instance");
    }
}
