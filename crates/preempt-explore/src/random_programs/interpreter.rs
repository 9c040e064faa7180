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

/// Action, object, and two numbers.
type Visible = (Action, ObjectId, u64, u64);

/// The atomics, mutexes, condition variables, the read-write lock and the token of an execution.
struct Objects(Vec<ObjectId>);

pub(crate) struct Interpreter {
    bodies: Vec<Vec<Instruction>>,
    threads: Vec<Interpreted>,
    objects: Objects,
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
            if let Some(m) = thread.timed.take().filter(|_| thread.result == 1) {
                break self.visible((Action::Lock, self.objects.mutex(m), 0, 0));
            }
            let Some(&instruction) = self.bodies[thread.body].get(thread.at) else {
                break Next::End;
            };
            if let Some(operation) = thread.next_of_several(instruction, &self.objects) {
                break self.visible(operation);
            }
            thread.at += 1;
            if let Some(operation) = self.objects.operation(instruction) {
                let awaits = matches!(instruction, Instruction::Acquire(_));
                break match self.visible(operation) {
                    Next::Operation(o) => Next::Operation(Operation { awaits, ..o }),
                    next => next,
                };
            }
            match instruction {
                Instruction::Join(n) => {
                    if let Some(&child) = thread.children.get(n) {
                        thread.joining = Some(child);
                        let target = u64::from(child.0);
                        break self.visible((Action::Join, ObjectId::NONE, target, 0));
                    }
                }
                Instruction::SkipIf(value) => thread.at += usize::from(thread.result == value),
                Instruction::PanicIf(value) if thread.result == value => break Next::Panic,
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
                _ => {}
            }
        };
        run.current = id;
        run.reach(next, driver);
    }

    fn visible(&self, (action, object, first, second): Visible) -> Next {
        let operation = Operation::new(action, object, first, second, Location::caller());
        Next::Operation(operation.with_order(self.order, self.order))
    }
}

impl Interpreted {
    /// The next operation of an instruction that consists of several; `None` once it has done all.
    fn next_of_several(&mut self, instruction: Instruction, objects: &Objects) -> Option<Visible> {
        let yields = (Action::Yield, ObjectId::NONE, 0, 0);
        match instruction {
            Instruction::Spin(x, value) => {
                // Alternate load and yield.
                self.spinning = !self.spinning;
                match self.spinning {
                    true => Some((Action::Load, objects.atomic(x), 0, 0)),
                    false => (self.result != value).then_some(yields),
                }
            }
            Instruction::SpinTwice(x, value) => {
                self.phase += 1;
                match self.phase {
                    1 | 3 | 5 => return Some((Action::Load, objects.atomic(x), 0, 0)),
                    2 | 4 if self.result != value => return Some(yields),
                    _ => self.phase = 0,
                }
                None
            }
            Instruction::Poll(x, value) => {
                self.phase += 1;
                match self.phase {
                    1 => return Some((Action::Lock, objects.mutex(1), 0, 0)),
                    2 => return Some((Action::Load, objects.atomic(x), 0, 0)),
                    3 => {
                        self.polled = self.result;
                        return Some((Action::Unlock, objects.mutex(1), 1, 0));
                    }
                    _ => self.phase = 0,
                }
                (self.polled != value).then_some(yields)
            }
            Instruction::Wait(m) | Instruction::WaitTimed(m) => {
                let condition = objects.condition().0.into();
                self.waiting = !self.waiting;
                if self.waiting {
                    return Some((Action::Wait, objects.mutex(m), condition, 0));
                }
                self.at += 1;
                let timed = matches!(instruction, Instruction::WaitTimed(_));
                self.timed = timed.then_some(m);
                Some((Action::Reacquire, objects.mutex(m), condition, timed.into()))
            }
            _ => None,
        }
    }
}

impl Objects {
    fn atomic(&self, i: usize) -> ObjectId {
        self.0[i]
    }

    fn mutex(&self, i: usize) -> ObjectId {
        self.0[ATOMICS + i]
    }

    fn condition(&self) -> ObjectId {
        self.0[ATOMICS + MUTEXES]
    }

    /// What an instruction does that is one visible operation.
    fn operation(&self, instruction: Instruction) -> Option<Visible> {
        Some(match instruction {
            Instruction::Load(x) => (Action::Load, self.atomic(x), 0, 0),
            Instruction::Store(x, v) => (Action::Store, self.atomic(x), v, 0),
            Instruction::Add(x) => (Action::Update(Update::Add, 64), self.atomic(x), 1, 0),
            Instruction::Compare(x, a, b) => (Action::CompareExchange, self.atomic(x), a, b),
            Instruction::Acquire(x) => (Action::CompareExchange, self.atomic(x), 0, 1),
            Instruction::Lock(m) => (Action::Lock, self.mutex(m), 0, 0),
            Instruction::TryLock(m) => (Action::TryLock, self.mutex(m), 0, 0),
            Instruction::Unlock(m) => (Action::Unlock, self.mutex(m), 0, 0),
            Instruction::UnlockUnchanged(m) => (Action::Unlock, self.mutex(m), 1, 0),
            Instruction::Yield => (Action::Yield, ObjectId::NONE, 0, 0),
            Instruction::Read => (Action::ReadLock, self.0[READ_WRITE], 0, 0),
            Instruction::ReadUnlock => (Action::ReadUnlock, self.0[READ_WRITE], 0, 0),
            Instruction::Write => (Action::WriteLock, self.0[READ_WRITE], 0, 0),
            Instruction::WriteUnlock => (Action::WriteUnlock, self.0[READ_WRITE], 0, 0),
            Instruction::Take(timed) => (Action::TakeToken, self.0[TOKEN], 0, timed.into()),
            Instruction::Own(body) => (Action::Store, self.0[TOKEN + 1 + body], 1, 0),
            Instruction::Give => (Action::GiveToken, self.0[TOKEN], 0, 0),
            Instruction::NotifyOne => (Action::NotifyOne, self.condition(), 0, 0),
            Instruction::NotifyAll => (Action::NotifyAll, self.condition(), 0, 0),
            Instruction::Choose => (Action::Choose, ObjectId::NONE, 2, 0),
            _ => return None,
        })
    }
}

impl Program for Interpreter {
    fn execute(&mut self, run: &mut Run, driver: &mut dyn Driver) {
        self.threads.clear();
        self.plain = 0;
        self.objects = Objects((0..=TOKEN + 4).map(|_| run.create(0)).collect());
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
        Interpreter { bodies, threads: Vec::new(), objects: Objects(Vec::new()), plain: 0, order }
    }
}
