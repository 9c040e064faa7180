//! The environment variables by which this program tells itself, as a child of cargo or rustc, what to do.

/// Names the role: `rustc` or `linker`.
pub(crate) const ROLE: &str = "PREEMPT_CARGO_ROLE";
/// In front of rustc: how crates are instrumented, `all` or `atomics`.
pub(crate) const INSTRUMENT: &str = "PREEMPT_CARGO_INSTRUMENT";
/// In front of rustc: the user's own wrapper.
pub(crate) const INNER: &str = "PREEMPT_CARGO_INNER_WRAPPER";
/// The folder with what is linked for this toolchain.
pub(crate) const PARTS: &str = "PREEMPT_CARGO_PARTS";
/// The folder with the runtime.
pub(crate) const RUNTIME: &str = "PREEMPT_CARGO_RUNTIME";
/// In front of the linker: the real one.
pub(crate) const LINKER: &str = "PREEMPT_CARGO_LINKER";
/// In front of the linker: whether tests are linked.
pub(crate) const TESTS: &str = "PREEMPT_CARGO_TESTS";
/// Where names of libraries that are not instrumented are collected.
pub(crate) const FOREIGN: &str = "PREEMPT_CARGO_FOREIGN";
/// In front of programs: where they are recorded.
pub(crate) const RECORDS: &str = "PREEMPT_CARGO_RECORDS";

/// In front of tests that nextest starts: what is asked of the search.
pub(crate) const OPTIONS: &str = "PREEMPT_CARGO_OPTIONS";

/// The first word in front of programs, which cargo lets us choose.
pub(crate) const RECORD: &str = "record-how-cargo-starts";

/// The first words in front of tests that nextest starts.
pub const NEXTEST: [&str; 2] = ["cargo", "nextest-test"];

/// Between words in a variable.
pub(crate) const SEPARATOR: &str = "\u{1f}";

/// Every variable above: none of them is for the programs under test.
pub(crate) const ALL: [&str; 10] =
    [ROLE, INSTRUMENT, INNER, PARTS, RUNTIME, LINKER, TESTS, FOREIGN, RECORDS, OPTIONS];
