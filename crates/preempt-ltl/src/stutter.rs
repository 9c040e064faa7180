//! SI normal form: the shape of property automaton with which partial-order reduction is sound.
//!
//! Paper: [S19] Definition 12, Theorem 2 and equations (8) to (17).
//!
//! Differs from the paper: the alphabet is restricted to valuations of the
//! propositions that the automaton mentions, dead states are dropped, and the
//! construction also runs on the fly, one property state at a time, because the
//! whole is exponential in the propositions. On the fly, valuations that every
//! state of the automaton answers alike are one letter: the language is the set of
//! words over these letters spelt out, so it is stutter invariant over them as
//! well, and a property state that remembers its last letter remembers less.
//!
//! The theorem is stated for every automaton but holds only for those whose
//! language is stutter invariant: decide that first with [`crate::formula_invariance`]
//! or [`crate::automaton_invariance`].

use crate::automaton::{Automaton, Edge};
use crate::error::Error;
use crate::label::{Cube, Valuation};
use rustc_hash::FxHashMap;
use std::sync::{PoisonError, RwLock};

/// A state of the normal form, to be stored in a state vector. Numbers are handed out
/// from 0 as states are met, so they stay as small as the explored part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PropertyState(pub u32);

/// What a property state of the construction is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Part {
    Init,
    /// `(s, a, 0)`: the last letter `a` was new and led to `s`.
    Fresh(u32, u32),
    /// `(s, a, 1)`: `a` was repeated in accepting `s`, which must not count again.
    Repeated(u32, u32),
    /// `(a, 2)`: nothing but `a` for ever, accepted.
    Constant(u32),
}

/// The SI normal form of an automaton, explored on the fly.
///
/// Property states of small automata are looked up in a table of live states;
/// others are computed when first asked for. It can be shared between threads.
pub struct NormalForm {
    letters: Alphabet,
    kind: Kind,
}

enum Kind {
    Table(Table),
    Memo(Box<Memo>),
}

impl NormalForm {
    /// Prepares the normal form. The language must be stutter invariant.
    #[doc(alias = "S19 Theorem 2")]
    pub fn new(automaton: &Automaton) -> Result<NormalForm, Error> {
        /// States times letters squared up to which the whole is built: 2 MiB of table.
        const TABLE: u64 = 1 << 18;
        let letters = Alphabet::of_automaton(automaton)?;
        let construction = Construction::new(automaton, letters.clone())?;
        let squared = u64::from(letters.count()).pow(2);
        let small = squared.saturating_mul(automaton.len() as u64) <= TABLE;
        let kind = if small {
            Kind::Table(Table::new(&construction))
        } else {
            Kind::Memo(Box::new(Memo::new(construction)))
        };
        Ok(NormalForm { letters, kind })
    }

    /// The one initial property state; `None` if it is known that no word is accepted.
    pub fn initial(&self) -> Option<PropertyState> {
        match &self.kind {
            Kind::Table(table) => (!table.accepting.is_empty()).then_some(PropertyState(0)),
            Kind::Memo(_) => Some(PropertyState(0)),
        }
    }

    /// The letter of a valuation: those with one letter have the same successors everywhere.
    #[inline]
    pub fn letter(&self, valuation: Valuation) -> u32 {
        self.letters.letter(valuation)
    }

    /// Appends to `out` the property states reached by reading `valuation`.
    #[inline]
    pub fn next(&self, state: PropertyState, valuation: Valuation, out: &mut Vec<PropertyState>) {
        self.next_by_letter(state, self.letter(valuation), out);
    }

    /// As [`NormalForm::next`], for a [letter](NormalForm::letter).
    #[inline]
    pub fn next_by_letter(&self, state: PropertyState, letter: u32, out: &mut Vec<PropertyState>) {
        match &self.kind {
            Kind::Table(table) => table.next(state, letter, out),
            Kind::Memo(memo) => memo.next(state, letter, out),
        }
    }

