//! One execution under control: from a thread's call to the strategy and back.
//!
//! A thread runs until it stands before a visible operation. [`operation`] tells the strategy what
//! the thread did since its last one, asks which thread runs next, and gives the processor to it if
//! it is another one. A spawned thread runs up to its first operation before its parent goes on,
//! exactly as in the runtime for Rust tests, so the same algorithm has the same graphs.

use crate::arena::{BASE, FREED, HEADER, Header, UNIT, header_of, state};
use crate::context::STACK;
use crate::entry::{ENTERED_WITH, KEPT_REGISTERS, PROGRAM, SEARCH, select};
use crate::equip::make_task;
use crate::record::Recorded;
use crate::runtime::{Runtime, runtime};
use crate::switch::{back, execute, switch};
use crate::task::{CallSite, Frames, Task};
use crate::trouble::{Kind, Standing, Trouble};
use crate::{backtrace, destructors, dispositions, keys, redirect, unwritten};
use preempt_explore::{
    Action, Command, Driver, Ending, Next, ObjectId, Operation, Program, Run, Status, ThreadId,
};
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::panic::Location;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

impl Runtime {
    /// Ends the execution if the program is about to use memory of the heap that is in no block.
    #[inline]
    pub(crate) fn check_memory(&mut self, address: usize, size: usize, pc: usize) {
        if !self.arena.may_be_used(address, size) {
            misused(self, address, size, pc);
        }
    }

    fn begin(&mut self) {
        self.trouble = None;
        self.unfinished = None;
        self.pauses.begin_round();
        self.panics.clear();
        self.learnt = std::mem::take(&mut self.learnt_elsewhere);
        self.ended = false;
        self.single_threaded = true;
        self.exit_code = 0;
        (self.latest_end, self.overtaken) = (0, false);
        self.at_exit.truncate(self.at_exit_before);
        self.touched.clear();
        if let Some(record) = &mut self.record {
            record.clear();
        }
        for task in &mut self.tasks {
            task.clear();
        }
        keys::begin(self.tasks.len());
        dispositions::begin();
        self.mappings.begin();
        self.descriptors.begin();
        if redirect::open_input(self.input.as_deref()) {
            self.descriptors.set_opened(redirect::INPUT, true);
        }
        self.shadow.begin();
        let run = self.run();
        self.objects.begin(run);
    }

    /// Tells the strategy what the running thread did and where it stands.
    fn reach(&mut self, next: Next) {
        self.publish();
        self.pauses.begin_round();
        self.shadow.next_segment();
        self.pulse += 1;
        let driver = self.driver;
        let goes_on = self.run().ending.is_none();
        // SAFETY: valid and exclusively ours for the same time as `run`.
        self.run().reach(next, unsafe { &mut *driver });
        if let (Some(Ending::Nondeterminism(mismatch)), true) = (&self.run().ending, goes_on) {
            self.learnt |= self.objects.learn_garbage(&mismatch.assigned);
            let pc = self.me().call_site.pc;
            self.strayed = Some(self.standing(pc));
        }
    }

    /// Plain writes to what is otherwise accessed atomically become known.
    fn publish(&mut self) {
        let me = self.current();
        let run = self.run();
        let stale = std::mem::take(&mut self.tasks[me.index()].stale);
        for &index in &stale {
            self.objects.refresh(run, index);
        }
        let kept = &mut self.tasks[me.index()].stale;
        *kept = stale;
        kept.clear();
    }

    pub(crate) fn is_starting(&self, thread: ThreadId) -> bool {
        thread != ThreadId::MAIN && self.run().state.thread(thread).status == Status::Starting
    }

    /// Asks which thread runs next. `None` if the execution is over.
    fn schedule(&mut self) -> Option<ThreadId> {
        if self.run().is_running_on() && !self.run().is_probing() {
            // Whether the loop waits is known now.
            return None;
        }
        match self.next() {
            None if self.run().is_probe_due() => {
                self.run().begin_epilogue();
                self.next()
            }
            next => next,
        }
    }

