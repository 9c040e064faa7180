//! Small systems whose processes signal each other: shared bits, channels, rendezvous, indivisible
//! sequences, processes that end youngest first. What may be explored alone is found by brute force on the
//! whole graph, as liberal as the theory permits; footprints come from the text.

#![allow(dead_code)] // Each test binary uses its own part.

#[allow(clippy::duplicate_mod, reason = "unit tests use several of these folders")]
#[path = "../chance/mod.rs"]
mod chance;
mod graph;
mod make;

pub(crate) use make::{KNOWN, known, mutated, random};

use graph::lone_movers;
use preempt_core::{
    Describe, Enabled, Footprint, Independence, Locality, Outcome, ProcessId, Step, System,
};
use std::collections::HashMap;

/// What a move does with another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Contact {
    #[default]
    None,
    /// Appends a value to a channel.
    Send(u8, u8),
    /// Takes the first value, any or only this one.
    Receive(u8, Option<u8>),
    /// Offers a rendezvous.
    Meet(u8),
    /// Answers an offered rendezvous.
    Answer(u8),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Move {
    pub(crate) guard: Vec<(usize, u8)>,
    pub(crate) local_guard: Option<u8>,
    pub(crate) sets: Vec<(usize, u8)>,
    pub(crate) local_set: Option<u8>,
    pub(crate) target: u8,
    pub(crate) fails: bool,
    pub(crate) contact: Contact,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Location {
    pub(crate) atomic: bool,
    pub(crate) valid_end: bool,
    pub(crate) moves: Vec<Move>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) bits: Vec<u8>,
    pub(crate) capacities: Vec<u8>,
    pub(crate) processes: Vec<Vec<Location>>,
    /// Whether processes end, the youngest first.
    pub(crate) end: bool,
}

/// A program with all that reductions ask for.
#[derive(Debug)]
pub(crate) struct Signalling {
    pub(crate) program: Program,
    /// In each state, the processes that may be explored alone.
    alone: HashMap<Vec<u8>, Vec<bool>>,
    steps: HashMap<(usize, u8, u32), Footprint>,
    presents: Vec<Vec<Footprint>>,
    futures: Vec<Vec<Footprint>>,
}

const ROOM: usize = 3;
const ENDED: u8 = 255;
const END: u32 = 1000;
/// The set of live processes.
const PROCESSES: usize = 0;

impl Program {
    /// State: owner of an indivisible sequence + 1, bits, channels (length, values), processes (location,
    /// local bit), live processes.
    fn channel(&self, channel: u8) -> usize {
        1 + self.bits.len() + (1 + ROOM) * usize::from(channel)
    }

    fn at(&self, process: usize) -> usize {
        self.channel(self.capacities.len() as u8) + 2 * process
    }

    fn live(&self) -> usize {
        self.at(self.processes.len())
    }

    pub(crate) fn moves(&self, state: &[u8], process: usize) -> &[Move] {
        match state[self.at(process)] {
            ENDED => &[],
            location => &self.processes[process][usize::from(location)].moves,
        }
    }

    fn allows(&self, state: &[u8], process: usize, m: &Move) -> bool {
        let fits = match m.contact {
            Contact::Send(c, _) => state[self.channel(c)] < self.capacities[usize::from(c)],
            Contact::Receive(c, value) => {
                let at = self.channel(c);
                state[at] > 0 && value.is_none_or(|value| state[at + 1] == value)
            }
            _ => true,
        };
        fits && m.guard.iter().all(|&(bit, value)| state[1 + bit] == value)
            && m.local_guard.is_none_or(|value| state[self.at(process) + 1] == value)
    }

    fn add_steps(&self, state: &[u8], process: usize, enabled: &mut Enabled) {
        let id = ProcessId(process as u16);
        for (at, m) in self.moves(state, process).iter().enumerate() {
            if !self.allows(state, process, m) {
                continue;
            }
            match m.contact {
                Contact::Answer(_) => {}
                Contact::Meet(c) => {
                    for other in (0..self.processes.len()).filter(|other| *other != process) {
                        for (answer, n) in self.moves(state, other).iter().enumerate() {
                            let fits = n.contact == Contact::Answer(c);
                            if fits && self.allows(state, other, n) {
                                enabled.push(Step {
                                    process: id,
                                    partner: Some(ProcessId(other as u16)),
                                    transition: at as u32,
                                    partner_transition: answer as u32,
                                    choice: 0,
                                });
                            }
                        }
                    }
                }
                _ => enabled.push(Step::new(id, at as u32)),
            }
        }
        let is_done = state[self.at(process)] != ENDED && self.moves(state, process).is_empty();
        if self.end && is_done && usize::from(state[self.live()]) == process + 1 {
            enabled.push(Step::new(id, END));
        }
    }

