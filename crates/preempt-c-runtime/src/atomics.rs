//! Atomic operations: visible operations that this library also performs.
//!
//! The strategy keeps the value of each atomic number, because whether a loop that waits may go on
//! and whether a comparison succeeds depend on it; the memory of the program is what counts. Values are
//! those of sequential consistency; which plain accesses an operation orders is what its memory order
//! says.

use crate::access;
use crate::control::{Place, Runtime, ordered, runtime, yield_now};
use crate::entry::{entry, inside, is_program};
use crate::objects::{Kind, fold, read};
use crate::shadow::Use;
use crate::trouble::Trouble;
use preempt_explore::{Action, Order, Update};

/// The object of an atomic number.
pub(crate) fn object(runtime: &mut Runtime, address: usize, size: u8) -> u32 {
    let run = runtime.run();
    let (index, new) = runtime.objects.find(run, address, Kind::Atomic(size));
    if new {
        runtime.learnt = true;
        runtime.shadow.add_object(address);
    }
    if !runtime.objects.details(index).used {
        runtime.objects.details(index).used = true;
        refuse_overlap(runtime, address, size, index);
    }
    // What uninstrumented code has written is found out here.
    runtime.objects.refresh(run, index);
    index
}

/// Numbers that overlap would have to be one object.
fn refuse_overlap(runtime: &mut Runtime, address: usize, size: u8, index: u32) {
    let mut found = Vec::new();
    runtime.objects.atomics_in(address, usize::from(size).min(8), &mut found);
    if found.into_iter().any(|other| other != index && runtime.objects.details(other).used) {
        let pc = runtime.me().place.pc;
        let message = format!(
            "atomic accesses of different sizes overlap at {address:#x}, which is not modelled: use \
             one size for each number"
        );
        runtime.stop(Trouble::unsupported(pc, message));
    }
}

/// A thread that waits for a change in a loop lets others run first.
pub(crate) fn before_read(pc: usize, address: usize, place: Place) {
    let me = runtime().me();
    if me.spinning.is_due(pc, address) {
        me.spinning.clear();
        yield_now(place);
    }
}

/// The compiler's numbers for memory orders.
fn order(number: i32) -> Order {
    match number {
        0 => Order::Relaxed,
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        4 => Order::AcquireRelease,
        _ => Order::SequentiallyConsistent,
    }
}

/// An operation on an atomic number, as the program calls it.
struct Atomic {
    address: usize,
    size: u8,
    action: Action,
    operands: (u64, u64),
    /// Also of a comparison that fails.
    orders: (i32, i32),
    pc: usize,
}

/// Announces an operation and returns when it may be performed.
#[inline(never)]
fn before(atomic: Atomic) {
    let Atomic { address, size, action, operands, orders, pc } = atomic;
    // Fault here, as the program, if there is no memory.
    let _ = read(address, size);
    inside(|runtime| {
        if address & (usize::from(size) - 1) != 0 {
            let message =
                format!("an atomic access of {size} bytes is not aligned, which is not modelled");
            runtime.stop(Trouble::unsupported(pc, message));
        }
        let place = Place { pc, address };
        if action != Action::Store {
            before_read(pc, address, place);
        }
        let runtime = crate::control::runtime();
        let index = object(runtime, address, size);
        let id = runtime.objects.id(index);
        let seen = ordered(action, id, operands, (order(orders.0), order(orders.1)), place);
        let runtime = crate::control::runtime();
        if !runtime.alone {
            let how = if action == Action::Load { Use::AtomicRead } else { Use::AtomicWrite };
            access::note(runtime, address, usize::from(size).min(8), how, pc);
        }
        let unchanged = match action {
            Action::Load => true,
            Action::CompareExchange => seen != operands.0,
            Action::Update(update, bits) => update.compute(seen, operands.0, bits) == seen,
            _ => false,
        };
        let me = runtime.me();
        if unchanged { me.spinning.read(pc, address, seen) } else { me.spinning.clear() }
    });
}

