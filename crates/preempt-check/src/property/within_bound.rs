//! At most so many preemptions, as part of the state.
//!
//! A search that takes strictly local steps alone passes over them here: they cost nothing and leave the last mover what it
//! was. Each can be moved to right behind the step of its process before it, where it costs no switch, so no
//! execution within the bound is lost. Where a process takes such steps for ever, in turns with others, that would cost
//! without end; so what is found has to be confirmed by a search that counts every step.
//!
//! The memory is the last mover (none where it cannot move: then every switch is free) and the
//! preemptions so far. The count never falls, so a cycle of this system contains no preemption: what
//! is searched is exactly the infinite executions with at most the given number in all.

use super::Watch;
use preempt_core::{Enabled, ProcessId, Step};

/// Forbids executions with more preemptions than a bound.
pub struct WithinBound {
    bound: u16,
    passes_over_local: bool,
}

impl WithinBound {
    /// Counts every preemption.
    pub fn new(bound: u16) -> Self {
        WithinBound { bound, passes_over_local: false }
    }

    /// Passes over steps that touch nothing shared and that no property observes.
    pub fn passing_over_local(bound: u16) -> Self {
        WithinBound { bound, passes_over_local: true }
    }
}

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

    fn normalize(&self, _processes: usize, enabled: &mut Enabled, memory: &mut [u8]) {
        let mover = last(memory);
        if mover == 0 {
            return;
        }
        let process = ProcessId(mover - 1);
        if enabled.of(process).is_empty() {
            write(memory, 0, count(memory));
        } else if count(memory) == self.bound {
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

    fn passes_over_local(&self) -> bool {
        self.passes_over_local
    }

    fn accepts(&self, accepting: bool, _memory: &[u8]) -> bool {
        accepting
    }
}
