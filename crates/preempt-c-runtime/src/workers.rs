//! Workers: processes that execute the program for the search (`--threads`).
//!
//! The search hands a path to a worker where it meets an unknown history, and goes on elsewhere
//! (`preempt_explore::WorkerPool`). A worker is a copy of this process with a heap of its own; it executes
//! as the search would, in the process or by fork, and answers with what the threads did.
//!
//! Invariant: a worker's knowledge about the program never exceeds the search's. Whatever is unusual
//! (a failure, a new object, a new name) makes the search execute the path itself, and the worker
//! ends, because its numbers could differ from the search's from then on. What a worker has learnt
//! about memory without consequences for itself is repeated by the search ([`Shadow::access`]): two
//! workers may have seen the two users of what is shared.
//!
//! Messages are plain memory that both sides map. Types without pointers into the heap mean the same
//! in both processes, because one is a copy of the other.
//!
//! [`Shadow::access`]: crate::shadow::Shadow::access

use crate::board::{Board, FREE, MESSAGE_BYTES, MOST, PATH, REPORT, SLOTS, Slot, WorkerStart};
use crate::copies::{begin_copy, make_copy};
use crate::limits::limits;
use crate::raw;
use crate::runtime::{Runtime, runtime};
use crate::shadow::{Fact, Learnt};
use crate::switch::Wanted;
use preempt_explore::{
    Effect, Ending, Move, Names, Next, Observations, Rules, RunReport, Session, ThreadId, Workers,
    WorkersLost, execute,
};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The search's side.
pub(crate) struct Processes {
    board: &'static Board,
    /// By worker: its process, or 0.
    running: Vec<isize>,
    rules: Rules,
    names: Names,
}

impl Processes {
    /// So many workers, to be made when they are needed.
    pub(crate) fn new(workers: usize, rules: Rules, names: Names) -> Self {
        let workers = workers.min(MOST);
        let board = raw::map(size_of::<Board>(), true).cast::<Board>();
        // SAFETY: zeroed memory is a board without messages; it is never unmapped.
        let board: &'static Board = unsafe { &*board };
        for slot in &board.slots[..workers * SLOTS] {
            slot.message.store(raw::map(MESSAGE_BYTES, true) as usize, Ordering::Relaxed);
        }
        Processes { board, running: vec![0; workers], rules, names }
    }

    fn start_worker(&mut self, worker: usize) {
        let (rules, names) = (self.rules, self.names.clone());
        runtime().worker_start = Some(WorkerStart { rules, names, worker, board: self.board });
        self.running[worker] = make_copy(runtime(), Wanted::Worker, &self.board.ready);
    }

    /// A message that has arrived.
    fn arrived(&mut self) -> Option<RunReport> {
        let count = self.running.len() * SLOTS;
        let at =
            (0..count).find(|&at| self.board.slots[at].state.load(Ordering::Acquire) == REPORT)?;
        let slot = &self.board.slots[at];
        let mut message = Reader { at: slot.message.load(Ordering::Relaxed) };
        let (report, ends) = read_report(&mut message, runtime());
        slot.state.store(FREE, Ordering::Relaxed);
        if ends {
            raw::wait(std::mem::take(&mut self.running[at / SLOTS]));
        }
        Some(report)
    }

    /// Makes workers for paths that were left by others.
    fn replace(&mut self) {
        for worker in 0..self.running.len() {
            let slots = &self.board.slots[worker * SLOTS..][..SLOTS];
            let waits = slots.iter().any(|slot| slot.state.load(Ordering::Relaxed) == PATH);
            if waits && self.running[worker] == 0 {
                self.start_worker(worker);
            }
        }
    }
}

impl Workers for Processes {
    fn hand_out(&mut self, path: Vec<Move>) {
        let count = self.running.len() * SLOTS;
        // Each worker gets one before any gets a second one.
        let order =
            (0..count).map(|nth| nth % self.running.len() * SLOTS + nth / self.running.len());
        let mut free =
            order.filter(|&at| self.board.slots[at].state.load(Ordering::Relaxed) == FREE);
        let Some(at) = free.next() else { raw::fail("preempt: more paths than workers\n") };
        drop(free);
        let worker = at / SLOTS;
        if self.running[worker] == 0 {
            self.start_worker(worker);
        }
        let slot = &self.board.slots[at];
        let mut message = Writer::new(slot);
        message.list(&path);
        slot.state.store(PATH, Ordering::Release);
        let bell = &self.board.paths[worker];
        bell.fetch_add(1, Ordering::Release);
        raw::futex_wake(bell.as_ptr());
    }

    fn report(&mut self, patience: Duration) -> Result<Option<RunReport>, WorkersLost> {
        let rung = self.board.reports.load(Ordering::Acquire);
        if let Some(report) = self.arrived() {
            return Ok(Some(report));
        }
        self.replace();
        if patience.is_zero() {
            return Ok(None);
        }
        raw::futex_wait_for(self.board.reports.as_ptr(), rung, patience);
        let report = self.arrived();
        if report.is_none() && self.running.iter().any(|&id| id != 0 && raw::has_ended(id)) {
            // As if it had happened to the search itself.
            raw::refuse("preempt: a process of the search was killed\n");
        }
        Ok(report)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for &process in self.running.iter().filter(|&&process| process != 0) {
            raw::kill(process);
            raw::wait(process);
        }
        for slot in &self.board.slots[..self.running.len() * SLOTS] {
            raw::unmap(slot.message.load(Ordering::Relaxed), MESSAGE_BYTES);
        }
        raw::unmap(&raw const *self.board as usize, size_of::<Board>());
    }
}

