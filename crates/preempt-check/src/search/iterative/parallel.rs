//! Iterative context bounding on several threads.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! As `buckets.rs`, with the states dealt out by their hash: each worker stores, judges and
//! expands its own, and posts successors to the worker that owns them. Nothing is shared but letter
//! boxes and a few counters, so a state is judged by one thread and the exact rule needs no locks.
//! All workers finish a bucket before the next begins.
//!
//! Invariant: `busy` counts workers with something to do and letters not yet dealt with; when it is
//! zero, the bucket is finished.

use super::local_steps::LocalSteps;
use super::mailboxes::{Entry, Fault, Letter, Place, Shared, lock};
use super::outgoing::Outgoing;
use super::steps_between::steps_between;
use crate::search::bounded::least_preemptions::{LARGEST_BOUND, LeastPreemptions, Visit};
use crate::search::shared::atomic_sequence::{AtomicSequence, Event, last_mover};
use crate::search::shared::expansion::Expander;
use crate::search::shared::workers::{Fewer, run_together, with_as_many_as_possible};
use crate::store::{StateId, Store, hash};
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{Enabled, Outcome, ProcessId, Statistics, Step, Stop, System};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

/// Explores bucket by bucket with `options.threads` workers, each over a store of its own.
pub(crate) fn iterative_parallel<S: System + ?Sized, T: Store + Send>(
    system: &S,
    make_store: impl Fn(usize) -> T,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> Finding {
    with_as_many_as_possible(options.threads, |threads| {
        search(system, &make_store, options, (threads, reduce), budget)
    })
}

fn search<S: System + ?Sized, T: Store + Send>(
    system: &S,
    make_store: impl Fn(usize) -> T,
    options: &Options,
    (count, reduce): (usize, bool),
    budget: &mut Budget,
) -> Result<Finding, Fewer> {
    let extra = options.preemptions.extra();
    let shared = Shared {
        boxes: (0..count).map(|_| Mutex::default()).collect(),
        busy: AtomicUsize::new(0),
        barrier: Barrier::new(count),
        ended: AtomicBool::new(false),
        stop: Mutex::new(None),
        faults: Mutex::new(Vec::new()),
        errors: AtomicU64::new(0),
        max_errors: options.max_errors,
        states: AtomicU64::new(0),
        transitions: AtomicU64::new(0),
        deferred: AtomicUsize::new(0),
        bucket: AtomicU32::new(0),
        last: options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND),
        rows: Mutex::new(Vec::new()),
        bound: Mutex::new(None),
        extra,
    };
    let mut workers: Vec<Worker<S, T>> = (0..count)
        .map(|me| Worker::new(me, system, make_store(count), reduce, options, &shared))
        .collect();
    let mut finding = Finding::default();
    let initial_fault = workers[0].start();
    let (first, rest) = workers.split_at_mut(1);
    let others = rest.iter_mut().map(|worker| || worker.run(None)).collect();
    run_together(|| first[0].run(Some(budget)), others)?;
    let faults = std::mem::take(&mut *lock(&shared.faults));
    finding.counterexample = match initial_fault {
        Some(fault) => Some(Counterexample::from_fault(system, Vec::new(), fault)),
        None => faults.into_iter().next().map(|fault| story(system, &workers, fault)),
    };
    let cut = || workers.iter().find_map(|worker| worker.outgoing.counters.stop);
    finding.stop = (*lock(&shared.stop)).or_else(cut);
    finding.bound = *lock(&shared.bound);
    let states = workers.iter().map(|worker| worker.store.len() as u64).sum::<u64>();
    let transitions = 1 + shared.transitions.load(Ordering::Relaxed);
    let memory = workers.iter().map(Worker::bytes).sum::<usize>();
    finding.statistics = Statistics {
        states,
        transitions,
        matched: transitions.saturating_sub(states),
        revisits: workers.iter().map(|worker| worker.revisits).sum(),
        errors: shared.errors.load(Ordering::Relaxed) + u64::from(initial_fault.is_some()),
        bytes_per_state: memory as f64 / states.max(1) as f64,
        memory_bytes: memory.max(budget.peak_memory()) as u64,
        seconds: budget.elapsed().as_secs_f64(),
        per_bound: std::mem::take(&mut *lock(&shared.rows)),
        ..Statistics::default()
    };
    if finding.bound.is_none() && finding.stop.is_none() && finding.counterexample.is_none() {
        let all_counters = workers.into_iter().map(|worker| worker.outgoing.counters);
        let all = all_counters.reduce(|mut all, one| {
            all.absorb(one);
            all
        });
        finding.unreached = all.map_or(Vec::new(), |all| all.finish(system, states).unreached);
    }
    Ok(finding)
}

