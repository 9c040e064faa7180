//! Memory that the program maps itself.
//!
//! Each thread maps into a region of its own, upwards, so that addresses are the same whenever the thread
//! does the same, as with `malloc` (`arena.rs`). What an execution has mapped goes with it.

use crate::raw;
use crate::task::MOST;

const BASE: usize = 0x6200_0000_0000;
/// Address space of one thread.
const REGION: usize = 1 << 32;
const END: usize = BASE + MOST * REGION;
const PAGE: usize = 4096;

/// What the threads of this execution have mapped.
pub(crate) struct Mappings {
    used: [usize; MOST],
    /// No thread from this one on has mapped anything in this execution.
    silent: usize,
}

impl Mappings {
    pub(crate) fn new() -> Self {
        Mappings { used: [0; MOST], silent: 0 }
    }

    /// Gives back what an execution in this process has mapped.
    pub(crate) fn clear(&mut self) {
        for (thread, &used) in self.used[..self.silent].iter().enumerate().filter(|(_, u)| **u > 0)
        {
            raw::unmap(BASE + thread * REGION, used);
        }
    }

    /// A new execution begins.
    pub(crate) fn begin(&mut self) {
        self.used[..self.silent].fill(0);
        self.silent = 0;
    }
}

/// Whether the program has mapped this address itself.
pub(crate) fn contains(address: usize) -> bool {
    (BASE..END).contains(&address)
}

/// Whether a call that maps, moves or gives back memory stays within what the program maps itself.
pub(crate) fn is_of_the_program(number: i64, arguments: &[usize; 6]) -> bool {
    let chooses = number == libc::SYS_mmap && arguments[3] & libc::MAP_FIXED as usize == 0;
    chooses || contains(arguments[0])
}

impl Mappings {
    /// `mmap`, `munmap` or `mremap` of a thread. Returns what the kernel would.
    pub(crate) fn call(&mut self, thread: usize, number: i64, arguments: &[usize; 6]) -> isize {
        const FULL: isize = -(libc::ENOMEM as isize);
        // SAFETY: what the program maps, moves or gives back is its own; ours is elsewhere.
        let make = |arguments: [usize; 6]| unsafe { raw::syscall(number, arguments) };
        match number {
            libc::SYS_mmap if arguments[3] & libc::MAP_FIXED as usize != 0 => make(*arguments),
            libc::SYS_mmap => {
                let Some(at) = self.reserve(thread, arguments[1]) else { return FULL };
                let [_, length, protection, flags, descriptor, offset] = *arguments;
                make([at, length, protection, flags | libc::MAP_FIXED as usize, descriptor, offset])
            }
            libc::SYS_mremap if arguments[2] <= arguments[1] => make(*arguments),
            libc::SYS_mremap if arguments[3] & libc::MREMAP_MAYMOVE as usize == 0 => FULL,
            libc::SYS_mremap => {
                let Some(at) = self.reserve(thread, arguments[2]) else { return FULL };
                let how = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
                make([arguments[0], arguments[1], arguments[2], how, at, 0])
            }
            _ => make(*arguments),
        }
    }

    /// Address space of a thread that is not in use.
    fn reserve(&mut self, thread: usize, length: usize) -> Option<usize> {
        let used = self.used[thread];
        let end = used.checked_add(length.checked_next_multiple_of(PAGE)?)?;
        if end > REGION {
            return None;
        }
        self.used[thread] = end;
        self.silent = self.silent.max(thread + 1);
        Some(BASE + thread * REGION + used)
    }
}
