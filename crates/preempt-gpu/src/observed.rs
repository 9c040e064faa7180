//! A property beside the model: its automaton as the table that a kernel reads, and the states of both as the processor has them.
//!
//! The automaton's states get small numbers in the order in which they are met. Which propositions it reads is found out by asking it
//! for its moves.

use preempt_check::property::{Product, Property, PropertyMove, Stutter};
use preempt_core::{FaultKind, System};
use preempt_native::card::{CardCode, Monitor, MonitorMoves};

/// A system and a property, together.
pub(crate) type Both<'a> = Product<'a, dyn System + 'a, dyn Property + 'a>;

/// An automaton with more entries than this stays with the processor, as does one with more states than a byte has values.
const MOST_ENTRIES: usize = 1 << 14;
const MOST_STATES: usize = 256;
/// So many moves at a time are counted in a byte.
const MOST_MOVES: usize = 255;

/// An automaton as a table.
pub(crate) struct Observer {
    pub(crate) monitor: Monitor,
    /// By its number in the table, the automaton's state.
    states: Vec<u32>,
}

impl Observer {
    /// Makes the table, or says why there is none; `asserts`: whether violated assertions count.
    pub(crate) fn new(product: &Both<'_>, asserts: bool) -> Result<Self, String> {
        let property = product.property();
        if property.changing().is_some() {
            return Err("C in the never claim changes what the model reads".into());
        }
        if product.stutter() != Stutter::Extend {
            return Err("executions that end are not continued".into());
        }
        let mut propositions = Vec::new();
        // What is read in one state may not be known from those before.
        loop {
            match table(property, &propositions, asserts)? {
                Attempt::Reads(proposition) => propositions.push(proposition),
                Attempt::Whole(moves, states) => {
                    let monitor = Monitor { propositions, moves };
                    return Ok(Observer { monitor, states });
                }
            }
        }
    }

    fn number_of(&self, state: u32) -> Option<u8> {
        self.states.iter().position(|known| *known == state).map(|number| number as u8)
    }
}

/// What came of a table.
enum Attempt {
    /// This proposition is read as well.
    Reads(usize),
    /// The moves by state and letter, and the states.
    Whole(Vec<MonitorMoves>, Vec<u32>),
}

fn table(
    property: &dyn Property,
    propositions: &[usize],
    asserts: bool,
) -> Result<Attempt, String> {
    let mut states = vec![property.initial()];
    let mut all = Vec::new();
    let mut next = 0;
    while let Some(&state) = states.get(next) {
        next += 1;
        if states.len() > MOST_STATES || next << propositions.len() > MOST_ENTRIES {
            return Err("the automaton of the property is too large for a card".into());
        }
        for letter in 0..1_usize << propositions.len() {
            let (mut further, mut found) = (None, Vec::new());
            let mut holds = |index| match propositions.iter().position(|known| *known == index) {
                Some(bit) => letter >> bit & 1 != 0,
                None => {
                    further = further.or(Some(index));
                    false
                }
            };
            property.moves(state, &mut holds, &mut |taken| found.push(taken));
            if let Some(proposition) = further {
                return Ok(Attempt::Reads(proposition));
            }
            if found.len() > MOST_MOVES {
                return Err("the automaton of the property has too many moves".into());
            }
            let mut moves = MonitorMoves::default();
            for taken in found {
                let (to, is_alone, is_mistake) = match taken {
                    PropertyMove::To(to) => (to, false, false),
                    PropertyMove::Complete => (state, true, true),
                    PropertyMove::Violates { to, assertion } => {
                        let is_assertion =
                            property.assertion(assertion).kind == FaultKind::Assertion;
                        (to, true, asserts || !is_assertion)
                    }
                };
                let number = states.iter().position(|known| *known == to).unwrap_or_else(|| {
                    states.push(to);
                    states.len() - 1
                });
                let number = u8::try_from(number)
                    .map_err(|_| "the automaton of the property has too many states")?;
                let list = if is_alone { &mut moves.alone } else { &mut moves.targets };
                // Two moves to one state are one step of the product; two violations are two.
                if is_alone || !list.contains(&number) {
                    list.push(number);
                }
                moves.mistakes += u8::from(is_mistake);
            }
            all.push(moves);
        }
    }
    Ok(Attempt::Whole(all, states))
}

/// How states look on a card and on the processor.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    pub(crate) code: &'a CardCode,
    pub(crate) observer: Option<&'a Observer>,
}

impl Form<'_> {
    /// The vector of a state on the card; `None` if it is none.
    pub(crate) fn vector(self, state: &[u8]) -> Option<Vec<u8>> {
        let (own, beside) = self.code.parts(state)?;
        Some(match self.observer {
            Some(observer) => {
                let automaton = *observer.states.get(usize::from(beside?))?;
                Both::vector(own, automaton)
            }
            None => own.to_vec(),
        })
    }

    /// A vector as it lies on the card; `None` if it cannot.
    pub(crate) fn state(self, vector: &[u8]) -> Option<Vec<u8>> {
        match self.observer {
            Some(observer) => {
                let (own, automaton) = Both::split(vector);
                self.code.whole(own, Some(observer.number_of(automaton)?))
            }
            None => self.code.whole(vector, None),
        }
    }
}
