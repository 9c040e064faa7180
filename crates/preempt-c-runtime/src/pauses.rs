//! The instruction `pause` as a step: the thread gives way to others, as by `sched_yield`.
//!
//! A loop that waits says so by it (`spin_loop` in Rust, `_mm_pause` in C). `pauses.rs` of `preempt-run` has found the
//! instructions of the program. Each is written over by `ud2`, which has two bytes as well: the kernel reports that by a signal,
//! and the handler lets the program go on as if a function had been called there (`pause_entry.rs`).
//!
//! Invariant: no thread stands within an instruction that is written.

use crate::backend::Backend;
use crate::{raw, snapshot};

pub(crate) const PAUSE: [u8; 2] = [0xF3, 0x90];
/// An instruction that has no meaning.
const UD2: [u8; 2] = [0x0F, 0x0B];

const PAGE: usize = 4096;

/// The pauses of the program.
#[derive(Default)]
pub(crate) struct Pauses {
    /// Where they are, relative to where the program is loaded, in order.
    offsets: Vec<usize>,
    /// Those that are pauses again, because the running thread has given way and done nothing since: a loop that only pauses
    /// goes round as fast as it would by itself.
    passed: Vec<usize>,
}

impl Pauses {
    pub(crate) fn new(offsets: Vec<usize>) -> Pauses {
        Pauses { offsets, passed: Vec::new() }
    }

    /// Writes over the instructions. Threads of the operating system have no stack for signals: theirs stay.
    pub(crate) fn write_over(&mut self, backend: Backend) {
        let can_be_written = |offset: &usize| {
            let at = snapshot::absolute(*offset);
            let first = at & !(PAGE - 1);
            let size = (at + PAUSE.len()).next_multiple_of(PAGE) - first;
            let all = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as usize;
            snapshot::is_program_text(at)
                // SAFETY: pages of the program's own text, which can do what they could before.
                && unsafe { raw::syscall(libc::SYS_mprotect, [first, size, all, 0, 0, 0]) } == 0
        };
        match backend {
            Backend::Threads => self.offsets.clear(),
            _ => self.offsets.retain(can_be_written),
        }
        for &offset in &self.offsets {
            write(snapshot::absolute(offset), UD2);
        }
    }

    /// Whether the instruction at `pc` was a pause.
    pub(crate) fn contains(&self, pc: usize) -> bool {
        self.offsets.binary_search(&snapshot::relative(pc)).is_ok()
    }

    /// The program does something, or another thread goes on: every pause counts again.
    #[inline]
    pub(crate) fn begin_round(&mut self) {
        if !self.passed.is_empty() {
            self.passed.drain(..).for_each(|at| write(at, UD2));
        }
    }

    /// The thread has given way, and this pause need not be reported until something happens.
    pub(crate) fn pass(&mut self, at: usize) {
        write(at, PAUSE);
        self.passed.push(at);
    }
}

fn write(at: usize, instruction: [u8; 2]) {
    // SAFETY: the two bytes of a pause, which can be written. One thread runs at a time, and it is not there.
    unsafe { (at as *mut [u8; 2]).write_volatile(instruction) };
}
