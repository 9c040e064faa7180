//! What the runtime itself finds wrong with an execution, and what it notes of panics.

use preempt_explore::{Action, Site, ThreadId};

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
    /// Memory was used in a way that is undefined, by this thread.
    Memory(ThreadId, MemoryError),
    /// The test has spawned a thread of the operating system.
    Uncontrolled,
    /// The test uses an object here that is a copy of a constant.
    Constant(Site),
    /// The test called `abort`.
    Abort,
    /// A panic escaped from a destructor during unwinding.
    DoublePanic(PanicNote),
}

/// How memory was used wrongly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemoryError {
    /// There is none at this address.
    Fault(usize),
    /// It was freed before, by this thread.
    DoubleFree(ThreadId),
    /// An object in it was used although this thread had freed it.
    UseAfterFree(ThreadId),
}

/// Message and place of a panic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PanicNote {
    pub(crate) message: String,
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}
