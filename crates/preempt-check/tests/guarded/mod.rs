//! Small systems of guarded moves: a few shared bits, a local bit per process, rendezvous,
//! indivisible sequences. Enough to be wrong about, small enough to enumerate.

#![allow(dead_code)] // Each test binary uses its own part.

#[allow(clippy::duplicate_mod, reason = "unit tests use several of these folders")]
#[path = "../chance/mod.rs"]
mod chance;

use chance::Random;
use preempt_core::{Describe, Enabled, Independence, Locality, Outcome, ProcessId, Step, System};

/// A move of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Move {
    /// Shared bits that must have these values.
    pub(crate) guard: Vec<(usize, u8)>,
    /// The value that the local bit must have.
    pub(crate) local_guard: Option<u8>,
    /// Shared bits that are set.
    pub(crate) sets: Vec<(usize, u8)>,
    /// The value that the local bit gets.
    pub(crate) local_set: Option<u8>,
    /// Where it leads.
    pub(crate) target: u8,
    /// An assertion that fails.
    pub(crate) fails: bool,
    /// A rendezvous.
    pub(crate) sync: Option<Sync>,
}

/// One end of a rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    Send(u8),
    Receive(u8),
}

/// A control point of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Location {
    /// Entering it keeps the others out.
    pub(crate) atomic: bool,
    /// A process may rest here.
    pub(crate) valid_end: bool,
    pub(crate) moves: Vec<Move>,
}

/// A system: initial shared bits, and the locations of each process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guarded {
    pub(crate) shared: Vec<u8>,
    pub(crate) processes: Vec<Vec<Location>>,
    /// Steps of these processes are said to be safe even if they are not local, wherever `true`.
    pub(crate) pretend_local: Vec<(usize, usize)>,
    /// Searches treat it as they do machine code: they ask for the steps of some processes alone.
    pub(crate) compiled: bool,
}

impl Guarded {
    fn at(&self, process: usize) -> usize {
        1 + self.shared.len() + 2 * process
    }

    fn location(&self, state: &[u8], process: usize) -> &Location {
        &self.processes[process][usize::from(state[self.at(process)])]
    }

    fn allows(&self, state: &[u8], process: usize, m: &Move) -> bool {
        m.guard.iter().all(|&(bit, value)| state[1 + bit] == value)
            && m.local_guard.is_none_or(|value| state[self.at(process) + 1] == value)
    }

    fn add_steps(&self, state: &[u8], process: usize, enabled: &mut Enabled) {
        for (transition, m) in self.location(state, process).moves.iter().enumerate() {
            if !self.allows(state, process, m) {
                continue;
            }
            let id = ProcessId(process as u16);
            match m.sync {
                None => enabled.push(Step::new(id, transition as u32)),
                Some(Sync::Receive(_)) => {}
                Some(Sync::Send(channel)) => {
                    for other in (0..self.processes.len()).rev().filter(|&o| o != process) {
                        let moves = &self.location(state, other).moves;
                        for (at, n) in moves.iter().enumerate() {
                            let fits = n.sync == Some(Sync::Receive(channel));
                            if fits && self.allows(state, other, n) {
                                enabled.push(Step {
                                    process: id,
                                    partner: Some(ProcessId(other as u16)),
                                    transition: transition as u32,
                                    partner_transition: at as u32,
                                    choice: 0,
                                });
                            }
                        }
                    }
                }
            }
        }
    }

    fn do_move(&self, state: &mut [u8], process: usize, transition: u32) -> bool {
        let at = self.at(process);
        let m = &self.location(state, process).moves[transition as usize];
        for &(bit, value) in &m.sets {
            state[1 + bit] = value;
        }
        if let Some(value) = m.local_set {
            state[at + 1] = value;
        }
        state[at] = m.target;
        state[0] = if self.processes[process][usize::from(m.target)].atomic {
            process as u8 + 1
        } else {
            0
        };
        m.fails
    }
}

