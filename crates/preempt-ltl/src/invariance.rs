//! Is a property blind to repetition? Partial-order reduction is allowed only then.
//!
//! A language is stutter invariant when repeating a letter, or dropping a
//! repetition, never changes membership. A formula without `X` is. Otherwise close
//! the automata of `f` and of its negation under dropping repetitions: the property
//! is stutter invariant exactly when the closures share no word (Michaud and
//! Duret-Lutz). For an automaton without a formula the complement is built if it
//! is small; else random words may show the contrary, and if not it stays unknown.

use crate::automaton::Automaton;
use crate::complement::complement;
use crate::error::Error;
use crate::formula::Formula;
use crate::generalized::{Generalized, MarkedEdge};
use crate::product::product;
use crate::stutter::is_normal_form;
use crate::translate::translate_both;
use crate::word::{Word, accepts};

/// The answer to "is it stutter invariant?"
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invariance {
    /// Yes: reduction may be used.
    Invariant,
    /// No: of the words equal to this one up to repetition, some belong and some do not.
    Sensitive(Word),
    /// Neither was shown: treat it as sensitive.
    Unknown,
}

/// Decides stutter invariance of a formula.
pub fn formula_invariance(formula: &Formula) -> Result<Invariance, Error> {
    if !formula.has_next() {
        return Ok(Invariance::Invariant);
    }
    let (yes, no) = translate_both(formula)?;
    Ok(compare(&yes, &no).unwrap_or(Invariance::Unknown))
}

/// Decides stutter invariance of an automaton if it can.
pub fn automaton_invariance(automaton: &Automaton) -> Invariance {
    if is_normal_form(automaton) {
        return Invariance::Invariant;
    }
    if let Some(sensitive) = sampled(automaton) {
        return sensitive;
    }
    complement(automaton).and_then(|no| compare(automaton, &no)).unwrap_or(Invariance::Unknown)
}

/// `None` if the closures grow too large.
fn compare(yes: &Automaton, no: &Automaton) -> Option<Invariance> {
    let yes = closure(yes.to_generalized())?;
    let no = closure(no.to_generalized())?;
    Some(match product(&yes, &no).find_word() {
        None => Invariance::Invariant,
        Some(word) => Invariance::Sensitive(word),
    })
}

/// Adds `p -a-> r` for every `p -a-> q -a-> r`, with the marks of both.
fn closure(mut automaton: Generalized) -> Option<Generalized> {
    const MAX_EDGES: usize = 100_000;
    let mut total: usize = automaton.edges.iter().map(Vec::len).sum();
    let mut changed = true;
    while changed {
        changed = false;
        for source in 0..automaton.len() {
            let mut at = 0;
            while at < automaton.edges[source].len() {
                let first = automaton.edges[source][at];
                at += 1;
                for second in automaton.edges[first.target as usize].clone() {
                    let Some(label) = first.label.and(second.label) else {
                        continue;
                    };
                    let edge = MarkedEdge {
                        target: second.target,
                        marks: first.marks | second.marks,
                        label,
                    };
                    let known = automaton.edges[source].iter().any(|e| {
                        e.target == edge.target
                            && edge.marks & e.marks == edge.marks
                            && edge.label.implies(e.label)
                    });
                    if !known {
                        automaton.edges[source].push(edge);
                        changed = true;
                        total += 1;
                    }
                }
                if total > MAX_EDGES {
                    return None;
                }
            }
        }
    }
    Some(automaton)
}

/// Looks for a word whose membership changes when a letter is repeated.
fn sampled(automaton: &Automaton) -> Option<Invariance> {
    const WORDS: usize = 200;
    let propositions = u64::BITS - automaton.proposition_mask().leading_zeros();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed >> 5
    };
    for _ in 0..WORDS {
        let word = Word::random(propositions, &mut random);
        let member = accepts(automaton, &word);
        for position in 0..word.stem.len() + word.cycle.len() {
            if accepts(automaton, &word.stutter(position, 2)) != member {
                return Some(Invariance::Sensitive(word));
            }
        }
    }
    None
}
