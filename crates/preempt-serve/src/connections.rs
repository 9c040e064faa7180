//! Which connections may stay open, and for how long.
//!
//! Every program on the machine can connect to a port of the loopback interface. A connection is a *stranger* until
//! one of its requests has the token: strangers have a few seconds and a few places, and the newest takes the place
//! of the oldest. Connections with the token have places of their own, so that strangers cannot keep them out.
//!
//! **Invariant:** at most [`MOST_STRANGERS`] and [`MOST_ADMITTED`] connections are open; none waits longer than
//! [`WRITE_TIME`] for the other end to read.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Sleep};

/// Connections that have not shown the token.
const MOST_STRANGERS: usize = 64;
/// Connections that have.
const MOST_ADMITTED: usize = 64;
/// How long a stranger may take to show it.
const STRANGER_TIME: Duration = Duration::from_secs(10);
/// How long the other end may take to read something.
const WRITE_TIME: Duration = Duration::from_secs(20);

/// All connections of a server.
#[derive(Clone, Default)]
pub(crate) struct Connections {
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    /// Oldest first.
    strangers: VecDeque<(u64, AbortHandle)>,
    admitted: usize,
    next: u64,
}

/// The place of one connection, which is free again when this is dropped.
pub(crate) struct Place {
    number: u64,
    connections: Connections,
    is_admitted: Mutex<bool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connections {
    /// Serves a new connection, a stranger so far. Where there are too many, the oldest one has to go.
    pub(crate) fn open<F: Future<Output = ()> + Send + 'static>(
        &self,
        serve: impl FnOnce(Place) -> F,
    ) {
        let mut open = lock(&self.open);
        let number = open.next;
        open.next += 1;
        let place = Place { number, connections: self.clone(), is_admitted: Mutex::new(false) };
        let task = tokio::spawn(serve(place));
        let handle = task.abort_handle();
        open.strangers.push_back((number, handle.clone()));
        if open.strangers.len() > MOST_STRANGERS
            && let Some((_, oldest)) = open.strangers.pop_front()
        {
            oldest.abort();
        }
        drop(open);
        let connections = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(STRANGER_TIME).await;
            if lock(&connections.open).remove_stranger(number) {
                handle.abort();
            }
        });
    }
}

impl Open {
    fn remove_stranger(&mut self, number: u64) -> bool {
        let place = self.strangers.iter().position(|(known, _)| *known == number);
        place.and_then(|at| self.strangers.remove(at)).is_some()
    }
}

impl Place {
    /// The connection has shown the token; false if too many others have, too.
    pub(crate) fn admit(&self) -> bool {
        let mut is_admitted = lock(&self.is_admitted);
        if *is_admitted {
            return true;
        }
        let mut open = lock(&self.connections.open);
        if open.admitted >= MOST_ADMITTED {
            return false;
        }
        open.remove_stranger(self.number);
        open.admitted += 1;
        *is_admitted = true;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = lock(&self.connections.open);
        match *lock(&self.is_admitted) {
            true => open.admitted -= 1,
            false => _ = open.remove_stranger(self.number),
        }
    }
}

/// A stream that gives up when the other end does not read.
pub(crate) struct Patient {
    stream: TcpStream,
    /// Since something has to wait.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Patient { stream, deadline: None }
    }

    /// What writing came to, unless it has been waiting for too long.
    fn or_late<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let begin = || Box::pin(tokio::time::sleep_until(Instant::now() + WRITE_TIME));
        ready!(self.deadline.get_or_insert_with(begin).as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.or_late(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = Pin::new(&mut self.stream).poll_flush(context);
        self.or_late(context, written)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = Pin::new(&mut self.stream).poll_shutdown(context);
        self.or_late(context, written)
    }
}
