//! Accepting cycles, one owner's part: OWCTY ("one way catch them young", Černá and Pelánek 2003), with maximal
//! accepting predecessors (Brim, Černá, Moravec and Šimša 2004) for cycles that show early.
//!
//! 1. **Reach**: everything, level by level. With each state travels the largest accepting state on the way to it. A step
//!    to an accepting state that is its own largest closes a cycle, and the search ends.
//! 2. **Forward**: of the states that are left, those that accepting ones among them lead to.
//! 3. **Trim**: states without a predecessor among those left are removed, until every state has one.
//!
//! 2 and 3 are repeated until nothing more is removed. Invariant: a state on an accepting cycle is never removed. If
//! states are left, each was reached in the last forward pass from one that is left as well (`before`). Back along
//! these links, every state leads to an accepting one and every accepting one has a link: an accepting state must come
//! a second time, and what lies between is a cycle.
//!
//! A search can be saved while it reaches states, and between two of the repetitions: for each state, whether it is
//! left and whether it is accepting. States get other numbers when the search goes on; what refers to numbers (where states came from, and
//! largest accepting states) is not saved, and the way to a state from before is found as `retrace.rs` does.

use super::batch::{BatchReader, Outbox, read_batch};
use super::forward::Uncounted;
use super::levels::{Levels, global};
use super::retrace::{TraceSegment, TraceTarget, along, steps_to};
use super::wire::{Damaged, Reader, Writer};
use super::{Owner, Partition, PartitionResult, Time, ViolationSite};
use preempt_check::search::nested::NestedOptions;
use preempt_check::store::{StateId, Store};
use preempt_check::{Budget, Counterexample, Options, Progress};
use preempt_core::{Stop, System, ViolationKind};
use std::collections::HashMap;

/// What a search for cycles asks of finite executions.
pub fn finite_options(nested: &NestedOptions) -> Options {
    Options {
        assertions: nested.assertions,
        deadlocks: nested.deadlocks,
        max_errors: nested.max_errors,
        depth: nested.depth,
        ..Options::default()
    }
}

/// What is done with the states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// They are found.
    Reach,
    /// Those that accepting ones lead to are kept.
    Forward,
    /// Those without predecessors are removed.
    Trim,
}

/// What a pass left of one owner's states.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// How many.
    pub left: u64,
    /// An accepting one of them; 0 if there is none.
    pub accepting: u64,
    /// An edge that closes a cycle, from where and to where; 0 if none was met.
    pub closing: (u64, u64),
}

impl Totals {
    /// Both together.
    pub fn and(self, other: Totals) -> Totals {
        let closing = if self.closing.0 != 0 { self.closing } else { other.closing };
        Totals {
            left: self.left + other.left,
            accepting: self.accepting.max(other.accepting),
            closing,
        }
    }

    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        [self.left, self.accepting, self.closing.0, self.closing.1]
            .into_iter()
            .for_each(|number| writer.number(number));
    }

    /// Reads it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Totals {
            left: reader.number()?,
            accepting: reader.number()?,
            closing: (reader.number()?, reader.number()?),
        })
    }
}

/// What is known of a state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    /// Its bytes.
    pub state: Vec<u8>,
    /// The state from which it was reached first; 0 for the initial one, and for those of a search that goes on.
    pub parent: u64,
    /// The level on which it was reached first.
    pub level: u32,
    /// The state from which the last forward pass reached it.
    pub before: u64,
    /// Whether it is accepting.
    pub accepting: bool,
}

/// One owner's states in a search for accepting cycles.
pub struct Cycles<'a> {
    levels: Levels<'a>,
    pass: Pass,
    /// By state: whether it is left.
    left: Vec<bool>,
    /// By state: whether the last forward pass has reached it.
    reached: Vec<bool>,
    /// By state: how many edges lead to it from states that are left.
    predecessors: Vec<u32>,
    /// By state: the first predecessor from which the forward pass has reached it.
    before: Vec<u64>,
    queue: Vec<u32>,
    round: u32,
    next: Vec<u32>,
    state: Vec<u8>,
    received: BatchReader,
}

