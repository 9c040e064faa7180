//! A program, a property automaton and ample sets, checked by plain search.
//!
//! Nothing here knows of the solver: an instance that the solver proposes as a
//! counterexample is believed only after [`Instance::check`].

use super::scheme::Scheme;

/// Operations are partial functions on program states; state 0 is initial in both parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instance {
    pub(crate) scheme: Scheme,
    /// `next[operation][state]`.
    pub(crate) next: Vec<Vec<Option<usize>>>,
    /// Letter that holds in each program state.
    pub(crate) label: Vec<usize>,
    pub(crate) property: Property,
    /// `ample[program state][property state][operation]`.
    pub(crate) ample: Vec<Vec<Vec<bool>>>,
}

/// A Büchi automaton over letters 0, 1, 2, …
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Property {
    pub(crate) letters: usize,
    pub(crate) states: usize,
    /// Source, letter, target.
    pub(crate) edges: Vec<(usize, usize, usize)>,
    pub(crate) accepting: Vec<bool>,
}

type Pair = (usize, usize);

impl Instance {
    fn operations(&self) -> std::ops::Range<usize> {
        0..self.next.len()
    }

    fn enabled(&self, q: usize) -> Vec<usize> {
        self.operations().filter(|o| self.next[*o][q].is_some()).collect()
    }

    fn is_full(&self, q: usize, s: usize) -> bool {
        self.enabled(q).into_iter().all(|o| self.ample[q][s][o])
    }

    /// Product edges; the reduced ones with whether their ample set was full.
    fn successors(&self, (q, s): Pair, reduced: bool) -> Vec<(Pair, bool)> {
        let mut result = Vec::new();
        for (source, letter, target) in &self.property.edges {
            if *source != s || *letter != self.label[q] {
                continue;
            }
            let decides = match self.scheme {
                Scheme::V0 => *target,
                Scheme::V1 => s,
            };
            for operation in self.enabled(q) {
                if let Some(after) = self.next[operation][q]
                    && (!reduced || self.ample[q][decides][operation])
                {
                    result.push(((after, *target), self.is_full(q, decides)));
                }
            }
        }
        result
    }

    fn reached(&self, from: Vec<Pair>, reduced: bool, through_full: bool) -> Vec<Pair> {
        let mut reached = Vec::new();
        let mut stack = from;
        while let Some(pair) = stack.pop() {
            if reached.contains(&pair) {
                continue;
            }
            reached.push(pair);
            stack.extend(
                self.successors(pair, reduced)
                    .into_iter()
                    .filter(|(_, full)| through_full || !full)
                    .map(|(next, _)| next),
            );
        }
        reached
    }

    fn accepts_something(&self, reduced: bool) -> bool {
        self.reached(vec![(0, 0)], reduced, true)
            .into_iter()
            .filter(|(_, s)| self.property.accepting[*s])
            .any(|pair| {
                let next = self.successors(pair, reduced).into_iter().map(|(n, _)| n).collect();
                self.reached(next, reduced, true).contains(&pair)
            })
    }

    fn independent(&self, a: usize, b: usize) -> bool {
        let reachable = self.program_reachable(&[0], |_| true);
        reachable.into_iter().all(|q| {
            let (Some(x), Some(y)) = (self.next[a][q], self.next[b][q]) else {
                return true;
            };
            let (ab, ba) = (self.next[b][x], self.next[a][y]);
            ab.is_some() && ab == ba
        })
    }

    fn invisible(&self, operation: usize) -> bool {
        let reachable = self.program_reachable(&[0], |_| true);
        reachable
            .into_iter()
            .all(|q| self.next[operation][q].is_none_or(|z| self.label[q] == self.label[z]))
    }

    fn program_reachable(&self, from: &[usize], allowed: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut reached = Vec::new();
        let mut stack = from.to_vec();
        while let Some(q) = stack.pop() {
            if !reached.contains(&q) {
                reached.push(q);
                stack.extend(
                    self.operations().filter(|o| allowed(*o)).filter_map(|o| self.next[o][q]),
                );
            }
        }
        reached
    }

    /// Is this a legal reduction (C0, C1, C2, C3′) that loses the only violations?
    pub(crate) fn check(&self) -> Result<(), String> {
        for q in 0..self.label.len() {
            for s in 0..self.property.states {
                self.check_ample(q, s)?;
            }
        }
        for pair in self.reached(vec![(0, 0)], true, true) {
            let next = self
                .successors(pair, true)
                .into_iter()
                .filter(|(_, full)| !full)
                .map(|(n, _)| n)
                .collect();
            if self.reached(next, true, false).contains(&pair) {
                return Err(format!("C3': a cycle through {pair:?} is never full"));
            }
        }
        if !self.accepts_something(false) {
            return Err("the full product has no accepting cycle".into());
        }
        if self.accepts_something(true) {
            return Err("the reduced product keeps an accepting cycle".into());
        }
        Ok(())
    }

    fn check_ample(&self, q: usize, s: usize) -> Result<(), String> {
        let enabled = self.enabled(q);
        let ample: Vec<usize> = self.operations().filter(|o| self.ample[q][s][*o]).collect();
        let place = format!("({q},{s})");
        if !ample.iter().all(|o| enabled.contains(o)) {
            return Err(format!("{place}: an ample operation is not enabled"));
        }
        if ample.is_empty() && !enabled.is_empty() {
            return Err(format!("C0 fails at {place}"));
        }
        if ample.len() < enabled.len() && !ample.iter().all(|o| self.invisible(*o)) {
            return Err(format!("C2 fails at {place}"));
        }
        for later in self.program_reachable(&[q], |o| !ample.contains(&o)) {
            for other in self.enabled(later) {
                let dependent = ample.iter().any(|o| !self.independent(*o, other));
                if !ample.contains(&other) && dependent {
                    return Err(format!("C1 fails at {place}"));
                }
            }
        }
        Ok(())
    }
}
