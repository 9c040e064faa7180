//! Visible operations of the current thread.

use super::fiber::suspend;
use super::fingerprint::Frame;
use super::heap::leave_test;
use super::runtime::Runtime;
use super::time::wait_for_time;
use preempt_explore::{Action, Command, Ending, Next, ObjectId, Operation, Run, Site, ThreadId};

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
    let named = unsafe { (*runtime).named.take() };
    // SAFETY: as above.
    let changes = unsafe { (*runtime).heap().changes };
    // SAFETY: as above.
    if unsafe { (*runtime).is_spinning(&operation) } {
        // SAFETY: as above.
        yield_now(unsafe { &mut *runtime }, operation.site);
        leave_test();
    }
    // SAFETY: callers pass the runtime in `CURRENT`. The borrow ends with this statement.
    let result = match unsafe { (*runtime).before(operation) } {
        Step::Go(result) => result,
        // SAFETY: as above; `me` is the running thread.
        Step::Wait(me) => unsafe { suspend(&raw mut (*runtime).fibers, me) },
    };
    // Others have run since the operation was announced.
    // SAFETY: as above.
    if unsafe { (*runtime).heap().changes } != changes {
        if let Some((_, address)) = named.filter(|(object, _)| *object == operation.object) {
            // SAFETY: as above.
            unsafe { (*runtime).check_address(address) };
        }
    }
    // SAFETY: as above.
    unsafe { (*runtime).note(&operation, result) };
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
            | Action::OnceCompleted
    )
}

/// What a thread does after it has announced an operation.
enum Step {
    Go(u64),
    Wait(ThreadId),
}

impl Runtime {
    /// Code of the current thread runs from here on.
    #[inline]
    pub(super) fn go_on(&mut self) {
        if !self.closing {
            let run = self.run();
            self.heap().enter_test(run.current, run.state.thread(run.current).history);
        }
    }

    /// Whether the current thread repeats a read so often that it spins.
    fn is_spinning(&self, operation: &Operation) -> bool {
        !self.closing && self.registry.spinning.is_due(self.run().current, operation)
    }

    fn note(&mut self, operation: &Operation, result: u64) {
        let me = self.run().current;
        self.registry.spinning.note(me, operation, result);
    }

    fn before(&mut self, operation: Operation) -> Step {
        if self.closing {
            let seen = self.run().state.after_the_end(&operation);
            return Step::Go(seen.unwrap_or_else(|| outside_of_time(operation.action)));
        }
        self.before_operation();
        self.note_memory_error();
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
    pub(super) fn is_starting(&self, thread: ThreadId) -> bool {
        thread != ThreadId::MAIN
            && self.run().state.thread(thread).status == preempt_explore::Status::Starting
    }
}

/// Lets other threads run. A thread that has looked at the clock since it last did so waits for time
/// to pass: it passes, in larger and larger steps, so that every limit is reached soon.
pub(crate) fn yield_now(runtime: &mut Runtime, site: Site) {
    if runtime.run().is_probing() {
        runtime.run().memory = runtime.memory(&Frame::here());
    }
    if !runtime.run().rules.watch {
        runtime.run().rules.watch = true;
        runtime.stop(Ending::Restart);
    }
    let sleeps = u64::from(wait_for_time(runtime));
    if sleeps == 0 && !runtime.closing && runtime.run().has_just_yielded() {
        return;
    }
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