/// Letters are posted when they hold so many successors.
const LETTER: usize = 128;
/// How often a worker looks into its letter box, in visits.
const LOOK_EVERY: usize = 64;
const NAP: Duration = Duration::from_micros(50);

struct Worker<'a, S: ?Sized, T> {
    me: usize,
    system: &'a S,
    store: T,
    reduce: bool,
    observed: bool,
    shared: &'a Shared,
    outgoing: Outgoing<'a, S>,
    expander: Expander,
    least: LeastPreemptions,
    log: Vec<Entry>,
    cursor: usize,
    deferred: Vec<u32>,
    out: Vec<Letter>,
    transitions: u64,
    revisits: u64,
    told_states: u64,
    sequence: AtomicSequence,
    local_steps: LocalSteps,
    enabled: Enabled,
    state: Vec<u8>,
}

impl<'a, S: System + ?Sized, T: Store> Worker<'a, S, T> {
    fn new(
        me: usize,
        system: &'a S,
        store: T,
        reduce: bool,
        options: &Options,
        shared: &'a Shared,
    ) -> Self {
        Worker {
            me,
            system,
            store,
            reduce,
            observed: options.observed,
            shared,
            outgoing: Outgoing::new(system, options),
            expander: Expander::new(),
            least: LeastPreemptions::default(),
            log: Vec::new(),
            cursor: 0,
            deferred: Vec::new(),
            out: shared.boxes.iter().map(|_| Letter::default()).collect(),
            transitions: 0,
            revisits: 0,
            told_states: 0,
            sequence: AtomicSequence::default(),
            local_steps: LocalSteps::new(options.observed),
            enabled: Enabled::new(),
            state: Vec::new(),
        }
    }

