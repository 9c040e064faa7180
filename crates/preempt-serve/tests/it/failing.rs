//! A test of a user that fails, and the page that it leaves behind.

use preempt::sync::{Arc, Mutex};
use preempt::thread;
use std::path::PathBuf;
use std::process::Command;

/// Two transfers take the locks of two accounts in opposite orders. Ignored, because it fails on purpose: what is tested is the
/// page that it leaves, in a process of its own.
#[preempt::test]
#[ignore = "it fails on purpose, in a process of its own"]
fn transfers_end() {
    let (mine, yours) = (Arc::new(Mutex::new(10)), Arc::new(Mutex::new(20)));
    let (from, to) = (mine.clone(), yours.clone());
    let there = thread::spawn(move || {
        let mut from = from.lock().unwrap();
        let mut to = to.lock().unwrap();
        *from -= 1;
        *to += 1;
    });
    {
        let mut yours = yours.lock().unwrap();
        let mut mine = mine.lock().unwrap();
        *yours -= 2;
        *mine += 2;
    }
    there.join().unwrap();
}

/// Runs the test in a process of its own, where it fails; the page that its message names.
pub(crate) fn page_of_a_failing_test() -> PathBuf {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "failing::transfers_end", "--nocapture", "--ignored"])
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(!output.status.success(), "{text}");
    let path = text.lines().find_map(|line| line.split_once("as a page: ")).map(|(_, path)| path);
    PathBuf::from(path.unwrap_or_else(|| panic!("{text}")).trim())
}
