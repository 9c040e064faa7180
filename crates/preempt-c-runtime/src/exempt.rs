//! Memory in which nothing races by definition: what the library of C++ keeps for itself.
//!
//! The standard streams may be used by several threads without a lock, and the library's tables of locales are filled by
//! the thread that needs them first. Templates of that library are compiled with the program, so these accesses are seen.

use crate::snapshot;

/// The standard streams, with the sizes that libstdc++ gives them. They are copied into the program.
const STREAMS: [(&std::ffi::CStr, usize); 8] = [
    (c"_ZSt3cin", 280),
    (c"_ZSt4wcin", 280),
    (c"_ZSt4cout", 272),
    (c"_ZSt4cerr", 272),
    (c"_ZSt4clog", 272),
    (c"_ZSt5wcout", 272),
    (c"_ZSt5wcerr", 272),
    (c"_ZSt5wclog", 272),
];

/// Pieces of memory.
#[derive(Default)]
pub(crate) struct Exempt {
    /// All of them lie within.
    whole: (usize, usize),
    pieces: Vec<(usize, usize)>,
}

impl Exempt {
    /// Finds them in this process.
    pub(crate) fn find() -> Self {
        let mut pieces = snapshot::data_of("libstdc++.so");
        if !pieces.is_empty() {
            for (name, size) in STREAMS {
                // SAFETY: a terminated name.
                let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
                if at != 0 {
                    pieces.push((at, at + size));
                }
            }
        }
        let start = pieces.iter().map(|piece| piece.0).min().unwrap_or(0);
        let end = pieces.iter().map(|piece| piece.1).max().unwrap_or(0);
        Exempt { whole: (start, end), pieces }
    }

    /// Whether this address is of one.
    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        let within = |&(start, end): &(usize, usize)| (start..end).contains(&address);
        within(&self.whole) && self.pieces.iter().any(within)
    }
}
