//! Destructors of values of Rust's `Arc`, while threads are in them: whether it makes a difference which thread runs one.
//!
//! It does if the destructor does an operation, or uses memory that it does not then free (`references.rs`).

use crate::arena::{self, header_of};
use crate::context::STACK;
use crate::runtime::Runtime;
use crate::task::Destructor;
use preempt_explore::Action;

/// The running thread has dropped the last references of some counts, and now does an operation, or changes memory that stays: from
/// here on, the changes of these counts are searched.
#[cold]
fn search(runtime: &mut Runtime) {
    for destructor in std::mem::take(&mut runtime.me().destructors) {
        runtime.learnt |= runtime.objects.search_references(destructor.index);
    }
}

/// The reference that all those to the value have in common is dropped: the destructor is done.
pub(crate) fn end(runtime: &mut Runtime, count: usize) {
    let me = runtime.me();
    if me.destructors.last().is_none_or(|destructor| destructor.count != count) {
        return;
    }
    let Some(Destructor { index, touched, .. }) = me.destructors.pop() else { return };
    let own = header_of(count);
    let is_own = |place: usize| arena::contains(place) && header_of(place) == own;
    if touched.into_iter().any(|place| !is_own(place)) {
        runtime.learnt |= runtime.objects.search_references(index);
    }
}

/// The running thread is about to do an operation.
#[inline]
pub(crate) fn before_operation(runtime: &mut Runtime, action: Action) {
    if action != Action::DropReference {
        before_spawn(runtime);
    }
}

/// The running thread is about to make another one.
#[inline]
pub(crate) fn before_spawn(runtime: &mut Runtime) {
    if !runtime.me().destructors.is_empty() {
        search(runtime);
    }
}

/// The running thread accesses memory, by a write, or where other threads write.
#[inline]
pub(crate) fn touched(runtime: &mut Runtime, address: usize) {
    let me = runtime.me();
    let is_own = me.stack.wrapping_sub(address) < STACK;
    if is_own {
        return;
    }
    if let Some(destructor) = me.destructors.last_mut() {
        destructor.touched.push(address);
    }
}

/// The running thread frees a block.
#[inline]
pub(crate) fn freed(runtime: &mut Runtime, address: usize, size: usize) {
    for destructor in &mut runtime.me().destructors {
        destructor.touched.retain(|&place| !(address..address + size).contains(&place));
    }
}
