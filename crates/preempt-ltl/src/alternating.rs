//! Formula to generalised Büchi automaton, by way of a very weak alternating automaton.
//!
//! The alternating automaton has one state per temporal subformula; its
//! successor sets are conjunctions. A state of the result is a set of them. The
//! construction is Gastin and Oddoux's, with acceptance marks on edges: a run is
//! rejected if from some point on it keeps an `f U g` without ever satisfying `g`.
//!
//! Differs from the original: `[]<>g` is one state that loops, and passing
//! through `g` earns its mark, so that conjunctions of such formulas need one
//! state instead of one per subset (the "suspendable" formulas of Babiak et al.).

use crate::error::Error;
use crate::generalized::{Generalized, MarkedEdge};
use crate::label::Cube;
use crate::rewrite::{FALSE, Forms, FormulaId, Node, TRUE};
use rustc_hash::FxHashMap;

const MAX_STATES: usize = 20_000;
const MAX_EDGES: usize = 400_000;

/// A conjunction of obligations for the next position, sorted.
type Obligations = Vec<FormulaId>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Move {
    label: Cube,
    next: Obligations,
}

/// A move that also says which marks it has earned.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct MarkedMove {
    label: Cube,
    next: Obligations,
    marks: u64,
}

/// Does an edge that takes on an obligation carry its mark? Both are right, since
/// taking on can only repeat if the obligation is met in between, and sometimes one
/// gives the smaller automaton, sometimes the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    Marked,
    Unmarked,
}

/// Builds the automaton that accepts exactly the words of `form`.
pub(crate) fn build(
    forms: &mut Forms,
    form: FormulaId,
    entry: Entry,
) -> Result<Generalized, Error> {
    let mut builder = Builder {
        forms,
        entry,
        moves: FxHashMap::default(),
        marked: FxHashMap::default(),
        total: 0,
    };
    builder.run(form)
}

struct Builder<'a> {
    forms: &'a mut Forms,
    entry: Entry,
    moves: FxHashMap<FormulaId, Vec<Move>>,
    /// Mark of each obligation that must not be postponed for ever.
    marked: FxHashMap<FormulaId, u32>,
    total: usize,
}

