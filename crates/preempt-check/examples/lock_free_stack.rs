//! A lock-free stack (Treiber's) with the ABA bug, as a model written in Rust.
//!
//! `cargo run --release -p preempt-check --example lock_free_stack`
//!
//! Nodes are recycled: between a thread's look at the top of the stack and its compare-and-swap,
//! another pops that node, pops the one below, and pushes the first one back. The compare-and-swap
//! succeeds, and makes the top of the stack a node that another thread owns. A counter beside the pointer
//! cures it.

use preempt_check::{Check, Options, Search};
use preempt_core::{
    Describe, Enabled, Fault, FaultKind, Independence, Outcome, ProcessId, Step, System, Value,
};

// ANCHOR: model
#[derive(Clone, Copy)]
enum Operation {
    Pop,
    /// Pushes the node that was popped first.
    Push,
}

use Operation::{Pop, Push};

/// What each thread does.
const THREADS: [&[Operation]; 2] = [&[Pop], &[Pop, Pop, Push]];

/// The stack; `counted` adds the counter that cures it.
struct Stack {
    counted: bool,
}

// A state is a plain vector of bytes. Nodes are numbered from 1, 0 is the null pointer.
const TOP: usize = 0;
const COUNTER: usize = 1;
const NEXT: usize = 2; // of nodes 1, 2
const OWNED: usize = 4; // 1 if a thread holds node 1, 2
const LOCALS: usize = 6; // of each thread: operation, stage, seen top, seen counter, next, held
const PER_THREAD: usize = 6;

impl System for Stack {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(LOCALS + PER_THREAD * THREADS.len(), 0);
        // 1 lies on 2.
        state[TOP] = 1;
        state[NEXT] = 2;
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        THREADS.len()
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for (thread, program) in THREADS.iter().enumerate() {
            let local = &state[LOCALS + PER_THREAD * thread..];
            if usize::from(local[0]) < program.len() {
                let transition = u32::from(local[0]) * 3 + u32::from(local[1]);
                enabled.push(Step::new(ProcessId(thread as u16), transition));
            }
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let thread = step.process.index();
        let at = LOCALS + PER_THREAD * thread;
        let (operation, stage) = (step.transition as usize / 3, step.transition % 3);
        let unchanged =
            state[TOP] == state[at + 2] && (!self.counted || state[COUNTER] == state[at + 3]);
        match (THREADS[thread][operation], stage) {
            // Look at the top.
            (_, 0) => {
                state[at + 2] = state[TOP];
                state[at + 3] = state[COUNTER];
                state[at + 1] = 1;
                if state[TOP] == 0 && matches!(THREADS[thread][operation], Pop) {
                    finish(state, at); // nothing to pop
                }
            }
            // Look at the node below it.
            (Pop, 1) => {
                state[at + 4] = state[NEXT + usize::from(state[at + 2]) - 1];
                state[at + 1] = 2;
            }
            // Compare and swap: the node below becomes the top.
            (Pop, _) if unchanged => {
                let (popped, below) = (state[at + 2], state[at + 4]);
                state[TOP] = below;
                state[COUNTER] = (state[COUNTER] + 1) % 8;
                state[OWNED + usize::from(popped) - 1] = 1;
                if state[at + 5] == 0 {
                    state[at + 5] = popped;
                }
                finish(state, at);
                if below != 0 && state[OWNED + usize::from(below) - 1] == 1 {
                    return Outcome::Violated(0);
                }
            }
            // The node to push points to the top.
            (Push, 1) => {
                let held = usize::from(state[at + 5]);
                if held == 0 {
                    finish(state, at);
                } else {
                    state[NEXT + held - 1] = state[at + 2];
                    state[at + 1] = 2;
                }
            }
            // Compare and swap: it becomes the top.
            (Push, _) if unchanged => {
                let held = state[at + 5];
                state[TOP] = held;
                state[COUNTER] = (state[COUNTER] + 1) % 8;
                state[OWNED + usize::from(held) - 1] = 0;
                state[at + 5] = 0;
                finish(state, at);
            }
            // Another thread was faster: again from the start.
            _ => state[at + 1] = 0,
        }
        Outcome::Done
    }
}

impl Independence for Stack {}

impl Describe for Stack {
    fn fault(&self, _number: u32) -> Fault {
        Fault {
            kind: FaultKind::Assertion,
            message: "a node is on the stack and owned by a thread at once".into(),
            file: String::new(),
            line: 0,
        }
    }

    fn describe(&self, _state: &[u8], step: Step) -> (String, u32, String) {
        let program = THREADS[step.process.index()];
        let text = match (program[step.transition as usize / 3], step.transition % 3) {
            (_, 0) => "look at the top",
            (Pop, 1) => "look at the node below it",
            (Pop, _) => "pop by compare-and-swap",
            (Push, 1) => "link the node to the top",
            (Push, _) => "push by compare-and-swap",
        };
        (String::new(), 0, text.into())
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        let mut list = vec![("top".into(), Value::Int(state[TOP].into()))];
        for node in 1..3 {
            list.push((format!("next[{node}]"), Value::Int(state[NEXT + node - 1].into())));
            list.push((format!("owned[{node}]"), Value::Int(state[OWNED + node - 1].into())));
        }
        list
    }
}

/// Goes on to the next operation, and forgets what this one saw.
fn finish(state: &mut [u8], at: usize) {
    state[at] += 1;
    state[at + 1..at + 5].fill(0);
}
// ANCHOR_END: model

// ANCHOR: main
fn main() {
    for counted in [false, true] {
        println!("compare-and-swap {} a counter", if counted { "with" } else { "without" });
        let options = Options { search: Search::Breadth, ..Options::default() };
        let answer = Check::new(&Stack { counted }).options(options).run();
        println!("  {}", answer.claim.sentence);
        if let Some(violation) = &answer.claim.violation {
            for (at, step) in violation.trace.steps.iter().enumerate() {
                let changes: Vec<String> = step
                    .changes
                    .iter()
                    .filter_map(|change| Some(format!("{} = {}", change.name, change.to.as_ref()?)))
                    .collect();
                println!("  {:2} {}: {}  {}", at + 1, step.process, step.text, changes.join(", "));
            }
        }
    }
}
// ANCHOR_END: main
