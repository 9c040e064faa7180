//! At most so many preemptions, as part of the state.
//!
//! The memory is the last mover (none where it cannot move: then every switch is free) and the
//! preemptions so far. The count never falls, so a cycle of this system contains no preemption: what
//! is searched is exactly the infinite executions with at most the given number in all.

use super::Watch;
use preempt_core::{Enabled, ProcessId, Step};

/// Forbids executions with more preemptions than this.
pub struct WithinBound(pub u16);

/// The last mover plus one; 0 when a switch is free.
fn last(memory: &[u8]) -> u16 {
    u16::from_le_bytes([memory[0], memory[1]])
}

fn count(memory: &[u8]) -> u16 {
    u16::from_le_bytes([memory[2], memory[3]])
}

fn write(memory: &mut [u8], last: u16, count: u16) {
    memory[..2].copy_from_slice(&last.to_le_bytes());
    memory[2..].copy_from_slice(&count.to_le_bytes());
}

impl Watch for WithinBound {
    const WIDTH: usize = 4;

    fn settle(&self, _processes: usize, enabled: &mut Enabled, memory: &mut [u8]) {
        let mover = last(memory);
        if mover == 0 {
            return;
        }
        let process = ProcessId(mover - 1);
        if enabled.of(process).is_empty() {
            write(memory, 0, count(memory));
        } else if count(memory) == self.0 {
            enabled.keep_only(process);
        }
    }

    fn advance(&self, _processes: usize, _accepting: bool, step: Step, memory: &mut [u8]) {
        if step.process == ProcessId::PROPERTY {
            return;
        }
        let preempts = last(memory) != 0 && last(memory) != step.process.0 + 1;
        write(memory, step.mover().0 + 1, count(memory) + u16::from(preempts));
    }

    fn accepts(&self, accepting: bool, _memory: &[u8]) -> bool {
        accepting
    }
}
