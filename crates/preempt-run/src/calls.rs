//! Where a program calls functions of the instrumentation, found in its machine code.
//!
//! Invariant: what is found and is no call lies in no function that callers ask the debug information for.

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What was found out about programs, each of which is looked at once.
pub(crate) struct Known<T>(Mutex<Option<HashMap<PathBuf, T>>>);

impl<T: Clone> Known<T> {
    pub(crate) const fn new() -> Self {
        Known(Mutex::new(None))
    }

    pub(crate) fn of(&self, program: &Path, find: impl FnOnce(&Path) -> T) -> T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        known.entry(program.to_path_buf()).or_insert_with(|| find(program)).clone()
    }
}

/// The return addresses of all calls of these functions, in order.
///
/// A call goes through an entry of the table of addresses that the loader fills in, at once (`ff 15`) or by a stub of the
/// linker (`e8`, and `ff 25` there). What looks like one and is none lies in no function with the right name.
pub(crate) fn calls(file: &object::File, functions: &[&str]) -> Vec<u64> {
    let entries = entries(file, functions);
    let sections = || file.sections().filter(|section| section.kind() == SectionKind::Text);
    let target = |at: u64, displacement: &[u8]| {
        let displacement = i32::from_le_bytes(displacement.try_into().unwrap_or_default());
        at.wrapping_add_signed(displacement.into())
    };
    let mut stubs = BTreeSet::new();
    let mut direct = Vec::new();
    let mut found = Vec::new();
    for section in sections() {
        let (start, code) = (section.address(), section.data().unwrap_or_default());
        for (at, bytes) in code.windows(6).enumerate() {
            let address = start + at as u64;
            let is_entry = || entries.contains(&target(address + 6, &bytes[2..6]));
            match bytes {
                [0xFF, 0x15, ..] if is_entry() => found.push(address + 6),
                [0xFF, 0x25, ..] if is_entry() => {
                    // A stub may begin with `endbr64`, or have a prefix.
                    stubs.extend([address, address - 1, address - 4, address - 5]);
                }
                [0xE8, ..] => direct.push((target(address + 5, &bytes[1..5]), address + 5)),
                _ => {}
            }
        }
    }
    found.extend(direct.iter().filter(|(to, _)| stubs.contains(to)).map(|(_, back)| *back));
    found.sort_unstable();
    found
}

/// Where the loader writes the addresses of these functions.
fn entries(file: &object::File, functions: &[&str]) -> BTreeSet<u64> {
    let Some(symbols) = file.dynamic_symbol_table() else { return BTreeSet::new() };
    let is_wanted = |target: RelocationTarget| {
        let RelocationTarget::Symbol(index) = target else { return false };
        use object::ObjectSymbolTable;
        let name = symbols.symbol_by_index(index).ok().and_then(|symbol| symbol.name().ok());
        name.is_some_and(|name| functions.contains(&name))
    };
    let relocations = file.dynamic_relocations().into_iter().flatten();
    relocations.filter(|(_, r)| is_wanted(r.target())).map(|(address, _)| address).collect()
}
