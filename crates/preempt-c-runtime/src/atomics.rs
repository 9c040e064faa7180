//! Atomic numbers: every operation on one is visible to the strategy, which decides what it reads.
//!
//! The strategy keeps the writes to each number. What an operation reads is one of them: the newest,
//! unless its memory order permits an older one and the search makes that *stale choice*. The memory
//! of the program always holds the newest value, so that plain accesses, which are ordered with all atomic
//! ones unless they race, find the right one there.
//!
//! Orders are those of C11 and C++20 as the model RC11 has them; `memory_order_consume` is acquire.

use crate::context::STACK;
use crate::control::{perform, remembered, yield_now};
use crate::objects::{Kind, read};
use crate::races;
use crate::runtime::inside;
use crate::runtime::{Runtime, runtime};
use crate::shadow::Use;
use crate::task::CallSite;
use crate::trouble::Trouble;
use crate::weak_failures::Again;
use preempt_explore::{Action, ObjectId, Operation, Order};
use std::panic::Location;

/// The object of an atomic number; the strategy is told what is in memory.
pub(crate) fn object(runtime: &mut Runtime, address: usize, size: u8) -> u32 {
    let index = find(runtime, address, size);
    let run = runtime.run();
    let details = runtime.objects.details(index);
    let is_first = !std::mem::replace(&mut details.used, true);
    if is_first && details.untold.is_none() && !runtime.me().stale.contains(&index) {
        runtime.learnt |= runtime.objects.learn_initial(run, index);
    }
    runtime.learnt |= runtime.objects.learn_initialiser(run, index);
    // What uninstrumented code has written is found out here.
    runtime.objects.refresh(run, index);
    index
}

/// The object of a number that is about to be overwritten by a store.
///
/// What is in memory does not matter where it is the stack of the running thread and no other thread has written there: it
/// is probably what other variables have left; nor where something was copied that is not initialised. If an operation reads it nevertheless, then see [`learn_covered`].
///
/// [`learn_covered`]: crate::objects::Objects::learn_covered
fn object_of_store(runtime: &mut Runtime, address: usize, size: u8) -> u32 {
    let by = runtime.current();
    let is_own = runtime.me().stack.wrapping_sub(address) < STACK;
    let index = find(runtime, address, size);
    let is_garbage = runtime.objects.is_garbage(index);
    let details = runtime.objects.details(index);
    if !is_garbage && (!is_own || details.untold.is_some_and(|write| write.by != by)) {
        return object(runtime, address, size);
    }
    covered(runtime, index)
}

/// The object of a number in memory that is allocated or freed: what is there is of no interest, and may be the allocator's.
pub(crate) fn object_without_value(runtime: &mut Runtime, address: usize, size: u8) -> u32 {
    let index = find(runtime, address, size);
    covered(runtime, index)
}

/// What plain writes have left there is overwritten before anything is told of it.
fn covered(runtime: &mut Runtime, index: u32) -> u32 {
    let details = runtime.objects.details(index);
    details.used = true;
    details.covered = details.untold.take();
    index
}

fn find(runtime: &mut Runtime, address: usize, size: u8) -> u32 {
    let run = runtime.run();
    let (index, new) = runtime.objects.find(run, address, Kind::Atomic(size));
    if new {
        runtime.learnt = true;
        runtime.shadow.add_object(address);
        // The upper half of a wide one.
        runtime.shadow.add_object(address + usize::from(size) - 1);
    }
    if !runtime.objects.details(index).used {
        refuse_overlap(runtime, address, size, index);
    }
    index
}

/// Numbers that overlap would have to be one object.
fn refuse_overlap(runtime: &mut Runtime, address: usize, size: u8, index: u32) {
    let mut found = Vec::new();
    runtime.objects.atomics_in(address, usize::from(size).min(8), &mut found);
    if found.into_iter().any(|other| other != index && runtime.objects.details(other).used) {
        let pc = runtime.me().call_site.pc;
        let message = format!(
            "atomic accesses of different sizes overlap at {address:#x}, which is not modelled: use \
             one size for each number"
        );
        runtime.stop(Trouble::unsupported(pc, message));
    }
}

/// A thread that waits for a change in a loop lets others run first.
pub(crate) fn before_read(pc: usize, address: usize, call_site: CallSite) {
    let me = runtime().me();
    if me.spinning.is_due(pc, address) {
        me.spinning.clear();
        yield_now(call_site);
    }
}

/// The compiler's numbers for memory orders.
pub(crate) fn order(number: i32) -> Order {
    match number {
        0 => Order::Relaxed,
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        4 => Order::AcquireRelease,
        _ => Order::SequentiallyConsistent,
    }
}

