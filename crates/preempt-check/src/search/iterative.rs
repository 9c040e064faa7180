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
//! A state is expanded once, in full, when it is first visited; what its other processes lead to is
//! kept as edges (`edges.rs`) until the next bucket runs them. The last bucket takes no step that it may
//! not run.
//!
//! With reduction, the steps of a process that touch nothing but its own data are *transparent*:
//! they are taken at once, alone, and the last mover stays who it was. That neither loses nor adds
//! an execution at any bound (unlike the credit of [HF] Fig. 5, which adds some): such a step can be
//! moved to right behind the step of its process before it, where it costs no switch.
//!
//! Invariants: a bucket holds visits whose least count is the bucket's; see `marks.rs` for what a
//! visit promises. A transparent step is taken alone only if one of its successors has a visit that
//! is expanded later than this one, so no process is put off for ever.

use super::edges::{Edge, Edges, Ways};
use super::end::End;
use super::expansion::Expander;
use super::marks::{LARGEST_BOUND, Mark, Marks, Visit};
use super::retrace::{Mover, retrace};
use crate::store::{Pending, StateId, Store};
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{
    BoundRow, Enabled, Locality, Outcome, ProcessId, Statistics, Step, Stop, System,
};
use std::ops::Range;

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
        edges: Edges::default(),
        previous: Edges::default(),
        expander: Expander::new(),
        state: Vec::new(),
        enabled: Enabled::new(),
        selected: Vec::new(),
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
    /// Distinct states visited; the store also holds some that the next bucket will visit.
    states: u64,
    transitions: u64,
    revisits: u64,
    /// Out of states first visited in the present bucket.
    edges: Edges,
    /// Out of those of the bucket before.
    previous: Edges,
    expander: Expander,
    state: Vec<u8>,
    enabled: Enabled,
    selected: Vec<Step>,
    tasks: Vec<Task>,
    pending: Vec<Pending>,
}

