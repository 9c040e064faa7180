//! Objects that reach other threads: their creation must happen before every use.
//!
//! A generator makes programs in which one thread makes an object and hands its address on, through up to three other
//! threads, by atomics of all orders, fences, locks, channels, spawning and joining. The verdict follows from how a program
//! was made: a thread may use the object if every step on the way to it synchronises.
//!
//! `PREEMPT_PUBLICATIONS` sets how many programs there are, `PREEMPT_PUBLICATIONS_SEED` the first.

use preempt::cell::Cell;
use preempt::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, Ordering::*, fence};
use preempt::sync::{Arc, Mutex, OnceLock, RwLock, mpsc};
use preempt::{Check, FailureKind, Memory, Outcome, Strategy, thread};
use preempt_testing::Random;
use std::ptr::null_mut;
use std::time::Duration;

/// The most threads that an address goes through.
const MOST: usize = 3;

/// What is handed on. Every thread uses an object of its own: the release of one user may be what the next one acquires.
struct Node([Objects; MOST + 1]);

struct Objects {
    number: AtomicUsize,
    lock: Mutex<u32>,
    shared: RwLock<u32>,
    plain: Cell<u32>,
}

impl Node {
    fn allocate() -> *mut Node {
        Box::into_raw(Box::new(Node([(); MOST + 1].map(|()| Objects {
            number: AtomicUsize::new(7),
            lock: Mutex::new(7),
            shared: RwLock::new(7),
            plain: Cell::new(7),
        }))))
    }
}

/// How a thread uses the object.
#[derive(Clone, Copy, Debug)]
enum Use {
    Load,
    Add,
    Lock,
    Read,
    Plain,
}

impl Use {
    fn of(self, node: *mut Node, thread: usize) {
        // SAFETY: nodes are never freed while they are used, and all threads share one operating system thread.
        let node = unsafe { &(*node).0[thread] };
        let seen = match self {
            Use::Load => node.number.load(Relaxed) as u32,
            Use::Add => node.number.fetch_add(0, AcqRel) as u32,
            Use::Lock => *node.lock.lock().unwrap(),
            Use::Read => *node.shared.read().unwrap(),
            Use::Plain => node.plain.get(),
        };
        assert_eq!(seen, 7);
    }
}

/// How an address goes from one thread to the next.
#[derive(Clone, Copy, Debug)]
enum Hop {
    /// By an atomic. `fences`: before the store, and after the load. `marks`: another thread changes the address on the way,
    /// without order, by a read-modify-write, which continues the release sequence.
    Atomic {
        store: Ordering,
        load: Ordering,
        fences: [bool; 2],
        swaps: bool,
        marks: bool,
    },
    /// By a relaxed atomic, and a flag that says so, set before (`early`) or after the object is made.
    Flag {
        store: Ordering,
        load: Ordering,
        early: bool,
    },
    Lock,
    Channel,
    Once,
    /// The next thread joins this one, and then looks.
    Join,
    /// The next thread is spawned by this one.
    Spawn,
}

impl Hop {
    /// `few`: one of few, so that one more thread is no trouble.
    fn random(random: &mut Random, few: bool) -> Hop {
        let store = random.pick(&[Relaxed, Relaxed, Release, SeqCst]);
        let load = random.pick(&[Relaxed, Acquire, Acquire, SeqCst]);
        match random.below(12) {
            0..6 => {
                let fences = [random.below(3) == 0, random.below(3) == 0];
                let marks = few && random.below(3) == 0;
                Hop::Atomic { store, load, fences, swaps: random.one_in(2), marks }
            }
            6 | 7 => Hop::Flag { store, load, early: random.one_in(2) },
            8 => Hop::Lock,
            9 => Hop::Channel,
            10 => Hop::Once,
            _ if random.one_in(2) => Hop::Join,
            _ => Hop::Spawn,
        }
    }

    fn synchronises(self) -> bool {
        let releases = |order| matches!(order, Release | SeqCst);
        let acquires = |order| matches!(order, Acquire | SeqCst);
        match self {
            Hop::Atomic { store, load, fences: [before, after], .. } => {
                (before || releases(store)) && (after || acquires(load))
            }
            Hop::Flag { store, load, early } => !early && releases(store) && acquires(load),
            Hop::Lock | Hop::Channel | Hop::Once | Hop::Join | Hop::Spawn => true,
        }
    }
}

