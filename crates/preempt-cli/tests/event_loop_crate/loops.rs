//! Tests over event loops of published crates: the source of a crate that `cargo_event_loops.rs` explores.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

fn woken(early: bool) {
    use mio::{Events, Poll, Token, Waker};
    let mut poll = Poll::new().unwrap();
    let waker = Arc::new(Waker::new(poll.registry(), Token(7)).unwrap());
    let ready = Arc::new(AtomicBool::new(false));
    let (w, r) = (waker.clone(), ready.clone());
    let thread = thread::spawn(move || {
        if early {
            w.wake().unwrap();
        }
        r.store(true, SeqCst);
        if !early {
            w.wake().unwrap();
        }
    });
    let mut events = Events::with_capacity(4);
    poll.poll(&mut events, None).unwrap();
    assert_eq!(events.iter().next().unwrap().token(), Token(7));
    assert!(ready.load(SeqCst), "woken too early");
    thread.join().unwrap();
}

#[test]
fn mio_is_woken() {
    woken(false);
}

#[test]
fn mio_is_woken_too_early() {
    woken(true);
}

#[test]
fn mio_reads_a_pipe() {
    use mio::{Events, Interest, Poll, Token, unix::pipe};
    let mut poll = Poll::new().unwrap();
    let (mut sender, mut receiver) = pipe::new().unwrap();
    poll.registry().register(&mut receiver, Token(1), Interest::READABLE).unwrap();
    let thread = thread::spawn(move || sender.write_all(b"ab").unwrap());
    let mut got = Vec::new();
    let mut events = Events::with_capacity(4);
    while got.len() < 2 {
        poll.poll(&mut events, None).unwrap();
        for _ in events.iter() {
            let mut buffer = [0; 8];
            while let Ok(n) = receiver.read(&mut buffer) {
                if n == 0 {
                    break;
                }
                got.extend_from_slice(&buffer[..n]);
            }
        }
    }
    assert_eq!(got, b"ab");
    thread.join().unwrap();
}

fn notified(rounds: usize) {
    let poller = Arc::new(polling::Poller::new().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..rounds)
        .map(|_| {
            let (poller, count) = (poller.clone(), count.clone());
            thread::spawn(move || {
                count.fetch_add(1, SeqCst);
                poller.notify().unwrap();
            })
        })
        .collect();
    let mut events = polling::Events::new();
    // One notification may stand for several.
    while count.load(SeqCst) < rounds {
        events.clear();
        poller.wait(&mut events, None).unwrap();
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn polling_is_notified() {
    notified(2);
}

/// Between the notification and the flag the poller may be asked, and waits for ever.
#[test]
fn polling_misses_what_comes_later() {
    let poller = Arc::new(polling::Poller::new().unwrap());
    let theirs = poller.clone();
    let set = Arc::new(AtomicBool::new(false));
    let s = set.clone();
    let thread = thread::spawn(move || {
        theirs.notify().unwrap();
        s.store(true, SeqCst);
    });
    let mut events = polling::Events::new();
    while !set.load(SeqCst) {
        events.clear();
        poller.wait(&mut events, None).unwrap();
    }
    thread.join().unwrap();
}

#[test]
fn async_io_waits_for_a_time() {
    async_io::block_on(async {
        async_io::Timer::after(Duration::from_secs(3600)).await;
    });
}

#[test]
fn async_io_reads_a_socket() {
    use futures_lite::{AsyncReadExt, AsyncWriteExt};
    let (a, b) = StdStream::pair().unwrap();
    let (mut a, mut b) = (async_io::Async::new(a).unwrap(), async_io::Async::new(b).unwrap());
    let thread = thread::spawn(move || {
        async_io::block_on(async move { a.write_all(b"x").await.unwrap() });
    });
    async_io::block_on(async {
        let mut buffer = [0; 1];
        b.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"x");
    });
    thread.join().unwrap();
}

#[tokio::test]
async fn tokio_reads_a_socket() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (mut a, mut b) = tokio::net::UnixStream::pair().unwrap();
    let thread = thread::spawn(move || {
        // The other end is written by a plain thread.
        futures_lite::future::block_on(async { a.write_all(b"x").await.unwrap() });
        a
    });
    let mut buffer = [0; 1];
    b.read_exact(&mut buffer).await.unwrap();
    assert_eq!(&buffer, b"x");
    drop(thread.join().unwrap());
}

#[tokio::test]
async fn tokio_waits_for_a_limited_time() {
    let (sender, receiver) = tokio::sync::oneshot::channel::<u32>();
    let thread = thread::spawn(move || sender.send(1));
    let got = tokio::time::timeout(Duration::from_secs(5), receiver).await;
    thread.join().unwrap().ok();
    // The timeout may end first.
    assert!(matches!(got, Ok(Ok(1)) | Err(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn tokio_has_a_worker() {
    let (sender, receiver) = tokio::sync::oneshot::channel::<u32>();
    tokio::spawn(async move { sender.send(1).unwrap() });
    assert_eq!(receiver.await.unwrap(), 1);
}
