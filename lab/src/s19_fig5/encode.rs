//! "There is a program, within bounds, whose reduction is wrong" as a circuit.
//!
//! Paper: \[S19\] section 4 and Fig. 5; facts C0, C1, C2, C3′.
//!
//! Differs from the paper: a SAT solver instead of Alloy, and all program states are
//! reachable and numbered in breadth-first order, which removes most symmetric
//! copies. What only has to be refuted (reachability in the reduced product, cycles
//! there) is guessed as any closed superset instead of being computed exactly.

#![allow(clippy::needless_range_loop)] // Matrices are indexed by states, operations and letters at once.

use super::circuit::{Circuit, Lit, Model, TRUE};
use super::instance::{Instance, Property};
use super::scheme::Scheme;

pub(crate) enum Automaton {
    Fixed(Property),
    /// All automata in SI normal form with exactly so many states and letters.
    AnyNormalForm {
        states: usize,
        letters: usize,
        /// At most.
        edges: usize,
    },
}

pub(crate) struct Bounds {
    pub(crate) operations: usize,
    pub(crate) program_states: usize,
}

/// The circuit with the variables from which an instance is read off.
pub(crate) struct Encoding {
    pub(crate) circuit: Circuit,
    scheme: Scheme,
    next: Vec<Vec<Vec<Lit>>>,
    label: Vec<Vec<Lit>>,
    ample: Vec<Vec<Vec<Lit>>>,
    edges: Vec<Vec<Vec<Lit>>>,
    accepting: Vec<Lit>,
}

impl Encoding {
    /// Exactly `program_states` program states, everything else at most as in `bounds`.
    pub(crate) fn new(
        scheme: Scheme,
        automaton: &Automaton,
        bounds: &Bounds,
        program_states: usize,
    ) -> Encoding {
        let mut circuit = Circuit::new();
        let (edges, accepting) = match automaton {
            Automaton::Fixed(property) => fixed(property),
            Automaton::AnyNormalForm { states, letters, edges } => {
                any_normal_form(&mut circuit, *states, *letters, *edges)
            }
        };
        let letters = edges[0].len();
        let states = accepting.len();
        let c = &mut circuit;
        let next: Vec<Vec<Vec<Lit>>> = (0..bounds.operations)
            .map(|_| {
                (0..program_states)
                    .map(|_| (0..program_states).map(|_| c.fresh()).collect())
                    .collect()
            })
            .collect();
        for row in next.iter().flatten() {
            c.at_most_one(row);
        }
        let free = matches!(automaton, Automaton::AnyNormalForm { .. });
        let label = labels(c, program_states, letters, free);
        let ample = (0..program_states)
            .map(|_| {
                (0..states).map(|_| (0..bounds.operations).map(|_| c.fresh()).collect()).collect()
            })
            .collect();
        let mut encoding = Encoding { circuit, scheme, next, label, ample, edges, accepting };
        encoding.constrain();
        encoding
    }

    fn constrain(&mut self) {
        let states = 0..self.label.len();
        let operations = 0..self.next.len();
        let enabled: Vec<Vec<Lit>> = operations
            .clone()
            .map(|o| {
                states.clone().map(|q| self.circuit.or(self.next[o][q].iter().copied())).collect()
            })
            .collect();
        let program: Vec<Vec<Lit>> = states
            .clone()
            .map(|q| {
                states
                    .clone()
                    .map(|z| {
                        let any: Vec<Lit> = self.next.iter().map(|n| n[q][z]).collect();
                        self.circuit.or(any)
                    })
                    .collect()
            })
            .collect();
        breadth_first_numbering(&mut self.circuit, &program);
        // Operations are interchangeable: those enabled at the start come first.
        for o in 1..self.next.len() {
            self.circuit.require([-enabled[o][0], enabled[o - 1][0]]);
        }
        let full = self.ample_conditions(&enabled);
        self.products(&program, &full);
    }

