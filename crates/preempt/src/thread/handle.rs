//! Spawning, joining, and handles of threads.

use crate::rt::{self, Body};
use preempt_explore::{Action, ObjectId};
use std::any::Any;
use std::cell::UnsafeCell;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

/// The result of a thread, written by it before it ends and taken by the thread that joins it.
pub(super) struct Packet<T>(UnsafeCell<Option<T>>);

// SAFETY: the value moves from the thread that ends to the one that joins it. All threads under
// control run on one operating system thread.
unsafe impl<T: Send> Sync for Packet<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Packet<T> {}

impl<T> Packet<T> {
    fn put(&self, value: T) {
        // SAFETY: written once, before the thread ends.
        unsafe { *self.0.get() = Some(value) };
    }

    pub(super) fn take(&self) -> Option<T> {
        // SAFETY: read after a join, when the writer has ended.
        unsafe { (*self.0.get()).take() }
    }
}

/// Prepares a thread under control; the closure may borrow for as long as the caller makes sure
/// it is joined.
///
/// # Safety
/// The thread must have ended, or never run again, before anything it borrows goes away.
///
/// `scope`: the thread belongs to one, and what is there is given a token when the closure has ended.
#[track_caller]
pub(super) unsafe fn spawn_controlled<'a, F, T>(
    runtime: &mut rt::Runtime,
    (name, stack): (Option<String>, usize),
    scope: Option<Option<ObjectId>>,
    function: F,
) -> (preempt_explore::ThreadId, Arc<Packet<T>>)
where
    F: FnOnce() -> T + 'a,
    T: 'a,
{
    let packet = Arc::new(Packet(UnsafeCell::new(None)));
    let theirs = packet.clone();
    let site = Location::caller();
    let body: Box<dyn FnOnce() + 'a> = Box::new(move || {
        if let (Some(_), Some(runtime)) = (scope, rt::current()) {
            runtime.belongs_to_scope();
        }
        let _ends = Ends(scope.flatten(), site);
        theirs.put(function());
    });
    // SAFETY: only the lifetime changes; see the contract of this function.
    let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'a>, Body>(body) };
    let id = rt::spawn(runtime, name, stack, body, site);
    (id, packet)
}

/// Says that a closure has ended, also if it panics.
struct Ends(Option<ObjectId>, &'static Location<'static>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let (Some(end), Some(runtime)) = (self.0, rt::current()) {
            rt::operation(runtime, Action::GiveToken, end, 0, 0, self.1);
        }
    }
}

/// Waits until a closure has ended.
pub(super) fn await_end(end: ObjectId, site: &'static Location<'static>) {
    if let Some(runtime) = rt::current() {
        rt::operation(runtime, Action::TakeToken, end, 0, 0, site);
    }
}

/// Waits for a thread under control.
pub(super) fn join_controlled(id: preempt_explore::ThreadId, site: &'static Location<'static>) {
    if let Some(runtime) = rt::current() {
        rt::operation(runtime, Action::Join, ObjectId::NONE, u64::from(id.0), 0, site);
    }
}

/// Whether a thread under control has ended.
pub(super) fn has_ended(id: preempt_explore::ThreadId, site: &'static Location<'static>) -> bool {
    rt::current().is_some_and(|runtime| rt::has_ended(runtime, id, site))
}

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(function: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(function).expect("failed to spawn thread")
}

/// A thread to be, with a name.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack: Option<usize>,
}

impl Builder {
    /// A thread without name.
    pub fn new() -> Self {
        Builder::default()
    }

    /// Gives it a name, which reports use.
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// The size of its stack. Under control it is at least the one given by `Check::stack`.
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack = Some(size);
        self
    }

    /// Starts the thread.
    #[track_caller]
    pub fn spawn<F, T>(self, function: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let inner = match rt::current() {
            Some(runtime) => return Ok(self.spawn_controlled(runtime, function)),
            None => {
                let handle = self.outside().spawn(function)?;
                let thread = Thread::outside(handle.thread());
                Inner::Std { handle, thread }
            }
        };
        Ok(JoinHandle(inner))
    }

    /// Starts the thread, which may borrow.
    ///
    /// # Safety
    /// As for `std::thread::Builder::spawn_unchecked`: the thread has ended before anything that it borrows goes away. Under
    /// control its execution may also have been abandoned.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, function: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let Some(runtime) = rt::current() else {
            // SAFETY: the caller's promise.
            let handle = unsafe { self.outside().spawn_unchecked(function) }?;
            let thread = Thread::outside(handle.thread());
            return Ok(JoinHandle(Inner::Std { handle, thread }));
        };
        // SAFETY: the caller's promise.
        let (id, packet) = unsafe { spawn_controlled(runtime, self.settings(), None, function) };
        Ok(JoinHandle(Inner::Controlled { id, packet, thread: Thread::controlled(id) }))
    }

    /// The name and the size of the stack of a thread under control.
    pub(super) fn settings(self) -> (Option<String>, usize) {
        (self.name, self.stack.unwrap_or(0))
    }

    /// The same thread to be, out of control.
    pub(super) fn outside(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(stack) = self.stack {
            builder = builder.stack_size(stack);
        }
        builder
    }

    /// Starts the thread under control. It runs on the operating system thread that calls, so its
    /// closure need not be `Send`.
    #[track_caller]
    pub(crate) fn spawn_controlled<F, T>(
        self,
        runtime: &mut rt::Runtime,
        function: F,
    ) -> JoinHandle<T>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        // SAFETY: the closure borrows nothing.
        let (id, packet) = unsafe { spawn_controlled(runtime, self.settings(), None, function) };
        JoinHandle(Inner::Controlled { id, packet, thread: Thread::controlled(id) })
    }
}

