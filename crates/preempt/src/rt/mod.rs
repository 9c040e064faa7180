//! The runtime: real code on coroutines, one visible operation at a time.
//!
//! Every thread of the program under test is a coroutine on one operating system thread. A
//! thread runs until it stands before a visible operation, [`operation`] asks the strategy who
//! goes next, and only if that is another thread does the processor change hands.
//!
//! Invariant: `CURRENT` is set exactly while code of the program under test runs, so facade types
//! used anywhere else behave like those of the standard library.

mod fiber;
mod overflow;
mod panic;
mod registry;

pub(crate) use fiber::{Body, Fibers};
use fiber::{Killed, Left, kill, resume, suspend};
pub(crate) use overflow::Callee;
pub(crate) use panic::PanicNote;
pub(crate) use registry::Knowledge;
pub use registry::Static;
pub(crate) use registry::{
    Slot, counts, lend, local, now, pass, per_execution, raw_tags, take_back,
};

use crate::pulse::Pulse;
use preempt_explore::{
    Action, Command, Driver, Ending, Next, ObjectId, Operation, Program, Run, Site, ThreadId,
};
use registry::Registry;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::panic::catch_unwind;
use std::ptr::null_mut;
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
    pub(crate) registry: Registry,
    /// Panics in flight or escaped, latest last.
    pub(crate) panics: Vec<(ThreadId, PanicNote)>,
    pub(crate) trouble: Option<Trouble>,
    pub(crate) require_join: bool,
    closing: bool,
    /// Threads of an execution that is over are being unwound.
    killing: bool,
    /// Operations of threads that were told to unwind and went on instead.
    defiance: u32,
    /// Tells others that there is progress.
    pub(crate) pulse: Arc<Pulse>,
    /// A panic that cannot be unwound has left this operating system thread unusable.
    pub(crate) spent: bool,
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
            registry: Registry::default(),
            panics: Vec::new(),
            trouble: None,
            require_join: false,
            closing: false,
            killing: false,
            defiance: 0,
            pulse: Arc::default(),
            spent: false,
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

    /// Tells the run that the current thread has come to the end of a segment.
    fn reach(&mut self, next: Next) {
        self.registry.flush(self.run);
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

    /// The park token of the current thread.
    pub(crate) fn token(&self) -> ObjectId {
        let run = self.run();
        run.world.thread(run.current).token
    }

    /// Ends the execution at the next opportunity.
    pub(crate) fn stop(&mut self, ending: Ending) {
        self.run().ending.get_or_insert(ending);
    }

    fn finish(&mut self) {
        let run = self.run();
        if run.ending.is_none() && run.world.panicked().is_some() {
            run.ending = Some(Ending::Panic);
        }
        if run.ending == Some(Ending::Deadlock) && !self.panics.is_empty() && self.is_unwinding() {
            run.ending = Some(Ending::Panic);
        }
        if run.ending == Some(Ending::Complete) {
            self.drop_statics();
            let leaks = self.registry.leaks();
            if !leaks.is_empty() {
                self.trouble = Some(Trouble::Leak(leaks));
                self.run().ending = Some(Ending::Reported);
            }
        } else {
            self.unwind();
        }
        self.registry.end();
        self.fibers.recycle();
    }

    /// Drops what belongs to the execution but to none of its threads. Nothing is scheduled any
    /// more, so operations in destructors take effect at once.
    fn drop_statics(&mut self) {
        self.closing = true;
        let previous = CURRENT.replace(self);
        let dropped = catch_unwind(registry::drop_values);
        CURRENT.set(previous);
        self.closing = false;
        if dropped.is_err() {
            self.run().ending = Some(Ending::Panic);
        }
    }

    /// Unwinds the threads of an execution that failed, and drops what belongs to none of them.
    fn unwind(&mut self) {
        // With a panic in flight, or after one that could not be unwound, a second would abort.
        if std::thread::panicking() || self.spent || self.trouble_is_final() {
            self.registry.abandon();
            return;
        }
        self.closing = true;
        self.killing = true;
        self.defiance = 0;
        let threads = self.run().order.clone();
        let this: *mut Runtime = self;
        let previous = CURRENT.replace(this);
        for &thread in threads.iter().rev() {
            // SAFETY: `this` is valid, in `CURRENT`, and not borrowed.
            unsafe {
                if !(*this).spent {
                    (*this).run().current = thread;
                    kill(this, thread);
                }
            }
        }
        // SAFETY: as above.
        if unsafe { (*this).spent } {
            self.registry.abandon();
        } else {
            let _ = catch_unwind(registry::drop_values);
        }
        CURRENT.set(previous);
        self.closing = false;
        self.killing = false;
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
        self.trouble = Some(match left {
            Left::Overflow => Trouble::StackOverflow,
            Left::Blocked => {
                let state = self.run().world.thread(thread);
                let last =
                    (state.steps > 0).then_some((state.operation.action, state.operation.site));
                Trouble::Blocked(thread, last)
            }
        });
        self.run().ending = Some(Ending::Reported);
    }

    fn is_unwinding(&self) -> bool {
        let run = self.run();
        run.world.thread_ids().any(|t| {
            let thread = run.world.thread(t);
            thread.status == preempt_explore::Status::Ready && thread.operation.urgent
        })
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
        self.names.clear();
        self.registry.begin(self.run);
        // SAFETY: `body` outlives the runtime, see `new`.
        let body: &'static (dyn Fn() + Sync) = unsafe { &*self.body };
        let main = move || {
            registry::make_statics();
            body();
        };
        self.fibers.start(ThreadId::MAIN, Box::new(main));
        self.next = Command::Resume(ThreadId::MAIN, 0);
        // From here on the coroutines reach the runtime through `CURRENT`, so it must not be
        // borrowed while one of them runs.
        let this: *mut Runtime = self;
        let previous = CURRENT.replace(this);
        // SAFETY: `this` is valid for the whole call, and no borrow of it outlives a statement.
        unsafe {
            (*this).pulse.set_inside(true);
            while let Command::Resume(thread, result) = (*this).next {
                (*this).next = Command::Stop;
                if let Err(left) = resume(this, thread, result) {
                    let thread = (*this).run().current;
                    (*this).left(thread, left);
                    break;
                }
            }
            (*this).pulse.set_inside(false);
            CURRENT.set(previous);
            (*this).finish();
        }
    }
}

