//! What a visit leads to: which processes run ahead from it, or else which go on and which have to wait.
//!
//! Processes are looked at as they are needed: one whose steps touch nothing shared may be enough. Where
//! the system can only tell the steps of all processes together, they are looked at together; the choices
//! are the same.
//!
//! Invariant: what is chosen depends on the state, the visit and what was learned, never on how much was
//! looked at.

use super::agenda::Item;
use super::mistake::{Mistake, makes};
use super::outgoing::{Edge, Outgoing, Target};
use super::shard::{Visit, VisitOrigin};
use crate::Options;
use crate::reduce::{Ahead, Signalled};
use crate::search::shared::expansion::Expander;
use crate::search::shared::halt::Halt;
use crate::search::shared::statistics::Counters;
use crate::search::shared::visit_rule::{Due, Turn, turn};
use preempt_core::engine::ProcessSelection;
use preempt_core::{Locality, ObjectSet, ProcessId, Step, System};

/// Where visits and violations are noted.
pub(super) trait Visits {
    /// The hash of a state, which [`Visits::arrive`] will want; what that needs is fetched.
    fn hash(&self, state: &[u8]) -> u64;

    /// Notes that a state was reached; says whether that leads to a visit that is yet to be expanded.
    fn arrive(&mut self, hash: u64, state: &[u8], reached: VisitOrigin) -> Result<bool, Halt>;

    /// The visit that is being expanded turns out to have no last mover.
    fn forget_mover(&mut self, visit: u32);

    /// Others have to wait at a visit for one preemption more.
    fn wait(&mut self, at: CurrentVisit);

    /// A fault behind a visit and these steps.
    fn fault(&mut self, visit: u32, path: &[Step], fault: u32) -> Result<(), Halt>;

    /// The state of a visit, in which no process has a step, is no valid end.
    fn invalid_end(&mut self, visit: u32) -> Result<(), Halt>;
}

/// A visit that is being expanded.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentVisit {
    pub(super) number: u32,
    pub(super) count: u16,
    pub(super) mover: Option<ProcessId>,
}

impl CurrentVisit {
    /// The visit with this number.
    pub(super) fn of(number: u32, visit: Visit) -> Self {
        CurrentVisit { number, count: visit.count, mover: visit.mover() }
    }
}

/// The last mover where an edge leads.
#[derive(Clone, Copy)]
enum Label {
    /// The process that moved.
    Moves,
    /// The one that was it before.
    Stays(Option<ProcessId>),
}

/// Looks at one state after the other.
pub(super) struct Explorer<'a, S: ?Sized> {
    system: &'a S,
    pub(super) ahead: Ahead,
    pub(super) outgoing: Outgoing<'a, S>,
    expander: Expander,
    /// The state that is being expanded.
    pub(super) state: Vec<u8>,
    /// Of each of its processes, how far its steps stay out of the others' way.
    localities: Vec<Locality>,
    hashes: Vec<u64>,
    /// A stubborn set.
    set: Vec<ProcessId>,
    nothing: ObjectSet,
    pub(super) transitions: u64,
    /// How often a process ran ahead by more than steps that touch nothing shared.
    pub(super) runs: u64,
}

