//! Random formulas, and the automata that accept what violates them.

use crate::tiny::{Random, Tiny, tiny};
use preempt_check::property::Buchi;
use preempt_ltl::{Formula, translate};

/// A formula with so many propositions and about so many operators.
pub(crate) fn random_formula(random: &mut Random, propositions: u64, size: u64) -> Formula {
    if size <= 1 {
        let atom = Formula::Prop(random.below(propositions) as u32);
        return if random.below(2) == 0 { atom } else { atom.not() };
    }
    let left = 1 + random.below(size - 1);
    match random.below(7) {
        0 => random_formula(random, propositions, size - 1).always(),
        1 => random_formula(random, propositions, size - 1).eventually(),
        choice => {
            let a = random_formula(random, propositions, left);
            let b = random_formula(random, propositions, (size - left).max(1));
            match choice {
                2 => a.and(b),
                3 => a.or(b),
                4 => a.until(b),
                5 => a.weak_until(b),
                _ => a.release(b),
            }
        }
    }
}

/// A small system with a property: what both are, for messages, and the automaton.
#[allow(dead_code, reason = "not every test needs properties")]
pub(crate) fn random_property(random: &mut Random) -> (Tiny, Buchi, String) {
    let system = tiny(random);
    let size = 1 + random.below(7);
    let formula = random_formula(random, system.bits as u64, size);
    let automaton = translate(&formula).expect("it is small");
    let property = Buchi::new(automaton, (0..system.bits).collect());
    let what = format!("{system:?} {formula:?}");
    (system, property, what)
}