    /// C0, C1 and C2; returns for each product state whether its ample set is full.
    fn ample_conditions(&mut self, enabled: &[Vec<Lit>]) -> Vec<Vec<Lit>> {
        let operations = self.next.len();
        let program_states = self.label.len();
        let independent = self.independence(enabled);
        let invisible = self.invisibility();
        let mut full = vec![Vec::new(); program_states];
        for q in 0..program_states {
            for s in 0..self.accepting.len() {
                let ample = self.ample[q][s].clone();
                let c = &mut self.circuit;
                for o in 0..operations {
                    c.require([-ample[o], enabled[o][q]]);
                    c.require(ample.iter().copied().chain([-enabled[o][q]]));
                }
                let all: Vec<Lit> =
                    (0..operations).map(|o| c.or([-enabled[o][q], ample[o]])).collect();
                let is_full = c.and(all);
                full[q].push(is_full);
                for o in 0..operations {
                    c.require([is_full, -ample[o], invisible[o]]);
                }
                let others: Vec<Vec<Lit>> = (0..program_states)
                    .map(|x| {
                        (0..program_states)
                            .map(|y| {
                                let steps: Vec<Lit> = (0..operations)
                                    .map(|o| c.and([self.next[o][x][y], -ample[o]]))
                                    .collect();
                                c.or(steps)
                            })
                            .collect()
                    })
                    .collect();
                // Any superset closed under the other operations will do: C1 only
                // gets harder to satisfy with more states, and the least one is allowed.
                let reached: Vec<Lit> = (0..program_states).map(|_| c.fresh()).collect();
                c.require([reached[q]]);
                for x in 0..program_states {
                    for y in 0..program_states {
                        c.require([-reached[x], -others[x][y], reached[y]]);
                    }
                    for o in 0..operations {
                        for a in 0..operations {
                            c.require([
                                -reached[x],
                                -enabled[o][x],
                                ample[o],
                                -ample[a],
                                independent[o][a],
                            ]);
                        }
                    }
                }
            }
        }
        full
    }

    fn independence(&mut self, enabled: &[Vec<Lit>]) -> Vec<Vec<Lit>> {
        let operations = self.next.len();
        let states = 0..self.label.len();
        let mut independent = vec![vec![TRUE; operations]; operations];
        for a in 0..operations {
            for b in a..operations {
                let mut everywhere = Vec::new();
                for q in states.clone() {
                    let mut meets = Vec::new();
                    for z in states.clone() {
                        let sides = [(a, b), (b, a)].map(|(first, second)| {
                            let ways: Vec<Lit> = states
                                .clone()
                                .map(|x| {
                                    let pair = [self.next[first][q][x], self.next[second][x][z]];
                                    self.circuit.and(pair)
                                })
                                .collect();
                            self.circuit.or(ways)
                        });
                        meets.push(self.circuit.and(sides));
                    }
                    meets.extend([-enabled[a][q], -enabled[b][q]]);
                    everywhere.push(self.circuit.or(meets));
                }
                independent[a][b] = self.circuit.and(everywhere);
                independent[b][a] = independent[a][b];
            }
        }
        independent
    }

    fn invisibility(&mut self) -> Vec<Lit> {
        let states = self.label.len();
        let mut same = vec![vec![TRUE; states]; states];
        for q in 0..states {
            for z in 0..q {
                let equal: Vec<Lit> = (0..self.label[q].len())
                    .map(|a| self.circuit.and([self.label[q][a], self.label[z][a]]))
                    .collect();
                same[q][z] = self.circuit.or(equal);
                same[z][q] = same[q][z];
            }
        }
        let circuit = &mut self.circuit;
        self.next
            .iter()
            .map(|next| {
                let mut kept = Vec::new();
                for q in 0..states {
                    for z in 0..states {
                        kept.push(circuit.or([-next[q][z], same[q][z]]));
                    }
                }
                circuit.and(kept)
            })
            .collect()
    }

