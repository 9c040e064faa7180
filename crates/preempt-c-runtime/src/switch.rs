//! Switching between the threads of the program, the search and the launcher.
//!
//! The launcher is the stack on which the process was started (`launch.rs`); the search asks it for
//! executions and for workers.

use crate::backend::Backend;
use crate::entry::{SEARCH, select};
use crate::runtime::Runtime;
use crate::token::hand_over;
use crate::{context, raw};
use preempt_explore::ThreadId;
use std::ptr::addr_of_mut;

/// Whether this process was made for one execution. The runtime cannot say: it is shared, and the way
/// to execute may change in the middle of an execution.
pub(crate) static mut IS_CHILD: bool = false;

/// What the search wants the launcher to do.
pub(crate) static mut WANTED: Wanted = Wanted::Execution;
/// The copy that was made last.
pub(crate) static mut COPY: isize = 0;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Execution,
    /// A copy of this process that executes paths.
    Worker,
    /// A copy of this process that samples.
    Companion,
    Nothing,
}

/// The search is over: goes back to `launch::serve`.
pub(crate) fn finish(runtime: &mut Runtime) -> ! {
    // SAFETY: the launcher waits in `serve`.
    unsafe {
        WANTED = Wanted::Nothing;
        let mut unused = 0;
        context::switch(&raw mut unused, runtime.launcher);
    }
    raw::fail("preempt: the search was resumed after its end\n")
}

/// Has the launcher execute the program once. Called by the search.
pub(crate) fn execute(runtime: &mut Runtime) {
    let runtime: *mut Runtime = runtime;
    // SAFETY: the launcher waits in `serve`; see there.
    unsafe { context::switch(addr_of_mut!((*runtime).explorer), (*runtime).launcher) };
}

/// Makes a copy of this process that helps the search. Returns its id. Called by the search.
pub(crate) fn ask_for_copy(runtime: &mut Runtime, kind: Wanted) -> isize {
    let runtime: *mut Runtime = runtime;
    // SAFETY: as in `execute`; only this function, `serve` and `finish` touch the request.
    unsafe {
        WANTED = kind;
        context::switch(addr_of_mut!((*runtime).explorer), (*runtime).launcher);
        WANTED = Wanted::Execution;
        if COPY < 0 {
            raw::refuse("preempt: the system gives no process\n");
        }
        COPY
    }
}

/// Gives the processor to another thread; returns when it comes back.
pub(crate) fn switch(runtime: &mut Runtime, from: ThreadId, to: ThreadId) {
    if runtime.backend == Backend::Threads {
        return hand_over(from, to);
    }
    let to = &runtime.tasks[to.index()];
    let (block, context) = (to.block, to.context);
    let save = addr_of_mut!(runtime.tasks[from.index()].context);
    // SAFETY: a thread that is resumed has a context; its stack and block are alive as long as the
    // execution. Nothing between the two lines uses thread-local data.
    unsafe {
        context::set_block(block);
        context::switch(save, context);
    }
}

/// Leaves the execution for good.
pub(crate) fn back(runtime: &mut Runtime) -> ! {
    select(SEARCH);
    // SAFETY: written before the execution began. The launcher waits in `begin`.
    unsafe {
        if IS_CHILD {
            raw::exit(0);
        }
        context::set_block(runtime.tasks[0].block);
        let mut unused = 0;
        context::switch(&raw mut unused, runtime.launcher);
    }
    raw::fail("preempt: an execution was resumed after its end\n")
}
