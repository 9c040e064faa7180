//! Programs that wait, made at random, over whatever library the parent module names: the parts of std that preempt replaces,
//! or std itself.

use super::library::atomic::{AtomicBool, AtomicUsize, Ordering, Ordering::*};
use super::library::hint::spin_loop;
use super::library::{Arc, Condvar, Mutex, mpsc, thread};
use preempt_testing::Random;
use std::time::Duration;

/// What a loop does between two looks.
#[derive(Clone, Copy, Debug)]
enum Pause {
    Spin(u32),
    Yield,
    Both(u32),
    Exponential(u32),
    /// Spins first, and yields later.
    Snooze(u32),
    Sleep,
    Mixture,
    ParkTimeout,
    Nothing,
}

impl Pause {
    fn random(random: &mut Random) -> Pause {
        let number = 1 + random.below(5) as u32;
        match random.below(9) {
            0 => Pause::Spin(number),
            1 => Pause::Yield,
            2 => Pause::Both(number),
            3 => Pause::Exponential(number + 3),
            4 => Pause::Snooze(number),
            5 => Pause::Sleep,
            6 => Pause::Mixture,
            7 => Pause::ParkTimeout,
            _ => Pause::Nothing,
        }
    }

    fn now(self, round: u32) {
        let spin = |times: u32| (0..times).for_each(|_| spin_loop());
        match self {
            Pause::Spin(times) => spin(times),
            Pause::Yield => thread::yield_now(),
            Pause::Both(times) => {
                spin(times);
                thread::yield_now();
            }
            Pause::Exponential(most) => spin(1 << round.min(most)),
            Pause::Snooze(rounds) if round < rounds => spin(1 << round),
            Pause::Snooze(_) => thread::yield_now(),
            Pause::Sleep => thread::sleep(Duration::from_millis(1)),
            Pause::Mixture => {
                thread::yield_now();
                spin(round % 3);
                thread::sleep(Duration::from_micros(5));
            }
            Pause::ParkTimeout => thread::park_timeout(Duration::from_millis(1)),
            Pause::Nothing => {}
        }
    }
}

/// How a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Swap,
    Exchange,
    FetchOr,
    TestFirst,
    Ticket,
    Peterson,
    TakeBack,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    /// Looks and takes in two steps.
    NotAtomic,
    /// One thread keeps the lock.
    NeverReleased,
    /// Parks without having looked again.
    NotAgain,
    /// Looks whether a thread sleeps before it sets the flag.
    Early,
    /// The flag is not set at all.
    NeverSet,
    /// Sets the flag without the lock and notifies before a thread waits.
    WithoutLock,
    /// Does not wait for its successor to enter the queue, and so does not hand the lock over.
    NoHandover,
    /// Takes it that nothing was granted if time is up.
    Forgotten,
    /// Takes it that the flag is set after so many rounds.
    Presumed,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Lock {
        kind: Kind,
        sections: usize,
        weak: bool,
    },
    Flag {
        flags: usize,
    },
    GiveUp {
        rounds: u32,
    },
    Condition {
        timeout: bool,
    },
    TrySend {
        capacity: usize,
    },
    TryLock,
    /// The queue lock of Mellor-Crummey and Scott.
    Queue {
        sections: usize,
    },
    /// A permit, granted to a thread that waits for it for a limited time.
    Permit {
        waits: usize,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    form: Form,
    pause: Pause,
    other: Pause,
    mistake: Mistake,
}