    /// The full product has an accepting cycle, the reduced one has none, and C3′ holds.
    fn products(&mut self, program: &[Vec<Lit>], full: &[Vec<Lit>]) {
        let states = self.accepting.len();
        let program_states = self.label.len();
        let size = states * program_states;
        let at = |q: usize, s: usize| q * states + s;
        let mut whole = vec![vec![-TRUE; size]; size];
        let mut reduced = vec![vec![-TRUE; size]; size];
        let mut partial = vec![vec![-TRUE; size]; size];
        for q in 0..program_states {
            for s in 0..states {
                for t in 0..states {
                    let c = &mut self.circuit;
                    let ways: Vec<Lit> = (0..self.label[q].len())
                        .map(|a| c.and([self.label[q][a], self.edges[s][a][t]]))
                        .collect();
                    let reads = c.or(ways);
                    let decides = match self.scheme {
                        Scheme::V0 => t,
                        Scheme::V1 => s,
                    };
                    for z in 0..program_states {
                        let (x, y) = (at(q, s), at(z, t));
                        whole[x][y] = c.and([reads, program[q][z]]);
                        let steps: Vec<Lit> = (0..self.next.len())
                            .map(|o| c.and([self.next[o][q][z], self.ample[q][decides][o]]))
                            .collect();
                        let step = c.or(steps);
                        reduced[x][y] = c.and([reads, step]);
                        partial[x][y] = c.and([reduced[x][y], -full[q][decides]]);
                    }
                }
            }
        }
        let c = &mut self.circuit;
        let mut from_start = c.reachable(&whole, &whole[0]);
        from_start[0] = TRUE;
        // The accepting state on the cycle is guessed, so one search is enough.
        let chosen: Vec<Lit> = (0..size).map(|_| c.fresh()).collect();
        c.exactly_one(&chosen);
        let first: Vec<Lit> = (0..size)
            .map(|y| {
                let ways: Vec<Lit> = (0..size).map(|x| c.and([chosen[x], whole[x][y]])).collect();
                c.or(ways)
            })
            .collect();
        let again = c.reachable(&whole, &first);
        for x in 0..size {
            c.require([-chosen[x], self.accepting[x % states]]);
            c.require([-chosen[x], from_start[x]]);
            c.require([-chosen[x], again[x]]);
        }
        let reached: Vec<Lit> = (0..size).map(|_| c.fresh()).collect();
        c.require([reached[0]]);
        for x in 0..size {
            for y in 0..size {
                c.require([-reached[x], -reduced[x][y], reached[y]]);
            }
        }
        let after = closed_relation(c, &reduced, &reached);
        for x in 0..size {
            c.require([-after[x][x], -self.accepting[x % states]]);
        }
        let unfinished = closed_relation(c, &partial, &reached);
        for (x, row) in unfinished.iter().enumerate() {
            c.require([-row[x]]);
        }
    }

    /// The instance that a model describes.
    pub(crate) fn decode(&self, model: &Model) -> Instance {
        let one = |row: &[Lit]| row.iter().position(|l| model.holds(*l));
        let mut edges = Vec::new();
        for (s, by_letter) in self.edges.iter().enumerate() {
            for (a, targets) in by_letter.iter().enumerate() {
                for (t, present) in targets.iter().enumerate() {
                    if model.holds(*present) {
                        edges.push((s, a, t));
                    }
                }
            }
        }
        Instance {
            scheme: self.scheme,
            next: self.next.iter().map(|rows| rows.iter().map(|row| one(row)).collect()).collect(),
            label: self.label.iter().map(|row| one(row).unwrap_or(0)).collect(),
            property: Property {
                letters: self.edges[0].len(),
                states: self.accepting.len(),
                edges,
                accepting: self.accepting.iter().map(|l| model.holds(*l)).collect(),
            },
            ample: self
                .ample
                .iter()
                .map(|rows| {
                    rows.iter().map(|row| row.iter().map(|l| model.holds(*l)).collect()).collect()
                })
                .collect(),
        }
    }
}

/// A transitive relation that contains the edges among `reached`.
fn closed_relation(c: &mut Circuit, edges: &[Vec<Lit>], reached: &[Lit]) -> Vec<Vec<Lit>> {
    let size = edges.len();
    let relation: Vec<Vec<Lit>> =
        (0..size).map(|_| (0..size).map(|_| c.fresh()).collect()).collect();
    for x in 0..size {
        for y in 0..size {
            if edges[x][y] == -TRUE {
                continue;
            }
            c.require([-reached[x], -edges[x][y], relation[x][y]]);
            for z in 0..size {
                // One edge and then the relation: enough for the closure.
                c.require([-reached[x], -edges[x][y], -relation[y][z], relation[x][z]]);
            }
        }
    }
    relation
}

