//! Non-progress cycles: executions that pass progress labels only finitely often.

use super::{Reader, Reads};

/// The two-state automaton that guesses when the last progress was made. Its only proposition must
/// be true where no process is at a progress label.
pub struct NonProgress {
    /// Which proposition of the system says "no progress here".
    pub stalled: usize,
}

const WAITING: u32 = 0;
const STALLED: u32 = 1;

impl Reads for NonProgress {
    fn start(&self) -> u32 {
        WAITING
    }

    fn accepts(&self, state: u32) -> bool {
        state == STALLED
    }
}

impl Reader for NonProgress {
    fn letter(&self, holds: &mut dyn FnMut(usize) -> bool) -> u64 {
        holds(self.stalled).into()
    }

    fn read(&self, state: u32, letter: u64, emit: &mut dyn FnMut(u32)) {
        if state == WAITING {
            emit(WAITING);
        }
        if letter != 0 {
            emit(STALLED);
        }
    }
}