impl<'a, S: System + ?Sized> Explorer<'a, S> {
    pub(super) fn new(system: &'a S, options: &Options, signalled: Signalled) -> Self {
        Explorer {
            system,
            ahead: Ahead::new(options.reduction, signalled),
            outgoing: Outgoing::new(system, Counters::new(system, options)),
            expander: Expander::default(),
            state: Vec::new(),
            localities: Vec::new(),
            hashes: Vec::new(),
            set: Vec::new(),
            nothing: ObjectSet::new(),
            transitions: 0,
            runs: 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.expander.bytes()
    }

    /// Turns to `self.state`, of which nothing was looked at.
    fn enter(&mut self) {
        self.expander.clear();
        self.outgoing.clear();
        let counters = &mut self.outgoing.counters;
        counters.state_bytes = counters.state_bytes.max(self.state.len());
    }

    /// Does what is to be done at a visit to `self.state`.
    pub(super) fn deal_with(
        &mut self,
        item: Item,
        at: CurrentVisit,
        visits: &mut impl Visits,
    ) -> Result<(), Halt> {
        match item {
            Item::Visit(_) => self.expand(at, visits),
            Item::Others(_) => self.expand_others(at, visits),
        }
    }

    /// Deals with a visit to `self.state`.
    fn expand(&mut self, at: CurrentVisit, visits: &mut impl Visits) -> Result<(), Halt> {
        self.enter();
        if self.run_local(at, visits)? {
            return Ok(());
        }
        let mover = match at.mover {
            Some(mover) if self.is_robust(mover)? => Some(mover),
            Some(_) => {
                visits.forget_mover(at.number);
                None
            }
            None => None,
        };
        let stays = if makes(Mistake::TurnComesBack) { at.mover } else { mover };
        if self.run_ahead(at, stays, visits)? {
            self.runs += 1;
            if makes(Mistake::AheadIsFree) {
                visits.forget_mover(at.number);
            }
            return Ok(());
        }
        if self.outgoing.is_empty() {
            let is_bad = self.outgoing.counters.reports_deadlocks()
                && !self.system.is_valid_end(&self.state);
            return if is_bad { visits.invalid_end(at.number) } else { Ok(()) };
        }
        self.hash_all(visits);
        let (turn, mut others_wait) = (turn(mover.is_some(), false), false);
        for number in 0..self.outgoing.len() {
            let (process, edges) = self.outgoing.nth(number);
            let is_mover = |process| Some(process) == mover;
            if turn.due(process, is_mover, is_mover) == Due::Later {
                others_wait = true;
                continue;
            }
            let label = match process {
                ProcessId::PROPERTY => Label::Stays(mover),
                _ => Label::Moves,
            };
            for edge in edges {
                self.follow(edge, at, at.count, label, visits)?;
            }
        }
        if others_wait {
            visits.wait(at);
        }
        Ok(())
    }

    /// Runs, at one preemption more, the processes that had to wait at a visit to `self.state`.
    fn expand_others(&mut self, at: CurrentVisit, visits: &mut impl Visits) -> Result<(), Halt> {
        self.enter();
        self.look_at_all()?;
        self.hash_all(visits);
        for number in 0..self.outgoing.len() {
            let (process, edges) = self.outgoing.nth(number);
            let has_run = |process| Some(process) == at.mover;
            if Turn::Waited.due(process, has_run, has_run) == Due::Now {
                for edge in edges {
                    self.follow(edge, at, at.count + 1, Label::Moves, visits)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the last mover of a visit to `self.state` is still robust, after more was learned.
    pub(super) fn is_still_robust(&mut self, mover: ProcessId) -> Result<bool, Halt> {
        self.enter();
        Ok(self.is_robust(mover)? || !self.moves(mover)?)
    }

    /// Looks at the steps of one process, or at all; says whether it has any.
    fn moves(&mut self, process: ProcessId) -> Result<bool, Halt> {
        if !self.outgoing.knows(process) {
            let (system, state, outgoing) = (self.system, &mut self.state, &mut self.outgoing);
            let alone = system.is_compiled()
                && outgoing.looks_at(process)
                && self.expander.expand_process(system, state, process, outgoing)?.is_some();
            if !alone {
                self.look_at_everything()?;
            }
        }
        Ok(self.outgoing.moves(process))
    }

    /// Looks at the steps of all processes that were not looked at yet.
    fn look_at_all(&mut self) -> Result<(), Halt> {
        if self.outgoing.is_whole() {
            return Ok(());
        }
        let looked_at = self.outgoing.looked_at();
        if looked_at != 0 {
            let rest = ProcessSelection { first: None, also: 0, without: looked_at };
            let (system, state) = (self.system, &mut self.state);
            self.expander.expand_selection(system, state, rest, &mut self.outgoing)?;
            // Where no process has a step, one may have waited for just that.
            if !self.outgoing.is_empty() {
                self.outgoing.set_whole();
                return Ok(());
            }
        }
        self.look_at_everything()
    }

    /// Looks at all steps together, whatever was looked at.
    fn look_at_everything(&mut self) -> Result<(), Halt> {
        self.expander.clear();
        self.outgoing.clear();
        self.expander.expand(self.system, &mut self.state, &mut self.outgoing)?;
        self.outgoing.set_whole();
        Ok(())
    }

    /// Takes the steps of one process that touches nothing shared, if there is one with a successor that is
    /// yet to be expanded. Nothing is signalled by that, and whether the last mover is robust does not change: it
    /// need not be known.
    fn run_local(&mut self, at: CurrentVisit, visits: &mut impl Visits) -> Result<bool, Halt> {
        let (system, processes) = (self.system, self.system.process_count(&self.state));
        self.localities.clear();
        self.localities.resize(processes, Locality::Shared);
        for number in (0..processes).rev() {
            let process = ProcessId(number as u16);
            self.localities[number] = system.locality(&self.state, process);
            if self.localities[number] == Locality::Local
                && self.moves(process)?
                && self.run(&[process], at, at.mover, visits)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the steps of candidates for free until one has a successor that is yet to be expanded; says
    /// whether there is such a one. First single processes by Spin's rule, then stubborn sets; no candidate has all
    /// that can move.
    fn run_ahead(
        &mut self,
        at: CurrentVisit,
        mover: Option<ProcessId>,
        visits: &mut impl Visits,
    ) -> Result<bool, Halt> {
        if let Signalled::Nothing = self.ahead.signalled {
            self.look_at_all()?;
            return Ok(false);
        }
        for number in (0..self.localities.len()).rev() {
            let process = ProcessId(number as u16);
            if self.localities[number] == Locality::Safe
                && self.system.signals(&self.state, process).is_some()
                && self.moves(process)?
                && self.others_move(process, mover)?
                && self.run(&[process], at, mover, visits)?
            {
                return Ok(true);
            }
        }
        self.look_at_all()?;
        let (mut set, mut from, mut ran) = (std::mem::take(&mut self.set), 0, false);
        while !ran {
            let movers = self.outgoing.movers();
            let next = self.ahead.grown(self.system, &self.state, movers, from, &mut set);
            let Some(next) = next else { break };
            from = next;
            ran = self.run(&set, at, mover, visits)?;
        }
        self.set = set;
        Ok(ran)
    }

    /// Whether another process can move, too.
    fn others_move(&mut self, process: ProcessId, mover: Option<ProcessId>) -> Result<bool, Halt> {
        // A robust last mover can.
        if mover.is_some_and(|mover| mover != process) {
            return Ok(true);
        }
        for number in (0..self.localities.len()).rev() {
            let other = ProcessId(number as u16);
            if other != process && self.moves(other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the last mover could move if no process had run ahead.
    fn is_robust(&mut self, mover: ProcessId) -> Result<bool, Halt> {
        if !self.moves(mover)? {
            return Ok(false);
        }
        let steps = self.outgoing.steps_of(mover);
        let is_robust = self.ahead.is_robust(self.system, &self.state, mover, steps);
        Ok(is_robust || makes(Mistake::NothingOwed))
    }

    /// Takes the steps of a set of processes for free; says whether one leads to a visit that is yet to be
    /// expanded.
    fn run(
        &mut self,
        set: &[ProcessId],
        at: CurrentVisit,
        mover: Option<ProcessId>,
        visits: &mut impl Visits,
    ) -> Result<bool, Halt> {
        let mut open = false;
        for &process in set {
            for number in self.outgoing.edges_of(process) {
                let edge = self.outgoing.edge(number);
                self.learn(edge);
                // After a rendezvous the receiver is the last mover: no turn outlives it.
                let loses = |mover: &ProcessId| {
                    edge.meets && edge.movers.contains(*mover) && !makes(Mistake::MeetingKeepsTurn)
                };
                let stays = mover.filter(|mover| !loses(mover));
                self.hash_one(edge, visits);
                open |= self.follow(number, at, at.count, Label::Stays(stays), visits)?;
            }
        }
        Ok(open || makes(Mistake::NoProviso) && !set.is_empty())
    }

    /// Notes what an edge that is taken ahead signals.
    fn learn(&mut self, edge: Edge) {
        let Signalled::Learned(learned) = &mut self.ahead.signalled else { return };
        let (system, state) = (self.system, &self.state);
        if self.localities.get(edge.process.index()) == Some(&Locality::Local) {
            return;
        }
        let signals = system.signals(state, edge.process).unwrap_or(&self.nothing);
        let arrived = match edge.to {
            Target::Arrival(arrival) => {
                let arrival = self.expander.arrivals[arrival];
                &self.expander.successors.data[arrival.start..arrival.end]
            }
            Target::Fault(_) => return,
        };
        let before = system.process_count(state);
        for at in 0..before.max(system.process_count(arrived)) {
            let process = ProcessId(at as u16);
            let moved = edge.movers.contains(process);
            if moved {
                learned.note(process, signals);
            }
            // A process may be created where it can answer.
            let arrives = moved || at >= before;
            if arrives && system.may_answer(arrived, process) && !makes(Mistake::ArrivalsForgotten)
            {
                learned.note_arrival(process);
            }
        }
    }

    /// Hashes all arrivals, so that what their insertion needs is on its way.
    fn hash_all(&mut self, visits: &impl Visits) {
        self.hashes.clear();
        let bytes = &self.expander.successors.data;
        let hashes = self.expander.arrivals.iter().map(|a| visits.hash(&bytes[a.start..a.end]));
        self.hashes.extend(hashes);
    }

    /// Hashes the arrival of one edge.
    fn hash_one(&mut self, edge: Edge, visits: &impl Visits) {
        if let Target::Arrival(at) = edge.to {
            let arrival = self.expander.arrivals[at];
            let bytes = &self.expander.successors.data[arrival.start..arrival.end];
            if self.hashes.len() <= at {
                self.hashes.resize(at + 1, 0);
            }
            self.hashes[at] = visits.hash(bytes);
        }
    }

    /// Goes along an edge; says whether it leads to a visit that is yet to be expanded.
    fn follow(
        &mut self,
        edge: usize,
        at: CurrentVisit,
        count: u16,
        label: Label,
        visits: &mut impl Visits,
    ) -> Result<bool, Halt> {
        let edge = self.outgoing.edge(edge);
        let number = match edge.to {
            Target::Arrival(number) => number,
            Target::Fault(number) => {
                let (fault, path) = self.outgoing.fault(number);
                visits.fault(at.number, path, fault)?;
                return Ok(false);
            }
        };
        self.transitions += 1;
        let (mover, exact) = match label {
            Label::Moves => (edge.mover, true),
            Label::Stays(mover) => (mover, false),
        };
        let arrival = self.expander.arrivals[number];
        let bytes = &self.expander.successors.data[arrival.start..arrival.end];
        let reached = VisitOrigin { parent: at.number, count, mover, exact };
        visits.arrive(self.hashes[number], bytes, reached)
    }
}
