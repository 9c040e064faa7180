//! Litmus tests as data: read from a table or made at random, written as C or C++, or executed as the
//! body of a Rust test.

use preempt::sync::atomic::{AtomicUsize, Ordering, fence};
use preempt::{Check, Memory, Strategy, thread};
pub(crate) use preempt_testing::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Load,
    Store(usize),
    Add(usize),
    Swap(usize),
    /// Expected, new, order of a failure, whether it may fail for no reason.
    Compare(usize, usize, Ordering, bool),
    Fence,
}

#[derive(Clone, Debug)]
struct Instruction {
    kind: Kind,
    location: String,
    /// `None` for plain data.
    order: Option<Ordering>,
    register: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Litmus {
    threads: Vec<Vec<Instruction>>,
}

/// An outcome: registers as `0:a`, memory as `mem x`, and their values.
pub(crate) type Ask = BTreeMap<String, usize>;

/// A test of the table.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) litmus: Litmus,
    pub(crate) graphs: u64,
    pub(crate) without_stale: u64,
    pub(crate) ask: Ask,
    pub(crate) least: Option<(u64, u64)>,
    pub(crate) races: bool,
}

/// The table.
pub(crate) fn rows() -> Vec<Row> {
    let table = include_str!("../../../preempt-explore/src/litmus/rc11.tsv");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let pair = |text: &str| {
            let (stale, preemptions) = text.trim_matches(['(', ')']).split_once(", ")?;
            Some((stale.parse().ok()?, preemptions.parse().ok()?))
        };
        let words = fields[5].replace("mem ", "mem_");
        let ask = words.split(' ').map(|word| {
            let (name, value) = word.split_once('=').expect("a value");
            (name.replace("mem_", "mem "), value.parse().expect("a number"))
        });
        Row {
            name: fields[0].into(),
            litmus: Litmus::parse(fields[1]),
            graphs: fields[2].parse().expect("a number"),
            without_stale: fields[4].parse().expect("a number"),
            ask: ask.collect(),
            least: pair(fields[7]),
            races: fields[8] == "race",
        }
    };
    table.lines().skip(1).map(row).collect()
}

fn order_named(text: &str) -> Option<Ordering> {
    match text {
        "rlx" => Some(Ordering::Relaxed),
        "acq" => Some(Ordering::Acquire),
        "rel" => Some(Ordering::Release),
        "ar" => Some(Ordering::AcqRel),
        "sc" => Some(Ordering::SeqCst),
        "na" => None,
        other => panic!("no order: {other}"),
    }
}

impl Litmus {
    fn parse(text: &str) -> Self {
        let threads =
            text.split(" || ").map(|thread| thread.split("; ").map(instruction).collect());
        Litmus { threads: threads.collect() }
    }

    fn locations(&self) -> BTreeMap<String, bool> {
        let accesses = self.threads.iter().flatten().filter(|i| i.kind != Kind::Fence);
        accesses.map(|i| (i.location.clone(), i.order.is_none())).collect()
    }

    /// Two or three threads of a few instructions, and an outcome: one that was seen under weak memory only
    /// if there is any, or one that may or may not be possible.
    pub(crate) fn random(random: &mut Random) -> (Self, Ask) {
        let (litmus, ask) = Litmus::any(random);
        let strong = litmus.outcomes(Memory::Sc);
        let weak: Vec<Ask> = litmus.outcomes(Memory::Rc11).difference(&strong).cloned().collect();
        match weak.is_empty() {
            true => (litmus, ask),
            false => {
                let ask = weak[random.below(weak.len())].clone();
                (litmus, ask)
            }
        }
    }

    /// Outcomes of some executions.
    fn outcomes(&self, memory: Memory) -> BTreeSet<Ask> {
        let seen = Mutex::new(BTreeSet::new());
        let check = Check::new().memory(memory).strategy(Strategy::Random { seed: 1 });
        check.executions(300).run(|| {
            seen.lock().expect("one thread at a time").insert(outcome(self));
        });
        seen.into_inner().expect("one thread at a time")
    }

