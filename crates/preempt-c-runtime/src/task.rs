//! One thread of the program: its context, and what only it knows.

use crate::spinning::Spinning;
use crate::weak_failures::WeakFailures;
use preempt_explore::ThreadId;
use std::ffi::{c_int, c_void};

/// The most threads of a program.
pub(crate) const MOST: usize = 256;

/// A thread's function.
pub(crate) type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// Return addresses, the innermost first.
pub(crate) type Frames = Box<[usize]>;

/// The destructor of a value of which the running thread has dropped the last reference.
pub(crate) struct Destructor {
    /// The count of references to the value. That of weak ones lies behind it.
    pub(crate) count: usize,
    /// The object that the count is.
    pub(crate) index: u32,
    /// Places that it has written to, or that other threads use, and did not free.
    pub(crate) touched: Vec<usize>,
}

/// Where an operation was called and what it is about, for reports.
#[derive(Clone, Copy, Default)]
pub(crate) struct CallSite {
    pub(crate) pc: usize,
    pub(crate) address: usize,
}

/// One thread. The stack and the thread-local block stay for the next execution.
pub(crate) struct Task {
    /// Saved stack pointer while another thread runs.
    pub(crate) context: usize,
    /// Upper end of its stack; 0 before it has one.
    pub(crate) stack: usize,
    /// Below it, nothing on its stack is in use by the program, while another thread runs.
    pub(crate) low: usize,
    /// Base of its thread-local block; 0 before it has one.
    pub(crate) block: usize,
    pub(crate) start: Option<Start>,
    pub(crate) argument: *mut c_void,
    pub(crate) parent: ThreadId,
    /// What its last operation has seen.
    pub(crate) result: u64,
    /// What its function returned.
    pub(crate) value: *mut c_void,
    pub(crate) detached: bool,
    pub(crate) joined: bool,
    pub(crate) ended: bool,
    /// No other thread moves before its next operation.
    pub(crate) indivisible: u32,
    /// Where it stands.
    pub(crate) call_site: CallSite,
    /// Values of thread-specific keys.
    pub(crate) keys: Vec<(libc::pthread_key_t, usize)>,
    /// Buffers of cleanup handlers, the innermost last.
    pub(crate) cleanups: Vec<usize>,
    /// Robust mutexes that it holds.
    pub(crate) robust: Vec<usize>,
    /// Signals that it blocks, and those of them that it has been sent, a bit each.
    pub(crate) blocked_signals: u64,
    pub(crate) pending_signals: u64,
    /// What it remembered when it yielded last, where that was looked at.
    pub(crate) memory: u64,
    /// How often it has asked for random bytes.
    pub(crate) random: u64,
    /// Atomic objects that it has written to by plain accesses since its last operation.
    pub(crate) stale: Vec<u32>,
    pub(crate) spinning: Spinning,
    pub(crate) weak_failures: WeakFailures,
    /// Destructors of values of `Arc` that it is in, the innermost last.
    pub(crate) destructors: Vec<Destructor>,
    /// Writes to memory that may be shared.
    pub(crate) writes: u64,
    /// On real threads: set when it may run.
    pub(crate) turn: u32,
    /// On real threads: what `pthread_self` returns.
    pub(crate) identity: usize,
    /// The calls that have led to where it stands, where places are kept.
    pub(crate) frames: Frames,
    /// The call of the kernel or the C library that it is in, where places are kept.
    pub(crate) call: Option<usize>,
    /// The calls that have led to its creation, likewise.
    pub(crate) creation: Frames,
    /// What the program calls it; empty if it has no name.
    pub(crate) name: String,
    /// What it asks the C library for that makes no difference here.
    pub(crate) settings: Settings,
}

/// What a thread asks for that makes no difference here, and is told when it looks.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) policy: c_int,
    pub(crate) priority: c_int,
    /// The processors that it may run on, as it has said.
    pub(crate) processors: Vec<u8>,
    pub(crate) cancel_state: c_int,
    pub(crate) cancel_type: c_int,
}

impl Task {
    pub(crate) fn new() -> Self {
        Task {
            context: 0,
            stack: 0,
            low: 0,
            block: 0,
            start: None,
            argument: std::ptr::null_mut(),
            parent: ThreadId::MAIN,
            result: 0,
            value: std::ptr::null_mut(),
            detached: false,
            joined: false,
            ended: false,
            indivisible: 0,
            call_site: CallSite::default(),
            keys: Vec::new(),
            cleanups: Vec::new(),
            robust: Vec::new(),
            blocked_signals: 0,
            pending_signals: 0,
            memory: 0,
            random: 0,
            stale: Vec::new(),
            spinning: Spinning::default(),
            weak_failures: WeakFailures::default(),
            destructors: Vec::new(),
            writes: 0,
            turn: 0,
            identity: 0,
            frames: Frames::default(),
            call: None,
            creation: Frames::default(),
            name: String::new(),
            settings: Settings::default(),
        }
    }

    /// Forgets the last execution, keeping what is expensive to make.
    pub(crate) fn clear(&mut self) {
        let kept = (self.stack, self.block);
        let (mut keys, mut stale, spinning, mut weak_failures) = (
            std::mem::take(&mut self.keys),
            std::mem::take(&mut self.stale),
            std::mem::take(&mut self.spinning),
            std::mem::take(&mut self.weak_failures),
        );
        keys.clear();
        stale.clear();
        weak_failures.clear();
        *self = Task { keys, stale, spinning, weak_failures, ..Task::new() };
        (self.stack, self.block) = kept;
    }
}
