//! A few lines of interpreter, without coroutines: strategies need nothing but [`Program`].

use crate::{
    Action, Command, Driver, Ending, Next, ObjectId, Operation, Order, Program, Run, ThreadId,
    Update,
};
use std::panic::Location;

pub(super) const ATOMICS: usize = 2;
pub(super) const MUTEXES: usize = 2;
pub(super) const CONDITIONS: usize = 1;
pub(super) const READ_WRITE: usize = ATOMICS + MUTEXES + CONDITIONS;
pub(super) const TOKEN: usize = READ_WRITE + 1;

#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    Load(usize),
    Store(usize, u64),
    Add(usize),
    Compare(usize, u64, u64),
    /// Wait until the atomic is 0, and make it 1: a lock that is a number.
    Acquire(usize),
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

pub(crate) struct Interpreter {
    bodies: Vec<Vec<Instruction>>,
    threads: Vec<Interpreted>,
    objects: Vec<ObjectId>,
    /// Not an object: protected by mutex 0.
    plain: u64,
    /// Of all accesses to atomics.
    pub(super) order: Order,
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
    /// The mutex to acquire if the wait has timed out.
    timed: Option<usize>,
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
            timed: None,
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
            let order = self.order;
            let operation = |action, object: ObjectId, first, second| {
                let site = Location::caller();
                let operation = Operation::new(action, object, first, second, site);
                Next::Operation(operation.with_order(order, order))
            };
            let atomic = |i: usize| self.objects[i];
            let mutex = |i: usize| self.objects[ATOMICS + i];
            let condition = self.objects[ATOMICS + MUTEXES];
            if let Some(m) = thread.timed.take().filter(|_| thread.result == 1) {
                break operation(Action::Lock, mutex(m), 0, 0);
            }
            let Some(&instruction) = self.bodies[thread.body].get(thread.at) else {
                break Next::End;
            };
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
                    let timed = matches!(instruction, Instruction::WaitTimed(_));
                    thread.timed = timed.then_some(m);
                    break operation(Action::Reacquire, mutex(m), condition.0.into(), timed.into());
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
                Instruction::Acquire(x) => {
                    let next = operation(Action::CompareExchange, atomic(x), 0, 1);
                    break match next {
                        Next::Operation(o) => Next::Operation(Operation { awaits: true, ..o }),
                        next => next,
                    };
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

impl Interpreter {
    pub(super) fn of(bodies: Vec<Vec<Instruction>>) -> Self {
        let order = Order::SequentiallyConsistent;
        Interpreter { bodies, threads: Vec::new(), objects: Vec::new(), plain: 0, order }
    }
}
