//! Which processes may be explored alone, by brute force on the whole graph.
//!
//! A process may, in a state, if in all that others can do from there on without it: it keeps exactly the
//! steps that it has, and each of them commutes with each step of the others.

use super::Program;
use preempt_core::{Enabled, Outcome, Step, System};
use std::collections::{HashMap, HashSet};

/// The steps of an edge: process, transition, the partner's transition.
type Name = Vec<(u16, u32, Option<u32>)>;

struct Edge {
    name: Name,
    movers: u64,
    to: usize,
    fails: bool,
}

struct Graph {
    edges: Vec<Vec<Edge>>,
}

/// For each state, which processes may be explored alone; `None` if there are more than `most` states.
pub(super) fn lone_movers(program: &Program, most: usize) -> Option<HashMap<Vec<u8>, Vec<bool>>> {
    let mut initial = Vec::new();
    program.initial(&mut initial);
    let mut numbers = HashMap::from([(initial.clone(), 0)]);
    let mut states = vec![initial];
    let mut graph = Graph { edges: Vec::new() };
    let mut at = 0;
    while at < states.len() {
        if states.len() > most {
            return None;
        }
        let state = states[at].clone();
        at += 1;
        let mut edges = Vec::new();
        let mut open: Vec<(Vec<u8>, Step, Name, u64, bool)> = steps(program, &mut state.clone())
            .into_iter()
            .map(|step| (state.clone(), step, Vec::new(), 0, false))
            .collect();
        while let Some((mut state, step, mut name, movers, fails)) = open.pop() {
            let fails = fails | (program.apply(&mut state, step) != Outcome::Done);
            let partner = step.partner.map(|_| step.partner_transition);
            name.push((step.process.0, step.transition, partner));
            if name.len() > 12 {
                return None;
            }
            let movers = movers | 1 << step.process.0 | step.partner.map_or(0, |p| 1 << p.0);
            let next = steps(program, &mut state);
            if program.is_transient(&state) {
                let more = next.into_iter();
                open.extend(more.map(|step| (state.clone(), step, name.clone(), movers, fails)));
            } else {
                let to = *numbers.entry(state.clone()).or_insert_with(|| {
                    states.push(state);
                    states.len() - 1
                });
                edges.push(Edge { name, movers, to, fails });
            }
        }
        graph.edges.push(edges);
    }
    let processes = program.processes.len();
    let alone = |state: &usize| (0..processes).map(|p| graph.is_alone(*state, p)).collect();
    Some(numbers.iter().map(|(state, number)| (state.clone(), alone(number))).collect())
}

fn steps(program: &Program, state: &mut Vec<u8>) -> Vec<Step> {
    let mut enabled = Enabled::new();
    program.enabled(state, &mut enabled);
    enabled.steps().to_vec()
}

impl Graph {
    fn find(&self, state: usize, name: &Name) -> Option<&Edge> {
        self.edges[state].iter().find(|edge| edge.name == *name)
    }

    fn is_alone(&self, state: usize, process: usize) -> bool {
        let moves = |edge: &&Edge| edge.movers >> process & 1 != 0;
        let own: Vec<&Edge> = self.edges[state].iter().filter(moves).collect();
        if own.is_empty() || own.iter().any(|edge| edge.movers != 1 << process) {
            return false;
        }
        let (mut seen, mut open) = (HashSet::from([state]), vec![state]);
        while let Some(state) = open.pop() {
            let here: Vec<&Edge> = self.edges[state].iter().filter(moves).collect();
            let same = here.len() == own.len()
                && here.iter().all(|edge| own.iter().any(|own| own.name == edge.name));
            if !same {
                return false;
            }
            for other in self.edges[state].iter().filter(|edge| !moves(edge)) {
                for own in &here {
                    let behind = self.find(own.to, &other.name);
                    let before = self.find(other.to, &own.name);
                    let (Some(behind), Some(before)) = (behind, before) else { return false };
                    let commute = behind.to == before.to
                        && behind.fails == other.fails
                        && before.fails == own.fails;
                    if !commute {
                        return false;
                    }
                }
                if seen.insert(other.to) {
                    open.push(other.to);
                }
            }
        }
        true
    }
}
