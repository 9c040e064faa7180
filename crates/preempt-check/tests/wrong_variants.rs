//! Searches that others published or ship, each with a violation it misses and ours finds.
//!
//! They are written down here as printed, small and recursive, so that the misses are theirs.

mod guarded;
mod triples;

use guarded::{Guarded, Location, Move};
use preempt_check::{Check, Options, Preemptions, Reduction, Search};
use preempt_core::{Enabled, Independence, Locality, Outcome, ProcessId, Step, System, Verdict};
use std::collections::{HashMap, HashSet, VecDeque};
use triples::truth;

/// What visits are judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// [HF] Fig. 2: the state.
    State,
    /// Spin: the lowest count.
    Count,
    /// [HF] Fig. 3: the lowest count and the last movers.
    Movers,
    /// [HF] Definition 9: also how the state was entered.
    Safe,
}

/// A visit: preemptions, last mover, entered by an ample step.
type Visit = (u32, Option<ProcessId>, bool);

/// [HF] Fig. 5, and with `reduce` off Fig. 3 (or Fig. 2, by its key).
struct Printed<'a> {
    system: &'a Guarded,
    bound: u32,
    key: Key,
    reduce: bool,
    ascending: bool,
    seen: HashMap<Vec<u8>, Vec<Visit>>,
    path: Vec<Vec<u8>>,
    found: bool,
}

impl Printed<'_> {
    fn constraint(&self, state: &[u8], (b, id, safe): Visit) -> bool {
        let visits = self.seen.get(state).map_or(&[][..], |visits| visits);
        b <= self.bound
            && visits.iter().all(|&(x, y, s)| match self.key {
                Key::State => false,
                Key::Count => x > b,
                Key::Movers => x > b || (x == b && y != id),
                Key::Safe => x > b || (x == b && (y != id || (safe && !s))),
            })
    }

    fn search(&mut self, state: &[u8], n: u32, p: Option<ProcessId>, safe: bool) {
        self.seen.entry(state.to_vec()).or_default().push((n, p, safe));
        self.path.push(state.to_vec());
        let (mut copy, mut enabled) = (state.to_vec(), Enabled::new());
        self.system.enabled(&mut copy, &mut enabled);
        let mut groups: Vec<(ProcessId, Vec<Step>)> =
            enabled.by_process().map(|(p, steps)| (p, steps.to_vec())).collect();
        if self.ascending {
            groups.reverse();
        }
        let ample = groups.iter().find(|(process, _)| {
            self.reduce
                && p.is_some()
                && n < self.bound
                && groups.len() > 1
                && self.system.locality(state, *process) == Locality::Local
        });
        let mut cycle = false;
        if let Some((_, steps)) = ample.cloned() {
            let next = |step: &Step| self.successor(state, *step);
            if steps.iter().any(|step| self.path.contains(&next(step))) {
                cycle = true;
            } else {
                for step in steps {
                    self.step(state, step, n, true);
                }
                self.path.pop();
                return;
            }
        }
        let own: Vec<Step> =
            groups.iter().filter(|(q, _)| Some(*q) == p).flat_map(|(_, s)| s.clone()).collect();
        let u = u32::from(!own.is_empty() && !safe && !cycle);
        for &step in &own {
            self.step(state, step, n, false);
        }
        for (q, steps) in groups {
            if Some(q) != p {
                for step in steps {
                    self.step(state, step, n + u, false);
                }
            }
        }
        self.path.pop();
    }

    fn successor(&self, state: &[u8], step: Step) -> Vec<u8> {
        let mut next = state.to_vec();
        self.system.apply(&mut next, step);
        next
    }

    fn step(&mut self, state: &[u8], step: Step, n: u32, safe: bool) {
        if n > self.bound {
            return;
        }
        let mut next = state.to_vec();
        if let Outcome::Violated(_) = self.system.apply(&mut next, step) {
            self.found = true;
        }
        let mover = Some(step.mover());
        if self.constraint(&next, (n, mover, safe)) {
            self.search(&next, n, mover, safe);
        }
    }
}

fn printed(system: &Guarded, bound: u32, key: Key, reduce: bool, ascending: bool) -> bool {
    let (seen, path) = (HashMap::new(), Vec::new());
    let mut search = Printed { system, bound, key, reduce, ascending, seen, path, found: false };
    let mut initial = Vec::new();
    system.initial(&mut initial);
    search.search(&initial, 0, None, false);
    search.found
}

/// All our searches find a violation within the bound, and none below it.
fn ours_find(system: &Guarded, bound: u32) {
    let least = truth(system, bound, 1 << 20).and_then(|truth| truth.simplest);
    assert_eq!(least.map(|(preemptions, _)| preemptions), Some(bound));
    for search in [Search::Auto, Search::Depth] {
        for reduction in [Reduction::None, Reduction::Full] {
            let run = |bound| {
                let preemptions = Preemptions::AtMost(bound);
                let options = Options {
                    search,
                    reduction,
                    preemptions,
                    deadlocks: false,
                    ..Options::default()
                };
                Check::new(system).options(options).run().verdict()
            };
            assert_eq!(run(bound), Verdict::Violated, "{search:?} {reduction:?}");
            if bound > 0 {
                assert_ne!(run(bound - 1), Verdict::Violated, "{search:?} {reduction:?}");
            }
        }
    }
}

fn to(target: u8) -> Move {
    Move { target, ..Move::default() }
}

fn when(mut m: Move, bit: usize, value: u8) -> Move {
    m.guard.push((bit, value));
    m
}

fn set(mut m: Move, bit: usize, value: u8) -> Move {
    m.sets.push((bit, value));
    m
}

fn fail(mut m: Move) -> Move {
    m.fails = true;
    m
}

