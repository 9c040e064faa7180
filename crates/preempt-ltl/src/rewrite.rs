//! Negation normal form with rewriting: shared nodes whose constructors simplify.
//!
//! Only `U` and `V` remain as temporal operators besides `X` (`<>f` is
//! `true U f`, `[]f` is `false V f`). The rules are the language equivalences of
//! Somenzi and Bloem and of Etessami and Holzmann: syntactic implication, purely
//! eventual and purely universal subformulas. Every rule keeps the language, so
//! rewriting can never make a verdict wrong, only an automaton smaller.

use crate::formula::Formula;
use rustc_hash::FxHashMap;

/// A node in [`Forms`].
pub(crate) type FormulaId = u32;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    True,
    False,
    Literal(u32, bool),
    And(Box<[FormulaId]>),
    Or(Box<[FormulaId]>),
    Next(FormulaId),
    Until(FormulaId, FormulaId),
    Release(FormulaId, FormulaId),
}

/// Hash-consed formulas in negation normal form.
pub(crate) struct Forms {
    nodes: Vec<Node>,
    index: FxHashMap<Node, FormulaId>,
    /// Satisfied by every word that has a satisfying suffix.
    eventual: Vec<bool>,
    /// Satisfied by every suffix of a satisfying word.
    universal: Vec<bool>,
    implications: FxHashMap<(FormulaId, FormulaId), bool>,
}

pub(crate) const TRUE: FormulaId = 0;
pub(crate) const FALSE: FormulaId = 1;

impl Forms {
    pub(crate) fn new() -> Forms {
        let mut forms = Forms {
            nodes: Vec::new(),
            index: FxHashMap::default(),
            eventual: Vec::new(),
            universal: Vec::new(),
            implications: FxHashMap::default(),
        };
        forms.intern(Node::True);
        forms.intern(Node::False);
        forms
    }

    pub(crate) fn node(&self, form: FormulaId) -> &Node {
        &self.nodes[form as usize]
    }

    /// `[]<>g` with its `g`.
    pub(crate) fn always_eventually(&self, form: FormulaId) -> Option<FormulaId> {
        match *self.node(form) {
            Node::Release(FALSE, inner) => match *self.node(inner) {
                Node::Until(TRUE, goal) => Some(goal),
                _ => None,
            },
            _ => None,
        }
    }

    fn eventually_always(&self, form: FormulaId) -> Option<FormulaId> {
        match *self.node(form) {
            Node::Until(TRUE, inner) => match *self.node(inner) {
                Node::Release(FALSE, goal) => Some(goal),
                _ => None,
            },
            _ => None,
        }
    }

    /// The simplified normal form of `formula`, or of its negation.
    pub(crate) fn add(&mut self, formula: &Formula, positive: bool) -> FormulaId {
        match formula {
            Formula::True => self.constant(positive),
            Formula::False => self.constant(!positive),
            Formula::Prop(p) => self.intern(Node::Literal(*p, positive)),
            Formula::Not(f) => self.add(f, !positive),
            Formula::And(f, g) | Formula::Or(f, g) => {
                let parts = vec![self.add(f, positive), self.add(g, positive)];
                self.junction(matches!(formula, Formula::And(..)) == positive, parts)
            }
            Formula::Implies(f, g) => {
                let parts = vec![self.add(f, !positive), self.add(g, positive)];
                self.junction(!positive, parts)
            }
            Formula::Equivalent(f, g) => {
                let (f_yes, f_no) = (self.add(f, true), self.add(f, false));
                let (g_yes, g_no) = (self.add(g, true), self.add(g, false));
                let (first, second) = if positive {
                    (self.and(vec![f_yes, g_yes]), self.and(vec![f_no, g_no]))
                } else {
                    (self.and(vec![f_yes, g_no]), self.and(vec![f_no, g_yes]))
                };
                self.or(vec![first, second])
            }
            Formula::Next(f) => {
                let f = self.add(f, positive);
                self.next(f)
            }
            Formula::Always(f) | Formula::Eventually(f) => {
                let inner = self.add(f, positive);
                if matches!(formula, Formula::Always(_)) == positive {
                    self.release(FALSE, inner)
                } else {
                    self.until(TRUE, inner)
                }
            }
            Formula::Until(f, g) | Formula::Release(f, g) => {
                let (f, g) = (self.add(f, positive), self.add(g, positive));
                if matches!(formula, Formula::Until(..)) == positive {
                    self.until(f, g)
                } else {
                    self.release(f, g)
                }
            }
            // f W g = g V (f || g)
            Formula::WeakUntil(f, g) => {
                let (f, g) = (self.add(f, positive), self.add(g, positive));
                if positive {
                    let either = self.or(vec![f, g]);
                    self.release(g, either)
                } else {
                    let both = self.and(vec![f, g]);
                    self.until(g, both)
                }
            }
        }
    }