    fn any(random: &mut Random) -> (Self, Ask) {
        use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        let count = 2 + random.below(2);
        let mut ask = Ask::new();
        let mut threads = Vec::new();
        for thread in 0..count {
            let mut list = Vec::new();
            for nth in 0..1 + random.below(if count == 2 { 4 } else { 2 }) {
                let value = 1 + random.below(2);
                let any = random.pick(&[Relaxed, Relaxed, Acquire, Release, AcqRel, SeqCst]);
                let load = random.pick(&[Relaxed, Relaxed, Acquire, SeqCst]);
                let store = random.pick(&[Relaxed, Relaxed, Release, SeqCst]);
                let expected = random.below(2);
                let (kind, order) = match random.below(12) {
                    0..4 => (Kind::Load, load),
                    4..8 => (Kind::Store(value), store),
                    8 => (Kind::Add(value), any),
                    9 => (Kind::Swap(value), any),
                    10 => (Kind::Compare(expected, value, load, random.below(2) == 0), any),
                    _ => (Kind::Fence, random.pick(&[Acquire, Release, AcqRel, SeqCst])),
                };
                let register = format!("r{nth}");
                if !matches!(kind, Kind::Store(_) | Kind::Fence) && random.below(3) > 0 {
                    ask.insert(format!("{thread}:{register}"), random.below(3));
                }
                let location = random.pick(&["x", "y"]).into();
                list.push(Instruction { kind, location, order: Some(order), register });
            }
            threads.push(list);
        }
        let litmus = Litmus { threads };
        for location in litmus.locations().into_keys() {
            if random.below(3) == 0 || ask.is_empty() {
                ask.insert(format!("mem {location}"), random.below(3));
            }
        }
        if ask.is_empty() {
            return Litmus::any(random);
        }
        (litmus, ask)
    }
}

fn instruction(statement: &str) -> Instruction {
    let (register, call) = statement.split_once(" = ").unwrap_or(("", statement));
    let (head, arguments) = call.trim().split_once('(').expect("a call");
    let arguments: Vec<&str> = arguments.trim_end_matches(')').split(", ").collect();
    let number = |i: usize| arguments[i].parse::<usize>().expect("a number");
    let (location, method) = head.split_once('.').unwrap_or(("", head));
    let (kind, order) = match method {
        "fence" => (Kind::Fence, arguments[0]),
        "load" => (Kind::Load, arguments[0]),
        "store" => (Kind::Store(number(0)), arguments[1]),
        "fetch_add" => (Kind::Add(number(0)), arguments[1]),
        "compare_exchange" => {
            let failure = order_named(arguments[3]).expect("an order");
            (Kind::Compare(number(0), number(1), failure, false), arguments[2])
        }
        other => panic!("no instruction: {other}"),
    };
    let (location, register) = (location.to_string(), register.trim().to_string());
    Instruction { kind, location, order: order_named(order), register }
}

/// Executes a test as the body of a Rust test; with an outcome, panics if that is what comes out.
pub(crate) fn execute(test: &Litmus, ask: Option<&Ask>) {
    let outcome = outcome(test);
    let is = |(name, value): (&String, &usize)| outcome.get(name) == Some(value);
    assert!(!ask.is_some_and(|ask| ask.iter().all(is)), "the outcome in question");
}

fn outcome(test: &Litmus) -> Ask {
    let locations: Vec<String> = test.locations().into_keys().collect();
    let atomics: Arc<Vec<AtomicUsize>> =
        Arc::new(locations.iter().map(|_| AtomicUsize::new(0)).collect());
    let handles: Vec<_> = test
        .threads
        .iter()
        .map(|thread| {
            let (thread, atomics, locations) = (thread.clone(), atomics.clone(), locations.clone());
            thread::spawn(move || {
                let at = |i: &Instruction| locations.iter().position(|l| *l == i.location);
                let act = |i: &Instruction| {
                    let value = perform(i, at(i).map(|at| &atomics[at]));
                    (i.register.clone(), value)
                };
                let reads = |i: &Instruction| !matches!(i.kind, Kind::Store(_) | Kind::Fence);
                let mut registers = Vec::new();
                for i in &thread {
                    let value = act(i);
                    registers.extend(reads(i).then_some(value));
                }
                registers
            })
        })
        .collect();
    let mut outcome = Ask::new();
    for (number, handle) in handles.into_iter().enumerate() {
        let registers = handle.join().expect("a thread that ends");
        outcome.extend(registers.into_iter().map(|(name, v)| (format!("{number}:{name}"), v)));
    }
    for (name, atomic) in locations.iter().zip(atomics.iter()) {
        outcome.insert(format!("mem {name}"), atomic.load(Ordering::Relaxed));
    }
    outcome
}