fn process(locations: Vec<Vec<Move>>) -> Vec<Location> {
    let mut locations: Vec<Location> = (locations.into_iter())
        .map(|moves| Location { atomic: false, valid_end: true, moves })
        .collect();
    locations.push(Location { valid_end: true, ..Location::default() });
    locations
}

fn system(shared: &[u8], processes: Vec<Vec<Location>>) -> Guarded {
    Guarded { shared: shared.to_vec(), processes, ..Guarded::default() }
}

const G: usize = 0;
const S: usize = 1;
const Z: usize = 0;
const Y: usize = 1;

/// A process waits for `g`, and another sets it, waits for a signal, and takes it back. The last
/// mover decides whether the switch between them costs.
fn handshake() -> Guarded {
    system(
        &[0, 0],
        vec![
            process(vec![
                vec![when(to(1), G, 1)],
                vec![when(to(2), G, 1), fail(when(to(2), G, 0))],
            ]),
            process(vec![vec![set(to(1), S, 1)]]),
            process(vec![
                vec![to(1)],
                vec![set(to(2), G, 1)],
                vec![set(when(to(3), S, 1), S, 0)],
                vec![set(to(4), G, 0)],
            ]),
        ],
    )
}

/// A state that is entered first by a step on shared data, then by a local one of the same process
/// at the same count.
fn entered_twice() -> Guarded {
    system(
        &[1, 0],
        vec![
            process(vec![
                vec![set(to(1), Z, 0), to(1)],
                vec![set(when(to(2), Z, 1), Y, 1)],
                vec![set(to(3), Y, 0)],
            ]),
            process(vec![
                vec![to(1), to(2)],
                vec![set(when(to(2), Z, 0), Z, 1)],
                vec![fail(when(to(3), Y, 1)), when(to(3), Y, 0)],
            ]),
        ],
    )
}

#[test]
fn figure_3_as_printed_is_right_here() {
    for example in [handshake(), entered_twice()] {
        for ascending in [false, true] {
            assert!(printed(&example, 1, Key::Movers, false, ascending));
        }
    }
}

/// [HF] Fig. 2, and what Spin 6.5.2 does.
#[test]
fn states_and_lowest_counts_are_not_enough() {
    for example in [handshake(), entered_twice()] {
        for ascending in [false, true] {
            assert!(!printed(&example, 1, Key::State, false, ascending));
            assert!(!printed(&example, 1, Key::Count, false, ascending));
        }
        ours_find(&example, 1);
    }
}

#[test]
fn how_a_state_was_entered_matters_with_reduction() {
    for ascending in [false, true] {
        assert!(!printed(&entered_twice(), 1, Key::Movers, true, ascending));
        assert!(printed(&entered_twice(), 1, Key::Safe, true, ascending));
    }
    ours_find(&entered_twice(), 1);
}

/// Theorem 2 of [HF] fails for ample steps that enable others: the signal commutes with all that
/// the others can do, but given early it makes a forced switch a preemption.
#[test]
fn ample_steps_must_not_enable_others() {
    let mut example = system(
        &[0, 0],
        vec![
            process(vec![
                vec![when(to(1), G, 1)],
                vec![when(to(2), G, 1), fail(when(to(2), G, 0))],
            ]),
            process(vec![vec![set(to(1), S, 1)]]),
            process(vec![vec![to(1)], vec![set(to(2), G, 1)], vec![set(when(to(3), S, 1), G, 0)]]),
        ],
    );
    ours_find(&example, 1);
    example.pretend_local.push((1, 0));
    for ascending in [false, true] {
        assert!(!printed(&example, 1, Key::Safe, true, ascending));
    }
}

/// [MQ07] Algorithm 1 with its state cache as printed.
fn printed_iteration(system: &Guarded, phases: u32, by_thread: bool) -> bool {
    struct Work {
        queue: VecDeque<(Vec<u8>, usize, u32)>,
        table: HashSet<(Vec<u8>, Option<usize>)>,
        by_thread: bool,
        found: bool,
    }
    fn steps(system: &Guarded, state: &[u8], thread: usize) -> Vec<Step> {
        let mut enabled = Enabled::new();
        system.enabled(&mut state.to_vec(), &mut enabled);
        enabled.of(ProcessId(thread as u16)).to_vec()
    }
    fn search(system: &Guarded, work: &mut Work, state: &[u8], thread: usize, phase: u32) {
        if !work.table.insert((state.to_vec(), work.by_thread.then_some(thread))) {
            return;
        }
        for step in steps(system, state, thread) {
            let mut next = state.to_vec();
            work.found |= matches!(system.apply(&mut next, step), Outcome::Violated(_));
            search(system, work, &next, thread, phase);
            for other in (0..system.processes.len()).filter(|&other| other != thread) {
                if steps(system, &next, thread).is_empty() {
                    search(system, work, &next, other, phase);
                } else {
                    work.queue.push_back((next.clone(), other, phase + 1));
                }
            }
        }
    }
    let mut initial = Vec::new();
    system.initial(&mut initial);
    let queue = (0..system.processes.len()).map(|thread| (initial.clone(), thread, 0)).collect();
    let mut work = Work { queue, table: HashSet::new(), by_thread, found: false };
    while let Some((state, thread, phase)) = work.queue.pop_front() {
        if phase <= phases {
            search(system, &mut work, &state, thread, phase);
        }
    }
    work.found
}

#[test]
fn the_printed_cache_runs_only_the_first_thread() {
    let example = system(&[0], vec![process(vec![]), process(vec![vec![fail(to(1))]])]);
    assert!(!printed_iteration(&example, 10, false));
    assert!(printed_iteration(&example, 0, true));
    ours_find(&example, 0);
}
