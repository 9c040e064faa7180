//! Small state graphs as pictures: variables and control locations in every state, what goes wrong
//! marked, the counterexample's steps drawn bold.
//!
//! Where the whole graph is too large, the counterexample's own states are drawn; the verdict does not
//! depend on any of it.

use crate::failure::Failure;
use crate::output;
use preempt_core::{Enabled, Label, Outcome, ProcessId, Step, System, Trace};
use preempt_report::graph::{GraphEdge, GraphState, MOST_STATES, StateGraph};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Writes the state graph of a system as DOT or SVG, by the name of the file.
pub(crate) fn write<S: System>(
    system: &S,
    counterexample: Option<&Trace>,
    path: &Path,
) -> Result<(), Failure> {
    let steps = counterexample.map_or(Vec::new(), own_steps);
    let on_trace = edges_of(system, &steps);
    let too_many = format!("the state graph has more than {MOST_STATES} states");
    let mut drawn = Explorer::new(system, &on_trace).explore(None);
    if drawn.is_none() && !on_trace.is_empty() {
        drawn = Explorer::new(system, &on_trace).explore(Some(&on_trace));
        if drawn.is_some() {
            let shown = format!("{} shows those of the counterexample", path.display());
            output::complain(&format!("{too_many}: {shown}"));
        }
    }
    let Some((states, edges)) = drawn else {
        output::complain(&format!("{too_many}: {} was not written", path.display()));
        return Ok(());
    };
    let graph =
        StateGraph::new(states, edges).map_err(|error| Failure::Input(error.to_string()))?;
    let svg = path.extension().is_some_and(|extension| extension == "svg");
    output::write(path, &if svg { graph.svg() } else { graph.dot() })
}

/// The steps of processes; what a property does is not part of the graph.
fn own_steps(trace: &Trace) -> Vec<Step> {
    let own = trace.raw.iter().filter(|step| step.process != ProcessId::PROPERTY);
    own.map(|step| Step { choice: 0, ..*step }).collect()
}

/// A step with the state that it is taken in.
type Taken = (Vec<u8>, Step);

/// The steps with the states that they are taken in, as far as they can be taken.
fn edges_of<S: System>(system: &S, steps: &[Step]) -> HashSet<Taken> {
    let mut edges = HashSet::new();
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    if let Outcome::Broken(_) = system.initial(&mut state) {
        return edges;
    }
    for step in steps {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        if !enabled.steps().contains(step) {
            break;
        }
        edges.insert((state.clone(), *step));
        if let Outcome::Broken(_) = system.apply(&mut state, *step) {
            break;
        }
    }
    edges
}

struct Explorer<'a, S> {
    system: &'a S,
    on_trace: &'a HashSet<Taken>,
    numbers: HashMap<Vec<u8>, usize>,
    /// States by number; `None` stands for the end of a step that has no successor.
    found: Vec<Option<Vec<u8>>>,
    states: Vec<GraphState>,
    edges: Vec<GraphEdge>,
}

impl<'a, S: System> Explorer<'a, S> {
    fn new(system: &'a S, on_trace: &'a HashSet<Taken>) -> Self {
        Explorer {
            system,
            on_trace,
            numbers: HashMap::new(),
            found: Vec::new(),
            states: Vec::new(),
            edges: Vec::new(),
        }
    }

    /// All states, or with `only`, those that these steps lead to. `None`: they are too many.
    fn explore(
        mut self,
        only: Option<&HashSet<Taken>>,
    ) -> Option<(Vec<GraphState>, Vec<GraphEdge>)> {
        let mut first = Vec::new();
        let outcome = self.system.initial(&mut first);
        let start = match outcome {
            Outcome::Broken(fault) => self.fault_state(fault),
            Outcome::Done | Outcome::Violated(_) => self.number_of(first),
        };
        if let Outcome::Violated(_) = outcome {
            self.states[start].error = true;
        }
        self.states[start].initial = true;
        let mut enabled = Enabled::new();
        let mut at = 0;
        while at < self.found.len() {
            if let Some(mut state) = self.found[at].clone() {
                enabled.clear();
                self.system.enabled(&mut state, &mut enabled);
                self.states[at].error |= enabled.is_empty() && !self.system.is_valid_end(&state);
                for &step in enabled.steps() {
                    let taken = (state.clone(), step);
                    if only.is_none_or(|only| only.contains(&taken)) {
                        self.take(at, taken);
                    }
                }
            }
            if self.found.len() > MOST_STATES {
                return None;
            }
            at += 1;
        }
        Some((self.states, self.edges))
    }

    fn take(&mut self, from: usize, taken: Taken) {
        let on_trace = self.on_trace.contains(&taken);
        let (state, step) = taken;
        let (_, _, text) = self.system.describe(&state, step);
        let process = self.system.process_name(&state, step.process);
        let mut label = format!("{process}: {text}");
        let mut next = state;
        let to = match self.system.apply(&mut next, step) {
            Outcome::Done => self.number_of(next),
            Outcome::Broken(fault) => self.fault_state(fault),
            Outcome::Violated(fault) => {
                label.push_str(" ✗");
                let to = self.number_of(next);
                let mark = format!("✗ {}", self.system.fault(fault).message);
                let state = &mut self.states[to];
                state.error = true;
                if !state.label.lines().any(|line| line == mark) {
                    state.label.push_str(&format!("\n{mark}"));
                }
                to
            }
        };
        self.edges.push(GraphEdge { from, to, label, on_trace });
    }

    /// The number of a state, which gets one if it is new.
    fn number_of(&mut self, mut state: Vec<u8>) -> usize {
        // Asking for the steps ends interrupted sequences.
        self.system.enabled(&mut state, &mut Enabled::new());
        if let Some(&known) = self.numbers.get(&state) {
            return known;
        }
        let number = self.found.len();
        self.states.push(GraphState {
            label: self.label(&state),
            accepting: self.system.has_label(&state, Label::Accept),
            ..GraphState::default()
        });
        self.numbers.insert(state.clone(), number);
        self.found.push(Some(state));
        number
    }

    /// A state for what a step came to that could not be completed.
    fn fault_state(&mut self, fault: u32) -> usize {
        let label = self.system.fault(fault).message;
        self.states.push(GraphState { label, error: true, ..GraphState::default() });
        self.found.push(None);
        self.found.len() - 1
    }

    /// Where every process stands, and what the variables hold.
    fn label(&self, state: &[u8]) -> String {
        let processes = (0..self.system.process_count(state)).filter_map(|pid| {
            let id = ProcessId(u16::try_from(pid).ok()?);
            let (_, line, text) = self.system.position(state, id)?;
            let name = self.system.process_name(state, id);
            Some(match line {
                0 => format!("{name} @ {text}"),
                line => format!("{name} @ {line} {text}"),
            })
        });
        let variables = self.system.variables(state);
        let variables = variables.iter().map(|(name, value)| format!("{name} = {value}"));
        processes.chain(variables).collect::<Vec<_>>().join("\n")
    }
}
