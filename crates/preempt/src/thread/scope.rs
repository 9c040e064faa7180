//! Scoped threads: they may borrow, because the scope waits for them.

use super::handle::{
    Builder, Packet, Thread, await_end, caught, has_ended, join_controlled, no_result,
    spawn_controlled,
};
use crate::rt;
use preempt_explore::ObjectId;
use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::panic::{Location, resume_unwind};
use std::sync::Arc;

/// A scope in which threads may borrow from outside it.
pub struct Scope<'scope, 'env: 'scope> {
    threads: RefCell<Vec<(preempt_explore::ThreadId, Option<ObjectId>)>>,
    outside: Option<&'scope std::thread::Scope<'scope, 'env>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: the list of threads is only touched under control, that is on one operating system
// thread.
unsafe impl Sync for Scope<'_, '_> {}

/// Runs a closure with a scope, then waits for all threads spawned in it.
#[track_caller]
pub fn scope<'env, F, T>(function: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let site = Location::caller();
    if !rt::is_controlled() {
        return std::thread::scope(|outside| {
            let scope = Scope {
                threads: RefCell::default(),
                outside: Some(outside),
                scope: PhantomData,
                env: PhantomData,
            };
            // SAFETY: std's scope lives as long as its threads, and so may ours: it is leaked
            // into the scope's own lifetime only for the duration of this call, and threads
            // spawned through it use std's scope, which waits for them.
            let scope = unsafe { &*std::ptr::from_ref(&scope) };
            function(scope)
        });
    }
    let scope =
        Scope { threads: RefCell::default(), outside: None, scope: PhantomData, env: PhantomData };
    let result = caught(|| function(&scope));
    let mut unseen = false;
    loop {
        // One at a time: a thread may spawn further ones into the scope.
        let Some((thread, end)) = scope.threads.borrow_mut().pop() else { break };
        match end {
            // Its thread-locals may still be dropped when the scope has ended.
            Some(end) => await_end(end, site),
            None => join_controlled(thread, site),
        }
        unseen |= rt::payload_of(thread).is_some();
    }
    match result {
        Ok(_) if unseen => panic!("a scoped thread panicked"),
        Ok(value) => value,
        Err(payload) => resume_unwind(payload),
    }
}

enum Inner<'scope, T> {
    Controlled(preempt_explore::ThreadId, Arc<Packet<T>>, Thread),
    Std(std::thread::ScopedJoinHandle<'scope, T>, Thread),
}

/// Permission to wait for a scoped thread.
pub struct ScopedJoinHandle<'scope, T>(Inner<'scope, T>, PhantomData<&'scope ()>);

impl std::panic::RefUnwindSafe for Scope<'_, '_> {}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a thread in the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, function: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_as(Builder::new(), function).expect("failed to spawn thread")
    }

    #[track_caller]
    pub(super) fn spawn_as<F, T>(
        &'scope self,
        builder: Builder,
        function: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let inner = match (self.outside, rt::current()) {
            (None, Some(runtime)) => {
                let end = runtime.enters_scope();
                // SAFETY: `scope` waits for the closure of every thread in the list before it returns or unwinds,
                // and if the execution ends early neither it nor the thread runs again.
                let (id, packet) =
                    unsafe { spawn_controlled(runtime, builder.settings(), Some(end), function) };
                self.threads.borrow_mut().push((id, end));
                Inner::Controlled(id, packet, Thread::controlled(id))
            }
            (Some(outside), _) => {
                let handle = builder.outside().spawn_scoped(outside, function)?;
                let thread = Thread::outside(handle.thread());
                Inner::Std(handle, thread)
            }
            (None, None) => unreachable!("a scope under control is left under control"),
        };
        Ok(ScopedJoinHandle(inner, PhantomData))
    }
}

impl Builder {
    /// Starts the thread in a scope.
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        function: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.spawn_as(self, function)
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread and takes its result.
    #[track_caller]
    pub fn join(self) -> super::Result<T> {
        match self.0 {
            Inner::Std(handle, _) => handle.join(),
            Inner::Controlled(id, packet, _) => {
                join_controlled(id, Location::caller());
                packet.take().ok_or_else(|| no_result(id))
            }
        }
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        match &self.0 {
            Inner::Std(_, thread) | Inner::Controlled(_, _, thread) => thread,
        }
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Inner::Std(handle, _) => handle.is_finished(),
            Inner::Controlled(id, ..) => has_ended(*id, Location::caller()),
        }
    }
}