    fn next(&mut self) -> Option<ThreadId> {
        let driver = self.driver;
        // SAFETY: as in `reach`.
        match self.run().schedule(unsafe { &mut *driver }) {
            Command::Resume(thread, result) => {
                let task = &mut self.tasks[thread.index()];
                task.result = result;
                if let Some(record) = &mut self.record {
                    let (call_site, frames) = (task.call_site, task.frames.clone());
                    record.steps.push(Recorded { call_site, frames, call: task.call });
                }
                Some(thread)
            }
            Command::Stop => None,
        }
    }

    /// Ends the execution because of something that the runtime found.
    pub(crate) fn stop(&mut self, mut trouble: Trouble) -> ! {
        // What is not supported ends the search: there is no second execution to keep places.
        let keeps = self.record.is_some() || !trouble.is_program_s();
        trouble.frames = if keeps { backtrace::frames() } else { Frames::default() };
        self.trouble = Some(trouble);
        self.run().ending = Some(Ending::Reported);
        self.end()
    }

    /// Ends the execution, which stands at `pc`, because time is up.
    pub(crate) fn abandon(&mut self, pc: usize) -> ! {
        self.unfinished = Some(self.standing(pc));
        self.run().ending = Some(Ending::Abandoned);
        self.end()
    }

    fn standing(&mut self, pc: usize) -> Standing {
        Standing { steps: self.run().path.len(), pc, frames: backtrace::frames() }
    }

    /// Ends the execution because the exploration has to begin again.
    pub(crate) fn restart(&mut self) -> ! {
        self.run().ending = Some(Ending::Restart);
        self.end()
    }

    /// Leaves the program for good; nothing of this execution is continued.
    pub(crate) fn end(&mut self) -> ! {
        select(SEARCH);
        if self.run().is_running_on() {
            // Whatever was found while a loop was tried out will be found again.
            self.trouble = None;
            self.run().end_epilogue();
            self.run().ending = Some(Ending::Restart);
        }
        let changed = self.learnt && self.trouble.as_ref().is_none_or(Trouble::is_program_s);
        if changed {
            self.run().ending = Some(Ending::Restart);
        }
        self.ended = true;
        back(self)
    }
}

