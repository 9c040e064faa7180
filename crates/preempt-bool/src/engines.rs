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
    let mut finding = Finding::unknown();
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
    statistics.states = layers.states;
    statistics.matched = layers.matched;
    statistics.transitions = layers.states + layers.matched;
    statistics.errors = layers.errors;
    statistics.depth = layers.depth;
    statistics.state_bytes = layers.state_bytes;
    statistics.memory_bytes = layers.bytes;
    statistics.bytes_per_state = layers.bytes as f64 / layers.states.max(1) as f64;
    // Rounds are counted from 1, switches from 0.
    let first = u32::from(options.switches.counts_rounds());
    let rows = layers.rows.iter();
    statistics.per_bound =
        rows.map(|row| BoundRow { bound: row.bound.saturating_add(first), ..*row }).collect();
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
        (None, Some(_)) => (layers.rows.len() as u32).checked_sub(1),
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
        ..Finding::unknown()
    };
    finding.statistics.nodes = Some(outcome.nodes);
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
    let mut finding = Finding::unknown();
    let bounds = match options.switches {
        // A caller that chose no method expects the fewest switches.
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
                statistics.nodes = statistics.nodes.max(Some(answer.nodes));
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
    /// Nothing is known yet.
    pub(crate) fn unknown() -> Self {
        Finding {
            replayed: None,
            covered: None,
            exhausted: false,
            stop: None,
            cut: false,
            remembers: None,
            statistics: Statistics::default(),
            notes: Vec::new(),
        }
    }

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
