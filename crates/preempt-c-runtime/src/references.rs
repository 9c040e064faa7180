//! Counts of references of Rust's `Arc` and `Weak`: they commute, so the order in which threads change them is not searched.
//!
//! `references.rs` of `preempt-run` has found the calls by which std clones and drops references. They do not look at
//! what they read there, except that a drop asks whether the reference was the last one. The last one comes after all others, whichever
//! it is; so one order stands for all, unless it makes a difference which thread is last or how many references there are:
//!
//! - something else is done with the count (`Arc::get_mut`, `strong_count`, `upgrade`);
//! - the destructor, which the last thread executes, does an operation, or uses memory that it does not then free: such an effect
//!   may come at another time, or in another thread.
//!
//! From then on the changes of that count are operations like any others, and the exploration begins again.
//!
//! Invariant: where clones and drops of a count are not searched, nothing else changes it in the whole execution.

use crate::control::{operation, urgently};
use crate::races;
use crate::runtime::{Runtime, inside};
use crate::shadow::Use;
use crate::task::{CallSite, Destructor};
use crate::{atomics, destructors, snapshot};
use preempt_exchange::References;
use preempt_explore::Action;

/// What a call does with a count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Clone,
    /// Of the references that keep the value.
    Drop,
    /// Of the others, to all of which the former have one in common.
    DropWeak,
}

/// How far the count of weak references lies behind the other one.
const WEAK: usize = size_of::<usize>();

impl Runtime {
    #[inline]
    fn change_at(&self, pc: usize) -> Option<Change> {
        let References { clones, drops, weak_drops } = &self.references;
        if clones.is_empty() && drops.is_empty() {
            return None;
        }
        let pc = snapshot::relative(pc);
        let is_in = |calls: &[usize]| calls.binary_search(&pc).is_ok();
        match () {
            () if is_in(clones) => Some(Change::Clone),
            () if is_in(drops) => Some(Change::Drop),
            () if is_in(weak_drops) => Some(Change::DropWeak),
            () => None,
        }
    }
}

/// Changes a count on behalf of std, where its changes are not searched. Returns what was there before.
pub(crate) fn change(address: usize, by: u64, pc: usize) -> Option<u64> {
    inside(|runtime| {
        let change = runtime.change_at(pc).filter(|_| by == 1)?;
        let size = WEAK as u8;
        runtime.check_memory(address, WEAK, pc);
        let index = atomics::object(runtime, address, size);
        if !runtime.objects.merges_references(index) {
            runtime.learnt |= runtime.objects.search_references(index);
            return None;
        }
        runtime.has_merged_references = true;
        let id = runtime.objects.id(index);
        if change == Change::Clone {
            let seen = runtime.run().value_of(id);
            runtime.run().add_reference(id);
            store(address, seen.wrapping_add(1));
            if !runtime.single_threaded {
                races::note_now(runtime, address, WEAK, Use::AtomicWrite, pc);
            }
            return Some(seen);
        }
        let call_site = CallSite { pc, address };
        // A thread that begins with it waits for its turn like any other.
        let step = if runtime.is_starting(runtime.current()) { operation } else { urgently };
        let was_last = step(Action::DropReference, id, 0, 0, call_site) == 1;
        let runtime = crate::runtime::runtime();
        let left = runtime.run().value_of(id);
        let seen = left.wrapping_add(1);
        store(address, left);
        if !runtime.single_threaded {
            races::note(runtime, address, WEAK, Use::AtomicWrite, pc);
        }
        if change == Change::DropWeak {
            destructors::end(runtime, address.wrapping_sub(WEAK));
        } else if was_last {
            let destructor = Destructor { count: address, index, touched: Vec::new() };
            runtime.me().destructors.push(destructor);
        }
        Some(seen)
    })
}

fn store(address: usize, value: u64) {
    // SAFETY: the program's own number; one thread runs at a time.
    unsafe { (address as *mut u64).write_volatile(value) };
}
