//! Plain reads that tell in which order threads have stored.
//!
//! A plain read that does not race comes after all stores to the same bytes, and so it needs no scheduling point. But where
//! several threads have stored there atomically, nothing need order their stores with each other, and the read finds the value of the
//! last one. The strategy must know that the reader sees the difference: otherwise it takes executions that differ in the order of
//! these stores only for the same one. So from the second time on such a read is an operation besides, which no other
//! thread can run before, on the newest value; that it does not race is looked for as before.

use crate::control::perform;
use crate::runtime::runtime;
use crate::task::CallSite;
use preempt_explore::{Action, Operation, Order};
use std::panic::Location;

/// A plain read at a place that was found to tell such stores apart.
pub(crate) fn observe(address: usize, size: usize, pc: usize) {
    for nth in 0.. {
        let runtime = runtime();
        let Some(index) = runtime.objects.stored_by_several(address, size, nth) else { return };
        // What uninstrumented code has written is found out here.
        let run = runtime.run();
        runtime.objects.refresh(run, index);
        let number = runtime.objects.id(index);
        let load = Operation::new(Action::Load, number, 0, Operation::NEWEST, Location::caller());
        let load = Operation { urgent: true, ..load.with_order(Order::Relaxed, Order::Relaxed) };
        perform(load, CallSite { pc, address });
    }
}
