//! Breadth-first search in the order of context switches, then of steps.
//!
//! A search state is a program state with the thread that has the processor. Staying costs a step,
//! handing the processor over costs a switch; states are settled in the order (switches, steps), so
//! the first counterexample is the simplest one. All switches count, also forced ones, as in the
//! paper. No reduction of any kind: this is the engine the others are compared with.

use super::machine::Machine;
use crate::limits::Watch;
use preempt_core::{Enabled, Outcome, Step, Stop, System};
use rustc_hash::FxHashMap;

/// What was found, switch by switch.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// The steps to a target, and the fault number there.
    pub(crate) found: Option<(Vec<Step>, u32)>,
    /// Search states settled with at most this many switches.
    pub(crate) states: Vec<u64>,
    pub(crate) transitions: u64,
    /// No further switch leads anywhere new: the answer holds for every number of switches.
    pub(crate) exhausted: bool,
    /// A limit that cut some executions short.
    pub(crate) truncated: Option<Stop>,
    pub(crate) bytes: u64,
}

struct Entry {
    state: Box<[u8]>,
    active: u16,
    steps: u32,
    parent: u32,
    /// `None` where the processor was handed over.
    step: Option<Step>,
}

/// Explores up to `max_switches` switches, at most `max_states` search states.
pub(crate) fn search(
    machine: &Machine<'_>,
    max_switches: u32,
    max_states: u64,
    watch: &Watch<'_>,
) -> Result<Layers, Stop> {
    let mut layers = Layers::default();
    let mut entries: Vec<Entry> = Vec::new();
    let mut known: FxHashMap<Box<[u8]>, ()> = FxHashMap::default();
    let mut initial = Vec::new();
    machine.initial(&mut initial);
    let threads = machine.process_count(&initial);
    // Process 0 runs `init` inside layer 0.
    let mut layer = vec![vec![]];
    let starters: Vec<u16> =
        if machine.init_is_over(&initial) { (1..threads as u16).collect() } else { vec![0] };
    for active in starters {
        let state = initial.clone().into_boxed_slice();
        layer[0].push(Entry { state, active, steps: 0, parent: u32::MAX, step: None });
    }
    let (mut scratch, mut enabled, mut key) = (Vec::new(), Enabled::new(), Vec::new());
    for switches in 0..=max_switches {
        watch.switches.set(switches);
        let mut next: Vec<Vec<Entry>> = Vec::new();
        let mut bucket = 0;
        while bucket < layer.len() {
            for entry in std::mem::take(&mut layer[bucket]) {
                key.clear();
                key.extend_from_slice(&entry.state);
                key.extend(entry.active.to_le_bytes());
                if known.contains_key(key.as_slice()) {
                    continue;
                }
                known.insert(key.as_slice().into(), ());
                layers.bytes += 2 * entry.state.len() as u64 + 96;
                let at = entries.len() as u32;
                if at % 1024 == 0 {
                    watch.check(u64::from(at))?;
                    if layers.bytes > watch.memory() {
                        return Err(Stop::Memory);
                    }
                }
                if u64::from(at) >= max_states {
                    return Err(Stop::Memory);
                }
                let (active, steps) = (entry.active, entry.steps);
                let state = entry.state.clone();
                entries.push(entry);
                enabled.clear();
                scratch.clear();
                scratch.extend_from_slice(&state);
                machine.enabled(&mut scratch, &mut enabled);
                let process = preempt_core::ProcessId(active);
                for &step in enabled.of(process) {
                    scratch.clear();
                    scratch.extend_from_slice(&state);
                    let outcome = machine.apply(&mut scratch, step);
                    layers.transitions += 1;
                    match outcome {
                        Outcome::Violated(number) => {
                            layers.found = Some((path(&entries, at, step), number));
                            layers.states.push(entries.len() as u64);
                            return Ok(layers);
                        }
                        Outcome::Broken(number) => {
                            layers.truncated = Some(if Machine::is_choice_limit(number) {
                                Stop::Memory
                            } else {
                                Stop::Depth
                            });
                        }
                        Outcome::Done => {
                            let after = if active == 0 && machine.init_is_over(&scratch) {
                                1..threads as u16
                            } else {
                                active..active + 1
                            };
                            for active in after {
                                put(
                                    &mut layer,
                                    steps + 1,
                                    Entry {
                                        state: scratch.as_slice().into(),
                                        active,
                                        steps: steps + 1,
                                        parent: at,
                                        step: Some(step),
                                    },
                                );
                            }
                        }
                    }
                }
                if active == 0 {
                    continue;
                }
                for (other, _) in enabled.by_process() {
                    if other.0 != active {
                        let state = state.clone();
                        let entry = Entry { state, active: other.0, steps, parent: at, step: None };
                        put(&mut next, steps, entry);
                    }
                }
            }
            bucket += 1;
        }
        layers.states.push(entries.len() as u64);
        if next.iter().all(Vec::is_empty) {
            layers.exhausted = layers.truncated.is_none();
            return Ok(layers);
        }
        layer = next;
    }
    Ok(layers)
}

fn put(buckets: &mut Vec<Vec<Entry>>, steps: u32, entry: Entry) {
    let at = steps as usize;
    if buckets.len() <= at {
        buckets.resize_with(at + 1, Vec::new);
    }
    buckets[at].push(entry);
}

fn path(entries: &[Entry], mut at: u32, last: Step) -> Vec<Step> {
    let mut steps = vec![last];
    while at != u32::MAX {
        let entry = &entries[at as usize];
        steps.extend(entry.step);
        at = entry.parent;
    }
    steps.reverse();
    steps
}