    /// Must be passed infinitely often.
    #[inline]
    pub fn accepting(&self, state: PropertyState) -> bool {
        match &self.kind {
            Kind::Table(table) => table.accepting[state.0 as usize],
            Kind::Memo(memo) => memo.accepting(state),
        }
    }

    /// Number of property states handed out so far; all of them are below it.
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Table(table) => table.accepting.len(),
            Kind::Memo(memo) => memo.len(),
        }
    }

    /// No state, because no word is accepted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The propositions that are read, one bit each; others need not be evaluated.
    pub fn proposition_mask(&self) -> u64 {
        self.letters.propositions.iter().fold(0, |m, p| m | 1 << p)
    }
}

/// The whole normal form as an automaton, to look at or to run elsewhere.
///
/// ```
/// use preempt_ltl::{normal_form, parse, translate};
/// // "p holds finitely often": B3 of the paper becomes B4, 4 states and 9 edges.
/// let b3 = translate(&parse("<>[]!p").unwrap().formula).unwrap();
/// let b4 = normal_form(&b3).unwrap();
/// assert_eq!((b4.len(), b4.edge_count()), (4, 9));
/// ```
pub fn normal_form(automaton: &Automaton) -> Result<Automaton, Error> {
    /// States times letters squared that are still worth printing.
    const LIMIT: usize = 1 << 22;
    let construction = Construction::new(automaton, Alphabet::new(automaton)?)?;
    let width = construction.letters.propositions.len() as u32;
    let size = (automaton.len() as u64).checked_shl(2 * width);
    if width > 12 || size.is_none_or(|s| s > LIMIT as u64) {
        return Err(Error::TooLarge { limit: LIMIT, unit: "edges" });
    }
    Ok(construction.whole())
}

/// Does the automaton satisfy Definition 12, over the propositions it mentions?
#[doc(alias = "S19 Definition 12")]
pub fn is_normal_form(automaton: &Automaton) -> bool {
    let mask = automaton.proposition_mask();
    let [initial] = *automaton.initial() else {
        return automaton.is_empty();
    };
    let states = automaton.len() as u32;
    let mut incoming: Vec<Option<Cube>> = vec![None; automaton.len()];
    for edge in (0..states).flat_map(|s| automaton.edges(s)) {
        let known = &mut incoming[edge.target as usize];
        // 1. every edge into s has the one letter a_s; none goes to the initial state.
        let one_letter = edge.label.mask() == mask;
        if edge.target == initial || !one_letter || known.is_some_and(|k| k != edge.label) {
            return false;
        }
        *known = Some(edge.label);
    }
    (0..states).filter(|s| *s != initial).all(|s| {
        let Some(letter) = incoming[s as usize] else {
            return true;
        };
        // 2. exactly one edge out of s under a_s.
        let mut own = automaton.edges(s).iter().filter(|e| e.label == letter);
        let (Some(edge), None) = (own.next(), own.next()) else {
            return false;
        };
        // 3. and 4. it is a loop, or s is accepting and it leads to a rejecting twin.
        edge.target == s
            || (automaton.accepting(s)
                && !automaton.accepting(edge.target)
                && automaton.edges(s) == automaton.edges(edge.target))
    })
}

/// The letters that an automaton reads: valuations of the propositions that matter to it, those that
/// every state answers alike as one letter.
#[derive(Clone)]
pub struct Alphabet {
    propositions: Vec<u32>,
    /// They are propositions 0, 1, 2, …: packing is masking.
    dense: Option<u64>,
    groups: Option<Groups>,
}

/// Packed valuations that no state of an automaton tells apart.
#[derive(Clone)]
struct Groups {
    /// The group of each packed valuation.
    number: Vec<u16>,
    /// A packed valuation of each group.
    member: Vec<u32>,
}

impl Alphabet {
    /// The letters of an automaton.
    pub fn of_automaton(automaton: &Automaton) -> Result<Alphabet, Error> {
        Ok(Alphabet::new(automaton)?.grouped(automaton))
    }

