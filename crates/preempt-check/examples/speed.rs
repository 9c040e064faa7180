//! How fast the engine is on hand-written systems: states per second and bytes per state.
//!
//! `cargo run --release -p preempt-check --example speed -- [peterson|ring] [SIZE] [--store S]
//! [--search S] [--threads N] [--memory BYTES] [--depth N] [--por]`

use preempt_check::{Check, Options, Reduction, Search, Storage, conclude};
use preempt_core::engine::{Answer, Request, Sink, by_steps};
use preempt_core::{Describe, Enabled, Independence, Outcome, ProcessId, Step, System};

fn main() {
    let mut options = Options { reduction: Reduction::None, ..Options::default() };
    let (mut model, mut size) = ("peterson".to_owned(), 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--store" => {
                options.storage = match value().as_str() {
                    "exact" => Storage::Exact,
                    "tree" => Storage::Tree,
                    "compact" => Storage::Compact,
                    "bitstate" => Storage::Bitstate { bits: Some(30), hashes: 3 },
                    _ => Storage::Auto,
                }
            }
            "--search" => {
                options.search = match value().as_str() {
                    "dfs" => Search::Depth,
                    _ => Search::Breadth,
                }
            }
            "--threads" => options.threads = value().parse().unwrap_or(1),
            "--memory" => options.memory = value().parse().ok(),
            "--depth" => options.depth = value().parse().ok(),
            "--por" => options.reduction = Reduction::Full,
            other => match other.parse() {
                Ok(number) => size = number,
                Err(_) => model = other.to_owned(),
            },
        }
    }
    match model.as_str() {
        "ring" => report(&Ring { nodes: size.max(2) as u8 }, options),
        _ => report(&Peterson { rounds: size as u8 }, options),
    }
}

fn report<S: System>(system: &S, options: Options) {
    let finding = Check::new(system).options(options.clone()).find_compiled_for(system);
    let answer = conclude(system, &options.property, finding);
    let numbers = &answer.claim.statistics;
    println!("{}", answer.claim.sentence);
    for note in &answer.claim.notes {
        println!("{note}");
    }
    println!(
        "{:?} {:?} x{}: {} states, {} transitions, depth {}, {:.2} s, {:.2} M states/s, {:.2} M transitions/s, {:.1} bytes/state in store, {:.1} in all",
        options.search,
        options.storage,
        options.threads,
        numbers.states,
        numbers.transitions,
        numbers.depth,
        numbers.seconds,
        numbers.states as f64 / numbers.seconds / 1e6,
        numbers.transitions as f64 / numbers.seconds / 1e6,
        numbers.bytes_per_state,
        numbers.memory_bytes as f64 / numbers.states as f64,
    );
}

/// Peterson's filter lock for four processes. State: level[4], last[4], ncrit, count, then (pc, j,
/// k) of each process, padded to 24 bytes.
struct Peterson {
    rounds: u8,
}

const N: usize = 4;

impl Peterson {
    /// The first enabled option at the present location: every location has at most one.
    #[inline(always)]
    fn option(state: &[u8; 24], p: usize) -> Option<u32> {
        let at = 10 + 3 * p;
        let (pc, j, k) = (state[at], state[at + 1], usize::from(state[at + 2]));
        match pc {
            1 => Some(if usize::from(j) < N { 1 } else { 20 }),
            5 if k >= N => Some(21),
            5 => {
                let passes = k == p || state[k] < j || state[4 + usize::from(j)] != p as u8;
                passes.then_some(5)
            }
            pc => Some(pc.into()),
        }
    }

