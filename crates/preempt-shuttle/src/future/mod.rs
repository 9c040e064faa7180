//! Tasks: one thread each, which polls its future whenever its waker was used.

pub mod batch_semaphore;

pub use preempt::future::{block_on, yield_now};

use preempt::facade::{Token, spawn_local as spawn_thread};
use preempt::sync::Mutex;
use preempt::thread::Builder;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Runs a future as a task of its own.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_local(future)
}

/// Runs a future that need not be `Send` as a task of its own.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let task = TaskToken::new();
    let packet = Arc::new(Mutex::new(Packet { result: None, done: false, waker: None }));
    let (mine, theirs) = ((task.clone(), packet.clone()), packet.clone());
    let _ = spawn_thread(Builder::new(), move || {
        let (task, packet) = mine;
        run(future, &task, &packet);
    });
    JoinHandle { task, packet: theirs }
}

/// Polls until the future is ready or the task aborted, and hands over the result.
fn run<F: Future>(future: F, task: &Arc<TaskToken>, packet: &Mutex<Packet<F::Output>>) {
    let waker = Waker::from(task.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = Box::pin(future);
    let result = loop {
        task.token.wait();
        // Set right after the token was given, so it is known to whoever took the token later.
        if task.aborted.load(Relaxed) {
            break Err(JoinError::Cancelled);
        }
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            break Ok(value);
        }
    };
    drop(future);
    let waker = {
        let mut packet = packet.lock().unwrap_or_else(PoisonError::into_inner);
        packet.result = Some(result);
        packet.done = true;
        packet.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// What wakes a task: a token, and whether it is to end.
struct TaskToken {
    token: Token,
    aborted: AtomicBool,
}

impl TaskToken {
    /// Made here, and not at a line of the test: no binding there has its name.
    fn new() -> Arc<Self> {
        Arc::new(TaskToken { token: Token::given(), aborted: AtomicBool::new(false) })
    }

    #[track_caller]
    fn abort(&self) {
        self.token.give();
        self.aborted.store(true, Relaxed);
    }
}

impl Wake for TaskToken {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.token.give();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.token.give();
    }
}

struct Packet<T> {
    result: Option<Result<T, JoinError>>,
    done: bool,
    waker: Option<Waker>,
}

/// Why there is no result.
#[derive(Debug)]
pub enum JoinError {
    /// The task was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl std::error::Error for JoinError {}

/// The result of a task, to be awaited. Dropping it does not stop the task.
pub struct JoinHandle<T> {
    task: Arc<TaskToken>,
    packet: Arc<Mutex<Packet<T>>>,
}

// SAFETY: all tasks of an execution run on one thread of the operating system, and a handle is of
// no use outside its execution.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Ends the task when it is polled next, unless it is done.
    #[track_caller]
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task is done.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.packet.lock().unwrap_or_else(PoisonError::into_inner).done
    }

    /// A handle that can abort the task.
    pub fn abort_handle(&self) -> AbortHandle
    where
        T: 'static,
    {
        let packet = self.packet.clone();
        let is_done = move || packet.lock().unwrap_or_else(PoisonError::into_inner).done;
        AbortHandle { task: self.task.clone(), is_done: Arc::new(is_done) }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut packet = self.packet.lock().unwrap_or_else(PoisonError::into_inner);
        match packet.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                packet.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinHandle { .. }")
    }
}

/// Aborts a task.
#[derive(Clone)]
pub struct AbortHandle {
    task: Arc<TaskToken>,
    is_done: Arc<dyn Fn() -> bool>,
}

// SAFETY: as for `JoinHandle`.
unsafe impl Send for AbortHandle {}
// SAFETY: as for `JoinHandle`.
unsafe impl Sync for AbortHandle {}

impl AbortHandle {
    /// Ends the task when it is polled next, unless it is done.
    #[track_caller]
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task is done.
    pub fn is_finished(&self) -> bool {
        (self.is_done)()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AbortHandle { .. }")
    }
}