    /// Every valuation is a letter.
    fn new(automaton: &Automaton) -> Result<Alphabet, Error> {
        let mask = automaton.proposition_mask();
        let propositions: Vec<u32> = (0..64).filter(|p| mask >> p & 1 == 1).collect();
        if propositions.len() > 31 {
            return Err(Error::TooLarge { limit: 31, unit: "propositions in a normal form" });
        }
        let dense = (mask & mask.wrapping_add(1) == 0).then_some(mask);
        Ok(Alphabet { propositions, dense, groups: None })
    }

    /// One letter for all valuations that every state of the automaton answers alike, unless there
    /// are too many to look at.
    fn grouped(mut self, automaton: &Automaton) -> Alphabet {
        const WIDEST: usize = 12;
        if self.propositions.len() > WIDEST {
            return self;
        }
        let mut known: FxHashMap<Vec<u32>, u16> = FxHashMap::default();
        let mut groups = Groups { number: Vec::new(), member: Vec::new() };
        for packed in 0..self.count() {
            let valuation = self.valuation(packed);
            let mut answers = Vec::new();
            for state in 0..automaton.len() as u32 {
                answers.extend(automaton.successors(state, valuation));
                answers.push(u32::MAX);
            }
            let next = groups.member.len() as u16;
            let number = *known.entry(answers).or_insert(next);
            if number == next {
                groups.member.push(packed);
            }
            groups.number.push(number);
        }
        self.groups = Some(groups);
        self
    }

    /// The letter of a valuation.
    #[inline]
    pub fn letter(&self, valuation: Valuation) -> u32 {
        let packed = match self.dense {
            Some(mask) => (valuation & mask) as u32,
            None => {
                let bits = self.propositions.iter().enumerate();
                bits.fold(0, |letter, (bit, p)| letter | ((valuation >> p & 1) as u32) << bit)
            }
        };
        match &self.groups {
            Some(groups) => groups.number[packed as usize].into(),
            None => packed,
        }
    }

    /// A valuation with this letter.
    pub fn valuation(&self, letter: u32) -> Valuation {
        let packed = self.groups.as_ref().map_or(letter, |groups| groups.member[letter as usize]);
        self.propositions
            .iter()
            .enumerate()
            .fold(0, |v, (bit, p)| v | u64::from(packed >> bit & 1) << p)
    }

    fn cube(&self, letter: u32) -> Cube {
        let mask = self.propositions.iter().fold(0, |m, p| m | 1 << p);
        Cube::minterm(self.valuation(letter), mask)
    }

    fn count(&self) -> u32 {
        match &self.groups {
            Some(groups) => groups.member.len() as u32,
            None => 1 << self.propositions.len(),
        }
    }
}

/// Equations (8) to (17), one state at a time.
struct Construction {
    automaton: Automaton,
    letters: Alphabet,
    /// Does `s` accept `a` repeated for ever?
    constant: RwLock<FxHashMap<(u32, u32), bool>>,
}

impl Construction {
    fn new(automaton: &Automaton, letters: Alphabet) -> Result<Construction, Error> {
        if automaton.len() >= 1 << 30 {
            return Err(Error::TooLarge { limit: 1 << 30, unit: "states" });
        }
        Ok(Construction {
            automaton: automaton.clone(),
            letters,
            constant: RwLock::new(FxHashMap::default()),
        })
    }

    fn next(&self, part: Part, letter: u32, mut out: impl FnMut(Part)) {
        match part {
            // (8), (9)
            Part::Init => {
                let initial = self.automaton.initial();
                let mut targets: Vec<u32> =
                    initial.iter().flat_map(|s| self.read(*s, letter)).collect();
                targets.sort_unstable();
                targets.dedup();
                targets.into_iter().for_each(|t| out(Part::Fresh(t, letter)));
                if initial.iter().any(|s| self.accepts_constant(*s, letter)) {
                    out(Part::Constant(letter));
                }
            }
            // (11), (12), (13)
            Part::Fresh(s, a) | Part::Repeated(s, a) if a == letter => {
                out(if self.automaton.accepting(s) {
                    Part::Repeated(s, a)
                } else {
                    Part::Fresh(s, a)
                });
            }
            // (10), (14), (16), (17)
            Part::Fresh(s, _) | Part::Repeated(s, _) => {
                self.read(s, letter).for_each(|t| out(Part::Fresh(t, letter)));
                if self.accepts_constant(s, letter) {
                    out(Part::Constant(letter));
                }
            }
            // (15)
            Part::Constant(a) => {
                if a == letter {
                    out(part);
                }
            }
        }
    }