enum Inner<T> {
    Controlled { id: preempt_explore::ThreadId, packet: Arc<Packet<T>>, thread: Thread },
    Std { handle: std::thread::JoinHandle<T>, thread: Thread },
}

/// Permission to wait for a thread.
pub struct JoinHandle<T>(Inner<T>);

// SAFETY: as for std's: what the thread returns was `Send` when it was spawned, and is moved, never shared.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Waits for the thread and takes its result.
    #[track_caller]
    pub fn join(self) -> super::Result<T> {
        match self.0 {
            Inner::Std { handle, .. } => handle.join(),
            Inner::Controlled { id, packet, .. } => {
                join_controlled(id, Location::caller());
                packet.take().ok_or_else(|| no_result(id))
            }
        }
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        match &self.0 {
            Inner::Controlled { thread, .. } | Inner::Std { thread, .. } => thread,
        }
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Inner::Std { handle, .. } => handle.is_finished(),
            Inner::Controlled { id, .. } => has_ended(*id, Location::caller()),
        }
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JoinHandle { .. }")
    }
}

/// What a thread that left no result has panicked with.
pub(super) fn no_result(id: preempt_explore::ThreadId) -> Box<dyn Any + Send> {
    rt::payload_of(id).unwrap_or_else(|| Box::new("the thread left no result"))
}

/// A unique name of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(u64);

/// shuttle's: the position of a thread of this execution in the order of spawning.
#[doc(hidden)]
impl From<ThreadId> for usize {
    fn from(id: ThreadId) -> usize {
        let thread = u32::try_from(id.0).map(preempt_explore::ThreadId);
        match (thread, rt::current()) {
            (Ok(thread), Some(runtime)) => runtime.run().ordinal(thread),
            _ => usize::MAX,
        }
    }
}

#[derive(Clone, Debug)]
enum Handle {
    Controlled { id: preempt_explore::ThreadId, token: ObjectId, name: Option<String> },
    Std(std::thread::Thread),
}

impl Handle {
    fn controlled(id: preempt_explore::ThreadId) -> Self {
        let (token, name) = match rt::current() {
            Some(runtime) => {
                (runtime.run().state.thread(id).token, runtime.names.get(&id).cloned())
            }
            None => (ObjectId::NONE, None),
        };
        Handle::Controlled { id, token, name }
    }
}

/// A handle to a thread.
#[derive(Clone, Debug)]
pub struct Thread(Handle);

impl Thread {
    pub(super) fn controlled(id: preempt_explore::ThreadId) -> Self {
        Thread(Handle::controlled(id))
    }

    pub(super) fn outside(thread: &std::thread::Thread) -> Self {
        Thread(Handle::Std(thread.clone()))
    }

    /// Makes a token available to the thread, which ends its current or next park.
    #[track_caller]
    pub fn unpark(&self) {
        match (&self.0, rt::current()) {
            (Handle::Std(thread), _) => thread.unpark(),
            (Handle::Controlled { token, .. }, Some(runtime)) => {
                rt::operation(runtime, Action::GiveToken, *token, 0, 0, Location::caller());
            }
            (Handle::Controlled { .. }, None) => {}
        }
    }

    /// Its name.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Handle::Std(thread) => thread.name(),
            Handle::Controlled { name, .. } => name.as_deref(),
        }
    }

    /// Its unique name.
    pub fn id(&self) -> ThreadId {
        match &self.0 {
            Handle::Controlled { id, .. } => ThreadId(u64::from(id.0)),
            Handle::Std(thread) => {
                use std::hash::{Hash, Hasher};
                let mut hasher = rustc_hash::FxHasher::default();
                thread.id().hash(&mut hasher);
                ThreadId(hasher.finish() | 1 << 63)
            }
        }
    }
}

/// The thread that calls.
pub fn current() -> Thread {
    match rt::current() {
        Some(runtime) => Thread(Handle::controlled(runtime.run().current)),
        None => Thread(Handle::Std(std::thread::current())),
    }
}

/// Calls a closure and catches its panic; used by scopes.
pub(super) fn caught<R>(function: impl FnOnce() -> R) -> std::thread::Result<R> {
    catch_unwind(AssertUnwindSafe(function))
}
