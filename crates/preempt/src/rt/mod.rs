//! The runtime: real code on coroutines, one visible operation at a time.
//!
//! Every thread of the program under test is a coroutine on one operating system thread. A
//! thread runs until it stands before a visible operation, [`operation`] asks the strategy who
//! goes next, and only if that is another thread does the processor change hands.
//!
//! An execution that is stopped is never unwound: it runs on to its end unobserved, or is
//! abandoned (see [`Runtime::conclude`]).
//!
//! Invariant: `CURRENT` is set exactly while code of the program under test runs, so facade types
//! used anywhere else behave like those of the standard library.

mod fiber;
mod heap;
mod overflow;
mod panic;
mod registry;
mod stacks;
mod unwinding;

pub(crate) use fiber::{Body, Fibers};
use fiber::{Left, resume, suspend};
pub use heap::Allocator;
use heap::{Heap, Paused, leave_test};
pub(crate) use heap::{inward, outward};
pub(crate) use overflow::Callee;
pub(crate) use panic::PanicNote;
pub(crate) use registry::Knowledge;
pub use registry::Static;
pub(crate) use registry::{
    Local, Name, Slot, counts, has_ended, lend, local, now, pass, per_execution, raw_tags,
    take_back,
};

use crate::pulse::Pulse;
use preempt_explore::{
    Action, Command, Driver, Ending, Next, ObjectId, Operation, Order, Program, Run, Site, ThreadId,
};
use registry::Registry;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::panic::Location;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

thread_local! {
    static CURRENT: Cell<*mut Runtime> = const { Cell::new(null_mut()) };
}

/// What the runtime itself found wrong.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// Arcs that were never dropped, by the places that made them.
    Leak(Vec<Site>),
    /// Threads still running when the main thread had ended.
    Unjoined(usize),
    /// A coroutine ran out of stack.
    StackOverflow,
    /// A thread was blocked outside our control, after its last operation if it had one.
    Blocked(ThreadId, Option<(Action, Site)>),
    /// A panic escaped from a destructor during unwinding.
    DoublePanic(PanicNote),
}

/// Executes a test body under control, again and again.
pub(crate) struct Runtime {
    body: *const (dyn Fn() + Sync),
    run: *mut Run,
    driver: *mut dyn Driver,
    next: Command,
    pub(crate) fibers: Fibers,
    heap: NonNull<Heap>,
    pub(crate) registry: Registry,
    /// Panics in flight or escaped, latest last.
    pub(crate) panics: Vec<(ThreadId, PanicNote)>,
    pub(crate) trouble: Option<Trouble>,
    pub(crate) require_join: bool,
    closing: bool,
    /// A destructor of a static has panicked.
    failed_closing: bool,
    /// The threads of an execution that is over run on unobserved.
    concluding: bool,
    /// A thread that ran on unobserved was left by force.
    broken: bool,
    /// Something new was learnt about the test after the execution had ended.
    relearn: bool,
    /// A coroutine was abandoned while it unwound, and the panic count could not be set back.
    spent: Option<PanicNote>,
    /// Tells others that there is progress.
    pub(crate) pulse: Arc<Pulse>,
    /// Names given to threads in this execution.
    pub(crate) names: FxHashMap<ThreadId, String>,
    /// Whether an ordering weaker than SeqCst was asked for.
    pub(crate) weak_ordering: Option<Site>,
}

