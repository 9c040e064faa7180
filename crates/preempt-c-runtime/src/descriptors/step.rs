//! One call on a descriptor as a step of the program.
//!
//! A resource has a lock and a queue of threads that wait for it to change, both of this library's making; whatever is
//! done under the lock is urgent, so a call has one scheduling point, its first. A set that watches a resource is
//! locked and notified with it: so a thread that looks at a set sees a state that no other thread is
//! about to change, and waits in the queue of that set alone.

use crate::clock::wait_until;
use crate::control::{operation, urgently};
use crate::descriptor_table::resource::{AGAIN, Body, Resource};
use crate::descriptor_table::{Descriptors, File};
use crate::mutex::object;
use crate::objects::Kind;
use crate::runtime::runtime;
use crate::task::CallSite;
use preempt_explore::{Action, ObjectId};

/// Whether the first lock that is taken is a scheduling point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Others may run before.
    Scheduled,
    /// The caller is in the middle of a step.
    AtOnce,
}

fn lock_of(address: usize) -> ObjectId {
    let index = object(runtime(), address, Kind::FileLock);
    runtime().objects.id(index)
}

fn queue_of(address: usize) -> ObjectId {
    let index = object(runtime(), address, Kind::FileQueue);
    runtime().objects.id(index)
}

/// Takes the lock of this name.
pub(crate) fn lock(address: usize, when: When, pc: usize) {
    let act = if when == When::Scheduled { operation } else { urgently };
    act(Action::Lock, lock_of(address), 0, 0, CallSite { pc, address });
}

/// Releases the lock of this name.
pub(crate) fn unlock(address: usize, pc: usize) {
    urgently(Action::Unlock, lock_of(address), 0, 0, CallSite { pc, address });
}

/// Wakes the threads that wait in the queue of this name.
fn notify(address: usize, pc: usize) {
    let queue = queue_of(address);
    let run = runtime().run();
    if run.order.iter().any(|&thread| run.state.thread(thread).waiting == queue) {
        urgently(Action::NotifyAll, queue, 0, 0, CallSite { pc, address });
    }
}

/// Waits, holding the lock of this name, until the queue of that name is notified; holds the lock again
/// afterwards. Returns whether the time was up, if there is a limit.
pub(crate) fn wait(address: usize, due: Option<u64>, pc: usize) -> bool {
    let (lock, queue) = (lock_of(address), queue_of(address));
    let call_site = CallSite { pc, address };
    runtime().me().spinning.clear();
    urgently(Action::Wait, lock, u64::from(queue.0), 0, call_site);
    wait_until(Action::Reacquire, lock, u64::from(queue.0), due, call_site) == 1
}

impl Descriptors {
    /// The sets that watch a resource, and those that watch these, each once.
    fn watchers(&self, resource: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut next = vec![resource];
        while let Some(resource) = next.pop() {
            let ends = self.files.iter().filter(|file| file.resource == resource);
            for &set in ends.flat_map(|file| &file.watchers) {
                if !found.contains(&set) {
                    found.push(set);
                    next.push(set);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Marks in all sets that something has happened to a resource.
    fn arm(&mut self, changed: usize) {
        let Descriptors { files, resources, .. } = self;
        for Resource { body, .. } in resources {
            if let Body::Set(interests) = body {
                let about =
                    |file: usize| files.get(file).map(|f: &File| f.resource) == Some(changed);
                interests.iter_mut().filter(|i| about(i.file)).for_each(|i| i.armed = true);
            }
        }
    }
}

/// Executes `act`, which may change the resource and says whether it did, as one step.
pub(crate) fn step<R>(
    resource: usize,
    when: When,
    pc: usize,
    act: impl FnOnce(&mut Descriptors) -> (R, bool),
) -> R {
    let address = runtime().descriptors.resources[resource].address;
    lock(address, when, pc);
    let result = held(resource, pc, act);
    unlock(address, pc);
    result
}

/// The same for a thread that holds the lock of the resource.
pub(crate) fn held<R>(
    resource: usize,
    pc: usize,
    act: impl FnOnce(&mut Descriptors) -> (R, bool),
) -> R {
    let descriptors = &mut runtime().descriptors;
    let address = descriptors.resources[resource].address;
    let watchers = descriptors.watchers(resource);
    let addresses: Vec<usize> =
        watchers.iter().map(|&set| descriptors.resources[set].address).collect();
    for &set in &addresses {
        lock(set, When::AtOnce, pc);
    }
    let (result, changed) = act(&mut runtime().descriptors);
    if changed {
        runtime().me().spinning.clear();
        runtime().descriptors.arm(resource);
        notify(address, pc);
    }
    for &set in addresses.iter().rev() {
        if changed {
            notify(set, pc);
        }
        unlock(set, pc);
    }
    result
}

/// Repeats `attempt` on a resource until it does not ask to wait, or once if the caller does not wait.
pub(super) fn until(
    resource: usize,
    pc: usize,
    mut attempt: impl FnMut() -> (isize, bool),
    at_once: bool,
) -> isize {
    let address = runtime().descriptors.resources[resource].address;
    lock(address, When::Scheduled, pc);
    let result = loop {
        let result = held(resource, pc, |_| attempt());
        if result != AGAIN || at_once {
            break result;
        }
        let expiry = match runtime().descriptors.resources[resource].body {
            Body::Timer { expiry, .. } => expiry,
            _ => None,
        };
        wait(address, expiry, pc);
    };
    unlock(address, pc);
    result
}

/// Nanoseconds on the running thread's clock.
pub(super) fn now() -> u64 {
    runtime().time()
}
