//! A connection as timely gets it: one that never fails, but says that its other end has gone.
//!
//! Timely takes a lost connection for the end of the world and panics. Here a lost connection sets a flag, and a thread that
//! reads from it waits for ever: the workers see the flag and end the search with what there is.
//!
//! The frames of timely are followed as they pass, for two reasons: a length that no sender of ours would write ends
//! the connection before memory is reserved for it, and an end of the stream is in order only behind the frame that says
//! so.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use timely::communication::allocator::zero_copy::stream::Stream;

/// No frame is longer: batches have some ten thousand bytes, and a worker sends a few of them together.
const LONGEST: u64 = 1 << 30;
/// The header of a frame: six numbers of eight bytes; the fifth is the length of what follows.
const HEADER: usize = 48;
const LENGTH_AT: usize = 32;

/// What is known of all connections of a process.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The process that has gone, plus one.
    lost: AtomicUsize,
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
}

impl Lines {
    /// Which process has gone, if one has.
    pub(crate) fn lost(&self) -> Option<usize> {
        self.lost.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Notes that a process has gone.
    pub(crate) fn lose(&self, peer: usize) {
        let _ = self.lost.compare_exchange(0, peer + 1, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Where in the stream of frames a reader is.
#[derive(Debug, Clone)]
struct Frames {
    header: [u8; HEADER],
    /// Bytes of the header that were read.
    got: usize,
    /// Bytes of the frame's contents that are still to come.
    left: u64,
    ended: bool,
}

impl Frames {
    fn new() -> Self {
        Frames { header: [0; HEADER], got: 0, left: 0, ended: false }
    }

    /// Follows bytes that were read; `false` if they cannot be frames of ours.
    fn follow(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.ended {
                return false;
            }
            if self.left > 0 {
                let passed = self.left.min(bytes.len() as u64);
                self.left -= passed;
                bytes = &bytes[passed as usize..];
                continue;
            }
            let passed = (HEADER - self.got).min(bytes.len());
            self.header[self.got..self.got + passed].copy_from_slice(&bytes[..passed]);
            self.got += passed;
            bytes = &bytes[passed..];
            if self.got == HEADER {
                let mut length = [0; 8];
                length.copy_from_slice(&self.header[LENGTH_AT..LENGTH_AT + 8]);
                self.left = u64::from_be_bytes(length);
                self.got = 0;
                self.ended = self.left == 0;
                if self.left > LONGEST {
                    return false;
                }
            }
        }
        true
    }
}

/// A connection to another process.
pub(crate) struct Line {
    stream: TcpStream,
    peer: usize,
    lines: Arc<Lines>,
    frames: Frames,
}

impl Line {
    pub(crate) fn new(stream: TcpStream, peer: usize, lines: Arc<Lines>) -> Self {
        Line { stream, peer, lines, frames: Frames::new() }
    }

    /// The other end has gone: nothing will ever be read again.
    fn wait_for_ever(&self) -> ! {
        self.lines.lose(self.peer);
        loop {
            std::thread::park();
        }
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) if self.frames.ended && self.frames.got == 0 => return Ok(0),
                Ok(0) => self.wait_for_ever(),
                Ok(length) => {
                    if !self.frames.follow(&buffer[..length]) {
                        self.wait_for_ever();
                    }
                    self.lines.received.fetch_add(length as u64, Ordering::Relaxed);
                    return Ok(length);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.frames.ended => return Ok(0),
                Err(_) => self.wait_for_ever(),
            }
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.stream.write(bytes) {
                Ok(length) => {
                    self.lines.sent.fetch_add(length as u64, Ordering::Relaxed);
                    return Ok(length);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.lines.lose(self.peer);
                    return Ok(bytes.len());
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Line {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Line::new(self.stream.try_clone()?, self.peer, self.lines.clone()))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let _ = self.stream.shutdown(how);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: u64) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[LENGTH_AT..LENGTH_AT + 8].copy_from_slice(&length.to_be_bytes());
        bytes.resize(HEADER + length.min(1000) as usize, 1);
        bytes
    }

    #[test]
    fn frames_are_followed_however_they_are_cut() {
        let bytes = [frame(5), frame(300), frame(1), frame(0)].concat();
        for piece in [1, 7, 48, 49, 1000] {
            let mut frames = Frames::new();
            assert!(bytes.chunks(piece).all(|chunk| frames.follow(chunk)), "{piece}");
            assert!(frames.ended, "{piece}");
            assert!(!frames.follow(&[0]), "nothing comes behind the end");
        }
        let mut frames = Frames::new();
        assert!(frames.follow(&bytes[..60]) && !frames.ended);
    }

    #[test]
    fn a_length_that_nobody_sends_is_refused() {
        assert!(!Frames::new().follow(&frame(u64::MAX)));
        assert!(
            !Frames::new()
                .follow(b"GET / HTTP/1.1\r\nHost: example.org\r\nAccept: everything\r\n\r\n")
        );
    }
}
