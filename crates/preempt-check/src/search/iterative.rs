//! All executions without a preemption, then those with one, then with two, …
//!
//! Paper: [MQ07] Algorithm 1
//!
//! Differs from the paper: work items are (state, process) pairs and so is the table of what was
//! done; keyed by the state alone, as printed, no thread but the first would ever run. The work
//! queue of the next phase is one bucket of states whose other processes wait for one more
//! preemption. So nothing is explored twice: every process is run from every state once, at the
//! least count of preemptions that allows it, and the work of all phases together is that of one
//! plain search. When a bucket stays empty, everything was explored and no bound is left.
//!
//! Of a state those steps are taken that may be run: at a visit those of the last mover, or everybody's
//! if it cannot go on; in the next bucket those of the processes that had to wait. So without reduction
//! nearly every step is computed once, when it is run.
//!
//! With reduction, the steps of a process that touch nothing but its own data are *transparent*:
//! they are taken at once, alone, and the last mover stays who it was. That neither loses nor adds
//! an execution at any bound (unlike the credit of [HF] Fig. 5, which adds some): such a step can be
//! moved to right behind the step of its process before it, where it costs no switch.
//!
//! Invariants: a bucket holds visits whose least count is the bucket's; see `marks.rs` for what a
//! visit promises. A transparent step is taken alone only if one of its successors has a visit that
//! is expanded later than this one, so no process is put off for ever.

use super::end::End;
use super::expansion::Expander;
use super::marks::{LARGEST_BOUND, Mark, Marks, Visit};
use super::retrace::{Mover, retrace};
use super::ways::{Way, Ways};
use crate::store::{Pending, StateId, Store, pages};
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{
    BoundRow, Enabled, Locality, Outcome, ProcessId, Statistics, Step, Stop, System,
};

/// Explores bucket by bucket, as far as `options.preemptions` says. `reduce` takes transparent
/// steps alone. The store must give states back.
#[doc(alias = "MQ07 Algorithm 1")]
pub(crate) fn iterative<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> Finding {
    let extra = options.preemptions.extra();
    let last = options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND);
    let mut search = Bucketed {
        system,
        store,
        reduce,
        last,
        marks: Marks::default(),
        log: Vec::new(),
        bucket: 0,
        ways: Ways::new(system, options),
        states: 0,
        transitions: 1,
        revisits: 0,
        expander: Expander::new(),
        state: Vec::new(),
        enabled: Enabled::new(),
        selected: Vec::new(),
        looked_at: 0,
        deferred: Vec::new(),
        tasks: Vec::new(),
        pending: Vec::new(),
    };
    let mut rows = Vec::new();
    let mut bound = None;
    let stop = search.run(extra, &mut rows, &mut bound, budget).err();
    search.finish(rows, bound, stop, budget)
}

/// A visit: a state, who moved last, and the visit it was reached from.
#[derive(Clone, Copy)]
struct Entry {
    state: StateId,
    parent: u32,
    mover: Mover,
}

/// How many successors are stored together, so that their cache misses overlap.
const BATCH: usize = 96;
const NO_PARENT: u32 = u32::MAX;

struct Bucketed<'a, S: ?Sized, T> {
    system: &'a S,
    store: &'a mut T,
    reduce: bool,
    last: u32,
    marks: Marks,
    /// Every visit, in the order of its bucket; at the same time the queue of the present bucket.
    log: Vec<Entry>,
    /// The count of the present bucket.
    bucket: u32,
    ways: Ways<'a, S>,
    /// Distinct states visited.
    states: u64,
    transitions: u64,
    revisits: u64,
    expander: Expander,
    state: Vec<u8>,
    enabled: Enabled,
    selected: Vec<Step>,
    /// How many visits the batch has.
    looked_at: usize,
    /// What waits for the next bucket.
    deferred: Vec<Deferred>,
    tasks: Vec<Task>,
    pending: Vec<Pending>,
}