    /// Posts the initial state; gives the fault of one that is a violation already.
    fn start(&mut self) -> Option<u32> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        let mut found = None;
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.outgoing.counters.reports(self.system, fault)
        {
            found = Some(fault);
        }
        if found.is_some() || matches!(outcome, Outcome::Broken(_)) {
            self.shared.end(None);
        } else {
            self.post_to(self.owner(&initial), &initial, None, None);
            self.post_all();
        }
        found
    }

    fn owner(&self, state: &[u8]) -> usize {
        // The high bits choose the slot inside a store.
        (hash(state) & 0xffff_ffff) as usize % self.shared.boxes.len()
    }

    /// Works through the buckets; the first worker also watches the budget.
    fn run(&mut self, mut budget: Option<&mut Budget>) {
        let mut waiting: Vec<u32> = Vec::new();
        loop {
            self.shared.busy.fetch_add(1, Ordering::SeqCst);
            self.shared.barrier.wait();
            for (done, visit) in waiting.drain(..).enumerate() {
                if self.shared.has_ended() {
                    break;
                }
                self.expand_deferred(visit);
                if done % LOOK_EVERY == 0 {
                    self.open_letters();
                    self.watch(&mut budget);
                }
            }
            self.work(&mut budget);
            self.report();
            let deferred = std::mem::take(&mut self.deferred);
            waiting = deferred
                .into_iter()
                .filter(|&at| !self.least.get(self.log[at as usize].state).is_free())
                .collect();
            self.shared.deferred.fetch_add(waiting.len(), Ordering::SeqCst);
            if self.shared.barrier.wait().is_leader() {
                self.next_bucket();
            }
            self.shared.barrier.wait();
            if self.shared.has_ended() {
                return;
            }
        }
    }

    /// Run by one worker while the others wait.
    fn next_bucket(&self) {
        let shared = self.shared;
        let bucket = shared.bucket.load(Ordering::SeqCst);
        let waiting = shared.deferred.swap(0, Ordering::SeqCst);
        let ended = shared.has_ended();
        let phase_ends = (bucket + 1).is_multiple_of(shared.extra + 1);
        if lock(&shared.stop).is_none() && (phase_ends || waiting == 0 || ended) {
            lock(&shared.rows).push(shared.row());
        }
        if ended {
            return;
        }
        if waiting == 0 {
            shared.end(None);
        } else if bucket >= shared.last {
            *lock(&shared.bound) = Some(bucket);
            shared.end(None);
        } else {
            shared.bucket.store(bucket + 1, Ordering::SeqCst);
        }
    }

    /// Expands visits and opens letters until nobody has anything left.
    fn work(&mut self, budget: &mut Option<&mut Budget>) {
        loop {
            while self.cursor < self.log.len() && !self.shared.has_ended() {
                self.expand(self.cursor as u32);
                self.cursor += 1;
                if self.cursor.is_multiple_of(LOOK_EVERY) {
                    self.open_letters();
                    self.watch(budget);
                }
            }
            self.post_all();
            if self.open_letters() {
                continue;
            }
            self.shared.busy.fetch_sub(1, Ordering::SeqCst);
            loop {
                if self.shared.busy.load(Ordering::SeqCst) == 0 {
                    return;
                }
                if !lock(&self.shared.boxes[self.me]).is_empty() {
                    self.shared.busy.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                self.watch(budget);
                std::thread::sleep(NAP);
            }
            self.open_letters();
        }
    }

    fn watch(&mut self, budget: &mut Option<&mut Budget>) {
        self.report();
        let Some(budget) = budget else { return };
        let progress = Progress {
            states: self.shared.states.load(Ordering::Relaxed),
            transitions: self.shared.transitions.load(Ordering::Relaxed),
            queue: (self.log.len() - self.cursor) as u64,
            // The workers' shares are alike.
            memory: self.bytes() * self.shared.boxes.len(),
            ..Progress::default()
        };
        if let Some(stop) = budget.check(progress) {
            self.shared.end(Some(stop));
        }
    }

    /// Adds what was counted since the last time to the shared counters.
    fn report(&mut self) {
        let transitions = std::mem::take(&mut self.transitions);
        self.shared.transitions.fetch_add(transitions, Ordering::Relaxed);
        let states = self.store.len() as u64;
        self.shared.states.fetch_add(states - self.told_states, Ordering::Relaxed);
        self.told_states = states;
    }

    /// Stores and judges what others posted; says whether there was anything.
    fn open_letters(&mut self) -> bool {
        let letters = std::mem::take(&mut *lock(&self.shared.boxes[self.me]));
        let any = !letters.is_empty();
        for letter in letters {
            let mut start = 0;
            for (end, mover, parent) in letter.items {
                if !self.shared.has_ended() {
                    self.visit(&letter.bytes[start..end], mover, parent);
                }
                start = end;
            }
            self.shared.busy.fetch_sub(1, Ordering::SeqCst);
        }
        any
    }

    fn visit(&mut self, state: &[u8], mover: Option<ProcessId>, parent: Option<Place>) {
        let Ok(inserted) = self.store.insert(state) else {
            self.shared.end(Some(Stop::Memory));
            return;
        };
        let bucket = self.shared.bucket.load(Ordering::Relaxed);
        if self.least.visit(inserted.id, bucket, mover) == Visit::Covered {
            return;
        }
        self.revisits += u64::from(!inserted.new);
        if self.log.len() >= u32::MAX as usize {
            self.shared.end(Some(Stop::Memory));
            return;
        }
        self.log.push(Entry { state: inserted.id, parent, mover });
    }

    fn post_to(
        &mut self,
        owner: usize,
        state: &[u8],
        mover: Option<ProcessId>,
        parent: Option<Place>,
    ) {
        let letter = &mut self.out[owner];
        letter.bytes.extend_from_slice(state);
        letter.items.push((letter.bytes.len(), mover, parent));
        if letter.items.len() >= LETTER {
            self.post(owner);
        }
    }

    fn post(&mut self, owner: usize) {
        let letter = std::mem::take(&mut self.out[owner]);
        if !letter.items.is_empty() {
            self.shared.busy.fetch_add(1, Ordering::SeqCst);
            lock(&self.shared.boxes[owner]).push(letter);
        }
    }

    fn post_all(&mut self) {
        (0..self.out.len()).for_each(|owner| self.post(owner));
    }

    fn load(&mut self, entry: Entry) {
        self.store.load(entry.state, &mut self.state);
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
    }

    fn expand(&mut self, at: u32) {
        let entry = self.log[at as usize];
        self.load(entry);
        let record = self.least.get(entry.state);
        if !record.is_expanded() {
            self.least.set_expanded(entry.state);
            self.outgoing.counters.state_bytes =
                self.outgoing.counters.state_bytes.max(self.state.len());
            if self.outgoing.counters.is_invalid_end(self.system, &self.state, &self.enabled) {
                let place = (self.me as u16, at);
                self.shared.report(Fault { place, path: Vec::new(), number: None });
            }
        }
        let mover = entry.mover.filter(|&mover| !self.enabled.of(mover).is_empty());
        let Some(mover) = mover else {
            if entry.mover.is_none() || !record.is_free() {
                self.least.set_free(entry.state);
                self.run_all_but_movers(at, entry.state);
            }
            return;
        };
        let enabled = std::mem::take(&mut self.enabled);
        self.take(at, enabled.of(mover));
        self.take(at, enabled.of(ProcessId::PROPERTY));
        let is_other = |step: &Step| step.process != mover && step.process != ProcessId::PROPERTY;
        let others = enabled.steps().iter().any(is_other);
        self.enabled = enabled;
        if others && !record.is_free() && self.least.defer(entry.state) {
            self.deferred.push(at);
        }
    }

    fn expand_deferred(&mut self, at: u32) {
        let entry = self.log[at as usize];
        if self.least.get(entry.state).is_free() {
            return;
        }
        self.load(entry);
        self.least.set_free(entry.state);
        self.enabled.drop_property();
        self.run_all_but_movers(at, entry.state);
    }

    fn run_all_but_movers(&mut self, at: u32, id: StateId) {
        let enabled = std::mem::take(&mut self.enabled);
        for (process, steps) in enabled.by_process() {
            if !self.least.has_mover(id, process) {
                self.take(at, steps);
            }
        }
        self.enabled = enabled;
    }

    /// Takes steps of one process in `self.state`, and all paths through the sequences behind them.
    fn take(&mut self, at: u32, steps: &[Step]) {
        if self.reduce {
            return steps.iter().for_each(|&step| self.take_and_run_local(at, step));
        }
        self.expander.clear();
        self.outgoing.clear();
        self.outgoing.begin(at);
        let (system, outgoing) = (self.system, &mut self.outgoing);
        if self.expander.expand_selected(system, &self.state, steps, outgoing).is_err() {
            return self.shared.end(Some(Stop::Memory));
        }
        let before = self.log[at as usize].mover;
        let list = std::mem::take(&mut self.outgoing.list);
        let bytes = std::mem::take(&mut self.expander.successors.data);
        for &edge in list.iter().take_while(|_| !self.shared.has_ended()) {
            let place = (self.me as u16, at);
            match edge.arrival().map(|arrival| self.expander.arrivals[arrival]) {
                Some(arrival) => {
                    let mover = edge.mover().or(before);
                    self.arrive(&bytes[arrival.start..arrival.end], mover, place);
                }
                None => {
                    if let Some((number, path)) = self.outgoing.fault(edge) {
                        self.shared.report(Fault { place, path, number: Some(number) });
                    }
                }
            }
        }
        (self.outgoing.list, self.expander.successors.data) = (list, bytes);
    }

    /// Takes a step, and then those that nobody else can notice.
    fn take_and_run_local(&mut self, at: u32, step: Step) {
        let (mut sequence, mut local_steps) =
            (std::mem::take(&mut self.sequence), std::mem::take(&mut self.local_steps));
        let place = (self.me as u16, at);
        let before = self.log[at as usize].mover;
        let state = std::mem::take(&mut self.state);
        sequence.run(self.system, &state, step, &mut |path, event| {
            let mover = last_mover(path, before);
            match event {
                Event::Arrived(arrived) => {
                    local_steps.run(self.system, path, arrived, &mut |path, event| {
                        self.report_event(place, path, mover, event);
                    });
                }
                event => self.report_event(place, path, mover, event),
            }
            !self.shared.has_ended()
        });
        (self.sequence, self.local_steps, self.state) = (sequence, local_steps, state);
    }

    fn report_event(
        &mut self,
        place: Place,
        path: &[Step],
        mover: Option<ProcessId>,
        event: Event,
    ) {
        match event {
            Event::Arrived(state) => {
                for &step in path {
                    self.outgoing.counters.take(self.system, step);
                }
                self.arrive(state, mover, place);
            }
            Event::Violated(fault) | Event::Broken(fault) => {
                if self.outgoing.counters.reports(self.system, fault) {
                    let path = path.to_vec();
                    self.shared.report(Fault { place, path, number: Some(fault) });
                }
            }
        }
    }

    /// Has a state dealt with by the worker that owns it.
    fn arrive(&mut self, state: &[u8], mover: Option<ProcessId>, place: Place) {
        self.transitions += 1;
        let owner = self.owner(state);
        if owner == self.me {
            self.visit(state, mover, Some(place));
        } else {
            self.post_to(owner, state, mover, Some(place));
        }
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.least.bytes() + self.log.capacity() * size_of::<Entry>()
    }
}

/// The counterexample behind a fault, found again from the states on its way.
fn story<S: System + ?Sized, T: Store>(
    system: &S,
    workers: &[Worker<S, T>],
    fault: Fault,
) -> Counterexample {
    let mut visited = Vec::new();
    let mut place = Some(fault.place);
    while let Some((worker, at)) = place {
        let worker = &workers[usize::from(worker)];
        let entry = worker.log[at as usize];
        let mut state = Vec::new();
        worker.store.load(entry.state, &mut state);
        visited.push((state, entry.mover));
        place = entry.parent;
    }
    visited.reverse();
    let reduce = workers.iter().any(|worker| worker.reduce);
    let observed = workers.iter().any(|worker| worker.observed);
    let mut steps = Vec::new();
    for pair in visited.windows(2) {
        let ((state, last), (target, mover)) = (&pair[0], &pair[1]);
        steps.extend(steps_between(system, reduce, observed, (state, *last), (target, *mover)));
    }
    steps.extend(fault.path);
    match fault.number {
        Some(number) => Counterexample::from_fault(system, steps, number),
        None => Counterexample::invalid_end(steps),
    }
}