impl Builder<'_> {
    fn run(&mut self, form: FormulaId) -> Result<Generalized, Error> {
        self.assign_marks(form)?;
        let mut index: FxHashMap<Obligations, u32> = FxHashMap::default();
        let mut states: Vec<Obligations> = Vec::new();
        let mut automaton =
            Generalized { marks: self.marked.len() as u32, ..Generalized::default() };
        // One initial state, whatever the shape of the formula.
        if form != FALSE {
            let start = match self.forms.node(form) {
                Node::True => Vec::new(),
                Node::And(parts) => parts.to_vec(),
                _ => vec![form],
            };
            index.insert(start.clone(), 0);
            states.push(start);
            automaton.initial.push(0);
        }
        let mut next = 0;
        while next < states.len() {
            let moves = self.successors(&states[next])?;
            next += 1;
            self.total += moves.len();
            if self.total > MAX_EDGES {
                return Err(Error::TooLarge { limit: MAX_EDGES, unit: "edges" });
            }
            let mut edges = Vec::with_capacity(moves.len());
            for step in moves {
                let fresh = states.len() as u32;
                let target = *index.entry(step.next).or_insert_with_key(|set| {
                    states.push(set.clone());
                    fresh
                });
                edges.push(MarkedEdge { target, marks: step.marks, label: step.label });
            }
            automaton.edges.push(edges);
            if states.len() > MAX_STATES {
                return Err(Error::TooLarge { limit: MAX_STATES, unit: "states" });
            }
        }
        Ok(automaton)
    }

    fn assign_marks(&mut self, form: FormulaId) -> Result<(), Error> {
        let mut seen = vec![form];
        let mut next = 0;
        while next < seen.len() {
            let form = seen[next];
            next += 1;
            let mut visit = |f: FormulaId| {
                if !seen.contains(&f) {
                    seen.push(f);
                }
            };
            let mut marked = false;
            if let Some(goal) = self.forms.always_eventually(form) {
                marked = true;
                visit(goal);
            } else {
                match self.forms.node(form) {
                    Node::True | Node::False | Node::Literal(..) => {}
                    Node::And(parts) | Node::Or(parts) => parts.iter().for_each(|p| visit(*p)),
                    Node::Next(f) => visit(*f),
                    Node::Until(f, g) => {
                        marked = true;
                        visit(*f);
                        visit(*g);
                    }
                    Node::Release(f, g) => {
                        visit(*f);
                        visit(*g);
                    }
                }
            }
            if marked {
                let mark = self.marked.len() as u32;
                if mark == 64 {
                    return Err(Error::TooLarge { limit: 64, unit: "acceptance sets" });
                }
                self.marked.insert(form, mark);
            }
        }
        Ok(())
    }

    /// Edges of the generalised automaton from one set of obligations.
    fn successors(&mut self, state: &Obligations) -> Result<Vec<MarkedMove>, Error> {
        let mut result = vec![MarkedMove { label: Cube::TRUE, next: Vec::new(), marks: 0 }];
        for form in state {
            let own = self.own_moves(*form)?;
            let mut product = Vec::new();
            for left in &result {
                for right in &own {
                    if let Some(label) = left.label.and(right.label) {
                        product.push(MarkedMove {
                            label,
                            next: union(&left.next, &right.next),
                            marks: left.marks | right.marks,
                        });
                    }
                }
            }
            self.check(product.len())?;
            keep_undominated(&mut product);
            result = product;
        }
        let all: Vec<(FormulaId, u32)> = self.marked.iter().map(|(f, m)| (*f, *m)).collect();
        for step in &mut result {
            for (form, mark) in &all {
                let entered = self.entry == Entry::Marked && !contains(state, *form);
                if entered || !contains(&step.next, *form) {
                    step.marks |= 1 << mark;
                }
            }
        }
        keep_undominated(&mut result);
        Ok(result)
    }

    /// Moves of one obligation, with the mark it earns by each.
    fn own_moves(&mut self, form: FormulaId) -> Result<Vec<MarkedMove>, Error> {
        if let Some(goal) = self.forms.always_eventually(form) {
            let mark = 1u64 << self.marked[&form];
            let mut result: Vec<MarkedMove> = self
                .moves(goal)?
                .into_iter()
                .map(|step| MarkedMove {
                    label: step.label,
                    next: union(&step.next, &[form]),
                    marks: mark,
                })
                .collect();
            result.push(MarkedMove { label: Cube::TRUE, next: vec![form], marks: 0 });
            return Ok(result);
        }
        let mark = self.marked.get(&form).map_or(0, |m| 1u64 << m);
        Ok(self
            .moves(form)?
            .into_iter()
            .map(|step| {
                let marks = if contains(&step.next, form) { 0 } else { mark };
                MarkedMove { label: step.label, next: step.next, marks }
            })
            .collect())
    }

    /// Transition function of the alternating automaton, as a disjunction of moves.
    fn moves(&mut self, form: FormulaId) -> Result<Vec<Move>, Error> {
        if let Some(known) = self.moves.get(&form) {
            return Ok(known.clone());
        }
        let stay = |form| vec![Move { label: Cube::TRUE, next: vec![form] }];
        let result = if self.forms.always_eventually(form).is_some() {
            // Used where the obligation is new: waiting one step loses nothing.
            stay(form)
        } else {
            match self.forms.node(form).clone() {
                Node::True => vec![Move { label: Cube::TRUE, next: Vec::new() }],
                Node::False => Vec::new(),
                Node::Literal(p, value) => {
                    vec![Move { label: Cube::literal(p, value), next: Vec::new() }]
                }
                Node::And(parts) => {
                    let mut result = self.moves(TRUE)?;
                    for part in parts {
                        let other = self.moves(part)?;
                        result = self.conjunction(&result, &other)?;
                    }
                    result
                }
                Node::Or(parts) => {
                    let mut result = Vec::new();
                    for part in parts {
                        result.extend(self.moves(part)?);
                    }
                    keep_minimal(&mut result);
                    result
                }
                Node::Next(f) => self
                    .choices(f)?
                    .into_iter()
                    .map(|next| Move { label: Cube::TRUE, next })
                    .collect(),
                Node::Until(f, g) => {
                    let mut result = self.moves(g)?;
                    let keep = self.moves(f)?;
                    result.extend(self.conjunction(&keep, &stay(form))?);
                    keep_minimal(&mut result);
                    result
                }
                Node::Release(f, g) => {
                    let mut free = self.moves(f)?;
                    free.extend(stay(form));
                    let hold = self.moves(g)?;
                    self.conjunction(&hold, &free)?
                }
            }
        };
        self.moves.insert(form, result.clone());
        Ok(result)
    }

    fn conjunction(&self, left: &[Move], right: &[Move]) -> Result<Vec<Move>, Error> {
        let mut result = Vec::new();
        for a in left {
            for b in right {
                if let Some(label) = a.label.and(b.label) {
                    result.push(Move { label, next: union(&a.next, &b.next) });
                }
            }
        }
        self.check(result.len())?;
        keep_minimal(&mut result);
        Ok(result)
    }

    /// A formula as alternatives of obligations, for `X`.
    fn choices(&self, form: FormulaId) -> Result<Vec<Obligations>, Error> {
        match self.forms.node(form) {
            Node::True => Ok(vec![Vec::new()]),
            Node::False => Ok(Vec::new()),
            Node::Or(parts) => {
                let mut result = Vec::new();
                for part in parts.iter() {
                    result.extend(self.choices(*part)?);
                }
                Ok(result)
            }
            Node::And(parts) => {
                let mut result = vec![Vec::new()];
                for part in parts.iter() {
                    let other = self.choices(*part)?;
                    self.check(result.len() * other.len())?;
                    result = result
                        .iter()
                        .flat_map(|a: &Obligations| other.iter().map(move |b| union(a, b)))
                        .collect();
                }
                Ok(result)
            }
            _ => Ok(vec![vec![form]]),
        }
    }

    fn check(&self, size: usize) -> Result<(), Error> {
        // Pruning is quadratic, so the limit is on what it has to look at.
        const LIMIT: usize = 20_000;
        if size > LIMIT {
            return Err(Error::TooLarge { limit: LIMIT, unit: "alternatives in one step" });
        }
        Ok(())
    }
}