/// The program of this seed.
pub(crate) fn plan(seed: u64) -> Plan {
    let random = &mut Random::split_wide(seed);
    let kinds = [
        Kind::Swap,
        Kind::Exchange,
        Kind::FetchOr,
        Kind::TestFirst,
        Kind::Ticket,
        Kind::Peterson,
        Kind::TakeBack,
    ];
    let (pause, other) = (Pause::random(random), Pause::random(random));
    let planted = random.below(2) == 1;
    let silent = [pause, other].iter().any(|pause| matches!(pause, Pause::Nothing));
    let (form, mistakes): (Form, &[Mistake]) = match random.below(9) {
        0 | 1 => {
            let kind = random.pick(&kinds);
            let weak = random.below(2) == 1 && !matches!(kind, Kind::Peterson | Kind::TakeBack);
            // A loop that does not pause is explored round by round up to the eighth: one that writes in every
            // round has too many executions for two sections.
            let writes = matches!(kind, Kind::Peterson | Kind::TakeBack);
            let most = if writes && silent { 1 } else { 2 };
            let form = Form::Lock { kind, sections: 1 + random.below(most) as usize, weak };
            let atomic = matches!(kind, Kind::Swap | Kind::Exchange | Kind::FetchOr);
            let both: &[Mistake] = &[Mistake::NeverReleased, Mistake::NotAtomic];
            (form, if atomic { both } else { &both[..1] })
        }
        2 => (Form::Flag { flags: 1 + random.below(3) as usize }, &[Mistake::NeverSet]),
        3 => {
            let rounds = random.pick(&[1, 2, 3, 5, 8, 9, 12, 20, 50, 100, 300]);
            (Form::GiveUp { rounds }, &[Mistake::NotAgain, Mistake::Early, Mistake::Presumed])
        }
        4 => {
            let timeout = random.below(2) == 1;
            let mistakes: &[Mistake] =
                if timeout { &[Mistake::NeverSet] } else { &[Mistake::WithoutLock] };
            (Form::Condition { timeout }, mistakes)
        }
        5 => (Form::TrySend { capacity: random.below(2) as usize }, &[Mistake::NeverSet]),
        6 => (Form::TryLock, &[Mistake::NeverReleased]),
        7 => {
            let sections = 1 + random.below(if silent { 1 } else { 2 }) as usize;
            (Form::Queue { sections }, &[Mistake::NoHandover, Mistake::NeverReleased])
        }
        _ => (Form::Permit { waits: 1 + random.below(2) as usize }, &[Mistake::Forgotten]),
    };
    let mistake = if planted { random.pick(mistakes) } else { Mistake::None };
    Plan { form, pause, other, mistake }
}

#[derive(Default)]
struct Lock {
    held: AtomicBool,
    next: AtomicUsize,
    serving: AtomicUsize,
    wants: [AtomicBool; 2],
    count: AtomicUsize,
}

impl Lock {
    fn take(&self, me: usize, kind: Kind, not_atomic: bool, order: [Ordering; 2], pause: Pause) {
        let [acquire, _] = order;
        let mut round = 0;
        let mut wait = || {
            pause.now(round);
            round += 1;
        };
        if not_atomic {
            while self.held.load(acquire) {
                wait();
            }
            self.held.store(true, Relaxed);
            return;
        }
        match kind {
            Kind::Swap => {
                while self.held.swap(true, acquire) {
                    wait();
                }
            }
            Kind::Exchange => {
                while self.held.compare_exchange(false, true, acquire, Relaxed).is_err() {
                    wait();
                }
            }
            Kind::FetchOr => {
                while self.held.fetch_or(true, acquire) {
                    wait();
                }
            }
            Kind::TestFirst => {
                while self.held.load(Relaxed) || self.held.swap(true, acquire) {
                    wait();
                }
            }
            Kind::Ticket => {
                let mine = self.next.fetch_add(1, Relaxed);
                while self.serving.load(acquire) != mine {
                    wait();
                }
            }
            Kind::Peterson => {
                self.wants[me].store(true, SeqCst);
                self.serving.store(1 - me, SeqCst);
                while self.wants[1 - me].load(SeqCst) && self.serving.load(SeqCst) == 1 - me {
                    wait();
                }
            }
            Kind::TakeBack => {
                while self.next.fetch_add(1, SeqCst) > 0 {
                    self.next.fetch_sub(1, SeqCst);
                    // Both may do so at the same time for ever: the second waits until it looks free.
                    while me == 1 && self.next.load(SeqCst) > 0 {
                        wait();
                    }
                    wait();
                }
            }
        }
    }

    fn release(&self, me: usize, kind: Kind, [_, release]: [Ordering; 2]) {
        match kind {
            Kind::Ticket => {
                self.serving.fetch_add(1, release);
            }
            Kind::Peterson => self.wants[me].store(false, SeqCst),
            Kind::TakeBack => {
                self.next.fetch_sub(1, SeqCst);
            }
            _ => self.held.store(false, release),
        }
    }
}

/// A lock whose threads queue up, each waiting for a flag of its own. Threads are numbered from 1.
#[derive(Default)]
struct Queue {
    last: AtomicUsize,
    waits: [AtomicBool; 3],
    next: [AtomicUsize; 3],
    count: AtomicUsize,
}

