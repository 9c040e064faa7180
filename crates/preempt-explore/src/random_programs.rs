//! Random small programs: every strategy against plain depth-first search.
//!
//! The programs run on a few lines of interpreter, without coroutines, so this also shows that
//! strategies need nothing but [`Program`]. Deliberate mistakes in the engine must be caught by the
//! same comparison.

use crate::mutation::{ACTIVE, Mutation};
use crate::random::Random;
use crate::{
    Action, Command, Driver, Ending, Halt, Limits, Names, Next, ObjectId, Operation, Program,
    Rules, Run, Session, Tally, ThreadId, Update, caching, forward, iterative, optimal, sleep_sets,
};
use std::collections::BTreeMap;
use std::panic::Location;

const ATOMICS: usize = 2;
const MUTEXES: usize = 2;
const CONDITIONS: usize = 1;
const READ_WRITE: usize = ATOMICS + MUTEXES + CONDITIONS;
const TOKEN: usize = READ_WRITE + 1;

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Load(usize),
    Store(usize, u64),
    Add(usize),
    Compare(usize, u64, u64),
    Lock(usize),
    TryLock(usize),
    Unlock(usize),
    Wait(usize),
    /// Wait with a limit of time.
    WaitTimed(usize),
    Read,
    ReadUnlock,
    Write,
    WriteUnlock,
    /// Take a token; with a limit of time if `true`.
    Take(bool),
    Give,
    /// Store to an atomic that only one body uses.
    Own(usize),
    NotifyOne,
    NotifyAll,
    Spawn(usize),
    /// Join the n-th child, if there is one.
    Join(usize),
    /// Yield until the atomic has this value.
    Spin(usize, u64),
    /// The same at most twice, then go on.
    SpinTwice(usize, u64),
    /// Yield until the atomic has this value, looking under a mutex, which is left unchanged.
    Poll(usize, u64),
    /// Release a mutex without having changed anything.
    UnlockUnchanged(usize),
    /// Let others run.
    Yield,
    Choose,
    /// Skip the next instruction if the last result is this.
    SkipIf(u64),
    PanicIf(u64),
    /// Plain data, only touched while holding mutex 0.
    Plain,
}

struct Interpreter {
    bodies: Vec<Vec<Instruction>>,
    threads: Vec<Interpreted>,
    objects: Vec<ObjectId>,
    /// Not an object: protected by mutex 0.
    plain: u64,
}

#[derive(Clone)]
struct Interpreted {
    id: ThreadId,
    body: usize,
    at: usize,
    result: u64,
    children: Vec<ThreadId>,
    joining: Option<ThreadId>,
    waiting: bool,
    spinning: bool,
    /// Where in a loop, and what it has seen.
    phase: u32,
    polled: u64,
}

impl Interpreter {
    fn index(&self, id: ThreadId) -> usize {
        self.threads.iter().position(|t| t.id == id).expect("a thread of this execution")
    }

    fn start(&mut self, id: ThreadId, body: usize) {
        self.threads.push(Interpreted {
            id,
            body,
            at: 0,
            result: 0,
            children: Vec::new(),
            joining: None,
            waiting: false,
            spinning: false,
            phase: 0,
            polled: 0,
        });
    }