impl Program for Runtime {
    fn execute(&mut self, run: &mut Run, driver: &mut dyn Driver) {
        run.remembered = Some(all_remember);
        self.run = run;
        // SAFETY: only the lifetime changes; the pointer is not used after this function returns.
        self.driver =
            unsafe { std::mem::transmute::<*mut dyn Driver, *mut (dyn Driver + 'static)>(driver) };
        self.begin();
        execute(self);
        self.run = null_mut();
    }
}

#[cold]
fn misused(runtime: &mut Runtime, address: usize, size: usize, pc: usize) -> ! {
    let units = (address / UNIT)..=(address + size.max(1) - 1) / UNIT;
    if let Some(unit) = units.into_iter().find(|&unit| state(unit * UNIT) == FREED) {
        // SAFETY: freed memory has a header.
        let freed = unsafe { (*header_of(unit * UNIT)).pc };
        let message = "memory is used after it was freed";
        let mut trouble = Trouble::new(Kind::UseAfterFree, pc, message);
        trouble.other = Some(("freed", freed));
        runtime.stop(trouble)
    }
    // What lies between two blocks is told as behind the first.
    let behind = if state(address) == HEADER { address - UNIT } else { address };
    let header = header_of(behind.max(BASE));
    if state(header as usize) != HEADER || behind < BASE {
        let message = "memory outside of all blocks of the heap is used";
        runtime.stop(Trouble::new(Kind::Misuse, pc, message));
    }
    // SAFETY: a header is there.
    let Header { size: length, pc: made } = unsafe { header.read() };
    let message = format!("memory behind a block of {length} bytes is used");
    let mut trouble = Trouble::new(Kind::Misuse, pc, message);
    trouble.other = Some(("allocated", made));
    runtime.stop(trouble)
}

/// Executes a visible operation of the running thread and returns what it sees.
pub(crate) fn operation(
    action: Action,
    object: ObjectId,
    first: u64,
    second: u64,
    call_site: CallSite,
) -> u64 {
    perform(Operation::new(action, object, first, second, Location::caller()), call_site)
}

/// As [`operation`], and no other thread runs before it.
pub(crate) fn urgently(
    action: Action,
    object: ObjectId,
    first: u64,
    second: u64,
    call_site: CallSite,
) -> u64 {
    let operation = Operation::new(action, object, first, second, Location::caller());
    perform(Operation { urgent: true, ..operation }, call_site)
}

/// As [`operation`], whatever it is.
pub(crate) fn perform(mut operation: Operation, call_site: CallSite) -> u64 {
    let runtime = runtime();
    destructors::before_operation(runtime, operation.action);
    operation.urgent |= runtime.me().indivisible > 0;
    // Before anything else: the unwinder calls functions that are ours, too.
    let low = lowest_in_use(runtime.me().stack);
    runtime.check_memory(call_site.address, 1, call_site.pc);
    let me = runtime.current();
    let frames = runtime.frames();
    let task = &mut runtime.tasks[me.index()];
    (task.call_site, task.frames) = (call_site, frames);
    task.weak_failures.operation(operation.action);
    task.low = low;
    let starting = runtime.is_starting(me);
    runtime.reach(Next::Operation(operation));
    let next = if starting { Some(runtime.tasks[me.index()].parent) } else { runtime.schedule() };
    match next {
        Some(thread) if thread == me => {}
        Some(thread) => switch(runtime, me, thread),
        None if runtime.run().ending == Some(Ending::Abandoned) => runtime.abandon(call_site.pc),
        None => runtime.end(),
    }
    let runtime = crate::runtime::runtime();
    if uses_memory(operation.action) {
        // Others have run since the operation was announced.
        runtime.check_memory(call_site.address, 1, call_site.pc);
    }
    // Waking those that wait at an address needs no memory there.
    if operation.action.is_number() {
        runtime.check_stack(call_site.address, 0, call_site.pc);
    }
    runtime.look_whether_overtaken();
    runtime.tasks[me.index()].result
}

/// Below it, nothing on the stack of the running thread is in use by the program. Where it is not known how this library
/// was entered, what lies below this function's frame is certainly not.
fn lowest_in_use(stack: usize) -> usize {
    let here = 0_u8;
    let entered = ENTERED_WITH.swap(0, Ordering::Relaxed);
    let is_own = entered <= stack && stack - entered < STACK;
    if is_own { entered } else { &raw const here as usize }
}

/// What the running thread has on its stack and in the registers that a call keeps, as a number: one that counts its rounds
/// comes back with another one.
pub(crate) fn remembered(stack: usize, live: impl Iterator<Item = u64>) -> Option<u64> {
    let entered = ENTERED_WITH.load(Ordering::Relaxed);
    if entered > stack || stack - entered >= STACK {
        return None;
    }
    let mut hasher = FxHasher::default();
    live.for_each(|register| hasher.write_u64(register));
    for register in &KEPT_REGISTERS {
        hasher.write_usize(register.load(Ordering::Relaxed));
    }
    for word in (entered & !7..stack).step_by(size_of::<u64>()) {
        // SAFETY: a word of the stack that this runs on. What was never written has some value.
        hasher.write_u64(unsafe { (word as *const u64).read_volatile() });
    }
    Some(hasher.finish())
}

/// What all threads remembered when they yielded last.
fn all_remember() -> u64 {
    let mut hasher = FxHasher::default();
    for task in &runtime().tasks {
        hasher.write_u64(task.memory);
    }
    hasher.finish()
}

impl Runtime {
    /// Whether an address is on the stack of a thread.
    pub(crate) fn is_on_a_stack(&self, address: usize) -> bool {
        let on = |task: &Task| (task.stack.wrapping_sub(STACK)..task.stack).contains(&address);
        self.tasks.iter().any(on)
    }

    /// Ends the execution if the program uses a variable of another thread's function that has returned, or reads so many
    /// bytes there that were never written.
    #[inline]
    pub(crate) fn check_stack(&mut self, address: usize, read: usize, pc: usize) {
        let (start, end) = self.stacks;
        if !self.single_threaded && (start..end).contains(&address) {
            self.check_other_stacks(address, read, pc);
        }
    }

    fn check_other_stacks(&mut self, address: usize, read: usize, pc: usize) {
        let on = |task: &Task| (task.stack.wrapping_sub(STACK)..task.stack).contains(&address);
        if on(self.me()) {
            return;
        }
        let is_dead = |task: &Task| on(task) && address < task.low;
        if self.tasks.iter().any(is_dead) {
            let message =
                "a variable of another thread's function is used after that function has returned";
            self.stop(Trouble::new(Kind::Misuse, pc, message));
        }
        if self.tasks.iter().any(on) && unwritten::has_pattern(address, read) {
            let message = "a variable of another thread is read that was never written";
            self.stop(Trouble::new(Kind::Misuse, pc, message));
        }
    }
}

/// Whether the memory of the object must still be there when the operation is executed. One that
/// waits may be woken by a thread that then frees it.
fn uses_memory(action: Action) -> bool {
    !matches!(action, Action::Reacquire | Action::Leave | Action::Receive | Action::Yield)
}

/// Lets other threads run. A thread that waits in a loop goes on when something it has read changes,
/// or when no other thread can.
pub(crate) fn yield_now(call_site: CallSite) {
    give_way(false, call_site, std::iter::empty());
}

/// The same at an instruction, where these registers are in use as well. Returns whether others could go on: a thread that has
/// done nothing since it last gave way does not have to.
pub(crate) fn pause(call_site: CallSite, live: impl Iterator<Item = u64>) -> bool {
    give_way(false, call_site, live)
}

/// The same for a thread that sleeps: how long makes no difference.
pub(crate) fn sleep_a_while(call_site: CallSite) {
    give_way(true, call_site, std::iter::empty());
}

fn give_way(sleeps: bool, call_site: CallSite, live: impl Iterator<Item = u64>) -> bool {
    let run = runtime().run();
    if !run.rules.watch {
        run.rules.watch = true;
        // An execution in which every yield is free need not end.
        runtime().restart();
    }
    if run.has_just_yielded() {
        return false;
    }
    if run.is_probing() || run.is_suspect() {
        let memory = remembered(runtime().me().stack, live);
        run.memory = memory;
        // What cannot be looked at may be something else each time.
        runtime().me().memory = memory.unwrap_or(runtime().pulse);
    }
    operation(Action::Yield, ObjectId::NONE, sleeps.into(), 0, call_site);
    true
}

/// Makes a thread and runs it up to its first operation. The task must be prepared afterwards by
/// `prepare`, which gets the new thread.
pub(crate) fn spawn(prepare: impl FnOnce(&mut Runtime, ThreadId)) -> ThreadId {
    let runtime = runtime();
    let parent = runtime.current();
    destructors::before_spawn(runtime);
    runtime.publish();
    let child = runtime.run().spawn();
    let blocked_signals = runtime.tasks[parent.index()].blocked_signals;
    let creation = runtime.frames();
    make_task(runtime, child);
    let task = &mut runtime.tasks[child.index()];
    task.clear();
    task.creation = creation;
    task.blocked_signals = blocked_signals;
    task.parent = parent;
    prepare(runtime, child);
    runtime.single_threaded = false;
    runtime.shadow.next_segment();
    runtime.run().current = child;
    switch(runtime, parent, child);
    let runtime = crate::runtime::runtime();
    runtime.run().current = parent;
    runtime.shadow.next_segment();
    child
}

/// The running thread has ended: does not return.
pub(crate) fn end_of_thread(next: Next) -> ! {
    let runtime = runtime();
    let me = runtime.current();
    let starting = runtime.is_starting(me);
    let task = &mut runtime.tasks[me.index()];
    (task.ended, task.low) = (true, task.stack);
    runtime.reach(next);
    let next = if starting { Some(runtime.tasks[me.index()].parent) } else { runtime.schedule() };
    match next {
        Some(thread) => switch(runtime, me, thread),
        None => runtime.end(),
    }
    crate::raw::fail("preempt: a thread that had ended was resumed\n")
}

/// The running thread goes back to the program's code.
pub(crate) fn into_program() {
    select(PROGRAM);
}
