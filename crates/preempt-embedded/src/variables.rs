//! Variables of C that the model does not track.
//!
//! Spin leaves them alone: going back over a step does not restore them, so what a later step reads depends on the order of
//! the search. Here they are restored like memory that is tracked as `UnMatched`, which makes every execution what it would
//! be if it ran alone. They are found in the symbol table of the compiled object. Where C uses the heap, a variable may point
//! into it, and memory that was given back does not come back: then they are left alone, as in Spin.

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};

/// More bytes than this are left alone.
const MOST_BYTES: u64 = 1 << 16;
/// Functions that hand out memory.
const HEAP: [&str; 6] = ["malloc", "calloc", "realloc", "free", "strdup", "mmap"];
/// What our own text and the compiler's start-up code define.
const NOT_THE_MODELS: [&str; 5] = ["preempt_", "completed.", "__", "now", "_this"];

/// A variable in the object.
pub(crate) struct Variable {
    pub(crate) name: String,
    /// Its address, relative to where the object begins.
    pub(crate) offset: u64,
    pub(crate) size: usize,
}

/// The address of a symbol, relative to where the object begins.
pub(crate) fn offset_of(file: &object::File<'_>, name: &str) -> Option<u64> {
    file.symbols().find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.address())
}

/// All variables that can be written to, but for those that are named.
pub(crate) fn variables(file: &object::File<'_>, but: &[String]) -> Vec<Variable> {
    let is_writable = |symbol: &object::Symbol<'_, '_>| {
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let flags = section.map(|section| section.flags());
        matches!(flags, Some(SectionFlags::Elf { sh_flags }) if sh_flags & u64::from(object::elf::SHF_WRITE) != 0)
    };
    let is_the_models = |name: &str| {
        let is_ours = |start: &str| match start.ends_with(['_', '.']) {
            true => name.starts_with(start),
            false => name == start,
        };
        !NOT_THE_MODELS.iter().any(|start| is_ours(start)) && !but.iter().any(|other| other == name)
    };
    let found = file.symbols().filter(|symbol| {
        symbol.kind() == SymbolKind::Data && symbol.size() > 0 && is_writable(symbol)
    });
    let mut found: Vec<Variable> = found
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| is_the_models(name))?.to_string();
            Some(Variable { name, offset: symbol.address(), size: symbol.size() as usize })
        })
        .collect();
    found.sort_by(|a, b| (a.offset, &a.name).cmp(&(b.offset, &b.name)));
    found
}

/// Whether variables can be restored: they are few, and nothing on the heap belongs to them.
pub(crate) fn can_be_restored(file: &object::File<'_>, found: &[Variable]) -> bool {
    let is_heap = |symbol: object::Symbol<'_, '_>| {
        symbol.is_undefined() && symbol.name().is_ok_and(|name| HEAP.contains(&name))
    };
    let total: u64 = found.iter().map(|variable| variable.size as u64).sum();
    total <= MOST_BYTES && !file.dynamic_symbols().any(is_heap)
}
