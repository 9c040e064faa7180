//! Random small systems of guarded commands over shared bits, for the tests of liveness.

use preempt_core::{Describe, Enabled, Independence, Locality, Outcome, ProcessId, Step, System};

/// xorshift64*.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }
}

/// `from -> to`, if the shared bit has the value, setting a shared bit.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) guard: Option<(usize, u8)>,
    pub(crate) set: Option<(usize, u8)>,
}

impl Move {
    fn is_local(&self) -> bool {
        self.guard.is_none() && self.set.is_none()
    }
}

/// State: shared bits, then a location per process.
#[derive(Clone, Debug)]
pub(crate) struct Tiny {
    pub(crate) bits: usize,
    pub(crate) processes: Vec<Vec<Move>>,
}

impl System for Tiny {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(self.bits + self.processes.len(), 0);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.processes.len()
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for (p, moves) in self.processes.iter().enumerate().rev() {
            for (t, m) in moves.iter().enumerate() {
                let open = m.guard.is_none_or(|(bit, value)| state[bit] == value);
                if m.from == state[self.bits + p] && open {
                    enabled.push(Step::new(ProcessId(p as u16), t as u32));
                }
            }
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let m = &self.processes[step.process.index()][step.transition as usize];
        state[self.bits + step.process.index()] = m.to;
        if let Some((bit, value)) = m.set {
            state[bit] = value;
        }
        Outcome::Done
    }

    fn proposition_count(&self) -> usize {
        self.bits
    }

    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        Ok(state[index] == 1)
    }
}

impl Independence for Tiny {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        let at = state[self.bits + process.index()];
        let mut here = self.processes[process.index()].iter().filter(|m| m.from == at);
        if here.all(Move::is_local) { Locality::Local } else { Locality::Shared }
    }

    fn is_visible(&self, _state: &[u8], _process: ProcessId) -> bool {
        false
    }
}

impl Describe for Tiny {}

#[allow(dead_code, reason = "not every test needs small systems")]
pub(crate) fn tiny(random: &mut Random) -> Tiny {
    sized(random, 3, 5)
}

#[allow(dead_code, reason = "not every test needs larger systems")]
pub(crate) fn sized(random: &mut Random, locations: u64, moves: u64) -> Tiny {
    let bits = 1 + random.below(2) as usize;
    let processes = 1 + random.below(3) as usize;
    let locations = 1 + random.below(locations) as u8;
    let processes = (0..processes)
        .map(|_| {
            (0..1 + random.below(moves))
                .map(|_| Move {
                    from: random.below(locations.into()) as u8,
                    to: random.below(locations.into()) as u8,
                    guard: (random.below(3) == 0)
                        .then(|| (random.below(bits as u64) as usize, random.below(2) as u8)),
                    set: (random.below(3) == 0)
                        .then(|| (random.below(bits as u64) as usize, random.below(2) as u8)),
                })
                .collect()
        })
        .collect();
    Tiny { bits, processes }
}