/// One letter per state. In a free automaton letters are interchangeable, so they are
/// introduced in order.
fn labels(c: &mut Circuit, states: usize, letters: usize, free: bool) -> Vec<Vec<Lit>> {
    let mut rows: Vec<Vec<Lit>> = Vec::new();
    for _ in 0..states {
        let row: Vec<Lit> = (0..letters).map(|_| c.fresh()).collect();
        c.exactly_one(&row);
        for a in (1..letters).filter(|_| free) {
            let earlier: Vec<Lit> = rows.iter().map(|r| r[a - 1]).collect();
            c.require(earlier.into_iter().chain([-row[a]]));
        }
        rows.push(row);
    }
    rows
}

/// State 0 reaches all, and numbers follow the order in which a breadth-first search
/// finds the states: the lowest predecessor is lower, and does not fall.
fn breadth_first_numbering(c: &mut Circuit, edges: &[Vec<Lit>]) {
    let mut lowest: Vec<Vec<Lit>> = vec![Vec::new()];
    for q in 1..edges.len() {
        c.require((0..q).map(|i| edges[i][q]));
        let row = (0..q)
            .map(|i| {
                let earlier: Vec<Lit> = (0..i).map(|j| -edges[j][q]).collect();
                c.and(earlier.into_iter().chain([edges[i][q]]))
            })
            .collect();
        lowest.push(row);
    }
    for q in 1..edges.len().saturating_sub(1) {
        for i in 0..q {
            for j in 0..i {
                c.require([-lowest[q][i], -lowest[q + 1][j]]);
            }
        }
    }
}

type EdgeLits = Vec<Vec<Vec<Lit>>>;

fn fixed(property: &Property) -> (EdgeLits, Vec<Lit>) {
    let mut edges = vec![vec![vec![-TRUE; property.states]; property.letters]; property.states];
    for (source, letter, target) in &property.edges {
        edges[*source][*letter][*target] = TRUE;
    }
    let accepting = property.accepting.iter().map(|a| if *a { TRUE } else { -TRUE }).collect();
    (edges, accepting)
}

/// Definition 12 over exactly `states` reachable states.
fn any_normal_form(
    c: &mut Circuit,
    states: usize,
    letters: usize,
    most: usize,
) -> (EdgeLits, Vec<Lit>) {
    let edges: EdgeLits = (0..states)
        .map(|_| {
            (0..letters)
                .map(|_| (0..states).map(|t| if t == 0 { -TRUE } else { c.fresh() }).collect())
                .collect()
        })
        .collect();
    let accepting: Vec<Lit> = (0..states).map(|_| c.fresh()).collect();
    let all: Vec<Lit> = edges.iter().flatten().flatten().copied().filter(|l| *l != -TRUE).collect();
    c.at_most(&all, most);
    let graph: Vec<Vec<Lit>> = (0..states)
        .map(|s| {
            (0..states)
                .map(|t| {
                    let any: Vec<Lit> = (0..letters).map(|a| edges[s][a][t]).collect();
                    c.or(any)
                })
                .collect()
        })
        .collect();
    breadth_first_numbering(c, &graph);
    for s in 1..states {
        let own: Vec<Lit> = (0..letters).map(|_| c.fresh()).collect();
        c.exactly_one(&own);
        for a in 0..letters {
            // 1. edges into s carry its letter.
            for source in &edges {
                c.require([-source[a][s], own[a]]);
            }
            // 2. exactly one edge out of s carries it.
            let out: Vec<Lit> = edges[s][a][1..].to_vec();
            c.require(out.iter().copied().chain([-own[a]]));
            for (i, x) in out.iter().enumerate() {
                for y in &out[i + 1..] {
                    c.require([-own[a], -x, -y]);
                }
            }
            for t in (1..states).filter(|t| *t != s) {
                let leaves = c.and([own[a], edges[s][a][t]]);
                // 3. a rejecting state loops; 4. an accepting one may go to a rejecting twin.
                c.require([-leaves, accepting[s]]);
                c.require([-leaves, -accepting[t]]);
                for (mine, other) in edges[s].iter().flatten().zip(edges[t].iter().flatten()) {
                    c.require([-leaves, -mine, *other]);
                    c.require([-leaves, *mine, -other]);
                }
            }
        }
    }
    (edges, accepting)
}
