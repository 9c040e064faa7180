//! Visits that wait to be judged together: while one state is fetched from memory, so are the others.
//!
//! That a visit is judged later than it was made changes which visit runs the steps of a process, but not that exactly one does.

use preempt_check::store::Pending;
use preempt_core::ProcessId;

/// So many, or so many bytes of states, are judged together.
const TOGETHER: usize = 128;
const TOGETHER_BYTES: usize = 1 << 18;

/// Visits of one time.
#[derive(Default)]
pub(super) struct Arrived {
    pub(super) bytes: Vec<u8>,
    pub(super) states: Vec<Pending>,
    pub(super) movers: Vec<Option<ProcessId>>,
}

impl Arrived {
    pub(super) fn push(&mut self, state: &[u8], mover: Option<ProcessId>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(state);
        self.states.push(Pending::new(0, start, self.bytes.len()));
        self.movers.push(mover);
    }

    pub(super) fn is_full(&self) -> bool {
        self.states.len() >= TOGETHER || self.bytes.len() >= TOGETHER_BYTES
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.states.clear();
        self.movers.clear();
    }
}
