//! The calls that compilers make of atomic operations: `__tsan_atomic32_load` and its relatives.
//!
//! In a program that runs by itself they do what they say. Under control the search decides what they
//! read (`atomics.rs`).

use crate::atomics::{Atomic, execute, fence, order};
use crate::entry::is_program;
use crate::references;
use crate::runtime::inside;
use crate::trouble::Trouble;
use preempt_explore::{Action, Update};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// A number that programs access atomically.
trait Number: Copy + PartialEq + Default {
    const BYTES: u8;
    /// As the strategy knows it, which looks at 64 bits.
    fn inward(self) -> u64;
    fn outward(value: u64) -> Self;
    /// The operation itself. Returns what was there.
    fn act(address: *mut Self, action: Action, operand: Self, new: Self) -> Self;
}

macro_rules! numbers {
    ($($type:ty: $atomic:ty;)*) => {$(
        impl Number for $type {
            const BYTES: u8 = size_of::<$type>() as u8;

            fn inward(self) -> u64 {
                self.into()
            }

            fn outward(value: u64) -> Self {
                value as $type
            }

            fn act(address: *mut Self, action: Action, operand: Self, new: Self) -> Self {
                // SAFETY: the program accesses this number atomically.
                let cell = unsafe { <$atomic>::from_ptr(address) };
                match action {
                    Action::Load => cell.load(SeqCst),
                    Action::Update(Update::Add, _) => cell.fetch_add(operand, SeqCst),
                    Action::Update(Update::Sub, _) => cell.fetch_sub(operand, SeqCst),
                    Action::Update(Update::And, _) => cell.fetch_and(operand, SeqCst),
                    Action::Update(Update::Or, _) => cell.fetch_or(operand, SeqCst),
                    Action::Update(Update::Xor, _) => cell.fetch_xor(operand, SeqCst),
                    Action::Update(Update::Nand, _) => cell.fetch_nand(operand, SeqCst),
                    Action::CompareExchange => cell
                        .compare_exchange(operand, new, SeqCst, SeqCst)
                        .unwrap_or_else(|found| found),
                    _ => cell.swap(operand, SeqCst),
                }
            }
        }
    )*};
}

numbers! {
    u8: AtomicU8;
    u16: AtomicU16;
    u32: AtomicU32;
    u64: AtomicU64;
}

/// What lock-free lists with counted pointers use.
impl Number for u128 {
    const BYTES: u8 = 16;

    fn inward(self) -> u64 {
        let halves = [self as u64, (self >> 64) as u64];
        if !is_program() {
            return 0;
        }
        inside(|runtime| runtime.objects.fold(halves))
    }

    fn outward(value: u64) -> Self {
        let [low, high] = inside(|runtime| runtime.objects.unfold(value));
        u128::from(low) | u128::from(high) << 64
    }

    fn act(address: *mut Self, action: Action, operand: Self, new: Self) -> Self {
        // SAFETY: the program accesses this number atomically, so it is mapped. Every processor that
        // runs Linux with several threads in 64 bits has the instruction.
        let exchange = |from: u128, to: u128| unsafe { compare_exchange_16(address, from, to) };
        if action == Action::CompareExchange {
            return exchange(operand, new);
        }
        let mut known = exchange(0, 0);
        if action == Action::Load {
            return known;
        }
        loop {
            let next = match action {
                Action::Update(Update::Add, _) => known.wrapping_add(operand),
                Action::Update(Update::Sub, _) => known.wrapping_sub(operand),
                Action::Update(Update::And, _) => known & operand,
                Action::Update(Update::Or, _) => known | operand,
                Action::Update(Update::Xor, _) => known ^ operand,
                Action::Update(Update::Nand, _) => !(known & operand),
                _ => operand,
            };
            let found = exchange(known, next);
            if found == known {
                return known;
            }
            known = found;
        }
    }
}