impl Runtime {
    /// A runtime for this body.
    pub(crate) fn new(body: &(dyn Fn() + Sync), stack: usize) -> Self {
        panic::install_hook();
        overflow::install_handler();
        // Finds out where addresses begin.
        Heap::is_installed();
        struct Nobody;
        impl Driver for Nobody {
            fn choose(
                &mut self,
                _: &Run,
                _: &[preempt_explore::Move],
            ) -> Option<preempt_explore::Move> {
                None
            }
        }
        // SAFETY: only the lifetime changes. `body` is called in `execute` alone, and every
        // runtime is dropped before the body it was made from (see `check::explore`).
        let body = unsafe {
            std::mem::transmute::<*const (dyn Fn() + Sync), *const (dyn Fn() + Sync + 'static)>(
                body,
            )
        };
        Runtime {
            body,
            run: null_mut(),
            driver: null_mut::<Nobody>(),
            next: Command::Stop,
            fibers: Fibers::new(stack),
            heap: NonNull::from(Box::leak(Box::default())),
            registry: Registry::default(),
            panics: Vec::new(),
            trouble: None,
            require_join: false,
            closing: false,
            failed_closing: false,
            concluding: false,
            broken: false,
            relearn: false,
            spent: None,
            pulse: Arc::default(),
            names: FxHashMap::default(),
            weak_ordering: None,
        }
    }

    /// The execution in progress.
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn run(&self) -> &mut Run {
        // SAFETY: `run` points to the `Run` that `execute` holds exclusively for its whole
        // duration, and a runtime is only reachable (through `CURRENT`) during `execute`. All
        // callers are on one operating system thread and none keeps the reference across a
        // suspension or a call into user code.
        unsafe { &mut *self.run }
    }

    /// The allocations of the execution in progress.
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn heap(&self) -> &mut Heap {
        // SAFETY: made by `new` and freed by `drop`. Callers use the reference for one call, and
        // the allocator reaches the heap only while no code of the runtime runs.
        unsafe { &mut *self.heap.as_ptr() }
    }

    /// Tells the run that the current thread has come to the end of a segment.
    fn reach(&mut self, next: Next) {
        self.flush();
        let driver = self.driver;
        // SAFETY: `driver` is valid and exclusively ours for the same time as `run`.
        self.run().reach(next, unsafe { &mut *driver });
    }

    fn schedule(&mut self) -> Command {
        self.pulse.beat();
        let driver = self.driver;
        // SAFETY: as above.
        let next = self.run().schedule(unsafe { &mut *driver });
        self.next = next;
        next
    }

    /// How many operations the current thread has done.
    pub(crate) fn steps(&self) -> u32 {
        let run = self.run();
        run.state.thread(run.current).steps
    }

    /// The park token of the current thread.
    pub(crate) fn token(&self) -> ObjectId {
        let run = self.run();
        run.state.thread(run.current).token
    }

    /// Ends the execution at the next opportunity.
    pub(crate) fn stop(&mut self, ending: Ending) {
        if ending == Ending::Restart {
            self.relearn |= self.run().ending.is_some();
            self.run().tried_loop = false;
        }
        self.run().ending.get_or_insert(ending);
    }

    fn finish(&mut self) {
        let run = self.run();
        if run.ending.is_none() && run.state.panicked().is_some() {
            run.ending = Some(Ending::Panic);
        }
        if run.ending == Some(Ending::Deadlock) && !self.panics.is_empty() && self.is_unwinding() {
            run.ending = Some(Ending::Panic);
        }
        if self.conclude() {
            self.drop_statics();
            let leaks = self.registry.leaks();
            if self.run().ending == Some(Ending::Complete) && !leaks.is_empty() {
                self.trouble = Some(Trouble::Leak(leaks));
                self.run().ending = Some(Ending::Reported);
            }
        } else {
            // Destructors could look at what the abandoned threads have left half-done.
            self.registry.abandon();
        }
        self.run().end_epilogue();
        if self.relearn && self.run().may_run_on() {
            // Other executions will be explored, and these need to know.
            self.run().ending = Some(Ending::Restart);
        }
        self.registry.end();
        self.fibers.recycle();
        self.heap().release();
    }

