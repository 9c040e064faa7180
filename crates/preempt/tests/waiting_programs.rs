//! A generator of programs that wait: locks of many kinds, flags, loops that give up and then park, condition
//! variables, with pauses of any shape; correct, and with one planted mistake. The verdict follows from how a program was
//! made: a correct one must be exhausted and hold, a planted one must fail as the mistake does.
//!
//! `PREEMPT_WAITING` sets how many programs there are, `PREEMPT_WAITING_SEED` the first.

use preempt::hint::spin_loop;
use preempt::sync::atomic::{AtomicBool, AtomicUsize, Ordering, Ordering::*};
use preempt::sync::{Arc, Condvar, Mutex, mpsc};
use preempt::{Check, FailureKind, Outcome, thread};
use std::time::Duration;

/// Small, seeded random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * u128::from(limit)) >> 64) as u64
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

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
    /// Looks whether anybody sleeps before it sets the flag.
    Early,
    /// The flag is not set at all.
    NeverSet,
    /// Sets the flag without the lock and notifies before anybody waits.
    WithoutLock,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Lock { kind: Kind, sections: usize, weak: bool },
    Flag { flags: usize },
    GiveUp { rounds: u32 },
    Condition { timeout: bool },
    TrySend { capacity: usize },
    TryLock,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    form: Form,
    pause: Pause,
    other: Pause,
    mistake: Mistake,
}

fn plan(seed: u64) -> Plan {
    let random = &mut Random(seed);
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
    let (form, mistakes): (Form, &[Mistake]) = match random.below(7) {
        0 | 1 => {
            let kind = random.pick(&kinds);
            let weak = random.below(2) == 1 && !matches!(kind, Kind::Peterson | Kind::TakeBack);
            // A loop that does not pause is explored round by round up to the eighth: one that writes in every
            // round has too many executions for two sections.
            let writes = matches!(kind, Kind::Peterson | Kind::TakeBack);
            let silent = [pause, other].iter().any(|pause| matches!(pause, Pause::Nothing));
            let most = if writes && silent { 1 } else { 2 };
            let form = Form::Lock { kind, sections: 1 + random.below(most) as usize, weak };
            let atomic = matches!(kind, Kind::Swap | Kind::Exchange | Kind::FetchOr);
            let both: &[Mistake] = &[Mistake::NeverReleased, Mistake::NotAtomic];
            (form, if atomic { both } else { &both[..1] })
        }
        2 => (Form::Flag { flags: 1 + random.below(3) as usize }, &[Mistake::NeverSet]),
        3 => {
            let rounds = random.pick(&[1, 2, 3, 5, 8, 9, 12, 20, 50, 100, 300]);
            (Form::GiveUp { rounds }, &[Mistake::NotAgain, Mistake::Early])
        }
        4 => {
            let timeout = random.below(2) == 1;
            let mistakes: &[Mistake] =
                if timeout { &[Mistake::NeverSet] } else { &[Mistake::WithoutLock] };
            (Form::Condition { timeout }, mistakes)
        }
        5 => (Form::TrySend { capacity: random.below(2) as usize }, &[Mistake::NeverSet]),
        _ => (Form::TryLock, &[Mistake::NeverReleased]),
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

fn run(plan: Plan) {
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

/// What must come out.
fn expected(plan: &Plan) -> &'static [FailureKind] {
    match plan.mistake {
        Mistake::None => &[],
        Mistake::NotAtomic => &[FailureKind::Panic],
        Mistake::NeverReleased | Mistake::NeverSet => &[FailureKind::Livelock],
        Mistake::NotAgain | Mistake::Early | Mistake::WithoutLock => &[FailureKind::Deadlock],
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn verdicts_follow_from_how_programs_were_made() {
    let first = number("PREEMPT_WAITING_SEED", 0);
    let count = number("PREEMPT_WAITING", 150);
    let (mut wrong, mut unfinished, mut held, mut failed) = (Vec::new(), Vec::new(), 0, 0);
    let mut most = 0;
    for seed in first..first + count {
        let plan = plan(seed);
        let check = Check::new().time(Duration::from_secs(60)).executions(400_000);
        // A loop that gives up by timeouts needs as many.
        let check = match plan.form {
            Form::GiveUp { rounds } => check.timeouts(rounds + 1),
            _ => check,
        };
        let report = check.run(|| run(plan));
        most = most.max(report.executions);
        let kinds = expected(&plan);
        match (&report.outcome, kinds.is_empty()) {
            (Outcome::Holds, true) => held += 1,
            (Outcome::Failed(failure), false) if kinds.contains(&failure.kind) => failed += 1,
            (Outcome::HoldsWithinBound(_) | Outcome::Inconclusive(_), true) => {
                unfinished.push(format!("{seed}: {plan:?}: {report}"));
            }
            _ => wrong.push(format!("{seed}: {plan:?}: {report}")),
        }
    }
    println!(
        "{held} hold, {failed} fail as planted, {} not exhausted, {} wrong; at most {most} executions",
        unfinished.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unfinished.is_empty(), "{}", unfinished.join("\n"));
}