    fn take(&self, state: &mut [u8], process: usize, transition: u32) -> bool {
        let at = self.at(process);
        if transition == END {
            state[at] = ENDED;
            state[at + 1] = 0;
            state[self.live()] -= 1;
            state[0] = 0;
            return false;
        }
        let m = self.moves(state, process)[transition as usize].clone();
        match m.contact {
            Contact::Send(c, value) => {
                let at = self.channel(c);
                state[at + 1 + usize::from(state[at])] = value;
                state[at] += 1;
            }
            Contact::Receive(c, value) => {
                let channel = self.channel(c);
                if value.is_none() {
                    state[at + 1] = state[channel + 1];
                }
                state.copy_within(channel + 2..channel + 1 + ROOM, channel + 1);
                state[channel + ROOM] = 0;
                state[channel] -= 1;
            }
            _ => {}
        }
        for (bit, value) in m.sets {
            state[1 + bit] = value;
        }
        if let Some(value) = m.local_set {
            state[at + 1] = value;
        }
        state[at] = m.target;
        let atomic = self.processes[process][usize::from(m.target)].atomic;
        state[0] = if atomic { process as u8 + 1 } else { 0 };
        m.fails
    }

    /// Whether no other process can notice what a process does where it is.
    fn is_local(&self, state: &[u8], process: usize) -> bool {
        let moves = self.moves(state, process);
        let is_local = |m: &Move| {
            let target = &self.processes[process][usize::from(m.target)];
            let answers = target.moves.iter().any(|n| matches!(n.contact, Contact::Answer(_)));
            m.guard.is_empty()
                && m.sets.is_empty()
                && m.contact == Contact::None
                && !target.atomic
                && !answers
        };
        !moves.is_empty() && moves.iter().all(is_local)
    }

    fn bit(&self, bit: usize) -> usize {
        1 + bit
    }

    fn sends(&self, channel: u8) -> usize {
        1 + self.bits.len() + 2 * usize::from(channel)
    }

    fn receives(&self, channel: u8) -> usize {
        self.sends(channel) + 1
    }

    fn meetings(&self, channel: u8) -> usize {
        self.sends(self.capacities.len() as u8 + channel)
    }

    /// Whether a rendezvous is sent in the middle of an indivisible sequence.
    fn meets_inside(&self, channel: u8) -> bool {
        let locations = self.processes.iter().flatten().filter(|location| location.atomic);
        locations.flat_map(|l| &l.moves).any(|m| m.contact == Contact::Meet(channel))
    }

    fn touches(&self, process: usize, m: &Move) -> Footprint {
        let mut touched = Footprint::default();
        // Whether a process stands where a rendezvous is answered decides where an indivisible sequence
        // is interrupted.
        for n in &self.processes[process][usize::from(m.target)].moves {
            if let Contact::Answer(c) = n.contact
                && self.meets_inside(c)
            {
                touched.writes.insert(self.meetings(c));
            }
        }
        touched.reads.extend(m.guard.iter().map(|(bit, _)| self.bit(*bit)));
        touched.writes.extend(m.sets.iter().map(|(bit, _)| self.bit(*bit)));
        match m.contact {
            Contact::None => {}
            Contact::Send(c, _) => {
                touched.reads.insert(self.receives(c));
                touched.writes.insert(self.sends(c));
            }
            Contact::Receive(c, _) => {
                touched.reads.insert(self.sends(c));
                touched.writes.insert(self.receives(c));
            }
            Contact::Meet(c) | Contact::Answer(c) => {
                touched.writes.insert(self.meetings(c));
            }
        }
        touched
    }

    /// What a process touches at a location, with the indivisible sequences behind it; of a rendezvous
    /// both halves.
    fn present(&self, process: usize, location: u8, seen: &mut Vec<(usize, u8)>) -> Footprint {
        let mut sum = Footprint::default();
        if seen.contains(&(process, location)) {
            return sum;
        }
        seen.push((process, location));
        let here = &self.processes[process][usize::from(location)];
        if here.moves.is_empty() && self.end {
            sum.reads.insert(PROCESSES);
            sum.writes.insert(PROCESSES);
        }
        for m in &here.moves {
            sum.absorb(&self.touches(process, m));
            if self.processes[process][usize::from(m.target)].atomic {
                sum.absorb(&self.present(process, m.target, seen));
            }
            let Contact::Meet(c) = m.contact else { continue };
            for (other, locations) in self.processes.iter().enumerate() {
                for n in locations.iter().flat_map(|l| &l.moves) {
                    if n.contact == Contact::Answer(c) {
                        sum.absorb(&self.touches(other, n));
                        if locations[usize::from(n.target)].atomic {
                            sum.absorb(&self.present(other, n.target, seen));
                        }
                    }
                }
            }
        }
        sum
    }

