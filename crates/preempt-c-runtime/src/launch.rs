//! Where an execution takes place, and how it begins and ends.
//!
//! The search runs on a stack of its own, in memory that forked children share. When it wants an
//! execution it switches to the *launcher*, the stack on which the process was started, which has
//! three ways to make one:
//!
//! - **restart**: coroutines in this process; afterwards data, heap and thread-local blocks are put
//!   back (`snapshot.rs`);
//! - **fork**: the same in a child, which may do what it likes to its memory and files;
//! - **threads**: in a child on threads of the operating system that hand a token around. Slow, and
//!   so different from coroutines that it checks them.
//!
//! In all three the thread that runs calls the strategy directly. A child's changes to the search's
//! tables stay, because they are in shared memory, and so does the stack that the search waits on.

use crate::backend::Backend;
use crate::runtime::Runtime;
use crate::switch::{COPY, IS_CHILD, WANTED, Wanted};
use crate::trouble::{Kind, Trouble};
use crate::{
    context, ending, equip, kernel, raw, redirect, sampling, signal_numbers, snapshot, workers,
};
use preempt_explore::{Ending, ThreadId};
use std::ptr::addr_of_mut;

/// Runs the search, which asks for executions, until it is over.
pub(crate) fn serve(runtime: &'static mut Runtime, search: extern "C" fn() -> !) {
    runtime.explorer = context::prepare(context::stack(true), search);
    let runtime: *mut Runtime = runtime;
    loop {
        // SAFETY: the search's stack is alive. It uses the runtime while it runs, so no borrow is
        // held across the switch. Only this function and `finish` touch the flag.
        unsafe {
            context::switch(addr_of_mut!((*runtime).launcher), (*runtime).explorer);
            match WANTED {
                Wanted::Execution => one(runtime),
                Wanted::Worker => copy(runtime, workers::begin, workers::body),
                Wanted::Companion => copy(runtime, sampling::begin, sampling::body),
                Wanted::Nothing => return,
            }
        }
    }
}

/// Makes a copy of this process, which goes on with a function of its own.
///
/// # Safety
/// On the launcher's stack; nothing else uses the runtime.
unsafe fn copy(runtime: *mut Runtime, begin: fn(*mut Runtime), body: extern "C" fn() -> !) {
    // SAFETY: as the caller's.
    unsafe {
        COPY = raw::fork();
        if COPY == 0 {
            begin(runtime);
            WANTED = Wanted::Execution;
            (*runtime).explorer = context::prepare(context::stack(true), body);
        }
    }
}

/// # Safety
/// Call it on the launcher's stack, while no other code uses the runtime.
unsafe fn one(runtime: *mut Runtime) {
    // SAFETY: as the caller's; each borrow ends before the program runs.
    unsafe {
        let known = (*runtime).tasks.len().max(1);
        equip::make_task(&mut *runtime, ThreadId::MAIN);
        let tasks = &mut (*runtime).tasks;
        tasks[0].block = context::block();
        tasks[0].identity = context::block();
        if (*runtime).backend != Backend::Threads {
            for thread in 0..known {
                equip::equip(&mut *runtime, ThreadId(thread as u32));
            }
        }
        match (*runtime).backend {
            // Memory is put back even if the program has just shown that this is not enough: the
            // next execution begins in a copy of this process.
            Backend::Restart => {
                begin(runtime);
                (*runtime).descriptors.close_all();
                (*runtime).mappings.clear();
                snapshot::restore(&mut (*runtime).arena);
                for task in &(*runtime).tasks {
                    snapshot::restore_block(task.block);
                }
            }
            Backend::Here => begin(runtime),
            Backend::Fork | Backend::Threads => {
                (*runtime).arena.begin();
                snapshot::give_up();
                let child = raw::fork();
                if child == 0 {
                    IS_CHILD = true;
                    raw::end_with_parent();
                    if (*runtime).is_rehearsal {
                        redirect::redirect(false);
                    }
                    kernel::watch_this_process((*runtime).options.seconds_of_patience());
                    begin(runtime);
                    raw::exit(0);
                }
                if child < 0 {
                    raw::refuse("preempt: the system gives no process\n");
                }
                let status = raw::wait(child);
                died_unnoticed(&mut *runtime, status);
                // What the child has mapped is not mapped here.
                for task in (*runtime).tasks.iter_mut().skip(known) {
                    (task.stack, task.block) = (0, 0);
                }
            }
        }
    }
}

/// # Safety
/// As for [`one`]. Returns when the execution is over.
unsafe fn begin(runtime: *mut Runtime) {
    // SAFETY: as the caller's.
    unsafe {
        (*runtime).arena.begin();
        if (*runtime).backend == Backend::Threads {
            ending::main_thread();
        }
        let tasks = &mut (*runtime).tasks;
        let task = &mut tasks[0];
        task.context = context::prepare(task.stack, ending::main_thread);
        let to = task.context;
        context::switch(addr_of_mut!((*runtime).launcher), to);
    }
}

/// A child that ended without telling us was killed.
fn died_unnoticed(runtime: &mut Runtime, status: i32) {
    if runtime.ended {
        return;
    }
    let message = if libc::WIFSIGNALED(status) {
        format!("the process was killed by {}", signal_numbers::name(libc::WTERMSIG(status)))
    } else {
        format!("the process ended by itself with exit code {}", libc::WEXITSTATUS(status))
    };
    runtime.trouble = Some(Trouble::new(Kind::Signal, 0, message));
    runtime.run().ending = Some(Ending::Reported);
}
