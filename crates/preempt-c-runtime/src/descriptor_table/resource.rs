//! What descriptors stand for: counters, pipes, pairs of sockets, timers, and sets that are polled.
//!
//! These are plain values; when they may be looked at and changed is the business of `step.rs`. Results are
//! the kernel's: a number of bytes, or a negative error.

use std::collections::VecDeque;

/// Bytes that a pipe or a socket holds.
const CAPACITY: usize = 65_536;
/// A write of at most so many bytes to a pipe is not divided.
const UNDIVIDED: usize = 4096;

pub(crate) const AGAIN: isize = -(libc::EAGAIN as isize);

/// One thing that descriptors stand for.
pub(crate) struct Resource {
    /// The name by which the strategy knows it: an address that nothing else has.
    pub(crate) address: usize,
    pub(crate) body: Body,
}

/// What it is.
pub(crate) enum Body {
    /// `eventfd`.
    Counter { count: u64, semaphore: bool },
    /// `pipe`: what is written, how many descriptions of its ends are open, reading first.
    Pipe { stream: Stream, open: [u32; 2] },
    /// `socketpair`: what each end has to read, and whether each end is open for sending.
    Pair { streams: [Stream; 2], sends: [bool; 2], open: [bool; 2] },
    /// `timerfd`: nanoseconds of its next expiry on the program's clock, and of its period.
    Timer { expiry: Option<u64>, period: u64 },
    /// `epoll`, or one call of `poll` or `select`.
    Set(Vec<Interest>),
}

/// Which end of a resource a description is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// There is one only, or the reading end of a pipe, or the first socket of a pair.
    First,
    /// The writing end of a pipe, or the second socket.
    Second,
}

impl End {
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn other(self) -> usize {
        1 - self.index()
    }
}

/// What a set wants to know about a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest {
    pub(crate) descriptor: i32,
    pub(crate) file: usize,
    pub(crate) events: u32,
    pub(crate) data: u64,
    /// Something has happened since it was last reported; only edge-triggered interests look at it.
    pub(crate) armed: bool,
}

/// Bytes on their way, as a stream or as messages.
#[derive(Default)]
pub(crate) struct Stream {
    bytes: VecDeque<u8>,
    /// The length of each message, where messages stay apart.
    borders: Option<VecDeque<usize>>,
}

impl Stream {
    pub(crate) fn of_messages(keep: bool) -> Self {
        Stream { bytes: VecDeque::new(), borders: keep.then(VecDeque::new) }
    }

    fn is_empty(&self) -> bool {
        self.borders.as_ref().map_or(self.bytes.is_empty(), VecDeque::is_empty)
    }

    pub(crate) fn length(&self) -> usize {
        match &self.borders {
            Some(borders) => borders.front().copied().unwrap_or(0),
            None => self.bytes.len(),
        }
    }

    fn room(&self) -> usize {
        CAPACITY.saturating_sub(self.bytes.len())
    }

    /// Takes bytes out, or looks at them only; the rest of a message is lost.
    fn read(&mut self, out: &mut Vec<u8>, most: usize, peek: bool) {
        let length = self.length().min(most);
        if peek {
            out.extend(self.bytes.iter().take(length));
            return;
        }
        out.extend(self.bytes.drain(..length));
        if let Some(border) = self.borders.as_mut().and_then(VecDeque::pop_front) {
            self.bytes.drain(..border - length);
        }
    }

    /// Puts bytes in: how many, or an error. `whole`: all or none.
    fn write(&mut self, bytes: &[u8], whole: bool) -> isize {
        let room = self.room();
        let whole = whole || self.borders.is_some();
        if whole && bytes.len() > CAPACITY {
            return -(libc::EMSGSIZE as isize);
        }
        if room == 0 || whole && bytes.len() > room {
            return AGAIN;
        }
        let length = bytes.len().min(room);
        self.bytes.extend(&bytes[..length]);
        if let Some(borders) = &mut self.borders {
            borders.push_back(length);
        }
        length as isize
    }
}