/// The runtime of the code that calls, if it runs under control.
#[inline]
pub(crate) fn current() -> Option<&'static mut Runtime> {
    // SAFETY: non-null only while `execute` runs on this operating system thread, which keeps the
    // runtime alive and pinned. Callers use the reference for one call and never hold two across
    // a suspension.
    unsafe { CURRENT.get().as_mut() }
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
    let mut operation = Operation::new(action, object, first, second, site);
    operation.urgent = std::thread::panicking();
    // SAFETY: callers pass the runtime in `CURRENT`. The borrow ends with this expression.
    if unsafe { (*runtime).killing } && !operation.urgent {
        // The test has caught the panic that was to unwind it.
        // SAFETY: as above.
        unsafe { defy(runtime) };
    }
    // SAFETY: callers pass the runtime in `CURRENT`. The borrow ends with this statement.
    match unsafe { (*runtime).before(operation) } {
        Step::Go(result) => result,
        // SAFETY: as above; `me` is the running thread.
        Step::Wait(me) => unsafe { suspend(runtime, me) },
    }
}

/// Unwinds a thread again that has caught the panic meant to unwind it, within reason.
///
/// # Safety
/// As for [`suspend`].
unsafe fn defy(runtime: *mut Runtime) {
    const MOST: u32 = 1000;
    // SAFETY: as the caller's; each borrow ends with its statement. A thread that does not listen
    // is suspended for good.
    unsafe {
        (*runtime).defiance += 1;
        if (*runtime).defiance > MOST {
            let me = (*runtime).run().current;
            suspend(runtime, me);
        }
    }
    std::panic::resume_unwind(Box::new(Killed));
}

/// What a thread does after it has announced an operation.
enum Step {
    Go(u64),
    Wait(ThreadId),
}

impl Runtime {
    fn before(&mut self, operation: Operation) -> Step {
        if self.closing {
            return Step::Go(outside_of_time(operation.action));
        }
        self.registry.before_operation(self.run);
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
            && self.run().world.thread(thread).status == preempt_explore::Status::Starting
    }
}

/// The current thread touches a plain cell.
pub(crate) fn touch(runtime: &mut Runtime, cell: &Slot, write: bool, site: Site) {
    if !runtime.run().rules.clocks {
        runtime.run().rules.clocks = true;
        runtime.stop(Ending::Restart);
    }
    runtime.registry.before_operation(runtime.run);
    let object = cell.object(runtime, || 0);
    runtime.run().touch(object, write, site);
}

/// Lets other threads run.
pub(crate) fn yield_now(runtime: &mut Runtime, site: Site) {
    if !runtime.run().rules.watch {
        runtime.run().rules.watch = true;
        runtime.stop(Ending::Restart);
    }
    operation(runtime, Action::Yield, ObjectId::NONE, 0, 0, site);
}

/// What an operation in a destructor sees after the last thread has ended: success.
fn outside_of_time(action: Action) -> u64 {
    match action {
        Action::TryLock | Action::TryReadLock | Action::TryWriteLock => 1,
        Action::OnceEnter | Action::Receive | Action::TryReceive => 2,
        _ => 0,
    }
}

/// Spawns a thread of the program under test and runs it up to its first operation.
pub(crate) fn spawn(runtime: *mut Runtime, body: Body) -> ThreadId {
    // SAFETY: callers pass the runtime in `CURRENT`; each borrow ends with its statement, and
    // none is alive while the child runs.
    unsafe {
        let parent = (*runtime).run().current;
        let run = (*runtime).run;
        (*runtime).registry.flush(run);
        let child = (*runtime).run().spawn();
        (*runtime).fibers.start(child, body);
        (*runtime).run().current = child;
        if let Err(left) = resume(runtime, child, 0) {
            (*runtime).left(child, left);
        }
        (*runtime).run().current = parent;
        child
    }
}

/// The current thread has ended, normally or by a panic.
fn end_of_thread(result: Result<(), ()>) {
    let Some(runtime) = current() else { return };
    if runtime.killing {
        return;
    }
    let me = runtime.run().current;
    registry::drop_locals(me);
    let Some(runtime) = current() else { return };
    let starting = runtime.is_starting(me);
    let next = if result.is_ok() { Next::End } else { Next::Panic };
    runtime.reach(next);
    if me == ThreadId::MAIN && runtime.require_join && result.is_ok() {
        let world = &runtime.run().world;
        let runs = |&t: &ThreadId| world.thread(t).status != preempt_explore::Status::Done;
        let left = world.thread_ids().filter(runs).count();
        if left > 0 {
            runtime.trouble = Some(Trouble::Unjoined(left));
            runtime.stop(Ending::Reported);
        }
    }
    if !starting {
        runtime.schedule();
    }
}
