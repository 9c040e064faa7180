//! The engines, each asked for one answer.

use crate::direct::{self, Extent, Remember, Schedule};
use crate::explicit::{self, Layers, Machine, search};
use crate::flow::{Program, Targets};
use crate::limits::Watch;
use crate::options::{Method, Options, Switches};
use crate::replay::{Replayed, moves_of, replay};
use crate::sequentialize::{Question, answer};
use crate::witness;
use preempt_core::{BoundRow, Statistics, Stop};

/// What an engine found out.
#[derive(Default)]
pub(crate) struct Finding {
    /// A counterexample.
    pub(crate) replayed: Option<Replayed>,
    /// Everything with at most this many switches was searched.
    pub(crate) covered: Option<u32>,
    /// The answer holds for every number of switches.
    pub(crate) exhausted: bool,
    pub(crate) stop: Option<Stop>,
    /// A counterexample was found, but executions with deeper stacks were not followed.
    pub(crate) cut: bool,
    /// What the direct engine kept.
    pub(crate) remembers: Option<&'static str>,
    pub(crate) statistics: Statistics,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn list_states(
    program: &Program,
    targets: &Targets,
    max_states: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let machine = Machine::with_targets(program, targets.clone(), options.max_frames);
    let mut finding = Finding::default();
    let mut layers = Layers::default();
    let extent = explicit::Extent {
        switches: options.switches.most(),
        rounds: options.switches.counts_rounds(),
        states: max_states,
        everywhere: false,
        full: options.full,
    };
    let stop = search(&machine, extent, watch, &mut layers).err();
    let statistics = &mut finding.statistics;
    statistics.states = layers.states.last().copied().unwrap_or(0);
    statistics.transitions = layers.transitions;
    statistics.memory_bytes = layers.bytes;
    let rows = layers.states.iter().zip(0..);
    statistics.per_bound = rows
        .map(|(states, bound)| BoundRow { bound, states: *states, ..BoundRow::default() })
        .collect();
    finding.exhausted = layers.exhausted && layers.found.is_none();
    if let Some((steps, _)) = &layers.found {
        finding.cut = layers.truncated.is_some();
        match replay(program, targets, &moves_of(&machine, steps)) {
            Ok(replayed) => finding.replayed = Some(replayed),
            Err(why) => finding.notes.push(format!("a counterexample does not replay: {why}")),
        }
        return finding;
    }
    finding.stop = stop.or(layers.truncated);
    finding.covered = match (layers.truncated, stop) {
        (Some(_), _) => None,
        (None, Some(_)) => (layers.states.len() as u32).checked_sub(1),
        (None, None) => Some(options.switches.most()),
    };
    finding
}

pub(crate) fn directly(
    program: &Program,
    targets: &Targets,
    max_nodes: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let nodes = usize::try_from(max_nodes).unwrap_or(usize::MAX);
    let (switches, rounds) = (options.switches.most(), options.switches.counts_rounds());
    let extent = Extent { switches, rounds, nodes, full: options.full };
    let by = Remember::choose(program, extent);
    let outcome = direct::search(program, targets, by, extent, watch);
    let mut finding = Finding {
        covered: outcome.covered,
        exhausted: outcome.exhausted,
        stop: outcome.stop,
        remembers: Some(by.name()),
        ..Finding::default()
    };
    finding.statistics.states = outcome.nodes;
    finding.statistics.memory_bytes = outcome.bytes;
    if let Some(schedule) = &outcome.found {
        finding.show(program, targets, schedule, watch);
    }
    finding
}

/// Solves the sequential program; the counterexample is the one it found.
pub(crate) fn translated(
    program: &Program,
    targets: &Targets,
    method: Method,
    max_nodes: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let mut finding = Finding::default();
    let bounds = match options.switches {
        // Who chose no method expects the fewest switches.
        Switches::AtMost(k) if options.method.is_some() => k..=k,
        other => 0..=other.most(),
    };
    let nodes = usize::try_from(max_nodes).unwrap_or(usize::MAX);
    for k in bounds {
        watch.switches.set(k);
        let ask =
            Question { method, switches: k, target: options.target, full: options.full, nodes };
        match answer(program, &ask, watch) {
            Err(stop) => {
                finding.stop = Some(stop);
                return finding;
            }
            Ok(answer) => {
                let statistics = &mut finding.statistics;
                statistics.states = statistics.states.max(answer.nodes);
                statistics.memory_bytes = statistics.memory_bytes.max(answer.bytes);
                if let Some(schedule) = &answer.schedule {
                    finding.show(program, targets, schedule, watch);
                } else if answer.reachable {
                    finding.stop = Some(Stop::Fault);
                    finding.notes.push("the translation reaches its target in no context".into());
                }
                if answer.reachable {
                    return finding;
                }
                finding.covered = Some(k);
            }
        }
    }
    finding
}

impl Finding {
    /// Turns the schedule of a counterexample into an execution, and runs it.
    fn show(
        &mut self,
        program: &Program,
        targets: &Targets,
        schedule: &Schedule,
        watch: &Watch<'_>,
    ) {
        match witness::execution(program, targets, schedule, watch) {
            Ok(replayed) => self.replayed = Some(replayed),
            Err(witness::Failure::Stop(stop)) => self.stop = Some(stop),
            Err(witness::Failure::Wrong(why)) => {
                self.stop = Some(Stop::Fault);
                self.notes.push(format!("a counterexample does not replay: {why}"));
            }
        }
    }
}
