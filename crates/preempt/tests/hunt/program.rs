//! Random programs that are right by construction, or have one mistake: over the types of `library`, which are
//! preempt's or std's.

use super::library::atomic::{
    AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst,
};
use super::library::{Arc, Condvar, Mutex, OnceLock, RwLock, UnsafeCell, Weak, hint, mpsc, thread};
use preempt_testing::Random;
use std::time::Duration;

/// One thing a thread does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Act {
    /// Adds 1 to the atomic.
    Add,
    /// Adds 1 by comparing and exchanging.
    AddByCompare,
    /// Adds 1 to the number under the first lock; by `true` with a guard that only reads before.
    Locked(bool),
    /// Adds 1 to the number under both locks.
    BothLocks,
    /// Tries the second lock a few times and gives up.
    TryLock,
    /// Looks at the atomic a few times, yielding.
    BoundedSpin,
    /// Reads under the read-write lock.
    Read,
    /// Adds 1 under the read-write lock.
    Write,
    /// Sends 1 to the main thread.
    Send,
    /// Clones the Arc as a raw pointer and takes it back.
    RawArc,
    /// Upgrades a weak reference, which the main thread keeps alive.
    Upgrade,
    /// Swaps a box into an atomic pointer and frees what was there.
    SwapBox,
    /// Waits on a condition variable for a limited time.
    WaitTimeout,
    /// Adds 1 under the first lock to an atomic, by relaxed accesses.
    HandedOn,
    /// Looks for a value, sets it unless there is one, and sees it, with what was done before it was set.
    SetOnce,
    /// Sets the flag that the main thread waits for.
    SetFlag,
    // Mistakes.
    HandedWithoutLock,
    LostUpdate,
    LocksTurned,
    PlainWithoutLock,
}

use Act::{
    Add, AddByCompare, BothLocks, BoundedSpin, HandedOn, HandedWithoutLock, Locked, LocksTurned,
    LostUpdate, PlainWithoutLock, RawArc, Read, Send, SetFlag, SetOnce, SwapBox, TryLock, Upgrade,
    WaitTimeout, Write,
};

/// What each thread does.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Vec<Act>>,
    /// The main thread polls the flag.
    pub(crate) polls: bool,
}

/// The mistake that programs of this seed get.
pub(crate) fn mistake(seed: u64) -> Act {
    match seed % 4 {
        0 => LostUpdate,
        1 => LocksTurned,
        2 => HandedWithoutLock,
        _ => PlainWithoutLock,
    }
}

/// The program of this seed.
pub(crate) fn program(seed: u64, mistake: Option<Act>) -> Program {
    let mut random = Random::split_wide(seed);
    let acts = [
        Add,
        AddByCompare,
        Locked(false),
        Locked(true),
        BothLocks,
        TryLock,
        BoundedSpin,
        Read,
        Write,
        Send,
        RawArc,
        Upgrade,
        SwapBox,
        WaitTimeout,
        HandedOn,
        SetOnce,
    ];
    let kinds = acts.len() as u64;
    let mut threads: Vec<Vec<Act>> = (0..2)
        .map(|_| (0..1 + random.below(2)).map(|_| acts[random.below(kinds) as usize]).collect())
        .collect();
    let polls = random.below(4) == 0;
    if polls {
        threads[0].push(SetFlag);
    }
    if let Some(mistake) = mistake {
        // Opposite ends, so that both do it.
        let partner = match mistake {
            LocksTurned => BothLocks,
            PlainWithoutLock => Locked(false),
            HandedWithoutLock => HandedOn,
            other => other,
        };
        let at = random.below(threads[0].len() as u64 + 1) as usize;
        threads[0].insert(at, mistake);
        threads[1].truncate(1);
        threads[1].push(partner);
    }
    Program { threads, polls }
}

struct World {
    atomic: AtomicUsize,
    /// Changed by load and store: right only if one thread does so.
    careless: AtomicUsize,
    /// Protected by `first`, or that is the mistake.
    handed: AtomicUsize,
    first: Mutex<()>,
    second: Mutex<usize>,
    plain: UnsafeCell<usize>,
    shared: RwLock<usize>,
    cell: OnceLock<usize>,
    /// Changed before the cell is set.
    noted: AtomicUsize,
    flag: AtomicBool,
    pointer: AtomicPtr<u64>,
    gate: (Mutex<bool>, Condvar),
}

// SAFETY: `plain` is protected by `first`, or that is the mistake; one thread runs at a time.
unsafe impl Sync for World {}