/// States that are expanded before the driver looks after what has arrived.
const PORTION: usize = 2048;

impl<'a> Cycles<'a> {
    /// An owner that has no state yet.
    pub fn new(
        system: &'a dyn System,
        options: &Options,
        owner: Owner,
        budget: &mut Budget<'_>,
    ) -> Self {
        Cycles {
            levels: Levels::new(system, options, owner, budget).with_lineage(),
            pass: Pass::Reach,
            left: Vec::new(),
            reached: Vec::new(),
            predecessors: Vec::new(),
            before: Vec::new(),
            queue: Vec::new(),
            round: 0,
            next: Vec::new(),
            state: Vec::new(),
            received: BatchReader::default(),
        }
    }

    /// Begins a pass.
    pub fn start(&mut self, pass: Pass) {
        self.pass = pass;
        self.queue.clear();
        self.next.clear();
        self.round = 0;
        let states = self.levels.store.len();
        let Some(lineage) = &self.levels.lineage else { return };
        let accepting = |at: usize| lineage.accepting.get(at).copied().unwrap_or(false);
        match pass {
            Pass::Reach => self.levels.begin(),
            Pass::Forward => {
                self.left.resize(states, true);
                self.reached = vec![false; states];
                self.predecessors = vec![0; states];
                self.before = vec![0; states];
                for at in (0..states).filter(|at| self.left[*at] && accepting(*at)) {
                    self.reached[at] = true;
                    self.queue.push(at as u32);
                }
            }
            Pass::Trim => {
                for at in 0..states {
                    self.left[at] &= self.reached[at];
                    if self.left[at] && self.predecessors[at] == 0 {
                        self.left[at] = false;
                        self.queue.push(at as u32);
                    }
                }
            }
        }
    }

    /// What the pass left.
    pub fn totals(&self) -> Totals {
        let Some(lineage) = &self.levels.lineage else { return Totals::default() };
        let me = self.levels.deal.owner.me;
        let accepting = (0..self.left.len())
            .find(|at| self.left[*at] && lineage.accepting.get(*at) == Some(&true));
        Totals {
            left: self.left.iter().filter(|left| **left).count() as u64,
            accepting: accepting.map_or(0, |at| global(me, at)),
            closing: lineage.closing.unwrap_or_default(),
        }
    }

    /// What is known of one of the owner's states.
    pub fn look(&self, number: u64) -> Option<Walked> {
        let at = (number & ((1 << 40) - 1)).checked_sub(1)? as usize;
        let lineage = self.levels.lineage.as_ref()?;
        let mut state = Vec::new();
        if at >= self.levels.store.len() {
            return None;
        }
        self.levels.store.load(StateId(at as u32), &mut state);
        Some(Walked {
            state,
            parent: *lineage.parents.get(at)?,
            level: self.levels.level_of(at),
            before: self.before.get(at).copied().unwrap_or(0),
            accepting: lineage.accepting.get(at).copied().unwrap_or(false),
        })
    }

    /// An edge from `from` leads to this state of ours.
    fn touch(&mut self, state: &[u8], from: u64) {
        let Some(id) = self.levels.store.lookup(state) else { return };
        let at = id.index();
        if !self.left[at] {
            return;
        }
        if self.pass == Pass::Forward {
            self.predecessors[at] += 1;
            if self.before[at] == 0 {
                self.before[at] = from;
            }
            if !std::mem::replace(&mut self.reached[at], true) {
                self.next.push(id.0);
            }
        } else {
            self.predecessors[at] = self.predecessors[at].saturating_sub(1);
            if self.predecessors[at] == 0 {
                self.left[at] = false;
                self.next.push(id.0);
            }
        }
    }

