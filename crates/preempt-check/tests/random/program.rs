//! Random small programs: guarded commands over a few bytes, indivisible sequences, assertions.

use preempt_core::{
    Describe, Enabled, Footprint, Independence, Locality, ObjectSet, Outcome, ProcessId, Step,
    System, Unreached,
};

/// A small deterministic random number generator (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A variable: a shared one, or the process's own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Variable {
    Shared(u8),
    Own,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    Skip,
    Set(Variable, u8),
    Increment(Variable),
    /// Fails if the variable has this value.
    AssertNot(Variable, u8),
    /// Breaks if the variable has this value.
    BreakIf(Variable, u8),
}

#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) guard: Option<(Variable, u8)>,
    pub(crate) effect: Effect,
    /// Whether the target lies inside an indivisible sequence.
    pub(crate) atomic: bool,
}

/// State: owner of the present sequence + 1, shared variables, then (location, own variable) of
/// each process, then as many filler bytes as the first shared variable says (if `stretches`).
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) shared: u8,
    pub(crate) processes: Vec<Vec<Transition>>,
    /// Locations where a process may rest.
    pub(crate) ends: Vec<Vec<u8>>,
    pub(crate) stretches: bool,
    present: Vec<Vec<Footprint>>,
    future: Vec<Vec<Footprint>>,
}

const VALUES: u8 = 3;

impl Program {
    pub(crate) fn random(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let shared = 1 + random.below(3) as u8;
        let count = 2 + random.below(2) as usize;
        let stretches = random.chance(20);
        let loops = random.chance(60);
        let mut processes = Vec::new();
        let mut ends = Vec::new();
        for _ in 0..count {
            let locations = 2 + random.below(4) as u8;
            let mut transitions = Vec::new();
            for from in 0..locations {
                for _ in 0..random.below(3) + u64::from(from == 0) {
                    let mut to = random.below(u64::from(locations) + 1) as u8;
                    if !loops {
                        to = to.max(from + 1);
                    }
                    let guard = random
                        .chance(45)
                        .then(|| (variable(random, shared), random.below(VALUES.into()) as u8));
                    let effect = effect(random, shared);
                    // Sequences only go forward, so that they end.
                    let atomic = to > from && random.chance(25);
                    transitions.push(Transition { from, to, guard, effect, atomic });
                }
            }
            processes.push(transitions);
            let mut at: Vec<u8> = (0..=locations).filter(|_| random.chance(50)).collect();
            at.push(locations);
            ends.push(at);
        }
        let mut program =
            Program { shared, processes, ends, stretches, present: Vec::new(), future: Vec::new() };
        program.summarise();
        program
    }

    fn summarise(&mut self) {
        for transitions in &self.processes {
            let locations = 1 + transitions.iter().map(|t| t.to.max(t.from)).max().unwrap_or(0);
            let locations = usize::from(locations);
            let mut present = vec![Footprint::default(); locations];
            let mut future = vec![Footprint::default(); locations];
            loop {
                let mut grew = false;
                for t in transitions {
                    let touched = touches(t);
                    let (from, to) = (usize::from(t.from), usize::from(t.to));
                    grew |= present[from].absorb(&touched);
                    if t.atomic {
                        let rest = present[to].clone();
                        grew |= present[from].absorb(&rest);
                    }
                    grew |= future[from].absorb(&touched);
                    let rest = future[to].clone();
                    grew |= future[from].absorb(&rest);
                }
                if !grew {
                    break;
                }
            }
            self.present.push(present);
            self.future.push(future);
        }
    }

    fn location_at(&self, process: usize) -> usize {
        1 + usize::from(self.shared) + 2 * process
    }

    fn place(&self, process: usize, variable: Variable) -> usize {
        match variable {
            Variable::Shared(number) => 1 + usize::from(number),
            Variable::Own => self.location_at(process) + 1,
        }
    }

    fn stretch(&self, state: &mut Vec<u8>) {
        if self.stretches {
            state.resize(self.location_at(self.processes.len()) + usize::from(state[1]) * 5, 7);
        }
    }

