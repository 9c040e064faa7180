//! Channels, with the shapes of `std::sync::mpsc`.

use crate::rt::{self, Slot};
use preempt_explore::{Action, Channel as State};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// A place in the source.
type Place = &'static Location<'static>;

struct Shared<T> {
    slot: Slot,
    /// Nothing is kept: senders and the receiver meet.
    rendezvous: bool,
    queue: UnsafeCell<VecDeque<T>>,
    /// Where the channel was made; destructors have no place of their own.
    site: Place,
}

// SAFETY: channels of this type exist only under control, where all threads share one operating
// system thread; each push and pop directly follows the visible operation that permits it.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    #[track_caller]
    fn operate(&self, action: Action, first: u64, second: u64) -> Option<u64> {
        self.operate_at(Location::caller(), action, first, second)
    }

    fn operate_at(&self, site: Place, action: Action, first: u64, second: u64) -> Option<u64> {
        let runtime = rt::current()?;
        let object = self.slot.object(runtime, || 0);
        Some(rt::operation(runtime, action, object, first, second, site))
    }

    /// The receiver is about to wait.
    fn offer(&self, site: Place) {
        let known = rt::current().is_some_and(|runtime| runtime.run().rules.offers);
        if self.rendezvous && known {
            self.operate_at(site, Action::Offer, 0, 0);
        }
    }

    fn push(&self, value: T) {
        // SAFETY: see the `Sync` implementation; nothing runs between the borrow and its end.
        unsafe { (*self.queue.get()).push_back(value) };
    }

    fn pop(&self) -> Option<T> {
        // SAFETY: as in `push`.
        unsafe { (*self.queue.get()).pop_front() }
    }

    fn add_sender(&self) {
        if let Some(runtime) = rt::current() {
            let object = self.slot.object(runtime, || 0);
            rt::add_sender(runtime, object);
        }
    }
}

#[track_caller]
fn shared<T>(rendezvous: bool) -> Option<Arc<Shared<T>>> {
    if !rt::is_controlled() {
        return None;
    }
    let state = State { length: 0, senders: 1, receiver: true, offered: false };
    let (slot, queue) = (Slot::new(state.value()), UnsafeCell::default());
    Some(Arc::new(Shared { slot, rendezvous, queue, site: Location::caller() }))
}

/// A channel without limit.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    match shared(false) {
        Some(shared) => (
            Sender(SenderInner::Controlled(shared.clone())),
            Receiver(ReceiverInner::Controlled(shared)),
        ),
        None => {
            let (sender, receiver) = std::sync::mpsc::channel();
            (Sender(SenderInner::Std(sender)), Receiver(ReceiverInner::Std(receiver)))
        }
    }
}

/// A channel that holds at most `capacity` messages; with 0, a sender waits for the receiver.
#[track_caller]
pub fn sync_channel<T>(capacity: usize) -> (SyncSender<T>, Receiver<T>) {
    match shared(capacity == 0) {
        Some(shared) => (
            SyncSender(SyncInner::Controlled(shared.clone(), capacity)),
            Receiver(ReceiverInner::Controlled(shared)),
        ),
        None => {
            let (sender, receiver) = std::sync::mpsc::sync_channel(capacity);
            (SyncSender(SyncInner::Std(sender)), Receiver(ReceiverInner::Std(receiver)))
        }
    }
}

enum SenderInner<T> {
    Controlled(Arc<Shared<T>>),
    Std(std::sync::mpsc::Sender<T>),
}

/// The sending side of [`channel`].
pub struct Sender<T>(SenderInner<T>);

