//! Complement of a small Büchi automaton, by level rankings.
//!
//! Kupferman and Vardi's construction in the tight form of Friedgut et al.: guess
//! the point from which all runs of the automaton have tight ranks, then check that
//! ranks fall along every run and that no run stays at an even rank for ever.
//! Exponential, so bounded: it serves to decide stutter invariance of hand-written
//! claims with a handful of states, where no formula is there to be negated.

use crate::automaton::{Automaton, Edge};
use crate::label::Cube;
use rustc_hash::FxHashMap;

const MAX_STATES: usize = 6_000;
const MAX_EDGES: usize = 200_000;
const MAX_INPUT: usize = 12;
const MAX_PROPOSITIONS: u32 = 6;

/// Rank of each state of the input, [`ABSENT`] if no run is there.
type Ranks = [u8; MAX_INPUT];
const ABSENT: u8 = u8::MAX;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    /// Only the set of states is tracked.
    Subset(u32),
    /// Tight ranks, and the states that still owe leaving an even rank.
    Ranked { ranks: Ranks, owing: u32 },
}

/// The automaton of the words not accepted, or `None` if it is too large.
pub fn complement(automaton: &Automaton) -> Option<Automaton> {
    let mask = automaton.proposition_mask();
    if automaton.len() > MAX_INPUT || mask.count_ones() > MAX_PROPOSITIONS {
        return None;
    }
    let builder = Builder { automaton, letters: letters(mask) };
    builder.run(mask)
}

fn letters(mask: u64) -> Vec<u64> {
    let mut letters = vec![mask];
    while let Some(last) = letters.last().filter(|l| **l != 0) {
        letters.push((last - 1) & mask);
    }
    letters
}

struct Builder<'a> {
    automaton: &'a Automaton,
    letters: Vec<u64>,
}

impl Builder<'_> {
    fn run(&self, mask: u64) -> Option<Automaton> {
        let start = self.automaton.initial().iter().fold(0u32, |set, s| set | 1 << s);
        let mut places = vec![Place::Subset(start)];
        let mut index: FxHashMap<Place, u32> = FxHashMap::default();
        index.insert(places[0].clone(), 0);
        let mut edges: Vec<Vec<Edge>> = Vec::new();
        let mut total = 0;
        while edges.len() < places.len() {
            let place = places[edges.len()].clone();
            let mut out = Vec::new();
            for letter in &self.letters {
                let label = Cube::minterm(*letter, mask);
                for next in self.successors(&place, *letter) {
                    let target = *index.entry(next).or_insert_with_key(|place| {
                        places.push(place.clone());
                        places.len() as u32 - 1
                    });
                    out.push(Edge { target, label });
                }
            }
            total += out.len();
            if places.len() > MAX_STATES || total > MAX_EDGES {
                return None;
            }
            edges.push(out);
        }
        let accepting = places
            .iter()
            .map(|place| match place {
                Place::Subset(set) => *set == 0,
                Place::Ranked { owing, .. } => *owing == 0,
            })
            .collect();
        Some(Automaton::new(vec![0], edges, accepting).trimmed())
    }

    fn successors(&self, place: &Place, letter: u64) -> Vec<Place> {
        match place {
            Place::Subset(set) => {
                let after = self.image(*set, letter);
                let mut result = vec![Place::Subset(after)];
                let bound = [2 * MAX_INPUT as u8; MAX_INPUT];
                for ranks in self.tight(after, &bound, None) {
                    result.push(Place::Ranked { ranks, owing: 0 });
                }
                result
            }
            Place::Ranked { ranks, owing } => {
                let set = members(ranks);
                let after = self.image(set, letter);
                let mut bound = [ABSENT; MAX_INPUT];
                for state in bits(set) {
                    for target in self.automaton.successors(state, letter) {
                        let lowest = &mut bound[target as usize];
                        *lowest = (*lowest).min(ranks[state as usize]);
                    }
                }
                let top = ranks.iter().copied().filter(|r| *r != ABSENT).max();
                let debtors = self.image(*owing, letter);
                self.tight(after, &bound, top)
                    .into_iter()
                    .map(|ranks| {
                        let even = bits(after)
                            .filter(|s| ranks[*s as usize].is_multiple_of(2))
                            .fold(0, |set, s| set | 1 << s);
                        let owing = if *owing == 0 { even } else { debtors & even };
                        Place::Ranked { ranks, owing }
                    })
                    .collect()
            }
        }
    }

    fn image(&self, set: u32, letter: u64) -> u32 {
        bits(set)
            .flat_map(|s| self.automaton.successors(s, letter))
            .fold(0, |image, t| image | 1 << t)
    }

    /// Tight rankings of `set` below `bound`: the top is odd, every odd rank below it
    /// occurs, accepting states are even. `top` fixes the highest rank.
    fn tight(&self, set: u32, bound: &Ranks, top: Option<u8>) -> Vec<Ranks> {
        let states: Vec<u32> = bits(set).collect();
        let rejecting = states.iter().filter(|s| !self.automaton.accepting(**s)).count() as u8;
        let highest = if rejecting == 0 { 0 } else { 2 * rejecting - 1 };
        let mut result = Vec::new();
        let mut ranks = [ABSENT; MAX_INPUT];
        self.assign(&states, bound, highest, &mut ranks, &mut |ranks| {
            let present = || ranks.iter().copied().filter(|r| *r != ABSENT);
            let Some(max) = present().max() else { return };
            let tight = max % 2 == 1
                && top.is_none_or(|t| t == max)
                && (1..max).step_by(2).all(|odd| present().any(|r| r == odd));
            if tight {
                result.push(*ranks);
            }
        });
        result
    }

    fn assign(
        &self,
        states: &[u32],
        bound: &Ranks,
        highest: u8,
        ranks: &mut Ranks,
        found: &mut impl FnMut(&Ranks),
    ) {
        let Some((state, rest)) = states.split_first() else {
            return found(ranks);
        };
        let at = *state as usize;
        for rank in 0..=highest.min(bound[at]) {
            if rank % 2 == 1 && self.automaton.accepting(*state) {
                continue;
            }
            ranks[at] = rank;
            self.assign(rest, bound, highest, ranks, found);
        }
        ranks[at] = ABSENT;
    }
}

fn members(ranks: &Ranks) -> u32 {
    ranks.iter().enumerate().filter(|(_, r)| **r != ABSENT).fold(0, |set, (s, _)| set | 1 << s)
}

fn bits(set: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |b| set >> b & 1 == 1)
}
