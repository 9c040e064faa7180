//! Loops that wait for another thread without saying so.
//!
//! `while (!atomic_load(&ready)) ;` never ends if the thread that would set `ready` does not run. A
//! thread that reads the same value at the same place again, and has made no progress in between,
//! yields first: it goes on when something that it has read is changed. Progress is any write to
//! memory but those that leave it as it was in the round before, such as what a queue knows about the other end. To take a mutex,
//! of Rust's std too (`std_locks.rs` of `preempt-run`), and to release it is none. A loop that gives up soon
//! does not wait: the search tries it out (`control.rs`). Whether a thread yields is a function of
//! what it has observed, so executions stay repeatable.
//!
//! What is lost: executions in which a loop that makes no progress gives up after more than the explorer's
//! `COUNTED` rounds although others could still move. (One that gives up earlier does so in one go, see `polling.rs` of
//! `preempt-explore`.) A loop that waits and counts its rounds in memory is not
//! recognised; it ends at the limit on steps, without a verdict.

use crate::context::STACK;

/// Reads since the thread's last change.
#[derive(Default)]
pub(crate) struct Spinning {
    seen: Vec<Read>,
    /// Writes that are not looked at, in this execution.
    progress: u64,
    /// Where memory was written to since the last read, and how many bytes. What lies beside them may be left over from
    /// anything.
    places: Vec<(usize, usize)>,
    /// Whether there was a write that is not looked at since the last read.
    has_progress: bool,
    /// An address in the thread's outermost frame.
    frame: usize,
    /// Whether a lock was taken among the reads.
    locks: bool,
}

struct Read {
    pc: usize,
    address: usize,
    value: u64,
    /// What the thread had written since the read before.
    written: u64,
    times: u32,
}

/// How often the same read is repeated before the thread yields.
const PATIENCE: u32 = 2;
/// The same where the loop takes a lock: a few rounds of such a loop are often no wait.
const PATIENCE_WITH_LOCKS: u32 = 8;
/// A loop that reads more places than that is not recognised.
const LONGEST: usize = 64;
/// A loop that writes to more places makes progress.
const MOST_PLACES: usize = 16;
/// So does one that writes to a larger one.
const LARGEST: usize = 64;

impl Spinning {
    /// The thread begins, with this address in its outermost frame.
    pub(crate) fn begin(&mut self, frame: usize) {
        self.clear();
        self.places.clear();
        self.has_progress = false;
        self.progress = 0;
        self.frame = frame;
    }

    /// The thread is about to write, to its own stack or to memory that stays or not: what stays is looked at again with the
    /// next read.
    #[inline]
    pub(crate) fn wrote(&mut self, address: usize, size: usize, stays: impl FnOnce() -> bool) {
        if self.has_progress || self.places.contains(&(address, size)) {
            return;
        }
        let is_own = self.frame.wrapping_sub(address) < STACK;
        if size <= LARGEST && self.places.len() < MOST_PLACES && (is_own || stays()) {
            self.places.push((address, size));
        } else {
            self.progress += 1;
            self.has_progress = true;
        }
    }

    /// Whether the read at `pc` of `address` has been repeated so often that the thread spins.
    pub(crate) fn is_due(&self, pc: usize, address: usize) -> bool {
        let same = |read: &&Read| (read.pc, read.address) == (pc, address);
        let patience = if self.locks { PATIENCE_WITH_LOCKS } else { PATIENCE };
        let often = self.seen.iter().find(same).filter(|read| read.times >= patience);
        often.is_some_and(|read| read.written == self.written())
    }

    /// The read was executed and saw `value`.
    pub(crate) fn read(&mut self, pc: usize, address: usize, value: u64) {
        let written = self.written();
        self.places.clear();
        self.has_progress = false;
        let same = |read: &&mut Read| (read.pc, read.address) == (pc, address);
        match self.seen.iter_mut().find(same) {
            Some(known) if (known.value, known.written) == (value, written) => known.times += 1,
            Some(known) => *known = Read { pc, address, value, written, times: 1 },
            None => {
                // What came before the loop does not count among its reads.
                if self.seen.len() == LONGEST {
                    self.seen.clear();
                }
                self.seen.push(Read { pc, address, value, written, times: 1 });
            }
        }
    }

    /// The thread has taken a lock: in a loop that looks at something under it, that is as good as a read.
    pub(crate) fn locked(&mut self, pc: usize, address: usize) {
        self.locks = true;
        self.read(pc, address, 0);
    }

    /// The thread has changed something, or has yielded.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
        self.locks = false;
    }

    /// What was written since the last read, and what is there now.
    fn written(&self) -> u64 {
        let mix =
            |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.places.iter().fold(self.progress, |hash, &(address, size)| {
            (address..address + size).fold(mix(hash, address as u64), |hash, byte| {
                // SAFETY: a byte of memory that stays, which the thread has written to.
                mix(hash, unsafe { (byte as *const u8).read_volatile() }.into())
            })
        })
    }
}
