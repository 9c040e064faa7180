//! Litmus tests: the explorer against what the axioms of RC11 say.
//!
//! A litmus test is a few threads of a few accesses and fences. The explorer runs it on a few lines of
//! interpreter and reports the reads-from relation and modification orders of every complete graph with
//! its cost; `oracle.rs` finds both by other means, without any code of the explorer.

mod oracle;
mod tests;

use crate::random::Random;
use crate::{
    Action, Command, Driver, ExecutionState, Halt, Limits, Names, Next, ObjectId, Operation, Order,
    Program, Rules, Run, Session, Statistics, ThreadId, Update, forward,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;

/// Thread, and which access of the thread; fences are not counted.
type Name = (usize, usize);
/// Stale choices and preemptions.
type Cost = (u32, u32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Load,
    Store(u64),
    Add(u64),
    Swap(u64),
    /// Expected, new, order of a failure, whether it may fail for no reason.
    Compare(u64, u64, Order, bool),
    Fence,
}

#[derive(Clone, Debug)]
struct Instruction {
    kind: Kind,
    location: usize,
    /// `None` for plain data.
    order: Option<Order>,
    register: String,
}

#[derive(Clone, Debug, Default)]
struct Litmus {
    threads: Vec<Vec<Instruction>>,
    locations: Vec<String>,
}

/// A complete graph: which write each read reads, and the writes of each location in order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
struct Shape {
    reads: BTreeMap<Name, Option<Name>>,
    orders: Vec<Vec<Name>>,
}

impl Litmus {
    fn accesses(&self, thread: usize) -> impl Iterator<Item = &Instruction> {
        self.threads[thread].iter().filter(|i| i.kind != Kind::Fence)
    }

    fn access(&self, name: Name) -> &Instruction {
        self.accesses(name.0).nth(name.1).expect("an access of the test")
    }

    /// What an access finds and what it leaves.
    fn value(&self, shape: &Shape, name: Name) -> (u64, u64) {
        let old = match shape.reads.get(&name) {
            Some(Some(write)) => self.value(shape, *write).1,
            _ => 0,
        };
        let new = match self.access(name).kind {
            Kind::Store(v) | Kind::Swap(v) => v,
            Kind::Add(v) => old + v,
            Kind::Compare(_, new, ..) => new,
            Kind::Load | Kind::Fence => old,
        };
        (old, new)
    }

    /// Values of registers and of memory in the end.
    fn outcome(&self, shape: &Shape) -> BTreeMap<String, u64> {
        let mut out = BTreeMap::new();
        for &name in shape.reads.keys() {
            let register = &self.access(name).register;
            out.insert(format!("{}:{register}", name.0), self.value(shape, name).0);
        }
        for (location, order) in self.locations.iter().zip(&shape.orders) {
            let value = order.last().map_or(0, |&write| self.value(shape, write).1);
            out.insert(format!("mem {location}"), value);
        }
        out
    }
}

fn order_named(text: &str) -> Option<Order> {
    match text {
        "rlx" => Some(Order::Relaxed),
        "acq" => Some(Order::Acquire),
        "rel" => Some(Order::Release),
        "ar" => Some(Order::AcquireRelease),
        "sc" => Some(Order::SequentiallyConsistent),
        "na" => None,
        other => panic!("no order: {other}"),
    }
}

impl std::str::FromStr for Litmus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut litmus = Litmus::default();
        for thread in text.split(" || ") {
            let mut out = Vec::new();
            for statement in thread.split("; ") {
                let (register, call) = match statement.split_once(" = ") {
                    Some((register, call)) => (register.trim(), call.trim()),
                    None => ("", statement.trim()),
                };
                let (head, arguments) = call.split_once('(').ok_or(statement)?;
                let arguments: Vec<&str> = arguments.trim_end_matches(')').split(", ").collect();
                let number = |i: usize| arguments[i].parse::<u64>().map_err(|e| e.to_string());
                let (location, method) = head.split_once('.').unwrap_or(("", head));
                let (kind, order) = match method {
                    "fence" => (Kind::Fence, arguments[0]),
                    "load" => (Kind::Load, arguments[0]),
                    "store" => (Kind::Store(number(0)?), arguments[1]),
                    "fetch_add" => (Kind::Add(number(0)?), arguments[1]),
                    "compare_exchange" => {
                        let failure = order_named(arguments[3]).ok_or("na")?;
                        (Kind::Compare(number(0)?, number(1)?, failure, false), arguments[2])
                    }
                    other => return Err(other.into()),
                };
                if !location.is_empty() && !litmus.locations.iter().any(|l| l == location) {
                    litmus.locations.push(location.into());
                }
                let location = litmus.locations.iter().position(|l| l == location).unwrap_or(0);
                let (order, register) = (order_named(order), register.to_string());
                out.push(Instruction { kind, location, order, register });
            }
            litmus.threads.push(out);
        }
        Ok(litmus)
    }
}