/// A visit to be dealt with, and what was found out about its state.
#[derive(Clone)]
struct Task {
    visit: u32,
    /// The ways out of the state; `None` if they were found before.
    ways: Option<Range<usize>>,
    invalid_end: bool,
    /// Whether the last mover can go on.
    mover_moves: bool,
    /// Whether anybody else can.
    others_move: bool,
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
        let mut waiting: Vec<u32> = Vec::new();
        let mut cursor = 0;
        loop {
            let mut deferred = Vec::new();
            for visits in waiting.chunks(BATCH) {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                self.fetch_deferred(visits);
                visits.iter().try_for_each(|&visit| self.run_deferred(visit))?;
            }
            while cursor < self.log.len() {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                cursor = self.run_batch(cursor, &mut deferred)?;
            }
            // Later visits at the same count may have run all that waited here.
            deferred.retain(|&visit| !self.marks.get(self.log[visit as usize].state).is_free());
            if self.bucket >= self.last && !deferred.iter().any(|&visit| self.somebody_waits(visit))
            {
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
            std::mem::swap(&mut self.previous, &mut self.edges);
            self.edges.clear();
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
            + self.edges.bytes()
            + self.previous.bytes()
            + self.expander.bytes()
            + self.log.capacity() * size_of::<Entry>()
    }

    /// Deals with visits from `cursor` on until a batch is full; says where to go on.
    fn run_batch(&mut self, cursor: usize, deferred: &mut Vec<u32>) -> Result<usize, End> {
        self.expander.clear();
        self.ways.clear();
        // About as many as in the batch before.
        let expected = (self.tasks.len() + 4).clamp(16, BATCH);
        self.tasks.clear();
        self.pending.clear();
        let mut next = cursor;
        for entry in self.log[cursor..].iter().take(expected) {
            self.edges.prefetch(entry.state);
            self.marks.prefetch(entry.state);
            self.store.prefetch_id(entry.state);
        }
        for entry in self.log[cursor..].iter().take(expected) {
            self.edges.prefetch_list(entry.state);
        }
        while next < self.log.len() && self.waiting() < BATCH && self.tasks.len() < BATCH {
            self.look_at(next as u32)?;
            next += 1;
        }
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
        let tasks = std::mem::take(&mut self.tasks);
        let result = tasks.iter().try_for_each(|task| match &task.ways {
            Some(ways) => self.act(task, ways.clone(), deferred),
            None => self.act_again(task.visit),
        });
        self.tasks = tasks;
        result.map(|()| next)
    }

    /// How many states wait to be stored.
    fn waiting(&self) -> usize {
        if self.reduce { self.pending.len() } else { self.expander.arrivals.len() }
    }

    /// Finds the ways out of the state of a visit, and has those stored that will be needed.
    fn look_at(&mut self, visit: u32) -> Result<(), End> {
        let entry = self.log[visit as usize];
        let mut task =
            Task { visit, ways: None, invalid_end: false, mover_moves: false, others_move: false };
        if self.edges.knows(entry.state) {
            self.tasks.push(task);
            return Ok(());
        }
        self.store.load_parent(entry.state, &mut self.state);
        let (first, arrivals) = (self.ways.list.len(), self.expander.arrivals.len());
        self.ways.begin();
        let mover = entry.mover.process();
        let steps = match mover.filter(|_| self.bucket == self.last) {
            None => self.expander.expand_briefly(self.system, &mut self.state, &mut self.ways)?,
            Some(mover) => self.expand_mover(mover, &mut task)?,
        };
        // One sequence may arrive several times while another never does: no count tells.
        self.ways.add_dead_ends(first);
        task.ways = Some(first..self.ways.list.len());
        let tally = &mut self.ways.tally;
        tally.state_bytes = tally.state_bytes.max(self.state.len());
        task.invalid_end =
            steps == 0 && tally.reports_deadlocks() && !self.system.is_valid_end(&self.state);
        for &process in &self.ways.processes {
            task.mover_moves |= Some(process) == mover;
            task.others_move |= Some(process) != mover && process != ProcessId::PROPERTY;
        }
        if self.reduce {
            self.want_some(first);
        } else if self.store.hashes_near() {
            let bytes = &self.expander.successors.bytes;
            let arrivals = &mut self.expander.arrivals[arrivals..];
            self.store.hash_successors(entry.state, bytes, arrivals)?;
        }
        self.tasks.push(task);
        Ok(())
    }

    /// With reduction, wants those arrivals from `first` on stored that are certain to be needed.
    fn want_some(&mut self, first: usize) {
        let alone = self.find_transparent(first);
        for way in &mut self.ways.list[first..] {
            let wanted = alone.is_none_or(|alone| way.process == alone);
            if wanted && let Some(arrival) = way.arrival() {
                let arrival = self.expander.arrivals[arrival];
                way.pending = Some(self.pending.len() as u32);
                self.pending.push(Pending::new(0, arrival.start, arrival.end));
            }
        }
    }

    /// Expands `self.state` in the last bucket: takes the steps that may be run, everybody's if the last
    /// mover cannot go on. Whether somebody else has steps is told, or left to be found out later.
    fn expand_mover(&mut self, mover: ProcessId, task: &mut Task) -> Result<usize, End> {
        let (system, ways) = (self.system, &mut self.ways);
        if !self.reduce
            && let Some(steps) =
                self.expander.expand_process(system, &mut self.state, mover, ways)?
        {
            task.others_move = true;
            return match steps {
                0 => Ok(self.expander.expand_briefly(system, &mut self.state, ways)?),
                steps => Ok(steps),
            };
        }
        task.others_move = self.select(mover);
        let steps = &self.selected;
        Ok(self.expander.expand_selected(system, &self.state, steps, &mut self.ways)?)
    }

    /// Whether the bound keeps somebody from moving after this visit.
    fn somebody_waits(&mut self, visit: u32) -> bool {
        let Entry { state, mover, .. } = self.log[visit as usize];
        self.store.load(state, &mut self.state);
        mover.process().is_some_and(|mover| self.select(mover))
    }

    /// Selects, in the last bucket, the steps of `self.state` that may be run: everybody's, if the last
    /// mover cannot go on. Says whether somebody else has steps.
    fn select(&mut self, mover: ProcessId) -> bool {
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
        self.selected.clear();
        let mover_moves = !self.enabled.of(mover).is_empty();
        let mut others_move = false;
        for (process, steps) in self.enabled.by_process() {
            let other = process != mover && process != ProcessId::PROPERTY;
            others_move |= other;
            if !other || !mover_moves || self.reduce && self.is_transparent(process) {
                self.selected.extend_from_slice(steps);
            }
        }
        others_move
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

    /// Runs what a visit of the present bucket adds; a state whose other processes have to wait
    /// goes to `deferred`.
    fn act(&mut self, task: &Task, ways: Range<usize>, deferred: &mut Vec<u32>) -> Result<(), End> {
        let entry = self.log[task.visit as usize];
        let mark = self.marks.get(entry.state);
        if !mark.is_expanded() {
            self.marks.set_expanded(entry.state);
            if task.invalid_end {
                let (system, store, log) = (self.system, &*self.store, &self.log);
                let story =
                    || Counterexample::invalid_end(steps_to(system, store, log, task.visit));
                self.ways.tally.error(story);
                self.enough()?;
            }
        }
        let mover = entry.mover.process().filter(|_| task.mover_moves);
        if self.reduce && self.run_transparent(task.visit, ways.clone(), mover)? {
            return Ok(());
        }
        let Some(mover) = mover else {
            if self.goes_free(entry, mark) {
                self.follow_ways(task.visit, ways.clone(), |marks, p| {
                    !marks.has_mover(entry.state, p)
                })?;
                // The processes that moved last in other visits have their own.
                let is_left = |marks: &Marks, p| marks.has_mover(entry.state, p);
                if ways.clone().any(|at| is_left(&self.marks, self.ways.list[at].process)) {
                    self.keep_edges(entry.state, ways, is_left)?;
                }
            }
            return Ok(());
        };
        self.follow_ways(task.visit, ways.clone(), |_, p| p == mover)?;
        if self.ways.has_property {
            self.follow_ways(task.visit, ways.clone(), |_, p| p == ProcessId::PROPERTY)?;
        }
        if task.others_move && !mark.is_free() && self.marks.defer(entry.state) {
            deferred.push(task.visit);
            self.keep_edges(entry.state, ways, |_, p| p != mover)?;
        }
        Ok(())
    }

    /// As [`Self::act`] for a state whose edges are known from an earlier visit.
    fn act_again(&mut self, visit: u32) -> Result<(), End> {
        let entry = self.log[visit as usize];
        let mark = self.marks.get(entry.state);
        let edges = std::mem::take(&mut self.edges);
        let known = edges.of(entry.state);
        let mover = entry.mover.process().filter(|p| known.iter().any(|e| e.process() == *p));
        let result = match mover {
            None if !self.goes_free(entry, mark) => Ok(()),
            None => self.follow_edges(visit, known, |marks, p| !marks.has_mover(entry.state, p)),
            Some(mover) => self
                .follow_edges(visit, known, |_, p| p == mover)
                .and_then(|()| self.follow_edges(visit, known, |_, p| p == ProcessId::PROPERTY)),
        };
        self.edges = edges;
        result
    }

    /// Whether a visit whose last mover cannot go on runs everybody at no cost; if so, that is
    /// noted.
    fn goes_free(&mut self, entry: Entry, mark: Mark) -> bool {
        let free = entry.mover.process().is_none() || !mark.is_free();
        if free {
            self.marks.set_free(entry.state);
        }
        free
    }

    /// Fetches what running these visits will read, so that they wait for it together.
    fn fetch_deferred(&self, visits: &[u32]) {
        let states = || visits.iter().map(|&visit| self.log[visit as usize].state);
        for state in states() {
            self.previous.prefetch(state);
            self.marks.prefetch(state);
        }
        states().for_each(|state| self.previous.prefetch_list(state));
        for edge in states().flat_map(|state| self.previous.of(state)) {
            self.marks.prefetch(StateId(edge.to()));
        }
    }

    /// Runs, at one preemption more, the processes that had to wait.
    fn run_deferred(&mut self, visit: u32) -> Result<(), End> {
        let state = self.log[visit as usize].state;
        if self.marks.get(state).is_free() {
            return Ok(());
        }
        self.marks.set_free(state);
        let edges = std::mem::take(&mut self.previous);
        let result = self.follow_edges(visit, edges.of(state), |marks, process| {
            process != ProcessId::PROPERTY && !marks.has_mover(state, process)
        });
        self.previous = edges;
        result
    }

    /// Takes the steps of one process that touches nothing shared, and no others, if there is one
    /// with a successor that is yet to be expanded.
    fn run_transparent(
        &mut self,
        visit: u32,
        ways: Range<usize>,
        mover: Option<ProcessId>,
    ) -> Result<bool, End> {
        let mut at = ways.start;
        while at < ways.end {
            let process = self.ways.list[at].process;
            let transparent = self.ways.list[at].transparent;
            let mut open = false;
            while at < ways.end && self.ways.list[at].process == process {
                if transparent {
                    let edge = self.edge(at)?;
                    open |= self.follow(visit, edge, Some(Mover::new(mover, true)))?;
                }
                at += 1;
            }
            if open {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn follow_ways(
        &mut self,
        visit: u32,
        ways: Range<usize>,
        wanted: impl Fn(&Marks, ProcessId) -> bool,
    ) -> Result<(), End> {
        for at in ways {
            if wanted(&self.marks, self.ways.list[at].process) {
                let edge = self.edge(at)?;
                self.follow(visit, edge, None)?;
            }
        }
        Ok(())
    }

    fn follow_edges(
        &mut self,
        visit: u32,
        edges: &[Edge],
        wanted: impl Fn(&Marks, ProcessId) -> bool,
    ) -> Result<(), End> {
        for &edge in edges {
            if wanted(&self.marks, edge.process()) {
                self.follow(visit, edge, None)?;
            }
        }
        Ok(())
    }

    /// Keeps the edges of some processes for later visits, which the last bucket does not have.
    fn keep_edges(
        &mut self,
        state: StateId,
        ways: Range<usize>,
        wanted: impl Fn(&Marks, ProcessId) -> bool,
    ) -> Result<(), End> {
        if self.bucket == self.last {
            return Ok(());
        }
        self.edges.begin(state);
        for at in ways {
            if wanted(&self.marks, self.ways.list[at].process) {
                let edge = self.edge(at)?;
                self.edges.push(edge);
            }
        }
        self.edges.end(state);
        Ok(())
    }

    /// The edge of a way, which has its state stored if it is not yet.
    #[inline]
    fn edge(&mut self, at: usize) -> Result<Edge, End> {
        let way = self.ways.list[at];
        let Some(arrival) = way.arrival() else { return Ok(way.edge(way.to)) };
        let arrival = &self.expander.arrivals[arrival];
        if !self.reduce {
            return Ok(way.edge(arrival.inserted.id.0));
        }
        if let Some(pending) = way.pending {
            return Ok(way.edge(self.pending[pending as usize].inserted.id.0));
        }
        let bytes = &self.expander.successors.bytes[arrival.start..arrival.end];
        Ok(way.edge(self.store.insert(bytes)?.id.0))
    }

    /// Goes along an edge. Where it arrives, `label` was the last mover, or else who really was.
    /// Says whether some visit to that state is yet to be expanded.
    #[inline]
    fn follow(&mut self, visit: u32, edge: Edge, label: Option<Mover>) -> Result<bool, End> {
        if !edge.arrives() {
            if let Some((fault, path)) = self.ways.fault(edge) {
                self.fault(fault, Some(visit), &path)?;
            }
            return Ok(false);
        }
        self.transitions += 1;
        let before = self.log[visit as usize].mover;
        let mover = label.unwrap_or_else(|| match edge.mover() {
            ProcessId::PROPERTY => Mover::new(before.process(), false),
            mover => Mover::new(Some(mover), false),
        });
        self.arrive(StateId(edge.to()), visit, mover)
    }

    /// Notes an arrival; says whether some visit to the state is yet to be expanded.
    #[inline]
    fn arrive(&mut self, state: StateId, parent: u32, mover: Mover) -> Result<bool, End> {
        match self.marks.visit(state, self.bucket, mover.process()) {
            Visit::Covered => return Ok(!self.marks.get(state).is_expanded()),
            Visit::First => self.states += 1,
            Visit::Again => self.revisits += 1,
        }
        if self.log.len() >= NO_PARENT as usize {
            return Err(End::Limit(Stop::Memory));
        }
        self.log.push(Entry { state, parent, mover });
        Ok(true)
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

    /// The longest execution in the log, counted in visits.
    fn depth(&self) -> u64 {
        let mut depths: Vec<u32> = Vec::with_capacity(self.log.len());
        for entry in &self.log {
            let depth = match entry.parent {
                NO_PARENT => 0,
                parent => depths[parent as usize] + 1,
            };
            depths.push(depth);
        }
        depths.into_iter().max().unwrap_or(0).into()
    }

    fn finish(
        self,
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
    found.expect("the log holds edges of the system")
}
