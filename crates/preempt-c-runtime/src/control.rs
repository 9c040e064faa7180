//! One execution under control: from a thread's call to the strategy and back.
//!
//! A thread runs until it stands before a visible operation. [`operation`] tells the strategy what
//! the thread did since its last one, asks who goes next, and gives the processor to that thread if
//! it is another one. A spawned thread runs up to its first operation before its parent goes on,
//! exactly as in the runtime for Rust tests, so the same algorithm has the same graphs.

use crate::arena::Arena;
use crate::entry::{PROGRAM, SEARCH, select};
use crate::launch::Backend;
use crate::objects::Objects;
use crate::options::Options;
use crate::shadow::Shadow;
use crate::task::Task;
use crate::trouble::Trouble;
use crate::workers::Employment;
use preempt_explore::{
    Action, Command, Driver, Ending, Next, ObjectId, Operation, Order, Program, Run, Status,
    ThreadId,
};
use std::panic::Location;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where an operation was called and what it is about, for reports.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    pub(crate) pc: usize,
    pub(crate) address: usize,
}

/// Everything about the execution in progress and what is known from earlier ones.
pub(crate) struct Runtime {
    pub(crate) options: Options,
    /// Set when the search is asked to end with what it has.
    pub(crate) stop: Arc<AtomicBool>,
    run: *mut Run,
    driver: *mut dyn Driver,
    pub(crate) backend: Backend,
    pub(crate) tasks: Vec<Task>,
    pub(crate) objects: Objects,
    pub(crate) shadow: Shadow,
    pub(crate) arena: Arena,
    /// What went wrong in this execution.
    pub(crate) trouble: Option<Trouble>,
    /// Something was learnt that changes what is recorded: explore again.
    pub(crate) learnt: bool,
    /// The same, from a worker: the next execution ends so.
    pub(crate) learnt_elsewhere: bool,
    /// What the next worker begins with.
    pub(crate) employment: Option<Employment>,
    /// Why executions are not repeated in the process, if they could be.
    pub(crate) forked_because: Option<String>,
    /// Whether the execution came to an end that we know of.
    pub(crate) ended: bool,
    /// Whether only the main thread has run so far.
    pub(crate) alone: bool,
    /// Places of the steps, if they are kept.
    pub(crate) places: Option<Vec<Place>>,
    /// Memory orders that accesses at these places are to have instead of their own.
    pub(crate) stronger: Vec<(usize, Order)>,
    /// Plain accesses that were recorded, with their places, if these are kept.
    pub(crate) touched: Vec<(ObjectId, ThreadId, bool, usize)>,
    /// Grows with every operation.
    pub(crate) pulse: u64,
    /// What the program was told to exit with.
    pub(crate) exit_code: i32,
    /// Functions to call when the program ends, latest last.
    pub(crate) at_exit: Vec<AtExit>,
    /// How many of them were there before `main`.
    pub(crate) at_exit_before: usize,
    /// Lines worth knowing.
    pub(crate) notes: Vec<String>,
    /// Saved contexts of the two that are no threads of the program.
    pub(crate) launcher: usize,
    pub(crate) explorer: usize,
}

/// A function registered by `atexit` or for a static object of C++.
#[derive(Clone, Copy)]
pub(crate) struct AtExit {
    pub(crate) function: usize,
    pub(crate) argument: usize,
}

static mut RUNTIME: *mut Runtime = null_mut();

/// The only runtime of this process. Nobody keeps the reference while another thread runs.
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

struct Nobody;

impl Driver for Nobody {
    fn choose(&mut self, _: &Run, _: &[preempt_explore::Move]) -> Option<preempt_explore::Move> {
        None
    }
}