    fn expand_edges(&mut self, number: u32, outbox: &mut Outbox<'_>) -> Result<(), Stop> {
        let levels = &mut self.levels;
        levels.store.load(StateId(number), &mut self.state);
        levels.expander.clear();
        let result = levels.expander.expand(levels.system, &mut self.state, &mut Uncounted);
        result.map_err(|_| Stop::Memory)?;
        levels.normalize(0);
        let arrivals = std::mem::take(&mut levels.expander.arrivals);
        let bytes = std::mem::take(&mut levels.expander.successors.data);
        let from = global(levels.deal.owner.me, number as usize);
        for arrival in &arrivals {
            let state = &bytes[arrival.start..arrival.end];
            let owner = self.levels.deal.of_state(state);
            match owner == self.levels.deal.owner.me {
                true => self.touch(state, from),
                false => outbox.push(owner, (from, 0), state),
            }
        }
        let expander = &mut self.levels.expander;
        (expander.arrivals, expander.successors.data) = (arrivals, bytes);
        Ok(())
    }
}

impl Partition for Cycles<'_> {
    fn begin(&mut self) {
        self.start(Pass::Reach);
    }

    fn receive(&mut self, time: Time, batch: &[u8]) -> Result<(), Damaged> {
        if self.pass == Pass::Reach {
            return self.levels.receive(time, batch);
        }
        let was_empty = self.next.is_empty();
        let mut states = std::mem::take(&mut self.received);
        let result = read_batch(batch, &mut states, |(from, _), state| {
            self.touch(state, from);
            Ok(())
        });
        self.received = states;
        if was_empty && self.queue.is_empty() {
            self.round = time.round.wrapping_sub(1);
        }
        result
    }

    fn waits(&self) -> Option<Time> {
        if self.pass == Pass::Reach || self.levels.waits_no_more() {
            return self.levels.waits();
        }
        let round = match (self.queue.is_empty(), self.next.is_empty()) {
            (false, _) => self.round,
            (true, false) => self.round.wrapping_add(1),
            (true, true) => return None,
        };
        Some(Time { bucket: 0, round })
    }

    fn expand(&mut self, outbox: &mut Outbox<'_>) {
        if self.pass == Pass::Reach {
            return self.levels.expand(outbox);
        }
        if self.queue.is_empty() {
            self.round = self.round.wrapping_add(1);
            std::mem::swap(&mut self.queue, &mut self.next);
        }
        for _ in 0..PORTION {
            let Some(number) = self.queue.pop() else { return };
            if let Err(stop) = self.expand_edges(number, outbox) {
                return self.levels.stop(Some(stop));
            }
        }
    }

    fn errors(&self) -> u64 {
        self.levels.errors()
    }

    fn has_enough(&self) -> bool {
        match self.pass {
            Pass::Reach => self.levels.has_enough(),
            _ => self.levels.waits_no_more(),
        }
    }

    fn stop(&mut self, stop: Option<Stop>) {
        self.levels.stop(stop);
    }

    fn progress(&self) -> Progress {
        let mut progress = self.levels.progress();
        progress.memory += self.left.len() * 14 + (self.queue.len() + self.next.len()) * 4;
        progress
    }

    fn share(&self) -> PartitionResult {
        self.levels.share()
    }

    fn seek(&mut self, goal: &TraceTarget) -> Option<TraceSegment> {
        self.levels.seek(goal)
    }

    fn can_be_saved(&self) -> bool {
        self.pass == Pass::Reach
    }

    fn save(&self, each: &mut dyn FnMut(Time, Vec<u8>) -> bool) {
        let accepting = self.levels.lineage.as_ref().map_or(&[][..], |lineage| &lineage.accepting);
        self.levels.save_with(each, |number, waits| {
            let is_gone = self.left.get(number) == Some(&false);
            let accepts = accepting.get(number) == Some(&true);
            let flags = [(WAITS, waits), (GONE, is_gone), (ACCEPTING, accepts)];
            let bits = flags.iter().map(|(bit, is_set)| if *is_set { *bit } else { 0 }).sum();
            (bits, 0)
        });
    }

    fn restore(&mut self, time: Time, saved: &[u8]) -> Result<(), Damaged> {
        let mut states = BatchReader::default();
        read_batch(saved, &mut states, |(flags, _), state| {
            let before = self.levels.store.len();
            self.levels.restore_one(time, state, (0, flags & WAITS));
            if self.levels.store.len() > before {
                self.left.push(flags & GONE == 0);
                if let Some(lineage) = &mut self.levels.lineage
                    && flags & WAITS == 0
                {
                    lineage.accepting.push(flags & ACCEPTING != 0);
                }
            }
            Ok(())
        })
    }

    fn restore_counts(&mut self, all: &PartitionResult) {
        self.levels.restore_counts(all);
    }
}

