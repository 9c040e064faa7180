//! The moves of a property automaton, each asked for once.
//!
//! Letters and states get small numbers as they are met; the letter of some values and the moves from a
//! state under a letter are looked up in tables from then on.

use crate::property::{Property, Reader};
use std::collections::HashMap;
use std::ops::Range;

/// The number of a letter.
pub(crate) type Letter = u32;

/// An automaton with numbered states, read by numbered letters.
pub(crate) struct Letters<'a> {
    property: &'a dyn Property,
    reader: &'a dyn Reader,
    /// The automaton's own name of each state, and whether it is accepting.
    states: Vec<(u32, bool)>,
    state_numbers: HashMap<u32, u32>,
    letters: Vec<u64>,
    numbers: HashMap<u64, Letter>,
    /// The numbers of letters that are small numbers by themselves, which most are.
    small: Vec<Letter>,
    /// The propositions that the automaton reads.
    read: Vec<usize>,
    /// The letters that were met, by the values of these, a bit each; empty when they are many.
    by_values: Vec<Letter>,
    /// By letter and state: where the moves are in `targets`.
    moves: Vec<Vec<(u32, u32)>>,
    targets: Vec<u32>,
    /// Whether there was no move from some state under a letter that was met there.
    is_cut: bool,
}

const UNKNOWN: (u32, u32) = (u32::MAX, u32::MAX);
const UNMET: Letter = Letter::MAX;
/// The values of so many propositions have a table.
const FEW: usize = 10;
/// Letters below this have a table.
const SMALL: u64 = 1 << 12;

impl<'a> Letters<'a> {
    /// `None` for an automaton that does more than read.
    pub(crate) fn new(property: &'a dyn Property) -> Option<Self> {
        let reader = property.reader()?;
        let mut read = Vec::new();
        reader.letter(&mut |index| {
            read.push(index);
            false
        });
        let by_values = if read.len() <= FEW { vec![UNMET; 1 << read.len()] } else { Vec::new() };
        Some(Letters {
            property,
            reader,
            states: Vec::new(),
            state_numbers: HashMap::new(),
            letters: Vec::new(),
            numbers: HashMap::new(),
            small: Vec::new(),
            read,
            by_values,
            moves: Vec::new(),
            targets: Vec::new(),
            is_cut: false,
        })
    }

    /// The letter where `holds` gives the value of each proposition.
    #[inline]
    pub(crate) fn letter(&mut self, mut holds: impl FnMut(usize) -> bool) -> Letter {
        if self.by_values.is_empty() {
            let letter = self.reader.letter(&mut holds);
            return self.number_of_letter(letter);
        }
        let read = self.read.iter().enumerate();
        let values = read.fold(0, |bits, (bit, index)| bits | usize::from(holds(*index)) << bit);
        match self.by_values[values] {
            UNMET => self.meet(values),
            letter => letter,
        }
    }

    #[cold]
    fn meet(&mut self, values: usize) -> Letter {
        let mut bits = 0..;
        let mut holds = |_| bits.next().is_some_and(|bit: u32| values >> bit & 1 != 0);
        let letter = self.reader.letter(&mut holds);
        self.by_values[values] = self.number_of_letter(letter);
        self.by_values[values]
    }

    /// The automaton's own name of the letter where `holds` gives the value of each proposition.
    #[inline]
    pub(crate) fn name_of_letter(&mut self, holds: impl FnMut(usize) -> bool) -> u64 {
        let letter = self.letter(holds);
        self.letters[letter as usize]
    }

    /// The number of a letter that the automaton knows by this name.
    #[inline]
    pub(crate) fn number_of_letter(&mut self, letter: u64) -> Letter {
        match self.small.get(letter as usize) {
            Some(&number) if number != UNMET && letter < SMALL => number,
            _ => self.meet_letter(letter),
        }
    }

    #[cold]
    fn meet_letter(&mut self, letter: u64) -> Letter {
        let next = self.letters.len() as Letter;
        let number = *self.numbers.entry(letter).or_insert(next);
        if number == next {
            self.letters.push(letter);
            self.moves.push(Vec::new());
        }
        if letter < SMALL {
            let at = letter as usize;
            self.small.resize(self.small.len().max(at + 1), UNMET);
            self.small[at] = number;
        }
        number
    }

    /// Where the moves from `state` under `letter` are among [`Letters::target`]s.
    #[inline]
    pub(crate) fn moves(&mut self, state: u32, letter: Letter) -> Range<u32> {
        let row = &self.moves[letter as usize];
        match row.get(state as usize) {
            Some(&(start, end)) if start != u32::MAX => start..end,
            _ => self.ask(state, letter),
        }
    }

    #[cold]
    fn ask(&mut self, state: u32, letter: Letter) -> Range<u32> {
        let mut found = Vec::new();
        let name = self.states[state as usize].0;
        self.reader.read(name, self.letters[letter as usize], &mut |to| found.push(to));
        let start = self.targets.len() as u32;
        self.is_cut |= found.is_empty();
        for to in found {
            let number = self.number(to);
            self.targets.push(number);
        }
        let end = self.targets.len() as u32;
        let row = &mut self.moves[letter as usize];
        if row.len() <= state as usize {
            row.resize(state as usize + 1, UNKNOWN);
        }
        row[state as usize] = (start, end);
        start..end
    }

    fn number(&mut self, name: u32) -> u32 {
        let next = self.states.len() as u32;
        let number = *self.state_numbers.entry(name).or_insert(next);
        if number == next {
            self.states.push((name, self.property.is_accepting(name)));
        }
        number
    }

    /// Whether the automaton had no move somewhere: what can follow there was not explored.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The automaton's own name of a state.
    pub(crate) fn name(&self, state: u32) -> u32 {
        self.states[state as usize].0
    }

    /// The state that a move leads to.
    #[inline]
    pub(crate) fn target(&self, at: u32) -> u32 {
        self.targets[at as usize]
    }

    pub(crate) fn initial(&mut self) -> u32 {
        self.number(self.property.initial())
    }

    #[inline]
    pub(crate) fn is_accepting(&self, state: u32) -> bool {
        self.states[state as usize].1
    }
}