impl Resource {
    /// Reads from an end, at this time: appends to `out` and returns how much, or an error.
    pub(crate) fn read(
        &mut self,
        end: End,
        most: usize,
        peek: bool,
        now: u64,
        out: &mut Vec<u8>,
    ) -> isize {
        let before = out.len();
        match &mut self.body {
            Body::Counter { count: 0, .. } => return AGAIN,
            Body::Counter { .. } | Body::Timer { .. } if most < 8 => {
                return -(libc::EINVAL as isize);
            }
            Body::Counter { count, semaphore } => {
                let taken = if *semaphore { 1 } else { *count };
                *count -= taken;
                out.extend(taken.to_ne_bytes());
            }
            Body::Timer { expiry, period, .. } => {
                let Some(at) = expiry.filter(|&at| at <= now) else { return AGAIN };
                let times = (now - at).checked_div(*period).map_or(1, |more| more + 1);
                *expiry = (*period > 0).then(|| at + times * *period);
                out.extend(times.to_ne_bytes());
            }
            Body::Pipe { stream, open } => match (end, stream.is_empty()) {
                (End::Second, _) => return -(libc::EBADF as isize),
                (End::First, true) if open[1] == 0 => {}
                (End::First, true) => return AGAIN,
                (End::First, false) => stream.read(out, most, peek),
            },
            Body::Pair { streams, sends, .. } => {
                let stream = &mut streams[end.index()];
                match stream.is_empty() {
                    true if !sends[end.other()] => {}
                    true => return AGAIN,
                    false => stream.read(out, most, peek),
                }
            }
            Body::Set(_) => return -(libc::EINVAL as isize),
        }
        (out.len() - before) as isize
    }

    /// Writes to an end: how much was written, or an error.
    pub(crate) fn write(&mut self, end: End, bytes: &[u8]) -> isize {
        match &mut self.body {
            Body::Counter { count, .. } => {
                let Some(&value) = bytes.first_chunk::<8>() else {
                    return -(libc::EINVAL as isize);
                };
                let value = u64::from_ne_bytes(value);
                if value == u64::MAX {
                    return -(libc::EINVAL as isize);
                }
                match count.checked_add(value).filter(|&sum| sum < u64::MAX) {
                    Some(sum) => *count = sum,
                    None => return AGAIN,
                }
                8
            }
            Body::Pipe { .. } if end == End::First => -(libc::EBADF as isize),
            Body::Pipe { open, .. } if open[0] == 0 => -(libc::EPIPE as isize),
            Body::Pipe { stream, .. } => stream.write(bytes, bytes.len() <= UNDIVIDED),
            Body::Pair { sends, open, .. } if !sends[end.index()] || !open[end.other()] => {
                -(libc::EPIPE as isize)
            }
            Body::Pair { streams, .. } => streams[end.other()].write(bytes, false),
            Body::Timer { .. } | Body::Set(_) => -(libc::EINVAL as isize),
        }
    }

    /// What an end is ready for, as bits of `epoll`; sets are looked at by their owner.
    pub(crate) fn readiness(&self, end: End, now: u64) -> u32 {
        let bit = |is: bool, bits: i32| if is { bits as u32 } else { 0 };
        match &self.body {
            Body::Counter { count, .. } => {
                bit(*count > 0, libc::EPOLLIN) | bit(*count < u64::MAX - 1, libc::EPOLLOUT)
            }
            Body::Timer { expiry, .. } => bit(expiry.is_some_and(|at| at <= now), libc::EPOLLIN),
            Body::Pipe { stream, open } if end == End::First => {
                bit(!stream.is_empty(), libc::EPOLLIN) | bit(open[1] == 0, libc::EPOLLHUP)
            }
            Body::Pipe { stream, open } => {
                bit(stream.room() >= UNDIVIDED, libc::EPOLLOUT) | bit(open[0] == 0, libc::EPOLLERR)
            }
            Body::Pair { streams, sends, open } => {
                let (mine, theirs) = (end.index(), end.other());
                let ended = !sends[theirs];
                bit(!streams[mine].is_empty() || ended, libc::EPOLLIN)
                    | bit(ended, libc::EPOLLRDHUP)
                    | bit(ended && !sends[mine] || !open[theirs], libc::EPOLLHUP)
                    | bit(streams[theirs].room() > 0 || !open[theirs], libc::EPOLLOUT)
            }
            Body::Set(_) => 0,
        }
    }

    /// An end was closed for good.
    pub(crate) fn close(&mut self, end: End) {
        match &mut self.body {
            Body::Pipe { open, .. } => open[end.index()] -= 1,
            Body::Pair { sends, open, .. } => {
                (sends[end.index()], open[end.index()]) = (false, false);
            }
            _ => {}
        }
    }

    /// Bytes that can be read at once.
    pub(crate) fn available(&self, end: End) -> usize {
        match &self.body {
            Body::Pipe { stream, .. } => stream.length(),
            Body::Pair { streams, .. } => streams[end.index()].length(),
            _ => 0,
        }
    }
}
