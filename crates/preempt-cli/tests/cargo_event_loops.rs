//! Event loops of published crates, unmodified: mio, polling, async-io, and tokio with its drivers for I/O and time.
//!
//! What they wait for is inside of the program, so each test has a verdict; some are wrong on purpose.

mod rust_crates;

use rust_crates::{Crate, Ended};

const MANIFEST: &str = "[dev-dependencies]\n\
    mio = { version = \"1\", features = [\"os-poll\", \"os-ext\"] }\n\
    polling = \"3\"\nasync-io = \"2\"\nfutures-lite = \"2\"\n\
    tokio = { version = \"1\", features = [\"rt-multi-thread\", \"macros\", \"net\", \"io-util\", \"time\", \"sync\"] }\n";

/// A test and what is found: a kind of violation, or how far the search came within a few seconds.
const TESTS: [(&str, &str); 10] = [
    ("mio_is_woken", "holds"),
    ("mio_is_woken_too_early", "assertion"),
    ("mio_reads_a_pipe", "holds"),
    ("polling_is_notified", "holds"),
    ("polling_misses_what_comes_later", "deadlock"),
    ("async_io_waits_for_a_time", "holds_within_bound"),
    ("async_io_reads_a_socket", "holds_within_bound"),
    ("tokio_reads_a_socket", "holds"),
    ("tokio_waits_for_a_limited_time", "holds"),
    ("tokio_has_a_worker", "holds_within_bound"),
];

#[test]
fn event_loops_of_crates_are_explored() {
    let tests = include_str!("event_loop_crate/loops.rs");
    let subject = Crate::new(MANIFEST, &[("src/lib.rs", ""), ("tests/loops.rs", tests)]);
    // What no search finishes is explored for a few seconds, the others to their end.
    let are_long = ["async_io", "tokio_has"];
    let others = are_long.map(|name| ["--skip", name]).concat();
    let mut searched = vec![[&["test", "--", "--json", "--time", "60s"], &others[..]].concat()];
    searched.extend(are_long.map(|name| vec!["test", name, "--", "--json", "--time", "4s"]));
    let searched: Vec<_> = searched.iter().map(|words| subject.run(words)).collect();
    for (name, expected) in TESTS {
        let has = |ended: &&Ended| ended.tests().iter().any(|(test, _)| test == name);
        let ended = searched.iter().find(has).unwrap_or_else(|| panic!("no search of {name}"));
        let report = ended.test(name);
        let verdict = report["verdict"].as_str().unwrap_or_default();
        let found = report["violation"]["kind"].as_str().unwrap_or(verdict);
        // On a quick machine more is finished.
        let finished = expected == "holds_within_bound" && found == "holds";
        assert!(found == expected || finished, "{name}: {report}\n{}", ended.stderr);
    }
    let count: usize = searched.iter().map(|ended| ended.tests().len()).sum();
    assert_eq!(count, TESTS.len());
}
