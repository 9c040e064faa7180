//! Formulas of Promela over numbered propositions.

use preempt_ltl::Formula;
use preempt_promela::model;

/// The formula over numbered propositions; `leaves` gives the system's number and the sign of each
/// state expression from left to right, `known` collects those in use.
pub(super) fn convert(
    formula: &model::Formula,
    leaves: &mut dyn Iterator<Item = (usize, bool)>,
    known: &mut Vec<usize>,
) -> Formula {
    use model::Formula as F;
    let mut both = |a: &F, b: &F| (convert(a, leaves, known), convert(b, leaves, known));
    match formula {
        F::Const(true) => Formula::True,
        F::Const(false) => Formula::False,
        F::And(a, b) => {
            let (a, b) = both(a, b);
            a.and(b)
        }
        F::Or(a, b) => {
            let (a, b) = both(a, b);
            a.or(b)
        }
        F::Implies(a, b) => {
            let (a, b) = both(a, b);
            a.implies(b)
        }
        F::Equivalent(a, b) => {
            let (a, b) = both(a, b);
            a.equivalent(b)
        }
        F::Until(a, b) => {
            let (a, b) = both(a, b);
            a.until(b)
        }
        F::WeakUntil(a, b) => {
            let (a, b) = both(a, b);
            a.weak_until(b)
        }
        F::Release(a, b) => {
            let (a, b) = both(a, b);
            a.release(b)
        }
        F::Not(a) => convert(a, leaves, known).not(),
        F::Next(a) => convert(a, leaves, known).next(),
        F::Always(a) => convert(a, leaves, known).always(),
        F::Eventually(a) => convert(a, leaves, known).eventually(),
        F::Prop(_) => {
            let Some((index, sign)) = leaves.next() else { return Formula::True };
            let at = known.iter().position(|k| *k == index).unwrap_or_else(|| {
                known.push(index);
                known.len() - 1
            });
            let literal = Formula::Prop(at as u32);
            if sign { literal } else { literal.not() }
        }
    }
}