/// # Safety
/// The address is mapped, writable and aligned to 16 bytes.
unsafe fn compare_exchange_16(address: *mut u128, from: u128, to: u128) -> u128 {
    let (mut low, mut high) = (from as u64, (from >> 64) as u64);
    // SAFETY: as the caller's. The compiler keeps rbx for itself, so it is exchanged.
    unsafe {
        std::arch::asm!(
            "xchg rbx, {new_low}",
            "lock cmpxchg16b [{address}]",
            "mov rbx, {new_low}",
            new_low = inout(reg) to as u64 => _,
            address = in(reg) address,
            inout("rax") low,
            inout("rdx") high,
            in("rcx") (to >> 64) as u64,
            options(nostack),
        );
    }
    u128::from(low) | u128::from(high) << 64
}

/// How an operation is called: its memory orders, whether a comparison may fail for no reason, and
/// where the call is.
#[derive(Clone, Copy)]
struct Call {
    orders: (i32, i32),
    may_fail: bool,
    pc: usize,
}

/// Does the operation, under control or by itself. Returns what was read, and whether it has written.
fn operate<N: Number>(
    address: *mut N,
    action: Action,
    (operand, new): (N, N),
    call: Call,
) -> (N, bool) {
    if !is_program() {
        let found = N::act(address, action, operand, new);
        return (found, found == operand);
    }
    let outcome = execute(Atomic {
        address: address as usize,
        size: N::BYTES,
        action,
        operands: (operand.inward(), new.inward()),
        orders: (order(call.orders.0), order(call.orders.1)),
        may_fail: call.may_fail,
        pc: call.pc,
    });
    if outcome.writes {
        // SAFETY: the program's own number; one thread runs at a time.
        unsafe { address.write_volatile(N::outward(outcome.newest)) };
    }
    (N::outward(outcome.seen), outcome.writes)
}

extern "C" fn load<N: Number>(address: *mut N, order: i32, pc: usize) -> N {
    let call = Call { orders: (order, order), may_fail: false, pc };
    operate(address, Action::Load, (N::default(), N::default()), call).0
}

extern "C" fn store<N: Number>(address: *mut N, value: N, order: i32, pc: usize) {
    let call = Call { orders: (order, order), may_fail: false, pc };
    operate(address, Action::Store, (value, N::default()), call);
}

const UPDATES: [Update; 7] =
    [Update::Swap, Update::Add, Update::Sub, Update::And, Update::Or, Update::Xor, Update::Nand];

/// The update of this number in [`UPDATES`].
extern "C" fn update<N: Number, const NUMBER: usize>(
    address: *mut N,
    value: N,
    order: i32,
    pc: usize,
) -> N {
    let changes_by_one = matches!(UPDATES[NUMBER], Update::Add | Update::Sub);
    if N::BYTES == 8
        && changes_by_one
        && is_program()
        && let Some(seen) = references::change(address as usize, value.inward(), pc)
    {
        return N::outward(seen);
    }
    let call = Call { orders: (order, order), may_fail: false, pc };
    let bits = N::BYTES.min(8) * 8;
    if N::BYTES > 8 && UPDATES[NUMBER] != Update::Swap && is_program() {
        let message = "arithmetic on atomic numbers of 16 bytes is not modelled: compare and exchange \
                       them";
        inside(|runtime| runtime.stop(Trouble::unsupported(pc, message)));
    }
    operate(address, Action::Update(UPDATES[NUMBER], bits), (value, N::default()), call).0
}

/// What is expected is replaced by what is there, if that is something else.
extern "C" fn compare<N: Number, const MAY_FAIL: bool>(
    address: *mut N,
    expected: *mut N,
    new: N,
    order: i32,
    failure: i32,
    pc: usize,
) -> i32 {
    let call = Call { orders: (order, failure), may_fail: MAY_FAIL, pc };
    // SAFETY: the program's own variable.
    let operands = (unsafe { *expected }, new);
    let (found, succeeds) = operate(address, Action::CompareExchange, operands, call);
    if !succeeds {
        // SAFETY: as above.
        unsafe { *expected = found };
    }
    succeeds.into()
}

