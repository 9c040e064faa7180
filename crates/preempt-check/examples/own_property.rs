//! A property kind of one's own: "never more than so many times in a row", for any system, search and store.
//!
//! A property is an automaton that reads the propositions of each state. [`Product`] makes a system of it and what
//! it watches, and every search explores that. Nothing else knows of the new kind.
//!
//! ```sh
//! cargo run -p preempt-check --example own_property
//! ```

use preempt_check::Check;
use preempt_check::property::{Product, Property, PropertyMove, Stutter};
use preempt_core::{
    Describe, Enabled, Fault, FaultKind, Independence, Outcome, ProcessId, Step, System, Verdict,
};

/// A proposition holds in at most so many states one after the other.
struct AtMostInARow {
    proposition: usize,
    times: u32,
}

impl Property for AtMostInARow {
    fn initial(&self) -> u32 {
        0
    }

    /// The automaton's state is the number of times so far.
    fn moves(
        &self,
        state: u32,
        holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    ) {
        match holds(self.proposition) {
            false => emit(PropertyMove::To(0)),
            true if state < self.times => emit(PropertyMove::To(state + 1)),
            true => emit(PropertyMove::Complete),
        }
    }

    /// No execution is wrong because it goes on for ever.
    fn is_accepting(&self, _state: u32) -> bool {
        false
    }

    fn assertion(&self, _number: u32) -> Fault {
        let message = "the automaton asserts nothing".into();
        Fault { kind: FaultKind::Claim, message, file: String::new(), line: 0 }
    }
}

/// Two processes that take turns if they like. The state is which one moved last, and how often each moved.
struct Turns;

impl System for Turns {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.extend([0, 0, 0]);
        Outcome::Done
    }
    fn process_count(&self, _state: &[u8]) -> usize {
        2
    }
    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for process in 0..2 {
            if state[1 + usize::from(process)] < 3 {
                enabled.push(Step::new(ProcessId(process), 0));
            }
        }
    }
    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        state[0] = step.process.0 as u8;
        state[1 + step.process.index()] += 1;
        Outcome::Done
    }
    fn proposition_count(&self) -> usize {
        1
    }
    /// Process 1 moved last.
    fn proposition(&self, state: &[u8], _index: usize) -> Result<bool, u32> {
        Ok(state[0] == 1)
    }
}
impl Independence for Turns {}
impl Describe for Turns {}

fn main() {
    for (times, expected) in [(6, Verdict::Holds), (2, Verdict::Violated)] {
        let property = AtMostInARow { proposition: 0, times };
        let product = Product::new(&Turns, &property, Stutter::End);
        let answer = Check::new(&product).run();
        println!("at most {times} in a row: {}", answer.claim.sentence);
        assert_eq!(answer.verdict(), expected);
    }
}
