//! Ultimately periodic words, and the meaning of formulas on them.
//!
//! [`holds`] follows the definition of the logic position by position and shares
//! nothing with the translation: it is the oracle that every automaton is tested with.

use crate::automaton::Automaton;
use crate::components::tarjan;
use crate::formula::Formula;
use crate::label::Valuation;
use std::fmt;

/// The infinite word `stem cycle cycle cycle …`; the cycle is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Read once.
    pub stem: Vec<Valuation>,
    /// Repeated for ever.
    pub cycle: Vec<Valuation>,
}

impl Word {
    fn len(&self) -> usize {
        self.stem.len() + self.cycle.len()
    }

    fn at(&self, position: usize) -> Valuation {
        match self.stem.get(position) {
            Some(valuation) => *valuation,
            None => self.cycle[position - self.stem.len()],
        }
    }

    fn after(&self, position: usize) -> usize {
        if position + 1 < self.len() { position + 1 } else { self.stem.len() }
    }

    /// A word over `propositions` propositions, from a stream of random numbers.
    pub fn random(propositions: u32, mut random: impl FnMut() -> u64) -> Word {
        let mask = if propositions >= 64 { u64::MAX } else { (1 << propositions) - 1 };
        let stem = random() % 6;
        let cycle = 1 + random() % 5;
        let mut letters = |count: u64| -> Vec<Valuation> {
            let mut letters: Vec<Valuation> = Vec::new();
            for _ in 0..count {
                // Repetitions and sparse letters, or temporal operators hardly matter.
                let letter = match (random() % 4, letters.last()) {
                    (0, Some(previous)) => *previous,
                    (1, _) => random() & random() & mask,
                    (2, _) => (random() | random()) & mask,
                    _ => random() & mask,
                };
                letters.push(letter);
            }
            letters
        };
        Word { stem: letters(stem), cycle: letters(cycle) }
    }

    /// The same word with letter number `position` (of stem and cycle) written `times` times.
    pub fn stutter(&self, position: usize, times: usize) -> Word {
        let repeated = |letters: &[Valuation], offset: usize| {
            let mut result = Vec::new();
            for (index, letter) in letters.iter().enumerate() {
                let count = if offset + index == position { times } else { 1 };
                result.extend(std::iter::repeat_n(*letter, count));
            }
            result
        };
        Word { stem: repeated(&self.stem, 0), cycle: repeated(&self.cycle, self.stem.len()) }
    }
}

impl Word {
    /// The word as text, each letter as the set of what holds: `{p} {} ({p, q} {q})^ω`.
    pub fn display<'a>(&'a self, names: &'a [String]) -> impl fmt::Display + 'a {
        Shown { word: self, names }
    }
}

struct Shown<'a> {
    word: &'a Word,
    names: &'a [String],
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |valuation: &Valuation| {
            let held: Vec<&str> = self
                .names
                .iter()
                .take(64)
                .enumerate()
                .filter(|(p, _)| valuation >> p & 1 == 1)
                .map(|(_, name)| name.as_str())
                .collect();
            format!("{{{}}}", held.join(", "))
        };
        let show = |letters: &[Valuation]| letters.iter().map(letter).collect::<Vec<_>>().join(" ");
        if !self.word.stem.is_empty() {
            write!(out, "{} ", show(&self.word.stem))?;
        }
        write!(out, "({})^ω", show(&self.word.cycle))
    }
}

/// Does the word satisfy the formula? By definition, not by automata.
pub fn holds(formula: &Formula, word: &Word) -> bool {
    truth(formula, word)[0]
}

fn truth(formula: &Formula, word: &Word) -> Vec<bool> {
    let positions = 0..word.len();
    match formula {
        Formula::True => vec![true; word.len()],
        Formula::False => vec![false; word.len()],
        Formula::Prop(p) => positions.map(|i| word.at(i) >> p & 1 == 1).collect(),
        Formula::Not(f) => truth(f, word).into_iter().map(|v| !v).collect(),
        Formula::And(f, g) => pointwise(f, g, word, |a, b| a && b),
        Formula::Or(f, g) => pointwise(f, g, word, |a, b| a || b),
        Formula::Implies(f, g) => pointwise(f, g, word, |a, b| !a || b),
        Formula::Equivalent(f, g) => pointwise(f, g, word, |a, b| a == b),
        Formula::Next(f) => {
            let inner = truth(f, word);
            positions.map(|i| inner[word.after(i)]).collect()
        }
        Formula::Eventually(f) => until(vec![true; word.len()], truth(f, word), word),
        Formula::Always(f) => weak_until(truth(f, word), vec![false; word.len()], word),
        Formula::Until(f, g) => until(truth(f, word), truth(g, word), word),
        Formula::WeakUntil(f, g) => weak_until(truth(f, word), truth(g, word), word),
        // f V g: g holds up to and including the first f.
        Formula::Release(f, g) => {
            let g = truth(g, word);
            let both = truth(f, word).iter().zip(&g).map(|(a, b)| *a && *b).collect();
            weak_until(g, both, word)
        }
    }
}

fn pointwise(f: &Formula, g: &Formula, word: &Word, op: fn(bool, bool) -> bool) -> Vec<bool> {
    truth(f, word).into_iter().zip(truth(g, word)).map(|(a, b)| op(a, b)).collect()
}

fn until(f: Vec<bool>, g: Vec<bool>, word: &Word) -> Vec<bool> {
    walk(&f, &g, word, false)
}

fn weak_until(f: Vec<bool>, g: Vec<bool>, word: &Word) -> Vec<bool> {
    walk(&f, &g, word, true)
}

/// Walks forward from each position until `g`, a failure of `f`, or a full round.
fn walk(f: &[bool], g: &[bool], word: &Word, for_ever: bool) -> Vec<bool> {
    (0..word.len())
        .map(|start| {
            let mut at = start;
            for _ in 0..=2 * word.len() {
                if g[at] {
                    return true;
                }
                if !f[at] {
                    return false;
                }
                at = word.after(at);
            }
            for_ever
        })
        .collect()
}

/// Does the automaton accept the word?
pub fn accepts(automaton: &Automaton, word: &Word) -> bool {
    let states = automaton.len();
    if states == 0 {
        return false;
    }
    let node = |state: u32, position: usize| (position * states + state as usize) as u32;
    let successors = |n: u32| {
        let (position, state) = (n as usize / states, n as usize % states);
        let after = word.after(position);
        automaton.successors(state as u32, word.at(position)).map(move |t| node(t, after))
    };
    let component = tarjan(states * word.len(), successors);
    let mut seen = vec![false; states * word.len()];
    let mut stack: Vec<u32> = automaton.initial().iter().map(|s| node(*s, 0)).collect();
    let mut reached = Vec::new();
    while let Some(n) = stack.pop() {
        if !std::mem::replace(&mut seen[n as usize], true) {
            reached.push(n);
            stack.extend(successors(n));
        }
    }
    // An accepting state on a cycle: two members in its component, or a loop.
    let mut size = vec![0usize; states * word.len()];
    component.iter().for_each(|c| size[*c as usize] += 1);
    reached.into_iter().any(|n| {
        automaton.accepting((n as usize % states) as u32)
            && (size[component[n as usize] as usize] > 1 || successors(n).any(|t| t == n))
    })
}
