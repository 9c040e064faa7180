//! Coroutines and the pool of their stacks.
//!
//! A stack costs tens of microseconds to map and nanoseconds to use again, so stacks are kept for
//! the life of an exploration and left to the next one (`stacks`). A coroutine that is not finished when its execution ends (after a
//! deadlock, or a failure that ends the exploration) is abandoned: unwinding it would run code that
//! no real execution runs. Its stack is used again, and what it owned leaks.
//!
//! Every coroutine has a panic count of its own, see `unwinding`.

use super::overflow::{self, Left};
use super::stacks::{self, ThreadStack};
use super::unwinding;
use corosensei::stack::Stack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use preempt_explore::ThreadId;

type Inner = Coroutine<u64, (), Result<(), Left>, ThreadStack>;

#[derive(Default)]
struct Fiber {
    coroutine: Option<Inner>,
    yielder: Option<*const Yielder<u64, ()>>,
    /// The highest address of its stack.
    base: usize,
    /// Panics in flight on this stack while it is suspended.
    panics: usize,
}

/// All coroutines of an execution, by thread.
pub(crate) struct Fibers {
    list: Vec<Fiber>,
    pool: Vec<ThreadStack>,
    size: usize,
    /// Where objects are noted that are made on them.
    log: *mut (),
}

impl Fibers {
    /// Coroutines with stacks of this many bytes.
    pub(super) fn new(size: usize, log: *mut ()) -> Self {
        Fibers { list: Vec::new(), pool: Vec::new(), size: size.max(16 << 10), log }
    }

    /// Prepares a thread with at least `size` bytes of stack; it does not run yet. Returns the
    /// lowest and highest address of its stack.
    pub(super) fn start(
        &mut self,
        thread: ThreadId,
        size: usize,
        body: impl FnOnce(&Yielder<u64, ()>) + 'static,
    ) -> (usize, usize) {
        let size = size.max(self.size);
        let large = |stack: &ThreadStack| stacks::size_of(stack) >= size;
        // The last one is warm; others are looked at only where sizes differ.
        let pooled = self.pool.iter().rposition(large).map(|index| self.pool.swap_remove(index));
        let mut stack = pooled.unwrap_or_else(|| {
            stacks::take(size).unwrap_or_else(|error| {
                panic!("preempt: cannot map a stack of {size} bytes: {error}")
            })
        });
        stacks::note_in(&mut stack, self.log);
        let bounds = (stack.limit().get(), stack.base().get());
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<u64, ()>, _| {
            body(yielder);
            Ok(())
        });
        if self.list.len() <= thread.index() {
            self.list.resize_with(thread.index() + 1, Fiber::default);
        }
        self.list[thread.index()] =
            Fiber { coroutine: Some(coroutine), base: bounds.1, ..Fiber::default() };
        bounds
    }

    /// Takes a thread's coroutine out, to be run and put back. Nothing may borrow the list while
    /// the coroutine runs: it spawns threads, which changes the list.
    fn take(&mut self, thread: ThreadId) -> Option<(Inner, usize)> {
        let fiber = self.list.get_mut(thread.index())?;
        Some((fiber.coroutine.take()?, fiber.panics))
    }

    fn put(&mut self, thread: ThreadId, coroutine: Inner, panics: usize) {
        let fiber = &mut self.list[thread.index()];
        fiber.coroutine = Some(coroutine);
        fiber.panics = panics;
    }

    /// Where a thread that has begun to run can be suspended.
    pub(super) fn set_yielder(&mut self, thread: ThreadId, yielder: &Yielder<u64, ()>) {
        self.list[thread.index()].yielder = Some(yielder);
    }

    fn yielder(&self, thread: ThreadId) -> Option<*const Yielder<u64, ()>> {
        self.list.get(thread.index())?.yielder
    }

    /// The highest address of the stack of a thread.
    pub(super) fn base(&self, thread: ThreadId) -> Option<usize> {
        self.list.get(thread.index()).map(|fiber| fiber.base)
    }

    /// Takes all stacks back.
    pub(crate) fn recycle(&mut self) {
        for fiber in &mut self.list {
            fiber.yielder = None;
            let Some(mut coroutine) = fiber.coroutine.take() else { continue };
            if coroutine.started() && !coroutine.done() {
                // SAFETY: nothing refers to the stack any more except memory that is leaked with
                // it: other coroutines of the execution, none of which runs again. Scoped threads
                // borrow from a coroutine that is reset in this same loop.
                unsafe { coroutine.force_reset() };
            }
            self.pool.push(coroutine.into_stack());
        }
    }
}

impl Drop for Fibers {
    fn drop(&mut self) {
        stacks::leave(&mut self.pool);
    }
}

/// Runs a thread until it suspends or ends.
///
/// # Safety
/// `fibers` is valid and not borrowed.
pub(super) unsafe fn resume(
    fibers: *mut Fibers,
    thread: ThreadId,
    result: u64,
) -> Result<(), Left> {
    // SAFETY: each borrow ends before the coroutine runs or begins after.
    let taken = unsafe { (*fibers).take(thread) };
    let Some((mut coroutine, panics)) = taken else { return Ok(()) };
    let watched = overflow::watch(coroutine.trap_handler());
    let outside = unwinding::exchange(panics);
    let outcome = coroutine.resume(result);
    let panics = unwinding::exchange(outside);
    overflow::unwatch(watched);
    // SAFETY: as above.
    unsafe { (*fibers).put(thread, coroutine, panics) };
    match outcome {
        CoroutineResult::Return(Err(left)) => Err(left),
        _ => Ok(()),
    }
}

/// Suspends the running thread; returns when it is resumed.
///
/// # Safety
/// `fibers` is valid and not borrowed, and `thread` is the thread that is running.
pub(super) unsafe fn suspend(fibers: *mut Fibers, thread: ThreadId) -> u64 {
    // SAFETY: the borrow ends with this expression, before the switch.
    match unsafe { (*fibers).yielder(thread) } {
        Some(yielder) => {
            // SAFETY: the yielder lives on the stack of the coroutine that is running now.
            unsafe { (*yielder).suspend(()) }
        }
        None => 0,
    }
}