    /// Brings the threads of an execution that is over to their ends. Returns whether all have
    /// ended; the others are abandoned, because they cannot go on or nobody would gain by it. The
    /// state stays as the threads have left it: destructors of statics look at it.
    fn conclude(&mut self) -> bool {
        if self.trouble_is_final() || !self.run().may_run_on() {
            return false;
        }
        if self.run().state.all_ended() {
            return true;
        }
        let panics = self.panics.len();
        self.concluding = true;
        self.broken = false;
        self.run().begin_epilogue();
        self.schedule();
        let this: *mut Runtime = self;
        // SAFETY: `this` is valid and not borrowed.
        let left = unsafe { drive(this) };
        self.concluding = false;
        self.panics.truncate(panics);
        self.run().state.all_ended() && left.is_none() && !self.broken
    }

    /// Drops what belongs to the execution but to none of its threads, on a coroutine, because
    /// destructors may panic as they like. Nothing is scheduled any more, so operations in
    /// destructors take effect at once. What goes wrong matters only if the execution was complete.
    fn drop_statics(&mut self) {
        if !self.registry.has_values() {
            return;
        }
        let (panics, current) = (self.panics.len(), self.run().current);
        let trouble = self.trouble.take();
        self.run().current = ThreadId::MAIN;
        self.closing = true;
        self.failed_closing = false;
        self.fibers.recycle();
        self.fibers.start(ThreadId::MAIN, 0, Box::new(registry::drop_values));
        self.next = Command::Resume(ThreadId::MAIN, 0);
        let this: *mut Runtime = self;
        // SAFETY: `this` is valid and not borrowed.
        let left = unsafe { drive(this) };
        self.closing = false;
        self.run().current = current;
        if self.run().ending != Some(Ending::Complete) {
            self.trouble = trouble;
            self.panics.truncate(panics);
        } else if let Some(left) = left {
            self.left(ThreadId::MAIN, left);
        } else if self.trouble.is_some() {
            self.run().ending = Some(Ending::Reported);
        } else if self.failed_closing {
            self.run().ending = Some(Ending::Panic);
        }
    }

    /// Whether a coroutine was left by force, so that others may borrow from what leaked.
    fn trouble_is_final(&self) -> bool {
        matches!(
            self.trouble,
            Some(Trouble::StackOverflow | Trouble::Blocked(..) | Trouble::DoublePanic(_))
        )
    }

    /// The running thread was left by force.
    fn left(&mut self, thread: ThreadId, left: Left) {
        if self.concluding {
            self.broken = true;
            self.run().stop_epilogue();
            return;
        }
        self.trouble = Some(match left {
            Left::Overflow => Trouble::StackOverflow,
            Left::Blocked => {
                let moved = self.run().state.thread(thread);
                let last =
                    (moved.steps > 0).then_some((moved.operation.action, moved.operation.site));
                Trouble::Blocked(thread, last)
            }
        });
        self.run().ending = Some(Ending::Reported);
    }

    /// The running thread is about to be left because a destructor panicked while it unwound.
    fn left_while_unwinding(&mut self, cause: PanicNote) {
        if !unwinding::is_exchangeable() {
            self.spent = Some(cause.clone());
        }
        self.next = Command::Stop;
        if self.concluding {
            self.broken = true;
            self.run().stop_epilogue();
            return;
        }
        self.trouble = Some(Trouble::DoublePanic(cause));
        self.stop(Ending::Reported);
    }

    fn is_unwinding(&self) -> bool {
        let run = self.run();
        run.state.thread_ids().any(|t| {
            let thread = run.state.thread(t);
            thread.status == preempt_explore::Status::Ready && thread.operation.urgent
        })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.heap().release();
        // SAFETY: from a box, in `new`, and not used again.
        drop(unsafe { Box::from_raw(self.heap.as_ptr()) });
    }
}