impl<T> Sender<T> {
    /// Sends.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.0 {
            SenderInner::Std(sender) => sender.send(value),
            SenderInner::Controlled(shared) => match shared.operate(Action::Send, 0, 0) {
                Some(0) => {
                    shared.push(value);
                    Ok(())
                }
                _ => Err(SendError(value)),
            },
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        match &self.0 {
            SenderInner::Std(sender) => Sender(SenderInner::Std(sender.clone())),
            SenderInner::Controlled(shared) => {
                shared.add_sender();
                Sender(SenderInner::Controlled(shared.clone()))
            }
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if let SenderInner::Controlled(shared) = &self.0 {
            shared.operate_at(shared.site, Action::CloseSender, 0, 0);
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender { .. }")
    }
}

enum SyncInner<T> {
    Controlled(Arc<Shared<T>>, usize),
    Std(std::sync::mpsc::SyncSender<T>),
}

/// The sending side of [`sync_channel`].
pub struct SyncSender<T>(SyncInner<T>);

impl<T> SyncSender<T> {
    /// Sends, waiting for room if need be.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let (shared, capacity) = match &self.0 {
            SyncInner::Std(sender) => return sender.send(value),
            SyncInner::Controlled(shared, capacity) => (shared, *capacity),
        };
        if shared.operate(Action::Send, capacity as u64 + 1, 0) != Some(0) {
            return Err(SendError(value));
        }
        shared.push(value);
        if capacity == 0 {
            self.await_taken(shared)?;
        }
        Ok(())
    }

    /// Sends if there is room. A rendezvous channel has room only while the receiver waits.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let (shared, capacity) = match &self.0 {
            SyncInner::Std(sender) => return sender.try_send(value),
            SyncInner::Controlled(shared, capacity) => (shared, *capacity),
        };
        if let Some(runtime) = rt::current().filter(|_| capacity == 0) {
            rt::keep_offers(runtime);
        }
        match shared.operate(Action::TrySend, capacity as u64 + 1, 0) {
            Some(0) => {
                shared.push(value);
                Ok(())
            }
            Some(1) => Err(TrySendError::Full(value)),
            _ => Err(TrySendError::Disconnected(value)),
        }
    }

    #[track_caller]
    fn await_taken(&self, shared: &Shared<T>) -> Result<(), SendError<T>> {
        let Some(runtime) = rt::current() else { return Ok(()) };
        let object = shared.slot.object(runtime, || 0);
        let ticket = runtime.run().state.messages(object);
        let disconnected = shared.operate(Action::AwaitTaken, ticket, 0) == Some(1);
        match disconnected.then(|| shared.pop()).flatten() {
            Some(value) => Err(SendError(value)),
            None => Ok(()),
        }
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> Self {
        match &self.0 {
            SyncInner::Std(sender) => SyncSender(SyncInner::Std(sender.clone())),
            SyncInner::Controlled(shared, capacity) => {
                shared.add_sender();
                SyncSender(SyncInner::Controlled(shared.clone(), *capacity))
            }
        }
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        if let SyncInner::Controlled(shared, _) = &self.0 {
            shared.operate_at(shared.site, Action::CloseSender, 0, 0);
        }
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SyncSender { .. }")
    }
}

enum ReceiverInner<T> {
    Controlled(Arc<Shared<T>>),
    Std(std::sync::mpsc::Receiver<T>),
}

/// The receiving side of a channel.
pub struct Receiver<T>(ReceiverInner<T>);

impl<T> Receiver<T> {
    /// Receives, waiting for a message if need be.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.recv_at(Location::caller())
    }

    fn recv_at(&self, site: Place) -> Result<T, RecvError> {
        match &self.0 {
            ReceiverInner::Std(receiver) => receiver.recv(),
            ReceiverInner::Controlled(shared) => {
                shared.offer(site);
                match shared.operate_at(site, Action::Receive, shared.rendezvous.into(), 0) {
                    Some(0) => shared.pop().ok_or(RecvError),
                    _ => Err(RecvError),
                }
            }
        }
    }

    /// Receives if there is a message.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.try_recv_at(Location::caller())
    }

    fn try_recv_at(&self, site: Place) -> Result<T, TryRecvError> {
        match &self.0 {
            ReceiverInner::Std(receiver) => receiver.try_recv(),
            ReceiverInner::Controlled(shared) => {
                match shared.operate_at(site, Action::TryReceive, shared.rendezvous.into(), 0) {
                    Some(0) => shared.pop().ok_or(TryRecvError::Empty),
                    Some(1) => Err(TryRecvError::Empty),
                    _ => Err(TryRecvError::Disconnected),
                }
            }
        }
    }

    /// Receives, waiting for a limited time. Both outcomes are explored.
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        match &self.0 {
            ReceiverInner::Std(receiver) => receiver.recv_timeout(limit),
            ReceiverInner::Controlled(shared) => {
                shared.offer(Location::caller());
                match shared.operate(Action::Receive, shared.rendezvous.into(), 1) {
                    Some(0) => shared.pop().ok_or(RecvTimeoutError::Timeout),
                    Some(3) => {
                        rt::pass(limit);
                        Err(RecvTimeoutError::Timeout)
                    }
                    _ => Err(RecvTimeoutError::Disconnected),
                }
            }
        }
    }

    /// Receives until all senders are gone.
    #[track_caller]
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self, Location::caller())
    }

    /// Receives until the channel is empty.
    #[track_caller]
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self, Location::caller())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let ReceiverInner::Controlled(shared) = &self.0 {
            shared.operate_at(shared.site, Action::CloseReceiver, 0, 0);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver { .. }")
    }
}

/// Iterator of [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>, Place);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv_at(self.1).ok()
    }
}

/// Iterator of [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>, Place);

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv_at(self.1).ok()
    }
}

/// Iterator that owns its receiver.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>, Place);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv_at(self.1).ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    #[track_caller]
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self, Location::caller())
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    #[track_caller]
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
