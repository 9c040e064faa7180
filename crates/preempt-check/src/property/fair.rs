//! Weak fairness: a process that can always move is not ignored for ever.
//!
//! Choueka's counter. It rests at 0 until an accepting state is left, then waits for process 0, 1, …
//! in turn to move or to be disabled, and returns to 0. An execution is fair and accepting exactly
//! if it is accepting at counter 0 infinitely often. "Disabled" is judged on all enabled steps,
//! never on an ample set.

use super::Watch;
use preempt_core::{Enabled, ProcessId, Step};

/// Watches which processes have been served since the last accepting state.
pub struct Fair;

/// Resting, or waiting for process `counter - 1`.
fn read(memory: &[u8]) -> u16 {
    u16::from_le_bytes([memory[0], memory[1]])
}

fn write(memory: &mut [u8], counter: u16, processes: usize) {
    let counter = if usize::from(counter) > processes { 0 } else { counter };
    memory.copy_from_slice(&counter.to_le_bytes());
}

impl Watch for Fair {
    const WIDTH: usize = 2;

    fn normalize(&self, processes: usize, enabled: &mut Enabled, memory: &mut [u8]) {
        let mut counter = read(memory);
        while counter > 0 && usize::from(counter) <= processes {
            if !enabled.of(ProcessId(counter - 1)).is_empty() {
                break;
            }
            counter += 1;
        }
        write(memory, counter, processes);
    }

    fn advance(&self, processes: usize, accepting: bool, step: Step, memory: &mut [u8]) {
        let counter = read(memory);
        let next = match counter {
            0 => u16::from(accepting),
            _ => {
                let awaited = ProcessId(counter - 1);
                counter + u16::from(step.process == awaited || step.partner == Some(awaited))
            }
        };
        write(memory, next, processes);
    }

    fn accepts(&self, accepting: bool, memory: &[u8]) -> bool {
        accepting && read(memory) == 0
    }
}