impl Program for Runtime {
    fn execute(&mut self, run: &mut Run, driver: &mut dyn Driver) {
        self.run = run;
        // SAFETY: only the lifetime changes; the pointer is not used after this function returns.
        self.driver =
            unsafe { std::mem::transmute::<*mut dyn Driver, *mut (dyn Driver + 'static)>(driver) };
        self.panics.clear();
        self.trouble = None;
        self.relearn = false;
        self.names.clear();
        if let Some(cause) = &self.spent {
            // Everything would seem to unwind from here on.
            self.trouble = Some(Trouble::DoublePanic(cause.clone()));
            run.ending = Some(Ending::Reported);
            return;
        }
        self.registry.begin(self.run);
        self.heap().begin(self.registry.knowledge.addresses);
        // SAFETY: `body` outlives the runtime, see `new`.
        let body: &'static (dyn Fn() + Sync) = unsafe { &*self.body };
        let main = move || {
            registry::make_statics();
            body();
        };
        let (low, high) = self.fibers.start(ThreadId::MAIN, 0, Box::new(main));
        self.heap().set_stack(ThreadId::MAIN, low, high);
        self.next = Command::Resume(ThreadId::MAIN, 0);
        // From here on the coroutines reach the runtime through `CURRENT`, so it must not be
        // borrowed while one of them runs.
        let this: *mut Runtime = self;
        // SAFETY: `this` is valid for the whole call, and no borrow of it outlives a statement.
        unsafe {
            if let Some(left) = drive(this) {
                let thread = (*this).run().current;
                (*this).left(thread, left);
            }
            (*this).finish();
        }
    }
}

/// Lets threads run as they are scheduled, until nothing is. Returns how a thread was left by force.
///
/// # Safety
/// `runtime` is valid and not borrowed.
unsafe fn drive(runtime: *mut Runtime) -> Option<Left> {
    let previous = CURRENT.replace(runtime);
    let mut by_force = None;
    // SAFETY: as the caller's; no borrow outlives a statement.
    unsafe {
        (*runtime).pulse.set_inside(true);
        while let Command::Resume(thread, result) = (*runtime).next {
            (*runtime).next = Command::Stop;
            if let Err(left) = resume(runtime, thread, result) {
                by_force = Some(left);
                break;
            }
        }
        (*runtime).pulse.set_inside(false);
    }
    CURRENT.set(previous);
    by_force
}

/// The runtime of the code that calls, if it runs under control.
#[inline]
pub(crate) fn current() -> Option<&'static mut Runtime> {
    // SAFETY: non-null only while `execute` runs on this operating system thread, which keeps the
    // runtime alive and pinned. Callers use the reference for one call and never hold two across
    // a suspension.
    unsafe { CURRENT.get().as_mut() }
}

/// Whether allocations can be followed.
pub(crate) fn follows_addresses() -> bool {
    Heap::is_installed()
}

/// Whether the caller runs under control.
pub(crate) fn is_controlled() -> bool {
    !CURRENT.get().is_null()
}

/// Executes a visible operation of the current thread and returns what it sees.
///
/// The runtime comes as a pointer: other threads use it before this function returns.
pub(crate) fn operation(
    runtime: *mut Runtime,
    action: Action,
    object: ObjectId,
    first: u64,
    second: u64,
    site: Site,
) -> u64 {
    perform(runtime, Operation::new(action, object, first, second, site))
}

/// As [`operation`], with memory orders.
pub(crate) fn perform(runtime: *mut Runtime, operation: Operation) -> u64 {
    leave_test();
    let action = operation.action;
    let operation = Operation { urgent: std::thread::panicking(), ..operation };
    // SAFETY: callers pass the runtime in `CURRENT`. The borrow ends with this statement.
    let result = match unsafe { (*runtime).before(operation) } {
        Step::Go(result) => result,
        // SAFETY: as above; `me` is the running thread.
        Step::Wait(me) => unsafe { suspend(runtime, me) },
    };
    // SAFETY: as above.
    unsafe { (*runtime).go_on() };
    // SAFETY: as above.
    if result == Run::RELEASED && unsafe { (*runtime).concluding } && may_panic(action) {
        std::panic::resume_unwind(Box::new("released from a deadlock"));
    }
    result
}

/// Operations of std that are documented to panic at times, also when they would deadlock.
fn may_panic(action: Action) -> bool {
    matches!(
        action,
        Action::Lock
            | Action::Reacquire
            | Action::ReadLock
            | Action::WriteLock
            | Action::Join
            | Action::OnceEnter
    )
}

/// What a thread does after it has announced an operation.
enum Step {
    Go(u64),
    Wait(ThreadId),
}

impl Runtime {
    /// Code of the current thread runs from here on.
    fn go_on(&mut self) {
        if !self.closing {
            let run = self.run();
            self.heap().enter_test(run.current, run.state.thread(run.current).history);
        }
    }

