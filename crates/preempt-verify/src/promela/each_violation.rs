//! Every violating execution that a depth-first search meets, one by one, as `-e` of Spin's verifier saves
//! them: for tools that make something of each, such as a test case.
//!
//! No reduction, and states in a hash set: a search for its executions, not for its verdict. Like Spin's it
//! does not store states inside of indivisible sequences.

use preempt_core::{Describe, Enabled, FaultKind, Outcome, Step, System};
use preempt_promela::interpret::Interpreter;
use std::collections::HashSet;

/// Longer executions are not followed.
const LONGEST: usize = 10_000_000;
/// How many steps are taken between two looks at the clock.
const BETWEEN_LOOKS: u64 = 1024;

/// What counts, and when to stop.
pub struct Violations<'a> {
    /// Whether failed assertions count.
    pub assertions: bool,
    /// Whether invalid ends count.
    pub deadlocks: bool,
    /// How many executions are wanted; 0 for all.
    pub most: u64,
    /// Roughly how many bytes of memory may be used.
    pub memory: Option<u64>,
    /// Whether to stop now.
    pub give_up: &'a dyn Fn() -> bool,
}

impl Violations<'_> {
    /// Gives the steps of each violating execution to `found`; says whether all were found.
    pub fn each(&self, system: &Interpreter, found: &mut dyn FnMut(&[Step])) -> bool {
        let mut search =
            Search { what: self, system, known: HashSet::new(), bytes: 0, met: 0, found };
        let mut initial = Vec::new();
        match system.initial(&mut initial) {
            Outcome::Broken(_) => true,
            _ => search.run(initial),
        }
    }
}

struct Search<'a> {
    what: &'a Violations<'a>,
    system: &'a Interpreter,
    known: HashSet<Box<[u8]>>,
    bytes: u64,
    met: u64,
    found: &'a mut dyn FnMut(&[Step]),
}

/// A state on the stack, with the steps from it that are left.
struct Frame {
    state: Vec<u8>,
    steps: Vec<Step>,
    next: usize,
}

impl Search<'_> {
    fn run(&mut self, initial: Vec<u8>) -> bool {
        let (mut stack, mut path): (Vec<Frame>, Vec<Step>) = (Vec::new(), Vec::new());
        stack.extend(self.enter(initial, &path));
        let mut taken = 0;
        while let Some(frame) = stack.last_mut() {
            if self.is_enough() {
                return true;
            }
            let Some(&step) = frame.steps.get(frame.next) else {
                stack.pop();
                path.pop();
                continue;
            };
            frame.next += 1;
            taken += 1;
            let is_full = self.what.memory.is_some_and(|most| self.bytes > most);
            if is_full || taken % BETWEEN_LOOKS == 0 && (self.what.give_up)() {
                return false;
            }
            let mut state = frame.state.clone();
            let outcome = self.system.apply(&mut state, step);
            path.push(step);
            if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
                let is_assertion = self.system.fault(fault).kind == FaultKind::Assertion;
                if self.what.assertions || !is_assertion {
                    self.meet(&path);
                }
            }
            let entered = match outcome {
                Outcome::Broken(_) => None,
                _ if path.len() >= LONGEST => return false,
                _ => self.enter(state, &path),
            };
            match entered {
                Some(frame) => stack.push(frame),
                None => _ = path.pop(),
            }
        }
        true
    }

    /// The steps from a state, if it is new.
    fn enter(&mut self, mut state: Vec<u8>, path: &[Step]) -> Option<Frame> {
        let mut enabled = Enabled::new();
        self.system.enabled(&mut state, &mut enabled);
        if !self.system.is_transient(&state) {
            if !self.known.insert(state.as_slice().into()) {
                return None;
            }
            self.bytes += state.len() as u64 + 64;
            let is_end = enabled.is_empty() && self.system.process_count(&state) > 0;
            if is_end && self.what.deadlocks && !self.system.is_valid_end(&state) {
                self.meet(path);
            }
        }
        Some(Frame { state, steps: enabled.steps().to_vec(), next: 0 })
    }

    fn meet(&mut self, path: &[Step]) {
        if !self.is_enough() {
            self.met += 1;
            (self.found)(path);
        }
    }

    fn is_enough(&self) -> bool {
        self.what.most != 0 && self.met >= self.what.most
    }
}
