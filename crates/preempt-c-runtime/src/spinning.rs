//! Loops that wait for another thread without saying so.
//!
//! `while (!atomic_load(&ready)) ;` never ends if the thread that would set `ready` does not run. A
//! thread that reads the same value at the same place again, with no change of its own in between,
//! yields first: it goes on when something that it has read is changed. Whether it does so is a
//! function of what it has observed, so executions stay repeatable.

/// Reads since the thread's last change.
#[derive(Default)]
pub(crate) struct Spinning {
    seen: Vec<(usize, usize, u64, u32)>,
}

/// How often the same read is repeated before the thread yields.
const PATIENCE: u32 = 2;
/// A loop that reads more places than that is not recognised.
const LONGEST: usize = 64;

impl Spinning {
    /// Whether the read at `pc` of `address` has been repeated so often that the thread spins.
    pub(crate) fn is_due(&self, pc: usize, address: usize) -> bool {
        self.seen.iter().any(|&(p, a, _, times)| (p, a) == (pc, address) && times >= PATIENCE)
    }

    /// The read was executed and saw `value`.
    pub(crate) fn read(&mut self, pc: usize, address: usize, value: u64) {
        let room = self.seen.len() < LONGEST;
        match self.seen.iter_mut().find(|(p, a, ..)| (*p, *a) == (pc, address)) {
            Some(known) if known.2 == value => known.3 += 1,
            Some(known) => {
                known.2 = value;
                known.3 = 1;
            }
            None if room => self.seen.push((pc, address, value, 1)),
            None => {}
        }
    }

    /// The thread has changed something, or has yielded.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
    }
}