/// A new worker, on the launcher's stack, before the search goes on.
pub(crate) fn begin(runtime: *mut Runtime) {
    // SAFETY: the runtime is in the heap, at the same address; nothing else uses it.
    let board = unsafe { (*runtime).worker_start.as_ref().map(|start| start.board) };
    let Some(board) = board else { raw::fail("preempt: a worker without work\n") };
    // SAFETY: the board is never unmapped while there are workers.
    begin_copy(runtime, unsafe { &(*board).ready });
}

/// A worker's life, on a stack of its own.
pub(crate) extern "C" fn body() -> ! {
    let Some(WorkerStart { rules, names, worker, board }) = runtime().worker_start.clone() else {
        raw::fail("preempt: a worker without work\n")
    };
    // SAFETY: see `begin`.
    let board = unsafe { &*board };
    let known = names.count();
    let limits = limits(std::time::Instant::now());
    runtime().shadow.log_facts();
    let mut session = Session::new(runtime(), limits, rules, names.clone());
    loop {
        let rung = board.paths[worker].load(Ordering::Acquire);
        let slots = &board.slots[worker * SLOTS..][..SLOTS];
        let Some(slot) = slots.iter().find(|slot| slot.state.load(Ordering::Acquire) == PATH)
        else {
            raw::futex_wait_for(board.paths[worker].as_ptr(), rung, Duration::from_secs(1));
            continue;
        };
        let mut message = Reader { at: slot.message.load(Ordering::Relaxed) };
        let report = execute(&mut session, message.list());
        let usual = matches!(report.ending, Ending::Complete | Ending::Abandoned);
        let ends = report.ending == Ending::Restart || names.count() != known;
        let mut message = Writer::new(slot);
        write_report(&mut message, &report, usual && !ends, ends);
        slot.state.store(REPORT, Ordering::Release);
        board.reports.fetch_add(1, Ordering::Release);
        raw::futex_wake(board.reports.as_ptr());
        if ends {
            raw::exit(0);
        }
    }
}

fn write_report(message: &mut Writer, report: &RunReport, usual: bool, ends: bool) {
    message.list(&report.path);
    message.value(ends);
    message.list(&runtime().shadow.take_facts());
    message.value(usual);
    if !usual {
        return;
    }
    message.value(report.observations.segments.len());
    for (thread, history, effects, next) in &report.observations.segments {
        message.value((*thread, *history, *next));
        message.list(effects);
    }
    message.list(&report.observations.compared);
}

/// The report, and whether the worker ends.
fn read_report(message: &mut Reader, runtime: &mut Runtime) -> (RunReport, bool) {
    let path = message.list();
    let ends = message.value();
    for Fact { address, size, by, how } in message.list() {
        let learnt = runtime.shadow.access(address, size.into(), by, how) == Learnt::New;
        runtime.learnt_elsewhere |= learnt;
    }
    let usual: bool = message.value();
    let mut observations = Observations::default();
    if usual && !runtime.learnt_elsewhere {
        for _ in 0..message.value::<usize>() {
            let (thread, history, next): (ThreadId, u64, Next) = message.value();
            observations.segments.push((thread, history, message.list::<Effect>().into(), next));
        }
        observations.compared = message.list();
        let report = RunReport { path, observations, ending: Ending::Complete, finding: None };
        return (report, ends);
    }
    (RunReport { path, observations, ending: Ending::Restart, finding: None }, ends)
}

/// Writes a message.
struct Writer {
    at: usize,
    end: usize,
}

impl Writer {
    fn new(slot: &Slot) -> Self {
        let at = slot.message.load(Ordering::Relaxed);
        Writer { at, end: at + MESSAGE_BYTES }
    }

    fn value<T: Copy>(&mut self, value: T) {
        if self.at + size_of::<T>() > self.end {
            raw::fail("preempt: an execution is too long for --threads\n");
        }
        // SAFETY: within the slot, which belongs to us until its state changes.
        unsafe { (self.at as *mut T).write_unaligned(value) };
        self.at += size_of::<T>();
    }

    fn list<T: Copy>(&mut self, values: &[T]) {
        self.value(values.len());
        for &value in values {
            self.value(value);
        }
    }
}

/// Reads a message, in the order in which it was written.
struct Reader {
    at: usize,
}

impl Reader {
    fn value<T: Copy>(&mut self) -> T {
        // SAFETY: the writer, a copy of this process, has put a value of this type there.
        let value = unsafe { (self.at as *const T).read_unaligned() };
        self.at += size_of::<T>();
        value
    }

    fn list<T: Copy>(&mut self) -> Vec<T> {
        let count = self.value::<usize>();
        (0..count).map(|_| self.value()).collect()
    }
}
