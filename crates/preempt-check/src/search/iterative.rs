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
//! With reduction, the steps of a process that touch nothing but its own data are *transparent*:
//! they are taken at once, alone, and the last mover stays who it was. That neither loses nor adds
//! an execution at any bound (unlike the credit of [HF] Fig. 5, which adds some): such a step can be
//! moved to right behind the step of its process before it, where it costs no switch.
//!
//! Invariants: a bucket holds visits whose least count is the bucket's; see `marks.rs` for what a
//! visit promises. A transparent step is taken alone only if one of its successors has a visit that
//! is expanded later than this one, so no process is put off for ever.

use super::chain::{Chain, Event, last_mover};
use super::marks::{LARGEST_BOUND, Marks, Visit};
use super::tally::Tally;
use crate::store::{Pending, StateId, Store};
use crate::{Budget, Counterexample, Finding, Options, Preemptions, Progress};
use preempt_core::{
    BoundRow, Enabled, Locality, Outcome, ProcessId, Statistics, Step, Stop, System, classify,
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
    let extra = match options.preemptions {
        Preemptions::Iterate { extra, .. } => extra,
        _ => 0,
    };
    let last = options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND);
    let mut search = Bucketed {
        system,
        store,
        reduce,
        marks: Marks::default(),
        log: Vec::new(),
        bucket: 0,
        tally: Tally::new(system, options),
        transitions: 1,
        revisits: 0,
        chain: Chain::default(),
        enabled: Enabled::new(),
        state: Vec::new(),
        batch: Batch::default(),
    };
    let mut rows = Vec::new();
    let mut bound = None;
    let stop = search.run(last, extra, &mut rows, &mut bound, budget).err();
    search.finish(rows, bound, stop, budget)
}

/// Why a search ends before its time.
enum End {
    Limit(Stop),
    /// As many violations were met as were asked for.
    Enough,
}

/// A visit: a state, who moved last, and the visit it was reached from.
#[derive(Clone, Copy)]
struct Entry {
    state: StateId,
    parent: u32,
    mover: Mover,
}

/// The last mover of a visit, and whether the last step was a transparent one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mover(u32);

impl Mover {
    const NOBODY: u32 = 0xffff;
    const TRANSPARENT: u32 = 1 << 16;

    fn new(process: Option<ProcessId>, transparent: bool) -> Self {
        Mover(
            process.map_or(Mover::NOBODY, |p| u32::from(p.0))
                | if transparent { Mover::TRANSPARENT } else { 0 },
        )
    }

    fn process(self) -> Option<ProcessId> {
        match self.0 & Mover::NOBODY {
            Mover::NOBODY => None,
            process => Some(ProcessId(process as u16)),
        }
    }

    fn is_transparent(self) -> bool {
        self.0 & Mover::TRANSPARENT != 0
    }
}

/// Successors that wait to be stored together, so that their cache misses overlap.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    pending: Vec<Pending>,
    arrivals: Vec<(u32, Mover)>,
}

const BATCH: usize = 64;
const NO_PARENT: u32 = u32::MAX;

struct Bucketed<'a, S: ?Sized, T> {
    system: &'a S,
    store: &'a mut T,
    reduce: bool,
    marks: Marks,
    /// Every visit, in the order of its bucket; at the same time the queue of the present bucket.
    log: Vec<Entry>,
    /// The count of the present bucket.
    bucket: u32,
    tally: Tally,
    transitions: u64,
    revisits: u64,
    chain: Chain,
    enabled: Enabled,
    state: Vec<u8>,
    batch: Batch,
}

