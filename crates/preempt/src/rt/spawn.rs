//! The threads of a test: where their coroutines begin and end.

use super::fiber::resume;
use super::heap::leave_test;
use super::local::drop_locals;
use super::operation::operation;
use super::runtime::{Runtime, current};
use super::trouble::Trouble;
use corosensei::Yielder;
use preempt_explore::{Action, Ending, Next, ThreadId};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// What a thread of the program under test executes.
pub(crate) type Body = Box<dyn FnOnce()>;

/// What the coroutine of a thread does.
pub(super) fn coroutine(thread: ThreadId, body: Body) -> impl FnOnce(&Yielder<u64, ()>) + 'static {
    move |yielder| {
        if let Some(runtime) = current() {
            runtime.fibers.set_yielder(thread, yielder);
            runtime.go_on();
        }
        let result = catch_unwind(AssertUnwindSafe(body));
        end_of_thread(result.map_err(forget_payload));
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
        let (low, high) = (*runtime).fibers.start(child, stack, coroutine(child, body));
        (*runtime).heap().set_stack(child, low, high);
        (*runtime).announce(child);
        (*runtime).run().current = child;
        if let Err(left) = resume(&raw mut (*runtime).fibers, child, 0) {
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
    drop_locals(me);
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

/// A panic payload may itself panic when dropped.
fn forget_payload(payload: Box<dyn std::any::Any + Send>) {
    if payload.is::<&'static str>() || payload.is::<String>() {
        return;
    }
    std::mem::forget(payload);
}