impl Runtime {
    /// Makes the runtime of this process.
    pub(crate) fn install(options: Options) {
        let backend = options.backend.unwrap_or(Backend::Restart);
        let runtime = Runtime {
            options,
            stop: crate::signals::stop_flag(),
            run: null_mut(),
            driver: null_mut::<Nobody>(),
            backend,
            // Real threads wait for words in it, so it must never move.
            tasks: Vec::with_capacity(crate::task::MOST),
            objects: Objects::default(),
            shadow: Shadow::default(),
            arena: Arena::new(),
            trouble: None,
            learnt: false,
            learnt_elsewhere: false,
            employment: None,
            forked_because: None,
            ended: false,
            alone: true,
            places: None,
            stronger: Vec::new(),
            touched: Vec::new(),
            pulse: 0,
            exit_code: 0,
            at_exit: Vec::new(),
            at_exit_before: 0,
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

    /// Notes a line for the report, once.
    pub(crate) fn note(&mut self, line: &str) {
        if !self.notes.iter().any(|known| known == line) {
            self.notes.push(line.into());
        }
    }

    /// The memory orders of an access, also of a comparison that fails, as they are to be executed.
    pub(crate) fn strengthened(&self, pc: usize, orders: (Order, Order)) -> (Order, Order) {
        let at = self.stronger.iter().find(|(place, _)| *place == pc);
        at.map_or(orders, |&(_, order)| (order, order))
    }

    fn begin(&mut self) {
        self.trouble = None;
        self.learnt = std::mem::take(&mut self.learnt_elsewhere);
        self.ended = false;
        self.alone = true;
        self.exit_code = 0;
        self.at_exit.truncate(self.at_exit_before);
        self.touched.clear();
        if let Some(places) = &mut self.places {
            places.clear();
        }
        for task in &mut self.tasks {
            task.clear();
        }
        crate::keys::begin();
        self.shadow.begin();
        let run = self.run();
        self.objects.begin(run);
    }

    /// Tells the strategy what the running thread did and where it stands.
    fn reach(&mut self, next: Next) {
        self.publish();
        self.shadow.next_segment();
        self.pulse += 1;
        let driver = self.driver;
        // SAFETY: valid and exclusively ours for the same time as `run`.
        self.run().reach(next, unsafe { &mut *driver });
    }

    /// Plain writes to what is otherwise accessed atomically become known.
    fn publish(&mut self) {
        let me = self.current();
        let run = self.run();
        let stale = std::mem::take(&mut self.tasks[me.index()].stale);
        for &index in &stale {
            self.objects.refresh(run, index);
        }
        let kept = &mut self.tasks[me.index()].stale;
        *kept = stale;
        kept.clear();
    }

    fn is_starting(&self, thread: ThreadId) -> bool {
        thread != ThreadId::MAIN && self.run().state.thread(thread).status == Status::Starting
    }

    /// Asks who goes next. `None` if the execution is over.
    fn schedule(&mut self) -> Option<ThreadId> {
        if self.run().is_running_on() && !self.run().is_probing() {
            // Whether the loop waits is known now.
            return None;
        }
        match self.next() {
            None if self.run().is_probe_due() => {
                self.run().begin_epilogue();
                self.next()
            }
            next => next,
        }
    }

    fn next(&mut self) -> Option<ThreadId> {
        let driver = self.driver;
        // SAFETY: as in `reach`.
        match self.run().schedule(unsafe { &mut *driver }) {
            Command::Resume(thread, result) => {
                let task = &mut self.tasks[thread.index()];
                task.result = result;
                let place = task.place;
                if let Some(places) = &mut self.places {
                    places.push(place);
                }
                Some(thread)
            }
            Command::Stop => None,
        }
    }

    /// Ends the execution because of something that the runtime found.
    pub(crate) fn stop(&mut self, trouble: Trouble) -> ! {
        self.trouble = Some(trouble);
        self.run().ending = Some(Ending::Reported);
        self.end()
    }

    /// Ends the execution because the exploration has to begin again.
    pub(crate) fn restart(&mut self) -> ! {
        self.run().ending = Some(Ending::Restart);
        self.end()
    }

    /// Leaves the program for good; nothing of this execution is continued.
    pub(crate) fn end(&mut self) -> ! {
        select(SEARCH);
        if self.run().is_running_on() {
            // Whatever was found while a loop was tried out will be found again.
            self.trouble = None;
            self.run().end_epilogue();
            self.run().ending = Some(Ending::Restart);
        }
        let changed = self.learnt && self.trouble.as_ref().is_none_or(Trouble::is_program_s);
        if changed {
            self.run().ending = Some(Ending::Restart);
        }
        self.ended = true;
        crate::launch::back(self)
    }
}

impl Program for Runtime {
    fn execute(&mut self, run: &mut Run, driver: &mut dyn Driver) {
        self.run = run;
        // SAFETY: only the lifetime changes; the pointer is not used after this function returns.
        self.driver =
            unsafe { std::mem::transmute::<*mut dyn Driver, *mut (dyn Driver + 'static)>(driver) };
        self.begin();
        crate::launch::execute(self);
        self.run = null_mut();
    }
}

/// Executes a visible operation of the running thread and returns what it sees.
pub(crate) fn operation(
    action: Action,
    object: ObjectId,
    first: u64,
    second: u64,
    place: Place,
) -> u64 {
    perform(Operation::new(action, object, first, second, Location::caller()), place)
}

/// As [`operation`], and no other thread runs before it.
pub(crate) fn urgently(
    action: Action,
    object: ObjectId,
    first: u64,
    second: u64,
    place: Place,
) -> u64 {
    let operation = Operation::new(action, object, first, second, Location::caller());
    perform(Operation { urgent: true, ..operation }, place)
}

/// As [`operation`], whatever it is.
pub(crate) fn perform(operation: Operation, place: Place) -> u64 {
    let runtime = runtime();
    runtime.arena.check(place.address, place.pc);
    let me = runtime.current();
    runtime.tasks[me.index()].place = place;
    let starting = runtime.is_starting(me);
    runtime.reach(Next::Operation(operation));
    let next = if starting { Some(runtime.tasks[me.index()].parent) } else { runtime.schedule() };
    match next {
        Some(thread) if thread == me => {}
        Some(thread) => crate::launch::switch(runtime, me, thread),
        None => runtime.end(),
    }
    let runtime = crate::control::runtime();
    if uses_memory(operation.action) {
        // Others have run since the operation was announced.
        runtime.arena.check(place.address, place.pc);
    }
    runtime.tasks[me.index()].result
}

/// Whether the memory of the object must still be there when the operation is executed. One that
/// waits may be woken by a thread that then frees it.
fn uses_memory(action: Action) -> bool {
    !matches!(action, Action::Reacquire | Action::Leave | Action::Receive | Action::Yield)
}

/// Lets other threads run. A thread that waits in a loop goes on when something it has read changes,
/// or when nobody else can; so does one that sleeps, for how long it sleeps is nobody's business.
pub(crate) fn yield_now(place: Place) {
    let run = runtime().run();
    if !run.rules.watch {
        run.rules.watch = true;
        runtime().learnt = true;
    }
    operation(Action::Yield, ObjectId::NONE, 0, 0, place);
}

/// Makes a thread and runs it up to its first operation. The task must be prepared afterwards by
/// `prepare`, which gets the new thread.
pub(crate) fn spawn(prepare: impl FnOnce(&mut Runtime, ThreadId)) -> ThreadId {
    let runtime = runtime();
    let parent = runtime.current();
    runtime.publish();
    let child = runtime.run().spawn();
    let time = runtime.tasks[parent.index()].time;
    crate::task::make_room(runtime, child);
    let task = &mut runtime.tasks[child.index()];
    task.clear();
    task.parent = parent;
    task.time = time;
    prepare(runtime, child);
    runtime.alone = false;
    runtime.shadow.next_segment();
    runtime.run().current = child;
    crate::launch::switch(runtime, parent, child);
    let runtime = crate::control::runtime();
    runtime.run().current = parent;
    runtime.shadow.next_segment();
    child
}

/// The running thread has ended: does not return.
pub(crate) fn end_of_thread(next: Next) -> ! {
    let runtime = runtime();
    let me = runtime.current();
    let starting = runtime.is_starting(me);
    runtime.tasks[me.index()].ended = true;
    runtime.reach(next);
    let next = if starting { Some(runtime.tasks[me.index()].parent) } else { runtime.schedule() };
    match next {
        Some(thread) => crate::launch::switch(runtime, me, thread),
        None => runtime.end(),
    }
    crate::raw::fail("preempt: a thread that had ended was resumed\n")
}

/// The running thread goes back to the program's code.
pub(crate) fn into_program() {
    select(PROGRAM);
}
