//! Plain accesses to memory, as the compiler reports them.
//!
//! An access is no scheduling point unless it was found to race and races are not wanted as errors:
//! where nothing races, switching threads at synchronisation only loses nothing. So every access
//! that could race is recorded for the strategy, which looks for races in each happens-before graph.

use crate::atomics::{before_read, object, object_without_value};
use crate::context::STACK;
use crate::control::{operation, urgently};
use crate::entry::{entry, is_program};
use crate::idle::is_looked_at;
use crate::objects::PlainWrite;
use crate::observers::observe;
use crate::races::note;
use crate::runtime::{Runtime, inside};
use crate::shadow::Use;
use crate::task::CallSite;
use crate::{arena, destructors, snapshot};
use preempt_explore::{Action, Operation, Order, POINTER};
use std::time::Instant;

/// The program is about to access memory.
#[inline]
pub(crate) fn access(address: usize, size: usize, write: bool, pc: usize) {
    if !is_program() || size == 0 {
        return;
    }
    inside(|runtime| {
        runtime.check_memory(address, size, pc);
        runtime.check_stack(address, if write { 0 } else { size }, pc);
        if is_looked_at() && !runtime.shadow.is_racy(pc) {
            look(runtime, address, write, pc);
        }
        if write {
            let me = runtime.me();
            me.writes += 1;
            if me.stack.wrapping_sub(address) >= STACK {
                me.weak_failures.wrote();
            }
            me.spinning.wrote(address, size, || stays(address));
            destructors::touched(runtime, address);
        }
        // Piece by piece, each within eight aligned bytes.
        let end = address.saturating_add(size);
        let mut at = address;
        while at < end {
            let next = ((at & !7) + 8).min(end);
            piece(runtime, at, next - at, write, pc);
            at = next;
        }
    });
}

/// Whether memory stays where it is as long as the execution.
fn stays(address: usize) -> bool {
    arena::contains(address)
        || crate::runtime::runtime().is_on_a_stack(address)
        || snapshot::is_static(address)
}

/// The running thread has made no operation for a while: ends the execution if time is up, and lets others run where it waits.
#[cold]
fn look(runtime: &mut Runtime, address: usize, write: bool, pc: usize) {
    if runtime.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        runtime.abandon(pc);
    }
    if runtime.me().stack.wrapping_sub(address) < STACK {
        return;
    }
    let pulse = runtime.pulse;
    if let Some(places) = runtime.idle.access(pulse, address, write, pc) {
        places.into_iter().for_each(|place| runtime.shadow.add_racy(place));
        runtime.restart();
    }
}

#[inline]
fn piece(runtime: &mut Runtime, address: usize, size: usize, write: bool, pc: usize) {
    if runtime.shadow.is_racy(pc) {
        return racy(address, size, if write { Racy::Write } else { Racy::Read }, pc);
    }
    if write && runtime.shadow.has_object(address) {
        let by = runtime.current();
        let Runtime { objects, tasks, .. } = runtime;
        objects.write((address, size), PlainWrite { pc, by }, &mut tasks[by.index()].stale);
    }
    if !runtime.single_threaded {
        if !write && runtime.shadow.is_observer(pc) {
            observe(address, size, pc);
        }
        let how = if write { Use::Write } else { Use::Read };
        note(crate::runtime::runtime(), address, size, how, pc);
    }
}

/// What an access that was found to race does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Racy {
    Read,
    Write,
    /// Ends the life of the memory; nothing is written.
    Free,
}

/// An access that was found to race: an operation on each of its cells, the first of which is a
/// scheduling point. Accesses at other places may race with it and do not know yet. It is executed as a
/// sequentially consistent one on the newest value, which is what the program will find in its memory.
fn racy(address: usize, size: usize, how: Racy, pc: usize) {
    let cell = crate::runtime::runtime().shadow.cell_size(address, size);
    for (nth, at) in (address..address + size).step_by(cell).enumerate() {
        // That a block is freed twice is found by `free` itself.
        let call_site = CallSite { pc, address: if how == Racy::Free { 0 } else { at } };
        if how == Racy::Read && nth == 0 {
            before_read(pc, at, call_site);
        }
        let runtime = crate::runtime::runtime();
        runtime.run().weaken(Order::SequentiallyConsistent, false);
        let index = match how {
            Racy::Free => object_without_value(runtime, at, cell as u8),
            _ => object(runtime, at, cell as u8),
        };
        let object = runtime.objects.id(index);
        let step = if nth == 0 { operation } else { urgently };
        if how != Racy::Read {
            runtime.me().spinning.clear();
            step(Action::Store, object, 0, POINTER, call_site);
            let runtime = crate::runtime::runtime();
            let by = runtime.current();
            runtime.objects.details(index).storers.add(by);
            if how == Racy::Write {
                // The value is written after we return, and known at the next operation.
                crate::runtime::runtime().me().stale.push(index);
            }
            note(crate::runtime::runtime(), at, cell, Use::AtomicWrite, pc);
        } else {
            let seen = step(Action::Load, object, 0, Operation::NEWEST, call_site);
            crate::runtime::runtime().me().spinning.read(pc, at, seen);
            note(crate::runtime::runtime(), at, cell, Use::AtomicRead, pc);
        }
    }
}