    fn constant(&self, value: bool) -> FormulaId {
        if value { TRUE } else { FALSE }
    }

    fn intern(&mut self, node: Node) -> FormulaId {
        if let Some(form) = self.index.get(&node) {
            return *form;
        }
        let form = self.nodes.len() as FormulaId;
        let (eventual, universal) = self.purity(&node);
        self.index.insert(node.clone(), form);
        self.nodes.push(node);
        self.eventual.push(eventual);
        self.universal.push(universal);
        form
    }

    fn purity(&self, node: &Node) -> (bool, bool) {
        let eventual = |f: &FormulaId| self.eventual[*f as usize];
        let universal = |f: &FormulaId| self.universal[*f as usize];
        match node {
            Node::True | Node::False => (true, true),
            Node::Literal(..) => (false, false),
            Node::And(parts) | Node::Or(parts) => {
                (parts.iter().all(eventual), parts.iter().all(universal))
            }
            Node::Next(f) => (eventual(f), universal(f)),
            Node::Until(f, g) => (*f == TRUE || eventual(g), universal(f) && universal(g)),
            Node::Release(f, g) => (eventual(f) && eventual(g), *f == FALSE || universal(g)),
        }
    }

    fn is_eventual(&self, form: FormulaId) -> bool {
        self.eventual[form as usize]
    }

    fn is_universal(&self, form: FormulaId) -> bool {
        self.universal[form as usize]
    }

    /// Its truth does not depend on where in the word it is asked.
    fn is_alternating(&self, form: FormulaId) -> bool {
        self.is_eventual(form) && self.is_universal(form)
    }

    pub(crate) fn and(&mut self, parts: Vec<FormulaId>) -> FormulaId {
        self.junction(true, parts)
    }

    pub(crate) fn or(&mut self, parts: Vec<FormulaId>) -> FormulaId {
        self.junction(false, parts)
    }