/// A random test that the oracle can enumerate.
fn random_litmus(random: &mut Random) -> Litmus {
    let threads = 2 + random.below(2);
    let locations = 1 + random.below(3);
    let mut left = 4 + random.below(5);
    // Some tests are of one kind, others are mixed.
    let (fences, strong) = (random.below(3) == 0, random.below(3));
    let mut litmus = Litmus { threads: vec![Vec::new(); threads], ..Litmus::default() };
    litmus.locations = (0..locations).map(|i| format!("x{i}")).collect();
    let pick = |random: &mut Random, list: &[Order]| {
        let last = list[list.len() - 1];
        if strong == 0 && random.below(2) == 0 { last } else { list[random.below(list.len())] }
    };
    use Order::*;
    match random.below(6) {
        0 | 1 => return crossed_litmus(random, &pick),
        2 => return fenced_litmus(random),
        _ => {}
    }
    while left > 0 {
        let thread = random.below(threads);
        let location = random.below(locations);
        let value = 1 + random.below(2) as u64;
        let loads = [Relaxed, Acquire, SequentiallyConsistent];
        let stores = [Relaxed, Release, SequentiallyConsistent];
        let all = [Relaxed, Acquire, Release, AcquireRelease, SequentiallyConsistent];
        let (kind, order) = match random.below(if fences { 11 } else { 9 }) {
            0..=2 => (Kind::Load, pick(random, &loads)),
            3..=5 => (Kind::Store(value), pick(random, &stores)),
            6 => (Kind::Add(1), pick(random, &all)),
            7 => (Kind::Swap(value), pick(random, &all)),
            8 => {
                let failure = pick(random, &loads);
                let expected = random.below(2) as u64;
                (Kind::Compare(expected, 2, failure, random.below(3) == 0), pick(random, &all))
            }
            _ => (Kind::Fence, pick(random, &all[1..])),
        };
        let register = format!("r{}", litmus.threads[thread].len());
        litmus.threads[thread].push(Instruction { kind, location, order: Some(order), register });
        left -= 1;
    }
    litmus.threads.retain(|thread| thread.iter().any(|i| i.kind != Kind::Fence));
    litmus
}

/// A random test of the classical shape: threads access two locations, often with a fence between, and
/// now and then a third thread updates one of them.
fn crossed_litmus(random: &mut Random, pick: &dyn Fn(&mut Random, &[Order]) -> Order) -> Litmus {
    use Order::*;
    let mut litmus = Litmus { locations: vec!["x".into(), "y".into()], ..Litmus::default() };
    let writes_first = random.below(2) == 0;
    for thread in 0..2 {
        let mut out = Vec::new();
        for step in 0..2 {
            let location = thread ^ step;
            // Message passing, store buffering, and what lies between.
            let writes =
                if writes_first { step == 0 } else { thread == 0 } ^ (random.below(8) == 0);
            let (kind, order) = match (writes, random.below(5)) {
                (_, 0) => {
                    (Kind::Add(1), pick(random, &[Relaxed, Acquire, Release, AcquireRelease]))
                }
                (true, _) => {
                    let orders = [Relaxed, Relaxed, Release, SequentiallyConsistent];
                    (Kind::Store(1), pick(random, &orders))
                }
                (false, _) => {
                    (Kind::Load, pick(random, &[Relaxed, Relaxed, Acquire, SequentiallyConsistent]))
                }
            };
            let instruction = |kind, order| {
                let register = format!("r{step}");
                Instruction { kind, location, order: Some(order), register }
            };
            out.push(instruction(kind, order));
            if step == 0 && random.below(2) == 0 {
                let orders = [
                    Acquire,
                    Release,
                    AcquireRelease,
                    SequentiallyConsistent,
                    SequentiallyConsistent,
                ];
                out.push(instruction(Kind::Fence, pick(random, &orders)));
            }
        }
        litmus.threads.push(out);
    }
    if random.below(3) == 0 {
        let (location, register) = (random.below(2), "r".to_string());
        let order = Some(pick(random, &[Relaxed, Relaxed, Acquire, AcquireRelease]));
        litmus.threads.push(vec![Instruction { kind: Kind::Add(1), location, order, register }]);
    }
    litmus
}