    /// Runs a thread to its next visible operation.
    fn advance(&mut self, id: ThreadId, run: &mut Run, driver: &mut dyn Driver) {
        let next = loop {
            let index = self.index(id);
            let thread = &mut self.threads[index];
            let Some(&instruction) = self.bodies[thread.body].get(thread.at) else {
                break Next::End;
            };
            let operation = |action, object: ObjectId, first, second| {
                Next::Operation(Operation::new(action, object, first, second, Location::caller()))
            };
            let atomic = |i: usize| self.objects[i];
            let mutex = |i: usize| self.objects[ATOMICS + i];
            let condition = self.objects[ATOMICS + MUTEXES];
            match instruction {
                Instruction::Spin(x, value) => {
                    if thread.spinning && thread.result == value {
                        thread.spinning = false;
                        thread.at += 1;
                        continue;
                    }
                    // Alternate load and yield.
                    thread.spinning = !thread.spinning;
                    if thread.spinning {
                        break operation(Action::Load, atomic(x), 0, 0);
                    }
                    break operation(Action::Yield, ObjectId::NONE, 0, 0);
                }
                Instruction::SpinTwice(x, value) => {
                    thread.phase += 1;
                    match thread.phase {
                        1 | 3 | 5 => break operation(Action::Load, atomic(x), 0, 0),
                        2 | 4 if thread.result != value => {
                            break operation(Action::Yield, ObjectId::NONE, 0, 0);
                        }
                        _ => {
                            thread.phase = 0;
                            thread.at += 1;
                            continue;
                        }
                    }
                }
                Instruction::Poll(x, value) => {
                    thread.phase += 1;
                    match thread.phase {
                        1 => break operation(Action::Lock, mutex(1), 0, 0),
                        2 => break operation(Action::Load, atomic(x), 0, 0),
                        3 => {
                            thread.polled = thread.result;
                            break operation(Action::Unlock, mutex(1), 1, 0);
                        }
                        _ => {
                            thread.phase = 0;
                            if thread.polled == value {
                                thread.at += 1;
                                continue;
                            }
                            break operation(Action::Yield, ObjectId::NONE, 0, 0);
                        }
                    }
                }
                Instruction::Wait(m) | Instruction::WaitTimed(m) if thread.waiting => {
                    thread.waiting = false;
                    thread.at += 1;
                    let timed = matches!(instruction, Instruction::WaitTimed(_)).into();
                    break operation(Action::Reacquire, mutex(m), condition.0.into(), timed);
                }
                Instruction::Wait(m) | Instruction::WaitTimed(m) => {
                    thread.waiting = true;
                    break operation(Action::Wait, mutex(m), condition.0.into(), 0);
                }
                _ => thread.at += 1,
            }
            match instruction {
                Instruction::Load(x) => break operation(Action::Load, atomic(x), 0, 0),
                Instruction::Store(x, v) => break operation(Action::Store, atomic(x), v, 0),
                Instruction::Add(x) => {
                    break operation(Action::Update(Update::Add, 64), atomic(x), 1, 0);
                }
                Instruction::Compare(x, a, b) => {
                    break operation(Action::CompareExchange, atomic(x), a, b);
                }
                Instruction::Lock(m) => break operation(Action::Lock, mutex(m), 0, 0),
                Instruction::TryLock(m) => break operation(Action::TryLock, mutex(m), 0, 0),
                Instruction::Unlock(m) => break operation(Action::Unlock, mutex(m), 0, 0),
                Instruction::UnlockUnchanged(m) => {
                    break operation(Action::Unlock, mutex(m), 1, 0);
                }
                Instruction::Yield => break operation(Action::Yield, ObjectId::NONE, 0, 0),
                Instruction::Read => break operation(Action::ReadLock, atomic(READ_WRITE), 0, 0),
                Instruction::ReadUnlock => {
                    break operation(Action::ReadUnlock, atomic(READ_WRITE), 0, 0);
                }
                Instruction::Write => break operation(Action::WriteLock, atomic(READ_WRITE), 0, 0),
                Instruction::WriteUnlock => {
                    break operation(Action::WriteUnlock, atomic(READ_WRITE), 0, 0);
                }
                Instruction::Take(timed) => {
                    break operation(Action::TakeToken, atomic(TOKEN), 0, timed.into());
                }
                Instruction::Own(body) => {
                    break operation(Action::Store, atomic(TOKEN + 1 + body), 1, 0);
                }
                Instruction::Give => break operation(Action::GiveToken, atomic(TOKEN), 0, 0),
                Instruction::NotifyOne => break operation(Action::NotifyOne, condition, 0, 0),
                Instruction::NotifyAll => break operation(Action::NotifyAll, condition, 0, 0),
                Instruction::Choose => break operation(Action::Choose, ObjectId::NONE, 2, 0),
                Instruction::Join(n) => {
                    if let Some(&child) = thread.children.get(n) {
                        thread.joining = Some(child);
                        let target = u64::from(child.0);
                        break operation(Action::Join, ObjectId::NONE, target, 0);
                    }
                }
                Instruction::SkipIf(value) => thread.at += usize::from(thread.result == value),
                Instruction::PanicIf(value) if thread.result == value => break Next::Panic,
                Instruction::PanicIf(_) => {}
                Instruction::Plain => {
                    self.plain = self.plain * 3 + u64::from(id.0) + 1;
                    thread.result = self.plain % 4;
                }
                Instruction::Spawn(body) => {
                    run.current = id;
                    let child = run.spawn();
                    thread.children.push(child);
                    self.start(child, body);
                    run.current = child;
                    self.advance(child, run, driver);
                    run.current = id;
                }
                Instruction::Spin(..)
                | Instruction::SpinTwice(..)
                | Instruction::Poll(..)
                | Instruction::Wait(_)
                | Instruction::WaitTimed(_) => {
                    unreachable!("handled above")
                }
            }
        };
        run.current = id;
        run.reach(next, driver);
    }
}

