//! The descriptors of things inside the program.
//!
//! Event counters, pipes, pairs of sockets and timers only connect threads of the program with each other, so they
//! are modelled (`resource.rs`); the calls on them are in `descriptors/`. Numbers of descriptors are the
//! kernel's: each of ours occupies one by an open file that is never used, so numbers are those that the program would
//! get.
//!
//! Everything begins anew with each execution.

pub(crate) mod resource;

use crate::raw;
use resource::{Body, End, Interest, Resource};
use std::ffi::CStr;

/// Names of resources: addresses that no memory has.
const NAMES: usize = 0x6300_0000_0000;
/// Names of the resources that one thread makes.
const NAMES_OF_THREAD: usize = 1 << 20;
/// The name of the table of descriptors.
pub(crate) const TABLE: usize = NAMES - 16;
/// The name of everything outside of the program.
pub(crate) const OUTSIDE: usize = NAMES - 32;

/// Events that are reported whether they are wanted or not.
pub(crate) const ALWAYS: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
/// Only what has happened since the last report is reported.
pub(crate) const EDGE: u32 = libc::EPOLLET as u32;
/// One report is all.
pub(crate) const ONCE: u32 = libc::EPOLLONESHOT as u32;
/// Bits of an interest that are no events.
const OPTIONS: u32 = EDGE | ONCE | (libc::EPOLLWAKEUP | libc::EPOLLEXCLUSIVE) as u32;

/// The descriptors of this execution.
#[derive(Default)]
pub(crate) struct Descriptors {
    /// By number: the open file that it stands for.
    slots: Vec<Option<usize>>,
    pub(crate) files: Vec<File>,
    pub(crate) resources: Vec<Resource>,
    /// How many resources each thread has made.
    made: Vec<usize>,
    /// Files of the outside that were opened for reading.
    opened: Vec<i32>,
}

/// An open file, which several descriptors may stand for.
pub(crate) struct File {
    pub(crate) resource: usize,
    pub(crate) end: End,
    pub(crate) nonblocking: bool,
    pub(crate) references: u32,
    /// Sets that watch it.
    pub(crate) watchers: Vec<usize>,
}

impl Descriptors {
    /// Closes what an execution in this process has left open.
    pub(crate) fn close_all(&mut self) {
        for number in (0..self.slots.len()).filter(|&number| self.slots[number].is_some()) {
            close_number(number as i32);
        }
        self.opened.drain(..).for_each(close_number);
    }

    /// A new execution begins.
    pub(crate) fn begin(&mut self) {
        self.slots.clear();
        self.files.clear();
        self.resources.clear();
        self.made.clear();
        self.opened.clear();
    }

    /// The open file of a number, if it is one of ours.
    pub(crate) fn file(&self, number: i32) -> Option<usize> {
        *self.slots.get(usize::try_from(number).ok()?)?
    }

    /// Whether a number is that of a descriptor of ours.
    pub(crate) fn contains(&self, number: i32) -> bool {
        self.file(number).is_some()
    }

    /// Whether a number is that of a file that this execution has opened for reading.
    pub(crate) fn is_opened(&self, number: i32) -> bool {
        self.opened.contains(&number)
    }

    /// A file of the outside was opened for reading, or closed.
    pub(crate) fn set_opened(&mut self, number: i32, open: bool) {
        match open {
            true => self.opened.push(number),
            false => self.opened.retain(|&known| known != number),
        }
    }

    /// From now on a number stands for this file.
    pub(crate) fn set_slot(&mut self, number: i32, file: Option<usize>) {
        let index = number as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, None);
        }
        self.slots[index] = file;
    }

    /// Adds a resource that this thread makes. Its name says so: it is the same whatever other threads do.
    pub(crate) fn add_resource(&mut self, thread: usize, body: Body) -> usize {
        if self.made.len() <= thread {
            self.made.resize(thread + 1, 0);
        }
        // Name 0 of each thread is that of its calls of `poll`.
        self.made[thread] += 1;
        let address = name(thread, self.made[thread]);
        self.resources.push(Resource { address, body });
        self.resources.len() - 1
    }

    /// Adds an open file.
    pub(crate) fn add_file(&mut self, resource: usize, end: End, nonblocking: bool) -> usize {
        let file = File { resource, end, nonblocking, references: 1, watchers: Vec::new() };
        self.files.push(file);
        self.files.len() - 1
    }

    /// The events of an interest that are to be reported now.
    pub(crate) fn reported(&self, interest: &Interest, now: u64) -> u32 {
        let spent = interest.events == ONCE;
        if spent || interest.events & EDGE != 0 && !interest.armed {
            return 0;
        }
        self.readiness(interest.file, now) & (interest.events & !OPTIONS | ALWAYS)
    }

    /// What a file is ready for.
    pub(crate) fn readiness(&self, file: usize, now: u64) -> u32 {
        let File { resource, end, .. } = self.files[file];
        match &self.resources[resource].body {
            Body::Set(interests) => {
                let ready = interests.iter().any(|interest| self.reported(interest, now) != 0);
                if ready { libc::EPOLLIN as u32 } else { 0 }
            }
            _ => self.resources[resource].readiness(end, now),
        }
    }
}

/// The name of a thread's resource.
pub(crate) fn name(thread: usize, nth: usize) -> usize {
    NAMES + thread * NAMES_OF_THREAD + nth * 16
}

/// Occupies the next free number, as the kernel chooses it.
pub(crate) fn take_number() -> isize {
    let path: &CStr = c"/dev/null";
    let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
    // SAFETY: a terminated name.
    unsafe { raw::syscall(libc::SYS_open, [path.as_ptr() as usize, flags, 0, 0, 0, 0]) }
}

/// Gives a number back.
pub(crate) fn close_number(number: i32) {
    // SAFETY: a number of ours.
    unsafe { raw::syscall(libc::SYS_close, [number as usize, 0, 0, 0, 0, 0]) };
}
