//! A test of a user that fails, and the page that it leaves behind.

use preempt::sync::{Arc, Mutex};
use preempt::thread;
use std::path::PathBuf;
use std::process::Command;

/// Set in the process in which the test below is to fail.
const FAILS: &str = "PREEMPT_SERVE_TEST_FAILS";

/// Two transfers take the locks of two accounts in opposite orders.
#[preempt::test]
fn transfers_end() {
    if std::env::var_os(FAILS).is_none() {
        return;
    }
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
        .args(["--exact", "failing::transfers_end", "--nocapture"])
        .env(FAILS, "1")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(!output.status.success(), "{text}");
    let path = text.lines().find_map(|line| line.split_once("as a page: ")).map(|(_, path)| path);
    PathBuf::from(path.unwrap_or_else(|| panic!("{text}")).trim())
}
