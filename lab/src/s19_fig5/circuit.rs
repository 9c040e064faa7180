//! Propositional circuits as clauses, and the solver behind them.
//!
//! Gates are shared by their inputs, so that equal subcircuits cost nothing.

use std::collections::HashMap;
use std::time::Duration;

/// A variable number, negative if negated; never 0.
pub(crate) type Lit = i32;

/// Clauses under construction.
pub(crate) struct Circuit {
    variables: i32,
    clauses: Vec<Vec<Lit>>,
    gates: HashMap<Vec<Lit>, Lit>,
}

/// The literal that is true in every model.
pub(crate) const TRUE: Lit = 1;

/// A satisfying assignment.
pub(crate) struct Model(Vec<bool>);

impl Model {
    pub(crate) fn holds(&self, literal: Lit) -> bool {
        self.0[literal.unsigned_abs() as usize] == (literal > 0)
    }
}

impl Circuit {
    pub(crate) fn new() -> Circuit {
        Circuit { variables: TRUE, clauses: vec![vec![TRUE]], gates: HashMap::new() }
    }

    pub(crate) fn fresh(&mut self) -> Lit {
        self.variables += 1;
        self.variables
    }

    /// Requires one of the literals.
    pub(crate) fn require(&mut self, clause: impl IntoIterator<Item = Lit>) {
        let mut clause: Vec<Lit> = clause.into_iter().filter(|l| *l != -TRUE).collect();
        clause.sort_unstable();
        clause.dedup();
        let trivial = clause.contains(&TRUE) || clause.iter().any(|l| clause.contains(&-l));
        if !trivial {
            self.clauses.push(clause);
        }
    }

    pub(crate) fn and(&mut self, inputs: impl IntoIterator<Item = Lit>) -> Lit {
        let mut inputs: Vec<Lit> = inputs.into_iter().filter(|l| *l != TRUE).collect();
        inputs.sort_unstable();
        inputs.dedup();
        if inputs.contains(&-TRUE) || inputs.iter().any(|l| inputs.contains(&-l)) {
            return -TRUE;
        }
        match inputs.as_slice() {
            [] => return TRUE,
            [only] => return *only,
            _ => {}
        }
        if let Some(gate) = self.gates.get(&inputs) {
            return *gate;
        }
        let gate = self.fresh();
        for input in &inputs {
            self.clauses.push(vec![-gate, *input]);
        }
        let mut clause: Vec<Lit> = inputs.iter().map(|l| -l).collect();
        clause.push(gate);
        self.clauses.push(clause);
        self.gates.insert(inputs, gate);
        gate
    }

    pub(crate) fn or(&mut self, inputs: impl IntoIterator<Item = Lit>) -> Lit {
        -self.and(inputs.into_iter().map(|l| -l).collect::<Vec<_>>())
    }

    /// Requires at most `limit` of the literals, by a sequential counter.
    pub(crate) fn at_most(&mut self, literals: &[Lit], limit: usize) {
        let mut counter: Vec<Lit> = vec![-TRUE; limit + 1];
        for literal in literals {
            let mut next = Vec::with_capacity(limit + 1);
            for count in 0..=limit {
                let below = if count == 0 { TRUE } else { counter[count - 1] };
                let stepped = self.and([*literal, below]);
                let reached = self.or([counter[count], stepped]);
                next.push(reached);
            }
            counter = next;
            self.require([-counter[limit]]);
        }
    }

    /// Requires exactly one of the literals.
    pub(crate) fn exactly_one(&mut self, literals: &[Lit]) {
        self.require(literals.iter().copied());
        self.at_most_one(literals);
    }

    pub(crate) fn at_most_one(&mut self, literals: &[Lit]) {
        for (i, a) in literals.iter().enumerate() {
            for b in &literals[i + 1..] {
                self.require([-a, -b]);
            }
        }
    }

    /// What can be reached by any number of edges from the set `start`, which is included.
    pub(crate) fn reachable(&mut self, edges: &[Vec<Lit>], start: &[Lit]) -> Vec<Lit> {
        let states = edges.len();
        let mut reached: Vec<Lit> = start.to_vec();
        for _ in 1..states {
            reached = (0..states)
                .map(|y| {
                    let through: Vec<Lit> =
                        (0..states).map(|x| self.and([reached[x], edges[x][y]])).collect();
                    self.or(through.into_iter().chain([reached[y]]))
                })
                .collect();
        }
        reached
    }

    pub(crate) fn size(&self) -> (i32, usize) {
        (self.variables, self.clauses.len())
    }

    /// A model, none, or no answer within `limit`.
    pub(crate) fn solve(&self, limit: Duration) -> Answer {
        solver::solve(self.variables, &self.clauses, limit)
    }
}

/// What the solver says.
pub(crate) enum Answer {
    Satisfiable(Model),
    Unsatisfiable,
    OutOfTime,
}

mod solver {
    use crate::s19_fig5::circuit::{Answer, Lit, Model};
    use batsat::{Callbacks, Solver, SolverInterface, SolverOpts, lbool};
    use std::time::{Duration, Instant};

    pub(super) fn solve(count: i32, clauses: &[Vec<Lit>], limit: Duration) -> Answer {
        let deadline = Deadline(Instant::now() + limit);
        let mut solver = Solver::new(SolverOpts::default(), deadline);
        let variables: Vec<batsat::Var> = (0..=count).map(|_| solver.new_var_default()).collect();
        let mut clause = Vec::new();
        for literals in clauses {
            clause.clear();
            clause.extend(
                literals
                    .iter()
                    .map(|l| batsat::Lit::new(variables[l.unsigned_abs() as usize], *l > 0)),
            );
            if !solver.add_clause_reuse(&mut clause) {
                return Answer::Unsatisfiable;
            }
        }
        let result = solver.solve_limited(&[]);
        if result == lbool::FALSE {
            return Answer::Unsatisfiable;
        }
        if result != lbool::TRUE {
            return Answer::OutOfTime;
        }
        let value = |v: &batsat::Var| solver.value_var(*v) == lbool::TRUE;
        Answer::Satisfiable(Model(variables.iter().map(value).collect()))
    }

    struct Deadline(Instant);

    impl Callbacks for Deadline {
        fn stop(&self) -> bool {
            Instant::now() >= self.0
        }
    }
}
