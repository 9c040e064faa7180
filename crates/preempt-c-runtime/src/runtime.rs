//! Everything about the execution in progress, and what is known from earlier ones.

use crate::arena::Arena;
use crate::backend::Backend;
use crate::backtrace;
use crate::board::{SamplingStart, WorkerStart};
use crate::descriptor_table::Descriptors;
use crate::entry::{PROGRAM, SEARCH, select};
use crate::exempt::Exempt;
use crate::idle::Idle;
use crate::mappings::Mappings;
use crate::objects::Objects;
use crate::pauses::Pauses;
use crate::record::Record;
use crate::sections::keep_sections;
use crate::shadow::Shadow;
use crate::snapshot;
use crate::stop_flag::stop_flag;
use crate::task::{Frames, MOST, Task};
use crate::trouble::{Panic, Standing, Trouble};
use preempt_exchange::References;
use preempt_exchange::{Request, SearchOptions};
use preempt_explore::{Driver, ObjectId, Order, Run, ThreadId};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Everything about the execution in progress and what is known from earlier ones.
pub(crate) struct Runtime {
    pub(crate) options: SearchOptions,
    /// Return addresses of the calls that take a lock of Rust's std as one step, relative to the program.
    locks: Vec<usize>,
    /// Calls that change counts of references, likewise.
    pub(crate) references: References,
    pub(crate) pauses: Pauses,
    /// The file that the report is written to.
    pub(crate) report: String,
    /// Whether the driver wants to know how far the search is.
    pub(crate) progress: bool,
    /// The file that is the standard input of each execution.
    pub(crate) input: Option<CString>,
    /// Set when the search is asked to end with what it has.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) run: *mut Run,
    pub(crate) driver: *mut dyn Driver,
    pub(crate) backend: Backend,
    /// Executions are made to learn about the program, and print nothing.
    pub(crate) is_rehearsal: bool,
    pub(crate) tasks: Vec<Task>,
    /// The stacks of all threads lie between these two addresses.
    pub(crate) stacks: (usize, usize),
    pub(crate) objects: Objects,
    pub(crate) shadow: Shadow,
    pub(crate) exempt: Exempt,
    pub(crate) idle: Idle,
    pub(crate) arena: Arena,
    pub(crate) mappings: Mappings,
    pub(crate) descriptors: Descriptors,
    /// What went wrong in this execution.
    pub(crate) trouble: Option<Trouble>,
    /// Panics of this execution.
    pub(crate) panics: Vec<Panic>,
    /// Something was learnt that changes what is recorded: explore again.
    pub(crate) learnt: bool,
    /// The same, from a worker: the next execution ends so.
    pub(crate) learnt_elsewhere: bool,
    /// What the next worker begins with.
    pub(crate) worker_start: Option<WorkerStart>,
    /// What the companion begins with.
    pub(crate) sampling_start: Option<SamplingStart>,
    /// Why executions are not repeated in the process, if they could be.
    pub(crate) forked_because: Option<String>,
    /// Whether the execution came to an end that we know of.
    pub(crate) ended: bool,
    /// Whether only the main thread has run so far.
    pub(crate) single_threaded: bool,
    /// The steps and where they were taken, if they are kept.
    pub(crate) record: Option<Record>,
    /// Memory orders that accesses at these places are to have instead of their own.
    pub(crate) stronger: Vec<(usize, Order)>,
    /// Plain accesses that were recorded, with their places, if these are kept.
    pub(crate) touched: Vec<Touched>,
    /// When the search has to end, whatever the program does.
    pub(crate) deadline: Option<Instant>,
    /// Grows with every operation.
    pub(crate) pulse: u64,
    /// What the program was told to exit with.
    pub(crate) exit_code: i32,
    /// Functions to call when the program ends, latest last.
    pub(crate) at_exit: Vec<AtExit>,
    /// How many of them were there before `main`.
    pub(crate) at_exit_before: usize,
    /// Whether the program has asked for a value, of which not all were tried.
    pub(crate) has_chosen_values: bool,
    /// Whether a lock of Rust's std was taken as one step.
    pub(crate) has_taken_locks: bool,
    /// Whether clones and drops of some count of references were not searched in every order.
    pub(crate) has_merged_references: bool,
    /// When the latest long pause or timed wait of the execution has ended, on the clock of its thread.
    pub(crate) latest_end: u64,
    /// Whether a thread has moved in the execution that should have done so before that.
    pub(crate) overtaken: bool,
    /// When the driver was last told how far the search is.
    pub(crate) progress_told: Option<Instant>,
    /// Where a thread did something else than before after the same observations.
    pub(crate) strayed: Option<Standing>,
    /// Where the last execution stood when time was up.
    pub(crate) unfinished: Option<Standing>,
    /// Lines worth knowing.
    pub(crate) notes: Vec<String>,
    /// Saved contexts of the two that are no threads of the program.
    pub(crate) launcher: usize,
    pub(crate) explorer: usize,
}