/// A random test in which sequentially consistent fences and accesses meet: two threads access two locations with a fence
/// between, and what one of them would store another thread may store, so that it is seen.
fn fenced_litmus(random: &mut Random) -> Litmus {
    use Order::*;
    let mut litmus = Litmus { locations: vec!["x".into(), "y".into()], ..Litmus::default() };
    for thread in 0..2 {
        let mut out = Vec::new();
        for step in 0..2 {
            let kind = if random.below(2) == 0 { Kind::Store(1) } else { Kind::Load };
            let order = [Relaxed, SequentiallyConsistent][random.below(2)];
            let instruction = |kind, order| {
                let register = format!("r{step}");
                Instruction { kind, location: thread ^ step, order: Some(order), register }
            };
            out.push(instruction(kind, order));
            if step == 0 && random.below(4) > 0 {
                out.push(instruction(Kind::Fence, SequentiallyConsistent));
            }
        }
        litmus.threads.push(out);
    }
    if random.below(2) == 0 {
        hand_out_a_store(random, &mut litmus);
    }
    litmus
}

/// A store of the first two threads becomes a load, and another thread stores: the first one may see that.
fn hand_out_a_store(random: &mut Random, litmus: &mut Litmus) {
    let thread = &mut litmus.threads[random.below(2)];
    let Some(at) = thread.iter().position(|i| matches!(i.kind, Kind::Store(_))) else { return };
    let order = [Order::Relaxed, Order::Relaxed, Order::Acquire][random.below(3)];
    let load = Instruction { kind: Kind::Load, order: Some(order), ..thread[at].clone() };
    let store = std::mem::replace(&mut thread[at], load);
    litmus.threads.push(vec![store]);
}

thread_local! {
    static COLLECTED: RefCell<Option<Vec<(Shape, Cost)>>> = const { RefCell::new(None) };
}

/// Called by the search for every complete graph.
fn collect(state: &ExecutionState, cost: Cost) {
    COLLECTED.with_borrow_mut(|collected| {
        let Some(collected) = collected else { return };
        let mut names = BTreeMap::new();
        for thread in 1..state.threads.len() {
            for step in 0..state.threads[thread].steps {
                let name = crate::mix::mix(state.threads[thread].key, u64::from(step));
                names.insert(name, (thread - 1, step as usize));
            }
        }
        let mut shape = Shape::default();
        if let Some(weak) = &state.weak {
            for (reader, write) in &weak.rf {
                shape.reads.insert(names[reader], names.get(write).copied());
            }
            for object in 0..LOCATIONS {
                let location = weak.location(ObjectId(object as u32 + FIRST));
                let writes = location.map_or(&[][..], |l| &l.writes[1..]);
                shape.orders.push(writes.iter().map(|w| names[&w.name]).collect());
            }
        }
        collected.push((shape, cost));
    });
}

/// Numbers of the objects that are the locations: the first is the main thread's token.
const FIRST: u32 = 1;
const LOCATIONS: usize = 4;

/// Runs a litmus test: the main thread spawns the threads and joins them.
struct Interpreter<'a> {
    litmus: &'a Litmus,
    /// Next instruction by thread, the main thread's joins first.
    at: Vec<usize>,
    objects: Vec<ObjectId>,
    cells: Vec<ObjectId>,
}