/// With reduction: a visit to be dealt with, and what was found out about its state.
#[derive(Clone, Copy)]
struct Task {
    visit: u32,
    /// Where the ways out of the state that were found begin and end.
    ways: (u32, u32),
    turn: Turn,
    invalid_end: bool,
}

/// Whose turn it is at a visit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The last mover goes on; others have to wait.
    Mover(ProcessId, Others),
    /// It cannot: everybody may go on.
    Everybody,
    /// One preemption later: the others.
    Others,
}

/// What is known of the processes that have to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// None has a step.
    Rest,
    /// Some has one.
    Move,
    /// Not looked at yet. The mover has a step that does not wait for them, so none of theirs does.
    Unknown,
}

/// A visit after which others have to wait.
#[derive(Clone, Copy)]
struct Deferred {
    visit: u32,
    others: Others,
}

impl<S: System + ?Sized, T: Store> Bucketed<'_, S, T> {
    /// Fills `rows` with finished phases and `bound` with the last bound searched, if more is left.
    fn run(
        &mut self,
        extra: u32,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let result = self.start().and_then(|()| self.buckets(extra, rows, bound, budget));
        if matches!(result, Err(End::Enough)) {
            rows.push(self.row());
        }
        result
    }

    fn start(&mut self) -> Result<(), End> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.fault(fault, None, &[])?;
        }
        if let Outcome::Broken(_) = outcome {
            return Ok(());
        }
        let state = self.store.insert(&initial)?.id;
        self.arrive(state, NO_PARENT, Mover::new(None, false))?;
        Ok(())
    }

    fn buckets(
        &mut self,
        extra: u32,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let mut waiting: Vec<Deferred> = Vec::new();
        let mut cursor = 0;
        loop {
            let mut rest = waiting.as_slice();
            while !rest.is_empty() {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                rest = &rest[self.run_deferred(rest)?..];
            }
            while cursor < self.log.len() {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                cursor = self.run_batch(cursor)?;
            }
            let mut deferred = std::mem::take(&mut self.deferred);
            // Later visits at the same count may have run all that waited here.
            deferred.retain(|one: &Deferred| {
                !self.marks.get(self.log[one.visit as usize].state).is_free()
            });
            if !deferred.iter().any(|&one| self.somebody_waits(one)) {
                deferred.clear();
            }
            let phase_ends = (self.bucket + 1).is_multiple_of(extra + 1);
            if phase_ends || deferred.is_empty() {
                rows.push(self.row());
            }
            if deferred.is_empty() {
                return Ok(());
            }
            if self.bucket >= self.last {
                *bound = Some(self.bucket);
                return Ok(());
            }
            self.bucket += 1;
            waiting = deferred;
        }
    }

    fn row(&self) -> BoundRow {
        BoundRow {
            bound: self.bucket,
            states: self.states,
            transitions: self.transitions,
            errors: self.ways.tally.errors,
        }
    }

    fn progress(&self, cursor: usize) -> Progress {
        Progress {
            states: self.states,
            transitions: self.transitions,
            queue: (self.log.len() - cursor) as u64,
            memory: self.bytes(),
            ..Progress::default()
        }
    }

    fn bytes(&self) -> usize {
        self.store.bytes()
            + self.marks.bytes()
            + self.expander.bytes()
            + self.log.len() * size_of::<Entry>()
            + self.deferred.len() * size_of::<Deferred>()
    }

    /// Deals with visits from `cursor` on until a batch is full; says where to go on.
    fn run_batch(&mut self, cursor: usize) -> Result<usize, End> {
        let expected = self.begin_batch();
        for entry in self.log[cursor..].iter().take(expected) {
            self.marks.prefetch(entry.state);
            self.store.prefetch_id(entry.state);
        }
        let mut next = cursor;
        while next < self.log.len() && self.waiting() < BATCH {
            self.look_at(next as u32)?;
            next += 1;
        }
        self.store_batch()?;
        self.act()?;
        Ok(next)
    }

    /// Runs, at one preemption more, the processes that had to wait, until a batch is full; says how many
    /// of the visits are done.
    fn run_deferred(&mut self, visits: &[Deferred]) -> Result<usize, End> {
        let expected = self.begin_batch();
        for one in visits.iter().take(expected) {
            let state = self.log[one.visit as usize].state;
            self.marks.prefetch(state);
            self.store.prefetch_id(state);
        }
        let mut done = 0;
        while done < visits.len() && self.waiting() < BATCH {
            self.look_at_others(visits[done])?;
            done += 1;
        }
        self.store_batch()?;
        self.act()?;
        Ok(done)
    }

    /// Forgets the batch before; says how many visits the next one may have.
    fn begin_batch(&mut self) -> usize {
        self.expander.clear();
        self.ways.clear();
        self.pending.clear();
        self.tasks.clear();
        (std::mem::take(&mut self.looked_at) + 4).clamp(16, BATCH)
    }

    /// How much the batch holds: states that wait to be stored, or visits that lead nowhere.
    fn waiting(&self) -> usize {
        let states = if self.reduce { self.pending.len() } else { self.expander.arrivals.len() };
        states.max(self.looked_at)
    }

    fn store_batch(&mut self) -> Result<(), End> {
        let bytes = &self.expander.successors.bytes;
        let waiting = if self.reduce { &mut self.pending } else { &mut self.expander.arrivals };
        // Bytes that were just written one by one are slow to read in words: hash them later.
        if !self.store.hashes_near() {
            self.store.hash_successors(StateId::UNKNOWN, bytes, waiting)?;
        } else if self.reduce {
            for pending in waiting.iter_mut() {
                pending.hash = self.store.hash(&bytes[pending.start..pending.end]);
                self.store.prefetch(pending.hash);
            }
        }
        self.store.insert_batch(bytes, waiting)?;
        for pending in waiting.iter() {
            self.marks.prefetch(pending.inserted.id);
        }
        Ok(())
    }

    /// Finds the ways out of the state of a visit, and has those stored that will be needed.
    fn look_at(&mut self, visit: u32) -> Result<(), End> {
        let Entry { state, mover, .. } = self.log[visit as usize];
        let tail = self.begin(visit, state);
        let mark = self.marks.get(state);
        let (steps, turn) = match mover.process() {
            None => {
                let (system, ways) = (self.system, &mut self.ways);
                (self.expander.expand_briefly(system, &mut self.state, ways)?, Turn::Everybody)
            }
            Some(mover) => self.expand_for(mover, mark)?,
        };
        let tally = &mut self.ways.tally;
        tally.state_bytes = tally.state_bytes.max(self.state.len());
        let invalid_end = steps == 0
            && !mark.is_expanded()
            && tally.reports_deadlocks()
            && !self.system.is_valid_end(&self.state);
        if self.reduce {
            self.add_task(visit, tail.0, turn, invalid_end);
            return Ok(());
        }
        self.set_expanded(visit, state, invalid_end)?;
        if !self.begins(state, mover, turn) {
            self.expander.arrivals.truncate(tail.1);
            self.ways.truncate(tail.0, tail.1);
            return Ok(());
        }
        self.defer(visit, state, turn);
        self.settle(state, tail, turn)
    }

    /// As [`Self::look_at`], for the processes that had to wait.
    fn look_at_others(&mut self, deferred: Deferred) -> Result<(), End> {
        let Deferred { visit, others } = deferred;
        let Entry { state, mover, .. } = self.log[visit as usize];
        let movers = self.marks.get(state).small_movers();
        if !self.begins(state, mover, Turn::Others) {
            return Ok(());
        }
        let tail = self.begin(visit, state);
        let (system, ways) = (self.system, &mut self.ways);
        let steps = self.expander.expand_others(system, &mut self.state, None, movers, ways)?;
        if steps.is_none() || (steps == Some(0) && others == Others::Move) {
            self.enabled.clear();
            system.enabled(&mut self.state, &mut self.enabled);
            self.selected.clear();
            for (process, steps) in self.enabled.by_process() {
                if has_turn(&self.marks, state, Turn::Others, process) {
                    self.selected.extend_from_slice(steps);
                }
            }
            self.expander.expand_selected(system, &self.state, &self.selected, ways)?;
        }
        if self.reduce {
            self.add_task(visit, tail.0, Turn::Others, false);
            return Ok(());
        }
        self.settle(state, tail, Turn::Others)
    }

    /// Whether a visit is the first at which everybody may go on, if that is what it is for. That is noted.
    #[inline(always)]
    fn begins(&mut self, state: StateId, mover: Mover, turn: Turn) -> bool {
        if matches!(turn, Turn::Mover(..)) {
            return true;
        }
        let is_done = self.marks.get(state).is_free() && mover.process().is_some();
        self.marks.set_free(state);
        !is_done
    }

    /// Loads a state to expand it; says where its ways and arrivals will begin.
    #[inline(always)]
    fn begin(&mut self, visit: u32, state: StateId) -> (usize, usize) {
        self.looked_at += 1;
        self.store.load_parent(state, &mut self.state);
        self.ways.begin(visit);
        (self.ways.list.len(), self.expander.arrivals.len())
    }

    /// Without reduction: keeps the ways, from where they begin on, of those whose turn it is.
    #[inline(always)]
    fn settle(&mut self, state: StateId, tail: (usize, usize), turn: Turn) -> Result<(), End> {
        let (first, arrivals) = tail;
        let marks = &self.marks;
        if !self.ways.processes.iter().all(|process| has_turn(marks, state, turn, *process)) {
            self.ways.keep(first, |process| has_turn(marks, state, turn, process));
        }
        if self.store.hashes_near() {
            let bytes = &self.expander.successors.bytes;
            let arrivals = &mut self.expander.arrivals[arrivals..];
            self.store.hash_successors(state, bytes, arrivals)?;
        }
        Ok(())
    }

    /// With reduction: what a visit is for is known when it is acted on.
    fn add_task(&mut self, visit: u32, first: usize, turn: Turn, invalid_end: bool) {
        self.want_some(self.log[visit as usize].state, first, turn);
        let ways = (first as u32, self.ways.list.len() as u32);
        self.tasks.push(Task { visit, ways, turn, invalid_end });
    }

    /// Keeps a visit after which others have to wait.
    #[inline(always)]
    fn defer(&mut self, visit: u32, state: StateId, turn: Turn) {
        if let Turn::Mover(_, others) = turn
            && others != Others::Rest
            && !self.marks.get(state).is_free()
            && self.marks.defer(state)
        {
            pages::push(&mut self.deferred, Deferred { visit, others });
        }
    }

    /// Expands `self.state` after a step of `mover`: at least the steps that may be run. Gives the number
    /// of steps, and whose turn it is; whether somebody has to wait may be left to be found out later.
    fn expand_for(&mut self, mover: ProcessId, mark: Mark) -> Result<(usize, Turn), End> {
        let (system, ways) = (self.system, &mut self.ways);
        if !self.reduce && mark.is_free() {
            // Everybody else was run, so that only the mover is of interest.
            let own = self.expander.expand_process(system, &mut self.state, mover, ways)?;
            if let Some(steps) = own {
                let turn = Turn::Mover(mover, Others::Rest);
                return Ok((steps, if steps > 0 { turn } else { Turn::Everybody }));
            }
        } else if !self.reduce {
            let (first, movers) = (Some(mover), mark.small_movers());
            let all = self.expander.expand_others(system, &mut self.state, first, movers, ways)?;
            // Only if nobody here has steps, all must be looked at to know whether anybody has.
            if let Some(steps) = all.filter(|steps| *steps > 0) {
                let mover_moves = self.ways.processes.first() == Some(&mover);
                let turn = Turn::Mover(mover, Others::Unknown);
                return Ok((steps, if mover_moves { turn } else { Turn::Everybody }));
            }
        }
        if self.expander.is_told_briefly() && !(self.reduce && self.bucket == self.last) {
            let steps = self.expander.expand_briefly(system, &mut self.state, ways)?;
            return Ok((steps, self.turn_after(mover)));
        }
        let others = self.select(mover);
        let (state, selected) = (&self.state, &self.selected);
        let steps = self.expander.expand_selected(system, state, selected, &mut self.ways)?;
        Ok(match self.turn_after(mover) {
            Turn::Mover(mover, _) => (steps, Turn::Mover(mover, others)),
            turn => (steps, turn),
        })
    }

    /// Whose turn it is, if all were looked at who could have steps.
    fn turn_after(&self, mover: ProcessId) -> Turn {
        let (mut mover_moves, mut others) = (false, Others::Rest);
        for &process in &self.ways.processes {
            mover_moves |= process == mover;
            if process != mover && process != ProcessId::PROPERTY {
                others = Others::Move;
            }
        }
        if mover_moves { Turn::Mover(mover, others) } else { Turn::Everybody }
    }

    /// With reduction, wants those arrivals from `first` on stored that are certain to be needed.
    fn want_some(&mut self, state: StateId, first: usize, turn: Turn) {
        let alone = match turn {
            Turn::Others => None,
            _ => self.find_transparent(first),
        };
        for way in &mut self.ways.list[first..] {
            let wanted = match (alone, turn) {
                (Some(alone), _) => way.process == alone,
                (None, turn) => has_turn(&self.marks, state, turn, way.process),
            };
            if wanted && let Some(arrival) = way.arrival() {
                let arrival = self.expander.arrivals[arrival];
                way.set_pending(self.pending.len());
                self.pending.push(Pending::new(0, arrival.start, arrival.end));
            }
        }
    }

    /// Whether the bound keeps somebody from moving after this visit.
    fn somebody_waits(&mut self, deferred: Deferred) -> bool {
        let Entry { state, mover, .. } = self.log[deferred.visit as usize];
        self.store.load(state, &mut self.state);
        mover.process().is_some_and(|mover| self.select(mover) == Others::Move)
    }

    /// Selects the steps of `self.state` that may be run: everybody's, if the last mover cannot go on.
    fn select(&mut self, mover: ProcessId) -> Others {
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
        self.selected.clear();
        let mover_moves = !self.enabled.of(mover).is_empty();
        let mut others = Others::Rest;
        for (process, steps) in self.enabled.by_process() {
            let other = process != mover && process != ProcessId::PROPERTY;
            if other {
                others = Others::Move;
            }
            if !other || !mover_moves || self.reduce && self.is_transparent(process) {
                self.selected.extend_from_slice(steps);
            }
        }
        others
    }

    /// Whether nobody else notices the present steps of a process.
    fn is_transparent(&self, process: ProcessId) -> bool {
        self.system.locality(&self.state, process) == Locality::Local
            && !self.system.is_visible(&self.state, process)
    }

    /// Marks the ways from `first` on that touch nothing shared; gives the first process that has
    /// such.
    fn find_transparent(&mut self, first: usize) -> Option<ProcessId> {
        let mut found = None;
        let (system, state) = (self.system, &self.state);
        for ways in self.ways.list[first..].chunk_by_mut(|a, b| a.process == b.process) {
            let process = ways[0].process;
            if system.locality(state, process) == Locality::Local
                && !system.is_visible(state, process)
            {
                ways.iter_mut().for_each(|way| way.transparent = true);
                found = found.or(Some(process));
            }
        }
        found
    }

    /// Runs what the visits of the batch are for.
    fn act(&mut self) -> Result<(), End> {
        if self.reduce {
            let tasks = std::mem::take(&mut self.tasks);
            let result = tasks.iter().try_for_each(|task| self.act_reduced(task));
            self.tasks = tasks;
            return result;
        }
        let ways = std::mem::take(&mut self.ways.list);
        let result = ways.iter().try_for_each(|way| self.follow(*way, None).map(|_| ()));
        self.ways.list = ways;
        result
    }

    /// Runs what a visit adds, after trying to get by with a process whose steps nobody notices.
    fn act_reduced(&mut self, task: &Task) -> Result<(), End> {
        let Entry { state, mover, .. } = self.log[task.visit as usize];
        if task.turn != Turn::Others {
            self.set_expanded(task.visit, state, task.invalid_end)?;
            if self.run_transparent(task)? || !self.begins(state, mover, task.turn) {
                return Ok(());
            }
            self.defer(task.visit, state, task.turn);
        }
        for at in task.ways.0..task.ways.1 {
            let way = self.ways.list[at as usize];
            if has_turn(&self.marks, state, task.turn, way.process) {
                self.follow(way, None)?;
            }
        }
        Ok(())
    }

    /// Takes the steps of one process that touches nothing shared, and no others, if there is one
    /// with a successor that is yet to be expanded.
    fn run_transparent(&mut self, task: &Task) -> Result<bool, End> {
        let mover = match task.turn {
            Turn::Mover(mover, _) => Some(mover),
            _ => None,
        };
        let (mut at, end) = (task.ways.0 as usize, task.ways.1 as usize);
        while at < end {
            let Way { process, transparent, .. } = self.ways.list[at];
            let mut open = false;
            while at < end && self.ways.list[at].process == process {
                if transparent {
                    let way = self.ways.list[at];
                    open |= self.follow(way, Some(Mover::new(mover, true)))?;
                }
                at += 1;
            }
            if open {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes one way. Where it arrives, `label` was the last mover, or else who really was. Says whether
    /// some visit to that state is yet to be expanded.
    #[inline(always)]
    fn follow(&mut self, way: Way, label: Option<Mover>) -> Result<bool, End> {
        let Some(arrival) = way.arrival() else { return self.follow_fault(way) };
        self.transitions += 1;
        let before = || self.log[way.visit as usize].mover.process();
        let mover = label.unwrap_or_else(|| Mover::new(way.mover().or_else(before), false));
        let state = match self.reduce {
            false => self.expander.arrivals[arrival].inserted.id,
            true => self.stored(way, arrival)?,
        };
        self.arrive(state, way.visit, mover)
    }

    #[cold]
    fn follow_fault(&mut self, way: Way) -> Result<bool, End> {
        if let Some((fault, path)) = self.ways.fault(way) {
            self.fault(fault, Some(way.visit), &path)?;
        }
        Ok(false)
    }

    /// With reduction: the number of the state where a way arrives, which is stored if it is not yet.
    fn stored(&mut self, way: Way, arrival: usize) -> Result<StateId, End> {
        if let Some(pending) = way.pending() {
            return Ok(self.pending[pending].inserted.id);
        }
        let Pending { start, end, .. } = self.expander.arrivals[arrival];
        Ok(self.store.insert(&self.expander.successors.bytes[start..end])?.id)
    }

    /// Notes an arrival; says whether some visit to the state is yet to be expanded.
    #[inline(always)]
    fn arrive(&mut self, state: StateId, parent: u32, mover: Mover) -> Result<bool, End> {
        match self.marks.visit(state, self.bucket, mover.process()) {
            Visit::Covered => return Ok(!self.marks.get(state).is_expanded()),
            Visit::First => self.states += 1,
            Visit::Again => self.revisits += 1,
        }
        if self.log.len() >= NO_PARENT as usize {
            return Err(End::Limit(Stop::Memory));
        }
        pages::push(&mut self.log, Entry { state, parent, mover });
        Ok(true)
    }

    /// Notes that the state is expanded; once, if it is an invalid end, that, too.
    #[inline(always)]
    fn set_expanded(&mut self, visit: u32, state: StateId, invalid_end: bool) -> Result<(), End> {
        if invalid_end && !self.marks.get(state).is_expanded() {
            let (system, store, log) = (self.system, &*self.store, &self.log);
            let story = || Counterexample::invalid_end(steps_to(system, store, log, visit));
            self.ways.tally.error(story);
            self.enough()?;
        }
        self.marks.set_expanded(state);
        Ok(())
    }

    fn enough(&self) -> Result<(), End> {
        if self.ways.tally.is_enough() { Err(End::Enough) } else { Ok(()) }
    }

    /// Takes note of a fault at the end of `path` behind a visit.
    fn fault(&mut self, fault: u32, visit: Option<u32>, path: &[Step]) -> Result<(), End> {
        let (system, store, log) = (self.system, &*self.store, &self.log);
        if self.ways.tally.reports(system, fault) {
            self.ways.tally.error(|| {
                let mut steps = visit.map_or(Vec::new(), |at| steps_to(system, store, log, at));
                steps.extend_from_slice(path);
                Counterexample::from_fault(system, steps, fault)
            });
        }
        self.enough()
    }

    /// The longest execution in the log, counted in visits. Afterwards entries have depths instead of
    /// parents, for which parents come first.
    fn depth(&mut self) -> u64 {
        let mut longest = 0;
        for at in 0..self.log.len() {
            let depth = match self.log[at].parent {
                NO_PARENT => 0,
                parent => self.log[parent as usize].parent + 1,
            };
            self.log[at].parent = depth;
            longest = longest.max(depth);
        }
        longest.into()
    }

    fn finish(
        mut self,
        per_bound: Vec<BoundRow>,
        bound: Option<u32>,
        end: Option<End>,
        budget: &Budget,
    ) -> Finding {
        let states = self.states;
        let (memory, depth) = (self.bytes(), self.depth());
        let mut finding = self.ways.tally.finish(self.system, states);
        if let Some(End::Limit(stop)) = end {
            finding.stop = Some(stop);
        }
        finding.bound = bound;
        finding.statistics = Statistics {
            matched: self.transitions - states.min(self.transitions),
            transitions: self.transitions,
            depth,
            revisits: self.revisits,
            bytes_per_state: memory as f64 / states.max(1) as f64,
            memory_bytes: memory.max(budget.peak_memory()) as u64,
            seconds: budget.elapsed().as_secs_f64(),
            per_bound,
            ..finding.statistics
        };
        if bound.is_some() || finding.stop.is_some() {
            finding.unreached.clear();
        }
        finding
    }
}

/// Whether it is the turn of this process at a visit of the state.
#[inline(always)]
fn has_turn(marks: &Marks, state: StateId, turn: Turn, process: ProcessId) -> bool {
    match turn {
        Turn::Mover(mover, _) => process == mover || process == ProcessId::PROPERTY,
        // The processes that moved last in other visits have their own.
        Turn::Everybody => !marks.has_mover(state, process),
        Turn::Others => process != ProcessId::PROPERTY && !marks.has_mover(state, process),
    }
}

/// The steps of the execution behind a visit, found again from its states.
fn steps_to<S: System + ?Sized, T: Store>(
    system: &S,
    store: &T,
    log: &[Entry],
    visit: u32,
) -> Vec<Step> {
    let mut entries = vec![log[visit as usize]];
    while let Some(&Entry { parent, .. }) = entries.last().filter(|e| e.parent != NO_PARENT) {
        entries.push(log[parent as usize]);
    }
    entries.reverse();
    let movers: Vec<Mover> = entries.iter().map(|entry| entry.mover).collect();
    let mut target = Vec::new();
    let found = retrace(system, &movers, |at, state| {
        store.load(entries[at].state, &mut target);
        target == state
    });
    found.expect("the log holds steps of the system")
}