fn union(a: &[FormulaId], b: &[FormulaId]) -> Obligations {
    let mut result = Vec::with_capacity(a.len() + b.len());
    result.extend_from_slice(a);
    result.extend_from_slice(b);
    result.sort_unstable();
    result.dedup();
    result
}

fn contains(set: &[FormulaId], form: FormulaId) -> bool {
    set.binary_search(&form).is_ok()
}

fn subset(a: &[FormulaId], b: &[FormulaId]) -> bool {
    a.iter().all(|f| contains(b, *f))
}

fn keep_minimal(moves: &mut Vec<Move>) {
    retain_undominated(moves, |m, by| m.label.implies(by.label) && subset(&by.next, &m.next));
}

fn keep_undominated(moves: &mut Vec<MarkedMove>) {
    retain_undominated(moves, |m, by| {
        m.marks & by.marks == m.marks && m.label.implies(by.label) && subset(&by.next, &m.next)
    });
}

fn retain_undominated<T: Ord>(items: &mut Vec<T>, dominated: impl Fn(&T, &T) -> bool) {
    items.sort_unstable();
    items.dedup();
    let mut kept: Vec<T> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        if kept.iter().any(|k| dominated(&item, k)) {
            continue;
        }
        kept.retain(|k| !dominated(k, &item));
        kept.push(item);
    }
    *items = kept;
}