    fn future(&self, process: usize, location: u8) -> Footprint {
        let (mut sum, mut seen, mut open) = (Footprint::default(), vec![location], vec![location]);
        while let Some(location) = open.pop() {
            sum.absorb(&self.present(process, location, &mut Vec::new()));
            for m in &self.processes[process][usize::from(location)].moves {
                if !seen.contains(&m.target) {
                    seen.push(m.target);
                    open.push(m.target);
                }
            }
        }
        sum
    }
}

impl Signalling {
    /// `None` if the program has more than `most` states.
    pub(crate) fn new(program: Program, most: usize) -> Option<Self> {
        let mut steps = HashMap::new();
        for (process, locations) in program.processes.iter().enumerate() {
            for (location, here) in locations.iter().enumerate() {
                for (at, m) in here.moves.iter().enumerate() {
                    let touched = program.touches(process, m);
                    steps.insert((process, location as u8, at as u32), touched);
                }
            }
        }
        let of = |f: &dyn Fn(usize, u8) -> Footprint| -> Vec<Vec<Footprint>> {
            let processes = program.processes.iter().enumerate();
            processes.map(|(p, l)| (0..l.len()).map(|at| f(p, at as u8)).collect()).collect()
        };
        let presents = of(&|process, at| program.present(process, at, &mut Vec::new()));
        let futures = of(&|process, at| program.future(process, at));
        let alone = lone_movers(&program, most)?;
        Some(Signalling { program, alone, steps, presents, futures })
    }

    fn location(&self, state: &[u8], process: ProcessId) -> Option<usize> {
        let location = state[self.program.at(process.index())];
        (location != ENDED).then_some(location.into())
    }
}

impl System for Program {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.push(0);
        state.extend(&self.bits);
        state.resize(self.live(), 0);
        state.push(self.processes.len() as u8);
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

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let mut fails = self.take(state, step.process.index(), step.transition);
        if let Some(partner) = step.partner {
            fails |= self.take(state, partner.index(), step.partner_transition);
        }
        if fails { Outcome::Violated(0) } else { Outcome::Done }
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        state[0] != 0
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        (0..self.processes.len()).all(|process| match state[self.at(process)] {
            ENDED => true,
            location => self.processes[process][usize::from(location)].valid_end,
        })
    }
}

impl Independence for Program {}

impl Describe for Program {}

impl System for Signalling {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.program.initial(state)
    }

    fn process_count(&self, state: &[u8]) -> usize {
        self.program.process_count(state)
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        self.program.enabled(state, enabled);
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        self.program.apply(state, step)
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        self.program.is_transient(state)
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.program.is_valid_end(state)
    }
}

impl Independence for Signalling {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        let alone = self.alone.get(state).is_some_and(|alone| alone[process.index()]);
        match (alone, self.program.is_local(state, process.index())) {
            (true, true) => Locality::Local,
            (true, false) => Locality::Safe,
            _ => Locality::Shared,
        }
    }

    fn is_visible(&self, _state: &[u8], _process: ProcessId) -> bool {
        false
    }

    fn present(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        Some(&self.presents[process.index()][self.location(state, process)?])
    }

    fn future(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        static NOTHING: std::sync::OnceLock<Footprint> = std::sync::OnceLock::new();
        match self.location(state, process) {
            Some(location) => Some(&self.futures[process.index()][location]),
            None => Some(NOTHING.get_or_init(Footprint::default)),
        }
    }

    fn footprint(&self, state: &[u8], step: Step) -> Option<&Footprint> {
        let location = self.location(state, step.process)?;
        match (step.partner, step.transition) {
            (None, END) => Some(&self.presents[step.process.index()][location]),
            (None, at) => self.steps.get(&(step.process.index(), location as u8, at)),
            // Both halves, with all that may follow.
            (Some(_), _) => Some(&self.presents[step.process.index()][location]),
        }
    }

    fn may_answer(&self, state: &[u8], process: ProcessId) -> bool {
        let moves = self.program.moves(state, process.index());
        moves.iter().any(|m| matches!(m.contact, Contact::Answer(_)))
    }
}

impl Describe for Signalling {}