fn perform(i: &Instruction, atomic: Option<&AtomicUsize>) -> usize {
    let order = i.order.expect("no plain data");
    let Some(atomic) = atomic else {
        fence(order);
        return 0;
    };
    match i.kind {
        Kind::Load => atomic.load(order),
        Kind::Store(value) => {
            atomic.store(value, order);
            0
        }
        Kind::Add(value) => atomic.fetch_add(value, order),
        Kind::Swap(value) => atomic.swap(value, order),
        Kind::Compare(expected, new, failure, weak) => {
            let result = match weak {
                true => atomic.compare_exchange_weak(expected, new, order, failure),
                false => atomic.compare_exchange(expected, new, order, failure),
            };
            result.unwrap_or_else(|found| found)
        }
        Kind::Fence => {
            fence(order);
            0
        }
    }
}

/// How a program is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    C,
    /// As C, but the main thread reads the atomics by plain accesses at the end, when all other threads have ended.
    PlainAtTheEnd,
    Cxx,
}

impl Spelling {
    fn order(self, order: Ordering) -> String {
        let name = match order {
            Ordering::Relaxed => "relaxed",
            Ordering::Acquire => "acquire",
            Ordering::Release => "release",
            Ordering::AcqRel => "acq_rel",
            _ => "seq_cst",
        };
        match self {
            Spelling::C | Spelling::PlainAtTheEnd => format!("memory_order_{name}"),
            Spelling::Cxx => format!("std::memory_order_{name}"),
        }
    }

    /// One operation, as an expression; `at` is the location.
    fn operation(self, i: &Instruction, at: &str) -> String {
        let Some(order) = i.order.map(|order| self.order(order)) else {
            return match i.kind {
                Kind::Store(value) => format!("{at} = {value}"),
                _ => at.into(),
            };
        };
        let compare = |expected: usize, new: usize, failure: Ordering, weak: bool| {
            let form = if weak { "weak" } else { "strong" };
            let failure = self.order(failure);
            let call = match self {
                Spelling::C | Spelling::PlainAtTheEnd => format!(
                    "atomic_compare_exchange_{form}_explicit(&{at}, &seen, {new}, {order}, {failure})"
                ),
                Spelling::Cxx => {
                    format!("{at}.compare_exchange_{form}(seen, {new}, {order}, {failure})")
                }
            };
            format!("(seen = {expected}, {call}, seen)")
        };
        match (self, i.kind) {
            (_, Kind::Compare(expected, new, failure, weak)) => {
                compare(expected, new, failure, weak)
            }
            (Spelling::Cxx, Kind::Load) => format!("{at}.load({order})"),
            (Spelling::Cxx, Kind::Store(v)) => format!("{at}.store({v}, {order})"),
            (Spelling::Cxx, Kind::Add(v)) => format!("{at}.fetch_add({v}, {order})"),
            (Spelling::Cxx, Kind::Swap(v)) => format!("{at}.exchange({v}, {order})"),
            (Spelling::Cxx, Kind::Fence) => format!("std::atomic_thread_fence({order})"),
            (_, Kind::Load) => format!("atomic_load_explicit(&{at}, {order})"),
            (_, Kind::Store(v)) => format!("atomic_store_explicit(&{at}, {v}, {order})"),
            (_, Kind::Add(v)) => {
                format!("atomic_fetch_add_explicit(&{at}, {v}, {order})")
            }
            (_, Kind::Swap(v)) => {
                format!("atomic_exchange_explicit(&{at}, {v}, {order})")
            }
            (_, Kind::Fence) => format!("atomic_thread_fence({order})"),
        }
    }