    /// Conjunction or disjunction; written once because all rules are dual.
    fn junction(&mut self, conjunction: bool, parts: Vec<FormulaId>) -> FormulaId {
        let (neutral, absorbing) = if conjunction { (TRUE, FALSE) } else { (FALSE, TRUE) };
        let mut flat: Vec<FormulaId> = Vec::new();
        for part in parts {
            match (self.node(part), conjunction) {
                (Node::And(inner), true) | (Node::Or(inner), false) => {
                    flat.extend_from_slice(inner);
                }
                _ => flat.push(part),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        flat.retain(|f| *f != neutral);
        if flat.contains(&absorbing) {
            return absorbing;
        }
        if let Some(merged) = self.merge_pair(conjunction, &flat) {
            return self.junction(conjunction, merged);
        }
        for i in 0..flat.len() {
            for j in 0..flat.len() {
                if i != j && self.contradicts(flat[i], flat[j], conjunction) {
                    return absorbing;
                }
            }
        }
        let mut kept: Vec<FormulaId> = Vec::new();
        for i in 0..flat.len() {
            let redundant = (0..flat.len()).any(|j| {
                let (a, b) = if conjunction { (flat[j], flat[i]) } else { (flat[i], flat[j]) };
                // Of two that imply each other the earlier stays.
                i != j && self.implies(a, b) && !(i < j && self.implies(b, a))
            });
            if !redundant {
                kept.push(flat[i]);
            }
        }
        match kept.len() {
            0 => neutral,
            1 => kept[0],
            _ if conjunction => self.intern(Node::And(kept.into())),
            _ => self.intern(Node::Or(kept.into())),
        }
    }

    /// Two members that have one formula for both, replaced by it.
    fn merge_pair(&mut self, conjunction: bool, flat: &[FormulaId]) -> Option<Vec<FormulaId>> {
        for i in 0..flat.len() {
            for j in i + 1..flat.len() {
                if let Some(joined) = self.joined(conjunction, flat[i], flat[j]) {
                    let mut merged = flat.to_vec();
                    merged.remove(j);
                    merged[i] = joined;
                    return Some(merged);
                }
            }
        }
        None
    }

    fn joined(&mut self, conjunction: bool, a: FormulaId, b: FormulaId) -> Option<FormulaId> {
        if !conjunction
            && let (Some(f), Some(g)) = (self.always_eventually(a), self.always_eventually(b))
        {
            let either = self.or(vec![f, g]);
            let eventually = self.until(TRUE, either);
            return Some(self.release(FALSE, eventually));
        }
        if conjunction
            && let (Some(f), Some(g)) = (self.eventually_always(a), self.eventually_always(b))
        {
            let both = self.and(vec![f, g]);
            let always = self.release(FALSE, both);
            return Some(self.until(TRUE, always));
        }
        match (self.node(a).clone(), self.node(b).clone()) {
            (Node::Next(f), Node::Next(g)) => {
                let inner = self.junction(conjunction, vec![f, g]);
                Some(self.next(inner))
            }
            (Node::Until(f, g), Node::Until(h, k)) if conjunction && g == k => {
                let both = self.and(vec![f, h]);
                Some(self.until(both, g))
            }
            (Node::Until(f, g), Node::Until(h, k)) if !conjunction && f == h => {
                let either = self.or(vec![g, k]);
                Some(self.until(f, either))
            }
            (Node::Release(f, g), Node::Release(h, k)) if !conjunction && g == k => {
                let either = self.or(vec![f, h]);
                Some(self.release(either, g))
            }
            (Node::Release(f, g), Node::Release(h, k)) if conjunction && f == h && f != FALSE => {
                let both = self.and(vec![g, k]);
                Some(self.release(f, both))
            }
            _ => None,
        }
    }

    /// Cheap test that `a` and `b` exclude each other (or, dually, cover everything).
    fn contradicts(&mut self, a: FormulaId, b: FormulaId, conjunction: bool) -> bool {
        let opposite = self.negate(a);
        if conjunction { self.implies(b, opposite) } else { self.implies(opposite, b) }
    }

    pub(crate) fn negate(&mut self, form: FormulaId) -> FormulaId {
        match self.node(form).clone() {
            Node::True => FALSE,
            Node::False => TRUE,
            Node::Literal(p, value) => self.intern(Node::Literal(p, !value)),
            // Interned as they stand: simplifying here would recurse for ever
            // through `contradicts`, and duals of simple formulas are simple.
            Node::And(parts) => {
                let parts = self.negate_all(&parts);
                self.intern(Node::Or(parts))
            }
            Node::Or(parts) => {
                let parts = self.negate_all(&parts);
                self.intern(Node::And(parts))
            }
            Node::Next(f) => {
                let f = self.negate(f);
                self.intern(Node::Next(f))
            }
            Node::Until(f, g) => {
                let (f, g) = (self.negate(f), self.negate(g));
                self.intern(Node::Release(f, g))
            }
            Node::Release(f, g) => {
                let (f, g) = (self.negate(f), self.negate(g));
                self.intern(Node::Until(f, g))
            }
        }
    }

    fn negate_all(&mut self, parts: &[FormulaId]) -> Box<[FormulaId]> {
        let mut negated: Vec<FormulaId> = parts.iter().map(|f| self.negate(*f)).collect();
        negated.sort_unstable();
        negated.into()
    }

    fn next(&mut self, f: FormulaId) -> FormulaId {
        if self.is_alternating(f) {
            return f;
        }
        self.intern(Node::Next(f))
    }

    fn until(&mut self, f: FormulaId, g: FormulaId) -> FormulaId {
        if f == FALSE || g == TRUE || g == FALSE || self.is_eventual(g) || self.implies(f, g) {
            return g;
        }
        let not_goal = self.negate(g);
        if f != TRUE && self.implies(not_goal, f) {
            return self.until(TRUE, g);
        }
        match (self.node(f).clone(), self.node(g).clone()) {
            (Node::Next(a), Node::Next(b)) => {
                let inner = self.until(a, b);
                return self.next(inner);
            }
            (_, Node::Next(b)) if f == TRUE => {
                let inner = self.until(TRUE, b);
                return self.next(inner);
            }
            // <>(a U b) = <>b
            (_, Node::Until(_, b)) if f == TRUE => return self.until(TRUE, b),
            // f U (h U g) = h U g when f implies h
            (_, Node::Until(h, _)) if self.implies(f, h) => return g,
            // <>(a && alternating) = <>a && alternating, and so for every U
            (_, Node::And(parts)) => {
                let (fixed, rest) = self.split_alternating(&parts);
                if !fixed.is_empty() {
                    let rest = self.and(rest);
                    let inner = self.until(f, rest);
                    let mut all = fixed;
                    all.push(inner);
                    return self.and(all);
                }
            }
            // <>(eventual || b) = eventual || <>b
            (_, Node::Or(parts)) if f == TRUE => {
                let (eventual, rest): (Vec<FormulaId>, Vec<FormulaId>) =
                    parts.iter().partition(|p| self.is_eventual(**p));
                if !eventual.is_empty() {
                    let rest = self.or(rest);
                    let inner = self.until(TRUE, rest);
                    let mut all = eventual;
                    all.push(inner);
                    return self.or(all);
                }
            }
            _ => {}
        }
        self.intern(Node::Until(f, g))
    }

    fn release(&mut self, f: FormulaId, g: FormulaId) -> FormulaId {
        if f == TRUE || g == TRUE || g == FALSE || self.is_universal(g) || self.implies(g, f) {
            return g;
        }
        let not_kept = self.negate(g);
        if f != FALSE && self.implies(f, not_kept) {
            return self.release(FALSE, g);
        }
        match (self.node(f).clone(), self.node(g).clone()) {
            (Node::Next(a), Node::Next(b)) => {
                let inner = self.release(a, b);
                return self.next(inner);
            }
            (_, Node::Next(b)) if f == FALSE => {
                let inner = self.release(FALSE, b);
                return self.next(inner);
            }
            // [](a V b) = []b
            (_, Node::Release(_, b)) if f == FALSE => return self.release(FALSE, b),
            (_, Node::Release(h, _)) if self.implies(h, f) => return g,
            (_, Node::Or(parts)) => {
                let (fixed, rest) = self.split_alternating(&parts);
                if !fixed.is_empty() {
                    let rest = self.or(rest);
                    let inner = self.release(f, rest);
                    let mut all = fixed;
                    all.push(inner);
                    return self.or(all);
                }
            }
            (_, Node::And(parts)) if f == FALSE => {
                let all = parts.iter().map(|p| self.release(FALSE, *p)).collect();
                return self.and(all);
            }
            // [](a U b) = []<>b && [](a || b)
            (_, Node::Until(a, b)) if f == FALSE && a != TRUE => {
                let eventually = self.until(TRUE, b);
                let infinitely = self.release(FALSE, eventually);
                let either = self.or(vec![a, b]);
                let always = self.release(FALSE, either);
                return self.and(vec![infinitely, always]);
            }
            _ => {}
        }
        self.intern(Node::Release(f, g))
    }

    fn split_alternating(&self, parts: &[FormulaId]) -> (Vec<FormulaId>, Vec<FormulaId>) {
        parts.iter().partition(|p| self.is_alternating(**p))
    }

    /// Sufficient, not necessary, for "every word of `a` is a word of `b`".
    pub(crate) fn implies(&mut self, a: FormulaId, b: FormulaId) -> bool {
        if a == b || a == FALSE || b == TRUE {
            return true;
        }
        if a == TRUE || b == FALSE {
            return false;
        }
        if let Some(known) = self.implications.get(&(a, b)) {
            return *known;
        }
        let answer = self.implies_structurally(a, b);
        self.implications.insert((a, b), answer);
        answer
    }

    fn implies_structurally(&mut self, a: FormulaId, b: FormulaId) -> bool {
        let (left, right) = (self.node(a).clone(), self.node(b).clone());
        match (&left, &right) {
            (Node::Or(parts), _) => return parts.iter().all(|p| self.implies(*p, b)),
            (_, Node::And(parts)) => return parts.iter().all(|p| self.implies(a, *p)),
            (Node::Until(f, g), Node::Until(h, k))
                if self.implies(*f, *h) && self.implies(*g, *k) =>
            {
                return true;
            }
            (Node::Release(f, g), Node::Release(h, k))
                if self.implies(*f, *h) && self.implies(*g, *k) =>
            {
                return true;
            }
            (Node::Next(f), Node::Next(g)) if self.implies(*f, *g) => return true,
            _ => {}
        }
        if let Node::And(parts) = &left
            && parts.iter().any(|p| self.implies(*p, b))
        {
            return true;
        }
        if let Node::Or(parts) = &right
            && parts.iter().any(|p| self.implies(a, *p))
        {
            return true;
        }
        match left {
            Node::Until(f, g) if self.implies(f, b) && self.implies(g, b) => return true,
            Node::Release(_, g) if self.implies(g, b) => return true,
            Node::Next(f) if self.is_eventual(b) && self.implies(f, b) => return true,
            _ => {}
        }
        match right {
            Node::Until(_, g) => self.implies(a, g),
            Node::Release(f, g) => {
                (self.implies(a, f) || self.is_universal(a)) && self.implies(a, g)
            }
            Node::Next(f) => self.is_universal(a) && self.implies(a, f),
            _ => false,
        }
    }
}
