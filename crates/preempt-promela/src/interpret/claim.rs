//! Moves of never claims that change the state, by C.
//!
//! In Spin the claim moves before a process does, so what C changes here is what the process finds. A state
//! between the two is never stored.

use super::Interpreter;
use super::process::seen_by_c;
use crate::embedded::Ending;
use crate::ir::{Automaton, AutomatonMove, ClaimAction, FragmentRef};
use preempt_core::System;

/// What comes of a move of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimEffect {
    /// The state is what the move makes of it.
    Moved,
    /// A condition behind a piece of C does not hold: there is no such move.
    Blocked,
    /// A step of C could not be completed, with the fault that is reported.
    Broken(u32),
}

impl Interpreter {
    /// Changes a state as the actions of a claim's move do. `violated` is told of every assertion that fails, and of
    /// errors that C reports. The state may be followed by bytes that are not ours.
    pub fn change_by_claim(
        &self,
        taken: &AutomatonMove,
        state: &mut [u8],
        violated: &mut dyn FnMut(u32),
    ) -> ClaimEffect {
        for action in &taken.actions {
            match *action {
                ClaimAction::Code(fragment) => {
                    if let Err(fault) = self.run_in_claim(fragment, state, violated) {
                        return ClaimEffect::Broken(fault);
                    }
                }
                ClaimAction::Require(index) => match self.proposition(state, index as usize) {
                    Ok(true) => {}
                    Ok(false) => return ClaimEffect::Blocked,
                    Err(fault) => return ClaimEffect::Broken(fault),
                },
                ClaimAction::Assert(index, fault) => {
                    match self.proposition(state, index as usize) {
                        Ok(true) => {}
                        Ok(false) => violated(fault.0),
                        Err(fault) => return ClaimEffect::Broken(fault),
                    }
                }
            }
        }
        ClaimEffect::Moved
    }

    fn run_in_claim(
        &self,
        fragment: FragmentRef,
        state: &mut [u8],
        violated: &mut dyn FnMut(u32),
    ) -> Result<(), u32> {
        let mirror = self.program.embedded.as_ref().ok_or(fragment.fault.0)?;
        let seen = seen_by_c(mirror, &self.program, state, None);
        match mirror.execute(fragment.fragment, state, None, &seen, None) {
            Ok(()) => Ok(()),
            Err(Ending::Reported) => {
                violated(fragment.fault_of(Ending::Reported).0);
                Ok(())
            }
            Err(ending) => Err(fragment.fault_of(ending).0),
        }
    }

    /// The moves of a claim that are possible in a state, before C of theirs runs, with their numbers.
    pub(super) fn possible_moves<'a>(
        &self,
        claim: &'a Automaton,
        at: u32,
        state: &[u8],
    ) -> Vec<(u32, &'a AutomatonMove)> {
        let mut possible: Vec<(u32, &AutomatonMove)> = Vec::new();
        for (number, transition) in
            (claim.first_move(at)..).zip(&claim.states[at as usize].transitions)
        {
            let is_possible = match transition.proposition {
                Some(index) => self.proposition(state, index as usize) == Ok(true),
                None => possible.is_empty(),
            };
            if is_possible {
                possible.push((number, transition));
            }
        }
        possible
    }
}
