//! Running futures: one thread per task, wakers as visible objects.
//!
//! A task is polled; when it is pending, its thread waits for a token that its waker gives.
//! Wake-ups before, between and after polls are explored like any other operation. A task that wakes
//! itself and is pending only lets others run: that is a yield, so that loops of this kind end. Polls
//! without a wake-up are explored on request ([`Check::spurious`](crate::Check::spurious)).

use crate::rt::{self, Slot};
use crate::thread;
use preempt_explore::{Action, Operation};
pub use std::future::*;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

struct Token {
    slot: Slot,
    /// The thread that polls, if it is under control.
    owner: Option<preempt_explore::ThreadId>,
    /// Whether that thread has woken itself.
    again: AtomicBool,
    outside: std::thread::Thread,
}

impl Token {
    fn new() -> Arc<Self> {
        Arc::new(Token {
            slot: Slot::new(0),
            owner: rt::current().map(|runtime| runtime.run().current),
            again: AtomicBool::new(false),
            outside: std::thread::current(),
        })
    }

    fn wait(&self, site: &'static Location<'static>) {
        match rt::current() {
            Some(runtime) if self.again.swap(false, Relaxed) => rt::yield_now(runtime, site),
            Some(runtime) => {
                let object = self.slot.object(runtime, || 0);
                let spurious = Operation::SPURIOUS;
                rt::operation(runtime, Action::TakeToken, object, 0, spurious, site);
            }
            None => std::thread::park(),
        }
    }
}

impl Wake for Token {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        match rt::current() {
            Some(runtime) if self.owner == Some(runtime.run().current) => {
                self.again.store(true, Relaxed);
            }
            Some(runtime) => {
                let object = self.slot.object(runtime, || 0);
                rt::operation(runtime, Action::GiveToken, object, 0, 0, Location::caller());
            }
            None => self.outside.unpark(),
        }
    }
}

/// Runs a future to its end on this thread.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let site = Location::caller();
    let token = Token::new();
    let waker = Waker::from(token.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => token.wait(site),
        }
    }
}

/// Runs a future as a task of its own.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let shared = Arc::new(crate::sync::Mutex::new(State { result: None, waker: None }));
    let theirs = shared.clone();
    thread::spawn(move || {
        let result = block_on(future);
        let waker = {
            let mut state = theirs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            state.result = Some(result);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    });
    JoinHandle { shared }
}

struct State<T> {
    result: Option<T>,
    waker: Option<Waker>,
}

/// The result of a task, to be awaited. Dropping it does not stop the task.
pub struct JoinHandle<T> {
    shared: Arc<crate::sync::Mutex<State<T>>>,
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match state.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JoinHandle { .. }")
    }
}

/// Lets other tasks run once.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
