//! What the harness in a Rust program tells: panics as they happen, and tests that fail.
//!
//! A panic by itself is no violation: it may be caught, poison a lock or end a thread that is joined. It
//! becomes one when it reaches the end of the test or of `main`, or when it aborts the program. So panics
//! are kept with their places, and whatever ends an execution asks for the one that led there.

use crate::backtrace;
use crate::entry::is_program;
use crate::raw;
use crate::runtime::{Runtime, inside};
use crate::trouble::{Kind, Panic, Place, Trouble};
use preempt_explore::ThreadId;

/// The exit code of a Rust program after a panic in `main`.
const PANICKED: i32 = 101;

/// The calls of std from where it decides to abort to where the hook was told: no more than these have
/// returned if the panic aborts the program.
const HOOK_FRAMES: usize = 5;

impl Runtime {
    fn last_panic(&self) -> Option<&Panic> {
        let me = self.current();
        self.panics.iter().rev().find(|panic| panic.thread == me)
    }

    /// The panic that reached the end of `main`, if this exit code comes from one.
    pub(crate) fn panic_of_main(&self, code: i32) -> Option<Trouble> {
        let is_main = self.current() == ThreadId::MAIN;
        let panic = self.last_panic().filter(|_| is_main && code == PANICKED)?;
        Some(self.with_cause(panic.trouble()))
    }

    /// The panic that aborts the program, if one does: the calls that led to it have not returned.
    pub(crate) fn panic_of_abort(&self) -> Option<Trouble> {
        let panic = self.last_panic()?;
        let frames = backtrace::frames();
        let common = panic.frames.iter().rev().zip(frames.iter().rev());
        let common = common.take_while(|(then, now)| then == now).count();
        (panic.frames.len() - common <= HOOK_FRAMES).then(|| panic.trouble())
    }

    /// A thread that panics is often noticed where it is joined: names the first panic, too.
    fn with_cause(&self, mut trouble: Trouble) -> Trouble {
        let me = self.current();
        if let Some(first) = self.panics.first().filter(|first| first.thread != me) {
            let Place { file, line } = &first.place;
            trouble.message = format!(
                "{}, after another thread panicked at {file}:{line}: {}",
                trouble.message, first.message
            );
        }
        trouble
    }
}

/// One line, as reports have it: `assert_eq!` prints three.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(", ")
}

/// # Safety
/// `length` bytes at `at`, or no bytes.
unsafe fn text(at: *const u8, length: usize) -> String {
    if length == 0 {
        return String::new();
    }
    // SAFETY: as the caller's.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(at, length) }).into_owned()
}

/// The running thread panics. Whether that is kept here; otherwise it is printed as usual.
#[unsafe(no_mangle)]
unsafe extern "C" fn preempt_panicked(
    message: *const u8,
    message_length: usize,
    file: *const u8,
    file_length: usize,
    line: u32,
) -> bool {
    if !is_program() {
        return false;
    }
    inside(|runtime| {
        // SAFETY: texts of the harness, which waits for this call.
        let (message, file) = unsafe { (text(message, message_length), text(file, file_length)) };
        let (thread, frames) = (runtime.current(), backtrace::frames());
        let message = match one_line(&message) {
            empty if empty.is_empty() => "a panic".into(),
            message => message,
        };
        if runtime.options.shows_output() {
            raw::write(2, format!("panic at {file}:{line}: {message}\n").as_bytes());
        }
        runtime.panics.push(Panic { thread, message, place: Place { file, line }, frames });
    });
    true
}

/// The test fails: without a message because its body has panicked. Returns only where no search is.
#[unsafe(no_mangle)]
unsafe extern "C" fn preempt_test_fails(
    message: *const u8,
    message_length: usize,
    file: *const u8,
    file_length: usize,
    line: u32,
) {
    if !is_program() {
        return;
    }
    inside(|runtime| {
        // SAFETY: texts of the harness, which waits for this call.
        let (message, file) = unsafe { (text(message, message_length), text(file, file_length)) };
        let panic = runtime.last_panic().filter(|_| message.is_empty()).map(Panic::trouble);
        let trouble = panic.unwrap_or_else(|| {
            let message = match message.is_empty() {
                // The body was unwound by something that is no panic with a message.
                true => "the test panics without a message".into(),
                false => one_line(&message),
            };
            let trouble = Trouble::new(Kind::Assertion, 0, message);
            Trouble { place: Some(Place { file, line }), ..trouble }
        });
        let trouble = runtime.with_cause(trouble);
        runtime.stop(trouble)
    })
}