impl Interpreter<'_> {
    fn advance(&mut self, thread: usize, run: &mut Run, driver: &mut dyn Driver) {
        run.current = ThreadId(thread as u32);
        let next = loop {
            let at = self.at[thread];
            self.at[thread] += 1;
            let site = Location::caller();
            if thread == 0 {
                if at == self.litmus.threads.len() {
                    break Next::End;
                }
                let target = at as u64 + 1;
                break Next::Operation(Operation::new(
                    Action::Join,
                    ObjectId::NONE,
                    target,
                    0,
                    site,
                ));
            }
            let Some(instruction) = self.litmus.threads[thread - 1].get(at) else {
                break Next::End;
            };
            let Some(order) = instruction.order else {
                let write = matches!(instruction.kind, Kind::Store(_));
                run.touch(self.cells[instruction.location], write, site);
                continue;
            };
            run.weaken(order, instruction.kind == Kind::Fence);
            let (action, first, second) = match instruction.kind {
                Kind::Fence => {
                    run.fence(order);
                    continue;
                }
                Kind::Load => (Action::Load, 0, 0),
                Kind::Store(value) => (Action::Store, value, 0),
                Kind::Add(value) => (Action::Update(Update::Add, 64), value, 0),
                Kind::Swap(value) => (Action::Update(Update::Swap, 64), value, 0),
                Kind::Compare(expected, new, ..) => (Action::CompareExchange, expected, new),
            };
            let object = self.objects[instruction.location];
            let mut operation = Operation::new(action, object, first, second, site);
            operation.order = order;
            if let Kind::Compare(.., failure, may_fail) = instruction.kind {
                run.weaken(failure, false);
                (operation.failure, operation.may_fail) = (failure, may_fail);
                if may_fail {
                    run.weaken(Order::Relaxed, false);
                }
            }
            break Next::Operation(operation);
        };
        run.reach(next, driver);
    }
}

impl Program for Interpreter<'_> {
    fn execute(&mut self, run: &mut Run, driver: &mut dyn Driver) {
        self.objects = (0..LOCATIONS).map(|_| run.create(0)).collect();
        self.cells = (0..LOCATIONS).map(|_| run.create(0)).collect();
        self.at = vec![0; self.litmus.threads.len() + 1];
        for thread in 1..self.at.len() {
            run.current = ThreadId::MAIN;
            run.spawn();
            self.advance(thread, run, driver);
        }
        self.advance(0, run, driver);
        while let Command::Resume(thread, _) = run.schedule(driver) {
            self.advance(thread.index(), run, driver);
        }
    }
}

/// All complete graphs that the explorer finds, each with its least cost.
fn explored(litmus: &Litmus, limits: Limits) -> (BTreeMap<Shape, Cost>, Halt, Statistics) {
    explored_in_turns(litmus, limits, None)
}

/// The same if levels of stale choices take turns of so many states.
fn explored_in_turns(
    litmus: &Litmus,
    limits: Limits,
    turn: Option<u32>,
) -> (BTreeMap<Shape, Cost>, Halt, Statistics) {
    let mut program =
        Interpreter { litmus, at: Vec::new(), objects: Vec::new(), cells: Vec::new() };
    // All writes are kept from the beginning, so that graphs can be compared where all orders are
    // strong as well.
    let clocks = litmus.threads.iter().flatten().any(|i| i.order.is_none());
    let mut rules = Rules { rc11: true, weak: true, strong: true, clocks, ..Rules::default() };
    let names = Names::default();
    loop {
        COLLECTED.set(Some(Vec::new()));
        let mut session = Session::new(&mut program, limits.clone(), rules, names.clone());
        session.on_terminal = Some(collect);
        let halt = match turn {
            Some(turn) => forward::explore_in_turns(&mut session, turn),
            // Looking ahead changes nothing.
            None => forward::explore_ahead(&mut session),
        };
        let statistics = session.statistics;
        rules = session.run.rules;
        let collected = COLLECTED.take().unwrap_or_default();
        if halt == Halt::Restart {
            continue;
        }
        let mut graphs = BTreeMap::new();
        for (mut shape, cost) in collected {
            shape.orders.truncate(litmus.locations.len());
            let least = graphs.entry(shape).or_insert(cost);
            *least = cost.min(*least);
        }
        return (graphs, halt, statistics);
    }
}
