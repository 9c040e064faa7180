//! The threads of a test: where their coroutines begin and end.

use super::fiber::resume;
use super::heap::{Paused, leave_test};
use super::local::drop_locals;
use super::operation::perform;
use super::panic::text_of;
use super::runtime::{Runtime, current};
use super::trouble::{PanicNote, Trouble};
use corosensei::Yielder;
use preempt_explore::{Action, Ending, Next, Operation, Order, Site, ThreadId};
use std::any::Any;
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
        end_of_thread(result.map_err(|payload| keep_payload(thread, payload)));
    }
}

/// Keeps what a thread has panicked with, for the thread that joins it.
fn keep_payload(thread: ThreadId, payload: Box<dyn Any + Send>) {
    let _paused = Paused::new();
    let Some(runtime) = current() else { return };
    // The panic may have been raised elsewhere and resumed, which no hook notices.
    let message = text_of(&*payload);
    let noted = || runtime.panics.iter().rev().filter(|(_, note)| note.message == message);
    let own = noted().find(|(raiser, _)| *raiser == thread).or_else(|| noted().next());
    let note = match own {
        Some((_, note)) => note.clone(),
        None => PanicNote { message, ..PanicNote::default() },
    };
    runtime.last_words.push((thread, note));
    runtime.registry.payloads.insert(thread, payload);
}

/// What a thread panicked with, if it did.
pub(crate) fn payload_of(thread: ThreadId) -> Option<Box<dyn Any + Send>> {
    current()?.registry.payloads.remove(&thread)
}

/// Spawns a thread of the program under test and runs it up to its first operation.
pub(crate) fn spawn(
    runtime: *mut Runtime,
    name: Option<String>,
    stack: usize,
    body: Body,
    site: Site,
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
        (*runtime).announce(child, site);
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
    runtime.before_locals(me);
    drop_locals(me);
    leave_test();
    let Some(runtime) = current() else { return };
    if runtime.closing {
        runtime.failed_closing |= result.is_err();
        return;
    }
    let outlived = result.is_ok() || runtime.run().rules.outlives_panics;
    if let Some((end, spawned)) = runtime.end_of_current().filter(|_| outlived) {
        let site = spawned.unwrap_or_else(|| Location::caller());
        let store = Operation::new(Action::Store, end, 1, 0, site);
        perform(runtime, store.with_order(Order::Release, Order::Release));
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