    fn read(&self, state: u32, letter: u32) -> impl Iterator<Item = u32> + '_ {
        self.automaton.successors(state, self.letters.valuation(letter))
    }

    fn accepting(&self, part: Part) -> bool {
        match part {
            Part::Fresh(s, _) => self.automaton.accepting(s),
            Part::Constant(_) => true,
            Part::Init | Part::Repeated(..) => false,
        }
    }

    fn accepts_constant(&self, state: u32, letter: u32) -> bool {
        let known = self.constant.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.get(&(state, letter)) {
            return *answer;
        }
        drop(known);
        let answer = self.search_constant(state, letter);
        let mut known = self.constant.write().unwrap_or_else(PoisonError::into_inner);
        known.insert((state, letter), answer);
        answer
    }

    /// An accepting state on a cycle of the subgraph that reads only `letter`.
    fn search_constant(&self, state: u32, letter: u32) -> bool {
        let reach = |from: Vec<u32>| {
            let mut reached: Vec<u32> = Vec::new();
            let mut stack = from;
            while let Some(s) = stack.pop() {
                if !reached.contains(&s) {
                    reached.push(s);
                    stack.extend(self.read(s, letter));
                }
            }
            reached
        };
        reach(vec![state]).into_iter().any(|s| {
            self.automaton.accepting(s) && reach(self.read(s, letter).collect()).contains(&s)
        })
    }

    /// All live states, the initial one first.
    fn whole(&self) -> Automaton {
        let mut index: FxHashMap<Part, u32> = FxHashMap::default();
        let mut parts = vec![Part::Init];
        index.insert(Part::Init, 0);
        let mut edges: Vec<Vec<Edge>> = Vec::new();
        while edges.len() < parts.len() {
            let part = parts[edges.len()];
            let mut out = Vec::new();
            for letter in 0..self.letters.count() {
                let label = self.letters.cube(letter);
                self.next(part, letter, |next| {
                    let target = *index.entry(next).or_insert_with(|| {
                        parts.push(next);
                        parts.len() as u32 - 1
                    });
                    out.push(Edge { target, label });
                });
            }
            edges.push(out);
        }
        let accepting = parts.iter().map(|p| self.accepting(*p)).collect();
        Automaton::new(vec![0], edges, accepting).trimmed()
    }
}

/// States and successors as they were met.
struct Memo {
    construction: Construction,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    parts: Vec<Part>,
    index: FxHashMap<Part, u32>,
    successors: FxHashMap<(u32, u32), Box<[PropertyState]>>,
}

impl Memo {
    fn new(construction: Construction) -> Memo {
        let mut known = Known::default();
        known.number(Part::Init);
        Memo { construction, known: RwLock::new(known) }
    }

    fn next(&self, state: PropertyState, letter: u32, out: &mut Vec<PropertyState>) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(successors) = known.successors.get(&(state.0, letter)) {
            out.extend_from_slice(successors);
            return;
        }
        let part = known.parts[state.0 as usize];
        drop(known);
        let mut parts = Vec::new();
        self.construction.next(part, letter, |next| parts.push(next));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let successors: Vec<PropertyState> =
            parts.into_iter().map(|part| PropertyState(known.number(part))).collect();
        out.extend_from_slice(&successors);
        known.successors.insert((state.0, letter), successors.into());
    }

    fn accepting(&self, state: PropertyState) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        self.construction.accepting(known.parts[state.0 as usize])
    }

    fn len(&self) -> usize {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.parts.len()
    }
}

impl Known {
    fn number(&mut self, part: Part) -> u32 {
        let parts = &mut self.parts;
        *self.index.entry(part).or_insert_with(|| {
            parts.push(part);
            parts.len() as u32 - 1
        })
    }
}