/// One place between two threads.
struct Place {
    hop: Hop,
    pointer: AtomicPtr<Node>,
    flag: AtomicUsize,
    locked: Mutex<usize>,
    once: OnceLock<usize>,
    channel: (mpsc::Sender<usize>, Mutex<mpsc::Receiver<usize>>),
}

impl Place {
    fn new(hop: Hop) -> Place {
        let (sender, receiver) = mpsc::channel();
        Place {
            hop,
            pointer: AtomicPtr::new(null_mut()),
            flag: AtomicUsize::new(0),
            locked: Mutex::new(0),
            once: OnceLock::new(),
            channel: (sender, Mutex::new(receiver)),
        }
    }

    /// Before the object is made.
    fn prepare(&self) {
        if let Hop::Flag { store, early: true, .. } = self.hop {
            self.flag.store(1, store);
        }
    }

    fn send(&self, node: *mut Node) {
        match self.hop {
            Hop::Atomic { store, fences, swaps, .. } => {
                if fences[0] {
                    fence(Release);
                }
                match swaps {
                    true => drop(self.pointer.swap(node, store)),
                    false => self.pointer.store(node, store),
                }
            }
            Hop::Flag { store, early, .. } => {
                self.pointer.store(node, Relaxed);
                if !early {
                    self.flag.store(1, store);
                }
            }
            Hop::Lock => *self.locked.lock().unwrap() = node.expose_provenance(),
            Hop::Channel => self.channel.0.send(node.expose_provenance()).unwrap(),
            Hop::Once => self.once.set(node.expose_provenance()).unwrap(),
            Hop::Join => self.pointer.store(node, Relaxed),
            Hop::Spawn => {}
        }
    }

    /// The address, if it is there.
    fn receive(&self) -> Option<*mut Node> {
        let node = match self.hop {
            Hop::Atomic { load, fences, marks, .. } => {
                let node = self.pointer.load(load);
                if fences[1] {
                    fence(Acquire);
                }
                if marks && !is_marked(node) { null_mut() } else { unmarked(node) }
            }
            Hop::Flag { load, .. } if self.flag.load(load) == 0 => null_mut(),
            Hop::Flag { .. } | Hop::Join => self.pointer.load(Relaxed),
            Hop::Lock => address(*self.locked.lock().unwrap()),
            Hop::Once => address(self.once.get().copied().unwrap_or(0)),
            Hop::Channel => {
                let receiver = self.channel.1.lock().unwrap();
                address(receiver.try_recv().unwrap_or(0))
            }
            Hop::Spawn => null_mut(),
        };
        (!node.is_null()).then_some(node)
    }

    /// Another thread changes the address on its way.
    fn mark(&self) {
        let node = self.pointer.load(Relaxed);
        if !node.is_null() {
            let marked = node.map_addr(|address| address | 1);
            let _ = self.pointer.compare_exchange(node, marked, Relaxed, Relaxed);
        }
    }
}

fn address(number: usize) -> *mut Node {
    std::ptr::with_exposed_provenance_mut(number)
}

fn is_marked(node: *mut Node) -> bool {
    node.addr() & 1 == 1
}

fn unmarked(node: *mut Node) -> *mut Node {
    node.map_addr(|address| address & !1)
}

#[derive(Clone, Debug)]
struct Plan {
    hops: Vec<Hop>,
    /// By hop: what the thread at its end does with the object.
    uses: Vec<Option<Use>>,
    /// Whether the object of an earlier allocation lay there.
    reuses: bool,
}

fn plan(seed: u64) -> Plan {
    let mut random = Random::split_wide(seed << 20);
    let length = 1 + random.below(MOST as u64) as usize;
    let hops: Vec<Hop> = (0..length).map(|_| Hop::random(&mut random, length == 1)).collect();
    let all = [Use::Load, Use::Add, Use::Lock, Use::Read, Use::Plain];
    let mut uses: Vec<Option<Use>> =
        (0..length).map(|_| random.one_in(2).then(|| random.pick(&all))).collect();
    // At least the last thread uses it.
    uses[length - 1].get_or_insert(random.pick(&all));
    Plan { hops, uses, reuses: random.below(4) == 0 }
}

/// Whether some thread uses the object without knowing of its creation.
fn races(plan: &Plan) -> bool {
    let mut knows = true;
    plan.hops.iter().zip(&plan.uses).any(|(hop, used)| {
        knows &= hop.synchronises();
        used.is_some() && !knows
    })
}