    fn before(&mut self, operation: Operation) -> Step {
        if self.closing {
            let seen = self.run().state.after_the_end(&operation);
            return Step::Go(seen.unwrap_or_else(|| outside_of_time(operation.action)));
        }
        self.before_operation();
        let me = self.run().current;
        let starting = self.is_starting(me);
        self.reach(Next::Operation(operation));
        if starting {
            return Step::Wait(me);
        }
        match self.schedule() {
            Command::Resume(thread, result) if thread == me => Step::Go(result),
            _ => Step::Wait(me),
        }
    }

    /// Whether a spawned thread has not come to its first operation; then its parent goes on.
    fn is_starting(&self, thread: ThreadId) -> bool {
        thread != ThreadId::MAIN
            && self.run().state.thread(thread).status == preempt_explore::Status::Starting
    }
}

/// The current thread touches a plain cell.
pub(crate) fn touch(runtime: &mut Runtime, cell: &Slot, write: bool, site: Site) {
    if runtime.closing {
        // After the last thread: ordered after everything.
        return;
    }
    let _paused = Paused::new();
    if !runtime.run().rules.clocks {
        runtime.run().rules.clocks = true;
        runtime.stop(Ending::Restart);
    }
    runtime.before_operation();
    let object = cell.object(runtime, || 0);
    runtime.run().touch(object, write, site);
}

/// The current thread reads an atomic as plain memory.
pub(crate) fn touch_atomic(runtime: &mut Runtime, atomic: &Slot, site: Site) {
    if !runtime.run().rules.mixed {
        runtime.run().rules.mixed = true;
        runtime.stop(Ending::Restart);
    }
    touch(runtime, atomic, false, site);
}

/// A channel gets one more sender.
pub(crate) fn add_sender(runtime: &mut Runtime, channel: ObjectId) {
    let _paused = Paused::new();
    runtime.run().add_sender(channel);
}

/// The current thread asks for a lock for reading.
pub(crate) fn note_recursion(runtime: &mut Runtime, lock: ObjectId) {
    let run = runtime.run();
    if !run.rules.recursive && run.state.is_reading(run.current, lock) {
        run.rules.recursive = true;
        runtime.stop(Ending::Restart);
    }
}

/// An access to a plain cell ends.
pub(crate) fn touch_end(access: &Access) {
    let Some(runtime) = current() else { return };
    let Some(object) = access.cell.object(runtime) else { return };
    if runtime.closing || access.steps == runtime.steps() || std::thread::panicking() {
        return;
    }
    let _paused = Paused::new();
    runtime.run().touch_end(object, access.write, access.site);
}

/// An access to a plain cell that lasts.
pub(crate) struct Access {
    cell: Name,
    pub(crate) write: bool,
    site: Site,
    /// How many operations its thread had done when it began.
    steps: u32,
}

impl Access {
    /// Begins now; `None` if the caller does not run under control.
    pub(crate) fn begin(cell: &Slot, write: bool, site: Site) -> Option<Self> {
        let runtime = current()?;
        touch(runtime, cell, write, site);
        let name = cell.name(runtime);
        Some(Access { cell: name, write, site, steps: runtime.steps() })
    }
}

/// The current thread executes a fence.
pub(crate) fn fence(runtime: &mut Runtime, order: Order) {
    if !runtime.closing {
        let _paused = Paused::new();
        runtime.run().fence(order);
    }
}

/// The current thread uses a memory order, for an access to an atomic or a fence.
pub(crate) fn weaken(runtime: &mut Runtime, order: Order, fence: bool, site: Site) {
    if order != Order::SequentiallyConsistent {
        runtime.weak_ordering.get_or_insert(site);
    }
    if !runtime.closing {
        runtime.run().weaken(order, fence);
    }
}

/// Whether the comparison that the current thread has just made failed for no reason.
pub(crate) fn has_failed() -> bool {
    let Some(runtime) = current().filter(|runtime| !runtime.closing) else { return false };
    runtime.run().state.source().is_some_and(|source| source.fails)
}

/// Lets other threads run. A thread that has looked at the clock since it last did so waits for time
/// to pass: it passes, in larger and larger steps, so that every limit is reached soon.
pub(crate) fn yield_now(runtime: &mut Runtime, site: Site) {
    if !runtime.run().rules.watch {
        runtime.run().rules.watch = true;
        runtime.stop(Ending::Restart);
    }
    let sleeps = u64::from(registry::wait_for_time(runtime));
    operation(runtime, Action::Yield, ObjectId::NONE, sleeps, 0, site);
}

/// What an operation in a destructor sees after the last thread has ended, if it is not one on a
/// number: success.
fn outside_of_time(action: Action) -> u64 {
    match action {
        Action::TryLock | Action::TryReadLock | Action::TryWriteLock => 1,
        Action::OnceEnter | Action::Receive | Action::TryReceive => 2,
        _ => 0,
    }
}

/// Spawns a thread of the program under test and runs it up to its first operation.
pub(crate) fn spawn(
    runtime: *mut Runtime,
    name: Option<String>,
    stack: usize,
    body: Body,
) -> ThreadId {
    leave_test();
    // SAFETY: callers pass the runtime in `CURRENT`; each borrow ends with its statement, and
    // none is alive while the child runs.
    unsafe {
        let parent = (*runtime).run().current;
        (*runtime).flush();
        let child = (*runtime).run().spawn();
        if let Some(name) = name {
            (*runtime).names.insert(child, name);
        }
        let (low, high) = (*runtime).fibers.start(child, stack, body);
        (*runtime).heap().set_stack(child, low, high);
        (*runtime).announce(child);
        (*runtime).run().current = child;
        if let Err(left) = resume(runtime, child, 0) {
            (*runtime).left(child, left);
        }
        (*runtime).run().current = parent;
        (*runtime).go_on();
        child
    }
}

/// The current thread has ended, normally or by a panic.
fn end_of_thread(result: Result<(), ()>) {
    let Some(runtime) = current() else { return };
    let me = runtime.run().current;
    registry::drop_locals(me);
    leave_test();
    let Some(runtime) = current() else { return };
    if runtime.closing {
        runtime.failed_closing |= result.is_err();
        return;
    }
    if let Some(end) = runtime.end_of_current().filter(|_| result.is_ok()) {
        operation(runtime, Action::Store, end, 1, 0, Location::caller());
        leave_test();
    }
    let Some(runtime) = current() else { return };
    let starting = runtime.is_starting(me);
    let next = if result.is_ok() { Next::End } else { Next::Panic };
    runtime.reach(next);
    if me == ThreadId::MAIN && runtime.require_join && result.is_ok() {
        let state = &runtime.run().state;
        let runs = |&t: &ThreadId| state.thread(t).status != preempt_explore::Status::Done;
        let left = state.thread_ids().filter(runs).count();
        if left > 0 {
            runtime.trouble = Some(Trouble::Unjoined(left));
            runtime.stop(Ending::Reported);
        }
    }
    if !starting {
        runtime.schedule();
    }
}