impl Program for Interpreter {
    fn execute(&mut self, run: &mut Run, driver: &mut dyn Driver) {
        self.threads.clear();
        self.plain = 0;
        self.objects = (0..=TOKEN + 4).map(|_| run.create(0)).collect();
        self.start(ThreadId::MAIN, 0);
        self.advance(ThreadId::MAIN, run, driver);
        self.drive(run, driver);
        if run.ending == Some(Ending::Restart) {
            run.begin_epilogue();
            self.drive(run, driver);
            run.end_epilogue();
        }
    }
}

impl Interpreter {
    fn drive(&mut self, run: &mut Run, driver: &mut dyn Driver) {
        while let Command::Resume(thread, result) = run.schedule(driver) {
            let index = self.index(thread);
            // A join hands over what the child computed, which is no object.
            self.threads[index].result = match self.threads[index].joining.take() {
                Some(child) => self.threads[self.index(child)].result,
                None => result,
            };
            self.advance(thread, run, driver);
        }
    }
}

/// A body of a few instructions; locks nest properly.
fn body(random: &mut Random, own: usize, length: usize, may_spawn: &[usize]) -> Vec<Instruction> {
    let mut out = Vec::new();
    let mut spawned = 0;
    for &child in may_spawn {
        out.push(Instruction::Spawn(child));
        spawned += 1;
    }
    for _ in 0..length {
        let x = random.below(ATOMICS);
        match random.below(19) {
            0 | 1 => out.push(Instruction::Load(x)),
            2 | 3 => out.push(Instruction::Store(x, 1 + random.below(2) as u64)),
            4 => out.push(Instruction::Add(x)),
            5 => out.push(Instruction::Compare(x, random.below(2) as u64, 1)),
            6..=8 => {
                let m = random.below(MUTEXES);
                out.push(Instruction::Lock(m));
                match random.below(6) {
                    0 if random.below(3) == 0 => out.push(Instruction::WaitTimed(m)),
                    0 => out.push(Instruction::Wait(m)),
                    1 => out.push(Instruction::NotifyOne),
                    2 if m == 0 => out.extend([
                        Instruction::Plain,
                        Instruction::SkipIf(1),
                        Instruction::Load(x),
                    ]),
                    3 => out.extend([Instruction::Lock(1 - m), Instruction::Unlock(1 - m)]),
                    4 => out.push(Instruction::Store(x, 1)),
                    _ => {}
                }
                out.push(Instruction::Unlock(m));
            }
            9 => out.push(Instruction::NotifyOne),
            10 => out.push(Instruction::NotifyAll),
            // Only in some executions does another thread use an object that seemed to be private.
            11 if random.below(2) == 0 => {
                let skip = Instruction::SkipIf(random.below(2) as u64);
                out.extend([Instruction::Load(x), skip, Instruction::Own((own + 1) % 4)]);
            }
            11 => {
                out.extend([Instruction::Load(x), Instruction::SkipIf(0), Instruction::Add(1 - x)])
            }
            12 if random.below(3) == 0 => {
                out.extend([Instruction::Load(x), Instruction::PanicIf(2)])
            }
            12 => out.push(Instruction::Choose),
            13 if random.below(2) == 0 => match random.below(4) {
                0 => out.push(Instruction::Spin(x, 1)),
                1 => out.push(Instruction::SpinTwice(x, 1)),
                2 => out.push(Instruction::Poll(x, 1)),
                _ => out.extend([
                    Instruction::Lock(1),
                    Instruction::UnlockUnchanged(1),
                    Instruction::Yield,
                ]),
            },
            13 => {
                let m = random.below(MUTEXES);
                out.extend([
                    Instruction::TryLock(m),
                    Instruction::SkipIf(0),
                    Instruction::Unlock(m),
                ]);
            }
            14 => out.push(Instruction::Join(random.below(2))),
            15 => out.extend([Instruction::Read, Instruction::Load(x), Instruction::ReadUnlock]),
            16 => {
                out.extend([Instruction::Write, Instruction::Store(x, 2), Instruction::WriteUnlock])
            }
            17 => out.push(Instruction::Own(own)),
            _ => match random.below(3) {
                0 => out.push(Instruction::Take(random.below(2) == 0)),
                _ => out.push(Instruction::Give),
            },
        }
    }
    for child in 0..spawned {
        if random.below(3) > 0 {
            out.push(Instruction::Join(child));
            if random.below(2) == 0 {
                out.extend([Instruction::SkipIf(0), Instruction::Add(1)]);
            }
        }
    }
    match random.below(3) {
        0 if may_spawn.is_empty() => out.push(Instruction::Own(own)),
        1 if may_spawn.is_empty() => {}
        _ => out.push(Instruction::Load(0)),
    }
    out
}