impl<S: System + ?Sized, T: Store> Bucketed<'_, S, T> {
    /// Fills `rows` with finished phases and `bound` with the last bound searched, if more is left.
    fn run(
        &mut self,
        last: u32,
        extra: u32,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let result = self.start().and_then(|()| self.buckets(last, extra, rows, bound, budget));
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
        let inserted = self.store.insert(&initial).map_err(|_| End::Limit(Stop::Memory))?;
        self.marks.visit(inserted.id, 0, None);
        self.log.push(Entry {
            state: inserted.id,
            parent: NO_PARENT,
            mover: Mover::new(None, false),
        });
        Ok(())
    }

    fn buckets(
        &mut self,
        last: u32,
        extra: u32,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let mut waiting = Vec::new();
        let mut cursor = 0;
        loop {
            let mut deferred = Vec::new();
            for visit in waiting {
                self.poll(cursor, budget)?;
                self.expand_deferred(visit)?;
            }
            self.flush(&mut Vec::new())?;
            while cursor < self.log.len() {
                self.poll(cursor, budget)?;
                self.expand(cursor as u32, &mut deferred)?;
                cursor += 1;
                if cursor == self.log.len() {
                    self.flush(&mut Vec::new())?;
                }
            }
            // Later visits at the same count may have run all that waited here.
            deferred.retain(|&visit| !self.marks.get(self.log[visit as usize].state).is_free());
            let phase_ends = (self.bucket + 1).is_multiple_of(extra + 1);
            if phase_ends || deferred.is_empty() {
                rows.push(self.row());
            }
            if deferred.is_empty() {
                return Ok(());
            }
            if self.bucket >= last {
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
            states: self.store.len() as u64,
            transitions: self.transitions,
            errors: self.tally.errors,
        }
    }

    fn poll(&self, cursor: usize, budget: &mut Budget) -> Result<(), End> {
        let stop = budget.poll(|| Progress {
            states: self.store.len() as u64,
            transitions: self.transitions,
            queue: (self.log.len() - cursor) as u64,
            memory: self.bytes(),
            ..Progress::default()
        });
        stop.map_or(Ok(()), |stop| Err(End::Limit(stop)))
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.marks.bytes() + self.log.capacity() * size_of::<Entry>()
    }

    fn enough(&self) -> Result<(), End> {
        if self.tally.is_enough() { Err(End::Enough) } else { Ok(()) }
    }

    /// Loads the state of a visit and its steps.
    fn load(&mut self, entry: Entry) {
        self.store.load(entry.state, &mut self.state);
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
    }

    /// Runs what a visit of the present bucket adds; a state whose other processes have to wait
    /// goes to `deferred`.
    fn expand(&mut self, visit: u32, deferred: &mut Vec<u32>) -> Result<(), End> {
        let entry = self.log[visit as usize];
        self.load(entry);
        let mark = self.marks.get(entry.state);
        if !mark.is_expanded() {
            self.marks.set_expanded(entry.state);
            self.tally.state_bytes = self.tally.state_bytes.max(self.state.len());
            if self.tally.is_invalid_end(self.system, &self.state, &self.enabled) {
                let (system, store, log) = (self.system, &*self.store, &self.log);
                self.tally
                    .error(|| Counterexample::invalid_end(steps_to(system, store, log, visit)));
                self.enough()?;
            }
        }
        let mover = entry.mover.process().filter(|&p| !self.enabled.of(p).is_empty());
        if self.reduce && self.expand_transparent(visit, mover)? {
            return Ok(());
        }
        let Some(mover) = mover else {
            // Nobody is preempted. The processes that moved last in other visits have their own.
            if entry.mover.process().is_none() || !mark.is_free() {
                self.marks.set_free(entry.state);
                self.run_all_but_movers(visit, entry.state)?;
            }
            return Ok(());
        };
        self.run_process(visit, mover)?;
        self.run_process(visit, ProcessId::PROPERTY)?;
        let is_other = |step: &Step| step.process != mover && step.process != ProcessId::PROPERTY;
        let others = self.enabled.steps().iter().any(is_other);
        if others && !mark.is_free() && self.marks.defer(entry.state) {
            deferred.push(visit);
        }
        Ok(())
    }

    /// Runs, at one preemption more, the processes that had to wait.
    fn expand_deferred(&mut self, visit: u32) -> Result<(), End> {
        let entry = self.log[visit as usize];
        if self.marks.get(entry.state).is_free() {
            return Ok(());
        }
        self.load(entry);
        self.marks.set_free(entry.state);
        self.enabled.drop_property();
        self.run_all_but_movers(visit, entry.state)
    }

    fn run_all_but_movers(&mut self, visit: u32, id: StateId) -> Result<(), End> {
        let enabled = std::mem::take(&mut self.enabled);
        let result = enabled.by_process().try_for_each(|(process, steps)| {
            if self.marks.has_mover(id, process) {
                return Ok(());
            }
            steps.iter().try_for_each(|&step| self.take(visit, step, None))
        });
        self.enabled = enabled;
        result?;
        self.flush_if_large()
    }

    fn run_process(&mut self, visit: u32, process: ProcessId) -> Result<(), End> {
        let enabled = std::mem::take(&mut self.enabled);
        let result =
            (enabled.of(process).iter()).try_for_each(|&step| self.take(visit, step, None));
        self.enabled = enabled;
        result?;
        self.flush_if_large()
    }

    /// Takes the steps of one process that touches nothing shared, and no others, if there is one
    /// with a successor that is yet to be expanded.
    fn expand_transparent(&mut self, visit: u32, mover: Option<ProcessId>) -> Result<bool, End> {
        let enabled = std::mem::take(&mut self.enabled);
        let mut result = Ok(false);
        for (process, steps) in enabled.by_process() {
            if self.system.locality(&self.state, process) != Locality::Local
                || self.system.is_visible(&self.state, process)
            {
                continue;
            }
            let mut arrived = Vec::new();
            result = (self.flush(&mut Vec::new()))
                .and_then(|()| {
                    let label = Mover::new(mover, true);
                    steps.iter().try_for_each(|&step| self.take(visit, step, Some(label)))
                })
                .and_then(|()| self.flush(&mut arrived))
                .map(|()| arrived.iter().any(|open| *open));
            if !matches!(result, Ok(false)) {
                break;
            }
        }
        self.enabled = enabled;
        result
    }

    /// Takes one step of the loaded state. Where it arrives, `label` was the last mover, or else
    /// who really was.
    fn take(&mut self, visit: u32, step: Step, label: Option<Mover>) -> Result<(), End> {
        let mut chain = std::mem::take(&mut self.chain);
        let before = self.log[visit as usize].mover.process();
        let mut faults = Vec::new();
        chain.run(self.system, &self.state, step, &mut |path, event| {
            match event {
                Event::Violated(fault) | Event::Broken(fault) => {
                    faults.push((fault, path.to_vec()));
                }
                Event::Arrived(state) => {
                    for &step in path {
                        self.tally.take(self.system, step);
                    }
                    self.transitions += 1;
                    let last = last_mover(path, before);
                    let batch = &mut self.batch;
                    let start = batch.bytes.len();
                    batch.bytes.extend_from_slice(state);
                    let hash = self.store.hash(state);
                    batch.pending.push(Pending::new(hash, start, batch.bytes.len()));
                    batch.arrivals.push((visit, label.unwrap_or(Mover::new(last, false))));
                }
            }
            true
        });
        self.chain = chain;
        faults.into_iter().try_for_each(|(fault, path)| self.fault(fault, Some(visit), &path))
    }

    /// Takes note of a fault at the end of `path` behind a visit.
    fn fault(&mut self, fault: u32, visit: Option<u32>, path: &[Step]) -> Result<(), End> {
        let (system, store, log) = (self.system, &*self.store, &self.log);
        if self.tally.reports(system, fault) {
            self.tally.error(|| {
                let mut steps = visit.map_or(Vec::new(), |at| steps_to(system, store, log, at));
                steps.extend_from_slice(path);
                Counterexample::from_fault(system, steps, fault)
            });
        }
        self.enough()
    }

    fn flush_if_large(&mut self) -> Result<(), End> {
        if self.batch.pending.len() >= BATCH { self.flush(&mut Vec::new()) } else { Ok(()) }
    }

    /// Stores the successors that wait, and visits them. `open` gets, for each, whether some visit
    /// to it is yet to be expanded.
    fn flush(&mut self, open: &mut Vec<bool>) -> Result<(), End> {
        let Batch { bytes, pending, arrivals } = &mut self.batch;
        self.store.insert_batch(bytes, pending).map_err(|_| End::Limit(Stop::Memory))?;
        for (pending, &(parent, mover)) in pending.iter().zip(arrivals.iter()) {
            let state = pending.inserted.id;
            let visit = self.marks.visit(state, self.bucket, mover.process());
            if visit != Visit::Covered {
                self.revisits += u64::from(!pending.inserted.new);
                if self.log.len() >= NO_PARENT as usize {
                    return Err(End::Limit(Stop::Memory));
                }
                self.log.push(Entry { state, parent, mover });
            }
            open.push(visit != Visit::Covered || !self.marks.get(state).is_expanded());
        }
        bytes.clear();
        pending.clear();
        arrivals.clear();
        Ok(())
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
        let states = self.store.len() as u64;
        let (memory, depth) = (self.bytes(), self.depth());
        let mut finding = self.tally.finish(self.system, states);
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
    let (mut steps, mut state, mut target) = (Vec::new(), Vec::new(), Vec::new());
    let (mut chain, mut enabled) = (Chain::default(), Enabled::new());
    for pair in entries.windows(2) {
        store.load(pair[0].state, &mut state);
        store.load(pair[1].state, &mut target);
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let mut best: Option<(bool, Vec<Step>)> = None;
        for step in enabled.steps() {
            let switch = classify(pair[0].mover.process(), &enabled, step);
            let costs = switch == preempt_core::Switch::Preemption;
            chain.run(system, &state, *step, &mut |path, event| {
                if let Event::Arrived(arrived) = event {
                    let mover = last_mover(path, pair[0].mover.process());
                    let same = pair[1].mover.is_transparent() || mover == pair[1].mover.process();
                    let better = best.as_ref().is_none_or(|(worst, _)| *worst && !costs);
                    if same && better && *arrived == target {
                        best = Some((costs, path.to_vec()));
                    }
                }
                true
            });
        }
        steps.extend(best.expect("the log holds edges of the system").1);
    }
    steps
}
