//! Non-progress cycles: executions that pass progress labels only finitely often.

use super::{Property, PropertyMove, Reader};
use preempt_core::{Fault, FaultKind};

/// The two-state automaton that guesses when the last progress was made. Its only proposition must
/// be true where no process is at a progress label.
pub struct NonProgress {
    /// Which proposition of the system says "no progress here".
    pub stalled: usize,
}

const WAITING: u32 = 0;
const STALLED: u32 = 1;

impl Property for NonProgress {
    fn initial(&self) -> u32 {
        WAITING
    }

    fn moves(
        &self,
        state: u32,
        holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    ) {
        self.read(state, self.letter(holds), &mut |target| emit(PropertyMove::To(target)));
    }

    fn is_accepting(&self, state: u32) -> bool {
        state == STALLED
    }

    fn assertion(&self, _number: u32) -> Fault {
        Fault { kind: FaultKind::Claim, message: String::new(), file: String::new(), line: 0 }
    }

    fn reader(&self) -> Option<&dyn Reader> {
        Some(self)
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
