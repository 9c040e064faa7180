//! All executions without a preemption, then those with one, then with two, …
//!
//! Paper: [MQ07] Algorithm 1
//!
//! Differs from the paper: work items are (state, process) pairs and so is the table of what was
//! done; keyed by the state alone, as printed, no thread but the first would ever run. The work
//! queue of the next phase is one bucket of visits that need one more preemption. So nothing is
//! explored twice: every process is run from every state at the least count of preemptions that
//! allows it, and the work of all phases together is that of one plain search. When a bucket stays
//! empty, everything was explored and no bound is left.
//!
//! A state is looked at once: at its first visit for all who had moved last in some visit to it until
//! then. Their steps are taken, or everybody's if one of them cannot go on; the others have to wait. Where
//! somebody arrives as another last mover afterwards, that process is looked at on its own. If a bound is given,
//! the steps of those who have to wait are found at the same time, as visits of the next bucket; where bounds
//! are tried one by one, only when their turn comes, since nobody knows whether it will.
//!
//! Invariants: the present bucket holds visits whose least count is the bucket's, the next one visits with
//! one more, unless their states are reached with less in the meantime; see `least_preemptions.rs` for what a visit
//! promises.

mod transparent;

use super::conclusion::Conclusion;
use super::outgoing::{Edge, Outgoing, When};
use super::visit_log::{
    AGAIN, Entry, LATE, MERGED, NO_PARENT, NOBODY, Past, TRANSPARENT, UNKNOWN_PROCESS, packed,
};
use crate::search::bounded::least_preemptions::{
    LARGEST_BOUND, LeastPreemptions, StateRecord, Visit, fits_record,
};
use crate::search::shared::end::End;
use crate::search::shared::expansion::Expander;
use crate::store::{Pending, StateId, Store, pages};
use crate::{Budget, Counterexample, Finding, Options, Preemptions, Progress};
use preempt_core::engine::ProcessSelection;
use preempt_core::{BoundRow, Enabled, Outcome, ProcessId, Step, Stop, System};
use transparent::Task;

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
        observed: options.observed,
        last,
        goes_to_last: matches!(options.preemptions, Preemptions::AtMost(_)),
        least: LeastPreemptions::default(),
        log: Vec::new(),
        bucket: 0,
        outgoing: Outgoing::new(system, options),
        states: 0,
        transitions: 1,
        revisits: 0,
        expander: Expander::new(),
        state: Vec::new(),
        enabled: Enabled::new(),
        selected: Vec::new(),
        looked_at: 0,
        next: Next::default(),
        tasks: Vec::new(),
        pending: Vec::new(),
    };
    let mut rows = Vec::new();
    let mut bound = None;
    let stop = search.run(extra, &mut rows, &mut bound, budget).err();
    search.finish(rows, bound, stop, budget)
}

/// How many successors are stored together, so that their cache misses overlap.
const BATCH: usize = 160;

struct Bucketed<'a, S: ?Sized, T> {
    system: &'a S,
    store: &'a mut T,
    reduce: bool,
    /// Steps that a property can see must not be reordered.
    observed: bool,
    last: u32,
    /// Whether the last bound is what was asked for, not the bounds one by one.
    goes_to_last: bool,
    least: LeastPreemptions,
    /// Every visit, in the order of its bucket; at the same time the queue of the present bucket.
    log: Vec<Entry>,
    /// The count of the present bucket.
    bucket: u32,
    outgoing: Outgoing<'a, S>,
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
    next: Next,
    tasks: Vec<Task>,
    pending: Vec<Pending>,
}

/// Whose turn it is at a visit.
#[derive(Clone, Copy)]
struct Turn {
    /// The last mover of the visit.
    mover: Option<ProcessId>,
    /// The last movers of visits that are merged into it, as in a record.
    merged: u64,
    who: Who,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// The last movers go on; others have to wait.
    Movers(Others),
    /// One of the last movers cannot, so that everybody may.
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
    /// Not looked at. The mover has a step that does not wait for them, so none of theirs does.
    Unknown,
}

impl Turn {
    #[inline(always)]
    fn is_mover(self, process: ProcessId) -> bool {
        Some(process) == self.mover || process.0 < 64 && self.merged >> process.0 & 1 != 0
    }
}