impl Queue {
    fn take(&self, me: usize, pause: Pause) {
        self.next[me].store(0, Relaxed);
        self.waits[me].store(true, Relaxed);
        let before = self.last.swap(me, AcqRel);
        if before == 0 {
            return;
        }
        self.next[before].store(me, Release);
        let mut round = 0;
        while self.waits[me].load(Acquire) {
            pause.now(round);
            round += 1;
        }
    }

    fn release(&self, me: usize, pause: Pause, mistake: Mistake) {
        if self.next[me].load(Acquire) == 0 {
            let alone = self.last.compare_exchange(me, 0, AcqRel, Relaxed).is_ok();
            if alone || mistake == Mistake::NoHandover {
                return;
            }
        }
        let mut round = 0;
        let next = loop {
            match self.next[me].load(Acquire) {
                0 => pause.now(round),
                next => break next,
            }
            round += 1;
        };
        self.waits[next].store(false, Release);
    }
}

/// Permits, and whether one was granted to the thread that waits.
#[derive(Default)]
struct Permits {
    free: usize,
    waiting: bool,
    granted: bool,
}

/// Waits for a permit, for a limited time and not too often; returns whether there is one.
fn acquire(permits: &(Mutex<Permits>, Condvar), waits: usize, mistake: Mistake) -> bool {
    let mut guard = permits.0.lock().unwrap();
    if guard.free > 0 {
        guard.free -= 1;
        return true;
    }
    guard.waiting = true;
    for _ in 0..waits {
        let (again, result) = permits.1.wait_timeout(guard, Duration::from_millis(1)).unwrap();
        guard = again;
        if mistake == Mistake::Forgotten && result.timed_out() {
            break;
        }
        if std::mem::take(&mut guard.granted) {
            return true;
        }
    }
    guard.waiting = false;
    false
}

