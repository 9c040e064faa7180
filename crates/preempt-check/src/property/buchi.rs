//! Büchi automata as properties: as they are, or in SI normal form.
//!
//! Paper: [S19] Definition 12 and Theorem 1: with ample sets chosen at the source state, reduction is
//! sound for automata in SI normal form, and only for those. So a search that reduces takes
//! [`StutterInvariant`], one that does not may take the smaller [`Buchi`].

use super::{Reader, Reads};
use preempt_ltl::{Alphabet, Automaton, NormalForm, PropertyState, Valuation};
use smallvec::SmallVec;
use std::cell::RefCell;

/// A Büchi automaton whose proposition `i` is proposition `propositions[i]` of the system.
pub struct Buchi {
    automaton: Automaton,
    /// `None` when it has too many propositions: then every valuation is a letter.
    alphabet: Option<Alphabet>,
    mask: u64,
    propositions: Vec<usize>,
}

impl Buchi {
    /// An automaton that accepts what must not happen.
    pub fn new(automaton: Automaton, propositions: Vec<usize>) -> Self {
        let mask = automaton.proposition_mask();
        let alphabet = Alphabet::of_automaton(&automaton).ok();
        Buchi { automaton, alphabet, mask, propositions }
    }

    /// The system's propositions that it is about.
    pub fn propositions(&self) -> &[usize] {
        &self.propositions
    }

    /// Stands for all initial states where there is not just one.
    fn several(&self) -> u32 {
        self.automaton.len() as u32
    }
}

/// The propositions of `mask`, as bits.
fn valuation(mask: u64, propositions: &[usize], holds: &mut dyn FnMut(usize) -> bool) -> Valuation {
    let wanted = propositions.iter().enumerate().filter(|(bit, _)| mask & 1 << bit != 0);
    wanted.fold(0, |bits, (bit, index)| bits | u64::from(holds(*index)) << bit)
}

impl Reads for Buchi {
    fn start(&self) -> u32 {
        match self.automaton.initial() {
            [initial] => *initial,
            _ => self.several(),
        }
    }

    fn accepts(&self, state: u32) -> bool {
        state != self.several() && self.automaton.accepting(state)
    }
}

impl Reader for Buchi {
    fn letter(&self, holds: &mut dyn FnMut(usize) -> bool) -> u64 {
        let valuation = valuation(self.mask, &self.propositions, holds);
        self.alphabet.as_ref().map_or(valuation, |alphabet| alphabet.letter(valuation).into())
    }

    fn read(&self, state: u32, letter: u64, emit: &mut dyn FnMut(u32)) {
        let known = self.alphabet.as_ref().map(|alphabet| alphabet.valuation(letter as u32));
        let letter = known.unwrap_or(letter);
        if state != self.several() {
            return self.automaton.successors(state, letter).for_each(emit);
        }
        let initial = self.automaton.initial();
        let mut targets: SmallVec<[u32; 16]> =
            initial.iter().flat_map(|from| self.automaton.successors(*from, letter)).collect();
        targets.sort_unstable();
        targets.dedup();
        targets.into_iter().for_each(emit);
    }
}

/// A Büchi automaton in SI normal form, made on the fly. Its language must be stutter invariant.
pub struct StutterInvariant {
    form: NormalForm,
    mask: u64,
    propositions: Vec<usize>,
}

thread_local! {
    static NEXT: RefCell<Vec<PropertyState>> = const { RefCell::new(Vec::new()) };
    static AGAIN: RefCell<Vec<PropertyState>> = const { RefCell::new(Vec::new()) };
}

impl StutterInvariant {
    /// The normal form of an automaton that accepts what must not happen; `None` when it has
    /// too many propositions.
    pub fn new(automaton: &Automaton, propositions: Vec<usize>) -> Option<Self> {
        let form = NormalForm::new(automaton).ok()?;
        Some(StutterInvariant { form, mask: automaton.proposition_mask(), propositions })
    }

    /// Puts the state "nothing but this letter, for ever" in front: behind it there is little to
    /// search, and every cycle is a violation.
    fn constant_first(&self, letter: u32, next: &mut [PropertyState]) {
        if next.len() < 2 {
            return;
        }
        let constant = next.iter().position(|&state| {
            self.form.accepting(state)
                && AGAIN.with_borrow_mut(|again| {
                    again.clear();
                    self.form.next_by_letter(state, letter, again);
                    again.contains(&state)
                })
        });
        if let Some(at) = constant {
            next.swap(0, at);
        }
    }

    /// The state of an automaton that accepts nothing.
    const NOWHERE: u32 = (1 << 28) - 2;
}

impl Reads for StutterInvariant {
    fn start(&self) -> u32 {
        self.form.initial().map_or(Self::NOWHERE, |state| state.0)
    }

    fn accepts(&self, state: u32) -> bool {
        state != Self::NOWHERE && self.form.accepting(PropertyState(state))
    }
}

impl Reader for StutterInvariant {
    fn letter(&self, holds: &mut dyn FnMut(usize) -> bool) -> u64 {
        self.form.letter(valuation(self.mask, &self.propositions, holds)).into()
    }

    fn read(&self, state: u32, letter: u64, emit: &mut dyn FnMut(u32)) {
        if state == Self::NOWHERE {
            return;
        }
        NEXT.with_borrow_mut(|next| {
            next.clear();
            self.form.next_by_letter(PropertyState(state), letter as u32, next);
            self.constant_first(letter as u32, next);
            next.iter().for_each(|target| emit(target.0));
        });
    }

    fn is_normal_form(&self) -> bool {
        true
    }
}