/// What was found out for the next bucket.
#[derive(Default)]
struct Next {
    /// Visits after which others have to wait.
    kept: Vec<Kept>,
    /// Where the steps were taken of those who have to wait: how many states these are,
    ahead: u64,
    /// the visits that these steps lead to,
    visits: Vec<Entry>,
    /// their number,
    transitions: u64,
    /// and the faults they make: a visit, the process that goes on from it, and the fault.
    faults: Vec<(u32, ProcessId, u32)>,
}

/// A visit after which others have to wait.
#[derive(Clone, Copy)]
struct Kept {
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
        let entry =
            Entry { state, parent: NO_PARENT, mover: NOBODY, by: UNKNOWN_PROCESS, flags: 0 };
        self.arrive(entry, When::Now)?;
        Ok(())
    }

    fn buckets(
        &mut self,
        extra: u32,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let (mut cursor, mut waiting) = (0, Vec::new());
        loop {
            let mut rest: &[Kept] = &waiting;
            while !rest.is_empty() {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                rest = &rest[self.run_kept(rest)?..];
            }
            while cursor < self.log.len() {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                cursor = self.run_batch(cursor)?;
            }
            waiting = std::mem::take(&mut self.next.kept);
            // Later visits at the same count may have run all that waited here.
            waiting.retain(|kept| !self.least.get(self.log[kept.visit as usize].state).is_free());
            let is_done =
                self.next.ahead == 0 && !waiting.iter().any(|kept| self.somebody_waits(*kept));
            let phase_ends = (self.bucket + 1).is_multiple_of(extra + 1);
            if phase_ends || is_done {
                rows.push(self.row());
            }
            if is_done {
                return Ok(());
            }
            if self.bucket >= self.last {
                *bound = Some(self.bucket);
                return Ok(());
            }
            self.begin_next()?;
        }
    }

    /// Begins the next bucket with what was put off in this one and did not come about since.
    fn begin_next(&mut self) -> Result<(), End> {
        let mut next = std::mem::take(&mut self.next);
        self.bucket += 1;
        self.transitions += next.transitions;
        for &entry in &next.visits {
            if self.least.get(entry.state).low() == self.bucket {
                self.enter(entry)?;
            }
        }
        // Its memory is used again.
        next.visits.clear();
        self.next.visits = next.visits;
        for (visit, process, fault) in next.faults {
            let state = self.log[visit as usize].state;
            if !self.least.get(state).is_free() && !self.least.has_mover(state, process) {
                let path = self.path_to(visit, process, fault)?;
                self.fault(fault, Some(visit), &path)?;
            }
        }
        Ok(())
    }

    /// The steps of a process from a visit to a fault, if anybody will ask for them.
    fn path_to(&mut self, visit: u32, process: ProcessId, fault: u32) -> Result<Vec<Step>, End> {
        if self.outgoing.counters.first.is_some() {
            return Ok(Vec::new());
        }
        self.begin_batch();
        self.store.load(self.log[visit as usize].state, &mut self.state);
        self.outgoing.begin(visit);
        self.expander.expand(self.system, &mut self.state, &mut self.outgoing)?;
        let outgoing = self.outgoing.list.iter().filter(|edge| edge.process == process);
        let mut faults = outgoing.filter_map(|edge| self.outgoing.fault(*edge));
        Ok(faults.find(|(found, _)| *found == fault).map_or(Vec::new(), |(_, path)| path))
    }

    /// Whether the steps of those who have to wait are taken at once, as visits of the next bucket, while
    /// their state is at hand: only where that bucket is certain to be searched. Elsewhere what can be found
    /// with less comes first.
    #[inline(always)]
    fn looks_ahead(&self) -> bool {
        self.goes_to_last && self.bucket < self.last
    }

    fn row(&self) -> BoundRow {
        BoundRow {
            stale: None,
            bound: self.bucket,
            states: self.states,
            transitions: self.transitions,
            errors: self.outgoing.counters.errors,
        }
    }

    fn progress(&self, cursor: usize) -> Progress {
        Progress {
            states: self.states,
            transitions: self.transitions + self.next.transitions,
            queue: (self.log.len() - cursor + self.next.visits.len()) as u64,
            memory: self.bytes(),
            ..Progress::default()
        }
    }

    fn bytes(&self) -> usize {
        self.store.bytes()
            + self.least.bytes()
            + self.expander.bytes()
            + (self.log.len() + self.next.visits.len() + self.next.faults.len())
                * size_of::<Entry>()
    }

    /// Deals with visits from `cursor` on until a batch is full; says where to go on.
    fn run_batch(&mut self, cursor: usize) -> Result<usize, End> {
        self.begin_batch();
        let mut next = cursor;
        while next < self.log.len() && self.waiting() < BATCH {
            self.look_at(next as u32)?;
            next += 1;
        }
        // What the next batch will look at is fetched while this one is stored.
        let expected = (self.looked_at + 4).clamp(16, BATCH);
        for entry in self.log[next..].iter().take(expected).filter(|entry| !entry.is(MERGED)) {
            self.fetch(*entry);
        }
        self.store_batch()?;
        self.act()?;
        Ok(next)
    }

    /// Runs, at one preemption more, those who had to wait, until a batch is full; says how many of the
    /// visits are done.
    fn run_kept(&mut self, visits: &[Kept]) -> Result<usize, End> {
        self.begin_batch();
        let mut done = 0;
        while done < visits.len() && self.waiting() < BATCH {
            self.look_at_others(visits[done])?;
            done += 1;
        }
        let expected = (self.looked_at + 4).clamp(16, BATCH);
        for kept in visits[done..].iter().take(expected) {
            self.fetch(self.log[kept.visit as usize]);
        }
        self.store_batch()?;
        self.act()?;
        Ok(done)
    }

    /// Has what is needed to look at a visit fetched.
    #[inline(always)]
    fn fetch(&self, entry: Entry) {
        self.least.prefetch(entry.state);
        self.store.prefetch_id(entry.state);
    }

    /// Forgets the batch before.
    fn begin_batch(&mut self) {
        self.expander.clear();
        self.outgoing.clear();
        self.pending.clear();
        self.tasks.clear();
        self.looked_at = 0;
    }

    /// How much the batch holds: states that wait to be stored, or visits that lead nowhere.
    fn waiting(&self) -> usize {
        let states = if self.reduce { self.pending.len() } else { self.expander.arrivals.len() };
        states.max(self.looked_at)
    }

    fn store_batch(&mut self) -> Result<(), End> {
        let bytes = &self.expander.successors.data;
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
            self.least.prefetch(pending.inserted.id);
        }
        Ok(())
    }

    /// Finds the edges out of the state of a visit, and has those stored that will be needed.
    fn look_at(&mut self, visit: u32) -> Result<(), End> {
        let entry = self.log[visit as usize];
        if entry.is(MERGED) {
            return Ok(());
        }
        let tail = self.begin(visit, entry.state);
        let record = self.least.get(entry.state);
        let (steps, turn) = self.expand_for(entry, record)?;
        let counters = &mut self.outgoing.counters;
        counters.state_bytes = counters.state_bytes.max(self.state.len());
        let invalid_end = steps == 0
            && !record.is_expanded()
            && counters.reports_deadlocks()
            && !self.system.is_valid_end(&self.state);
        if self.reduce {
            self.add_task(visit, tail.0, turn, invalid_end);
            return Ok(());
        }
        self.set_expanded(visit, entry.state, invalid_end)?;
        let rest = self.put_off(visit, entry.state, turn);
        let is_uniform = rest == Some(When::Now) || turn.who == Who::Movers(Others::Rest);
        let all_go_now = is_uniform && record.has_movers(turn.merged);
        if !all_go_now {
            let least = &self.least;
            self.outgoing.decide(tail.0, |process| when(least, entry, turn, rest, process));
        }
        if turn.merged != 0 && self.outgoing.moves(ProcessId::PROPERTY) {
            let is_merged = |one| turn.is_mover(one) && Some(one) != turn.mover;
            self.outgoing.repeat_property(tail.0, is_merged);
        }
        self.hash_near(entry.state, tail.1)
    }

    /// As [`Self::look_at`], for those who had to wait.
    fn look_at_others(&mut self, kept: Kept) -> Result<(), End> {
        let entry = self.log[kept.visit as usize];
        let record = self.least.get(entry.state);
        if record.is_free() {
            return Ok(());
        }
        self.least.set_free(entry.state);
        let tail = self.begin(kept.visit, entry.state);
        let (system, outgoing) = (self.system, &mut self.outgoing);
        let rest = ProcessSelection { first: None, also: 0, without: record.small_movers() };
        let steps = match system.is_compiled() {
            true => {
                Some(self.expander.expand_selection(system, &mut self.state, rest, outgoing)?)
            }
            false => None,
        };
        let turn = Turn { mover: None, merged: 0, who: Who::Others };
        let least = &self.least;
        let has_turn = |process| when(least, entry, turn, Some(When::Now), process);
        if steps.is_none() || (steps == Some(0) && kept.others == Others::Move) {
            self.enabled.clear();
            system.enabled(&mut self.state, &mut self.enabled);
            self.selected.clear();
            for (process, steps) in self.enabled.by_process() {
                if has_turn(process).is_some() {
                    self.selected.extend_from_slice(steps);
                }
            }
            self.expander.expand_selected(system, &self.state, &self.selected, outgoing)?;
        }
        if self.reduce {
            self.add_task(kept.visit, tail.0, turn, false);
            return Ok(());
        }
        self.outgoing.decide(tail.0, has_turn);
        self.hash_near(entry.state, tail.1)
    }

    /// Loads a state to expand it; says where its edges and arrivals will begin.
    #[inline(always)]
    fn begin(&mut self, visit: u32, state: StateId) -> (usize, usize) {
        self.looked_at += 1;
        self.store.load_parent(state, &mut self.state);
        self.outgoing.begin(visit);
        (self.outgoing.list.len(), self.expander.arrivals.len())
    }

    /// Where the store makes use of the state before: hashes the arrivals from `first` on.
    #[inline(always)]
    fn hash_near(&mut self, state: StateId, first: usize) -> Result<(), End> {
        if self.store.hashes_near() {
            let bytes = &self.expander.successors.data;
            self.store.hash_successors(state, bytes, &mut self.expander.arrivals[first..])?;
        }
        Ok(())
    }

    /// When those go on who did not move last, if they are to; that is noted.
    #[inline(always)]
    fn put_off(&mut self, visit: u32, state: StateId, turn: Turn) -> Option<When> {
        let record = self.least.get(state);
        let others = match turn.who {
            Who::Others => return Some(When::Now),
            Who::Everybody => {
                let is_done = record.is_free() && turn.mover.is_some();
                self.least.set_free(state);
                if !self.looks_ahead() || !record.is_deferred() {
                    return (!is_done).then_some(When::Now);
                }
                self.next.ahead -= u64::from(!record.is_free());
                return (!is_done).then_some(When::Sooner);
            }
            Who::Movers(others) => others,
        };
        if others == Others::Rest || record.is_free() || !self.least.defer(state) {
            return None;
        }
        if self.looks_ahead() {
            self.next.ahead += 1;
            return Some(When::Later);
        }
        pages::push(&mut self.next.kept, Kept { visit, others });
        None
    }

    /// Expands `self.state` at a visit: at least the steps that are to be run. Gives the number of steps,
    /// and whose turn it is.
    fn expand_for(&mut self, entry: Entry, record: StateRecord) -> Result<(usize, Turn), End> {
        let is_first = !self.reduce && !record.is_expanded();
        let merged = if is_first { record.small_movers() } else { 0 };
        let is_whole = self.looks_ahead() && (is_first || self.reduce);
        let (system, outgoing) = (self.system, &mut self.outgoing);
        let Some(mover) = entry.mover() else {
            let steps = self.expander.expand(system, &mut self.state, outgoing)?;
            return Ok((steps, Turn { mover: None, merged, who: Who::Everybody }));
        };
        let is_compiled = system.is_compiled();
        if is_compiled && !self.reduce && !is_whole {
            if record.is_free() && !is_first {
                // Everybody else was run, so that only the mover is of interest.
                let own = self.expander.expand_process(system, &mut self.state, mover, outgoing)?;
                if let Some(steps) = own {
                    return Ok((steps, self.turn_after(mover, merged, Others::Rest)));
                }
            } else {
                let without = record.small_movers();
                let movers = ProcessSelection { first: Some(mover), also: merged, without };
                let steps =
                    self.expander.expand_selection(system, &mut self.state, movers, outgoing)?;
                // Only if nobody here has steps, all must be looked at to know whether anybody has.
                if steps > 0 {
                    return Ok((steps, self.turn_after(mover, merged, Others::Unknown)));
                }
            }
        }
        if is_whole || is_compiled && !(self.reduce && self.bucket == self.last) {
            let steps = self.expander.expand(system, &mut self.state, &mut self.outgoing)?;
            let others = if self.outgoing.others_move(mover) { Others::Move } else { Others::Rest };
            return Ok((steps, self.turn_after(mover, merged, others)));
        }
        let others = self.select(mover, merged);
        let (state, selected) = (&self.state, &self.selected);
        let steps = self.expander.expand_selected(system, state, selected, &mut self.outgoing)?;
        Ok((steps, self.turn_after(mover, merged, others)))
    }

    /// Whose turn it is, if all last movers were looked at.
    #[inline(always)]
    fn turn_after(&self, mover: ProcessId, merged: u64, others: Others) -> Turn {
        let who = match self.outgoing.moves(mover) && self.outgoing.all_move(merged) {
            true => Who::Movers(others),
            false => Who::Everybody,
        };
        Turn { mover: Some(mover), merged, who }
    }

    /// Whether the bound keeps somebody from moving after this visit.
    fn somebody_waits(&mut self, kept: Kept) -> bool {
        let entry = self.log[kept.visit as usize];
        self.store.load(entry.state, &mut self.state);
        entry.mover().is_some_and(|mover| self.select(mover, 0) == Others::Move)
    }

    /// Selects the steps of `self.state` that may be run: everybody's, if one of the last movers cannot go
    /// on.
    fn select(&mut self, mover: ProcessId, merged: u64) -> Others {
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
        self.selected.clear();
        let moves = |process: ProcessId| !self.enabled.of(process).is_empty();
        let mut small = (0..64u16).filter(|process| merged >> process & 1 != 0).map(ProcessId);
        let all_move = moves(mover) && small.all(moves);
        let mut others = Others::Rest;
        for (process, steps) in self.enabled.by_process() {
            let is_merged = process.0 < 64 && merged >> process.0 & 1 != 0;
            let other = process != mover && process != ProcessId::PROPERTY;
            if other {
                others = Others::Move;
            }
            if !other || is_merged || !all_move || self.reduce && self.is_transparent(process) {
                self.selected.extend_from_slice(steps);
            }
        }
        others
    }

    /// Runs what the visits of the batch are for.
    fn act(&mut self) -> Result<(), End> {
        if self.reduce {
            let tasks = std::mem::take(&mut self.tasks);
            let result = tasks.iter().try_for_each(|task| self.act_reduced(task));
            self.tasks = tasks;
            return result;
        }
        let outgoing = std::mem::take(&mut self.outgoing.list);
        let result = outgoing.iter().try_for_each(|edge| self.follow(*edge, None).map(|_| ()));
        self.outgoing.list = outgoing;
        result
    }

    /// Takes one edge. Where it arrives, `label` was the last mover, if it is transparent, or else who really
    /// was. Says whether some visit to that state is yet to be expanded.
    #[inline(always)]
    fn follow(&mut self, edge: Edge, label: Option<Option<ProcessId>>) -> Result<bool, End> {
        let Some(arrival) = edge.arrival() else { return self.follow_fault(edge) };
        match edge.when {
            When::Now => self.transitions += 1,
            When::Later => self.next.transitions += 1,
            When::Sooner => {
                self.transitions += 1;
                self.next.transitions -= 1;
            }
        }
        let before = || self.log[edge.visit as usize].mover();
        let mover = label.unwrap_or_else(|| edge.mover().or_else(before));
        let state = match self.reduce {
            false => self.expander.arrivals[arrival].inserted.id,
            true => self.stored(edge, arrival)?,
        };
        let by = match edge.process {
            _ if self.reduce => None,
            ProcessId::PROPERTY => mover,
            process => Some(process),
        };
        let entry = Entry {
            state,
            parent: edge.visit,
            mover: mover.map_or(NOBODY, |mover| mover.0),
            by: packed(by),
            flags: if label.is_some() { TRANSPARENT } else { 0 },
        };
        self.arrive(entry, edge.when)
    }

    #[cold]
    fn follow_fault(&mut self, edge: Edge) -> Result<bool, End> {
        if let Some((fault, path)) = self.outgoing.fault(edge) {
            match edge.when {
                When::Later => self.next.faults.push((edge.visit, edge.process, fault)),
                _ => self.fault(fault, Some(edge.visit), &path)?,
            }
        }
        Ok(false)
    }

    /// Notes an arrival; says whether some visit to the state is yet to be expanded.
    #[inline(always)]
    fn arrive(&mut self, mut entry: Entry, when: When) -> Result<bool, End> {
        let count = self.bucket + u32::from(when == When::Later);
        match self.least.visit(entry.state, count, entry.mover()) {
            Visit::Covered => return Ok(!self.least.get(entry.state).is_expanded()),
            Visit::First => {}
            Visit::Again => {
                let record = self.least.get(entry.state);
                let is_small = entry.mover().is_some_and(fits_record);
                let is_merged = !self.reduce && is_small && !record.is_expanded();
                let is_late = record.is_deferred() && self.looks_ahead();
                entry.flags |=
                    AGAIN | if is_merged { MERGED } else { 0 } | if is_late { LATE } else { 0 };
            }
        }
        match when {
            When::Later => pages::push(&mut self.next.visits, entry),
            _ => self.enter(entry)?,
        }
        Ok(true)
    }

    /// Adds a visit to the present bucket.
    #[inline(always)]
    fn enter(&mut self, entry: Entry) -> Result<(), End> {
        match entry.is(AGAIN) {
            true => self.revisits += 1,
            false => self.states += 1,
        }
        if self.log.len() >= NO_PARENT as usize {
            return Err(End::Limit(Stop::Memory));
        }
        pages::push(&mut self.log, entry);
        Ok(())
    }

    /// Notes that the state is expanded; once, if it is an invalid end, that, too.
    #[inline(always)]
    fn set_expanded(&mut self, visit: u32, state: StateId, invalid_end: bool) -> Result<(), End> {
        if invalid_end && !self.least.get(state).is_expanded() {
            let (system, store) = (self.system, &*self.store);
            let past = Past { system, store, least: &self.least, log: &self.log };
            self.outgoing
                .counters
                .error(|| Counterexample::invalid_end(past.steps_to(visit, UNKNOWN_PROCESS)));
            self.enough()?;
        }
        self.least.set_expanded(state);
        Ok(())
    }

    fn enough(&self) -> Result<(), End> {
        if self.outgoing.counters.is_enough() { Err(End::Enough) } else { Ok(()) }
    }

    /// Takes note of a fault at the end of `path` behind a visit.
    fn fault(&mut self, fault: u32, visit: Option<u32>, path: &[Step]) -> Result<(), End> {
        let (system, store) = (self.system, &*self.store);
        if self.outgoing.counters.reports(system, fault) {
            let past = Past { system, store, least: &self.least, log: &self.log };
            self.outgoing.counters.error(|| {
                let by = packed(path.first().map(|step| step.process));
                let mut steps = visit.map_or(Vec::new(), |at| past.steps_to(at, by));
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
        rows: Vec<BoundRow>,
        bound: Option<u32>,
        end: Option<End>,
        budget: &Budget,
    ) -> Finding {
        let (memory, depth) = (self.bytes(), self.depth());
        let conclusion = Conclusion {
            counters: self.outgoing.counters,
            states: self.states,
            transitions: self.transitions,
            revisits: self.revisits,
            depth,
            memory,
            rows,
            bound,
            end,
        };
        conclusion.finding(self.system, budget)
    }
}

/// When a process goes on from a visit, if it does; `rest` says when those do who did not move last.
#[inline(always)]
fn when(
    least: &LeastPreemptions,
    entry: Entry,
    turn: Turn,
    rest: Option<When>,
    process: ProcessId,
) -> Option<When> {
    if process == ProcessId::PROPERTY {
        let moves = match turn.who {
            Who::Movers(_) => true,
            Who::Everybody => rest.is_some(),
            Who::Others => false,
        };
        return moves.then_some(When::Now);
    }
    if turn.is_mover(process) {
        return Some(if entry.is(LATE) { When::Sooner } else { When::Now });
    }
    // The processes that moved last in other visits have their own.
    rest.filter(|_| !least.has_mover(entry.state, process))
}
