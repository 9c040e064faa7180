//! A search too simple to be wrong: depth first, states in a hash set, no reduction of any kind.
//!
//! Counts as Spin does: a state is stored when it is met outside of an indivisible sequence,
//! matched when it was known; with a claim, pairs of state and claim state are stored when the
//! claim is about to move. Where nothing can move the claim goes on alone, and of the first two
//! moves it makes there only the second is seen, as in Spin.

use preempt_core::{Enabled, Outcome, System};
use preempt_promela::interpret::{ClaimEffect, Interpreter};
use preempt_promela::ir::Automaton;
use std::collections::HashSet;

/// The numbers of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) stored: u64,
    pub(crate) matched: u64,
    pub(crate) errors: u64,
    /// A step could not be completed, or there are too many states: the search ended there.
    pub(crate) stopped: bool,
    /// A step could not be completed.
    pub(crate) broken: bool,
}

/// Explores everything, with the given claim if there is one.
#[allow(dead_code)]
pub(crate) fn explore(system: &Interpreter, claim: Option<&Automaton>, limit: u64) -> Counts {
    let mut search = Search {
        system,
        claim,
        known: HashSet::new(),
        counts: Counts::default(),
        limit,
        buffers: Vec::new(),
        depth: 0,
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            // Executions are as long as the model is large; only the pages in use count.
            .stack_size(2 << 30)
            .spawn_scoped(scope, move || {
                let mut state = Vec::new();
                match system.initial(&mut state) {
                    Outcome::Broken(_) => search.counts.stopped = true,
                    _ => {
                        let claim_state = search.claim.map_or(0, |c| c.entry);
                        search.arrive(&mut state, claim_state);
                    }
                }
                search.counts
            })
            .expect("a thread can be started")
            .join()
            .expect("the search does not panic")
    })
}

/// The state of a claim that has come to its end and is gone, as in Spin once no process is left.
const GONE: u32 = u32::MAX;

struct Search<'a> {
    system: &'a Interpreter,
    claim: Option<&'a Automaton>,
    known: HashSet<Vec<u8>>,
    counts: Counts,
    limit: u64,
    buffers: Vec<Enabled>,
    depth: u64,
}

impl Search<'_> {
    /// A state outside of an indivisible sequence: is it new?
    fn is_new(&mut self, state: &[u8], claim: u32) -> bool {
        let mut key = state.to_vec();
        key[self.system.unmatched()].fill(0);
        key.extend(claim.to_le_bytes());
        if self.known.insert(key) {
            self.counts.stored += 1;
            self.counts.stopped |= self.counts.stored >= self.limit;
            true
        } else {
            self.counts.matched += 1;
            false
        }
    }

    fn arrive(&mut self, state: &mut Vec<u8>, claim: u32) {
        // An atomic sequence may loop for ever.
        self.counts.stopped |= self.depth > 4 * self.limit;
        if self.counts.stopped {
            return;
        }
        self.depth += 1;
        self.look(state, claim);
        self.depth -= 1;
    }

    fn look(&mut self, state: &mut Vec<u8>, claim: u32) {
        let mut enabled = self.buffers.pop().unwrap_or_default();
        enabled.clear();
        if self.system.is_transient(state) {
            self.check_claim_end(claim);
            // Asking may end the sequence: then this is a state like any other.
            self.system.enabled(state, &mut enabled);
            if self.system.is_transient(state) {
                self.take_all(state, claim, &enabled);
                self.buffers.push(enabled);
                return;
            }
            enabled.clear();
        }
        if self.is_new(state, claim) {
            self.check_claim_end(claim);
            match self.claim {
                None => {
                    self.system.enabled(state, &mut enabled);
                    self.expand(state, claim, &enabled);
                }
                Some(automaton) => {
                    for (next, mut state) in self.claim_moves(automaton, state, claim) {
                        self.check_claim_end(next);
                        self.move_behind(automaton, &mut state, next, &mut enabled);
                    }
                }
            }
        }
        self.buffers.push(enabled);
    }

    fn expand(&mut self, state: &[u8], claim: u32, enabled: &Enabled) {
        if enabled.is_empty()
            && self.system.process_count(state) > 0
            && !self.system.is_valid_end(state)
        {
            self.counts.errors += 1;
        }
        self.take_all(state, claim, enabled);
    }

    fn take_all(&mut self, state: &[u8], claim: u32, enabled: &Enabled) {
        for step in enabled.steps() {
            if self.counts.stopped {
                return;
            }
            let mut next = state.to_vec();
            match self.system.apply(&mut next, *step) {
                Outcome::Done => {}
                Outcome::Violated(_) => self.counts.errors += 1,
                Outcome::Broken(_) => {
                    self.counts.errors += 1;
                    self.counts.stopped = true;
                    self.counts.broken = true;
                    return;
                }
            }
            self.arrive(&mut next, claim);
        }
    }

    fn check_claim_end(&mut self, claim: u32) {
        if let Some(automaton) = self.claim
            && (claim == GONE || automaton.states[claim as usize].is_end)
        {
            self.counts.errors += 1;
        }
    }

    /// The processes' turn, behind a move of the claim.
    fn move_behind(
        &mut self,
        automaton: &Automaton,
        state: &mut Vec<u8>,
        claim: u32,
        enabled: &mut Enabled,
    ) {
        if claim == GONE {
            return;
        }
        enabled.clear();
        self.system.enabled(state, enabled);
        if enabled.is_empty() {
            self.stutter(automaton, state, claim, enabled);
        } else {
            self.take_all(state, claim, enabled);
        }
    }

    /// Where the claim can move, and what its C makes of the state.
    fn claim_moves(
        &mut self,
        automaton: &Automaton,
        state: &[u8],
        claim: u32,
    ) -> Vec<(u32, Vec<u8>)> {
        let mut targets = Vec::new();
        let mut moved = false;
        if automaton.states[claim as usize].is_end && self.system.process_count(state) == 0 {
            targets.push((GONE, state.to_vec()));
        }
        for transition in &automaton.states[claim as usize].transitions {
            let possible = match transition.proposition {
                Some(p) => self.system.proposition(state, p as usize) == Ok(true),
                None => !moved,
            };
            if possible {
                moved = true;
                for (p, _) in &transition.asserts {
                    self.counts.errors +=
                        u64::from(self.system.proposition(state, *p as usize) != Ok(true));
                }
                let mut after = state.to_vec();
                let mut errors = 0;
                match self.system.change_by_claim(transition, &mut after, &mut |_| errors += 1) {
                    ClaimEffect::Moved => targets.push((transition.target, after)),
                    ClaimEffect::Blocked => {}
                    ClaimEffect::Broken(_) => {
                        errors += 1;
                        self.counts.stopped = true;
                        self.counts.broken = true;
                    }
                }
                self.counts.errors += errors;
            }
        }
        targets
    }

    /// The model cannot move, the claim does.
    fn stutter(&mut self, automaton: &Automaton, state: &[u8], claim: u32, enabled: &mut Enabled) {
        for (next, mut state) in self.claim_moves(automaton, state, claim) {
            if self.counts.stopped {
                return;
            }
            if self.is_new(&state, next) {
                self.check_claim_end(next);
                // What the claim changed may let a process move.
                self.move_behind(automaton, &mut state, next, enabled);
            }
        }
    }
}
