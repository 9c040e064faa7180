//! What an execution under control consists of, and how the code of the test gets at it.

use super::creation_log::CreationLog;
use super::fiber::Fibers;
use super::heap::{Heap, Paused};
use super::registry::{Registry, Shown};
use super::trouble::{MemoryError, PanicNote, Trouble};
use crate::pulse::Pulse;
use preempt_explore::{Command, Driver, Ending, Next, ObjectId, Run, Site, ThreadId};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

thread_local! {
    pub(super) static CURRENT: Cell<*mut Runtime> = const { Cell::new(null_mut()) };
}

/// Executes a test body under control, again and again.
pub(crate) struct Runtime {
    pub(super) body: *const (dyn Fn() + Sync),
    pub(super) run: *mut Run,
    pub(super) driver: *mut dyn Driver,
    pub(super) next: Command,
    pub(crate) fibers: Fibers,
    pub(super) heap: NonNull<Heap>,
    pub(super) log: NonNull<CreationLog>,
    pub(crate) registry: Registry,
    /// Panics in flight or escaped, latest last.
    pub(crate) panics: Vec<(ThreadId, PanicNote)>,
    /// Panics that have ended threads.
    pub(crate) last_words: Vec<(ThreadId, PanicNote)>,
    pub(crate) trouble: Option<Trouble>,
    pub(crate) require_join: bool,
    pub(super) closing: bool,
    /// A destructor of a static has panicked.
    pub(super) failed_closing: bool,
    /// The threads of an execution that is over run on unobserved.
    pub(super) concluding: bool,
    /// A thread that ran on unobserved was left by force.
    pub(super) broken: bool,
    /// Something new was learnt about the test after the execution had ended.
    pub(super) relearn: bool,
    /// A coroutine was abandoned while it unwound, and the panic count could not be set back.
    pub(super) spent: Option<PanicNote>,
    /// Tells others that there is progress.
    pub(crate) pulse: Arc<Pulse>,
    /// Names given to threads in this execution.
    pub(crate) names: FxHashMap<ThreadId, String>,
    /// The object that was named last, and its address, if addresses matter.
    pub(super) named: Option<(ObjectId, usize)>,
    /// Where data that was made outside the body was changed for the first time.
    pub(crate) outside_change: Option<Site>,
    /// Whether an ordering weaker than SeqCst was asked for.
    pub(crate) weak_ordering: Option<Site>,
}

impl Runtime {
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
    pub(super) fn reach(&mut self, next: Next) {
        self.flush();
        let driver = self.driver;
        // SAFETY: `driver` is valid and exclusively ours for the same time as `run`.
        self.run().reach(next, unsafe { &mut *driver });
    }

    pub(super) fn schedule(&mut self) -> Command {
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

    /// Ends the execution if the allocator has found something wrong.
    #[inline]
    pub(super) fn note_memory_error(&mut self) {
        if self.heap().frees_objects && !self.run().rules.frees {
            self.run().rules.frees = true;
            self.stop(Ending::Restart);
        }
        if let Some((thread, error)) = self.heap().error.take().filter(|_| !self.concluding) {
            self.memory_error(thread, error);
        }
    }

    /// A thread has used memory wrongly.
    pub(super) fn memory_error(&mut self, thread: ThreadId, error: MemoryError) {
        let over = self.run().ending.as_ref().is_some_and(|ending| *ending != Ending::Complete);
        if !over && self.trouble.is_none() && !self.concluding && !self.closing {
            self.trouble = Some(Trouble::Memory(thread, error));
            self.run().ending = Some(Ending::Reported);
        }
    }

    /// An object at this address is about to be used.
    #[inline]
    pub(super) fn check_address(&mut self, address: usize) {
        if self.heap().enabled && !self.heap().is_known(address) {
            let _paused = Paused::new();
            if let Some(freed_by) = self.heap().freed_by(address) {
                let me = self.run().current;
                self.memory_error(me, MemoryError::UseAfterFree(freed_by));
            }
        }
    }

    /// A thread is about to drop its thread-locals. The scope of a thread does not wait for that.
    pub(super) fn before_locals(&mut self, thread: ThreadId) {
        let registry = &mut self.registry;
        let drops = registry.local_order.iter().any(|key| key.0 == thread);
        if drops && registry.scoped.contains(&thread) && !registry.knowledge.closures {
            registry.knowledge.closures = true;
            self.stop(Ending::Restart);
        }
    }

    /// The current thread belongs to a scope.
    pub(crate) fn belongs_to_scope(&mut self) {
        let _paused = Paused::new();
        let me = self.run().current;
        self.registry.scoped.insert(me);
    }

    /// What is to be set when the closure of a thread in a scope has ended, if that is visible.
    pub(crate) fn enters_scope(&mut self) -> Option<ObjectId> {
        let visible = self.registry.knowledge.closures;
        visible.then(|| self.run().create(0))
    }

    /// Reports show what the number of this object stands for.
    #[inline]
    pub(crate) fn show(&mut self, object: ObjectId, shown: Option<Shown>) {
        if let Some(shown) = shown.filter(|_| self.run().events.is_some()) {
            let _paused = Paused::new();
            self.registry.shown.insert(object, shown);
        }
    }

    /// A thread is about to run for the first time; called by its parent.
    pub(super) fn announce(&mut self, child: ThreadId, site: Site) {
        if self.run().events.is_some() {
            self.registry.spawned.insert(child, site);
        }
        if self.registry.knowledge.ends {
            let end = self.run().create(0);
            self.registry.ends.insert(child, (end, Some(site)));
        }
    }

    /// What is to be set when the current thread ends, if ends are visible, and where it was spawned.
    pub(super) fn end_of_current(&mut self) -> Option<(ObjectId, Option<Site>)> {
        let me = self.run().current;
        self.registry.ends.get(&me).copied()
    }
}

/// The runtime of the code that calls, if it runs under control.
#[inline]
pub(crate) fn current() -> Option<&'static mut Runtime> {
    // SAFETY: non-null only while `execute` runs on this operating system thread, which keeps the
    // runtime alive and pinned. Callers use the reference for one call and never hold two across
    // a suspension.
    let runtime = unsafe { CURRENT.get().as_mut() }?;
    runtime.note_creations();
    Some(runtime)
}

/// Whether the caller runs under control.
pub(crate) fn is_controlled() -> bool {
    !CURRENT.get().is_null()
}
