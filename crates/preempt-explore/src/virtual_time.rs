//! Virtual time: a clock per thread that moves when the thread sleeps or a wait of it times out.
//!
//! Clocks are brought together along happens-before: a thread that joins another, takes a lock or reads what
//! another has written is not earlier than that. So time never runs backwards along any order that the
//! test can see, and it is a function of the thread's history, as everything else that a thread sees.

use crate::{ObjectId, ThreadId};
use std::time::Duration;

/// The clocks of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    threads: Vec<Duration>,
    objects: Vec<Duration>,
}

impl Times {
    pub(crate) fn now(&self, thread: ThreadId) -> Duration {
        self.threads.get(thread.index()).copied().unwrap_or_default()
    }

    /// The clock of a thread moves to `to`, if that is later.
    pub(crate) fn pass(&mut self, thread: ThreadId, to: Duration) {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Duration::ZERO);
        }
        let clock = &mut self.threads[thread.index()];
        *clock = to.max(*clock);
    }

    /// A thread comes after another: spawned by it, or joins it.
    pub(crate) fn follows(&mut self, thread: ThreadId, earlier: ThreadId) {
        self.pass(thread, self.now(earlier));
    }

    /// A thread reads what was published through an object.
    pub(crate) fn reads(&mut self, thread: ThreadId, object: ObjectId) {
        if let Some(&time) = self.objects.get(object.index()) {
            self.pass(thread, time);
        }
    }

    /// A thread publishes through an object; alone, or after those before it.
    pub(crate) fn publishes(&mut self, thread: ThreadId, object: ObjectId, without_object: bool) {
        if self.objects.len() <= object.index() {
            self.objects.resize(object.index() + 1, Duration::ZERO);
        }
        let now = self.now(thread);
        let time = &mut self.objects[object.index()];
        *time = if without_object { now } else { now.max(*time) };
    }
}