/// An operation on an atomic number, as the program calls it.
pub(crate) struct Atomic {
    pub(crate) address: usize,
    pub(crate) size: u8,
    pub(crate) action: Action,
    pub(crate) operands: (u64, u64),
    /// Also of a comparison that fails.
    pub(crate) orders: (Order, Order),
    /// Whether a comparison may fail for no reason.
    pub(crate) may_fail: bool,
    pub(crate) pc: usize,
}

/// What an operation came to.
pub(crate) struct Outcome {
    /// The value that it has read.
    pub(crate) seen: u64,
    /// Whether it has written.
    pub(crate) writes: bool,
    /// The value that belongs into memory now.
    pub(crate) newest: u64,
}

/// Executes an operation of the program, except for the write to its memory.
#[inline(never)]
pub(crate) fn execute(atomic: Atomic) -> Outcome {
    let Atomic { address, size, action, operands, pc, .. } = atomic;
    // Fault here, as the program, if there is no memory.
    let _ = read(address, size);
    inside(|runtime| {
        if address & (usize::from(size) - 1) != 0 {
            let message =
                format!("an atomic access of {size} bytes is not aligned, which is not modelled");
            runtime.stop(Trouble::unsupported(pc, message));
        }
        let call_site = CallSite { pc, address };
        let awaits = action == Action::CompareExchange && runtime.takes_lock(pc);
        // Before others run: afterwards it is not known any more how this library was entered.
        let may_fail = atomic.may_fail && !awaits && runtime.run().rules.rc11;
        let memory = may_fail.then(|| remembered(runtime.me().stack, std::iter::empty())).flatten();
        if action != Action::Store {
            before_read(pc, address, call_site);
        }
        let runtime = crate::runtime::runtime();
        let (order, failure) = runtime.strengthened(pc, atomic.orders);
        let compares = action == Action::CompareExchange;
        let run = runtime.run();
        run.weaken(order, false);
        if compares {
            run.weaken(if atomic.may_fail { Order::Relaxed } else { failure }, false);
        }
        let index = match action {
            Action::Store => object_of_store(runtime, address, size),
            _ => object(runtime, address, size),
        };
        runtime.learnt |= runtime.objects.look_at(index);
        let id = runtime.objects.id(index);
        let operation = Operation::new(action, id, operands.0, operands.1, Location::caller());
        let may_fail = may_fail && fails_again(id, operands, pc, memory);
        let operation = Operation { may_fail, awaits, ..operation.with_order(order, failure) };
        let seen = perform(operation, call_site);
        let runtime = crate::runtime::runtime();
        let state = &runtime.run().state;
        let newest = state.object(id).value;
        let fails = may_fail && state.source().is_some_and(|source| source.fails);
        if state.source().is_some_and(|source| source.stale) {
            runtime.learnt |= runtime.objects.learn_covered(index);
        }
        let writes = match action {
            Action::Load => false,
            _ => !compares || seen == operands.0 && !fails,
        };
        if !runtime.single_threaded {
            let how = if writes { Use::AtomicWrite } else { Use::AtomicRead };
            races::note(runtime, address, usize::from(size).min(8), how, pc);
        }
        let unchanged = match action {
            Action::Update(update, bits) => update.compute(seen, operands.0, bits) == seen,
            Action::CompareExchange => !writes || operands.0 == operands.1,
            _ => !writes,
        };
        let by = runtime.current();
        let details = runtime.objects.details(index);
        if writes {
            details.storers.add(by);
        }
        let was_lock = details.is_lock;
        details.is_lock = awaits || was_lock && !writes;
        let me = runtime.me();
        match awaits {
            true => me.spinning.locked(pc, address),
            false if unchanged => me.spinning.read(pc, address, seen),
            // It is free again, as it was before.
            false if was_lock && newest == 0 => {}
            false => me.spinning.clear(),
        }
        Outcome { seen, writes, newest }
    })
}

/// Whether the comparison that the running thread, which remembers this, is about to make may fail for no reason.
fn fails_again(id: ObjectId, operands: (u64, u64), pc: usize, memory: Option<u64>) -> bool {
    let runtime = runtime();
    let run = runtime.run();
    let failures = run.state.failures(run.current, id);
    let again = runtime.me().weak_failures.arrive(id, pc, operands, failures, memory);
    if again == Again::IsLeftOut {
        runtime.run().note_failure();
    }
    again == Again::Fails
}

/// Executes a fence.
pub(crate) fn fence(order: Order) {
    if order == Order::Relaxed {
        return;
    }
    inside(|runtime| {
        runtime.run().weaken(order, true);
        runtime.run().fence(order);
        // What follows is ordered otherwise than what was recorded before.
        runtime.shadow.next_segment();
    });
}