/// The thread before the hop with this number, which has the object.
fn hand_on(plan: &Plan, places: &Arc<Vec<Place>>, number: usize, node: *mut Node) {
    let Some(place) = places.get(number) else { return };
    place.send(node);
    if matches!(place.hop, Hop::Spawn) {
        let (plan, places, node) = (plan.clone(), places.clone(), node.expose_provenance());
        thread::spawn(move || after(&plan, &places, number, address(node))).join().unwrap();
    }
}

/// The thread after the hop with this number has the object now.
fn after(plan: &Plan, places: &Arc<Vec<Place>>, number: usize, node: *mut Node) {
    if let Some(used) = plan.uses[number] {
        used.of(node, number + 1);
    }
    hand_on(plan, places, number + 1, node);
}

fn run(plan: &Plan) {
    let places: Arc<Vec<Place>> = Arc::new(plan.hops.iter().map(|&hop| Place::new(hop)).collect());
    let (first, theirs) = (plan.clone(), places.clone());
    let mut before = Some(thread::spawn(move || {
        theirs.iter().for_each(Place::prepare);
        if first.reuses {
            let earlier = Node::allocate();
            Use::Load.of(earlier, 0);
            // SAFETY: from a box, and used by this thread only.
            drop(unsafe { Box::from_raw(earlier) });
        }
        let node = Node::allocate();
        Use::Add.of(node, 0);
        hand_on(&first, &theirs, 0, node);
    }));
    let mut others = Vec::new();
    for (number, place) in places.iter().enumerate() {
        if let Hop::Atomic { marks: true, .. } = place.hop {
            let theirs = places.clone();
            others.push(thread::spawn(move || theirs[number].mark()));
        }
        if matches!(place.hop, Hop::Spawn) {
            continue;
        }
        let joined = if matches!(place.hop, Hop::Join) { before.take() } else { None };
        let (plan, theirs) = (plan.clone(), places.clone());
        let next = thread::spawn(move || {
            if let Some(joined) = joined {
                joined.join().unwrap();
            }
            if let Some(node) = theirs[number].receive() {
                after(&plan, &theirs, number, node);
            }
        });
        others.extend(before.replace(next));
    }
    others.extend(before);
    others.into_iter().for_each(|thread| thread.join().unwrap());
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn verdicts_follow_from_how_programs_were_made() {
    let first = number("PREEMPT_PUBLICATIONS_SEED", 0);
    let count = number("PREEMPT_PUBLICATIONS", 400);
    let (mut wrong, mut held, mut raced) = (Vec::new(), 0, 0);
    for seed in first..first + count {
        let plan = plan(seed);
        let mut check = Check::new().time(Duration::from_secs(60));
        if plan.reuses {
            check = check.reuse_addresses();
        }
        let report = check.run(|| run(&plan));
        match (&report.outcome, races(&plan)) {
            (Outcome::Holds, false) => held += 1,
            (Outcome::Failed(failure), true) if failure.kind == FailureKind::DataRace => {
                assert!(failure.message.contains("makes an object"), "{report}");
                raced += 1;
            }
            _ => wrong.push(format!("{seed}: {plan:?}: {report}")),
        }
    }
    println!("{held} hold, {raced} race, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count < 100 || held > count / 5 && raced > count / 5, "{held} hold, {raced} race");
}

/// Publishes a new object in one thread, and uses it in another.
fn publish(
    store: impl Fn(&AtomicPtr<AtomicUsize>, *mut AtomicUsize) + Send + Sync + Copy + 'static,
    load: impl Fn(&AtomicPtr<AtomicUsize>) -> *mut AtomicUsize + Send + Sync + Copy,
) -> impl Fn() + Sync {
    move || {
        let place = Arc::new(AtomicPtr::new(null_mut()));
        let theirs = place.clone();
        let other = thread::spawn(move || {
            let object = Box::into_raw(Box::new(AtomicUsize::new(7)));
            store(&theirs, object);
        });
        let object = load(&place);
        if !object.is_null() {
            // SAFETY: never freed.
            assert_eq!(unsafe { (*object).load(Relaxed) }, 7);
        }
        other.join().unwrap();
    }
}

/// Strategies for weak memory judge by the orders that are written; the others say that they run all of them as SeqCst.
#[test]
fn all_strategies_agree() {
    let weak = [Strategy::Portfolio, Strategy::PartialOrders];
    let strong = [
        Strategy::ContextBoundedDfs,
        Strategy::HappensBeforeCaching,
        Strategy::Optimal,
        Strategy::SleepSets,
    ];
    for (store, load, fenced, races) in [
        (Relaxed, Relaxed, false, true),
        (Release, Relaxed, false, true),
        (Relaxed, Acquire, false, true),
        (Release, Acquire, false, false),
        (Relaxed, Relaxed, true, false),
        (SeqCst, SeqCst, false, false),
    ] {
        let body = publish(
            move |place, object| {
                if fenced {
                    fence(Release);
                }
                place.store(object, store);
            },
            move |place| {
                let object = place.load(load);
                if fenced {
                    fence(Acquire);
                }
                object
            },
        );
        let check = Check::new().time(Duration::from_secs(60));
        for strategy in weak {
            let report = check.clone().strategy(strategy).run(&body);
            match report.failure() {
                Some(failure) => assert_eq!(failure.kind, FailureKind::DataRace, "{report}"),
                None => assert!(matches!(report.outcome, Outcome::Holds), "{report}"),
            }
            assert_eq!(report.failure().is_some(), races, "{store:?} {load:?} {fenced}: {report}");
        }
        let strong = strong.map(|strategy| check.clone().strategy(strategy));
        for check in strong.into_iter().chain([check.memory(Memory::Sc)]) {
            let report = check.run(&body);
            assert!(matches!(report.outcome, Outcome::Holds), "{report}");
            assert!(report.notes.iter().any(|note| note.contains("as SeqCst")), "{report}");
        }
    }
}

/// The report names both threads and both lines, and the schedule repeats the failure.
#[test]
fn the_report_shows_creation_and_use() {
    let body = publish(|place, object| place.store(object, Relaxed), |place| place.load(Acquire));
    let report = Check::new().run(&body);
    let failure = report.failure().expect("the creation races");
    assert!(failure.message.starts_with("data race with a creation: thread 1 makes an object at "));
    assert!(failure.message.contains(", main uses it at "), "{}", failure.message);
    assert_eq!(failure.preemptions, 1, "{report}");
    let texts: Vec<&str> = failure.trace.steps.iter().map(|step| &*step.text).collect();
    assert!(texts.iter().any(|text| text.contains(": made, races")), "{texts:?}");
    assert!(texts.last().is_some_and(|text| text.ends_with(".load -> 7, races")), "{texts:?}");
    let again = Check::new().replay(&failure.schedule).run(&body);
    assert_eq!(again.failure().map(|f| f.kind), Some(FailureKind::DataRace), "{again}");
}

/// A thread that acquires what a user of the object has released knows of the creation through that.
#[test]
fn the_use_itself_may_synchronise() {
    // Nothing makes the load read the store.
    let body = publish(
        |place, object| {
            // SAFETY: not published yet.
            unsafe { (*object).store(7, Release) };
            place.store(object, Relaxed);
        },
        |place| place.load(Relaxed),
    );
    let report = Check::new().run(body);
    assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::DataRace), "{report}");
    // A read-modify-write comes after the one that it would have to come before.
    let report = Check::new().run(|| {
        let place = Arc::new(AtomicPtr::new(null_mut::<AtomicUsize>()));
        let theirs = place.clone();
        let other = thread::spawn(move || {
            let object = Box::new(AtomicUsize::new(6));
            object.fetch_add(1, Release);
            theirs.store(Box::into_raw(object), Relaxed);
        });
        let object = place.load(Relaxed);
        if !object.is_null() {
            // SAFETY: never freed.
            assert_eq!(unsafe { (*object).fetch_add(1, Acquire) }, 7);
        }
        other.join().unwrap();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}

/// What is made before a thread is spawned, or by the thread itself, needs no order.
#[test]
fn what_a_thread_knows_from_birth_needs_no_order() {
    let report = Check::new().run(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let own = AtomicUsize::new(0);
                    own.store(1, Relaxed);
                    shared.0.fetch_add(1, Relaxed);
                    let inner = shared.clone();
                    thread::spawn(move || inner.1.fetch_add(1, Relaxed)).join().unwrap();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((shared.0.load(Relaxed), shared.1.load(Relaxed)), (2, 2));
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}
