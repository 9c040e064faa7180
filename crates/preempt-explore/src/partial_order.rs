//! The two algorithms of the paper as printed, on the graph of all steps within a bound.
//!
//! Paper: \[MQ07b\] Algorithms 1 and 2
//! Differs from the paper: CB(s, t), the least number of preemptions of a step, is taken from the
//! forward search that found the step instead of being computed backwards with a memo over all
//! prefixes (which is exponential); and since the steps are at hand, neither algorithm runs the
//! program. They are kept for the paper's table and as oracles: both must visit exactly the
//! terminals that the default strategy counts.

use rustc_hash::{FxHashMap, FxHashSet};

/// All steps (s, t) with CB(s, t) within a bound.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Successors of each state.
    next: FxHashMap<u128, Vec<u128>>,
    /// Predecessors of each state.
    before: FxHashMap<u128, Vec<u128>>,
    /// The initial state.
    pub initial: u128,
    /// States in which nothing can move.
    pub terminals: FxHashSet<u128>,
}

/// What one of the algorithms did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Visits {
    /// Calls of Search.
    pub searched: u64,
    /// Calls of Mark (Algorithm 2).
    pub marked: u64,
    /// Terminal states visited: the executions of a stateless implementation.
    pub terminals: u64,
}

impl Steps {
    /// Adds a step.
    pub fn add(&mut self, from: u128, to: u128) {
        let next = self.next.entry(from).or_default();
        if !next.contains(&to) {
            next.push(to);
            self.before.entry(to).or_default().push(from);
        }
    }

    fn next(&self, state: u128) -> &[u128] {
        self.next.get(&state).map_or(&[], Vec::as_slice)
    }

    /// Visits every state once.
    #[doc(alias = "MQ07b Algorithm 1")]
    pub fn algorithm_1(&self) -> Visits {
        let mut visits = Visits::default();
        let mut visited = FxHashSet::default();
        let mut stack = vec![self.initial];
        visited.insert(self.initial);
        while let Some(state) = stack.pop() {
            visits.searched += 1;
            visits.terminals += u64::from(self.terminals.contains(&state));
            for &next in self.next(state) {
                if visited.insert(next) {
                    stack.push(next);
                }
            }
        }
        visits
    }

    /// Visits every terminal once; a state is marked when all terminals behind it were visited.
    #[doc(alias = "MQ07b Algorithm 2")]
    pub fn algorithm_2(&self) -> Visits {
        let mut visits = Visits::default();
        let mut marked = FxHashSet::default();
        // The recursion of Search as a stack of (state, position in its successors).
        let mut stack = vec![(self.initial, 0)];
        visits.searched = 1;
        while let Some(&mut (state, ref mut position)) = stack.last_mut() {
            // Line 4: terminal states are marked.
            if self.terminals.contains(&state) {
                visits.terminals += 1;
                self.mark(state, &mut marked, &mut visits);
                stack.pop();
                continue;
            }
            // Lines 8 to 10.
            let successor = self.next(state).get(*position).copied();
            *position += 1;
            match successor {
                Some(next) if !marked.contains(&next) => {
                    visits.searched += 1;
                    stack.push((next, 0));
                }
                Some(_) => {}
                None => {
                    stack.pop();
                }
            }
        }
        visits
    }

    /// Lines 15 to 22.
    fn mark(&self, state: u128, marked: &mut FxHashSet<u128>, visits: &mut Visits) {
        let mut work = vec![state];
        while let Some(state) = work.pop() {
            if !marked.insert(state) {
                continue;
            }
            visits.marked += 1;
            for &before in self.before.get(&state).map_or(&[][..], Vec::as_slice) {
                if self.next(before).iter().all(|next| marked.contains(next)) {
                    work.push(before);
                }
            }
        }
    }
}
