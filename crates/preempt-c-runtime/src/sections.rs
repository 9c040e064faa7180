//! Functions of the program that are indivisible sections: their names begin with `__VERIFIER_atomic_`.

use crate::snapshot;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where these functions are, in order: first addresses, and those behind the last, relative to where the program is loaded.
static SECTIONS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
/// Whether there are any.
pub(crate) static HAS_SECTIONS: AtomicBool = AtomicBool::new(false);

/// Keeps where they are, once, before there are threads.
pub(crate) fn keep_sections(sections: Vec<(usize, usize)>) {
    HAS_SECTIONS.store(!sections.is_empty(), Ordering::Relaxed);
    let _ = SECTIONS.set(sections);
}

/// Whether this instruction belongs to one of them.
pub(crate) fn is_section(pc: usize) -> bool {
    let sections = SECTIONS.get().map_or(&[][..], Vec::as_slice);
    let at = snapshot::relative(pc);
    let behind = sections.partition_point(|&(begin, _)| begin <= at);
    behind > 0 && at < sections[behind - 1].1
}
