//! Reading and writing: bytes between the program's memory and a resource.

use super::step::{now, until};
use crate::access::access;
use crate::descriptor_table::resource::AGAIN;
use crate::entry::{PROGRAM, SEARCH, select};
use crate::runtime::runtime;
use crate::trouble::{Kind, Trouble};
use crate::{dispositions, signal_numbers};

/// Pieces of the program's memory: address and length of each.
pub(super) struct Buffers(Vec<(usize, usize)>);

impl Buffers {
    pub(super) fn one(address: usize, length: usize) -> Self {
        Buffers(vec![(address, length)])
    }

    /// As `readv` gets them.
    pub(super) fn list(at: usize, count: usize) -> Self {
        // SAFETY: the program's own array of so many entries.
        let pieces = unsafe { std::slice::from_raw_parts(at as *const (usize, usize), count) };
        Buffers(pieces.to_vec())
    }

    /// As `recvmsg` gets them.
    pub(super) fn of_message(at: usize, pc: usize) -> Self {
        // SAFETY: the program's own structure.
        let message = unsafe { &mut *(at as *mut libc::msghdr) };
        if message.msg_controllen > 0 && !message.msg_control.is_null() {
            // SAFETY: at least the length of a header is there.
            let kind = unsafe { (*message.msg_control.cast::<libc::cmsghdr>()).cmsg_type };
            if kind == libc::SCM_RIGHTS {
                let message = "descriptors are sent over a socket, which is not modelled";
                runtime().stop(Trouble::unsupported(pc, message));
            }
            message.msg_controllen = 0;
        }
        message.msg_flags = 0;
        Buffers::list(message.msg_iov as usize, message.msg_iovlen)
    }

    fn length(&self) -> usize {
        self.0.iter().map(|&(_, length)| length).sum()
    }

    /// Tells that the program's memory is accessed: the first `most` bytes.
    fn touch(&self, mut most: usize, write: bool, pc: usize) {
        select(PROGRAM);
        for &(address, length) in &self.0 {
            access(address, length.min(most), write, pc);
            most -= length.min(most);
        }
        select(SEARCH);
    }

    fn gather(&self) -> Vec<u8> {
        // SAFETY: the program's own memory.
        let piece = |&(address, length): &(usize, usize)| unsafe {
            std::slice::from_raw_parts(address as *const u8, length)
        };
        self.0.iter().flat_map(piece).copied().collect()
    }

    fn scatter(&self, mut bytes: &[u8]) {
        for &(address, length) in &self.0 {
            let (now, later) = bytes.split_at(length.min(bytes.len()));
            // SAFETY: the program's own memory.
            unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), address as *mut u8, now.len()) };
            bytes = later;
        }
    }
}

/// One call that reads or writes.
pub(super) struct Transfer {
    pub(super) file: usize,
    pub(super) buffers: Buffers,
    pub(super) write: bool,
    /// What is read stays.
    pub(super) peek: bool,
    /// It does not wait, whatever the file says.
    pub(super) at_once: bool,
    /// A broken pipe is an error only.
    pub(super) quiet: bool,
}

impl Transfer {
    pub(super) fn run(self, pc: usize) -> isize {
        let file = self.file;
        let resource = runtime().descriptors.files[file].resource;
        let at_once = self.at_once || runtime().descriptors.files[file].nonblocking;
        if !self.write {
            let mut bytes = Vec::new();
            let most = self.buffers.length();
            let attempt = || {
                let descriptors = &mut runtime().descriptors;
                let end = descriptors.files[file].end;
                let now = now();
                let body = &mut descriptors.resources[resource];
                let result = body.read(end, most, self.peek, now, &mut bytes);
                (result, result > 0 && !self.peek)
            };
            let result = until(resource, pc, attempt, at_once);
            self.buffers.touch(bytes.len(), true, pc);
            self.buffers.scatter(&bytes);
            return result;
        }
        self.buffers.touch(self.buffers.length(), false, pc);
        let bytes = self.buffers.gather();
        let mut written = 0;
        // A write that waits goes on until everything is written.
        let attempt = || {
            let descriptors = &mut runtime().descriptors;
            let end = descriptors.files[file].end;
            let result = descriptors.resources[resource].write(end, &bytes[written..]);
            if result > 0 {
                written += result as usize;
            }
            let rest = written < bytes.len() && !at_once;
            match result {
                _ if result > 0 && rest => (AGAIN, true),
                AGAIN if written > 0 && at_once => (written as isize, false),
                _ if result >= 0 => (written as isize, result > 0),
                error => (error, false),
            }
        };
        let result = until(resource, pc, attempt, at_once);
        if result == -(libc::EPIPE as isize) && !self.quiet && ends_the_program(libc::SIGPIPE) {
            let message = format!(
                "{}: a pipe or socket is written to that nothing reads from any more",
                signal_numbers::name(libc::SIGPIPE)
            );
            runtime().stop(Trouble::new(Kind::Signal, pc, message));
        }
        result
    }
}

fn ends_the_program(signal: i32) -> bool {
    matches!(dispositions::of(signal), dispositions::Disposition::Ends)
}
