//! Formulas of Promela over numbered propositions.

use super::literals::literals;
use crate::Error;
use crate::error::Refusal;
use preempt_ltl::{Automaton, Formula, translate};
use preempt_promela::ir::Program;
use preempt_promela::model::{self, Model};
use preempt_promela::syntax::formula_too_large;

/// The automaton that looks for violations of an `ltl` block.
pub struct Violating {
    /// Accepts the executions that violate the formula.
    pub automaton: Automaton,
    /// For each proposition of the automaton, its number in the program.
    pub propositions: Vec<usize>,
    /// The propositions in words.
    pub names: Vec<String>,
}

/// The automaton for an `ltl` block of a model, for people to look at.
pub fn violating(model: &Model, program: &Program, index: usize) -> Result<Violating, Error> {
    let block = &model.formulas[index];
    let (formula, propositions) = numbered(model, program, index);
    let automaton = translate(&formula.not())
        .map_err(|error| Refusal::of(formula_too_large(block, &error.to_string()), model))?;
    let literals = literals(program);
    let mut spans = Vec::new();
    collect_spans(&block.formula, &mut spans);
    let uses = &program.formulas[index].propositions;
    let leaves: Vec<_> = uses.iter().map(|p| literals[*p as usize]).zip(spans).collect();
    let name = |proposition: &usize| {
        let known = leaves.iter().filter(|((number, _), _)| number == proposition);
        // A leaf that means the proposition itself, or one that means its opposite.
        let leaf = known.max_by_key(|((_, sign), _)| *sign);
        leaf.map_or_else(String::new, |((_, sign), span)| {
            let text = model.sources.text(*span);
            if *sign { text } else { format!("!({text})") }
        })
    };
    let names = propositions.iter().map(name).collect();
    Ok(Violating { automaton, propositions, names })
}

/// An `ltl` block over numbered propositions, and their numbers in the program.
pub(super) fn numbered(model: &Model, program: &Program, index: usize) -> (Formula, Vec<usize>) {
    let literals = literals(program);
    let uses = &program.formulas[index].propositions;
    let mut leaves = uses.iter().map(|p| literals[*p as usize]);
    let mut propositions = Vec::new();
    let formula = convert(&model.formulas[index].formula, &mut leaves, &mut propositions);
    (formula, propositions)
}

/// Where the state expressions of a formula stand, from left to right.
pub(super) fn collect_spans(
    formula: &model::Formula,
    spans: &mut Vec<preempt_promela::syntax::span::Span>,
) {
    use model::Formula as F;
    match formula {
        F::Prop(expression) => spans.push(expression.span),
        F::Const(_) => {}
        F::Not(a) | F::Next(a) | F::Always(a) | F::Eventually(a) => collect_spans(a, spans),
        F::And(a, b)
        | F::Or(a, b)
        | F::Implies(a, b)
        | F::Equivalent(a, b)
        | F::Until(a, b)
        | F::WeakUntil(a, b)
        | F::Release(a, b) => {
            collect_spans(a, spans);
            collect_spans(b, spans);
        }
    }
}

/// The formula over numbered propositions; `leaves` gives the system's number and the sign of each
/// state expression from left to right, `known` collects those in use.
fn convert(
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