/// Live states only, successors by state and letter.
struct Table {
    letters: usize,
    /// `start[state * letters + letter]..start[… + 1]` in `targets`.
    start: Vec<u32>,
    targets: Vec<u32>,
    accepting: Vec<bool>,
}

impl Table {
    fn new(construction: &Construction) -> Table {
        let whole = construction.whole();
        let letters = construction.letters.count();
        let mut table = Table {
            letters: letters as usize,
            start: vec![0],
            targets: Vec::new(),
            accepting: (0..whole.len() as u32).map(|s| whole.accepting(s)).collect(),
        };
        for state in 0..whole.len() as u32 {
            for letter in 0..letters {
                let valuation = construction.letters.valuation(letter);
                table.targets.extend(whole.successors(state, valuation));
                table.start.push(table.targets.len() as u32);
            }
        }
        table
    }

    #[inline]
    fn next(&self, state: PropertyState, letter: u32, out: &mut Vec<PropertyState>) {
        let at = state.0 as usize * self.letters + letter as usize;
        let range = self.start[at] as usize..self.start[at + 1] as usize;
        out.extend(self.targets[range].iter().map(|t| PropertyState(*t)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse, translate};

    /// A proposition that stands for a Boolean combination of others makes no larger normal form.
    #[test]
    fn valuations_that_make_no_difference_are_one_letter() {
        let automaton = |text: &str| translate(&parse(text).unwrap().formula).unwrap();
        let one = NormalForm::new(&automaton("<>[]!p")).unwrap();
        let many = NormalForm::new(&automaton("<>[]!(p && (q || r && !s))")).unwrap();
        assert_eq!((one.len(), many.len()), (4, 4));
        let letters: Vec<u32> = (0..16).map(|valuation| many.letter(valuation)).collect();
        assert!(letters.iter().all(|letter| *letter < 2));
        assert_ne!(letters[0], letters[0b11]);
    }

    /// The table is the construction without its dead states.
    #[test]
    fn table_and_memo_agree() {
        for text in ["<>[]!p", "[](p -> <>q)", "[]<>p && <>[]q", "p U (q U r)", "false", "true"] {
            let automaton = translate(&parse(text).unwrap().formula).unwrap();
            let letters = Alphabet::new(&automaton).unwrap();
            let construction = Construction::new(&automaton, letters.clone()).unwrap();
            let on_the_fly =
                NormalForm { letters, kind: Kind::Memo(Box::new(Memo::new(construction))) };
            let mut stack: Vec<PropertyState> = on_the_fly.initial().into_iter().collect();
            let mut seen: Vec<PropertyState> = Vec::new();
            let mut edges = Vec::new();
            while let Some(state) = stack.pop() {
                if seen.contains(&state) {
                    continue;
                }
                seen.push(state);
                for valuation in 0..1 << automaton.proposition_mask().count_ones() {
                    let mut out = Vec::new();
                    on_the_fly.next(state, valuation, &mut out);
                    edges.extend(out.iter().map(|t| (state, valuation, *t)));
                    stack.extend(out);
                }
            }
            assert_eq!(seen.len(), on_the_fly.len());
            let number = |s: PropertyState| seen.iter().position(|t| *t == s).unwrap() as u32;
            let mut lists = vec![Vec::new(); seen.len()];
            for (source, valuation, target) in edges {
                lists[number(source) as usize].push(Edge {
                    target: number(target),
                    label: Cube::minterm(valuation, automaton.proposition_mask()),
                });
            }
            let accepting = seen.iter().map(|s| on_the_fly.accepting(*s)).collect();
            let live = Automaton::new(vec![0], lists, accepting).trimmed();
            let whole = normal_form(&automaton).unwrap();
            assert_eq!(live.len(), whole.len(), "{text}");
            assert_eq!(live.edge_count(), whole.edge_count(), "{text}");
            assert!(is_normal_form(&whole), "{text}");
        }
    }
}
