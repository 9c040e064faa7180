//! Libraries in the process that were not compiled by `preempt cc`: what they do is one step, and their accesses to memory are
//! not seen. A verdict names them.

use object::{Object, ObjectSymbol};
use preempt_exchange::Module;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Libraries of the compiler and the system: the runtime stands in front of what matters in them.
const SYSTEM: [&str; 11] = [
    "ld-linux",
    "libc.",
    "libm.",
    "libdl.",
    "librt.",
    "libpthread.",
    "libutil.",
    "libgcc_s.",
    "libstdc++.",
    "linux-vdso",
    "libpreempt_c_runtime.",
];
/// So many functions of a library are named.
const NAMED: usize = 4;

/// A line about each such library whose functions the program calls.
pub(crate) fn notes(program: &Path, modules: &[Module]) -> Vec<String> {
    let is_other = |module: &&Module| !module.path.is_empty() && !is_system(&module.path);
    let others: Vec<&Module> = modules.iter().filter(is_other).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let called = symbols(program, |symbol| symbol.is_undefined());
    others.into_iter().filter_map(|module| note(&PathBuf::from(&module.path), &called)).collect()
}

fn is_system(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    SYSTEM.iter().any(|start| name.starts_with(start))
}

fn note(library: &Path, called: &HashSet<String>) -> Option<String> {
    if symbols(library, |symbol| symbol.is_undefined())
        .iter()
        .any(|name| name.starts_with("__tsan_"))
    {
        return None;
    }
    let defined = symbols(library, |symbol| symbol.is_definition());
    let mut functions: Vec<&String> = called.intersection(&defined).collect();
    functions.sort();
    let more = if functions.len() > NAMED { ", …" } else { "" };
    let list: Vec<&str> = functions.iter().take(NAMED).map(|name| name.as_str()).collect();
    (!list.is_empty()).then(|| {
        format!(
            "{} was not compiled by preempt cc: its functions ({}{more}) run as one step each, and what they do to memory is \
             not seen",
            library.file_name().unwrap_or_default().to_string_lossy(),
            list.join(", ")
        )
    })
}

/// The names of a file's dynamic symbols of this kind; none if it cannot be read.
fn symbols(file: &Path, wanted: impl Fn(&object::Symbol<'_, '_>) -> bool) -> HashSet<String> {
    let Ok(bytes) = std::fs::read(file) else { return HashSet::new() };
    let Ok(file) = object::File::parse(&*bytes) else { return HashSet::new() };
    let names = file.dynamic_symbols().filter(wanted);
    names.filter_map(|symbol| symbol.name().ok().map(str::to_string)).collect()
}