/// Runs a program once.
pub(crate) fn run(plan: Plan) {
    let Plan { form, pause, other, mistake } = plan;
    match form {
        Form::Lock { kind, sections, weak } => {
            let order = if weak { [Acquire, Release] } else { [SeqCst, SeqCst] };
            let plain = if weak { Relaxed } else { SeqCst };
            let lock = Arc::new(Lock::default());
            let work = move |lock: &Lock, me: usize, pause: Pause| {
                for section in 0..sections {
                    lock.take(me, kind, mistake == Mistake::NotAtomic, order, pause);
                    let count = lock.count.load(plain);
                    lock.count.store(count + 1, plain);
                    let keeps = mistake == Mistake::NeverReleased && me == 1;
                    if !(keeps && section + 1 == sections) {
                        lock.release(me, kind, order);
                    }
                }
            };
            let theirs = lock.clone();
            let thread = thread::spawn(move || work(&theirs, 1, other));
            work(&lock, 0, pause);
            thread.join().unwrap();
            assert_eq!(lock.count.load(plain), 2 * sections, "an update was lost");
        }
        Form::Flag { flags } => {
            let shared: Arc<[AtomicBool; 3]> = Arc::default();
            let theirs = shared.clone();
            let thread = thread::spawn(move || {
                let mut round = 0;
                while !(0..flags).all(|flag| theirs[flag].load(Acquire)) {
                    pause.now(round);
                    round += 1;
                }
            });
            let set = if mistake == Mistake::NeverSet { flags - 1 } else { flags };
            (0..set).for_each(|flag| shared[flag].store(true, Release));
            thread.join().unwrap();
        }
        Form::GiveUp { rounds } => {
            let shared: Arc<[AtomicBool; 2]> = Arc::default();
            let theirs = shared.clone();
            let thread = thread::spawn(move || {
                for round in 0..rounds {
                    if theirs[0].load(SeqCst) {
                        return;
                    }
                    pause.now(round);
                }
                if mistake == Mistake::Presumed {
                    assert!(theirs[0].load(SeqCst), "the flag is not set");
                }
                theirs[1].store(true, SeqCst);
                if mistake == Mistake::NotAgain {
                    thread::park();
                }
                while !theirs[0].load(SeqCst) {
                    thread::park();
                }
            });
            let early = shared[1].load(SeqCst);
            shared[0].store(true, SeqCst);
            let sleeps = match mistake {
                Mistake::Early => early,
                _ => shared[1].load(SeqCst),
            };
            if sleeps {
                thread.thread().unpark();
            }
            thread.join().unwrap();
        }
        Form::Condition { timeout } => {
            let shared: Arc<(Mutex<bool>, Condvar, AtomicBool)> = Arc::default();
            let theirs = shared.clone();
            let thread = thread::spawn(move || {
                let (ready, condition, flag) = &*theirs;
                let mut guard = ready.lock().unwrap();
                let done = |guard: &bool| match mistake {
                    Mistake::WithoutLock => flag.load(SeqCst),
                    _ => *guard,
                };
                while !done(&guard) {
                    guard = match timeout {
                        true => {
                            let limit = Duration::from_millis(1);
                            condition.wait_timeout(guard, limit).unwrap().0
                        }
                        false => condition.wait(guard).unwrap(),
                    };
                }
            });
            match mistake {
                Mistake::NeverSet => {}
                Mistake::WithoutLock => shared.2.store(true, SeqCst),
                _ => *shared.0.lock().unwrap() = true,
            }
            shared.1.notify_one();
            thread.join().unwrap();
        }
        Form::TrySend { capacity } => {
            let (sender, receiver) = mpsc::sync_channel(capacity);
            let thread = thread::spawn(move || {
                let mut round = 0;
                let messages = capacity + 1;
                for number in 0..messages {
                    while sender.try_send(number).is_err() {
                        pause.now(round);
                        round += 1;
                    }
                }
            });
            let received = if mistake == Mistake::NeverSet { 0 } else { capacity + 1 };
            for number in 0..received {
                assert_eq!(receiver.recv(), Ok(number));
            }
            thread.join().unwrap();
        }
        Form::Queue { sections } => {
            let queue = Arc::new(Queue::default());
            let work = move |queue: &Queue, me: usize, pause: Pause| {
                for section in 0..sections {
                    queue.take(me, pause);
                    let count = queue.count.load(Relaxed);
                    queue.count.store(count + 1, Relaxed);
                    let keeps = mistake == Mistake::NeverReleased && me == 2;
                    if !(keeps && section + 1 == sections) {
                        queue.release(me, pause, mistake);
                    }
                }
            };
            let theirs = queue.clone();
            let thread = thread::spawn(move || work(&theirs, 2, other));
            work(&queue, 1, pause);
            thread.join().unwrap();
            assert_eq!(queue.count.load(Relaxed), 2 * sections, "an update was lost");
        }
        Form::Permit { waits } => {
            let permits: Arc<(Mutex<Permits>, Condvar)> = Arc::default();
            let theirs = permits.clone();
            let thread = thread::spawn(move || acquire(&theirs, waits, mistake));
            let mut guard = permits.0.lock().unwrap();
            if std::mem::take(&mut guard.waiting) {
                guard.granted = true;
                permits.1.notify_one();
            } else {
                guard.free += 1;
            }
            drop(guard);
            let taken = usize::from(thread.join().unwrap());
            assert_eq!(taken + permits.0.lock().unwrap().free, 1, "a permit was lost");
        }
        Form::TryLock => {
            let shared = Arc::new(Mutex::new(0));
            let theirs = shared.clone();
            let thread = thread::spawn(move || {
                let mut round = 0;
                loop {
                    if let Ok(mut guard) = theirs.try_lock() {
                        *guard += 1;
                        return;
                    }
                    pause.now(round);
                    round += 1;
                }
            });
            let mut guard = shared.lock().unwrap();
            *guard += 1;
            if mistake == Mistake::NeverReleased {
                std::mem::forget(guard);
                thread.join().unwrap();
            } else {
                drop(guard);
                thread.join().unwrap();
                assert_eq!(*shared.lock().unwrap(), 2);
            }
        }
    }
}

/// How a program with a mistake fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Panic,
    Livelock,
    Deadlock,
}

impl Plan {
    /// What must come out; nothing if the program is correct.
    pub(crate) fn expected(&self) -> Option<Failure> {
        match self.mistake {
            Mistake::None => None,
            Mistake::NotAtomic | Mistake::Forgotten | Mistake::Presumed => Some(Failure::Panic),
            Mistake::NeverReleased | Mistake::NeverSet | Mistake::NoHandover => {
                Some(Failure::Livelock)
            }
            Mistake::NotAgain | Mistake::Early | Mistake::WithoutLock => Some(Failure::Deadlock),
        }
    }

    /// How many timeouts it may need: a loop that gives up by timeouts has as many as rounds.
    pub(crate) fn timeouts(&self) -> Option<u32> {
        match self.form {
            Form::GiveUp { rounds } => Some(rounds + 1),
            _ => None,
        }
    }
}