macro_rules! accesses {
    ($($size:literal: $($read:ident)* ; $($write:ident)*;)*) => {$(
        $(entry! { $read / 1 => read::<$size>; })*
        $(entry! { $write / 1 => write::<$size>; })*
    )*};
}

extern "C" fn read<const SIZE: usize>(address: usize, pc: usize) {
    access(address, SIZE, false, pc);
}

extern "C" fn write<const SIZE: usize>(address: usize, pc: usize) {
    access(address, SIZE, true, pc);
}

accesses! {
    1: __tsan_read1 __tsan_volatile_read1 __tsan_unaligned_volatile_read1;
       __tsan_write1 __tsan_volatile_write1 __tsan_unaligned_volatile_write1 __tsan_read_write1;
    2: __tsan_read2 __tsan_unaligned_read2 __tsan_volatile_read2 __tsan_unaligned_volatile_read2;
       __tsan_write2 __tsan_unaligned_write2 __tsan_volatile_write2
       __tsan_unaligned_volatile_write2 __tsan_read_write2 __tsan_unaligned_read_write2;
    4: __tsan_read4 __tsan_unaligned_read4 __tsan_volatile_read4 __tsan_unaligned_volatile_read4;
       __tsan_write4 __tsan_unaligned_write4 __tsan_volatile_write4
       __tsan_unaligned_volatile_write4 __tsan_read_write4 __tsan_unaligned_read_write4;
    8: __tsan_read8 __tsan_unaligned_read8 __tsan_volatile_read8 __tsan_unaligned_volatile_read8;
       __tsan_write8 __tsan_unaligned_write8 __tsan_volatile_write8
       __tsan_unaligned_volatile_write8 __tsan_read_write8 __tsan_unaligned_read_write8;
    16: __tsan_read16 __tsan_unaligned_read16 __tsan_volatile_read16
        __tsan_unaligned_volatile_read16;
       __tsan_write16 __tsan_unaligned_write16 __tsan_volatile_write16
       __tsan_unaligned_volatile_write16 __tsan_read_write16 __tsan_unaligned_read_write16;
}

entry! {
    __tsan_read_range / 2 => read_range;
    __tsan_write_range / 2 => write_range;
    __tsan_vptr_update / 2 => vptr_update;
    __tsan_vptr_read / 1 => read::<8>;
}

extern "C" fn read_range(address: usize, size: usize, pc: usize) {
    access(address, size, false, pc);
}

extern "C" fn write_range(address: usize, size: usize, pc: usize) {
    access(address, size, true, pc);
}

/// A constructor or destructor sets the table of virtual functions; setting it to what it is already
/// is no write that matters.
extern "C" fn vptr_update(slot: *const usize, value: usize, pc: usize) {
    // SAFETY: the program is about to write there.
    if unsafe { slot.read_volatile() } != value {
        access(slot as usize, 8, true, pc);
    }
}

// With an address that is known before: the variants that take the place as an argument.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {}
#[unsafe(no_mangle)]
extern "C" fn __tsan_ignore_thread_begin() {}
#[unsafe(no_mangle)]
extern "C" fn __tsan_ignore_thread_end() {}
#[unsafe(no_mangle)]
extern "C" fn __tsan_acquire(_: usize) {}
#[unsafe(no_mangle)]
extern "C" fn __tsan_release(_: usize) {}

/// Memory is allocated: every use of it must come after that.
pub(crate) fn allocated(runtime: &mut Runtime, address: usize, size: usize, pc: usize) {
    /// Of a larger block, this much is looked at.
    const MOST: usize = 64 << 10;
    freed(runtime, address, size.min(MOST), pc);
}

/// Memory was freed: that is a write to every part of it that a thread has used.
pub(crate) fn freed(runtime: &mut Runtime, address: usize, size: usize, pc: usize) {
    if runtime.single_threaded {
        return;
    }
    let is_racy = runtime.shadow.is_racy(pc);
    // Which pieces any thread uses becomes known as executions go by; which are numbers of the strategy does not change unnoticed.
    for granule in (address..address + size).step_by(8) {
        if crate::runtime::runtime().shadow.is_known(granule) {
            let length = 8.min(address + size - granule);
            match is_racy && crate::runtime::runtime().shadow.has_object(granule) {
                true => racy(granule, length, Racy::Free, pc),
                false => note(crate::runtime::runtime(), granule, length, Use::Write, pc),
            }
        }
    }
}
