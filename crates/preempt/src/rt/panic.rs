//! Panics of the program under test.
//!
//! A hook, installed once, notes message and place of a panic under control and prints nothing:
//! most explored failures would only be noise. Panics elsewhere go to the hook that was there.
//!
//! A panic that escapes from a destructor during unwinding makes Rust abort the process. It calls
//! the hook one last time before it does; the hook announces the abort, and the handler in
//! `overflow` leaves the coroutine for good, so the test fails with a report instead.

use super::heap::Paused;
use super::overflow::announce_abort;
use super::runtime::{Runtime, current};
use super::trouble::PanicNote;
use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

/// Installs the hook, once per process.
pub(super) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match current() {
            Some(runtime) => note(runtime, info),
            None => previous(info),
        }));
    });
}

/// What a panic says.
pub(super) fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a value that is not a string").to_string()
}

fn note(runtime: &mut Runtime, info: &PanicHookInfo<'_>) {
    let _paused = Paused::new();
    let message = text_of(info.payload());
    let (file, line, column) = match info.location() {
        Some(place) => (place.file().to_string(), place.line(), place.column()),
        None => (String::new(), 0, 0),
    };
    let me = runtime.run().current;
    let fatal = message == "panic in a destructor during cleanup"
        || message == "panic in a function that cannot unwind";
    let note = PanicNote { message, file, line, column };
    if !fatal {
        runtime.panics.push((me, note));
        return;
    }
    announce_abort();
    let cause = runtime.panics.last().map_or(note, |(_, note)| note.clone());
    runtime.left_while_unwinding(cause);
}