    fn header(self) -> &'static str {
        match self {
            Spelling::C | Spelling::PlainAtTheEnd => {
                "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n"
            }
            Spelling::Cxx => {
                "#include <atomic>\n#include <cassert>\n#include <cstdlib>\n#include <thread>\n"
            }
        }
    }
}

/// A program that executes the test whose number is its first argument.
pub(crate) fn source(tests: &[(Litmus, Ask)], spelling: Spelling) -> String {
    let mut text = String::from(spelling.header());
    for (number, (test, ask)) in tests.iter().enumerate() {
        text += &one(test, ask, number, spelling);
    }
    text +=
        "int main(int count, char **words) {\n int ask = count > 2;\n switch (atoi(words[1])) {\n";
    for number in 0..tests.len() {
        let _ = writeln!(text, " case {number}: return p{number}(ask);");
    }
    text + " }\n return 2;\n}\n"
}

fn one(test: &Litmus, ask: &Ask, number: usize, spelling: Spelling) -> String {
    let mut text = String::new();
    for (location, plain) in test.locations() {
        let kind = match (plain, spelling) {
            (true, _) => "int",
            (false, Spelling::Cxx) => "std::atomic<int>",
            (false, _) => "atomic_int",
        };
        let _ = writeln!(text, "static {kind} p{number}{location};");
    }
    for (thread, list) in test.threads.iter().enumerate() {
        let registers: Vec<&str> =
            list.iter().map(|i| i.register.as_str()).filter(|name| !name.is_empty()).collect();
        for register in &registers {
            let _ = writeln!(text, "static int p{number}r{thread}{register};");
        }
        let _ = writeln!(text, "static void *p{number}t{thread}(void *unused) {{ int seen = 0;");
        for i in list {
            let operation = spelling.operation(i, &format!("p{number}{}", i.location));
            let keep = match i.kind {
                Kind::Store(_) | Kind::Fence => String::new(),
                _ => format!("p{number}r{thread}{} = ", i.register),
            };
            let _ = writeln!(text, " {keep}{operation};");
        }
        text += " (void)seen; return unused; }\n";
    }
    let threads = test.threads.len();
    let _ = writeln!(text, "static int p{number}(int ask) {{");
    for thread in 0..threads {
        let start = format!("p{number}t{thread}");
        let _ = match spelling {
            Spelling::C | Spelling::PlainAtTheEnd => {
                writeln!(text, " pthread_t t{thread}; pthread_create(&t{thread}, 0, {start}, 0);")
            }
            Spelling::Cxx => writeln!(text, " std::thread t{thread}({start}, nullptr);"),
        };
    }
    for thread in 0..threads {
        let _ = match spelling {
            Spelling::C | Spelling::PlainAtTheEnd => writeln!(text, " pthread_join(t{thread}, 0);"),
            Spelling::Cxx => writeln!(text, " t{thread}.join();"),
        };
    }
    let mut conditions = vec!["ask".to_string()];
    for (location, plain) in test.locations() {
        let order = (!plain).then_some(Ordering::Relaxed);
        let load = Instruction { kind: Kind::Load, location, order, register: String::new() };
        let location = &load.location;
        let value = match spelling {
            Spelling::PlainAtTheEnd => format!("*(int *)&p{number}{location}"),
            _ => spelling.operation(&load, &format!("p{number}{location}")),
        };
        let _ = writeln!(text, " int m{location} = {value}; (void)m{location};");
        if let Some(value) = ask.get(&format!("mem {location}")) {
            conditions.push(format!("m{location} == {value}"));
        }
    }
    for (name, value) in ask {
        if let Some((thread, register)) = name.split_once(':') {
            conditions.push(format!("p{number}r{thread}{register} == {value}"));
        }
    }
    let _ = writeln!(text, " assert(!({})); return 0; }}", conditions.join(" && "));
    text
}