extern "C" fn compare_value<N: Number>(
    address: *mut N,
    expected: N,
    new: N,
    order: i32,
    failure: i32,
    pc: usize,
) -> N {
    let call = Call { orders: (order, failure), may_fail: false, pc };
    operate(address, Action::CompareExchange, (expected, new), call).0
}

// All six registers for arguments are taken by comparisons of sixteen bytes, so the place of the call is
// looked for on the stack.

fn call_site() -> usize {
    if is_program() { inside(|_| crate::caller::caller()) } else { 0 }
}

extern "C" fn compare_wide<const MAY_FAIL: bool>(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    order: i32,
    failure: i32,
) -> i32 {
    compare::<u128, MAY_FAIL>(address, expected, new, order, failure, call_site())
}

extern "C" fn compare_wide_value(
    address: *mut u128,
    expected: u128,
    new: u128,
    order: i32,
    failure: i32,
) -> u128 {
    compare_value(address, expected, new, order, failure, call_site())
}

/// Exports functions under names that the compiler calls. With a number, the place of the call becomes
/// the argument of that number.
macro_rules! export {
    ($($name:expr => $inner:path, $count:tt;)*) => {$(
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            extern "C" fn exported() {
                std::arch::naked_asm!(
                    concat!("mov ", $crate::entry::entry!(@ $count), ", [rsp]"),
                    "jmp {inner}",
                    inner = sym $inner,
                )
            }
        };
    )*};
    ($($name:expr => $inner:path;)*) => {$(
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            extern "C" fn exported() {
                std::arch::naked_asm!("jmp {inner}", inner = sym $inner)
            }
        };
    )*};
}

/// The operations on a type; the number is that of the argument after a value and an order.
macro_rules! calls {
    ($($type:ty, $bits:literal, $after:tt;)*) => {$(
        export! {
            concat!("__tsan_atomic", $bits, "_load") => load::<$type>, 2;
            concat!("__tsan_atomic", $bits, "_store") => store::<$type>, $after;
            concat!("__tsan_atomic", $bits, "_exchange") => update::<$type, 0>, $after;
            concat!("__tsan_atomic", $bits, "_fetch_add") => update::<$type, 1>, $after;
            concat!("__tsan_atomic", $bits, "_fetch_sub") => update::<$type, 2>, $after;
            concat!("__tsan_atomic", $bits, "_fetch_and") => update::<$type, 3>, $after;
            concat!("__tsan_atomic", $bits, "_fetch_or") => update::<$type, 4>, $after;
            concat!("__tsan_atomic", $bits, "_fetch_xor") => update::<$type, 5>, $after;
            concat!("__tsan_atomic", $bits, "_fetch_nand") => update::<$type, 6>, $after;
        }
    )*};
}

/// Comparisons of what fits into a register.
macro_rules! comparisons {
    ($($type:ty, $bits:literal;)*) => {$(
        export! {
            concat!("__tsan_atomic", $bits, "_compare_exchange_strong") => compare::<$type, false>, 5;
            concat!("__tsan_atomic", $bits, "_compare_exchange_weak") => compare::<$type, true>, 5;
            concat!("__tsan_atomic", $bits, "_compare_exchange_val") => compare_value::<$type>, 5;
        }
    )*};
}

calls! {
    u8, 8, 3;
    u16, 16, 3;
    u32, 32, 3;
    u64, 64, 3;
    u128, 128, 4;
}
comparisons! {
    u8, 8;
    u16, 16;
    u32, 32;
    u64, 64;
}
export! {
    "__tsan_atomic128_compare_exchange_strong" => compare_wide::<false>;
    "__tsan_atomic128_compare_exchange_weak" => compare_wide::<true>;
    "__tsan_atomic128_compare_exchange_val" => compare_wide_value;
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(number: i32) {
    if is_program() {
        fence(order(number));
    } else {
        std::sync::atomic::fence(SeqCst);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: i32) {}
