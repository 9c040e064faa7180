//! Formula to Büchi automaton: the whole pipeline.
//!
//! Rewriting, alternating automaton, generalised automaton, simulation, merging
//! judged by the negation, degeneralisation, and both reductions again.

use crate::alternating::{self, Entry};
use crate::automaton::Automaton;
use crate::degeneralize::{Order, degeneralize_in_order};
use crate::error::Error;
use crate::formula::Formula;
use crate::generalized::Generalized;
use crate::merge::merge;
use crate::rewrite::Forms;
use crate::simulation::{Acceptance, reduce};

/// The Büchi automaton of a formula: it accepts the words that satisfy it.
///
/// To look for violations of `f`, translate `f.not()`.
/// ```
/// use preempt_ltl::{parse, translate};
/// let automaton = translate(&parse("[](p -> <>q)").unwrap().formula).unwrap();
/// assert_eq!(automaton.len(), 2);
/// ```
pub fn translate(formula: &Formula) -> Result<Automaton, Error> {
    let positive = candidates(formula, true)?;
    // Only a judge here, so its failure must not fail the translation.
    let negative = candidates(formula, false).ok();
    Ok(ordinary(&positive, negative.as_deref()))
}

/// The generalised Büchi automaton of a formula, often smaller than the ordinary one.
pub fn translate_generalized(formula: &Formula) -> Result<Generalized, Error> {
    let positive = candidates(formula, true)?;
    let negative = candidates(formula, false).ok();
    Ok(minimized(positive, negative.as_deref()).into_iter().min_by_key(size).unwrap_or_default())
}

/// The automata of a formula and of its negation, for less than two translations.
pub fn translate_both(formula: &Formula) -> Result<(Automaton, Automaton), Error> {
    let positive = candidates(formula, true)?;
    let negative = candidates(formula, false)?;
    Ok((ordinary(&positive, Some(&negative)), ordinary(&negative, Some(&positive))))
}

/// Simulation-reduced automata of the formula or its negation, one per way of marking.
fn candidates(formula: &Formula, positive: bool) -> Result<Vec<Generalized>, Error> {
    let propositions = formula.proposition_count();
    if propositions > 64 {
        return Err(Error::TooManyPropositions(propositions as usize));
    }
    let mut forms = Forms::new();
    let form = forms.add(formula, positive);
    let mut result = Vec::new();
    for entry in [Entry::Unmarked, Entry::Marked] {
        let mut automaton = alternating::build(&mut forms, form, entry)?;
        reduce(&mut automaton, Acceptance::Edges);
        if !result.contains(&automaton) {
            result.push(automaton);
        }
    }
    Ok(result)
}

fn judge(negation: Option<&[Generalized]>) -> Option<&Generalized> {
    negation?.iter().min_by_key(|a| size(a))
}

fn size(automaton: &Generalized) -> (usize, usize) {
    let edges = automaton.edges.iter().map(Vec::len).sum();
    (automaton.len(), edges)
}

fn minimized(
    mut candidates: Vec<Generalized>,
    negation: Option<&[Generalized]>,
) -> Vec<Generalized> {
    if let Some(negation) = judge(negation) {
        for automaton in &mut candidates {
            merge(automaton, negation, Acceptance::Edges);
        }
    }
    candidates
}

/// The smallest ordinary automaton over all candidates and orders of marks.
fn ordinary(candidates: &[Generalized], negation: Option<&[Generalized]>) -> Automaton {
    let negation_judge = judge(negation);
    let mut best: Option<Generalized> = None;
    for generalized in minimized(candidates.to_vec(), negation) {
        for order in [Order::Ascending, Order::Descending] {
            if order == Order::Descending && generalized.marks < 2 {
                continue;
            }
            let mut states = degeneralize_in_order(&generalized, order).to_generalized();
            reduce(&mut states, Acceptance::States);
            if let Some(negation) = negation_judge {
                merge(&mut states, negation, Acceptance::States);
            }
            if best.as_ref().is_none_or(|b| size(&states) < size(b)) {
                best = Some(states);
            }
        }
    }
    Automaton::from_state_marks(&best.unwrap_or_default())
}
