//! One execution from its beginning to its end.

use super::creation_log::CreationLog;
use super::fiber::Fibers;
use super::fiber::resume;
use super::foreign;
use super::heap::Heap;
use super::overflow::{Left, install_handler};
use super::panic::install_hook;
use super::registry::Registry;
use super::runtime::{CURRENT, Runtime};
use super::spawn::coroutine;
use super::statics::{drop_values, make_statics};
use super::trouble::{MemoryError, PanicNote, Trouble};
use super::unwinding;
use preempt_explore::{Command, Driver, Ending, Program, Run, ThreadId};
use rustc_hash::FxHashMap;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

impl Runtime {
    /// A runtime for this body.
    pub(crate) fn new(body: &(dyn Fn() + Sync), stack: usize) -> Self {
        install_hook();
        install_handler();
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
        let log = NonNull::from(Box::leak(Box::new(CreationLog::new())));
        Runtime {
            body,
            run: null_mut(),
            driver: null_mut::<Nobody>(),
            next: Command::Stop,
            fibers: Fibers::new(stack, log.as_ptr().cast()),
            log,
            heap: NonNull::from(Box::leak(Box::default())),
            registry: Registry::default(),
            panics: Vec::new(),
            last_words: Vec::new(),
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
            outside_change: None,
            named: None,
        }
    }

    fn finish(&mut self) {
        self.note_memory_error();
        let run = self.run();
        if run.ending.is_none() && run.state.panicked().is_some() {
            run.ending = Some(Ending::Panic);
        }
        if run.ending == Some(Ending::Deadlock) && !self.panics.is_empty() && self.is_unwinding() {
            run.ending = Some(Ending::Panic);
        }
        self.note_spawned_threads();
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

    /// Ends in a failure if the test has spawned threads that are not under control, and nothing else has gone wrong.
    fn note_spawned_threads(&mut self) {
        let fine = matches!(
            self.run().ending,
            Some(Ending::Complete | Ending::Abandoned | Ending::Restart) | None
        );
        if foreign::has_spawned() && fine && self.trouble.is_none() {
            self.trouble = Some(Trouble::Uncontrolled);
            self.run().ending = Some(Ending::Reported);
        }
    }

    /// Brings the threads of an execution that is over to their ends. Returns whether all have
    /// ended; the others are abandoned, because they cannot go on or nothing would be gained by it. The
    /// state stays as the threads have left it: destructors of statics look at it.
    fn conclude(&mut self) -> bool {
        let panicked = self.panicked_thread();
        let runs_on = self.run().may_run_on() || panicked.is_some();
        if self.trouble_is_final() || !runs_on {
            return false;
        }
        if self.run().state.all_ended() && panicked.is_none() {
            return true;
        }
        let (panics, words) = (self.panics.len(), self.last_words.len());
        self.concluding = true;
        self.broken = false;
        self.run().begin_epilogue();
        self.schedule();
        let this: *mut Runtime = self;
        // SAFETY: `this` is valid and not borrowed.
        let left = unsafe { drive(this) };
        self.concluding = false;
        let ended = self.run().state.all_ended() && left.is_none() && !self.broken;
        let joined = |thread: &ThreadId| !self.registry.payloads.contains_key(thread);
        let later = self.last_words[words..].iter().map(|(thread, _)| thread);
        if ended && panicked.is_some() && panicked.iter().chain(later).all(joined) {
            // Others have joined all that panicked and have gone on: a panic ends its thread only.
            self.run().rules.outlives_panics = true;
            self.run().ending = Some(Ending::Restart);
        }
        self.panics.truncate(panics);
        self.last_words.truncate(words);
        ended
    }

    /// The thread that has ended the execution by a panic, if another one may deal with that: they run on to find out.
    fn panicked_thread(&self) -> Option<ThreadId> {
        let run = self.run();
        let thread = run.state.panicked().filter(|_| run.ending == Some(Ending::Panic))?;
        let may = !run.rules.outlives_panics && self.trouble.is_none() && !self.is_unwinding();
        (may && thread != ThreadId::MAIN).then_some(thread)
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
        self.fibers.start(ThreadId::MAIN, 0, coroutine(ThreadId::MAIN, Box::new(drop_values)));
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
            Some(
                Trouble::StackOverflow
                    | Trouble::Blocked(..)
                    | Trouble::DoublePanic(_)
                    | Trouble::Memory(..)
                    | Trouble::Abort
            )
        )
    }

    /// The running thread was left by force.
    pub(super) fn left(&mut self, thread: ThreadId, left: Left) {
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
            Left::Fault(address) => Trouble::Memory(thread, MemoryError::Fault(address)),
            Left::Abort => Trouble::Abort,
        });
        self.run().ending = Some(Ending::Reported);
    }

    /// The running thread is about to be left because a destructor panicked while it unwound.
    pub(super) fn left_while_unwinding(&mut self, cause: PanicNote) {
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
        // SAFETY: from boxes, in `new`, and not used again: no coroutine runs any more.
        unsafe {
            drop(Box::from_raw(self.heap.as_ptr()));
            drop(Box::from_raw(self.log.as_ptr()));
        }
    }
}

impl Program for Runtime {
    fn execute(&mut self, run: &mut Run, driver: &mut dyn Driver) {
        self.run = run;
        // SAFETY: only the lifetime changes; the pointer is not used after this function returns.
        self.driver =
            unsafe { std::mem::transmute::<*mut dyn Driver, *mut (dyn Driver + 'static)>(driver) };
        self.panics.clear();
        self.last_words.clear();
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
        // SAFETY: made by `new`; no coroutine runs.
        unsafe { self.log.as_mut() }.begin(self.registry.epoch);
        self.heap().begin(self.registry.knowledge.addresses);
        // SAFETY: `body` outlives the runtime, see `new`.
        let body: &'static (dyn Fn() + Sync) = unsafe { &*self.body };
        let main = move || {
            make_statics();
            body();
        };
        let (low, high) =
            self.fibers.start(ThreadId::MAIN, 0, coroutine(ThreadId::MAIN, Box::new(main)));
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
        foreign::mark(true);
        while let Command::Resume(thread, result) = (*runtime).next {
            (*runtime).next = Command::Stop;
            if let Err(left) = resume(&raw mut (*runtime).fibers, thread, result) {
                by_force = Some(left);
                break;
            }
        }
        foreign::mark(false);
        (*runtime).pulse.set_inside(false);
    }
    CURRENT.set(previous);
    by_force
}