fn program(seed: u64) -> Vec<Vec<Instruction>> {
    let mut random = Random::new(seed);
    let shape = random.below(4);
    let mut length = || 1 + random.below(if shape == 3 { 2 } else { 3 });
    let lengths = [length() - 1, length(), length(), length()];
    let children: [&[usize]; 4] = match shape {
        0 => [&[1, 2], &[], &[], &[]],
        1 => [&[1], &[2], &[], &[]],
        2 => [&[1, 2], &[], &[], &[]],
        _ => [&[1, 2, 3], &[], &[], &[]],
    };
    (0..4).map(|i| body(&mut random, i, lengths[i], children[i])).collect()
}

type Explore = fn(&mut Session<'_, Interpreter>) -> Halt;

fn tally(seed: u64, bound: Option<u32>, explore: Explore) -> (Halt, Tally) {
    tally_with(seed, bound, explore)
}

fn tally_with(
    seed: u64,
    bound: Option<u32>,
    explore: impl FnMut(&mut Session<'_, Interpreter>) -> Halt,
) -> (Halt, Tally) {
    let rules = Rules { watch: true, patience: 5, ..Rules::default() };
    tally_under(seed, bound, rules, explore)
}

fn tally_under(
    seed: u64,
    bound: Option<u32>,
    rules: Rules,
    mut explore: impl FnMut(&mut Session<'_, Interpreter>) -> Halt,
) -> (Halt, Tally) {
    let mut interpreter =
        Interpreter { bodies: program(seed), threads: Vec::new(), objects: Vec::new(), plain: 0 };
    let limits = Limits {
        bound,
        executions: if ACTIVE.get().is_some() { 2_000 } else { 20_000 },
        states: 200_000,
        steps: 500,
        keep_going: true,
        ..Limits::default()
    };
    let names = Names::default();
    loop {
        let mut session = Session::new(&mut interpreter, limits.clone(), rules, names.clone());
        let halt = explore(&mut session);
        if halt != Halt::Restart {
            return (halt, session.tally);
        }
    }
}

/// How two explorations of the same program differ.
fn difference(seed: u64, bound: Option<u32>) -> Option<Result<(), String>> {
    let (halt, oracle) = tally(seed, bound, iterative::explore);
    if halt != Halt::Done {
        return None;
    }
    let (halt, ours) = tally(seed, bound, forward::explore);
    if halt != Halt::Done {
        return Some(Err(format!("forward: {halt:?} {:?}", ours.failure)));
    }
    if oracle.graphs != ours.graphs {
        let (a, b) = (oracle.graphs.len(), ours.graphs.len());
        return Some(Err(format!("forward: {b} graphs instead of {a}, or other preemptions")));
    }
    if ours.executions > ours.graphs.len() as u64 {
        return Some(Err(format!("{} executions, {} graphs", ours.executions, ours.graphs.len())));
    }
    let (halt, reduced) = tally(seed, bound, forward::explore_reduced);
    let panic_free = |tally: &Tally| -> BTreeMap<u128, (u32, crate::Terminal)> {
        let ends = |e: &(u32, crate::Terminal)| e.1 != crate::Terminal::Panic;
        tally.graphs.iter().filter(|(_, e)| ends(e)).map(|(h, e)| (*h, *e)).collect()
    };
    let least_panic = |tally: &Tally| {
        let panics = tally.graphs.values().filter(|e| e.1 == crate::Terminal::Panic);
        panics.map(|e| e.0).min()
    };
    if halt != Halt::Done
        || panic_free(&reduced) != panic_free(&oracle)
        || least_panic(&reduced) != least_panic(&oracle)
    {
        let (a, b) = (oracle.graphs.len(), reduced.graphs.len());
        return Some(Err(format!("reduced: {b} graphs instead of {a} ({halt:?}), or other costs")));
    }
    if bound.is_none() {
        let (halt, sleeping) = tally(seed, bound, sleep_sets::explore);
        let mut theirs: Vec<_> = sleeping.graphs.iter().map(|(h, e)| (*h, e.1)).collect();
        let mut graphs: Vec<_> = oracle.graphs.iter().map(|(h, e)| (*h, e.1)).collect();
        theirs.sort_unstable();
        graphs.sort_unstable();
        if halt != Halt::Done || theirs != graphs {
            let (a, b) = (graphs.len(), theirs.len());
            return Some(Err(format!("sleep sets: {b} graphs instead of {a} ({halt:?})")));
        }
        if sleeping.executions > graphs.len() as u64 {
            return Some(Err("sleep sets: more executions than graphs".into()));
        }
    }
    if bound.is_none() {
        if let Some(Err(message)) = optimal_difference(seed, &oracle) {
            return Some(Err(message));
        }
    }
    let (halt, cached) = tally(seed, bound, caching::explore);
    if halt == Halt::Done && cached.graphs != oracle.graphs {
        return Some(Err("happens-before caching differs".into()));
    }
    Some(Ok(()))
}

/// How the optimal reduction differs from the graphs that are there. It runs the program once
/// for each of them.
fn optimal_difference(seed: u64, oracle: &Tally) -> Option<Result<(), String>> {
    let (halt, optimal) = tally(seed, None, optimal::explore);
    if halt == Halt::Executions {
        return None;
    }
    let mut theirs: Vec<_> = optimal.graphs.iter().map(|(h, e)| (*h, e.1)).collect();
    let mut graphs: Vec<_> = oracle.graphs.iter().map(|(h, e)| (*h, e.1)).collect();
    theirs.sort_unstable();
    graphs.sort_unstable();
    if halt != Halt::Done || theirs != graphs {
        let (a, b) = (graphs.len(), theirs.len());
        return Some(Err(format!("optimal: {b} graphs instead of {a} ({halt:?})")));
    }
    if optimal.executions != graphs.len() as u64 {
        let (a, b, c) = (optimal.executions, graphs.len(), optimal.redundant);
        return Some(Err(format!("optimal: {a} executions for {b} graphs, {c} cut")));
    }
    Some(Ok(()))
}

/// (compared, skipped because too large, messages)
fn campaign(seeds: std::ops::Range<u64>) -> (usize, usize, Vec<String>) {
    let (mut compared, mut skipped, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let bound = [Some(0), Some(1), Some(2), Some(3), Some(4), None][seed as usize % 6];
        match difference(seed, bound) {
            None => skipped += 1,
            Some(Ok(())) => compared += 1,
            Some(Err(message)) => wrong.push(format!("seed {seed}, bound {bound:?}: {message}")),
        }
    }
    (compared, skipped, wrong)
}

fn seeds(default: u64) -> u64 {
    std::env::var("PREEMPT_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn strategies_agree_on_random_programs() {
    let (compared, skipped, wrong) = campaign(0..seeds(400));
    println!("{compared} compared, {skipped} skipped");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 10 * skipped, "{compared} compared, {skipped} skipped");
}

/// If all accesses are sequentially consistent, keeping all writes changes nothing: no stale choice is
/// possible. Only comparisons that fail are fewer graphs, because they are reads.
#[test]
fn kept_writes_change_nothing_if_all_orders_are_strong() {
    let rules = Rules {
        watch: true,
        patience: 5,
        rc11: true,
        weak: true,
        strong: true,
        ..Rules::default()
    };
    let mut compared = 0;
    for seed in 0..seeds(300) {
        let bound = [Some(0), Some(1), Some(2), None][seed as usize % 4];
        let (halt, known) = tally(seed, bound, forward::explore);
        let (kept_halt, kept) = tally_under(seed, bound, rules, |session| {
            // With a bound on preemptions, stale choices lead to graphs beyond it.
            session.limits.stale = bound.and(Some(0));
            forward::explore(session)
        });
        assert_eq!(halt, kept_halt, "seed {seed}");
        // A panic ends everything, also before a store that the panicking thread does not see; and the
        // order of notifications, timeouts, and attempts that fail is part of the graph but
        // synchronises nothing.
        let unordered = |i: &Instruction| {
            matches!(
                i,
                Instruction::NotifyOne
                    | Instruction::NotifyAll
                    | Instruction::TryLock(_)
                    | Instruction::WaitTimed(_)
                    | Instruction::Take(true)
            )
        };
        if program(seed).iter().flatten().any(unordered) {
            continue;
        }
        let panics = |hash: &u128| kept.graphs[hash].1 == crate::Terminal::Panic;
        let wrong = kept.stale.keys().filter(|hash| !panics(hash)).count();
        assert_eq!(wrong, 0, "seed {seed}: {:?}", program(seed));
        assert!(bound.is_some() || known.exhausted == kept.exhausted, "seed {seed}");
        let ends = |tally: &Tally| {
            let first = |hash: &&u128| tally.stale_of(**hash) == 0;
            let mut ends: Vec<_> =
                tally.graphs.keys().filter(first).map(|hash| tally.graphs[hash]).collect();
            ends.sort_unstable();
            ends
        };
        let compares = |i: &Instruction| matches!(i, Instruction::Compare(..));
        if program(seed).iter().flatten().any(compares) {
            assert!(ends(&kept).len() <= known.graphs.len(), "seed {seed}");
        } else {
            assert_eq!(ends(&known), ends(&kept), "seed {seed}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

/// A program whose histories do not fit into memory is executed more often, with the same graphs.
#[test]
fn forgotten_histories_are_found_out_again() {
    let mut more = 0;
    for seed in 0..seeds(200) {
        let bound = Some(seed as u32 % 4);
        let (halt, known) = tally(seed, bound, forward::explore);
        let (forgetful_halt, forgetful) = tally(seed, bound, forward::explore_forgetful);
        if halt == Halt::Done && forgetful_halt == Halt::Done {
            assert_eq!(known.graphs, forgetful.graphs, "seed {seed}");
            more += usize::from(forgetful.executions > known.executions);
        }
    }
    assert!(more > 20, "{more}");
}

#[test]
fn the_optimal_reduction_runs_every_graph_once() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for seed in 0..seeds(400) {
        // As compared with plain search elsewhere, and fast enough for larger programs.
        let (halt, oracle) = tally(seed, None, forward::explore);
        if halt != Halt::Done {
            continue;
        }
        match optimal_difference(seed, &oracle) {
            Some(Err(message)) => wrong.push(format!("seed {seed}: {message}")),
            Some(Ok(())) => compared += 1,
            None => {}
        }
    }
    println!("{compared} compared");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 350);
}

/// [MQ07b] Algorithms 1 and 2 as printed visit the terminals that the forward search counts.
#[test]
fn printed_algorithms_visit_the_same_terminals() {
    for seed in 0..120 {
        let bound = Some(seed as u32 % 4);
        let mut steps = None;
        let (halt, ours) = tally_with(seed, bound, |session| {
            let (halt, found) = forward::explore_steps(session);
            steps = Some(found);
            halt
        });
        let Some(steps) = steps.filter(|_| halt == Halt::Done) else { continue };
        let (first, second) = (steps.algorithm_1(), steps.algorithm_2());
        assert_eq!(first.terminals, ours.graphs.len() as u64, "seed {seed}");
        assert_eq!(second.terminals, ours.graphs.len() as u64, "seed {seed}");
        // In the end every state is marked, each once.
        assert_eq!(second.marked, first.searched, "seed {seed}");
    }
}

#[test]
fn mistakes_in_the_engine_are_caught() {
    for mutation in [
        Mutation::OneLastThread,
        Mutation::ForgetRelease,
        Mutation::ForgetJoined,
        Mutation::NoPreemptionBeforeUnlock,
        Mutation::NeverContradicted,
        Mutation::OnlyAdjacentRaces,
        Mutation::ForgetBlocked,
        Mutation::SleepForGood,
        Mutation::OneAlternative,
    ] {
        ACTIVE.set(Some(mutation));
        let bound = |seed| if seed % 2 == 0 { Some(2) } else { None };
        let caught = (0..3000).find(|&seed| matches!(difference(seed, bound(seed)), Some(Err(_))));
        ACTIVE.set(None);
        println!("{mutation:?}: caught by seed {caught:?}");
        assert!(caught.is_some(), "{mutation:?} was not noticed");
    }
}