    fn steps_of(&self, state: &[u8], process: usize, enabled: &mut Enabled) {
        for (number, t) in self.processes[process].iter().enumerate() {
            let here = state[self.location_at(process)] == t.from;
            let passes = |(v, value): (Variable, u8)| state[self.place(process, v)] == value;
            if here && t.guard.is_none_or(passes) {
                enabled.push(Step::new(ProcessId(process as u16), number as u32));
            }
        }
    }
}

fn variable(random: &mut Random, shared: u8) -> Variable {
    match random.chance(35) {
        true => Variable::Own,
        false => Variable::Shared(random.below(shared.into()) as u8),
    }
}

fn effect(random: &mut Random, shared: u8) -> Effect {
    let v = variable(random, shared);
    let value = random.below(VALUES.into()) as u8;
    match random.below(20) {
        0..6 => Effect::Skip,
        6..13 => Effect::Set(v, value),
        13..18 => Effect::Increment(v),
        18 => Effect::AssertNot(v, value),
        _ if random.chance(30) => Effect::BreakIf(v, value),
        _ => Effect::Skip,
    }
}

fn touches(t: &Transition) -> Footprint {
    let mut footprint = Footprint::default();
    let add = |set: &mut ObjectSet, v: Variable| {
        if let Variable::Shared(number) = v {
            set.insert(number.into());
        }
    };
    if let Some((v, _)) = t.guard {
        add(&mut footprint.reads, v);
    }
    match t.effect {
        Effect::Skip => {}
        Effect::Set(v, _) | Effect::Increment(v) => add(&mut footprint.writes, v),
        Effect::AssertNot(v, _) | Effect::BreakIf(v, _) => add(&mut footprint.reads, v),
    }
    footprint
}

impl System for Program {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(self.location_at(self.processes.len()), 0);
        self.stretch(state);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.processes.len()
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        if state[0] != 0 {
            self.steps_of(state, usize::from(state[0]) - 1, enabled);
            if !enabled.is_empty() {
                return;
            }
            state[0] = 0;
        }
        for process in (0..self.processes.len()).rev() {
            self.steps_of(state, process, enabled);
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let process = step.process.index();
        let t = &self.processes[process][step.transition as usize];
        let fault = (process * 100) as u32 + step.transition;
        let at = self.location_at(process);
        state[at] = t.to;
        state[0] = if t.atomic { process as u8 + 1 } else { 0 };
        let outcome = match t.effect {
            Effect::Skip => Outcome::Done,
            Effect::Set(v, value) => {
                state[self.place(process, v)] = value;
                Outcome::Done
            }
            Effect::Increment(v) => {
                let place = self.place(process, v);
                state[place] = (state[place] + 1) % VALUES;
                Outcome::Done
            }
            Effect::AssertNot(v, value) if state[self.place(process, v)] == value => {
                Outcome::Violated(fault)
            }
            Effect::BreakIf(v, value) if state[self.place(process, v)] == value => {
                return Outcome::Broken(fault);
            }
            Effect::AssertNot(..) | Effect::BreakIf(..) => Outcome::Done,
        };
        self.stretch(state);
        outcome
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        state[0] != 0
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        (0..self.processes.len())
            .all(|process| self.ends[process].contains(&state[self.location_at(process)]))
    }

    fn transition_count(&self) -> usize {
        100 * self.processes.len()
    }

    fn transitions_of(&self, step: Step) -> (usize, Option<usize>) {
        (step.process.index() * 100 + step.transition as usize, None)
    }
}

impl Independence for Program {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        match self.present(state, process) {
            Some(present) if present.is_local() => Locality::Local,
            _ => Locality::Shared,
        }
    }

    fn present(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let location = state[self.location_at(process.index())];
        self.present[process.index()].get(usize::from(location)).or_else(|| Some(&NOTHING))
    }

    fn future(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let location = state[self.location_at(process.index())];
        self.future[process.index()].get(usize::from(location)).or_else(|| Some(&NOTHING))
    }
}

impl Describe for Program {
    fn unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        let mut list = Vec::new();
        for (process, transitions) in self.processes.iter().enumerate() {
            for number in (0..transitions.len()).filter(|number| !taken[process * 100 + number]) {
                list.push(Unreached {
                    process: process.to_string(),
                    file: String::new(),
                    line: number as u32,
                    text: String::new(),
                });
            }
        }
        list
    }
}

static NOTHING: std::sync::LazyLock<Footprint> = std::sync::LazyLock::new(Footprint::default);