/// A bit of a saved state: it is not expanded yet.
const WAITS: u64 = 1;
/// A bit of a saved state: it lies on no accepting cycle.
const GONE: u64 = 2;
/// A bit of a saved state: it is accepting.
const ACCEPTING: u64 = 4;

/// All owners of the states, wherever they are.
pub trait CycleOwners {
    /// Makes a pass over all states; `None` if it was not finished.
    fn run(&mut self, pass: Pass) -> Option<Totals>;

    /// What is known of a state.
    fn look(&mut self, number: u64) -> Option<Walked>;

    /// A predecessor on the level before.
    fn seek(&mut self, goal: &TraceTarget) -> Option<TraceSegment>;
}

/// The cycle that is left once everything was reached, with the way to it; `None` if there is none, or if a pass was not
/// finished. `reached` is what the first pass came to.
pub fn find_cycle(
    system: &dyn System,
    kind: ViolationKind,
    owners: &mut impl CycleOwners,
    reached: Totals,
) -> Option<Counterexample> {
    let circle = match reached.closing {
        (0, _) => {
            let start = trim(owners)?;
            back_to_itself(owners, start)?
        }
        (from, to) => early(owners, from, to)?,
    };
    // Back to the initial state.
    let mut prefix = vec![circle.first()?.clone()];
    while prefix.last()?.parent != 0 {
        let parent = owners.look(prefix.last()?.parent)?;
        prefix.push(parent);
    }
    prefix.reverse();
    // A state from before the search was interrupted: its predecessors are found again.
    let Walked { level, state, .. } = prefix.first()?.clone();
    let time = Time { bucket: 0, round: level };
    let site = ViolationSite { time, state, mover: None, path: Vec::new(), fault: None };
    let mut steps = along(&site, |goal| owners.seek(goal))?;
    let between = |from: &Walked, to: &Walked| {
        let goal = TraceTarget { time: Time::default(), state: to.state.clone(), mover: None };
        steps_to(system, (&from.state, None), &goal, None, true)
    };
    for pair in prefix.windows(2) {
        steps.extend(between(&pair[0], &pair[1])?);
    }
    let start = steps.len();
    for pair in circle.windows(2) {
        steps.extend(between(&pair[0], &pair[1])?);
    }
    Some(Counterexample::cycle(steps, kind, start))
}

/// Removes what lies on no accepting cycle; an accepting state that is left.
fn trim(owners: &mut impl CycleOwners) -> Option<u64> {
    let mut before = u64::MAX;
    loop {
        owners.run(Pass::Forward)?;
        let totals = owners.run(Pass::Trim)?;
        match totals.left {
            0 => return None,
            left if left == before => return Some(totals.accepting),
            left => before = left,
        }
    }
}

/// Back along the links of the last forward pass, until an accepting state comes a second time. The circle begins and
/// ends with it.
fn back_to_itself(owners: &mut impl CycleOwners, start: u64) -> Option<Vec<Walked>> {
    let (mut path, mut met) = (Vec::new(), HashMap::new());
    let mut number = start;
    loop {
        let walked = owners.look(number)?;
        if walked.accepting
            && let Some(first) = met.insert(number, path.len())
        {
            path.push(walked);
            let mut circle: Vec<Walked> = path.split_off(first);
            circle.reverse();
            return Some(circle);
        }
        number = walked.before;
        path.push(walked);
    }
}

/// Back from the closing edge to the accepting state that it leads to.
fn early(owners: &mut impl CycleOwners, from: u64, to: u64) -> Option<Vec<Walked>> {
    let mut circle = vec![owners.look(to)?];
    let mut number = from;
    while number != to {
        let walked = owners.look(number)?;
        number = walked.parent;
        circle.push(walked);
    }
    circle.push(circle[0].clone());
    circle.reverse();
    Some(circle)
}
