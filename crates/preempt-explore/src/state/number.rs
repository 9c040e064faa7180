//! Executing an access to a number, which is what most steps are.
//!
//! The same as any other operation (`apply`), in fewer instructions: it blocks nothing and wakes nothing, needs no second object,
//! and what the thread sees follows from the version that it absorbs.

use super::apply::Touch;
use super::done::{Done, Publish};
use super::{ExecutionState, Object};
use crate::mix::{mix, mix3, term};
use crate::{Action, ObjectId, Operation, POINTER, ThreadId};

impl ExecutionState {
    /// Executes the pending access of a thread to a number. Returns what the thread sees.
    pub(super) fn apply_number(&mut self, id: ThreadId, operation: &Operation) -> u64 {
        let name = self.action_name(id);
        let hint = self.hint.take();
        let write = operation.action != Action::Load;
        let object = &mut self.objects[operation.object.index()];
        let before = object.value;
        if write {
            self.hash ^= term(name, 0, object.last_write, object.reads.wrapping_add(1));
            (object.last_write, object.reads) = (name, 0);
        } else {
            self.hash ^= term(name, 0, object.last_write, 0);
            object.reads = object.reads.wrapping_add(name);
        }
        let done = execute_number(object, operation, hint);
        let thread = &mut self.threads[id.index()];
        thread.history = mix3(thread.history, done.observed, 0);
        thread.steps += 1;
        if done.publish == Publish::Replace {
            object.version = mix(thread.history, 5);
        }
        if self.times.is_some() || self.clocks.is_some() {
            self.pass_on(id, operation, &done);
        }
        if self.rules.watch {
            let (object, second) = (operation.object, ObjectId::NONE);
            let touch = Touch { object, write, second, timeout: false, stamp: 0 };
            self.note_operation(id, touch, operation, &done, before);
        }
        if self.urgent == Some(id) {
            self.urgent = None;
        }
        done.result
    }
}

/// Executes an access to a number; `hint` is the outcome of a comparison whose operands are not at hand.
#[inline]
fn execute_number(object: &mut Object, operation: &Operation, hint: Option<bool>) -> Done {
    let (old, first) = (object.value, operation.first);
    // Addresses differ between executions: whether they change must not be looked at.
    let pointer = operation.second == POINTER || operation.action == Action::ComparePointer;
    let (observed, publish) = (object.version, Publish::Nothing);
    let reads = Done { result: old, observed, publish, changed: false };
    let publish = Publish::Replace;
    match operation.action {
        Action::Store => {
            object.value = first;
            Done { result: 0, observed: 0, publish, changed: pointer || old != first }
        }
        Action::Update(update, bits) => {
            object.value = update.compute(old, first, bits);
            Done { publish, changed: pointer || object.value != old, ..reads }
        }
        Action::CompareExchange | Action::ComparePointer if hint.unwrap_or(old == first) => {
            object.value = operation.second;
            Done { publish, changed: pointer || first != operation.second, ..reads }
        }
        _ => reads,
    }
}