macro_rules! atomics {
    ($($type:ty, $bits:literal, $module:ident: $load:ident $store:ident $exchange:ident $add:ident
       $sub:ident $and:ident $or:ident $xor:ident $nand:ident $strong:ident $weak:ident $val:ident;)*) => {$(
        mod $module {
            use super::*;
            use std::sync::atomic::Ordering::SeqCst;
            type Cell = <$type as super::Number>::Atomic;

            fn cell(address: *mut $type) -> &'static Cell {
                // SAFETY: the program accesses this number atomically.
                unsafe { &*address.cast() }
            }
            fn announce(
                address: *mut $type,
                action: Action,
                operands: (u64, u64),
                orders: (i32, i32),
                pc: usize,
            ) {
                let (address, size) = (address as usize, $bits / 8);
                before(Atomic { address, size, action, operands, orders, pc });
            }
            extern "C" fn load(address: *mut $type, order: i32, pc: usize) -> $type {
                if is_program() {
                    announce(address, Action::Load, (0, 0), (order, order), pc);
                }
                cell(address).load(SeqCst)
            }
            extern "C" fn store(address: *mut $type, value: $type, order: i32, pc: usize) {
                if is_program() {
                    announce(address, Action::Store, (value.into(), 0), (order, order), pc);
                }
                cell(address).store(value, SeqCst);
            }
            atomics!(@update $type, $bits, exchange, swap, Swap);
            atomics!(@update $type, $bits, add, fetch_add, Add);
            atomics!(@update $type, $bits, sub, fetch_sub, Sub);
            atomics!(@update $type, $bits, and, fetch_and, And);
            atomics!(@update $type, $bits, or, fetch_or, Or);
            atomics!(@update $type, $bits, xor, fetch_xor, Xor);
            atomics!(@update $type, $bits, nand, fetch_nand, Nand);
            fn compare(
                address: *mut $type,
                expected: $type,
                new: $type,
                orders: (i32, i32),
                pc: usize,
            ) -> Result<$type, $type> {
                if is_program() {
                    let operands = (expected.into(), new.into());
                    announce(address, Action::CompareExchange, operands, orders, pc);
                }
                cell(address).compare_exchange(expected, new, SeqCst, SeqCst)
            }
            extern "C" fn strong(
                address: *mut $type,
                expected: *mut $type,
                new: $type,
                order: i32,
                failure: i32,
                pc: usize,
            ) -> i32 {
                // SAFETY: the program's own variable.
                match compare(address, unsafe { *expected }, new, (order, failure), pc) {
                    Ok(_) => 1,
                    Err(found) => {
                        // SAFETY: as above.
                        unsafe { *expected = found };
                        0
                    }
                }
            }
            extern "C" fn val(
                address: *mut $type,
                expected: $type,
                new: $type,
                order: i32,
                failure: i32,
                pc: usize,
            ) -> $type {
                compare(address, expected, new, (order, failure), pc).unwrap_or_else(|found| found)
            }
            entry! {
                $load / 2 => load;
                $store / 3 => store;
                $exchange / 3 => exchange;
                $add / 3 => add;
                $sub / 3 => sub;
                $and / 3 => and;
                $or / 3 => or;
                $xor / 3 => xor;
                $nand / 3 => nand;
                $strong / 5 => strong;
                $weak / 5 => strong;
                $val / 5 => val;
            }
        }
    )*};
    (@update $type:ty, $bits:literal, $name:ident, $method:ident, $update:ident) => {
        extern "C" fn $name(address: *mut $type, value: $type, order: i32, pc: usize) -> $type {
            if is_program() {
                let action = Action::Update(Update::$update, $bits);
                announce(address, action, (value.into(), 0), (order, order), pc);
            }
            cell(address).$method(value, SeqCst)
        }
    };
}

/// A number and its atomic twin.
trait Number {
    type Atomic;
}

impl Number for u8 {
    type Atomic = std::sync::atomic::AtomicU8;
}
impl Number for u16 {
    type Atomic = std::sync::atomic::AtomicU16;
}
impl Number for u32 {
    type Atomic = std::sync::atomic::AtomicU32;
}
impl Number for u64 {
    type Atomic = std::sync::atomic::AtomicU64;
}

atomics! {
    u8, 8, of8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
        __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and
        __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand
        __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
        __tsan_atomic8_compare_exchange_val;
    u16, 16, of16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
        __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and
        __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand
        __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
        __tsan_atomic16_compare_exchange_val;
    u32, 32, of32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
        __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and
        __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand
        __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
        __tsan_atomic32_compare_exchange_val;
    u64, 64, of64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
        __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and
        __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand
        __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
        __tsan_atomic64_compare_exchange_val;
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(number: i32) {
    if is_program() {
        inside(|runtime| {
            runtime.run().fence(order(number));
            // What follows is ordered otherwise than what was recorded before.
            runtime.shadow.next_segment();
        });
    }
}
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: i32) {}

// Numbers of sixteen bytes: what lock-free lists with counted pointers use. The place of the call
// is not passed: all six registers for arguments are taken.

fn wide_cell(address: *mut [u64; 2]) -> &'static mut [u64; 2] {
    // SAFETY: the program's own number. Under control one thread runs at a time.
    unsafe { &mut *address }
}

fn pair(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

fn number([low, high]: [u64; 2]) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

const STRONGEST: i32 = 5;

fn wide_before(address: *mut [u64; 2], action: Action, operands: (u64, u64)) {
    if !is_program() {
        crate::raw::fail("preempt: atomic numbers of 16 bytes need `preempt run`\n");
    }
    let pc = crate::signals::caller();
    let orders = (STRONGEST, STRONGEST);
    before(Atomic { address: address as usize, size: 16, action, operands, orders, pc });
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic128_load(address: *mut [u64; 2], _: i32) -> u128 {
    wide_before(address, Action::Load, (0, 0));
    number(*wide_cell(address))
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic128_store(address: *mut [u64; 2], value: u128, _: i32) {
    wide_before(address, Action::Store, (fold(pair(value)), 0));
    *wide_cell(address) = pair(value);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic128_exchange(address: *mut [u64; 2], value: u128, _: i32) -> u128 {
    wide_before(address, Action::Update(Update::Swap, 64), (fold(pair(value)), 0));
    number(std::mem::replace(wide_cell(address), pair(value)))
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic128_compare_exchange_val(
    address: *mut [u64; 2],
    expected: u128,
    new: u128,
    _: i32,
    _: i32,
) -> u128 {
    let operands = (fold(pair(expected)), fold(pair(new)));
    wide_before(address, Action::CompareExchange, operands);
    let found = number(*wide_cell(address));
    if found == expected {
        *wide_cell(address) = pair(new);
    }
    found
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic128_compare_exchange_strong(
    address: *mut [u64; 2],
    expected: *mut [u64; 2],
    new: u128,
    order: i32,
    other: i32,
) -> i32 {
    // SAFETY: the program's own variable.
    let wanted = number(unsafe { *expected });
    let found = __tsan_atomic128_compare_exchange_val(address, wanted, new, order, other);
    // SAFETY: as above.
    unsafe { *expected = pair(found) };
    i32::from(found == wanted)
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic128_compare_exchange_weak(
    address: *mut [u64; 2],
    expected: *mut [u64; 2],
    new: u128,
    order: i32,
    other: i32,
) -> i32 {
    __tsan_atomic128_compare_exchange_strong(address, expected, new, order, other)
}
