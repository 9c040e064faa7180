//! Functions that are indivisible as a whole: in programs for verifiers, those whose names begin with `__VERIFIER_atomic_`, by a rule of
//! the competition on software verification.
//!
//! Invariant: what the compiler has inlined elsewhere is not found, so such programs are compiled without optimisation.

use crate::calls::Known;
use object::{Object, ObjectSymbol, SymbolKind};
use std::path::Path;

const PREFIX: &str = "__VERIFIER_atomic_";

/// Their first addresses and those behind the last, relative to where the program is loaded, in order.
pub(crate) fn sections(program: &Path) -> Vec<(usize, usize)> {
    static KNOWN: Known<Vec<(usize, usize)>> = Known::new();
    KNOWN.of(program, find)
}

fn find(program: &Path) -> Vec<(usize, usize)> {
    let bytes = std::fs::read(program).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let mut found: Vec<(usize, usize)> = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with(PREFIX)))
        .filter_map(|symbol| {
            let begin = usize::try_from(symbol.address()).ok()?;
            Some((begin, begin.checked_add(usize::try_from(symbol.size()).ok()?)?))
        })
        .collect();
    found.sort_unstable();
    found
}
