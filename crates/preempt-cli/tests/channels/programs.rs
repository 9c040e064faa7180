//! What channels order and what they do not, over the types of `library`, which are preempt's or std's.

use super::library::atomic::{AtomicBool, Ordering::Relaxed};
use super::library::mpsc::{channel, sync_channel};
use super::library::{Arc, UnsafeCell, thread};

/// A number without any protection of its own, and a flag that orders nothing.
struct Shared {
    number: UnsafeCell<u32>,
    flag: AtomicBool,
}

// SAFETY: whether its users are ordered is what the programs are about; one thread runs at a time.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Arc<Shared> {
        Arc::new(Shared { number: UnsafeCell::new(0), flag: AtomicBool::new(false) })
    }

    fn write(&self) {
        // SAFETY: as above.
        self.number.with_mut(|number| unsafe { *number = 7 });
    }

    fn read(&self) {
        // SAFETY: as above.
        self.number.with(|number| unsafe { assert!(*number == 0 || *number == 7) });
    }

    fn raise(&self) {
        self.flag.store(true, Relaxed);
    }

    fn wait(&self) {
        while !self.flag.load(Relaxed) {
            thread::yield_now();
        }
    }
}

/// The programs, and whether they have a data race.
pub(crate) const PROGRAMS: [(&str, bool, fn()); 13] = [
    ("a message comes after what its sender has done", false, || {
        let (shared, (sender, receiver)) = (Shared::new(), channel());
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            sender.send(1).unwrap();
        });
        receiver.recv().unwrap();
        shared.read();
        writer.join().unwrap();
    }),
    ("another message that is there already tells nothing", true, || {
        let (shared, (sender, receiver)) = (Shared::new(), channel());
        sender.send(0).unwrap();
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            sender.send(1).unwrap();
            other.raise();
        });
        shared.wait();
        assert_eq!(receiver.recv(), Ok(0));
        shared.read();
        writer.join().unwrap();
    }),
    ("the second message does", false, || {
        let (shared, (sender, receiver)) = (Shared::new(), channel());
        sender.send(0).unwrap();
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            sender.send(1).unwrap();
            other.raise();
        });
        shared.wait();
        assert_eq!((receiver.recv(), receiver.recv()), (Ok(0), Ok(1)));
        shared.read();
        writer.join().unwrap();
    }),
    ("a sender learns nothing of one that was dropped", true, || {
        let (shared, (sender, receiver)) = (Shared::new(), channel());
        let (other, dropped) = (shared.clone(), sender.clone());
        let writer = thread::spawn(move || {
            other.write();
            drop(dropped);
            other.raise();
        });
        shared.wait();
        sender.send(1).unwrap();
        shared.read();
        assert_eq!(receiver.recv(), Ok(1));
        writer.join().unwrap();
    }),
    ("that all senders are gone tells nothing", true, || {
        let (shared, (sender, receiver)) = (Shared::new(), channel::<u32>());
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            drop(sender);
        });
        assert!(receiver.recv().is_err());
        shared.read();
        writer.join().unwrap();
    }),
    ("nor does it where there is room for one message", true, || {
        let (shared, (sender, receiver)) = (Shared::new(), sync_channel::<u32>(1));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            drop(sender);
        });
        assert!(receiver.recv().is_err());
        shared.read();
        writer.join().unwrap();
    }),
    ("it does where both sides meet", false, || {
        let (shared, (sender, receiver)) = (Shared::new(), sync_channel::<u32>(0));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            drop(sender);
        });
        assert!(receiver.recv().is_err());
        shared.read();
        writer.join().unwrap();
    }),
    ("the end of the receiver is learnt", false, || {
        let (shared, (sender, receiver)) = (Shared::new(), channel());
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            drop(receiver);
            other.raise();
        });
        shared.wait();
        if sender.send(1).is_err() {
            shared.read();
        }
        writer.join().unwrap();
    }),
    ("where a message had to wait for room, the receiver came before", false, || {
        let (shared, (sender, receiver)) = (Shared::new(), sync_channel(1));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            receiver.recv().unwrap();
            receiver.recv().unwrap();
        });
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        shared.read();
        writer.join().unwrap();
    }),
    ("where there was room, it did not", true, || {
        let (shared, (sender, receiver)) = (Shared::new(), sync_channel(2));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            receiver.recv().unwrap();
            receiver.recv().unwrap();
            other.raise();
        });
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        shared.wait();
        shared.read();
        writer.join().unwrap();
    }),
    ("a rendezvous orders both sides", false, || {
        let (shared, (sender, receiver)) = (Shared::new(), sync_channel(0));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            receiver.recv().unwrap();
        });
        sender.send(1).unwrap();
        shared.read();
        writer.join().unwrap();
    }),
    ("what is dropped with the receiver was sent before", false, || {
        let (shared, (sender, receiver)) = (Shared::new(), channel());
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.write();
            let _ = sender.send(Reader(other.clone()));
            other.raise();
        });
        shared.wait();
        drop(receiver);
        writer.join().unwrap();
    }),
    ("two senders learn nothing of each other's ends", true, || {
        let (shared, (sender, receiver)) = (Shared::new(), channel::<u32>());
        let (other, dropped) = (shared.clone(), sender.clone());
        let writer = thread::spawn(move || {
            drop(dropped);
            other.write();
        });
        let reading = shared.clone();
        let reader = thread::spawn(move || {
            drop(sender);
            reading.read();
        });
        assert!(receiver.recv().is_err());
        writer.join().unwrap();
        reader.join().unwrap();
    }),
];

/// Reads the number when it is dropped.
struct Reader(Arc<Shared>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.read();
    }
}
