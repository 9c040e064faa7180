//! Automata whose moves change the system that they observe, as a never claim of Spin with C does.
//!
//! The automaton moves first: what it makes of the state is what the step of the program starts from, and states in
//! between are never stored. So a step of the product is a move of the automaton and a step that the program has behind
//! it. **Invariant:** a step says by number which move it begins with, and taking it makes the same change once more.
//!
//! What a process can do depends on the move of the automaton, so there is no reduction for these products.

use super::steps::{completing, faulting, joined, stuttering, violating};
use preempt_core::{Enabled, Step, System};
use std::cell::RefCell;

/// A move of an automaton that changes the system. Numbers are below 2^26.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangingMove {
    /// The vector is what the move of this number makes of it.
    Take(u32),
    /// On the move of this number an assertion fails.
    Violates {
        /// The move.
        number: u32,
        /// Which assertion, or which fault of C.
        assertion: u32,
    },
    /// The move of this number leads to the end of the automaton.
    Complete(u32),
    /// A move cannot be completed, with this fault of the system.
    Broken(u32),
}

/// An automaton whose moves change the vector of the system. The vector may be followed by bytes of others.
pub trait Changing {
    /// All moves from `state`; `vector` is the system's state, and is given back changed for [`ChangingMove::Take`].
    fn changing_moves(
        &self,
        state: u32,
        vector: &[u8],
        emit: &mut dyn FnMut(ChangingMove, &mut Vec<u8>),
    );

    /// Makes the change of a move once more, and returns the state that it leads to.
    fn change(&self, number: u32, vector: &mut Vec<u8>) -> u32;
}

thread_local! {
    static AFTER_MOVE: RefCell<Enabled> = RefCell::default();
    static GATHERED: RefCell<Vec<Step>> = RefCell::default();
}

/// In place of a state of the automaton: the number of a move.
const MOVE: u32 = 1 << 26;

/// The number of the move that a [target](super::Product::target) stands for, if it stands for one.
pub fn changing_move(target: u32) -> Option<u32> {
    (target & MOVE != 0).then_some(target & (MOVE - 1))
}

/// The step of the product that begins with the move of this number; without a step of the program, none could move.
pub fn beside(step: Option<Step>, number: u32) -> Step {
    step.map_or(stuttering(number | MOVE), |step| joined(step, number | MOVE))
}

/// Where a step of the product takes the automaton, after the change that its move makes.
pub(super) fn land(changing: &dyn Changing, to: u32, vector: &mut Vec<u8>) -> u32 {
    changing_move(to).map_or(to, |number| changing.change(number, vector))
}

/// The steps of the product outside of indivisible sequences. Says whether the automaton had a move.
pub(super) fn join<S: System + ?Sized>(
    system: &S,
    changing: &dyn Changing,
    (vector, automaton): (&[u8], u32),
    repeats: bool,
    enabled: &mut Enabled,
) -> bool {
    let mut moved = false;
    GATHERED.with_borrow_mut(|gathered| {
        gathered.clear();
        changing.changing_moves(automaton, vector, &mut |found, after| match found {
            ChangingMove::Violates { number, assertion } => {
                gathered.push(violating(number | MOVE, assertion));
            }
            ChangingMove::Complete(number) => gathered.push(completing(number | MOVE)),
            ChangingMove::Broken(fault) => gathered.push(faulting(automaton, fault)),
            ChangingMove::Take(number) => AFTER_MOVE.with_borrow_mut(|steps| {
                moved = true;
                steps.clear();
                system.enabled(after, steps);
                gathered.extend(steps.steps().iter().map(|step| joined(*step, number | MOVE)));
                if steps.is_empty() && repeats {
                    gathered.push(stuttering(number | MOVE));
                }
            }),
        });
        // The property's own steps come first, the youngest process next; the order of moves stays.
        gathered.sort_by_key(|step| std::cmp::Reverse(step.process));
        gathered.iter().for_each(|step| enabled.push(*step));
    });
    moved
}