/// A plain access that was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    pub(crate) cell: ObjectId,
    pub(crate) thread: ThreadId,
    pub(crate) write: bool,
    pub(crate) pc: usize,
    pub(crate) address: usize,
    /// The number that was there before, where steps are kept.
    pub(crate) held: Option<u64>,
    /// How many steps had been taken, where those are kept.
    pub(crate) step: usize,
    /// The calls that led there, where those of steps are kept.
    pub(crate) frames: Frames,
}

/// A function registered by `atexit` or for a static object of C++.
#[derive(Clone, Copy)]
pub(crate) struct AtExit {
    pub(crate) function: usize,
    pub(crate) argument: usize,
}

static mut RUNTIME: *mut Runtime = null_mut();

/// The only runtime of this process. No reference to it is kept while another thread runs.
#[inline(always)]
pub(crate) fn runtime() -> &'static mut Runtime {
    // SAFETY: set by `install` before the program's code runs under control; one thread at a time.
    unsafe { &mut *RUNTIME }
}

/// Whether this process was started by `preempt run`.
pub(crate) fn is_installed() -> bool {
    // SAFETY: written once, before there are threads.
    unsafe { !RUNTIME.is_null() }
}

/// Chooses nothing.
struct NoDriver;

impl Driver for NoDriver {
    fn choose(&mut self, _: &Run, _: &[preempt_explore::Move]) -> Option<preempt_explore::Move> {
        None
    }
}

impl Runtime {
    /// Makes the runtime of this process.
    pub(crate) fn install(request: Request) {
        let Request { report, progress, locks, references, pauses, sections, options } = request;
        keep_sections(sections);
        let input = options.input.as_ref();
        let runtime = Runtime {
            // No name of a file contains a zero.
            input: input.and_then(|path| CString::new(path.as_os_str().as_bytes()).ok()),
            backend: Backend::first(&options),
            report,
            progress,
            options,
            locks,
            references,
            pauses: Pauses::new(pauses),
            stop: stop_flag(),
            run: null_mut(),
            driver: null_mut::<NoDriver>(),
            // Real threads wait for words in it, so it must never move.
            tasks: Vec::with_capacity(MOST),
            stacks: (usize::MAX, 0),
            objects: Objects::default(),
            shadow: Shadow::default(),
            exempt: Exempt::default(),
            idle: Idle::default(),
            arena: Arena::new(),
            mappings: Mappings::new(),
            descriptors: Descriptors::default(),
            trouble: None,
            is_rehearsal: false,
            panics: Vec::new(),
            learnt: false,
            learnt_elsewhere: false,
            worker_start: None,
            sampling_start: None,
            forked_because: None,
            ended: false,
            single_threaded: true,
            record: None,
            stronger: Vec::new(),
            touched: Vec::new(),
            deadline: None,
            pulse: 0,
            exit_code: 0,
            at_exit: Vec::new(),
            at_exit_before: 0,
            has_chosen_values: false,
            has_taken_locks: false,
            has_merged_references: false,
            latest_end: 0,
            overtaken: false,
            progress_told: None,
            strayed: None,
            unfinished: None,
            notes: Vec::new(),
            launcher: 0,
            explorer: 0,
        };
        // SAFETY: before there are threads.
        unsafe { RUNTIME = Box::into_raw(Box::new(runtime)) };
    }

    /// The execution in progress.
    pub(crate) fn run(&self) -> &'static mut Run {
        // SAFETY: `execute` holds it exclusively for the whole execution; one thread at a time, and
        // no caller keeps the reference across a switch.
        unsafe { &mut *self.run }
    }

    /// The thread that runs.
    pub(crate) fn current(&self) -> ThreadId {
        // SAFETY: as above.
        unsafe { (*self.run).current }
    }

    /// The running thread's task.
    pub(crate) fn me(&mut self) -> &mut Task {
        let me = self.current();
        &mut self.tasks[me.index()]
    }

    /// The calls that have led here, if places are kept.
    pub(crate) fn frames(&self) -> Frames {
        if self.record.is_some() { backtrace::frames() } else { Frames::default() }
    }

    /// Notes a line for the report, once.
    pub(crate) fn note(&mut self, line: &str) {
        if !self.notes.iter().any(|known| known == line) {
            self.notes.push(line.into());
        }
    }

    /// Whether the call that returns to `pc` takes a lock of Rust's std, as one step.
    #[inline]
    pub(crate) fn takes_lock(&mut self, pc: usize) -> bool {
        if self.locks.is_empty() || self.locks.binary_search(&snapshot::relative(pc)).is_err() {
            return false;
        }
        self.has_taken_locks = true;
        true
    }

    /// The memory orders of an access, also of a comparison that fails, as they are to be executed.
    pub(crate) fn strengthened(&self, pc: usize, orders: (Order, Order)) -> (Order, Order) {
        let at = self.stronger.iter().find(|(call_site, _)| *call_site == pc);
        at.map_or(orders, |&(_, order)| (order, order))
    }
}

/// Does something on behalf of the program, as code of the search.
#[inline(always)]
pub(crate) fn inside<R>(body: impl FnOnce(&'static mut Runtime) -> R) -> R {
    select(SEARCH);
    let result = body(runtime());
    select(PROGRAM);
    result
}