impl System for Guarded {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.push(0);
        state.extend_from_slice(&self.shared);
        state.resize(self.at(self.processes.len()), 0);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.processes.len()
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        if state[0] != 0 {
            self.add_steps(state, usize::from(state[0]) - 1, enabled);
            if !enabled.is_empty() {
                return;
            }
            state[0] = 0;
        }
        for process in (0..self.processes.len()).rev() {
            self.add_steps(state, process, enabled);
        }
    }

    fn is_compiled(&self) -> bool {
        self.compiled
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let mut fails = self.do_move(state, step.process.index(), step.transition);
        if let Some(partner) = step.partner {
            fails |= self.do_move(state, partner.index(), step.partner_transition);
        }
        if fails { Outcome::Violated(step.process.0.into()) } else { Outcome::Done }
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        state[0] != 0
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        (0..self.processes.len()).all(|p| self.location(state, p).valid_end)
    }
}

impl Independence for Guarded {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        let process = process.index();
        let at = usize::from(state[self.at(process)]);
        if self.pretend_local.contains(&(process, at)) {
            return Locality::Local;
        }
        let local = self.location(state, process).moves.iter().all(|m| {
            let target = &self.processes[process][usize::from(m.target)];
            // Arriving where a rendezvous is received enables the sender.
            let receives = target.moves.iter().any(|n| matches!(n.sync, Some(Sync::Receive(_))));
            m.guard.is_empty()
                && m.sets.is_empty()
                && m.sync.is_none()
                && !target.atomic
                && !receives
        });
        if local { Locality::Local } else { Locality::Shared }
    }

    fn is_visible(&self, _state: &[u8], _process: ProcessId) -> bool {
        false
    }

    fn control_points(&self, state: &[u8], points: &mut Vec<u32>) {
        let point = |process| 16 * process as u32 + u32::from(state[self.at(process)]);
        points.extend((0..self.processes.len()).map(point));
    }
}

impl Describe for Guarded {}

/// A random system of two to four processes. Every third has rendezvous, every fourth indivisible
/// sequences; the others are plain, as most mistakes about bounds show there.
pub(crate) fn random_system(seed: u64) -> Guarded {
    let mut random = Random::new(seed + 1);
    let (rendezvous, atomic) = (seed.is_multiple_of(3), seed.is_multiple_of(4));
    let bits = 1 + random.below(3);
    let count = 2 + random.below(if seed.is_multiple_of(5) { 3 } else { 2 });
    let processes = (0..count)
        .map(|_| {
            let size = 2 + random.below(4);
            (0..size)
                .map(|at| Location {
                    atomic: atomic && at > 0 && random.chance(20),
                    valid_end: random.chance(80),
                    moves: random_moves(&mut random, size, at, bits, rendezvous),
                })
                .collect()
        })
        .collect();
    let shared = (0..bits).map(|_| random.below(2) as u8).collect();
    let compiled = seed / 4 % 2 == 1;
    Guarded { shared, processes, pretend_local: Vec::new(), compiled }
}

fn random_moves(
    random: &mut Random,
    size: usize,
    at: usize,
    bits: usize,
    rendezvous: bool,
) -> Vec<Move> {
    if at + 1 == size && random.chance(60) {
        return Vec::new();
    }
    let local_only = random.chance(40);
    (0..1 + random.below(2))
        .map(|_| {
            let mut m = Move {
                // Mostly forward, so that paths end and something is left to find.
                target: if random.chance(85) {
                    (at + 1).min(size - 1) as u8
                } else {
                    random.below(size) as u8
                },
                ..Move::default()
            };
            if random.chance(20) {
                m.local_guard = Some(random.below(2) as u8);
            }
            if random.chance(25) {
                m.local_set = Some(random.below(2) as u8);
            }
            if local_only {
                return m;
            }
            if random.chance(45) {
                m.guard.push((random.below(bits), random.below(2) as u8));
                m.fails = random.chance(12);
            }
            if random.chance(50) {
                m.sets.push((random.below(bits), random.below(2) as u8));
            }
            if rendezvous && random.chance(35) {
                let channel = random.below(2) as u8;
                m.sync = Some(if random.chance(50) {
                    Sync::Send(channel)
                } else {
                    Sync::Receive(channel)
                });
            }
            m
        })
        .collect()
}