    #[inline(always)]
    fn fire(&self, state: &mut [u8; 24], p: usize, transition: u32) -> Outcome {
        let at = 10 + 3 * p;
        let j = state[at + 1];
        let next = match transition {
            0 => {
                state[at + 1] = 1;
                1
            }
            1 => 2,
            2 => {
                state[p] = j;
                3
            }
            3 => {
                state[4 + usize::from(j)] = p as u8;
                4
            }
            4 => {
                state[at + 2] = 0;
                5
            }
            5 => 6,
            6 => {
                state[at + 2] += 1;
                5
            }
            7 => {
                state[at + 1] += 1;
                1
            }
            20 => 8,
            21 => 7,
            8 => {
                state[8] += 1;
                9
            }
            9 => 10,
            10 => {
                state[8] -= 1;
                11
            }
            11 => {
                state[9] = (state[9] + 1) % self.rounds.max(1);
                12
            }
            _ => {
                state[p] = 0;
                0
            }
        };
        let failed = transition == 9 && state[8] != 1;
        state[at] = next;
        if failed { Outcome::Violated(0) } else { Outcome::Done }
    }
}

fn whole(state: &[u8]) -> &[u8; 24] {
    state.first_chunk().expect("states have 24 bytes")
}

impl System for Peterson {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.extend([0; 24]);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        N
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for p in (0..N).rev() {
            if let Some(transition) = Peterson::option(whole(state), p) {
                enabled.push(Step::new(ProcessId(p as u16), transition));
            }
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let bytes = state.first_chunk_mut().expect("states have 24 bytes");
        self.fire(bytes, step.process.index(), step.transition)
    }

    fn successors(&self, request: Request, sink: Sink<'_>) -> Answer {
        let (answer, state, out) = match (request.answer_by_all(), sink) {
            (Some(answer), Sink::Copies(state, out)) => (answer, state, out),
            (_, sink) => return by_steps(self, request, sink),
        };
        let state = *whole(state);
        for p in (0..N).rev() {
            if let Some(transition) = Peterson::option(&state, p) {
                let mut next = state;
                let outcome = self.fire(&mut next, p, transition);
                out.push(Step::new(ProcessId(p as u16), transition), outcome, false, &next);
            }
        }
        answer
    }
}

impl Independence for Peterson {}

impl Describe for Peterson {}

/// Leader election on a ring (Chang and Roberts), with channels of four messages. State: per node
/// (pc, register), then per channel (length, messages).
struct Ring {
    nodes: u8,
}

const SLOTS: usize = 4;
const CHANNEL: usize = 1 + 2 * SLOTS;

impl Ring {
    fn channel(&self, node: usize) -> usize {
        3 * usize::from(self.nodes) + CHANNEL * (node % usize::from(self.nodes))
    }
}

impl System for Ring {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize((3 + CHANNEL) * usize::from(self.nodes), 0);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.nodes.into()
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for p in (0..usize::from(self.nodes)).rev() {
            let (input, output) = (state[self.channel(p)], state[self.channel(p + 1)]);
            let able = match state[3 * p] {
                0 | 2 => usize::from(output) < SLOTS,
                1 => input > 0,
                3 => true,
                _ => false,
            };
            if able {
                enabled.push(Step::new(ProcessId(p as u16), state[3 * p].into()));
            }
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let p = step.process.index();
        let id = p as u8 + 1;
        match step.transition {
            // Send the own name, or pass on a greater one.
            0 | 2 => {
                let to = self.channel(p + 1);
                let slot = to + 1 + 2 * usize::from(state[to]);
                let value = if step.transition == 0 { id } else { state[3 * p + 1] };
                state[slot] = 1;
                state[slot + 1] = value;
                state[to] += 1;
                state[3 * p] = 1;
                state[3 * p + 1] = 0;
            }
            1 => {
                let from = self.channel(p);
                let value = state[from + 2];
                state.copy_within(from + 3..from + CHANNEL, from + 1);
                state[from + CHANNEL - 2..from + CHANNEL].fill(0);
                state[from] -= 1;
                if value > id {
                    state[3 * p + 1] = value;
                    state[3 * p] = 2;
                } else if value == id {
                    state[3 * p] = 3;
                }
            }
            _ => {
                state[3 * p + 2] = 1;
                state[3 * p] = 4;
            }
        }
        Outcome::Done
    }
}

impl Independence for Ring {}

impl Describe for Ring {}