/// Executes a program once; panics if something has gone wrong.
pub(crate) fn body(program: &Program) {
    let world = Arc::new(World {
        atomic: AtomicUsize::new(0),
        careless: AtomicUsize::new(0),
        handed: AtomicUsize::new(0),
        first: Mutex::new(()),
        second: Mutex::new(0),
        plain: UnsafeCell::new(0),
        shared: RwLock::new(0),
        cell: OnceLock::new(),
        noted: AtomicUsize::new(0),
        flag: AtomicBool::new(false),
        pointer: AtomicPtr::new(Box::into_raw(Box::new(0))),
        gate: (Mutex::new(false), Condvar::new()),
    });
    let (sender, receiver) = mpsc::channel();
    let handles: Vec<_> = program
        .threads
        .iter()
        .map(|acts| {
            let (acts, sender, weak) = (acts.clone(), sender.clone(), Arc::downgrade(&world));
            let world = world.clone();
            thread::spawn(move || {
                for act in acts {
                    perform(act, &world, &weak, &sender);
                }
            })
        })
        .collect();
    drop(sender);
    while program.polls && !world.flag.load(SeqCst) {
        thread::yield_now();
    }
    let received: usize = receiver.iter().sum();
    for handle in handles {
        handle.join().unwrap();
    }
    let count = |wanted: &[Act]| {
        program.threads.iter().flatten().filter(|act| wanted.contains(act)).count()
    };
    assert_eq!(world.atomic.load(SeqCst), count(&[Add, AddByCompare]), "additions");
    assert_eq!(world.careless.load(SeqCst), count(&[LostUpdate]), "lost update");
    assert_eq!(world.handed.load(Relaxed), count(&[HandedOn, HandedWithoutLock]), "handed on");
    assert_eq!(received, count(&[Send]), "messages");
    assert_eq!(*world.second.lock().unwrap(), count(&[BothLocks, LocksTurned]), "second lock");
    assert_eq!(*world.shared.read().unwrap(), count(&[Write]), "read-write lock");
    // SAFETY: all threads have ended.
    let plain = world.plain.with(|plain| unsafe { *plain });
    assert_eq!(
        plain,
        count(&[Locked(false), Locked(true), BothLocks, LocksTurned, PlainWithoutLock])
    );
    // SAFETY: the last box belongs to no other thread: all have ended.
    drop(unsafe { Box::from_raw(world.pointer.load(SeqCst)) });
}

fn add_handed(world: &World) {
    let value = world.handed.load(Relaxed);
    world.handed.store(value + 1, Relaxed);
}

fn add_plain(world: &World) {
    // SAFETY: under the first lock, or that is the mistake.
    world.plain.with_mut(|plain| unsafe { *plain += 1 });
}

fn perform(act: Act, world: &Arc<World>, weak: &Weak<World>, sender: &mpsc::Sender<usize>) {
    match act {
        Add => drop(world.atomic.fetch_add(1, SeqCst)),
        AddByCompare => {
            let mut value = world.atomic.load(SeqCst);
            while let Err(now) = world.atomic.compare_exchange(value, value + 1, SeqCst, SeqCst) {
                value = now;
            }
        }
        Locked(looks_first) => {
            if looks_first {
                drop(world.first.lock().unwrap());
            }
            let _guard = world.first.lock().unwrap();
            add_plain(world);
        }
        BothLocks => {
            let _first = world.first.lock().unwrap();
            let mut second = world.second.lock().unwrap();
            *second += 1;
            add_plain(world);
        }
        LocksTurned => {
            let mut second = world.second.lock().unwrap();
            let _first = world.first.lock().unwrap();
            *second += 1;
            add_plain(world);
        }
        TryLock => {
            for _ in 0..2 {
                if world.second.try_lock().is_ok() {
                    return;
                }
                thread::yield_now();
            }
        }
        BoundedSpin => {
            for _ in 0..2 {
                if world.atomic.load(SeqCst) > 0 {
                    return;
                }
                hint::spin_loop();
            }
        }
        Read => drop(world.shared.read().unwrap()),
        Write => *world.shared.write().unwrap() += 1,
        Send => sender.send(1).unwrap(),
        RawArc => {
            let raw = Arc::into_raw(world.clone());
            // SAFETY: from `into_raw` just before; each count is given back once.
            unsafe {
                Arc::increment_strong_count(raw);
                Arc::decrement_strong_count(raw);
                assert!(!(*raw).flag.load(SeqCst) || (*raw).flag.load(SeqCst));
                drop(Arc::from_raw(raw));
            }
        }
        Upgrade => assert!(weak.upgrade().is_some()),
        SwapBox => {
            let before = world.pointer.swap(Box::into_raw(Box::new(1)), SeqCst);
            // SAFETY: the thread that swaps a box out owns it.
            assert!(*unsafe { Box::from_raw(before) } <= 1);
        }
        WaitTimeout => {
            let guard = world.gate.0.lock().unwrap();
            let (guard, _) = world.gate.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
            assert!(!*guard);
        }
        SetOnce => {
            let early = world.cell.get().copied();
            let value = *world.cell.get_or_init(|| {
                world.noted.store(1, Relaxed);
                7
            });
            assert!(early.is_none_or(|early| early == value));
            assert_eq!(world.cell.get(), Some(&value));
            assert_eq!(world.noted.load(Relaxed), 1);
        }
        SetFlag => world.flag.store(true, SeqCst),
        LostUpdate => {
            let value = world.careless.load(SeqCst);
            world.careless.store(value + 1, SeqCst);
        }
        PlainWithoutLock => add_plain(world),
        HandedOn => {
            let _guard = world.first.lock().unwrap();
            add_handed(world);
        }
        HandedWithoutLock => add_handed(world),
    }
}
