//! The harness that test programs are linked with in place of libtest's, compiled by the user's own
//! compiler. It is carried as text.
//!
//! It runs the body of one test, on the main thread: nothing but the test is explored. Without a name it
//! tells which tests there are. What a test means stays as with libtest: a panic that leaves the body, an
//! `Err`, a missing or different panic of `#[should_panic]` fail it.
//!
//! Every program, with tests or not, also gets a panic hook before `main` that tells the runtime what panicked and where.
#![cfg_attr(tests, feature(test))]

#[cfg(tests)]
extern crate test;

use std::panic::PanicHookInfo;

unsafe extern "C" {
    fn preempt_panicked(
        message: *const u8,
        message_length: usize,
        file: *const u8,
        file_length: usize,
        line: u32,
    ) -> bool;
    #[cfg(tests)]
    fn preempt_test_fails(
        message: *const u8,
        message_length: usize,
        file: *const u8,
        file_length: usize,
        line: u32,
    );
}

/// Called before `main`, and before anything is explored: the hook is there in every execution.
#[used]
#[unsafe(link_section = ".init_array")]
static INSTALL: extern "C" fn() = install;

extern "C" fn install() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // Printing takes locks of std, which would be explored.
        if !tell(info) {
            usual(info);
        }
    }));
}

/// Whether the runtime is to know.
fn tell(info: &PanicHookInfo<'_>) -> bool {
    let message = text(info.payload());
    let (file, line) = info.location().map_or(("", 0), |place| (place.file(), place.line()));
    // SAFETY: texts that live during the call.
    unsafe { preempt_panicked(message.as_ptr(), message.len(), file.as_ptr(), file.len(), line) }
}

/// What a panic says.
fn text(payload: &(dyn std::any::Any + Send)) -> &str {
    match payload.downcast_ref::<&'static str>() {
        Some(text) => text,
        None => payload.downcast_ref::<String>().map_or("", |text| text.as_str()),
    }
}

#[cfg(tests)]
mod tests {
    use super::{preempt_test_fails, text};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use test::{ShouldPanic, StaticTestFn, TestDescAndFn};

    /// How libtest's function is called by its name: the linker learns the name from here.
    #[used]
    static INSTEAD_OF: fn(&[&TestDescAndFn]) = test::test_main_static;

    /// The exit code of a test program whose tests fail.
    const FAILED: i32 = 101;

    /// Called by the program's `main` in place of libtest's function.
    #[unsafe(no_mangle)]
    pub fn preempt_test_main(tests: &[&TestDescAndFn]) {
        let words: Vec<String> =
            std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let given = |word: &str| words.iter().any(|given| given == word);
        if given("--preempt-list") {
            return list(tests);
        }
        let named = |test: &&&TestDescAndFn| words.iter().any(|w| w == test.desc.name.as_slice());
        match tests.iter().find(named) {
            Some(test) => run(test),
            None => {
                eprintln!("this program runs one test at a time, by its full name");
                std::process::exit(2);
            }
        }
    }

    /// A line per test: whether it is ignored, its line and file, its name.
    fn list(tests: &[&TestDescAndFn]) {
        for test in tests {
            let desc = &test.desc;
            if matches!(test.testfn, StaticTestFn(_)) {
                let ignored = if desc.ignore { "ignored" } else { "-" };
                let (line, file) = (desc.start_line, desc.source_file);
                println!("{ignored}\t{line}\t{file}\t{}", desc.name.as_slice());
            }
        }
    }

    fn run(test: &TestDescAndFn) {
        let StaticTestFn(body) = &test.testfn else { return };
        let result = catch_unwind(AssertUnwindSafe(body));
        let failure = match (result, &test.desc.should_panic) {
            (Ok(Ok(())), ShouldPanic::No) => return,
            (Ok(Err(error)), ShouldPanic::No) => error,
            (Ok(_), ShouldPanic::Yes) => "the test did not panic as expected".into(),
            (Ok(_), ShouldPanic::YesWithMessage(expected)) => {
                format!("the test did not panic as expected, with: {expected}")
            }
            // The runtime knows what panicked.
            (Err(_), ShouldPanic::No) => String::new(),
            (Err(_), ShouldPanic::Yes) => return,
            (Err(payload), ShouldPanic::YesWithMessage(expected)) => {
                let said = text(&*payload);
                if said.contains(expected) {
                    return;
                }
                format!("the test panicked with another message than expected: {said:?} does not contain {expected:?}")
            }
        };
        let desc = &test.desc;
        let (file, line) = (desc.source_file, desc.start_line as u32);
        // SAFETY: texts that live during the call.
        unsafe {
            preempt_test_fails(failure.as_ptr(), failure.len(), file.as_ptr(), file.len(), line)
        };
        // Not searched: this is an ordinary run.
        eprintln!("{failure}");
        std::process::exit(FAILED);
    }
}
