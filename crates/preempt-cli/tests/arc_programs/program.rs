//! Small random programs about counts of references: the source of a crate that `cargo_references.rs` explores.
//!
//! Threads clone, drop, count, unwrap and upgrade references to a few values, and the destructor of a value may do what others
//! see: an operation, a write to plain memory, something that belongs to its thread. What all of them have seen makes one
//! number, and the program fails for some of these numbers: so it matters which of them there are.

use crate::random::Random;
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static DESTROYED: Cell<u32> = const { Cell::new(0) };
}

/// What destructors leave behind.
#[derive(Default)]
struct Traces {
    atomic: AtomicU32,
    locked: Mutex<Vec<u32>>,
    plain: Plain,
}

#[derive(Default)]
struct Plain(UnsafeCell<u32>);

// SAFETY: wrong, which is what some of the programs are about.
unsafe impl Sync for Plain {}

/// What a destructor does.
#[derive(Clone, Copy)]
enum Trace {
    Nothing,
    Add,
    Number,
    Push,
    Write,
    Local,
}

struct Value {
    trace: Trace,
    traces: &'static Traces,
    word: Box<u32>,
}

impl Drop for Value {
    fn drop(&mut self) {
        let number = NUMBER.with(Cell::get);
        match self.trace {
            Trace::Nothing => *self.word += 1,
            Trace::Add => _ = self.traces.atomic.fetch_add(1, Ordering::SeqCst),
            Trace::Number => _ = self.traces.atomic.swap(number, Ordering::SeqCst),
            Trace::Push => self.traces.locked.lock().unwrap().push(number),
            // SAFETY: see `Plain`.
            Trace::Write => unsafe { *self.traces.plain.0.get() = number },
            Trace::Local => DESTROYED.with(|destroyed| destroyed.set(destroyed.get() + 1)),
        }
    }
}

#[derive(Clone, Copy)]
enum Step {
    Clone(usize),
    Drop(usize),
    Count(usize),
    Unwrap(usize),
    Change(usize),
    Downgrade(usize),
    Upgrade(usize),
    Add(Ordering),
    Look(Ordering),
}

const VALUES: usize = 2;

/// One thread: references to each value, and weak ones.
#[derive(Default)]
struct Mine {
    strong: [Vec<Arc<Value>>; VALUES],
    weak: [Vec<Weak<Value>>; VALUES],
    seen: u32,
}

impl Mine {
    fn see(&mut self, what: u32) {
        self.seen = self.seen.wrapping_mul(7).wrapping_add(what + 1);
    }

    fn step(&mut self, step: Step, shared: &AtomicU32) {
        match step {
            Step::Clone(v) => {
                let copy = self.strong[v].last().cloned();
                self.strong[v].extend(copy);
            }
            Step::Drop(v) => drop(self.strong[v].pop()),
            Step::Count(v) => {
                let count = self.strong[v].last().map_or(9, |arc| Arc::strong_count(arc) as u32);
                self.see(count);
            }
            Step::Unwrap(v) => {
                let Some(arc) = self.strong[v].pop() else { return };
                let unwrapped = Arc::try_unwrap(arc);
                self.see(unwrapped.is_ok().into());
            }
            Step::Change(v) => {
                let Some(arc) = self.strong[v].last_mut() else { return };
                let alone = Arc::get_mut(arc).map(|value| *value.word += 1).is_some();
                self.see(alone.into());
            }
            Step::Downgrade(v) => {
                let weak = self.strong[v].last().map(Arc::downgrade);
                self.weak[v].extend(weak);
            }
            Step::Upgrade(v) => {
                let arc = self.weak[v].pop().and_then(|weak| weak.upgrade());
                self.see(arc.is_some().into());
            }
            Step::Add(order) => {
                let found = shared.fetch_add(1, order);
                self.see(found);
            }
            Step::Look(order) => {
                let found = shared.load(order);
                self.see(found);
            }
        }
    }
}

/// `looks`: also steps that look at a count, after which its order is searched.
fn steps(random: &mut Random, most: usize, looks: bool) -> Vec<Step> {
    let count = random.below(most) + 1;
    (0..count)
        .map(|_| {
            let v = random.below(VALUES);
            let kind = random.below(16);
            match kind {
                7..=11 if !looks => Step::Drop(v),
                0 | 1 => Step::Clone(v),
                2..=6 => Step::Drop(v),
                7 => Step::Count(v),
                8 => Step::Unwrap(v),
                9 => Step::Change(v),
                10 => Step::Downgrade(v),
                11 => Step::Upgrade(v),
                12 | 13 => Step::Add([Ordering::Relaxed, Ordering::AcqRel][random.below(2)]),
                _ => Step::Look([Ordering::Relaxed, Ordering::Acquire][random.below(2)]),
            }
        })
        .collect()
}

/// Executes the program of this seed once.
pub fn run(seed: u64) {
    let mut random = Random::new(seed);
    let traces: &'static Traces = Box::leak(Box::default());
    let shared: &'static AtomicU32 = Box::leak(Box::default());
    let kinds =
        [Trace::Nothing, Trace::Add, Trace::Number, Trace::Push, Trace::Write, Trace::Local];
    let values: [Arc<Value>; VALUES] = std::array::from_fn(|_| {
        Arc::new(Value { trace: kinds[random.below(kinds.len())], traces, word: Box::new(0) })
    });
    let looks = random.below(2) == 0;
    let weak = random.below(3) == 0;
    let threads: Vec<_> = (1..3)
        .map(|number| {
            let steps = steps(&mut random, 3, looks);
            let mut mine = Mine::default();
            for (v, value) in values.iter().enumerate() {
                mine.strong[v].push(value.clone());
                mine.weak[v].extend(weak.then(|| Arc::downgrade(value)));
            }
            // A thread with a name does more before its function begins.
            let builder = match random.below(2) {
                0 => std::thread::Builder::new(),
                _ => std::thread::Builder::new().name(number.to_string()),
            };
            let body = move || {
                NUMBER.with(|own| own.set(number));
                for step in steps {
                    mine.step(step, shared);
                }
                let seen = mine.seen;
                drop(mine);
                seen * 5 + DESTROYED.with(Cell::get)
            };
            builder.spawn(body).unwrap()
        })
        .collect();
    if random.below(3) > 0 {
        drop(values);
    } else {
        let mut mine = Mine::default();
        for (v, value) in values.into_iter().enumerate() {
            mine.strong[v].push(value);
        }
        steps(&mut random, 2, looks).into_iter().for_each(|step| mine.step(step, shared));
    }
    let mut seen = 0_u32;
    for thread in threads {
        seen = seen.wrapping_mul(31).wrapping_add(thread.join().unwrap());
    }
    seen = seen.wrapping_mul(31).wrapping_add(traces.atomic.load(Ordering::SeqCst));
    for &number in &*traces.locked.lock().unwrap() {
        seen = seen.wrapping_mul(3).wrapping_add(number);
    }
    // SAFETY: all threads have ended.
    seen = seen.wrapping_mul(31).wrapping_add(unsafe { *traces.plain.0.get() });
    let wrong = random.below(20) as u32;
    assert!((seen ^ seen >> 7) % 20 != wrong, "a number that must not be");
}
